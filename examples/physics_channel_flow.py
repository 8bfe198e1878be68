"""Several unknowns: the slow flow of a thick fluid through a channel, from the equation alone.

Stokes' equations for the velocities v (along the channel), w (across it) and the pressure p:
    v_xx + v_yy = p_x,    w_xx + w_yy = p_y,    v_x + w_y = 0.
The fluid enters at x = 0 with the profile v = u(y), sticks to the walls y = 0 and y = 1, and leaves at x = 2.
What goes in must come out, and far from the inlet every profile has become the same parabola.
"""

import numpy as np

from elmonet import AutoELMDeepONet, relative_l2
from elmonet.physics import PDE, Box

y = np.linspace(0, 1, 30)


def profiles(n, rng):
    """Velocities (n, 30) at the inlet that are zero at the walls, and how much they let in, (n,)."""
    waves = np.arange(1, 4)
    amplitudes = rng.normal([3, 0, 0], size=(n, 3))
    return amplitudes @ np.sin(np.pi * np.outer(waves, y)), amplitudes @ ([2, 0, 2] / (np.pi * waves))


def stokes(s, u):
    return s.v.xx + s.v.yy - s.p.x, s.w.xx + s.w.yy - s.p.y, s.v.x + s.w.y


def main():
    rng = np.random.default_rng(0)
    u, _ = profiles(60, rng)
    pde = PDE(
        Box(x=(0, 2), y=(0, 1)),
        stokes,  # three equations for three unknowns
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
    outlet = np.column_stack([np.full(30, 2.0), y])
    middle = np.column_stack([np.full(30, 0.5), y])
    model = AutoELMDeepONet(layers=0, random_state=0).fit(u, pde, np.concatenate([outlet, middle]), sensors=y)

    new, amount = profiles(20, rng)
    found = model.predict(new)  # by name: v, w and p, each (20, 60)
    parabola = relative_l2(found["v"][:, :30], amount[:, None] * 6 * y * (1 - y))
    through = np.trapezoid(found["v"][:, 30:], y, axis=1)
    lost = np.abs(through / amount - 1).max()
    print(model.physics_)
    print(f"from a parabola, at the outlet: {parabola:.1e}")
    print(f"of the fluid, lost on the way to x = 0.5: {lost:.1e}")
    return parabola, lost


if __name__ == "__main__":
    main()
