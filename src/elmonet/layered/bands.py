"""The functions that were held out of all layers, kept for a report."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter1d

from elmonet.layered.features import LayerSettings, Windows, box_of_offsets, resampled
from elmonet.layered.fields import FieldForm
from elmonet.layered.grid import Grid
from elmonet.reporting.data import Unseen, times_and_words, unseen
from elmonet.uncertainty.bands import Bands
from elmonet.uncertainty.calibration import Calibration, calibration_by_halves, calibration_of
from elmonet.uncertainty.novelty import Novelty

__all__ = ["HeldOut", "LayerBands", "WindowNovelty", "unseen_of"]

_SMOOTH = 2.0  # steps of the training grid, over which the last update is averaged
_FLOOR = 1e-6  # of the mean square of the errors: where nothing was missed, rounding would count
_LEAST = 0.1  # of the mean square of the last update: what is expected where it is zero


@dataclass(frozen=True)
class LayerBands:
    """Bands of a chain: ``+- q g(y)`` times the size of the errors around a point of the training grid.

    Attributes
    ----------
    bands : one sigma for each component; its scales are those sizes, and times the root mean square g of the
        last layer's update around each point.
    sizes : (c, *shape), of the errors, or of the errors over g, around each point of the training grid.
    least : a mean square that is added to that of the update.
    grid : the training grid.
    """

    bands: Bands
    sizes: np.ndarray
    least: float
    grid: Grid

    @classmethod
    def of_missed(
        cls, missed: np.ndarray, update: np.ndarray, grid: Grid, groups: np.ndarray | None = None
    ) -> LayerBands | None:
        """From what was missed (n, c, *shape) of functions, and their last updates; None if too few."""
        n, least = len(missed), _LEAST * float(np.mean(update**2))
        if n < 2:
            return None
        scales = [np.ones_like(missed)] + ([_scale(update, least, grid, grid)] if least > 0 else [])
        found = [_around(missed / g, grid) for g in scales]
        rows = [(g * others).reshape(n, -1) for g, (_, others) in zip(scales, found, strict=True)]
        component = np.repeat(np.arange(missed.shape[1]), grid.size)
        bands = Bands.of(missed.reshape(n, -1), rows, groups, places=component)
        return None if bands is None else cls(bands, found[bands.scale][0], least, grid)

    def widened(self, times: float) -> LayerBands:
        """The same, so many times as wide."""
        return replace(self, bands=replace(self.bands, widen=self.bands.widen * times))

    def spread(self, update: np.ndarray, grid: Grid) -> np.ndarray:
        """The size of the error to expect (n, c, *shape) on a grid, of functions with this last update."""
        sizes = self.sizes * self.bands.sigma.reshape(-1, *[1] * len(self.grid.shape))
        if grid != self.grid:
            sizes = np.clip(resampled(sizes[None], self.grid, grid)[0], sizes.min(), sizes.max())
        if self.bands.scale == 0:
            return np.broadcast_to(sizes, update.shape)
        return sizes * _scale(update, self.least, grid, self.grid)

    def arrays(self) -> dict[str, np.ndarray]:
        """All of it as arrays, for a file."""
        kept = {f"bands.{name}": array for name, array in self.bands.arrays().items()}
        return kept | {"bands.sizes": self.sizes, "bands.least": np.array([self.least])}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], grid: Grid) -> LayerBands | None:
        """The inverse of `arrays`; None if there is nothing of it."""
        kept = {n.removeprefix("bands."): a for n, a in arrays.items() if n.startswith("bands.")}
        return cls(Bands.from_arrays(kept), kept["sizes"], float(kept["least"][0]), grid) if kept else None


def _around(missed: np.ndarray, grid: Grid) -> tuple[np.ndarray, np.ndarray]:
    """Root mean squares around each point: of all functions (c, *shape), and without each (n, c, *shape)."""
    squares = np.maximum(_smooth(missed**2, grid, grid), 0)
    total, n = squares.sum(axis=0), len(squares)
    floor = _FLOOR * float(np.mean(total / n)) + np.finfo(float).tiny
    return np.sqrt(total / n + floor), np.sqrt(np.maximum(total - squares, 0) / (n - 1) + floor)


def _scale(update: np.ndarray, least: float, grid: Grid, training: Grid) -> np.ndarray:
    """The root mean square of the update (n, c, *shape) around each point."""
    return np.sqrt(np.maximum(_smooth(update**2, grid, training), 0) + least)


def _smooth(squares: np.ndarray, grid: Grid, training: Grid) -> np.ndarray:
    """Averaged over some steps of the training grid."""
    for axis, periodic in enumerate(grid.periodic):
        steps = _SMOOTH * grid.shape[axis] / training.shape[axis]
        squares = gaussian_filter1d(squares, steps, axis=axis + 2, mode="wrap" if periodic else "nearest")
    return squares


_ENTRIES = 4_000_000  # of a block of windows
_MARGIN = 2.0  # times the novelty of the most unusual window, above which a function is strange
_TRAINING = 20_000  # windows of training functions that are looked at


@dataclass(frozen=True)
class WindowNovelty:
    """The novelty of a function's most unusual window: layers know only what they see through windows.

    Attributes
    ----------
    radius, spacing : of the window, along each axis, as in `LayerSettings`.
    training : the training grid, whose steps are the unit of the window.
    measure : of windows as rows (., C K), of C channels.
    """

    radius: tuple[int, ...]
    spacing: tuple[int, ...]
    training: Grid
    measure: Novelty

    @classmethod
    def of(cls, u: np.ndarray, grid: Grid, recipe: LayerSettings) -> WindowNovelty:
        """From channels u (N, C, *shape) of training functions, seen through the windows of a recipe."""
        rng = np.random.default_rng(0)
        few = rng.permutation(len(u))[: max(1, _TRAINING // min(grid.size, 64))]
        at = np.sort(rng.permutation(grid.size)[: max(1, _TRAINING // len(few))])
        seen = _seen(u[np.sort(few)], Windows(grid, grid, recipe.reach), recipe.radius, recipe.spacing, at)
        return cls(recipe.radius, recipe.spacing, grid, Novelty(seen.reshape(-1, seen.shape[-1])))

    def __call__(self, u: np.ndarray, grid: Grid) -> np.ndarray:
        """Of each function (n,), from its channels (n, C, *shape) on a grid of the domain."""
        reach = [r * h for r, h in zip(self.radius, self.spacing, strict=True)]
        windows, everywhere = Windows(grid, self.training, reach), np.arange(grid.size)
        block = max(1, _ENTRIES // (grid.size * len(self.measure.mean)))
        found = []
        for start in range(0, len(u), block):
            some = u[start : start + block]
            seen = _seen(some, windows, self.radius, self.spacing, everywhere)
            found.append(self.measure(seen.reshape(-1, seen.shape[-1])).reshape(len(some), -1).max(axis=1))
        return np.concatenate(found)

    def strange(self, u: np.ndarray, grid: Grid) -> np.ndarray:
        """Which functions (n,) have windows well beyond those of the training functions."""
        return self(u, grid) > _MARGIN

    def arrays(self) -> dict[str, np.ndarray]:
        """All but the training grid as arrays, for a file."""
        box = np.array([self.radius, self.spacing])
        return {"novelty.window": box, **{f"novelty.{n}": a for n, a in self.measure.arrays().items()}}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], training: Grid) -> WindowNovelty:
        """The inverse of `arrays`."""
        kept = {n.removeprefix("novelty."): a for n, a in arrays.items() if n.startswith("novelty.")}
        radius, spacing = kept.pop("window").tolist()
        return cls(tuple(radius), tuple(spacing), training, Novelty.from_arrays(kept))


def _seen(u: np.ndarray, windows: Windows, radius: Any, spacing: Any, at: np.ndarray) -> np.ndarray:
    """The windows (n, R, C K) of all channels at some points."""
    offsets = box_of_offsets(radius, spacing)
    return np.concatenate([windows.gather(u[:, i], offsets, at, False) for i in range(u.shape[1])], axis=2)


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Functions held out of all layers, as layers see them.

    Attributes
    ----------
    rows : (n,), which training functions these are.
    truth, predicted, update : (n, c, *shape), their outputs, what the chain says, and its last update.
    groups : (n,), of functions that belong together; None: each by itself.
    """

    rows: np.ndarray
    truth: np.ndarray
    predicted: np.ndarray
    update: np.ndarray
    groups: np.ndarray | None

    def bands(self, form: FieldForm, some: np.ndarray | slice = slice(None)) -> LayerBands | None:
        """Bands from what was missed of these functions, or of some; None if they are too few."""
        groups = None if self.groups is None else self.groups[some]
        return LayerBands.of_missed(
            self.truth[some] - self.predicted[some], self.update[some], form.grid, groups
        )


def unseen_of(held: HeldOut, form: FieldForm, bands: LayerBands) -> Unseen:
    """What a report shows of them."""
    times, holds = times_and_words(bands.bands)
    n = len(held.rows)

    def rows(states: np.ndarray) -> np.ndarray:
        fields = form.grid.with_repeats(states) * form.size
        return fields.reshape(*fields.shape[:2], -1)[..., np.argsort(form.order)].reshape(len(states), -1)

    def band(i: int) -> tuple[np.ndarray, np.ndarray]:
        own = slice(i, i + 1)
        half = times * bands.spread(held.update[own], form.grid)
        low, high = (rows(held.predicted[own] + side) for side in (-half, half))
        return low[0], high[0]

    def tried(half: np.ndarray, other: np.ndarray) -> Calibration | None:
        own = held.bands(form, half)
        if own is None:
            return None
        missed, spread = held.truth[other] - held.predicted[other], own.spread(held.update[other], form.grid)
        missed, spread = (A.reshape(len(other), -1) for A in (missed, spread))
        return calibration_of(own.bands, missed, spread, 1.0, float(np.sqrt(np.mean(held.truth**2))))

    calibration = calibration_by_halves(tried, n, held.groups)
    truth, predicted = rows(held.truth), rows(held.predicted)
    return unseen(
        "training functions, held out", form.outputs, held.rows, truth, predicted, band, holds, calibration
    )
