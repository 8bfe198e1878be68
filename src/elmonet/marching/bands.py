"""Error bars of free runs, as functions of time, from records left out of everything.

The size of an error at step k is that of records left out, around k steps after their beginning; or that
times the distance between runs of models that miss some more records, which grows where small differences
do: in chaos, and where a record leaves what the others cover.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from elmonet.marching.ranges import MARGIN
from elmonet.uncertainty.bands import BandErrorBars, Bands, checked_coverage
from elmonet.uncertainty.calibration import Calibration, Validation, calibration_by_halves, calibration_of

if TYPE_CHECKING:
    from elmonet.marching.fitted import FittedMarching, RecordQuery

_SMOOTHING = 0.05  # of the length of a record, over which squared errors are averaged
_FLOOR = 1e-6  # of the mean square of the errors
# Mean squares that may be added to that of the distance, relative to its mean: large ones for noise, which
# the distance does not know, small ones for chaos, where it grows over decades.
_LEASTS = (1e-2, 1e-4, 1e-6, 1e-8, 1e-10)
_MAX_STEPS = 20_000  # steps after which the size of errors stays as it is
_LEVELS = 1001  # quantile levels kept for single values
_NARROWER = 0.9  # largest size of errors in units of the distance, relative to that without: less is chance
_VALIDATED_AT = 0.9  # coverage of the bands in a report
_GROWTH = 50.0  # steps in which a band outside the training range grows by its own width


@dataclass(frozen=True, eq=False)
class HeldOutRuns:
    """Free runs of records, or stretches of them, by fits without their fold.

    Attributes
    ----------
    pieces, records, begins : (n,), number of each, its record, and the step where it begins.
    truth, predicted, distance : (n, T, c), NaN after the end and before the first step that is predicted;
        the distance is that of models that miss another fold too.
    errors : (n,), relative to the size of the record.
    component_errors : (c,), mean of the errors of each output by itself.
    groups : (n,), of runs that are not independent.
    judged : (n,), errors by a fit without the worst of them, which a wrong record does not bend.
    widen : factor on errors, for a choice that has seen these records.
    """

    pieces: np.ndarray
    records: np.ndarray
    begins: np.ndarray
    truth: np.ndarray
    predicted: np.ndarray
    distance: np.ndarray
    errors: np.ndarray
    component_errors: np.ndarray
    groups: np.ndarray
    judged: np.ndarray
    widen: float = 1.0

    @property
    def independent(self) -> int:
        """Number of independent runs."""
        return len(np.unique(self.groups))

    def profile(self, some: Any = slice(None)) -> Profile | None:
        """Return the size of errors over time, from these runs or some of them."""
        residuals = (self.truth - self.predicted)[some]
        return Profile.of(residuals, self.distance[some], self.groups[some], self.widen)


@dataclass(frozen=True, eq=False)
class Profile:
    """The size of errors as a function of the step.

    Attributes
    ----------
    bands : scores and quantiles, with one sigma per output; scale 1 is that of the distance.
    sizes : (T, c), geometric mean of errors, or of errors over the distance g, around each step.
    least : mean square that is added to that of the distance.
    """

    bands: Bands
    sizes: np.ndarray
    least: float

    @classmethod
    def of(
        cls, residuals: np.ndarray, distance: np.ndarray, groups: np.ndarray, widen: float = 1.0
    ) -> Self | None:
        """Return the profile of residuals (n, T, c), NaN where unknown; None for a single group.

        Of errors, and of errors over the distance, the likelier ones as normal errors are taken: those of the
        smallest geometric mean size. Where runs are lost in chaos, errors spread over decades, and an
        arithmetic mean would be that of the lost ones alone.
        """
        known = np.isfinite(residuals)
        numbers = np.unique(groups, return_inverse=True)[1]
        independent = int(numbers.max(initial=-1)) + 1
        if independent < 2:
            return None
        mean = float(np.mean(np.nan_to_num(distance) ** 2))
        leasts = [0.0, *(part * mean for part in _LEASTS if mean > 0)]
        squares = _smooth(np.nan_to_num(distance) ** 2, np.ones_like(known))[0]
        scales = [np.sqrt(squares + least) if least else np.ones_like(residuals) for least in leasts]
        found = [_scored(residuals, g, known, numbers) for g in scales]
        best = int(np.argmin([size / (_NARROWER if k else 1.0) for k, (*_, size) in enumerate(found)]))
        sizes, sigma, scores, _ = found[best]
        least, best = leasts[best], min(best, 1)
        points = np.quantile(scores[known], np.linspace(0, 1, _LEVELS))
        whole = np.sort(np.nanmax(scores.reshape(len(scores), -1), axis=1))
        return cls(Bands(sigma, whole, points, independent, best, widen), sizes, least)

    def spread(self, distance: np.ndarray) -> np.ndarray:
        """Return the expected size of errors (n, T, c), given the distance of the companions."""
        T = distance.shape[1]
        at = np.minimum(np.arange(T), len(self.sizes) - 1)
        sizes = np.broadcast_to(self.sizes[at] * self.bands.sigma, distance.shape)
        if self.bands.scale == 0:
            return sizes
        return sizes * np.sqrt(_smooth(distance**2, np.ones(distance.shape, bool))[0] + self.least)

    def arrays(self, prefix: str) -> dict[str, np.ndarray]:
        """Return all of it as named arrays, for a file."""
        parts = {f"{prefix}.{name}": array for name, array in self.bands.arrays().items()}
        return parts | {f"{prefix}.sizes": self.sizes, f"{prefix}.least": np.array([self.least])}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], prefix: str) -> Self:
        """Invert `arrays`."""
        own = {n.removeprefix(f"{prefix}."): a for n, a in arrays.items() if n.startswith(f"{prefix}.")}
        return cls(Bands.from_arrays(own), own["sizes"], float(own["least"][0]))


@dataclass(frozen=True, eq=False)
class MarchingErrorBars(BandErrorBars):
    """Error bars of free runs: from rest, and, if that is something else, from known first values.

    Attributes
    ----------
    rest : of runs as `predict` begins them by itself.
    started : of runs from known values; None if records begin at rest.
    """

    rest: Profile
    started: Profile | None = None

    @property
    def bands(self) -> Bands:  # type: ignore[override]
        """Scores and quantiles of runs from rest."""
        return self.rest.bands

    def factor(self, coverage: float, of: str) -> float:
        """Return the half-width in units of the spread.

        Values of one record at distant times err independently, so that few records give many values: their
        quantile needs no more than the correction for the uncertain size of errors. The scores of whole
        records are few, so their quantile is interpolated between two of them: with ten records, the largest
        score would hold 10 of 11 new ones where 9 of 10 were asked for (Beran and Hall, 1993).
        """
        n = self.bands.independent
        if of != "points":
            super().factor(coverage, of)  # refuses what so few records do not tell
            whole = self.bands.functions
            at = checked_coverage(coverage) * (n + 1) / n * len(whole) - 1
            return self.widen * float(np.interp(at, np.arange(len(whole)), whole))
        levels = np.linspace(0, 1, len(self.bands.points))
        quantile = np.interp(checked_coverage(coverage), levels, self.bands.points)
        return self.widen * float(quantile) * float(np.sqrt(1 + 1 / n))

    @classmethod
    def from_fit(cls, model: FittedMarching) -> Self | None:
        """Return error bars from the records that were left out."""
        if model.held_out is None:
            return None
        rest = model.held_out.profile()
        started = None if model.started is None else model.started.profile()
        return None if rest is None else cls(rest, started)

    @classmethod
    def from_validation(
        cls,
        model: FittedMarching,
        query: RecordQuery,
        target: np.ndarray,
        current: Any,
        groups: np.ndarray | None = None,
    ) -> Self | None:
        """Return error bars from records with known outputs."""
        residuals, distance = target - model.values(query), model.distance(query)
        numbers = np.arange(len(residuals)) if groups is None else groups
        rest = Profile.of(residuals, distance, numbers)
        return None if rest is None else cls(rest)

    def values_and_spread(self, model: FittedMarching, query: RecordQuery) -> tuple[np.ndarray, np.ndarray]:
        """Return the free runs (n, T, c), and the expected size of their errors.

        Outside the training range, it grows with each step.
        """
        z = model.values(query)
        started = query.start is not None and self.started is not None
        profile = self.started if started and self.started is not None else self.rest
        spread = profile.spread(model.distance(query))
        if started:  # in units of the quantiles that `factor` takes
            spread = spread * _ratio(profile.bands, self.rest.bands)
        # From where a run leaves the training range, its band grows for good.
        beyond = model.beyond(query)
        left = np.logical_or.accumulate(beyond > MARGIN, axis=1)
        spread = spread * np.maximum.accumulate(np.maximum(beyond, 1), axis=1)[..., None] ** 2
        growth = (1 + np.cumsum(left, axis=1) / _GROWTH)[..., None]
        spread = np.where(left[..., None], np.maximum.accumulate(spread, axis=1) * growth, spread)
        low, high = model.limits
        astray = np.logical_or.accumulate(((z <= low) | (z >= high)).any(axis=2), axis=1)
        return z, np.where(astray[..., None], np.maximum(spread, (high - low) * growth), spread)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return all of it as named arrays, for a file."""
        started = {} if self.started is None else self.started.arrays("bands.started")
        return self.rest.arrays("bands.rest") | started

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], model: Any) -> Self:
        """Invert `arrays`."""
        started = "bands.started.sizes" in arrays
        return cls(
            Profile.from_arrays(arrays, "bands.rest"),
            Profile.from_arrays(arrays, "bands.started") if started else None,
        )

    @classmethod
    def validation(cls, model: FittedMarching) -> Validation | None:
        """Return the records left out, with their bands."""
        held, bars = model.held_out, model.error_bars
        if held is None or not isinstance(bars, cls):
            return None
        coverage = min(_VALIDATED_AT, bars.independent / (bars.independent + 1))
        q, T = bars.factor(coverage, "function"), len(model.outputs.points)

        def rows(runs: np.ndarray, own: np.ndarray) -> np.ndarray:
            placed = np.full((len(runs), T, runs.shape[2]), np.nan)
            for row, run, begin in zip(placed, runs, held.begins[own], strict=True):
                row[begin : begin + len(run)] = run[: T - begin]
            return np.moveaxis(placed, 2, 1).reshape(len(runs), -1)

        everything = np.arange(len(held.truth))
        spread = bars.rest.spread(np.nan_to_num(held.distance))

        def band(i: int) -> tuple[np.ndarray, np.ndarray]:
            own = np.array([i])
            low, high = (rows(held.predicted[own] + side * q * spread[own], own)[0] for side in (-1, 1))
            return low, high

        def tried(half: np.ndarray, other: np.ndarray) -> Calibration | None:
            own = held.profile(half)
            if own is None:
                return None
            residuals = (held.truth - held.predicted)[other].reshape(len(other), -1)
            sizes = own.spread(np.nan_to_num(held.distance[other])).reshape(len(other), -1)
            return calibration_of(own.bands, residuals, sizes, 1.0, float(np.sqrt(np.nanmean(held.truth**2))))

        kind = "training records, left out" if (held.begins == 0).all() else "stretches of records, left out"
        return Validation(
            kind,
            held.records,
            rows(held.truth, everything),
            rows(held.predicted, everything),
            band,
            coverage,
            calibration_by_halves(tried, len(held.truth), held.groups),
        )


def _ratio(own: Bands, reference: Bands) -> float:
    """Return the ratio of the 90 % quantiles of two sets of scores."""
    at = 0.9
    one, other = (float(np.quantile(bands.points, at)) for bands in (own, reference))
    return one / other if other > 0 else 1.0


def _scored(
    residuals: np.ndarray, g: np.ndarray, known: np.ndarray, numbers: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Return sizes (T, c), units (c,), scores (n, T, c) and the geometric mean size, for the scale g.

    A score is the error over its size in the records of other groups, as that of a new record will be.
    """
    scaled = residuals / g
    sizes, others = _sizes(scaled, known, numbers)
    sigma = np.sqrt(np.nanmean((scaled / others) ** 2, axis=(0, 1)))  # a unit: of a standard deviation
    sigma = np.maximum(sigma, np.finfo(float).tiny)
    spread = others * sigma * g
    scores = np.where(known, np.abs(np.nan_to_num(residuals)) / spread, np.nan)
    return sizes, sigma, scores, float(np.exp(np.mean(np.log(spread[known]))))


def _sizes(residuals: np.ndarray, known: np.ndarray, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the size of errors around each step: of all runs (T, c), and without each group (n, T, c).

    It is the geometric mean over runs. A mean of squares would be that of the one run that errs most: without
    it, that run scores as high as its error is large, but a new one, with it, does not, and bands from such
    scores are too wide.
    """
    squares, counts = _smooth(np.where(known, residuals, 0.0) ** 2, known)
    logs = np.log(squares + _FLOOR * float((squares * counts).sum() / counts.sum()) + np.finfo(float).tiny)
    logs = logs * counts
    same = (numbers[:, None] == numbers).astype(float)
    total, number = logs.sum(axis=0), counts.sum(axis=0)
    own, own_number = np.tensordot(same, logs, 1), np.tensordot(same, counts, 1)
    mean = total / np.maximum(number, _FLOOR)
    rest = number - own_number
    others = np.where(rest > _FLOOR, (total - own) / np.maximum(rest, _FLOOR), mean)
    # After the end of all but few records the size stays as it is.
    return np.exp(_held(mean, number > 0) / 2), np.exp(others / 2)


def _held(mean: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return values (T, c) with the nearest known ones where they are not known."""
    out = mean.copy()
    for column, there in zip(out.T, known.T, strict=True):
        at = np.flatnonzero(there)
        if len(at):
            column[:] = np.interp(np.arange(len(column)), at, column[at])
    return out


def _smooth(squares: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean over known steps around each one (n, T, c), and the number of these, at most 1 each."""
    T = squares.shape[1]
    half = max(2, int(_SMOOTHING * min(T, _MAX_STEPS) / 2))
    low, high = np.maximum(np.arange(T) - half, 0), np.minimum(np.arange(T) + half + 1, T)

    def around(A: np.ndarray) -> np.ndarray:
        sums = np.concatenate([np.zeros_like(A[:, :1]), np.cumsum(A, axis=1)], axis=1)
        return sums[:, high] - sums[:, low]

    counts = around(known.astype(float))
    means = np.maximum(around(squares), 0) / np.maximum(counts, 1)
    return means, counts / (high - low)[:, None]
