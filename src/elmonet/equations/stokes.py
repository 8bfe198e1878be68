"""Stokes flow in a lid-driven cavity, with a random velocity of the lid.

    -(v_xx + v_yy) + p_x = 0,   -(w_xx + w_yy) + p_y = 0,   v_x + w_y = 0   in the unit square,

v = w = 0 on the walls, but v = u(x) on the lid y = 1, with u = 4 x (1 - x) g and g a Gaussian field of length
scale 0.2. After the Stokes example of DeepXDE (Leng et al., "Zero coordinate shift", 2023), where the
viscosity is 0.01, which only scales the pressure, and u = x (1 - x) (1 + g / 10), which varies less. The
published error is about 10 %.

The pressure has mean zero over the points. At the upper corners the conditions are incompatible: v_x is u' on
the lid and 0 on the wall, and p grows like a logarithm, without bound. So the points are the centres of
50 x 50 cells, and `AWAY` marks those more than 0.1 away from these corners.

The reference satisfies the equations exactly and the velocity on the walls up to about 2e-11, see
`StokesBasis`. Inside, v and w are accurate to 1e-10 and p to 1e-8, of sizes up to 3 and 60.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from elmonet.interpolation import grid_points
from elmonet.physics import PDE, Box
from elmonet.problems.gaussian import gaussian_field

_CENTRE = 0.5 + 0.5j
_CORNERS = np.array([0, 1, 1 + 1j, 1j])
_CUT_OFF = 1e-14  # relative to the largest singular value
_CELLS = (np.arange(50) + 0.5) / 50

SENSORS = np.linspace(0.0, 1.0, 100)
POINTS = grid_points([_CELLS, _CELLS])
AWAY = np.hypot(np.minimum(POINTS[:, 0], 1 - POINTS[:, 0]), 1 - POINTS[:, 1]) > 0.1


def equation() -> PDE:
    """Return the equations, the conditions on the walls, and one that fixes the level of the pressure."""

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
    """Return u (n, len(x)) at any x that includes 0 and 1."""
    return 4 * x * (1 - x) * gaussian_field(x, n, 0.2, seed)


def wall_points(n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Return points x + i y (4 P,) on the walls, clustered at the corners, and which are on the lid y = 1.

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
    """Basis of the analytic functions f and g that represent a flow ("lightning" solver).

    Goursat: with analytic f and g, psi = Im(conj(z) f + g) is biharmonic, and

        v - i w = conj(z) f' + g' - conj(f),   p = 4 Re f'   (v = psi_y, w = -psi_x)

    satisfy -Laplacian(v, w) + grad p = 0 and v_x + w_y = 0 exactly. Only the walls are approximated. After
    Brubeck and Trefethen, "Lightning Stokes solver" (2022), f and g are sums of polynomials and of simple
    poles outside, on the diagonals, that approach the corners exponentially, at the distances

        d_j = exp(4 (sqrt(j) - sqrt(n))),   j = 1, ..., n.

    So singularities at the corners are approximated with an error of exp(-c sqrt(n)), whatever their kind.
    The coefficients fit the velocity at the wall points, clustered like the poles, by least squares. The
    polynomials are orthogonal at the wall points (Arnoldi), hence well conditioned. As the equations hold
    exactly, the residual on the walls tells the error.

    `hessenberg` (degree + 1, degree) generates the polynomials: z q_k = sum_j h_jk q_j. `poles` (P,) lie
    outside the square, relative to its centre; `distances` (P,) are those from their corners.
    """

    hessenberg: np.ndarray
    poles: np.ndarray
    distances: np.ndarray

    @classmethod
    def at(cls, walls: np.ndarray, degree: int = 56, upper: int = 48, lower: int = 16) -> StokesBasis:
        """Return the basis with `upper` and `lower` poles at each of the upper and of the lower corners."""
        poles, distances = [], []
        for corner, n in zip(_CORNERS - _CENTRE, (lower, lower, upper, upper), strict=True):
            d = np.exp(4 * (np.sqrt(np.arange(1, n + 1)) - np.sqrt(n)))
            poles.append(corner * (1 + d / abs(corner)))
            distances.append(d)
        return cls(_arnoldi(walls - _CENTRE, degree), np.concatenate(poles), np.concatenate(distances))

    def solve(self, walls: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        """Fit coefficients (N, K) to the velocity v - i w (N, len(walls)) on the walls."""
        A, _ = self.fields(walls)
        A, b = np.vstack([A.real, A.imag]), np.hstack([velocity.real, velocity.imag])
        size = np.linalg.norm(A, axis=0)
        size[size == 0] = 1.0
        return (np.linalg.lstsq(A / size, b.T, rcond=_CUT_OFF)[0] / size[:, None]).T

    def fields(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return v - i w (M, K), complex, and p (M, K) of each basis function at z (M,).

        Each complex coefficient of f and of g counts as two real ones.
        """
        z = z - _CENTRE
        phi, slope = self._functions(z)
        conjugate = z.conj()[:, None]
        f = [conjugate * slope - phi.conj(), 1j * conjugate * slope - (1j * phi).conj()]
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
    """Return h (degree + 1, degree) of z q_k = sum_j h_jk q_j, with q orthonormal (in mean) at z."""
    H = np.zeros((degree + 1, degree), complex)
    Q = np.ones((len(z), degree + 1), complex)
    for k in range(degree):
        q = z * Q[:, k]
        for _ in range(2):  # twice, to remove rounding
            h = Q[:, : k + 1].conj().T @ q / len(z)
            q -= Q[:, : k + 1] @ h
            H[: k + 1, k] += h
        H[k + 1, k] = np.linalg.norm(q) / np.sqrt(len(z))
        Q[:, k + 1] = q / H[k + 1, k]
    return H
