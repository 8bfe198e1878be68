"""The features of one layer: windows of fields, and fixed random functions of what they show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.interpolate import make_interp_spline

from elmonet.layered.grid import Grid, Symmetry

__all__ = ["Features", "Fields", "Recipe", "Windows", "box_of_offsets", "resampled"]

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


_CONSTANT = 1e-9  # a column that varies by less, of its size, does not vary


class Fields(NamedTuple):
    """What a layer sees of n functions on a grid.

    u : (n, C, *shape), the input channels. s : (n, c, *shape), the last prediction, or None before the first
    layer. updates : what the last layers added to it, (n, c, *shape) each, the last one first.
    """

    u: np.ndarray
    s: np.ndarray | None = None
    updates: tuple[np.ndarray, ...] = ()

    def of(self, rows: slice | np.ndarray) -> Fields:
        """Some of the functions."""
        s = None if self.s is None else self.s[rows]
        return Fields(self.u[rows], s, tuple(update[rows] for update in self.updates))

    def image(self, symmetry: Symmetry) -> Fields:
        """Their images under a symmetry."""
        s = None if self.s is None else symmetry(self.s)
        return Fields(symmetry(self.u), s, tuple(symmetry(update) for update in self.updates))

    def after(self, update: np.ndarray, kept: int) -> Fields:
        """With a layer's update added; so many of the last updates are kept."""
        s = update if self.s is None else self.s + update
        updates = () if self.s is None else (update, *self.updates)[:kept]
        return Fields(self.u, s, updates)


@dataclass(frozen=True)
class Recipe:
    """The settings of a layer's features.

    Attributes
    ----------
    radius, spacing : of the windows of u and s, along each axis: 2 radius + 1 values, so many steps of the
        training grid apart.
    near : radius of the window of the updates.
    products : radius of the windows of u whose products with those of s and of its last update are features;
        empty: no products.
    widths : of the Gaussians that random weights are multiplied by, in units of the domain; 0: flat.
    width : how many random features.
    activation : "tanh" or "relu".
    scale : of the random weights.
    differences : whether the window of s holds differences from its centre.
    history : how many of the last updates are seen.
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
        """How far the windows go, in steps of the training grid, along each axis."""
        return tuple(max(pair) * h for *pair, h in zip(self.radius, self.near, self.spacing, strict=True))


@dataclass(frozen=True)
class Features:
    """The q features of a layer at any points: phi = [z, act(z A + b), products].

    z holds the window values of all channels, the coordinates along axes that are not periodic, and 1; each
    column without its mean and divided by its deviation over the training functions.

    Attributes
    ----------
    recipe, seed : the settings, and the seed of A and b.
    training : the training grid, whose steps are the unit of the windows.
    channels : how many there are of u, of s, and of updates.
    mean, deviation : of the columns of z.
    """

    recipe: Recipe
    seed: int
    training: Grid
    channels: tuple[int, int, int]
    mean: np.ndarray
    deviation: np.ndarray

    @classmethod
    def of(cls, recipe: Recipe, seed: int, training: Grid, fields: Fields) -> Features:
        """With the means and deviations of the columns over some training functions."""
        s = 0 if fields.s is None else fields.s.shape[1]
        channels = fields.u.shape[1], s, s * len(fields.updates)
        empty = cls(recipe, seed, training, channels, np.zeros(0), np.ones(0))
        z, _, _ = empty._seen(fields, empty.windows(training), np.arange(training.size))
        mean, deviation = z.mean(axis=0), z.std(axis=0)
        still = deviation <= _CONSTANT * np.abs(z).max(axis=0)
        mean[-1] = 0  # the constant stays
        return cls(recipe, seed, training, channels, mean, np.where(still, 1.0, deviation))

    def windows(self, grid: Grid) -> Windows:
        """To gather windows on a grid of the same domain."""
        return Windows(grid, self.training, self.recipe.reach)

    def __call__(self, fields: Fields, windows: Windows, rows: np.ndarray) -> np.ndarray:
        """The features (n R, q) of n functions at the points `rows` (R,) of the windows' grid."""
        z, beside, seen = self._seen(fields, windows, rows)
        size, p = z.shape[1], self.recipe.width
        out = np.empty((len(z), size + p + sum(a.shape[1] for a in beside) * sum(b.shape[1] for b in seen)))
        np.subtract(z, self.mean, out=z)
        np.divide(z, self.deviation, out=z)
        out[:, :size] = z
        A, b = self.weights
        random = np.matmul(z, A)
        random += b
        act = np.tanh if self.recipe.activation == "tanh" else _relu
        act(random, out=out[:, size : size + p])
        column = size + p
        for a in beside:
            for w in seen:
                for k in range(a.shape[1]):
                    np.multiply(w, a[:, k : k + 1], out=out[:, column : column + w.shape[1]])
                    column += w.shape[1]
        return out

    @cached_property
    def weights(self) -> tuple[np.ndarray, np.ndarray]:
        """A (columns of z, p) and b (p,): Gaussian numbers times Gaussian windows, and uniform numbers."""
        r, rng = self.recipe, np.random.default_rng(self.seed)
        A = rng.standard_normal((len(self.mean), r.width))
        b = rng.uniform(-1, 1, r.width) * r.scale
        # Each width of the windows has its share of the features. Columns that are no window (coordinates,
        # the centre of s) count in full; each feature has the same variance.
        for width, own in zip(r.widths, np.array_split(np.arange(r.width), len(r.widths)), strict=True):
            window = self._window(width)
            A[:, own] *= (r.scale / np.sqrt(np.sum(window**2)) * window)[:, None]
        return A, b

    def _window(self, width: float) -> np.ndarray:
        """The weight of each column of z in a Gaussian window of a width; 0: all alike."""
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
        r = self.recipe
        return box_of_offsets(r.radius, r.spacing), box_of_offsets(r.near, r.spacing)

    def _seen(
        self, fields: Fields, windows: Windows, rows: np.ndarray
    ) -> tuple[np.ndarray, list[np.ndarray], list[np.ndarray]]:
        """z (n R, columns); and for products, the windows of u beside each point, and those of s."""
        (far, near), r = self._offsets, self.recipe
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
        seen = of_s + of_updates[: len(states)] if r.products else []
        beside = [gathered(u, box_of_offsets(r.products, r.spacing), False) for u in inputs] if seen else []
        return np.hstack(columns), beside, seen

    def _coordinates(self, grid: Grid) -> np.ndarray:
        """(M, .): x and 1 - x^2 along axes that are not periodic, x from -1 to 1 on the training grid; 1."""
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
