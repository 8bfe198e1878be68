"""
Several unknowns: flow through a channel
========================================

The slow flow of a thick fluid, from the equation alone. Stokes' equations for the velocities v (along
the channel), w (across it) and the pressure p are::

    v_xx + v_yy = p_x,    w_xx + w_yy = p_y,    v_x + w_y = 0.

The fluid enters at x = 0 with the profile v = u(y), sticks to the walls y = 0 and y = 1, and leaves at x
= 2. What goes in must come out, and far from the inlet every profile has become the same parabola.
"""

import matplotlib.pyplot as plt
import numpy as np

from elmonet import AutoELMDeepONet, relative_l2
from elmonet.physics import PDE, Box

y = np.linspace(0, 1, 30)


def profiles(n, rng):
    """Velocities (n, 30) at the inlet that are zero at the walls, and how much they let in, (n,)."""
    waves = np.arange(1, 4)
    amplitudes = rng.normal([3, 0, 0], size=(n, 3))
    return amplitudes @ np.sin(np.pi * np.outer(waves, y)), amplitudes @ ([2, 0, 2] / (np.pi * waves))


# %%
# Three equations for three unknowns, which have names. Conditions belong to faces of the box.


def stokes(s, u):
    return s.v.xx + s.v.yy - s.p.x, s.w.xx + s.w.yy - s.p.y, s.v.x + s.w.y


pde = PDE(
    Box(x=(0, 2), y=(0, 1)),
    stokes,
    {
        "x=0": lambda s, u: (s.v - u, s.w),
        "y=0": lambda s, u: (s.v, s.w),
        "y=1": lambda s, u: (s.v, s.w),
        "x=2": lambda s, u: (s.p, s.w),
    },
    input_axes=("y",),
    unknowns=("v", "w", "p"),
    degree=16,
)

# %%
# The model learns from 60 profiles, and no outputs. We want them on a grid of the channel.

rng = np.random.default_rng(0)
u, _ = profiles(60, rng)
x = np.linspace(0, 2, 41)
grid = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, 2)
model = AutoELMDeepONet(layers=0, random_state=0).fit(u, pde, grid, sensors=y)
print(model.physics_)

# %%
# For new profiles: at the outlet there is a parabola, and nothing is lost on the way to x = 0.5.

new, amount = profiles(20, rng)
found = {name: values.reshape(20, 41, 30) for name, values in model.predict(new).items()}  # v, w and p
parabola = relative_l2(found["v"][:, -1], amount[:, None] * 6 * y * (1 - y))
through = np.trapezoid(found["v"][:, 10], y, axis=1)
lost = np.abs(through / amount - 1).max()
print(f"from a parabola, at the outlet: {parabola:.1e}")
print(f"of the fluid, lost on the way to x = 0.5: {lost:.1e}")

fig, axes = plt.subplots(3, 1, figsize=(8, 7), sharex=True, layout="constrained")
for ax, i in zip(axes, (0, 4, 9), strict=True):
    v, w, p = (found[name][i].T for name in "vwp")
    image = ax.pcolormesh(x, y, p, shading="gouraud", cmap="RdBu_r", clim=(-np.abs(p).max(), np.abs(p).max()))
    ax.streamplot(x, y, v, w, color="black", linewidth=0.7, arrowsize=0.7, density=0.8)
    fig.colorbar(image, ax=ax, label="pressure p")
    ax.set(ylabel="y", xlim=(0, 2), ylim=(0, 1))
axes[0].set_title("three new profiles: streamlines, and the pressure as colour")
axes[-1].set_xlabel("x")
plt.show()
