"""Darcy flow through a permeability that jumps: finite volumes, solved by conjugate gradients."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.fft import dstn

from elmonet._check import InputError

__all__ = ["edge_permeability", "solve_darcy_jumps"]

_TOLERANCE = 1e-11
_MOST_ITERATIONS = 1000

Map = Callable[[np.ndarray], np.ndarray]


def solve_darcy_jumps(kappa: np.ndarray, source: float | np.ndarray = 1.0) -> np.ndarray:
    """Solve -div(kappa grad s) = source on the unit square, s = 0 on its boundary, by finite volumes.

    `kappa`: (2n - 2, 2n - 2), positive, its value in each of the quarters of the cells between n x n nodes;
    `source`: a number, or (n, n) at the nodes. Returns s at the nodes, (n, n). With h the spacing and c as in
    `edge_permeability`,

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
    # The same matrix for kappa = 1 has sines as eigenvectors. The eigenvalues of the one relative to the
    # other lie between the extremes of kappa: the iterations depend on their ratio, not on the mesh.
    second_difference = 2 - 2 * np.cos(np.pi * np.arange(1, k + 1) / (n - 1))
    eigenvalues = second_difference[:, None] + second_difference

    def flow(s: np.ndarray) -> np.ndarray:
        net = diagonal * s
        net[1:] -= across[1:-1] * s[:-1]
        net[:-1] -= across[1:-1] * s[1:]
        net[:, 1:] -= along[:, 1:-1] * s[:, :-1]
        net[:, :-1] -= along[:, 1:-1] * s[:, 1:]
        return net

    def without_jumps(r: np.ndarray) -> np.ndarray:
        # The transform of type 1 is its own inverse up to a factor, which does not matter here.
        return dstn(dstn(r, type=1) / eigenvalues, type=1)

    right = np.broadcast_to(source, (n, n))[1:-1, 1:-1] / (n - 1) ** 2
    return np.pad(_conjugate_gradients(flow, right, without_jumps), 1)


def _conjugate_gradients(apply: Map, right: np.ndarray, approximate_inverse: Map) -> np.ndarray:
    """Solve apply(s) = right for a symmetric positive map, until the residual is 1e-11 of `right`.

    Sums are NumPy's own: threads of the BLAS would cost more than they compute here.
    """
    s, r = np.zeros_like(right), right
    enough = _TOLERANCE**2 * (right * right).sum()
    direction, before = np.zeros_like(right), 1.0
    for _ in range(_MOST_ITERATIONS):
        if (r * r).sum() <= enough:
            return s
        z = approximate_inverse(r)
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

    Four quarters of cells lie around the edge between two nodes, two on each side. What flows along it passes
    one after the other of a side, so their resistances 1 / kappa are averaged, and the sides in parallel, so
    their permeabilities are.

    >>> kappa = np.array([[1.0, 1, 1, 1], [3, 3, 3, 3], [1, 1, 1, 1], [1, 1, 1, 1]])
    >>> across, along = edge_permeability(kappa)
    >>> across.ravel().tolist(), along.ravel().tolist()  # 1 and 3 in series: 1.5; in parallel: 2
    ([1.5, 1.0], [2.0, 2.0])
    """

    def across(kappa: np.ndarray) -> np.ndarray:
        in_series = 2 / (1 / kappa[::2] + 1 / kappa[1::2])
        return (in_series[:, 1:-1:2] + in_series[:, 2::2]) / 2

    return across(kappa), across(kappa.T).T
