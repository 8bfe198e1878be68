"""
A surrogate inside an optimisation
==================================

Which heating makes the temperature of a rod what it should be? T_t = T_xx / 20 - T⁴ + u on [0, 1], T = 0
at the start, no flux at the ends; u(x) comes from five heaters. We want the powers for which T(x) at t =
1 is nearest to a target, in the sense of least squares. Every run of the solver is counted, also those
for the training data: for one target the solver alone is cheaper, from a few targets on the surrogate
is.
"""

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import least_squares

from elmonet import ELMDeepONet

x = np.linspace(0, 1, 61)
heaters = np.exp(-(((x - np.linspace(0.1, 0.9, 5)[:, None]) / 0.1) ** 2))  # (5, 61)
targets = {
    "flat": np.full(61, 0.7),
    "slope": 0.4 + 0.5 * x,
    "hill": 0.4 + 0.4 * np.sin(np.pi * x),
    "valley": 0.8 - 0.3 * np.sin(np.pi * x),
}
runs = 0


def solve(u):
    """The temperature (61,) at t = 1 of the heating u (61,)."""
    global runs
    runs += 1

    def rate(_, T):
        padded = np.concatenate([T[1:2], T, T[-2:-1]])
        return np.diff(padded, 2) / (20 * x[1] ** 2) - T**4 + u

    return solve_ivp(rate, (0, 1), np.zeros(61), "LSODA", [1.0], rtol=1e-6, lband=1, uband=1).y[:, 0]


def best(temperature, target):
    """The powers (5,) of the heaters, each from 0 to 2, that bring the temperature nearest to the target."""
    return least_squares(
        lambda powers: temperature(powers @ heaters) - target, np.ones(5), bounds=(0, 2), diff_step=1e-3
    ).x


# %%
# The surrogate learns from 150 runs of the solver with random powers.

begun = perf_counter()
u = np.random.default_rng(0).uniform(0, 2, size=(150, 5)) @ heaters
model = ELMDeepONet(random_state=0).fit(u, np.stack([solve(row) for row in u]), points=x)
cost = {"surrogate": [runs, perf_counter() - begun], "solver": [0, 0.0]}
print(f"fitted to {runs} runs of the solver; expected error {model.expected_error_:.2%}")

# %%
# Each target is reached twice: with the solver inside the optimisation, and with the surrogate. How far the
# temperature is off is always found by the solver.

temperature = {"solver": solve, "surrogate": lambda u: model.predict(u[None])[0]}
misses, reached, spent = {}, {}, {"solver": [0], "surrogate": [150]}
for name, target in targets.items():
    for how in temperature:
        before, begun = runs, perf_counter()
        powers = best(temperature[how], target)
        cost[how][0] += runs - before
        cost[how][1] += perf_counter() - begun
        spent[how].append(cost[how][0])
        reached[name, how] = solve(powers @ heaters)
        misses[name, how] = np.sqrt(np.mean((reached[name, how] - target) ** 2))
        print(f"{name:6} by the {how:9}: powers {powers.round(2)}, T is off by {misses[name, how]:.4f}")
for how, (count, seconds) in cost.items():
    print(f"{len(targets)} targets by the {how:9}: {count} runs of the solver, {seconds:.1f} s in all")

# %%
# Both find the same temperatures. The surrogate needs no more runs, however many targets there are.

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
for colour, name in zip(("tab:blue", "tab:orange", "tab:green", "tab:red"), targets, strict=True):
    left.plot(x, targets[name], color=colour, lw=5, alpha=0.25)
    left.plot(x, reached[name, "solver"], color=colour, label=name)
    left.plot(x, reached[name, "surrogate"], ":", color="black")
left.set(title="targets (wide), by the solver, by the surrogate (dotted)", xlabel="x", ylabel="T at t = 1")
left.legend()
for how, count in spent.items():
    right.plot(range(5), count, "o-", label=f"{how} in the loop")
right.set(title="runs of the solver", xlabel="number of targets", xticks=range(5))
right.legend()
plt.show()
