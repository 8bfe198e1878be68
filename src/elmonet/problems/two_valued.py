"""Darcy flow through two materials: from an image of the permeability to the pressure."""

from __future__ import annotations

import math

import numpy as np

from elmonet.data import OperatorData
from elmonet.interpolation import grid_points
from elmonet.problems.darcy_jumps import solve_darcy_jumps
from elmonet.problems.split import train_and_test, uniform_grid

__all__ = ["darcy_two_valued"]

_HIGH, _LOW = 12.0, 3.0
_MODES = 128
_FEWEST_CELLS = 112
_BLOCK_BYTES = 2**24


def darcy_two_valued(
    n_train: int = 1000,
    n_test: int = 200,
    seed: int = 0,
    *,
    n_points: int = 29,
) -> OperatorData:
    """Make pairs kappa -> s with -div(kappa grad s) = 1 on the unit square, s = 0 on its boundary.

    The benchmark of Li et al. (Fourier neural operator, 2021): kappa is 12 where a Gaussian field is positive
    and 3 elsewhere. The field is N(0, (-Laplacian + 9)^-2) with zero Neumann conditions and, as in the
    published generator, without its mean:

        g(x, y) = sum of xi_jk cos(pi j x) cos(pi k y) / (pi^2 (j^2 + k^2) + 9),   j, k < 128, not both 0,

    with independent normal xi_jk of variance 4, or 2 where j or k is 0. Inputs are images of kappa,
    (N, n_points, n_points), outputs are s, (N, n_points^2), both at the same uniform grid that includes the
    boundary; the first coordinate is the slow one. One seed gives the same functions at any `n_points`.

    Solved by finite volumes on a mesh of at least 112 x 112 cells that contains the points. As the materials'
    boundaries are rough, s converges with order 1: its relative error is about 1e-3.

    Parameters
    ----------
    n_train, n_test : number of training and of test functions.
    seed : the same seed gives the same functions, at any points.
    n_points : points along each side of the grid.

    Examples
    --------
    >>> darcy_two_valued(3, 2)
    OperatorData 'darcy_two_valued': 3 training and 2 test functions
      u (N, 29, 29) at 841 sensors in 2-D -> s (N, 841) at 841 points in 2-D
    """
    points = uniform_grid(n_points, "n_points", minimum=3)
    refined = math.ceil(_FEWEST_CELLS / (n_points - 1))
    quarters = 2 * refined * (n_points - 1)
    block = max(1, _BLOCK_BYTES // (8 * quarters**2))
    k = np.pi * np.arange(_MODES)
    to_points = np.cos(np.outer(points, k))
    to_quarters = np.cos(np.outer((np.arange(quarters) + 0.5) / quarters, k))
    # The eigenfunctions of the Laplacian have norm 1: 1, sqrt(2) cos(pi j x), 2 cos(pi j x) cos(pi k y).
    norm = np.where(k > 0, np.sqrt(2), 1.0)
    deviation = np.outer(norm, norm) / (k[:, None] ** 2 + k**2 + 9)
    deviation[0, 0] = 0.0

    def draw(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        u = np.empty((n, n_points, n_points))
        s = np.empty((n, n_points**2))
        for start in range(0, n, block):
            size = min(block, n - start)
            waves = deviation * rng.standard_normal((size, _MODES, _MODES))
            u[start : start + size] = _two_valued(waves, to_points)
            for i, kappa in enumerate(_two_valued(waves, to_quarters), start):
                s[i] = solve_darcy_jumps(kappa)[::refined, ::refined].ravel()
        return u, s

    grid = grid_points([points] * 2)
    return train_and_test(draw, n_train, n_test, seed, sensors=grid, points=grid, name="darcy_two_valued")


def _two_valued(waves: np.ndarray, to_values: np.ndarray) -> np.ndarray:
    """Return the permeability (N, n, n) from the coefficients (N, 128, 128) and the cosines (n, 128)."""
    for _ in range(2):  # c_ijk -> sum_j F_pj c_ijk, axis by axis
        waves = np.tensordot(waves, to_values, axes=(1, 1))
    return np.where(waves > 0, _HIGH, _LOW)
