"""Stokes flow in the unit square from the velocity on its walls, by rational functions ("lightning").

Goursat: with analytic functions f and g, psi = Im(conj(z) f + g) is biharmonic, and

    v - i w = conj(z) f' + g' - conj(f),   p = 4 Re f'   (v = psi_y, w = -psi_x)

satisfy -Laplacian(v, w) + grad p = 0 and v_x + w_y = 0 exactly. Only the walls are approximated. After
Brubeck and Trefethen, "Lightning Stokes solver" (2022), f and g are sums of polynomials and of simple poles
outside, on the diagonals, that come exponentially close to the corners: at the distances

    d_j = exp(4 (sqrt(j) - sqrt(n))),   j = 1, ..., n.

So the singularities of the corners are approximated with an error of exp(-c sqrt(n)), whatever their kind.
The coefficients fit the velocity at the wall points, clustered like the poles, in the sense of least
squares. The polynomials are orthogonal at the wall points (Arnoldi), so they stay well conditioned. The
equations hold exactly, so what is missed on the walls tells the error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["StokesBasis", "wall_points"]

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
