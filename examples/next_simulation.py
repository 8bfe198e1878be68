"""
Which simulation to run next
============================

-s'' / 100 + s + s³ = u on [0, 1], s' = 0 at the ends. The pool of inputs that could be simulated is
uneven, as recorded inputs are: nine tenths of them are much alike. We want a model for all kinds of
inputs, from few runs of the solver. So we ask the model what to run.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import solve_banded

from elmonet import ELMDeepONet, ExtrapolationWarning, InfiniteWidth, relative_l2

x = np.linspace(0, 1, 60)
waves = np.cos(np.pi * np.arange(6)[:, None] * x)


def inputs(n, rng):
    """n input functions (n, 60) of any kind."""
    return rng.normal(size=(n, 6)) @ waves / 2


def solve(u):
    """s (60,) for one input u (60,), by Newton's method."""
    weight = 1 / (100 * x[1] ** 2)
    s = np.zeros(60)
    for _ in range(30):
        padded = np.concatenate([s[1:2], s, s[-2:-1]])  # no flux: the neighbour outside is the one inside
        residual = -weight * np.diff(padded, 2) + s + s**3 - u
        bands = np.full((3, 60), -weight)
        bands[1] = 2 * weight + 1 + 3 * s**2
        bands[0, 1], bands[2, -2] = -2 * weight, -2 * weight
        s -= solve_banded((1, 1), bands, residual)
    return s


rng = np.random.default_rng(0)
pool = np.concatenate([inputs(1, rng) + 0.1 * inputs(450, rng), inputs(50, rng)])
u_test = inputs(200, rng)
s_test = np.stack([solve(u) for u in u_test])

# %%
# Begin with ten random simulations; then add ten at a time, those that the model suggests, or random ones.
# The test inputs are of all kinds: `predict` would warn until the model has seen them.

warnings.simplefilter("ignore", ExtrapolationWarning)

start = rng.permutation(len(pool))[:10]
errors, chosen = {"suggested": [], "random": []}, {}
for way, found in errors.items():
    known, s = list(start), [solve(pool[i]) for i in start]
    while True:
        model = ELMDeepONet(InfiniteWidth("matern52", 0.1)).fit(pool[known], np.stack(s), points=x)
        found.append(relative_l2(model.predict(u_test), s_test))
        print(f"{len(known):3} simulations, {way:9}: error {found[-1]:.1%}")
        if len(known) == 60:
            break
        if way == "suggested":
            new = model.suggest(pool, n=10)
        else:
            new = rng.permutation(np.setdiff1d(np.arange(len(pool)), known))[:10]
        known += new.tolist()
        s += [solve(pool[i]) for i in new]
    chosen[way] = known

# %%
# Suggested inputs are of all kinds. Most random ones are of the kind that the model knows already.

fig, axes = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained", width_ratios=[1, 1, 1.2])
for ax, (way, known) in zip(axes, chosen.items(), strict=False):
    ax.plot(x, pool[::5].T, color="lightgray", lw=0.5)
    ax.plot(x, pool[known[10:30]].T, color="tab:blue" if way == "suggested" else "tab:orange", lw=1)
    ax.set(title=f"the first 20 {way} inputs", xlabel="x")
for way, found in errors.items():
    axes[2].semilogy(range(10, 61, 10), found, "o-", label=way)
axes[2].set(title="error on inputs of all kinds", xlabel="number of simulations")
axes[2].legend()
plt.show()
