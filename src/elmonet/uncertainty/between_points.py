"""The error between the points where outputs are known, from points that are left out.

Functions are interpolated between the training points, and what that misses is in no residual there. On a
grid, points along an axis are left out and interpolated: few at a time, next to which all others stay, and
every other one. How much larger the second error is tells how smooth the functions are, and so by how much
the first exceeds the error halfway between points that all stay: see `_beyond_halfway`. Of scattered points,
a fifth is left out, and lies about twice as far from the others as a point between them.
"""

from __future__ import annotations

import numpy as np
from scipy.interpolate import make_interp_spline
from scipy.spatial import cKDTree

from elmonet.interpolation import as_grid, interpolate

_APART = 4  # points of a grid that are left out together are so far apart
_LEFT_OUT = 5  # one of so many scattered points is left out


def errors_between(points: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the root mean square over functions (M,) of the interpolation error halfway to other points.

    `values` (N, M) are functions at `points` (M, d).
    """
    axes, order = as_grid(points)
    if axes is None:
        return _scattered(points, values)
    grid = values[:, order].reshape(len(values), *map(len, axes))
    total = np.zeros(grid.shape[1:])
    for k, x in enumerate(axes):
        if len(x) > 2:
            total += np.moveaxis(_along_axis(x, np.moveaxis(grid, k + 1, 0)), 0, k) ** 2
    found = np.empty(len(points))
    found[order] = np.sqrt(total).ravel()
    return found


def distance_factor(points: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Return the error (n,) at new points relative to that halfway, ``4 t (1 - t)``: 0 at the points."""
    axes, _ = as_grid(points)
    if axes is None:
        scale = np.ptp(points, axis=0)
        tree = cKDTree(points / np.where(scale > 0, scale, 1))
        distance, nearest = tree.query(new / np.where(scale > 0, scale, 1))
        spacing = tree.query(tree.data, k=min(2, len(points)))[0].reshape(len(points), -1)[:, -1]
        t = np.clip(distance / np.maximum(spacing[nearest], np.finfo(float).tiny), 0, 0.5)
        return 4 * t * (1 - t)
    factor = np.zeros(len(new))
    for x, at in zip(axes, new.T, strict=True):
        if len(x) > 1:
            left = np.clip(np.searchsorted(x, at, side="right") - 1, 0, len(x) - 2)
            t = (at - x[left]) / (x[left + 1] - x[left])
            factor = np.maximum(factor, np.where((t < 0) | (t > 1), 1.0, 4 * t * (1 - t)))
    return factor


def _along_axis(x: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the error halfway between neighbours (n, ...) of functions (n, N, ...) along an axis x (n,)."""
    found = np.zeros((len(x), *values.shape[2:]))
    for first in range(_APART):
        out = _inner(len(x), first, _APART)
        if len(out):
            found[out] = np.sqrt(np.mean(_missed(x, values, out) ** 2, axis=1))
    # Ends would be extrapolated, which says nothing of what lies between.
    found[0], found[-1] = found[1], found[-2]
    every_other = [_missed(x, values, out) for first in (0, 1) if len(out := _inner(len(x), first, 2))]
    coarse = float(np.sqrt(np.mean(np.concatenate(every_other) ** 2)))
    fine = float(np.sqrt(np.mean(found[1:-1] ** 2)))
    return found / _beyond_halfway(coarse / fine) if fine > 0 else found


def _beyond_halfway(coarser: float) -> float:
    """Return the error of single points left out, relative to the error halfway between points that all stay.

    `coarser` is the error of every other point left out, relative to that of single ones. For splines of
    random walks, of functions with a kink and of smooth ones, errors that fall as h^p with p = 1/2, 3/2 and
    4, it is 0.9, 1.15 and 2.4, and the ratio that is returned 1.6, 2.5 and 9.7: a power law. A cubic through
    the two nearest points on either side has the error of ``t^2 - h^2`` times ``t^2 - 4 h^2`` at 0 where one
    is left out, of ``t^2 - h^2 / 4`` times ``t^2 - 9 h^2 / 4`` halfway, and the ratio is at most that of
    these: 64 / 9.
    """
    return float(np.clip(1.94 * coarser**1.84, 1.44, 64 / 9))


def _inner(n: int, first: int, step: int) -> np.ndarray:
    """Return every `step`-th of n points, without the ends."""
    out = np.arange(first, n - 1, step)
    return out[out > 0]


def _missed(x: np.ndarray, values: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Return the errors at points that are left out of a spline (by their indices)."""
    knots = np.delete(np.arange(len(x)), out)
    degree = min(3, len(knots) - 1)
    return np.asarray(values[out] - make_interp_spline(x[knots], values[knots], k=degree)(x[out]))


def _scattered(points: np.ndarray, values: np.ndarray) -> np.ndarray:
    places, first = np.unique(points, axis=0, return_index=True)
    if len(places) <= points.shape[1] + 2:
        return np.zeros(len(points))
    out = np.random.default_rng(0).permutation(len(places)) % _LEFT_OUT == 0
    known = first[~out]
    missed = values[:, first[out]].T - interpolate(points[known], values[:, known].T, places[out])
    sizes = np.sqrt(np.mean(missed**2, axis=1)) / 2
    scale = np.ptp(points, axis=0)
    scale = np.where(scale > 0, scale, 1)
    return sizes[cKDTree(places[out] / scale).query(points / scale)[1]]
