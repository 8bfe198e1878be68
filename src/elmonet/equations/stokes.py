"""Stokes flow in a cavity that a lid drives: the lid's velocity is random.

    -(v_xx + v_yy) + p_x = 0,   -(w_xx + w_yy) + p_y = 0,   v_x + w_y = 0   in the unit square,

v = w = 0 on the walls, but v = u(x) on the lid y = 1, with u = 4 x (1 - x) g and g a Gaussian field of length
0.2. After the Stokes example of DeepXDE (Leng et al., "Zero coordinate shift", 2023), where the viscosity is
0.01, which scales the pressure alone, and u = x (1 - x) (1 + g / 10), which varies less. The published error
is about 10 %.

The pressure has mean zero over the points. Near the upper corners u does not fit the walls: v_x is u' on the
lid and 0 on the wall. There p grows like a logarithm, without bound. So the points are the centres of 50 x 50
cells, and `AWAY` tells which have a distance of more than 0.1 to these corners.

The reference satisfies the equations exactly and the velocity on the walls up to about 2e-11, see
`stokes_flow`. Inside, v and w are accurate to 1e-10 and p to 1e-8, of sizes up to 3 and 60.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from elmonet.equations.stokes_flow import StokesBasis, wall_points
from elmonet.interpolation import grid_points
from elmonet.physics import PDE, Box
from elmonet.problems.gaussian import gaussian_field

__all__ = ["AWAY", "POINTS", "SENSORS", "equation", "inputs", "reference", "solve_stokes"]

_CELLS = (np.arange(50) + 0.5) / 50

SENSORS = np.linspace(0.0, 1.0, 100)
POINTS = grid_points([_CELLS, _CELLS])
AWAY = np.hypot(np.minimum(POINTS[:, 0], 1 - POINTS[:, 0]), 1 - POINTS[:, 1]) > 0.1


def equation() -> PDE:
    """Return the equations, the conditions on the walls, and one for the pressure, which needs a level."""

    def wall(s: Any, u: Any) -> Any:
        return s.v, s.w

    return PDE(
        Box(x=(0, 1), y=(0, 1)),
        lambda s, u: (s.p.x - s.v.xx - s.v.yy, s.p.y - s.w.xx - s.w.yy, s.v.x + s.w.y),
        {
            "x=0": wall,
            "x=1": wall,
            "y=0": wall,
            "y=1": lambda s, u: (s.v - u, s.w),
            "x=0, y=0": lambda s, u: s.p,
        },
        input_axes=("x",),
        unknowns=("v", "w", "p"),
    )


def inputs(n: int, seed: int = 0) -> np.ndarray:
    """Return the velocities of the lid u (n, 100) at the sensors."""
    return _lid(n, seed, SENSORS)


def reference(n: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Return v, w and p, each (n, 2500), at the points for `inputs(n, seed)`."""
    walls, lid = wall_points()
    velocity = np.zeros((n, len(walls)), complex)
    velocity[:, lid] = _lid(n, seed, walls[lid].real)
    return solve_stokes(walls, velocity, POINTS, StokesBasis.at(walls))


def solve_stokes(
    walls: np.ndarray, velocity: np.ndarray, points: np.ndarray, basis: StokesBasis
) -> dict[str, np.ndarray]:
    """Return v, w and p (N, M) at points (M, 2) from v - i w (N, P) on the walls x + i y (P,).

    >>> walls, _ = wall_points()
    >>> solution = solve_stokes(walls, walls.imag[None] + 0j, POINTS, StokesBasis.at(walls))  # v = y
    >>> [bool(np.abs(solution[name] - exact).max() < 1e-9) for name, exact in (("v", POINTS[:, 1]), ("p", 0))]
    [True, True]
    """
    coefficients = basis.solve(walls, velocity)
    velocity_of, pressure_of = basis.fields(points[:, 0] + 1j * points[:, 1])
    at_points = coefficients @ velocity_of.T
    p = coefficients @ pressure_of.T
    return {"v": at_points.real, "w": -at_points.imag, "p": p - p.mean(axis=1, keepdims=True)}


def _lid(n: int, seed: int, x: np.ndarray) -> np.ndarray:
    """Return u at any x that include 0 and 1, (n, len(x))."""
    return 4 * x * (1 - x) * gaussian_field(x, n, 0.2, seed)
