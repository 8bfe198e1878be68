"""Error bars and novelty of a chain: from functions held out of all layers, and from what windows see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.ndimage import gaussian_filter1d

from elmonet.description import Graph
from elmonet.layered.grid import Grid
from elmonet.layered.settings import LayerSettings
from elmonet.layered.windows import Windows, box_of_offsets, resampled
from elmonet.uncertainty.bands import BandErrorBars, Bands
from elmonet.uncertainty.calibration import Calibration, Validation, calibration_by_halves, calibration_of
from elmonet.uncertainty.novelty import Novelty, trace_largest

if TYPE_CHECKING:
    from elmonet.layered.fitted import ChainQuery, FittedChain

_SMOOTHING = 2.0  # steps of the training grid over which the last update is averaged
_FLOOR = 1e-6  # of the mean square of the errors: where the chain is exact, rounding would count
_MIN_UPDATE = 0.1  # mean square added to that of the last update, relative to its mean
_VALIDATED_AT = 0.9  # coverage of the bands in a report
_BLOCK_ENTRIES = 4_000_000  # of a block of windows
_MARGIN = 2.0  # novelty above which a function is unlike the training functions
_TRAINING_WINDOWS = 20_000  # windows of training functions that the novelty is measured by


@dataclass(frozen=True, eq=False)
class HeldOutFields:
    """Functions held out of all layers, as layers see them.

    Attributes
    ----------
    functions : (n,), their indices among the training functions.
    truth, predicted, update : (n, c, *shape), outputs, predictions of the chain, and its last update.
    groups : (n,), groups of functions that are not independent; None if all are.
    """

    functions: np.ndarray
    truth: np.ndarray
    predicted: np.ndarray
    update: np.ndarray
    groups: np.ndarray | None

    def error_bars(self, grid: Grid, some: np.ndarray | slice = slice(None)) -> ChainErrorBars | None:
        """Return error bars from the residuals of these functions, or of some; None if there are too few."""
        groups = None if self.groups is None else self.groups[some]
        residuals = self.truth[some] - self.predicted[some]
        return ChainErrorBars.of(residuals, self.update[some], grid, groups)


@dataclass(frozen=True)
class ChainErrorBars(BandErrorBars):
    """Error bars of a chain: ``+- q g(y)`` times the size of the errors around a point of the training grid.

    Attributes
    ----------
    bands : scores and quantiles, with one sigma per component; its scales are those sizes, and the sizes
        times the root mean square g of the last layer's update around each point.
    sizes : (c, *shape), of the errors, or of the errors over g, around each point of the training grid.
    least : mean square that is added to that of the update.
    grid : the training grid.
    """

    bands: Bands
    sizes: np.ndarray
    least: float
    grid: Grid

    @classmethod
    def of(
        cls, residuals: np.ndarray, update: np.ndarray, grid: Grid, groups: np.ndarray | None = None
    ) -> Self | None:
        """Return error bars from residuals (n, c, *shape) and last updates; None if there are too few."""
        n, least = len(residuals), _MIN_UPDATE * float(np.mean(update**2))
        if n < 2:
            return None
        scales = [np.ones_like(residuals)] + ([_update_size(update, least, grid, grid)] if least > 0 else [])
        found = [_sizes_around(residuals / g, grid, groups) for g in scales]
        rows = [(g * others).reshape(n, -1) for g, (_, others) in zip(scales, found, strict=True)]
        component = np.repeat(np.arange(residuals.shape[1]), grid.size)
        bands = Bands.of(residuals.reshape(n, -1), rows, groups, places=component)
        return None if bands is None else cls(bands, found[bands.scale][0], least, grid)

    @classmethod
    def from_fit(cls, model: FittedChain) -> Self | None:
        """Return error bars from the functions that were held out of all layers."""
        held = model.held_out
        bars = None
        if held is not None:
            bars = cls.of(held.truth - held.predicted, held.update, model.form.grid, held.groups)
        if bars is None:
            return None
        widen = (model.estimate.error or 0.0) / model.held_out_error if model.held_out_error else 1.0
        return replace(bars, bands=replace(bars.bands, widen=bars.bands.widen * widen))

    @classmethod
    def from_validation(
        cls,
        model: FittedChain,
        query: ChainQuery,
        target: np.ndarray,
        current: Any,
        groups: np.ndarray | None = None,
    ) -> Self | None:
        """Return error bars from functions on the training grid with known targets."""
        states, update = model.states_and_update(query)
        return cls.of(target - states, update, model.form.grid, groups)

    def values_and_spread(self, model: FittedChain, query: ChainQuery) -> tuple[np.ndarray, np.ndarray]:
        """Return the outputs as layers see them, and the expected size of their errors."""
        states, update = model.states_and_update(query)
        return states, self.spread(update, query.grid)

    def spread(self, update: np.ndarray, grid: Grid) -> np.ndarray:
        """Return the expected size of errors (n, c, *shape) on a grid, given the last update."""
        sizes = self.sizes * self.bands.sigma.reshape(-1, *[1] * len(self.grid.shape))
        if grid != self.grid:
            sizes = np.clip(resampled(sizes[None], self.grid, grid)[0], sizes.min(), sizes.max())
        if self.bands.scale == 0:
            return np.broadcast_to(sizes, update.shape)
        return sizes * _update_size(update, self.least, grid, self.grid)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return all of it as named arrays, for a file."""
        parts = {f"bands.{name}": array for name, array in self.bands.arrays().items()}
        return parts | {"bands.sizes": self.sizes, "bands.least": np.array([self.least])}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], model: FittedChain) -> Self:
        """Invert `arrays`."""
        parts = {name.removeprefix("bands."): array for name, array in arrays.items()}
        return cls(Bands.from_arrays(parts), parts["sizes"], float(parts["least"][0]), model.form.grid)

    @classmethod
    def validation(cls, model: FittedChain) -> Validation | None:
        """Return the functions held out of all layers, with their bands."""
        held, bars, form = model.held_out, model.error_bars, model.form
        if held is None or not isinstance(bars, cls):
            return None
        coverage = min(_VALIDATED_AT, bars.independent / (bars.independent + 1))
        q = bars.factor(coverage, "function")

        def rows(states: np.ndarray) -> np.ndarray:
            fields = form.grid.with_repeats(states) * form.size
            return fields.reshape(*fields.shape[:2], -1)[..., np.argsort(form.order)].reshape(len(states), -1)

        def band(i: int) -> tuple[np.ndarray, np.ndarray]:
            own = slice(i, i + 1)
            half = q * bars.spread(held.update[own], form.grid)
            low, high = (rows(held.predicted[own] + side) for side in (-half, half))
            return low[0], high[0]

        def tried(half: np.ndarray, other: np.ndarray) -> Calibration | None:
            own = held.error_bars(form.grid, half)
            if own is None:
                return None
            residuals = held.truth[other] - held.predicted[other]
            spread = own.spread(held.update[other], form.grid)
            residuals, spread = (A.reshape(len(other), -1) for A in (residuals, spread))
            return calibration_of(own, residuals, spread, 1.0, float(np.sqrt(np.mean(held.truth**2))))

        return Validation(
            "training functions, held out",
            held.functions,
            rows(held.truth),
            rows(held.predicted),
            band,
            coverage,
            calibration_by_halves(tried, len(held.functions), held.groups),
        )


def _sizes_around(
    residuals: np.ndarray, grid: Grid, groups: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return root mean squares around each point: of all functions, and without each group (n, c, *shape)."""
    squares = np.maximum(_smooth(residuals**2, grid, grid), 0)
    total, n = squares.sum(axis=0), len(squares)
    own, count = squares, np.ones(n)
    if groups is not None:
        same = groups[:, None] == groups
        own, count = np.tensordot(same.astype(float), squares, 1), same.sum(axis=1)
    floor = _FLOOR * float(np.mean(total / n)) + np.finfo(float).tiny
    others = np.maximum(n - count, 1).reshape(-1, *[1] * (squares.ndim - 1))
    return np.sqrt(total / n + floor), np.sqrt(np.maximum(total - own, 0) / others + floor)


def _update_size(update: np.ndarray, least: float, grid: Grid, training: Grid) -> np.ndarray:
    """Return the root mean square of the update (n, c, *shape) around each point."""
    return np.sqrt(np.maximum(_smooth(update**2, grid, training), 0) + least)


def _smooth(squares: np.ndarray, grid: Grid, training: Grid) -> np.ndarray:
    """Average over some steps of the training grid."""
    for axis, periodic in enumerate(grid.periodic):
        steps = _SMOOTHING * grid.shape[axis] / training.shape[axis]
        squares = gaussian_filter1d(squares, steps, axis=axis + 2, mode="wrap" if periodic else "nearest")
    return squares


@dataclass(frozen=True)
class WindowNovelty:
    """The novelty of a function's most unusual window: layers know only what they see through windows.

    Attributes
    ----------
    radius, spacing : of the window along each axis, as in `LayerSettings`.
    training : the training grid, whose steps are the unit of the window.
    measure : novelty of windows as rows (., C K), of C channels.
    """

    radius: tuple[int, ...]
    spacing: tuple[int, ...]
    training: Grid
    measure: Novelty

    @classmethod
    def of(cls, u: np.ndarray, grid: Grid, settings: LayerSettings) -> Self:
        """Return the novelty measured by channels u (N, C, *shape) of training functions."""
        rng = np.random.default_rng(0)
        few = rng.permutation(len(u))[: max(1, _TRAINING_WINDOWS // min(grid.size, 64))]
        at = np.sort(rng.permutation(grid.size)[: max(1, _TRAINING_WINDOWS // len(few))])
        windows = Windows(grid, grid, settings.reach)
        seen = _gathered(u[np.sort(few)], windows, settings.radius, settings.spacing, at)
        return cls(settings.radius, settings.spacing, grid, Novelty(seen.reshape(-1, seen.shape[-1])))

    def __call__(self, u: np.ndarray, grid: Grid) -> np.ndarray:
        """Return the novelty of each function (n,), from its channels (n, C, *shape) on a grid."""
        reach = [r * h for r, h in zip(self.radius, self.spacing, strict=True)]
        windows, everywhere = Windows(grid, self.training, reach), np.arange(grid.size)
        block = max(1, _BLOCK_ENTRIES // (grid.size * len(self.measure.mean)))
        found = []
        for start in range(0, len(u), block):
            some = u[start : start + block]
            seen = _gathered(some, windows, self.radius, self.spacing, everywhere)
            found.append(self.measure(seen.reshape(-1, seen.shape[-1])).reshape(len(some), -1).max(axis=1))
        return np.concatenate(found)

    def outside(self, u: np.ndarray, grid: Grid) -> np.ndarray:
        """Return which functions (n,) have windows well outside those of the training functions."""
        return self(u, grid) > _MARGIN

    def trace(self, graph: Graph, channels: Sequence[int]) -> int:
        """Write the novelty (1,) of one function on the training grid, 1 being the margin of `outside`."""
        windows = Windows(
            self.training, self.training, [r * h for r, h in zip(self.radius, self.spacing, strict=True)]
        )
        traced = [windows.trace(graph, u, box_of_offsets(self.radius, self.spacing), False) for u in channels]
        starts = np.cumsum([0, *(graph.sizes[value] for value, _ in traced)])
        index = np.concatenate([at + start for (_, at), start in zip(traced, starts, strict=False)])
        rows = graph.gather(graph.concat([value for value, _ in traced]), index.T)
        found = self.measure.trace(graph, rows, self.training.size)
        return graph.scale(trace_largest(graph, found), 1 / _MARGIN)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return all but the training grid as named arrays, for a file."""
        box = np.array([self.radius, self.spacing])
        return {"novelty.window": box, **{f"novelty.{n}": a for n, a in self.measure.arrays().items()}}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], training: Grid) -> Self:
        """Invert `arrays`."""
        parts = {n.removeprefix("novelty."): a for n, a in arrays.items() if n.startswith("novelty.")}
        radius, spacing = parts.pop("window").tolist()
        return cls(tuple(radius), tuple(spacing), training, Novelty.from_arrays(parts))


def _gathered(u: np.ndarray, windows: Windows, radius: Any, spacing: Any, at: np.ndarray) -> np.ndarray:
    """Return the windows (n, R, C K) of all channels at some points."""
    offsets = box_of_offsets(radius, spacing)
    out = np.empty((u.shape[1], len(offsets), len(u), len(at)))
    for i, own in enumerate(out):
        windows.gather(windows.extrapolated(u[:, i], False), offsets, at, own)
    return np.moveaxis(out.reshape(-1, len(u), len(at)), 0, -1)
