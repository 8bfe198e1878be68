"""The error between the points where outputs are known, from points that are left out.

Functions are interpolated between the training points, and what that misses is in no residual there. On a
grid, every other point along an axis is left out and interpolated from the rest, which misses e(2 h) for the
spacing h; leaving three of four out tells the rate p at which that falls, and ``e(h) = e(2 h) / 2^p``. Of
scattered points, a fifth is left out, and lies about twice as far from the others as a point between them.
"""

from __future__ import annotations

import numpy as np
from scipy.interpolate import make_interp_spline
from scipy.spatial import cKDTree

from elmonet.interpolation import as_grid, interpolate

_RATES = (1.0, 4.0)  # least and largest rate at which the error falls with the spacing; the least if unknown
_MIN_FOR_RATE = 9  # points along an axis that tell the rate
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
    for first in (0, 1):
        found[1 - first :: 2] = _rms(_missed(x, values, first, 2))
    if len(x) > 3:  # the ends, extrapolated from every other point, say nothing of what lies between
        found[0], found[-1] = found[1], found[-2]
    else:
        found[[0, -1]] = found[1]
    rate = _RATES[0]
    if len(x) >= _MIN_FOR_RATE:
        coarse, fine = (float(np.sqrt(np.mean(_missed(x, values, 0, step) ** 2))) for step in (4, 2))
        rate = float(np.clip(np.log2(coarse / fine), *_RATES)) if fine > 0 and coarse > 0 else _RATES[1]
    return found / 2**rate


def _missed(x: np.ndarray, values: np.ndarray, first: int, step: int) -> np.ndarray:
    """Return the errors of points halfway between every `step`-th point, which is a knot of a spline."""
    knots, out = slice(first, None, step), slice((first + step // 2) % step, None, step)
    degree = min(3, len(x[knots]) - 1)
    return values[out] - make_interp_spline(x[knots], values[knots], k=degree)(x[out])


def _rms(errors: np.ndarray) -> np.ndarray:
    return np.sqrt(np.mean(errors**2, axis=1))


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
