"""Darcy flow on the unit square, with smooth and with two-valued permeability."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.fft import dstn
from scipy.linalg import solveh_banded

from elmonet.checks import number, positive_integer
from elmonet.data import OperatorData
from elmonet.errors import InputError
from elmonet.problems.gaussian import SHORTEST, gaussian_field, train_and_test, uniform_grid

_BLOCK_BYTES = 2**24  # of permeabilities, drawn at a time
_HIGH, _LOW = 12.0, 3.0  # the two permeabilities
_MODES = 128  # in each coordinate, of the field whose sign chooses between them
_FEWEST_CELLS = 112  # along a side of the mesh, for two-valued permeability
_TOLERANCE = 1e-11  # relative residual of conjugate gradients
_MOST_ITERATIONS = 1000  # of conjugate gradients

Map = Callable[[np.ndarray], np.ndarray]


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

    kappa = exp(g / 2), with g from a Gaussian field. Both are given on uniform grids that include the
    boundary, with the first coordinate as the slow one. Solved by finite volumes of order 2 on the grid of s.

    Parameters
    ----------
    n_train, n_test : number of training and of test functions.
    seed : the same seed gives the same functions.
    n_sensors, n_points : points along each side of the grids of kappa and of s.
    length_scale : of the Gaussian field, see `gaussian_field`.

    Returns
    -------
    data : images of kappa, (N, n_sensors, n_sensors), and s, (N, n_points^2).

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
    axis = np.concatenate([half_grid, sensors])  # one field for the solver and the sensors
    block = max(1, _BLOCK_BYTES // (8 * len(axis) ** 2))

    def draw(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        kappa = np.exp(gaussian_field((axis, axis), n, length_scale, rng) / 2)
        s = solve_darcy(kappa[:, :-n_sensors, :-n_sensors]).reshape(n, -1)
        return kappa[:, -n_sensors:, -n_sensors:].copy(), s  # a copy, so that the large array is freed

    return train_and_test(
        draw, n_train, n_test, seed, sensors=sensors, points=points, dimension=2, block=block, name="darcy"
    )


def darcy_two_valued(
    n_train: int = 1000,
    n_test: int = 200,
    seed: int = 0,
    *,
    n_points: int = 29,
    n_cells: int = _FEWEST_CELLS,
) -> OperatorData:
    """Make pairs kappa -> s with -div(kappa grad s) = 1 on the unit square, s = 0 on its boundary.

    The benchmark of Li et al. (Fourier neural operator, 2021): kappa is 12 where a Gaussian field is positive
    and 3 elsewhere. The field is N(0, (-Laplacian + 9)^-2) with zero Neumann conditions and, as in the
    published generator, without its mean:

        g(x, y) = sum of xi_jk cos(pi j x) cos(pi k y) / (pi^2 (j^2 + k^2) + 9),   j, k < 128, not both 0,

    with independent normal xi_jk of variance 4, or 2 where j or k is 0. Both functions are given on the same
    uniform grid, which includes the boundary; the first coordinate is the slow one.

    Solved by finite volumes on a mesh of at least n_cells x n_cells cells that contains the points. As the
    interfaces are rough, s converges with order 1: its relative error is about 1e-3 with 112 cells. The
    published files were solved with 420 cells a side: ``n_points=85, n_cells=420`` is their 85 x 85 grid.

    Parameters
    ----------
    n_train, n_test : number of training and of test functions.
    seed : the same seed gives the same functions, at any points.
    n_points : points along each side of the grid.
    n_cells : fewest cells along each side of the mesh.

    Returns
    -------
    data : images of kappa, (N, n_points, n_points), and s, (N, n_points^2).

    Examples
    --------
    >>> darcy_two_valued(3, 2)
    OperatorData 'darcy_two_valued': 3 training and 2 test functions
      u (N, 29, 29) at 841 sensors in 2-D -> s (N, 841) at 841 points in 2-D
    """
    points = uniform_grid(n_points, "n_points", minimum=3)
    refined = math.ceil(positive_integer(n_cells, "n_cells") / (n_points - 1))
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
        waves = deviation * rng.standard_normal((n, _MODES, _MODES))
        kappas = _two_valued(waves, to_quarters)
        s = np.stack([solve_darcy_jumps(kappa)[::refined, ::refined].ravel() for kappa in kappas])
        return _two_valued(waves, to_points), s

    name = "darcy_two_valued"
    return train_and_test(
        draw, n_train, n_test, seed, sensors=points, points=points, dimension=2, block=block, name=name
    )


def _two_valued(waves: np.ndarray, to_values: np.ndarray) -> np.ndarray:
    """Return the permeability (N, n, n) from the coefficients (N, 128, 128) and the cosines (n, 128)."""
    for _ in range(2):  # c_ijk -> sum_j F_pj c_ijk, axis by axis
        waves = np.tensordot(waves, to_values, axes=(1, 1))
    return np.where(waves > 0, _HIGH, _LOW)


def solve_darcy(kappa: np.ndarray, source: float | np.ndarray = 1.0) -> np.ndarray:
    """Solve -div(kappa grad s) = source, s = 0 on the boundary, by finite volumes of order 2.

    With c at the midpoints between neighbouring nodes, and h the spacing,

        sum over the four neighbours of c (s_node - s_neighbour) = h^2 source.

    `kappa`: (N, 2n - 1, 2n - 1) on the grid of nodes and midpoints; `source`: a number, or (n, n) at the
    nodes; n >= 4. Return s at the nodes, (N, n, n).

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
        # Zero, as the last node of a line is not a neighbour of the first node of the next line.
        banded[1] = np.pad(-along[i, :, 1:-1], ((0, 0), (0, 1))).ravel()
        banded[k, :-k] = -across[i, 1:-1].ravel()
        interior = solveh_banded(banded, right, lower=True, check_finite=False)
        s[i, 1:-1, 1:-1] = interior.reshape(k, k)
    return s


def solve_darcy_jumps(kappa: np.ndarray, source: float | np.ndarray = 1.0) -> np.ndarray:
    """Solve -div(kappa grad s) = source on the unit square, s = 0 on its boundary, by finite volumes.

    `kappa`: (2n - 2, 2n - 2), positive, in each quarter of the cells between n x n nodes; `source`: a number,
    or (n, n) at the nodes. Return s at the nodes, (n, n). With h the spacing and c as in `edge_permeability`,

        sum over the four neighbours of c (s_node - s_neighbour) = h^2 source.

    Of order 2 where kappa is smooth or jumps along lines of nodes or midway between them, of order 1 where
    the jumps lie otherwise.

    >>> s = solve_darcy_jumps(np.ones((6, 6)))  # four equal interior nodes: 4 s - 2 s = h^2
    >>> np.allclose(s[1:3, 1:3], 1 / 18)
    True
    """
    n = len(kappa) // 2 + 1
    k = n - 2  # interior nodes a side
    across, along = edge_permeability(kappa)
    diagonal = across[:-1] + across[1:] + along[:, :-1] + along[:, 1:]
    # Precondition with the matrix for kappa = 1, whose eigenvectors are sines. The relative eigenvalues lie
    # between the extremes of kappa: the number of iterations depends on their ratio, not on the mesh.
    second_difference = 2 - 2 * np.cos(np.pi * np.arange(1, k + 1) / (n - 1))
    eigenvalues = second_difference[:, None] + second_difference

    def flow(s: np.ndarray) -> np.ndarray:
        net = diagonal * s
        net[1:] -= across[1:-1] * s[:-1]
        net[:-1] -= across[1:-1] * s[1:]
        net[:, 1:] -= along[:, 1:-1] * s[:, :-1]
        net[:, :-1] -= along[:, 1:-1] * s[:, 1:]
        return net

    def precondition(r: np.ndarray) -> np.ndarray:
        # The transform of type 1 is its own inverse up to a factor, which does not matter here.
        return dstn(dstn(r, type=1) / eigenvalues, type=1)

    right = np.broadcast_to(source, (n, n))[1:-1, 1:-1] / (n - 1) ** 2
    return np.pad(_conjugate_gradients(flow, right, precondition), 1)


def _conjugate_gradients(apply: Map, right: np.ndarray, precondition: Map) -> np.ndarray:
    """Solve apply(s) = right for a symmetric positive definite map, to a relative residual of 1e-11.

    Sums do not use the BLAS, whose threads would take longer than the sums.
    """
    s, r = np.zeros_like(right), right
    enough = _TOLERANCE**2 * (right * right).sum()
    direction, before = np.zeros_like(right), 1.0
    for _ in range(_MOST_ITERATIONS):
        if (r * r).sum() <= enough:
            return s
        z = precondition(r)
        now = (r * z).sum()
        direction = z + now / before * direction
        flow = apply(direction)
        step = now / (direction * flow).sum()
        s, r, before = s + step * direction, r - step * flow, now
    raise InputError(
        f"{_MOST_ITERATIONS} iterations do not solve -div(kappa grad s) = source: kappa varies too much. "
        "Use positive values that are closer to each other."
    )


def edge_permeability(kappa: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return c between neighbours in the first coordinate, (n - 1, n - 2), and in the second, (n - 2, n - 1).

    Four quarters of cells lie around the edge between two nodes, two on each side. The two on a side are in
    series, so resistances 1 / kappa are averaged; the sides are in parallel, so permeabilities are averaged.

    >>> kappa = np.array([[1.0, 1, 1, 1], [3, 3, 3, 3], [1, 1, 1, 1], [1, 1, 1, 1]])
    >>> across, along = edge_permeability(kappa)
    >>> across.ravel().tolist(), along.ravel().tolist()  # 1 and 3 in series: 1.5; in parallel: 2
    ([1.5, 1.0], [2.0, 2.0])
    """

    def across(kappa: np.ndarray) -> np.ndarray:
        in_series = 2 / (1 / kappa[::2] + 1 / kappa[1::2])
        return (in_series[:, 1:-1:2] + in_series[:, 2::2]) / 2

    return across(kappa), across(kappa.T).T
