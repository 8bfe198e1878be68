"""
No data, but an equation: a heated rod
======================================

s_t = 0.1 s_xx + u(x): a rod from x = 0 to 1 begins at s = 0, its ends stay at 0, and u(x) heats it. We
write down this equation, give some sources u, and get a model that knows the temperature for any other
source, at any place and time. Nothing is simulated before, and there is no gradient descent.
"""

import matplotlib.pyplot as plt
import numpy as np

from elmonet import AutoELMDeepONet, relative_l2
from elmonet.physics import PDE, Box

x = np.linspace(0, 1, 40)  # where the sources are known
waves = np.pi * np.arange(1, 6)


def sources(n, rng):
    """Amplitudes (n, 5) of sines, and the sources (n, 40) that these make."""
    amplitudes = rng.normal(size=(n, 5))
    return amplitudes, amplitudes @ np.sin(np.outer(waves, x))


def exact(amplitudes, points):
    """Each sine is heated on its own: s = (1 - exp(-0.1 w^2 t)) / (0.1 w^2) sin(w x)."""
    where, time = points.T
    rates = 0.1 * waves[:, None] ** 2
    return amplitudes @ ((1 - np.exp(-rates * time)) / rates * np.sin(np.outer(waves, where)))


# %%
# The equation
# ------------
# The residual is zero for a solution; s.t and s.xx are derivatives of s. So are the conditions, by face.

pde = PDE(
    Box(x=(0, 1), t=(0, 1)),
    lambda s, u: s.t - 0.1 * s.xx - u,
    {"t=0": lambda s, u: s, "x=0": lambda s, u: s, "x=1": lambda s, u: s},
    input_axes=("x",),  # u depends on x, not on t
)

# %%
# The model
# ---------
# It takes the place of outputs in `fit`.

rng = np.random.default_rng(0)
_, u = sources(100, rng)
model = AutoELMDeepONet(random_state=0).fit(u, pde, sensors=x)
print(model.physics_)

# %%
# New sources, for which we know the exact solution.

amplitudes, new = sources(20, rng)
predicted, truth = model.predict(new), exact(amplitudes, model.points_)
error = relative_l2(predicted, truth)
between = rng.uniform(0.02, 0.98, size=(200, 2))  # any x and t: the model interpolates between its points
elsewhere = relative_l2(model.predict(new, points=between), exact(amplitudes, between))
print(f"error on new sources: {error:.1e}; expected: {model.expected_error_:.1e}")
print(f"between the points of the model: {elsewhere:.1e}; more points, fit(points=...), make it less")

# %%
# One of them: the source, the temperature over place and time, and the error, whose scale is tiny.

where, time = (np.unique(axis) for axis in model.points_.T)
shape = len(where), len(time)
fig, axes = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained", width_ratios=[1, 1.2, 1.2])
axes[0].plot(x, new[0], color="black")
axes[0].set(title="source u(x)", xlabel="x")
for ax, title, values in (
    (axes[1], "predicted s(x, t)", predicted[0]),
    (axes[2], "error", predicted[0] - truth[0]),
):
    most = np.abs(values).max()
    image = ax.pcolormesh(where, time, values.reshape(shape).T, cmap="RdBu_r", vmin=-most, vmax=most)
    fig.colorbar(image, ax=ax)
    ax.set(title=title, xlabel="x", ylabel="t")
plt.show()
