"""A field with a forcing: thousands of learned steps beside the solver (records.md).

Burgers' equation with a force that changes all the time, u_t + u u_x = 0.05 u_xx - u / 2 + f(x, t), on a
circle. One step is learned from short simulations: from the field and the force that acts during the step to
the field at its end. Then it runs by itself, under forces that it has not seen.
"""

import numpy as np

from elmonet import LayeredELMDeepONet, relative_l2
from scripts.shared import save_figure

POINTS, DT, SUBSTEPS, VISCOSITY, DRAG = 24, 0.05, 6, 0.05, 0.5
RUNS, FIRST, STEPS = 60, 100, 2000  # simulations to learn from; steps before a rollout, and of it
X = np.arange(POINTS) / POINTS
WAVE = 2j * np.pi * np.fft.rfftfreq(POINTS, 1 / POINTS)
LOW = np.abs(WAVE) < 2 / 3 * np.abs(WAVE).max()  # without aliases of products


def rate(u, f):
    """Return u_t by Fourier series."""
    diffusion, flux = VISCOSITY * WAVE**2 * np.fft.rfft(u), WAVE / 2 * np.fft.rfft(u**2) * LOW
    return f - DRAG * u + np.fft.irfft(diffusion - flux, POINTS)


def step(u, f):
    """Solve for one step: the classical Runge-Kutta method, with the force held."""
    h = DT / SUBSTEPS
    for _ in range(SUBSTEPS):
        a = rate(u, f)
        b = rate(u + h / 2 * a, f)
        c = rate(u + h / 2 * b, f)
        u = u + h / 6 * (a + 2 * b + 2 * c + rate(u + h * c, f))
    return u


def forces(runs, steps, rng):
    """Return waves of three lengths (runs, steps, POINTS) whose amplitudes beat and which travel."""
    t, f = DT * np.arange(steps)[:, None], np.zeros((runs, steps, POINTS))
    for k in (1, 2, 3):
        speed, phase = rng.uniform(-2, 2, (runs, 1, 1)), rng.uniform(0, 2 * np.pi, (2, runs, 1, 1))
        beat = np.sin(rng.uniform(0.3, 1.0, (runs, 1, 1)) * t + phase[0])
        f += 4 * beat * np.sin(2 * np.pi * k * X + speed * t + phase[1])
    return f


def simulate(f):
    """Return the states from rest (runs, steps + 1, POINTS)."""
    states = [np.zeros((len(f), POINTS))]
    for k in range(f.shape[1]):
        states.append(step(states[-1], f[:, k]))
    return np.stack(states, axis=1)


def forced_field():
    """The last steps of a rollout beside the solver, and the error after each step."""
    import matplotlib.pyplot as plt

    rng = np.random.default_rng(0)
    f = forces(RUNS, FIRST, rng)
    some = np.arange(20, FIRST, 10)  # once the fluid moves
    u, f = (values[:, some].reshape(-1, POINTS) for values in (simulate(f), f))
    u = u + 0.05 * u.std() * rng.normal(size=u.shape)  # the step will see its own small errors
    model = LayeredELMDeepONet("nothing", layers=2, width=150, random_state=0)
    model.fit({"u": u, "f": f}, step(u, f), points=X, groups=np.repeat(np.arange(RUNS), len(some)))
    new = 0.6 * forces(3, FIRST + STEPS, rng)  # so long a run would meet rarer forces than short ones
    truth = simulate(new)[:, FIRST:]
    found = model.rollout(truth[:, 0], STEPS, forcing={"f": new[:, FIRST:]})
    truth = truth[:, 1:]
    print(f"one step: expected error {model.expected_error_:.2%}")
    for k in (10, 100, 1000, STEPS):
        print(f"after {k} steps: error {relative_l2(found[:, k - 1], truth[:, k - 1]):.2%}")

    missed = np.sqrt(np.mean((found - truth) ** 2, axis=2) / np.mean(truth**2))
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained", width_ratios=(1, 1, 1.4))
    times, most = DT * np.arange(1, STEPS + 1), np.abs(truth[0, -100:]).max()
    for ax, title, values in ((axes[0], "solver", truth[0]), (axes[1], "learned steps", found[0])):
        image = ax.pcolormesh(X, times[-100:], values[-100:], cmap="RdBu_r", vmin=-most, vmax=most)
        ax.set(title=f"{title}, the last 100 of {STEPS}", xlabel="x", ylabel="t")
    figure.colorbar(image, ax=axes[:2])
    axes[2].semilogy(np.arange(1, STEPS + 1), missed.T, lw=0.5)
    axes[2].set(xlabel="step", ylabel="error / size of the field", title="three rollouts against the solver")
    save_figure(figure, "forced_field.png")
