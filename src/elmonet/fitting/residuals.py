"""Residuals of training functions that a fit has not seen: left out by its factor, or held out of refits.

Leave-one-out residuals come exactly from the factor that the solution keeps. Where leaving each function out
would need a fit each (gaps, scattered outputs), some functions are held out of fits to the others.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.linalg import eigh

from elmonet.data.scattered import Scattered
from elmonet.errors import LeaveOneOutWarning, NumericsWarning, warn
from elmonet.features.base import learns_from
from elmonet.fitting.spread import LearnedSize, PosteriorVariance
from elmonet.forms.outputs import OutputForm, ScatteredForm, lift_at_own_points
from elmonet.forms.training import Training
from elmonet.linalg import gram, product
from elmonet.solve import LEFT_OUT
from elmonet.solve.observations import folds
from elmonet.solve.solution import Fit
from elmonet.uncertainty.bands import Bands, BandTrial, sigma_of
from elmonet.uncertainty.calibration import Calibration, calibration_by_halves, calibration_of

if TYPE_CHECKING:
    from elmonet.fitting.fitted_operator import FittedOperator

_ROUNDING = 1e-12  # part of the whole that counts as rounding
_ROUNDED_CONDITION = 1e8  # condition above which the rounding of C may matter
_TRIALS = 10  # parts that functions are divided into; each is left out of a trial
_MIN_SCORED = 300  # functions that are enough for quantiles of scores
_SIGNS = 32  # random vectors that estimate a trace
_PART = 25  # functions held out at a time where left-out residuals cannot be trusted, if there are so many
_MAX_LEVELS = 40  # levels of a grid that are held out, one at a time
_MIN_TRIED = 4  # independent functions, below which nothing is left to make bands from


class Residuals(NamedTuple):
    """Residuals (n, R) of training functions that a fit has not seen, NaN where unknown.

    functions : (n,), indices of these functions.
    scales : (n or 1, 1), candidate scales of their errors.
    groups : (n,), of functions that are not independent; None if all are.
    places : (R,), columns that share a scale; None if each has its own.
    left_out : whether each function was left out by the factor, rather than held out of a fit.
    """

    functions: np.ndarray
    values: np.ndarray
    scales: list[np.ndarray]
    groups: np.ndarray | None = None
    places: np.ndarray | None = None
    left_out: bool = True
    variance: PosteriorVariance | None = None
    learned: LearnedSize | None = None

    def bands(
        self,
        some: Any,
        widen: float = 1.0,
        trials: Sequence[BandTrial] = (),
        effective: float | None = None,
        first: int = 0,
    ) -> Bands | None:
        """Return bands from the residuals of some functions; the others as in `Bands.of`."""
        groups = None if self.groups is None else self.groups[some]
        scales = [_some_rows(g, some) for g in self.scales]
        return Bands.of(
            self.values[some],
            scales,
            groups,
            places=self.places,
            widen=widen,
            trials=trials,
            effective=effective,
            first=first,
        )

    def group_numbers(self) -> np.ndarray:
        """Return the group (n,) of each function, from 0."""
        if self.groups is None:
            return np.arange(len(self.values))
        return np.unique(self.groups, return_inverse=True)[1].ravel()

    def sigma(self, bands: Bands) -> np.ndarray:
        """Return the scale of each column."""
        return bands.sigma if self.places is None else bands.sigma[self.places]

    def calibration(self, units: np.ndarray, y: np.ndarray) -> Calibration | None:
        """Return the calibration of bands made from one half of the functions on the other."""
        size = float(np.sqrt(np.nanmean(y**2)))

        def tried(half: np.ndarray, other: np.ndarray) -> Calibration | None:
            bands = self.bands(half)
            if bands is None:
                return None
            residuals = self.values[other]
            spread = self.sigma(bands) * _some_rows(self.scales[bands.scale], other)
            spread = np.broadcast_to(spread, residuals.shape)
            return calibration_of(bands, residuals, spread, _some_rows(units, other), size)

        return calibration_by_halves(tried, len(self.values), self.groups)


def training_residuals(model: FittedOperator) -> Residuals | None:
    """Return residuals of the training functions, left out or held out; None if the fit gives neither."""
    if model.training is None:
        return None
    solution = model.solution
    if solution.error_kind in LEFT_OUT and solution.fit is not None:
        return _left_out(model, model.training)
    return model.held_out if solution.error_kind == "held out" else None


def _left_out(model: FittedOperator, training: Training) -> Residuals:
    """Return the residuals of all training functions, each left out by the factor of the solution."""
    fit, operator, weights = model.solution.fit, model.operator, training.weights
    assert fit is not None
    variance = PosteriorVariance.of(fit, operator.C.shape[1])
    given_others = variance.left_out(fit, operator, model.seen(training.X), weights)
    variance, g = replace(variance, largest=float(given_others.max())), np.sqrt(given_others)
    residuals = _left_out_residuals(model, training, variance)
    learned, size = LearnedSize.of(fit, residuals, g, weights)
    scales = [np.ones((1, 1)), g[:, None], size[:, None]]
    groups = None if training.groups is None else training.groups.numbers
    functions = np.arange(len(training.X))
    return Residuals(functions, residuals, scales, groups, variance=variance, learned=learned)


def _left_out_residuals(model: FittedOperator, training: Training, variance: PosteriorVariance) -> np.ndarray:
    """Return the left-out residual of each training function (N, R), as the operator sees outputs.

    It includes what a new function would lose by the rounding of C, and by a trunk that has not learned from
    it.
    """
    fit, operator, weights = model.solution.fit, model.operator, training.weights
    assert fit is not None
    w = 1.0 if weights is None else weights
    inside, residuals_inside = ((part / w).T for part in fit.coefficients_left_out())
    target = model.outputs.target(training.y)
    residuals = target - product(inside - residuals_inside, operator.basis.T)
    if training.groups is None and (model.solution.condition or 0.0) > _ROUNDED_CONDITION:
        # Rounding of C shows in the residuals, which are not e = (1 - h) times the left-out ones. New
        # functions have more of it where C is rounded most, unless their features miss just these parts.
        # What the trunk does not hold is no rounding.
        Z, spread = model.seen(training.X), fit.left_out_variance()[:, None]
        rounding = product(inside - residuals_inside / spread, operator.basis.T)
        rounding -= operator.at_training_points(Z)
        residuals += rounding if variance.misses_some(operator, Z) else rounding * np.sqrt(spread)
    complete = inside.shape[1] >= min(target.shape)  # then the trunk holds all that it has learned from
    if "outputs" in learns_from(operator.trunk) and not complete:
        residuals += (target - product(inside, operator.basis.T)) * _trunk_optimism(inside)[:, None]
    return residuals


def _trunk_optimism(inside: np.ndarray) -> np.ndarray:
    """Return by how much, relatively, a trunk's residuals (n,) grow for functions it has not learned from.

    Of function i it misses ``o_i = y_i - Q q_i`` with ``q_i = Q' y_i``, the rows of `inside` (n, r). Left
    out, it misses about ``o_i / (1 - h_i)``, as in a regression: ``h_i = q_i' (sum_j q_j q_j')^-1 q_i``.
    """
    values, V = eigh(gram(inside.T), lower=True)
    kept = values > _ROUNDING * values[-1]
    U = product(inside, V[:, kept]) / np.sqrt(values[kept])
    h = np.einsum("ij,ij->i", U, U)
    return 1 / np.maximum(1 - h, 1 / len(h)) - 1


def cross_validated(model: FittedOperator, residuals: Residuals) -> tuple[list[BandTrial], float]:
    """Score functions by fits and bands that know nothing of them, a tenth of the functions at a time.

    Settings stay as they were chosen from all functions.

    Returns
    -------
    trials : none if the fit cannot be repeated with fewer functions.
    growth : the median, over functions, of the left-out residual in these fits relative to that in the model.
    """
    training, trials, growth = model.training, [], []
    assert training is not None
    target = model.outputs.target(training.y)
    rounding = _ROUNDING * float(np.sqrt(np.mean(_row_sizes(target) ** 2))) + np.finfo(float).tiny
    sizes = np.maximum(_row_sizes(residuals.values), rounding)
    masks = masks_without(_TRIALS, residuals.groups, len(residuals.values))
    if len(masks) < _MIN_TRIED:
        return [], 1.0
    scored = np.cumsum([np.sum(~kept) for kept in masks])
    for kept in masks[: 1 + int(np.argmax(scored >= min(_MIN_SCORED, scored[-1])))]:
        try:
            refitted, others = _refitted(model, kept), training.of(np.flatnonzero(~kept))
        except ValueError as error:  # of a map of the user's own: it needs more functions
            warn(
                f"error bars may be too narrow: the fit cannot be repeated with {kept.sum()} of {len(kept)} "
                f"functions ({error}).",
                LeaveOneOutWarning,
            )
            return [], 1.0
        own = training_residuals(refitted)
        if own is None or own.variance is None or own.learned is None:
            return [], 1.0
        growth.append(np.maximum(_row_sizes(own.values), rounding) / sizes[kept])
        Z, numbers = refitted.seen(others.X), own.group_numbers()
        _, variance, more = own.variance.with_coefficients(refitted.operator, Z, own.learned.row)
        g = [np.ones((1, 1)), np.sqrt(variance)[:, None]]
        g.append(own.learned(g[1], more))
        places = np.arange(own.values.shape[1])
        sigmas = [sigma_of(own.values / scale, numbers, places) for scale in own.scales]
        groups = None if residuals.groups is None else residuals.groups[~kept]
        trials.append(BandTrial(_residuals_of(refitted, others.X, others.y), g, sigmas, groups))
    return trials, float(np.median(np.concatenate(growth))) if growth else 1.0


def effective_number(fit: Fit) -> float:
    """Return how many independent functions would tell a mean square as well as the left-out residuals do.

    Outputs with the covariance ``K + alpha`` have left-out residuals ``(P Y)_i / P_ii`` with
    ``P = alpha (K + alpha)^-1``, whose correlations are ``c_ij = P_ij / sqrt(P_ii P_jj)``. The mean of n
    squares then varies as that of ``n^2 / sum_ij c_ij^2`` independent ones. The sum is ``E |c z|^2`` over
    random signs z; a few are enough.
    """
    n = fit.QtG.shape[1]
    if fit.factor is None or np.size(fit.alpha) > 1 or getattr(fit.factor, "groups", None) is not None:
        return float(n)
    deviation = np.sqrt(fit.factor.left_out_variance(fit.alpha))
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(_SIGNS, n))
    cz = fit.factor.left_out(signs * deviation, fit.alpha) / deviation
    return float(np.clip(n**2 / np.mean(np.einsum("ki,ki->k", cz, cz)), 1, n))


def masks_without(parts: int, groups: np.ndarray | None, n: int) -> list[np.ndarray]:
    """Return masks (n,) of the functions to fit, without each of `parts` parts; groups stay together."""
    numbers = np.arange(n) if groups is None else np.unique(groups, return_inverse=True)[1].ravel()
    independent = int(numbers.max(initial=-1)) + 1
    part = np.random.default_rng(0).permutation(independent) % parts
    return [part[numbers] != k for k in range(min(parts, independent))]


def residuals_between_levels(model: FittedOperator) -> Residuals | None:
    """Return residuals of functions held out level by level; None if inputs are not numbers on a full grid.

    What is missed between the levels of a grid shows only if all functions of a level, such as a row, are
    held out together. The first and last level would be extrapolated. A function counts with the largest of
    its residuals.
    """
    training = model.training
    assert training is not None
    n = len(training.X)
    columns = [column for column in training.X.reshape(n, -1).T if np.ptp(column) > 0]
    if not 0 < len(columns) <= np.log2(n):
        return None
    levels = [np.unique(column) for column in columns]
    sizes = [len(own) for own in levels]
    if len(columns) < 2 or np.prod(sizes) != n or not 0 < sum(sizes) - 2 * len(sizes) <= _MAX_LEVELS:
        return None
    interior = [column != level for column, own in zip(columns, levels, strict=True) for level in own[1:-1]]
    held = held_out_residuals(model, interior)
    if held is None:
        return None
    order = np.lexsort([-_row_sizes(held.values), held.functions])
    largest = order[np.unique(held.functions[order], return_index=True)[1]]
    groups = None if held.groups is None else held.groups[largest]
    return held._replace(functions=held.functions[largest], values=held.values[largest], groups=groups)


def residuals_of_parts(model: FittedOperator, residuals: Residuals) -> Residuals | None:
    """Return residuals of functions held out a half to a quarter at a time."""
    n = len(residuals.values)
    return held_out_residuals(model, masks_without(int(np.clip(n // _PART, 2, 4)), residuals.groups, n))


def growth_of(held: Residuals, residuals: Residuals) -> float:
    """Return the median of held-out residuals over left-out ones, by function."""
    sizes = _row_sizes(residuals.values[held.functions])
    floor = _ROUNDING * float(sizes.max(initial=0)) + np.finfo(float).tiny
    return float(np.median(_row_sizes(held.values) / np.maximum(sizes, floor)))


def _refitted(model: FittedOperator, kept: np.ndarray) -> FittedOperator:
    """Return the fit with the same settings to some of the functions."""
    assert model.refit is not None
    assert model.training is not None
    with warnings.catch_warnings():  # of fits that the user did not ask for
        warnings.simplefilter("ignore", NumericsWarning)
        return model.refit(model.training.of(np.flatnonzero(kept)))


def _row_sizes(values: np.ndarray) -> np.ndarray:
    """Return the root mean square of each row."""
    return np.sqrt(np.einsum("ij,ij->i", values, values, dtype=np.float64) / values.shape[1])


def held_out_residuals(model: FittedOperator, masks: list[np.ndarray] | None = None) -> Residuals | None:
    """Return residuals of functions held out of fits to the others; `masks` (n,) of those, or some folds."""
    training, functions, parts = model.training, [], []
    if training is None or model.refit is None:
        return None
    for mask in folds(len(training.X)) if masks is None else masks:
        kept = _with_every_point(mask, training.y)
        out = np.flatnonzero(~kept)
        if not out.size:
            continue
        others = training.of(out)
        parts.append(_residuals_of(_refitted(model, kept), others.X, others.y))
        known = np.unique(others.y.index) if isinstance(others.y, Scattered) else slice(None)
        functions.append(out[known])
    if not parts:
        return None
    width = max(part.shape[1] for part in parts)
    padded = [np.pad(part, ((0, 0), (0, width - part.shape[1])), constant_values=np.nan) for part in parts]
    values, outputs = np.concatenate(padded), model.outputs
    places = np.arange(width) % max(1, outputs.components) if isinstance(outputs, ScatteredForm) else None
    which = np.concatenate(functions)
    own = None if training.groups is None else training.groups.numbers[which]
    return Residuals(which, values, [np.ones((1, 1))], own, places, left_out=False)


def _with_every_point(kept: np.ndarray, y: Any) -> np.ndarray:
    """Return the mask with one function more for each point that only functions held out know.

    Outputs without any value at a point cannot be fitted. Nothing is known about the error there then.
    """
    if isinstance(y, Scattered) or not np.isnan(y).any():
        return kept
    kept, known = kept.copy(), ~np.isnan(y)
    for point in np.flatnonzero(~known[kept].any(axis=0)):
        kept[np.argmax(known[:, point])] |= not known[kept, point].any()
    return kept


def _residuals_of(model: FittedOperator, rows: np.ndarray, y: Any) -> np.ndarray:
    """Return the residuals of functions: (n, c M), or (n, c times the most values of a function)."""
    operator, outputs, Z = model.operator, model.outputs, model.seen(rows)
    if not isinstance(outputs, ScatteredForm):
        return outputs.target(y) - operator.at_training_points(Z)
    index, places, values = outputs.flattened(y)
    with warnings.catch_warnings():  # held-out points may lie outside those of the other functions
        warnings.simplefilter("ignore", NumericsWarning)
        predicted = operator.values(operator.coefficients(Z), outputs.scaled(places), index)
    return _side_by_side(values - predicted, index, places, outputs)


def rows_and_lift(
    model: FittedOperator, training: Training
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return output rows (n, R), their lift (n or 1, R), and own points (n, R, d) if they are scattered."""
    outputs, y = model.outputs, training.y
    X: Any = None if outputs.lift is None else training.inputs.as_given(training.X)
    if not isinstance(outputs, ScatteredForm):
        return y, np.zeros((1, 1)) if X is None else outputs.lifted(X, len(y)), None
    index, places, values = outputs.flattened(y)

    def rows(values: np.ndarray) -> np.ndarray:
        return _side_by_side(values, index, places, outputs)

    lift = np.zeros((1, 1))
    if X is not None:
        own = Scattered(y.index, y.points, lift_at_own_points(outputs.lift, X, y))
        lift = rows(outputs.flattened(own)[2])
    d = outputs.points.shape[1]
    return rows(values), lift, np.stack([rows(places[:, k]) for k in range(d)], axis=-1)


def _side_by_side(
    values: np.ndarray, index: np.ndarray, places: np.ndarray, outputs: OutputForm
) -> np.ndarray:
    """Return values, sorted by function, as rows padded with NaN; components take turns in the columns."""
    c = max(1, outputs.components)
    component = places[:, -1].astype(int) if outputs.components else np.zeros(len(values), int)
    key = index * c + component
    order = np.argsort(key, kind="stable")
    count = np.bincount(key, minlength=(index.max() + 1) * c)
    position = np.arange(len(key)) - np.repeat(np.cumsum(count) - count, count)
    out = np.full((index.max() + 1, count.max() * c), np.nan)
    out[index[order], position * c + component[order]] = values[order]
    return out[np.bincount(index) > 0]


def _some_rows(values: np.ndarray, rows: Any) -> np.ndarray:
    """Return some rows of an array that has one row per function, or one for all."""
    return values if len(values) == 1 else values[rows]
