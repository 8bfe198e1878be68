"""Poisson's equation with a random source: s_xx + s_yy = u(x, y) on the unit square, s = 0 on its boundary.

u is a Gaussian field of length scale 0.2 in two dimensions. The published error is 1.3e-3, after 13 hours
(LSGD-DeepONet).

The reference is Chebyshev collocation. With D the second-derivative matrix between the interior nodes,

    D S + S D^T = U,   D = V diag(lambda) V^-1,   so   S = V ((V^-1 U V^-T) / (lambda_i + lambda_j)) V^T,

one eigendecomposition for all sources. In the corners u does not vanish, although s_xx and s_yy do on the
walls: s has terms r^2 log r there. So the error falls only like a power of the number of nodes, but a high
one, as nodes are dense near the corners: 5e-10 with 64 nodes a side, 6e-11 with 96, of solutions up to 0.1.
"""

from __future__ import annotations

import numpy as np

from elmonet.interpolation import grid_points
from elmonet.physics import PDE, Box
from elmonet.problems.chebyshev import chebyshev_nodes, interpolation_matrix, second_derivative_matrix
from elmonet.problems.gaussian import gaussian_field

_NODES = 96  # along a side, of the reference
_SENSORS = np.linspace(0.0, 1.0, 25)
_AXIS = np.linspace(0.0, 1.0, 50)

SENSORS = grid_points([_SENSORS, _SENSORS])
POINTS = grid_points([_AXIS, _AXIS])


def equation() -> PDE:
    """Return the equation and its conditions."""
    faces = ("x=0", "x=1", "y=0", "y=1")
    return PDE(Box(x=(0, 1), y=(0, 1)), lambda s, u: s.xx + s.yy - u, dict.fromkeys(faces, lambda s, u: s))


def inputs(n: int, seed: int = 0) -> np.ndarray:
    """Return the sources u (n, 625) at the sensors."""
    return _source(n, seed, _SENSORS).reshape(n, -1)


def reference(n: int, seed: int = 0) -> np.ndarray:
    """Return s (n, 2500) at the points for `inputs(n, seed)`."""
    s = solve_poisson(_source(n, seed, chebyshev_nodes(_NODES)))
    to_points = interpolation_matrix(_NODES, _AXIS)
    return (to_points @ s @ to_points.T).reshape(n, -1)


def solve_poisson(u: np.ndarray) -> np.ndarray:
    """Return s (N, n, n) for u (N, n, n), both on the grid of `chebyshev_nodes(n)`.

    >>> x = np.sin(np.pi * chebyshev_nodes(32))
    >>> s = solve_poisson(-2 * np.pi**2 * np.outer(x, x)[None])
    >>> np.allclose(s, np.outer(x, x), rtol=0, atol=1e-12)
    True
    """
    eigenvalues, V = np.linalg.eig(second_derivative_matrix(u.shape[1])[1:-1, 1:-1])
    eigenvalues, V = eigenvalues.real, V.real  # all are real and negative
    inverse = np.linalg.inv(V)
    waves = inverse @ u[:, 1:-1, 1:-1] @ inverse.T / (eigenvalues[:, None] + eigenvalues)
    return np.pad(V @ waves @ V.T, ((0, 0), (1, 1), (1, 1)))


def _source(n: int, seed: int, axis: np.ndarray) -> np.ndarray:
    """Return u (n, P, P) on the square grid of any axis (P,) that includes 0 and 1."""
    return gaussian_field((axis, axis), n, 0.2, seed)
