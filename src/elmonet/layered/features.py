"""The features of one layer: windows of fields, and random functions of their values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.interpolate import make_interp_spline

from elmonet.layered.grid import Grid, Symmetry

_ALIGNED = 1e-6  # part of a step, within which places are points of a grid
_CONSTANT = 1e-9  # a column whose deviation is below this part of its size counts as constant


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
        self.grid = grid
        self.ratio = np.array([h / own for h, own in zip(training.step, grid.step, strict=True)])
        self.aligned = bool(np.all(np.abs(self.ratio - np.round(self.ratio)) < _ALIGNED))
        # Points to extrapolate by, along each axis: none where it is periodic.
        far = np.ceil(np.asarray(reach) * self.ratio - _ALIGNED).astype(int)
        self.margin = np.where(grid.periodic, 0, far)
        self._indices: dict[bytes, np.ndarray] = {}

    def gather(self, fields: np.ndarray, offsets: np.ndarray, rows: np.ndarray, odd: bool) -> np.ndarray:
        """Return the windows (n, R, K) of fields (n, *shape) at points `rows` (R,), as flat indices."""
        padded = self._extrapolated(fields, odd)
        if self.aligned:
            index = self._index(offsets, padded.shape[1:])
            return padded.reshape(len(fields), -1).take(index[rows], axis=1)
        out = np.empty((len(fields), len(rows), len(offsets)))
        shifted: dict[tuple[float, ...], np.ndarray] = {}
        for k, offset in enumerate(offsets):
            moved, key = padded, tuple[float, ...]()
            for axis, o in enumerate(offset):  # shifts along the first axes are shared by many offsets
                key = (*key, float(o))
                if key not in shifted:
                    shifted[key] = self._shifted(moved, axis, float(o))
                moved = shifted[key]
            out[:, :, k] = moved.reshape(len(fields), -1)[:, rows]
        return out

    def _extrapolated(self, fields: np.ndarray, odd: bool) -> np.ndarray:
        if not self.margin.any():
            return fields
        margins = [(0, 0), *((m, m) for m in self.margin)]
        if odd:
            return np.pad(fields, margins, mode="reflect", reflect_type="odd")
        return np.pad(fields, margins, mode="edge")

    def _index(self, offsets: np.ndarray, padded: tuple[int, ...]) -> np.ndarray:
        """Return flat indices (M, K) into extrapolated fields."""
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

    def _shifted(self, fields: np.ndarray, axis: int, offset: float) -> np.ndarray:
        """Return f(y + offset) along an axis of extrapolated fields, at the points of the grid."""
        places = np.arange(self.grid.shape[axis]) + self.margin[axis] + offset * self.ratio[axis]
        return _interpolated(fields, axis + 1, places, self.grid.periodic[axis])


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


def resampled(fields: np.ndarray, own: Grid, wanted: Grid) -> np.ndarray:
    """Return fields (..., *own.shape) on another grid of the same domain, (..., *wanted.shape)."""
    first = fields.ndim - len(own.shape)
    for axis, points in enumerate(wanted.axes):
        places = (points - own.start[axis]) / own.step[axis]
        fields = _interpolated(fields, first + axis, places, own.periodic[axis])
    return fields


class Fields(NamedTuple):
    """What a layer sees of n functions on a grid.

    Attributes
    ----------
    u : (n, C, *shape), the input channels.
    s : (n, c, *shape), the prediction so far; None before the first layer.
    updates : what the last layers added to it, (n, c, *shape) each, the latest first.
    """

    u: np.ndarray
    s: np.ndarray | None = None
    updates: tuple[np.ndarray, ...] = ()

    def of(self, rows: slice | np.ndarray) -> Fields:
        """Return some of the functions."""
        s = None if self.s is None else self.s[rows]
        return Fields(self.u[rows], s, tuple(update[rows] for update in self.updates))

    def image(self, symmetry: Symmetry) -> Fields:
        """Return their images under a symmetry."""
        s = None if self.s is None else symmetry(self.s)
        return Fields(symmetry(self.u), s, tuple(symmetry(update) for update in self.updates))

    def after(self, update: np.ndarray, history: int) -> Fields:
        """Return the fields with a layer's update added; the last `history` updates are kept."""
        s = update if self.s is None else self.s + update
        updates = () if self.s is None else (update, *self.updates)[:history]
        return Fields(self.u, s, updates)


@dataclass(frozen=True)
class LayerSettings:
    """The settings of a layer's features.

    Attributes
    ----------
    radius, spacing : of the windows of u and s, along each axis: 2 radius + 1 values, `spacing` steps of the
        training grid apart.
    near : radius of the windows of the updates.
    products : radius of the windows of u whose products with those of s and of its last update are features;
        empty: no products.
    widths : of the Gaussians that random weights are multiplied by, in units of the domain; 0: flat.
    width : number of random features.
    activation : "tanh" or "relu".
    scale : of the random weights.
    differences : whether the window of s holds differences from its centre.
    history : number of updates that a layer sees.
    """

    radius: tuple[int, ...]
    spacing: tuple[int, ...]
    near: tuple[int, ...]
    products: tuple[int, ...] = ()
    widths: tuple[float, ...] = (0.0,)
    width: int = 800
    activation: str = "relu"
    scale: float = 1.0
    differences: bool = False
    history: int = 2

    @property
    def reach(self) -> tuple[int, ...]:
        """How far the windows reach, in steps of the training grid, along each axis."""
        return tuple(max(pair) * h for *pair, h in zip(self.radius, self.near, self.spacing, strict=True))


@dataclass(frozen=True)
class LayerFeatures:
    """The q features of a layer at any points: phi = [z, act(z A + b), products].

    z holds the window values of all channels, the coordinates along axes that are not periodic, and 1. Its
    columns are standardised over the training functions.

    Attributes
    ----------
    settings, seed : the settings, and the seed of A and b.
    training : the training grid, whose steps are the unit of the windows.
    channels : numbers of channels of u, of s, and of updates.
    mean, deviation : of the columns of z.
    stored : A and b from a file; None to draw them from the seed.
    """

    settings: LayerSettings
    seed: int
    training: Grid
    channels: tuple[int, int, int]
    mean: np.ndarray
    deviation: np.ndarray
    stored: tuple[np.ndarray, np.ndarray] | None = None

    @classmethod
    def of(cls, settings: LayerSettings, seed: int, training: Grid, fields: Fields) -> LayerFeatures:
        """Standardise the columns over some training functions."""
        s = 0 if fields.s is None else fields.s.shape[1]
        channels = fields.u.shape[1], s, s * len(fields.updates)
        empty = cls(settings, seed, training, channels, np.zeros(0), np.ones(0))
        z, _, _ = empty._columns(fields, empty.windows(training), np.arange(training.size))
        mean, deviation = z.mean(axis=0), z.std(axis=0)
        constant = deviation <= _CONSTANT * np.abs(z).max(axis=0)
        mean[-1] = 0  # the column of ones stays
        return cls(settings, seed, training, channels, mean, np.where(constant, 1.0, deviation))

    def windows(self, grid: Grid) -> Windows:
        """Return the windows on a grid of the same domain."""
        return Windows(grid, self.training, self.settings.reach)

    def __call__(self, fields: Fields, windows: Windows, rows: np.ndarray) -> np.ndarray:
        """Return the features (n R, q) of n functions at the points `rows` (R,) of the windows' grid."""
        z, of_u, of_s = self._columns(fields, windows, rows)
        size, p = z.shape[1], self.settings.width
        out = np.empty((len(z), size + p + sum(a.shape[1] for a in of_u) * sum(b.shape[1] for b in of_s)))
        np.subtract(z, self.mean, out=z)
        np.divide(z, self.deviation, out=z)
        out[:, :size] = z
        A, b = self.weights
        random = np.matmul(z, A)
        random += b
        act = np.tanh if self.settings.activation == "tanh" else _relu
        act(random, out=out[:, size : size + p])
        column = size + p
        for a in of_u:
            for w in of_s:
                for k in range(a.shape[1]):
                    np.multiply(w, a[:, k : k + 1], out=out[:, column : column + w.shape[1]])
                    column += w.shape[1]
        return out

    @cached_property
    def weights(self) -> tuple[np.ndarray, np.ndarray]:
        """A (columns of z, p), normal times Gaussian windows, and b (p,), uniform."""
        if self.stored is not None:
            return self.stored
        r, rng = self.settings, np.random.default_rng(self.seed)
        A = rng.standard_normal((len(self.mean), r.width))
        b = rng.uniform(-1, 1, r.width) * r.scale
        # The features are shared out among the widths of the windows. Columns outside of windows
        # (coordinates, the centre of s) have the weight 1; each feature has the same variance.
        for width, own in zip(r.widths, np.array_split(np.arange(r.width), len(r.widths)), strict=True):
            window = self._window(width)
            A[:, own] *= (r.scale / np.sqrt(np.sum(window**2)) * window)[:, None]
        return A, b

    def _window(self, width: float) -> np.ndarray:
        """Return the weight of each column of z in a Gaussian window of a width; 0: all equal."""
        far, near = self._offsets
        inputs, outputs, updates = self.channels
        offsets = np.concatenate([far] * (inputs + outputs) + [near] * updates)
        distance = np.linalg.norm(offsets / np.array(self.training.shape), axis=1)
        window = np.ones(len(self.mean))
        if width:
            window[: len(offsets)] = np.exp(-((distance / width) ** 2) / 2)
        return window

    @property
    def _offsets(self) -> tuple[np.ndarray, np.ndarray]:
        r = self.settings
        return box_of_offsets(r.radius, r.spacing), box_of_offsets(r.near, r.spacing)

    def _columns(
        self, fields: Fields, windows: Windows, rows: np.ndarray
    ) -> tuple[np.ndarray, list[np.ndarray], list[np.ndarray]]:
        """Return z (n R, columns), and for products the windows of u and those of s."""
        (far, near), r = self._offsets, self.settings
        n, inputs = len(fields.u), [fields.u[:, i] for i in range(fields.u.shape[1])]
        states = [] if fields.s is None else [fields.s[:, i] for i in range(fields.s.shape[1])]
        updates = [update[:, i] for update in fields.updates for i in range(update.shape[1])]

        def gathered(field: np.ndarray, offsets: np.ndarray, odd: bool) -> np.ndarray:
            return windows.gather(field, offsets, rows, odd).reshape(n * len(rows), -1)

        centres = [state.reshape(n, -1)[:, rows].reshape(-1, 1) for state in states]
        of_s = [gathered(state, far, True) for state in states]
        if r.differences:
            for window, centre in zip(of_s, centres, strict=True):
                window -= centre
        of_updates = [gathered(update, near, True) for update in updates]
        columns = [gathered(u, far, False) for u in inputs] + of_s + of_updates
        columns += centres if r.differences else []
        columns.append(np.tile(self._coordinates(windows.grid)[rows], (n, 1)))
        factors = of_s + of_updates[: len(states)] if r.products else []
        of_u = [gathered(u, box_of_offsets(r.products, r.spacing), False) for u in inputs] if factors else []
        return np.hstack(columns), of_u, factors

    def _coordinates(self, grid: Grid) -> np.ndarray:
        """Return columns (M, .): x and 1 - x^2 for each axis that is not periodic, x in [-1, 1]; and 1."""
        axes = np.meshgrid(*grid.axes, indexing="ij")
        columns = []
        for x, low, h, n, around in zip(
            axes, self.training.start, self.training.step, self.training.given, grid.periodic, strict=True
        ):
            if not around:
                scaled = 2 * (x.ravel() - low) / (h * max(1, n - 1)) - 1
                columns += [scaled, 1 - scaled**2]
        return np.stack([*columns, np.ones(grid.size)], axis=1)


def _relu(x: np.ndarray, out: np.ndarray) -> None:
    np.maximum(x, 0, out=out)
