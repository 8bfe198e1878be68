"""Interpolation from points to other points: splines on grids, radial basis functions elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from elmonet.errors import InputError

_MAX_DENSE_POINTS = 2000  # beyond this many scattered points, interpolate from the nearest neighbours
_NEIGHBOURS = 64  # number of nearest neighbours


def interpolate(points: np.ndarray, values: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Return values (n, k) at X (n, d), interpolated from values (M, k) at points (M, d)."""
    axes, order = as_grid(points)
    if axes is None:
        return _scattered(points, values, X)
    # Cardinal splines: row i of `weights` holds the values at X_i of the splines that are 1 at one node of
    # the axis and 0 at the others. The axes are contracted one by one.
    grid = values[order].reshape(*(len(a) for a in axes), -1)
    weights = _cardinal(axes[0], X[:, 0])
    grid = np.tensordot(weights, grid, axes=1)
    for axis, x in zip(axes[1:], X.T[1:], strict=True):
        grid = np.einsum("ij,ij...->i...", _cardinal(axis, x), grid)
    return grid


def as_grid(points: np.ndarray) -> tuple[list[np.ndarray] | None, np.ndarray]:
    """Return the axes if the points form a full tensor grid, else None; and the order that sorts them."""
    axes = [np.unique(column) for column in points.T]
    order = np.lexsort(points.T[::-1])
    if np.prod([float(len(a)) for a in axes]) != len(points):
        return None, order
    return (axes if np.array_equal(points[order], grid_points(axes)) else None), order


def grid_points(axes: Any) -> np.ndarray:
    """Return the points (M, d) of the tensor grid of d axes; the last varies fastest.

    >>> grid_points([np.array([0.0, 1.0]), np.array([5.0, 6.0, 7.0])])[:4].tolist()
    [[0.0, 5.0], [0.0, 6.0], [0.0, 7.0], [1.0, 5.0]]
    """
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))


def _cardinal(axis: np.ndarray, x: np.ndarray) -> np.ndarray:
    if len(axis) == 1:
        return np.ones((len(x), 1))
    from scipy.interpolate import make_interp_spline  # not needed to read a file

    return make_interp_spline(axis, np.eye(len(axis)), k=min(3, len(axis) - 1))(x)


def _scattered(points: np.ndarray, values: np.ndarray, X: np.ndarray) -> np.ndarray:
    from scipy.interpolate import RBFInterpolator

    points, first = np.unique(points, axis=0, return_index=True)
    neighbours = None if len(points) <= _MAX_DENSE_POINTS else _NEIGHBOURS
    for kernel, degree in (("cubic", 1), ("linear", 0)):
        if len(points) < points.shape[1] + 1 and degree > 0:
            continue
        try:
            return RBFInterpolator(points, values[first], kernel=kernel, degree=degree, neighbors=neighbours)(
                X
            )
        except np.linalg.LinAlgError:  # points on a line or plane cannot carry linear polynomials
            continue
    raise InputError("values cannot be interpolated between these points: all points are the same.")
