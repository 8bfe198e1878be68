"""What is seen of a field from each point: its values at fixed distances, on any resolution of the grid."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.interpolate import make_interp_spline

from elmonet.layers.grid import Grid

__all__ = ["Windows", "box_of_offsets", "resampled"]

_ALIGNED = 1e-6  # part of a step


def box_of_offsets(radius: Sequence[int], spacing: Sequence[int]) -> np.ndarray:
    """Offsets (K, d) in steps of the training grid: all of -radius, ..., radius times spacing."""
    sides = [h * np.arange(-r, r + 1) for r, h in zip(radius, spacing, strict=True)]
    return np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, len(sides))


class Windows:
    """Gathers f(y + o) for all points y of `grid` and offsets o, which are in steps of the `training` grid.

    Where a border is in the way, fields are continued: inputs by their last value, outputs by the odd
    reflection 2 f(border) - f(mirrored), which keeps slopes. Between points, periodic fields are
    interpolated by their Fourier series and others by cubic splines; offsets that are whole steps of `grid`
    take values as they are.
    """

    def __init__(self, grid: Grid, training: Grid, reach: Sequence[int]):
        self.grid = grid
        self.ratio = np.array([h / own for h, own in zip(training.step, grid.step, strict=True)])
        self.whole = bool(np.all(np.abs(self.ratio - np.round(self.ratio)) < _ALIGNED))
        # Cells to continue by, along each axis: none where it is periodic.
        far = np.ceil(np.asarray(reach) * self.ratio - _ALIGNED).astype(int)
        self.margin = np.where(grid.periodic, 0, far)
        self._indices: dict[bytes, np.ndarray] = {}

    def gather(self, fields: np.ndarray, offsets: np.ndarray, rows: np.ndarray, odd: bool) -> np.ndarray:
        """Of fields (n, *shape) at the points `rows` (R,) (flat indices): (n, R, K)."""
        padded = self._continued(fields, odd)
        if self.whole:
            index = self._index(offsets, padded.shape[1:])
            return padded.reshape(len(fields), -1).take(index[rows], axis=1)
        out = np.empty((len(fields), len(rows), len(offsets)))
        shifted: dict[tuple[float, ...], np.ndarray] = {}
        for k, offset in enumerate(offsets):
            moved, done = padded, tuple[float, ...]()
            for axis, o in enumerate(
                offset
            ):  # one axis after the other; the first ones are kept for the next
                done = (*done, float(o))
                if done not in shifted:
                    shifted[done] = self._moved(moved, axis, float(o))
                moved = shifted[done]
            out[:, :, k] = moved.reshape(len(fields), -1)[:, rows]
        return out

    def _continued(self, fields: np.ndarray, odd: bool) -> np.ndarray:
        if not self.margin.any():
            return fields
        margins = [(0, 0), *((m, m) for m in self.margin)]
        if odd:
            return np.pad(fields, margins, mode="reflect", reflect_type="odd")
        return np.pad(fields, margins, mode="edge")

    def _index(self, offsets: np.ndarray, padded: tuple[int, ...]) -> np.ndarray:
        """Flat indices (M, K) into continued fields."""
        key = offsets.tobytes()
        if key not in self._indices:
            steps = np.round(offsets * self.ratio).astype(int)
            points = np.indices(self.grid.shape).reshape(len(padded), -1)
            places = [
                (p[:, None] + o[None] + m) % n
                for p, o, m, n in zip(points, steps.T, self.margin, padded, strict=True)
            ]
            self._indices[key] = np.ravel_multi_index(places, padded)
        return self._indices[key]

    def _moved(self, fields: np.ndarray, axis: int, offset: float) -> np.ndarray:
        """f(y + offset) along an axis, which is cut back from the continued to its own points."""
        step = offset * self.ratio[axis]
        n, m = self.grid.shape[axis], self.margin[axis]
        if self.grid.periodic[axis]:
            return _between(fields, axis + 1, np.arange(n) + step, periodic=True)
        return _between(fields, axis + 1, np.arange(n) + m + step, periodic=False)


def _between(fields: np.ndarray, axis: int, places: np.ndarray, periodic: bool) -> np.ndarray:
    """Fields along an axis at places that are in units of its index."""
    n = fields.shape[axis]
    if np.all(np.abs(places - np.round(places)) < _ALIGNED):
        index = np.round(places).astype(int)
        return fields.take(index % n if periodic else np.clip(index, 0, n - 1), axis=axis)
    if periodic:
        # The Fourier series through n points, as a matrix: the sum over |k| < n/2 of
        # exp(2 pi i k (x - j) / n) / n, where for even n the two halves of k = n/2 are joined as a cosine.
        k = np.arange(1, (n - 1) // 2 + 1)
        angle = 2 * np.pi * (places[:, None] - np.arange(n)) / n
        matrix = 1 + 2 * np.cos(angle[..., None] * k).sum(axis=-1)
        if n % 2 == 0:
            matrix += np.cos(angle * (n // 2))
        matrix /= n
    else:
        matrix = make_interp_spline(np.arange(n), np.eye(n), k=min(3, n - 1))(places)
    return np.moveaxis(np.tensordot(fields, matrix, axes=(axis, 1)), -1, axis)


def resampled(fields: np.ndarray, own: Grid, wanted: Grid) -> np.ndarray:
    """Fields (..., *own.shape) at the points of another grid of the same domain: (..., *wanted.shape)."""
    first = fields.ndim - len(own.shape)
    for axis, points in enumerate(wanted.axes):
        places = (points - own.start[axis]) / own.step[axis]
        fields = _between(fields, first + axis, places, own.periodic[axis])
    return fields
