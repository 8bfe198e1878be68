"""Darcy flow on the unit square: from the permeability to the pressure."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solveh_banded

from elmonet._check import number
from elmonet.data import OperatorData
from elmonet.interpolation import grid_points
from elmonet.problems.gaussian import SHORTEST, gaussian_field
from elmonet.problems.split import train_and_test, uniform_grid

__all__ = ["darcy", "solve_darcy"]

_BLOCK_BYTES = 2**24


def darcy(
    n_train: int = 1000,
    n_test: int = 1000,
    seed: int = 0,
    *,
    n_sensors: int = 30,
    n_points: int = 50,
    length_scale: float = 0.25,
) -> OperatorData:
    """Make pairs kappa -> s with -div(kappa grad s) = 1 on the unit square, s = 0 on its boundary.

    kappa = exp(g / 2), g from a Gaussian field. Inputs are images of kappa, (N, n_sensors,
    n_sensors), on the uniform grid that includes the boundary; outputs are s, (N, n_points^2), on a
    grid of the same kind, by finite volumes of order 2 on that grid. In both, and in `sensors`
    and `points`, the first coordinate is the slow one.

    Parameters
    ----------
    n_train, n_test : number of training and of test functions.
    seed : the same seed gives the same functions.
    n_sensors, n_points : points along each side of the grids of kappa and of s.
    length_scale : of the Gaussian field, see `gaussian_field`.

    Examples
    --------
    >>> darcy(3, 2)
    OperatorData 'darcy': 3 training and 2 test functions
      u (N, 30, 30) at 900 sensors in 2-D -> s (N, 2500) at 2500 points in 2-D
    """
    sensors = uniform_grid(n_sensors, "n_sensors")
    points = uniform_grid(n_points, "n_points", minimum=4)
    length_scale = number(length_scale, "length_scale", minimum=SHORTEST)
    half_grid = np.linspace(0.0, 1.0, 2 * n_points - 1)
    axis = np.concatenate([half_grid, sensors])  # one field, seen by the solver and the sensors
    block = max(1, _BLOCK_BYTES // (8 * len(axis) ** 2))

    def draw(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        u = np.empty((n, n_sensors, n_sensors))
        s = np.empty((n, n_points**2))
        for start in range(0, n, block):
            rows = slice(start, min(start + block, n))
            size = rows.stop - start
            kappa = np.exp(gaussian_field((axis, axis), size, length_scale, rng) / 2)
            u[rows] = kappa[:, -n_sensors:, -n_sensors:]
            s[rows] = solve_darcy(kappa[:, :-n_sensors, :-n_sensors]).reshape(size, -1)
        return u, s

    grids = {"sensors": grid_points([sensors] * 2), "points": grid_points([points] * 2)}
    return train_and_test(draw, n_train, n_test, seed, **grids, name="darcy")


def solve_darcy(kappa: np.ndarray, source: float | np.ndarray = 1.0) -> np.ndarray:
    """Solve -div(kappa grad s) = source, s = 0 on the boundary, by finite volumes of order 2.

    With c at the midpoints between neighbouring nodes, and h the spacing,

        sum over the four neighbours of c (s_node - s_neighbour) = h^2 source.

    `kappa`: (N, 2n - 1, 2n - 1) on the grid of nodes and midpoints; `source`: a number, or (n, n)
    at the nodes; n >= 4. Returns s at the nodes, (N, n, n).

    >>> s = solve_darcy(np.ones((1, 7, 7)))  # four equal interior nodes: 4 s - 2 s = h^2
    >>> np.allclose(s[0, 1:3, 1:3], 1 / 18)
    True
    """
    n = (kappa.shape[1] + 1) // 2
    k = n - 2  # interior nodes a side
    right = np.broadcast_to(source, (n, n))[1:-1, 1:-1].ravel() / (n - 1) ** 2
    across = kappa[:, 1::2, 2:-2:2]  # midpoints between neighbours in the first coordinate
    along = kappa[:, 2:-2:2, 1::2]  # ... in the second coordinate
    diagonal = across[:, :-1] + across[:, 1:] + along[:, :, :-1] + along[:, :, 1:]
    # Lower banded form: row b holds the entries (j + b, j) of the symmetric matrix.
    banded = np.zeros((k + 1, k * k), order="F")
    s = np.zeros((len(kappa), n, n))
    for i in range(len(kappa)):
        banded[0] = diagonal[i].ravel()
        # The last node of a line is not a neighbour of the first node of the next line: hence a zero.
        banded[1] = np.pad(-along[i, :, 1:-1], ((0, 0), (0, 1))).ravel()
        banded[k, :-k] = -across[i, 1:-1].ravel()
        interior = solveh_banded(banded, right, lower=True, check_finite=False)
        s[i, 1:-1, 1:-1] = interior.reshape(k, k)
    return s
