"""The features of one layer: what is seen from each point, and fixed random functions of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from elmonet.layers.grid import Grid
from elmonet.layers.symmetry import Symmetry
from elmonet.layers.window import Windows, box_of_offsets

__all__ = ["Features", "Fields", "Recipe"]

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
