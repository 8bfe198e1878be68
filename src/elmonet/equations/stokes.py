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

from dataclasses import dataclass
from typing import Any

import numpy as np

from elmonet.interpolation import grid_points
from elmonet.physics import PDE, Box
from elmonet.problems.gaussian import gaussian_field

__all__ = [
    "AWAY",
    "POINTS",
    "SENSORS",
    "StokesBasis",
    "equation",
    "inputs",
    "reference",
    "solve_stokes",
    "wall_points",
]

_CENTRE = 0.5 + 0.5j
_CORNERS = np.array([0, 1, 1 + 1j, 1j])
_CUT_OFF = 1e-14


def wall_points(n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Return points x + i y (4 P,) of the walls, clustered at the corners, and which are on the lid y = 1.

    >>> z, lid = wall_points()
    >>> bool((z[lid].imag == 1).all()), int(4 * lid.sum() - len(z))
    (True, 0)
    """
    clustered = (1 + np.tanh(np.linspace(-14, 14, n))) / 2
    t = np.unique(np.concatenate([clustered, np.linspace(0, 1, n // 3)]))
    walls = np.concatenate([t + 0j, 1 + 1j * t, 1j * t, t + 1j])
    return walls, np.arange(len(walls)) >= 3 * len(t)


@dataclass(frozen=True)
class StokesBasis:
    """The functions that carry f and g: polynomials up to a degree, and poles at the four corners.

    `hessenberg` (degree + 1, degree): z q_k = sum_j h_jk q_j makes the polynomials. `poles` (P,) lie outside
    the square, relative to its centre; `distances` (P,) are those to their corners.
    """

    hessenberg: np.ndarray
    poles: np.ndarray
    distances: np.ndarray

    @classmethod
    def at(cls, walls: np.ndarray, degree: int = 56, upper: int = 48, lower: int = 16) -> StokesBasis:
        """Return the basis with so many poles at each of the upper and of the lower corners."""
        poles, distances = [], []
        for corner, n in zip(_CORNERS - _CENTRE, (lower, lower, upper, upper), strict=True):
            d = np.exp(4 * (np.sqrt(np.arange(1, n + 1)) - np.sqrt(n)))
            poles.append(corner * (1 + d / abs(corner)))
            distances.append(d)
        return cls(_arnoldi(walls - _CENTRE, degree), np.concatenate(poles), np.concatenate(distances))

    def solve(self, walls: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        """Return coefficients (N, K) from the velocity v - i w (N, len(walls)) on the walls."""
        A, _ = self.fields(walls)
        A, b = np.vstack([A.real, A.imag]), np.hstack([velocity.real, velocity.imag])
        size = np.linalg.norm(A, axis=0)
        size[size == 0] = 1.0
        return (np.linalg.lstsq(A / size, b.T, rcond=_CUT_OFF)[0] / size[:, None]).T

    def fields(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return v - i w and p at z (M,) of each basis function, (M, K) complex and (M, K).

        A coefficient a + i b of f, and one of g, are two real unknowns each.
        """
        z = z - _CENTRE
        phi, slope = self._functions(z)
        across = z.conj()[:, None]
        f = [across * slope - phi.conj(), 1j * across * slope - (1j * phi).conj()]
        pressure = np.hstack([4 * slope.real, -4 * slope.imag])
        return np.hstack([*f, slope, 1j * slope]), np.pad(pressure, ((0, 0), (0, pressure.shape[1])))

    def _functions(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the functions and their derivatives at z (M,), both (M, functions)."""
        H = self.hessenberg
        q = np.ones((len(z), len(H)), complex)
        dq = np.zeros_like(q)
        for k in range(H.shape[1]):
            q[:, k + 1] = (z * q[:, k] - q[:, : k + 1] @ H[: k + 1, k]) / H[k + 1, k]
            slope = q[:, k] + z * dq[:, k] - dq[:, : k + 1] @ H[: k + 1, k]
            dq[:, k + 1] = slope / H[k + 1, k]
        pole = self.distances / (z[:, None] - self.poles)
        return np.hstack([q, pole]), np.hstack([dq, -(pole**2) / self.distances])


def _arnoldi(z: np.ndarray, degree: int) -> np.ndarray:
    """Return h (degree + 1, degree) of z q_k = sum_j h_jk q_j, q orthogonal, of mean square 1 at z."""
    H = np.zeros((degree + 1, degree), complex)
    Q = np.ones((len(z), degree + 1), complex)
    for k in range(degree):
        q = z * Q[:, k]
        for _ in range(2):  # again, for what rounding has left
            h = Q[:, : k + 1].conj().T @ q / len(z)
            q -= Q[:, : k + 1] @ h
            H[: k + 1, k] += h
        H[k + 1, k] = np.linalg.norm(q) / np.sqrt(len(z))
        Q[:, k + 1] = q / H[k + 1, k]
    return H


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
