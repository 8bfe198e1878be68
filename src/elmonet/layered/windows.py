"""Windows of fields on a grid: the values around each point, on any resolution of the domain."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.lib.stride_tricks import as_strided
from scipy.interpolate import make_interp_spline

from elmonet.description import Graph
from elmonet.layered.grid import Grid

_ALIGNED = 1e-6  # part of a step, within which places are points of a grid


def box_of_offsets(radius: Sequence[int], spacing: Sequence[int]) -> np.ndarray:
    """Return offsets (K, d) in steps of the training grid: all of -radius, ..., radius times spacing."""
    sides = [h * np.arange(-r, r + 1) for r, h in zip(radius, spacing, strict=True)]
    return np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, len(sides))


class Windows:
    """Windows of fields: the values f(y + o) at points y of `grid`, for offsets o in steps of `training`.

    Beyond a border, fields are extrapolated: inputs by their last value, outputs by the odd reflection
    2 f(border) - f(mirrored), which keeps slopes. Between points, periodic fields are interpolated by their
    Fourier series and others by cubic splines; at whole steps of `grid`, values are taken as they are.
    """

    def __init__(self, grid: Grid, training: Grid, reach: Sequence[int]):
        self.grid, self.training = grid, training
        self.ratio = np.array([h / own for h, own in zip(training.step, grid.step, strict=True)])
        self.aligned = bool(np.all(np.abs(self.ratio - np.round(self.ratio)) < _ALIGNED))
        # Points to extrapolate by, along each axis: the Fourier series of a periodic axis needs none.
        far = np.ceil(np.asarray(reach) * self.ratio - _ALIGNED).astype(int)
        self.margin = far if self.aligned else np.where(grid.periodic, 0, far)

    def extrapolated(self, fields: np.ndarray, odd: bool) -> np.ndarray:
        """Return fields (n, *shape) with margins around them."""
        for axis, (m, periodic) in enumerate(zip(self.margin, self.grid.periodic, strict=True), start=1):
            fields = _with_margins(fields, axis, m, periodic, odd) if m else fields
        return fields

    def gather(
        self, padded: np.ndarray, offsets: np.ndarray, rows: np.ndarray | None, out: np.ndarray
    ) -> np.ndarray:
        """Write the windows (K, n, R) of extrapolated fields at points `rows` (R,); None: at all points.

        The offsets are those of a box, see `box_of_offsets`.
        """
        n, shape = len(padded), self.grid.shape
        if self.aligned and rows is not None:
            points = np.array(np.unravel_index(rows, shape)) + self.margin[:, None]
            flat = padded.reshape(n, -1)
            for own, offset in zip(out, np.round(offsets * self.ratio).astype(int), strict=True):
                places = np.ravel_multi_index(tuple(points + offset[:, None]), padded.shape[1:])
                np.take(flat, places, axis=1, out=own, mode="clip")
            return out
        if self.aligned and len(offsets):
            steps = np.round(offsets * self.ratio).astype(int)
            sides = [np.unique(own) for own in steps.T]  # of a box, whose offsets are evenly spaced
            first = tuple(slice(m + own[0], None) for m, own in zip(self.margin, sides, strict=True))
            corner = padded[(slice(None), *first)]
            moves = [
                h * (own[1] - own[0] if len(own) > 1 else 0)
                for h, own in zip(corner.strides[1:], sides, strict=True)
            ]
            counts = [len(own) for own in sides]
            seen = as_strided(corner, (*counts, n, *shape), (*moves, *corner.strides), writeable=False)
            out.reshape(seen.shape)[...] = seen
            return out
        shifted: dict[tuple[float, ...], np.ndarray] = {}
        for own, offset in zip(out, offsets, strict=True):
            moved, key = padded, tuple[float, ...]()
            for axis, o in enumerate(offset):  # shifts along the first axes are shared by many offsets
                key = (*key, float(o))
                if key not in shifted:
                    shifted[key] = self._shifted(moved, axis, float(o))
                moved = shifted[key]
            own[...] = moved.reshape(n, -1) if rows is None else moved.reshape(n, -1)[:, rows]
        return out

    @cached_property
    def coordinates(self) -> np.ndarray:
        """Columns (M, .): x and 1 - x^2 for each axis that is not periodic, x in [-1, 1]; and 1."""
        grid, training = self.grid, self.training
        axes = np.meshgrid(*grid.axes, indexing="ij")
        columns = []
        for x, low, h, n, around in zip(
            axes, training.start, training.step, training.given, grid.periodic, strict=True
        ):
            if not around:
                scaled = 2 * (x.ravel() - low) / (h * max(1, n - 1)) - 1
                columns += [scaled, 1 - scaled**2]
        return np.stack([*columns, np.ones(grid.size)], axis=1)

    def trace(self, graph: Graph, field: int, offsets: np.ndarray, odd: bool) -> tuple[int, np.ndarray]:
        """Write the extrapolation of one field as array operations: a matrix along each axis.

        Returns
        -------
        value : the number of the extrapolated field.
        index : (K, M), where the windows are in it.
        """
        assert self.aligned
        margin = self.margin.tolist()
        for axis, m in enumerate(margin):
            if m:
                shape = [
                    n + 2 * k * (a < axis)
                    for a, (n, k) in enumerate(zip(self.grid.shape, margin, strict=True))
                ]
                eye = np.eye(shape[axis])
                along = _with_margins(eye, 0, m, self.grid.periodic[axis], odd)
                field = graph.along_axis(field, tuple(shape), axis, along)
        size = tuple(n + 2 * m for n, m in zip(self.grid.shape, self.margin, strict=True))
        points = np.indices(self.grid.shape).reshape(len(size), -1) + self.margin[:, None]
        steps = np.round(offsets * self.ratio).astype(int)
        return field, np.stack([np.ravel_multi_index(tuple(points + o[:, None]), size) for o in steps])

    def _shifted(self, fields: np.ndarray, axis: int, offset: float) -> np.ndarray:
        """Return f(y + offset) along an axis of extrapolated fields, at the points of the grid."""
        places = np.arange(self.grid.shape[axis]) + self.margin[axis] + offset * self.ratio[axis]
        return _interpolated(fields, axis + 1, places, self.grid.periodic[axis])


def _with_margins(fields: np.ndarray, axis: int, m: int, periodic: bool, odd: bool) -> np.ndarray:
    """Return fields with m further points on both sides of an axis."""
    n = fields.shape[axis]
    around = np.arange(-m, n + m)
    if periodic:
        return fields.take(around % n, axis=axis)
    out = fields.take(np.clip(around, 0, n - 1), axis=axis)
    if not odd:
        return out
    if m >= n:  # reflected more than once
        margins = [(m, m) if a == axis else (0, 0) for a in range(fields.ndim)]
        return np.pad(fields, margins, mode="reflect", reflect_type="odd")
    for side, mirrored in (
        (slice(0, m), np.arange(m, 0, -1)),
        (slice(n + m, None), n - 2 - np.arange(m)),
    ):
        own = out[(slice(None),) * axis + (side,)]
        own *= 2
        own -= fields.take(mirrored, axis=axis)
    return out


def _interpolated(fields: np.ndarray, axis: int, places: np.ndarray, periodic: bool) -> np.ndarray:
    """Return fields along an axis at places in units of its index."""
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


def resampled(fields: np.ndarray, own: Grid, wanted: Grid, odd: bool = False) -> np.ndarray:
    """Return fields (..., *own.shape) on another grid of the same domain, (..., *wanted.shape).

    Beyond a border, they are extrapolated as in `Windows`, inputs or (`odd`) outputs.
    """
    first = fields.ndim - len(own.shape)
    for axis, points in enumerate(wanted.axes):
        places = (points - own.start[axis]) / own.step[axis]
        if not own.periodic[axis]:
            beyond = max(-places[0], places[-1] - (own.shape[axis] - 1))
            if (m := int(np.ceil(beyond - _ALIGNED))) > 0:
                fields, places = _with_margins(fields, first + axis, m, False, odd), places + m
        fields = _interpolated(fields, first + axis, places, own.periodic[axis])
    return fields
