"""Error bars of a fitted operator, from the residuals of training functions that are left out or held out.

Leave-one-out residuals come exactly from the factor that the solution keeps. Three scales g of a function's
error are compared: one for all, the posterior standard deviation, and the size of the error learned from the
left-out residuals. Where leaving each function out would need a fit each (gaps, scattered outputs), some
functions are held out of fits to the others.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import nnls

from elmonet.data.scattered import Scattered
from elmonet.errors import ExtrapolationWarning
from elmonet.features.base import features_times_and_rest, learns_from
from elmonet.fitting.operator import Operator
from elmonet.forms.outputs import OutputForm, ScatteredForm, lift_at_own_points
from elmonet.forms.training import Training
from elmonet.linalg import gram, product
from elmonet.solve import LEFT_OUT
from elmonet.solve.observations import folds
from elmonet.solve.solution import Fit
from elmonet.uncertainty.bands import BandErrorBars, Bands
from elmonet.uncertainty.calibration import Calibration, Validation, calibration_by_halves, calibration_of

if TYPE_CHECKING:
    from elmonet.fitting.fitted import FittedOperator, Query

_PROJECTIONS = 48  # random combinations of rows that estimate a variance
_MAX_POWER = 2.0  # of the learned size of errors
_SMALLEST_SIZE = 1e-6  # of the largest error: smaller ones count as this
_MAX_VALUES = 8_000_000  # values of all functions that bands are made from
_MIN_FUNCTIONS = 300  # functions that bands are made from, however many values they have
_ROUNDING = 1e-12  # part of the whole that counts as rounding
_ROUNDED_CONDITION = 1e8  # condition above which the rounding of C may matter
_VALIDATED_AT = 0.9  # coverage of the bands in a report


@dataclass(frozen=True)
class OperatorErrorBars(BandErrorBars):
    """Error bars ``q sigma(y) g`` of a fitted operator.

    Attributes
    ----------
    bands : scores and quantiles; its scales g are one, the standard deviation, and the learned size.
    variance : posterior variance of a new function; None if bands are equally wide for all functions.
    learned : the learned size of the error, if there is one.
    """

    bands: Bands
    variance: PosteriorVariance | None = None
    learned: LearnedSize | None = None

    @classmethod
    def from_fit(cls, model: FittedOperator) -> Self | None:
        """Return error bars from left-out or held-out training functions; None without training data."""
        residuals = training_residuals(model)
        if residuals is None:
            return None
        # The expected error may be larger than that of functions left out: the choice among many hides some.
        error, left_out = model.estimate.error, model.solution.expected_error
        widen = error / left_out if error and left_out else 1.0
        some = _enough(*residuals.values.shape) if residuals.left_out else slice(None)
        bands = residuals.bands(some, widen=max(widen, 1.0))
        return None if bands is None else cls(bands, residuals.variance, residuals.learned)

    @classmethod
    def from_validation(
        cls, model: FittedOperator, query: Query, target: np.ndarray, current: Any
    ) -> Self | None:
        """Return error bars from functions with known targets; the scale of functions stays as it is."""
        residuals = target - model.operator.at_training_points(query.Z)
        if not isinstance(current, cls):
            bands = Bands.of(residuals, [np.ones((1, 1))])
            return None if bands is None else cls(bands)
        g = current._coefficients_and_scale(model.operator, query.Z)[1]
        bands = Bands.of(residuals, [g[:, None]])
        return None if bands is None else replace(current, bands=replace(bands, scale=current.bands.scale))

    def values_and_spread(self, model: FittedOperator, query: Query) -> tuple[np.ndarray, np.ndarray]:
        """Return what the operator gives, and the expected size of its errors."""
        coefficients, g = self._coefficients_and_scale(model.operator, query.Z)
        P, index = model.trunk_points(query)
        sigma = model.outputs.at_points(self.bands.sigma, query.points)
        spread = sigma * g[:, None] if index is None else sigma * g[index]
        return model.operator.values(coefficients, P, index), spread

    def novelty(self, model: FittedOperator, query: Query) -> np.ndarray | None:
        """Return the standard deviation of each function relative to the largest in training."""
        return None if self.variance is None else self.variance.novelty(model.operator, query.Z)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return all of it as named arrays, for a file."""
        parts = {f"bands.{name}": array for name, array in self.bands.arrays().items()}
        if self.variance is not None:
            parts |= {f"variance.{name}": array for name, array in self.variance.arrays().items()}
        if self.learned is not None:
            parts |= {"learned.row": self.learned.row, "learned.numbers": self.learned.numbers}
        return parts

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], model: Any = None) -> Self:
        """Invert `arrays`."""
        bands, variance, learned = (
            {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}
            for prefix in ("bands.", "variance.", "learned.")
        )
        return cls(
            Bands.from_arrays(bands),
            PosteriorVariance.from_arrays(variance) if variance else None,
            LearnedSize(**learned) if learned else None,
        )

    def _coefficients_and_scale(self, operator: Operator, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the coefficients (n, r) of functions Z, and the scale g of each (n,), in one product."""
        if self.variance is None or self.bands.scale == 0:
            return operator.coefficients(Z), np.ones(len(Z))
        if self.learned is None or self.bands.scale == 1:
            coefficients, variance, _ = self.variance.with_coefficients(operator, Z)
            return coefficients, np.sqrt(variance)
        coefficients, variance, more = self.variance.with_coefficients(operator, Z, self.learned.row)
        return coefficients, self.learned(np.sqrt(variance), more[:, 0])

    @classmethod
    def validation(cls, model: FittedOperator) -> Validation | None:
        """Return the training functions, left out or held out, with their bands; no fit is made again."""
        residuals, bars = training_residuals(model), model.error_bars
        if residuals is None or not isinstance(bars, cls):
            return None
        assert model.training is not None
        outputs, bands = model.outputs, bars.bands
        training = model.training.of(residuals.functions)
        y, lift, points = rows_and_lift(model, training)
        z = outputs.target(y) - residuals.values
        coverage = min(_VALIDATED_AT, bands.independent / (bands.independent + 1))
        half = bands.factor(coverage, "function") * residuals.sigma(bands)
        g = np.broadcast_to(residuals.scales[min(bands.scale, len(residuals.scales) - 1)], (len(z), 1))

        def band(i: int) -> tuple[np.ndarray, np.ndarray]:
            low, high = (outputs.values(row[None])[0] for row in (z[i] - half * g[i], z[i] + half * g[i]))
            return low + lift[i % len(lift)], high + lift[i % len(lift)]

        predicted = outputs.values(z)
        units = np.atleast_2d(outputs.unit(z))
        return Validation(
            f"training functions, {'left out' if residuals.left_out else 'held out'}",
            residuals.functions,
            y + lift,
            predicted + lift,
            band,
            coverage,
            residuals.calibration(units, y),
            points,
        )


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

    def bands(self, some: Any, widen: float = 1.0) -> Bands | None:
        """Return bands from the residuals of some functions."""
        groups = None if self.groups is None else self.groups[some]
        scales = [_some_rows(g, some) for g in self.scales]
        return Bands.of(self.values[some], scales, groups, places=self.places, widen=widen)

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
        # functions
        # have more in the directions in which C is rounded most, unless their features miss just these parts.
        Z, spread = model.seen(training.X), fit.left_out_variance()[:, None]
        rounding = target - operator.at_training_points(Z) - residuals / spread
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


def held_out_residuals(model: FittedOperator) -> Residuals | None:
    """Return residuals of functions held out of fits to the others, some at a time."""
    training, functions, parts = model.training, [], []
    if training is None or model.refit is None:
        return None
    for kept in folds(len(training.X)):
        with warnings.catch_warnings():  # held-out points may lie outside those of the other functions
            warnings.simplefilter("ignore", ExtrapolationWarning)
            out = np.flatnonzero(~kept)
            refitted, others = model.refit(training.of(np.flatnonzero(kept))), training.of(out)
            parts.append(_residuals_of(refitted, others.X, others.y))
            known = np.unique(others.y.index) if isinstance(others.y, Scattered) else slice(None)
            functions.append(out[known])
    if not parts:
        return None
    width = max(part.shape[1] for part in parts)
    padded = [np.pad(part, ((0, 0), (0, width - part.shape[1])), constant_values=np.nan) for part in parts]
    values, outputs = np.concatenate(padded), model.outputs
    places = np.arange(width) % max(1, outputs.components) if isinstance(outputs, ScatteredForm) else None
    return Residuals(np.concatenate(functions), values, [np.ones((1, 1))], places=places, left_out=False)


def _residuals_of(model: FittedOperator, rows: np.ndarray, y: Any) -> np.ndarray:
    """Return the residuals of functions: (n, c M), or (n, c times the most values of a function)."""
    operator, outputs, Z = model.operator, model.outputs, model.seen(rows)
    if not isinstance(outputs, ScatteredForm):
        return outputs.target(y) - operator.at_training_points(Z)
    index, places, values = outputs.flattened(y)
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


def _enough(n: int, places: int) -> Any:
    """Return functions whose values are enough to make bands from."""
    most = max(_MIN_FUNCTIONS, _MAX_VALUES // max(places, 1))
    return slice(None) if n <= most else np.random.default_rng(0).permutation(n)[:most]


@dataclass(frozen=True)
class PosteriorVariance:
    """The posterior variance of a function given the training functions, in units of the noise.

    A ridge with the penalty alpha is the mean of a Gaussian process: outputs are ``C b`` with standard normal
    C, and noise of the variance alpha. Given the training functions, a function with features b has the
    variance

        alpha (1 + b' (B B' + alpha)^-1 b + rest / alpha) ,

    noise included, where ``rest = k(x, x) - |b|^2`` is what the features of a kernel miss of a function
    outside the span of the training functions. It is large there, and without it bands would cover nothing.

    With ``R'R = (B B' + alpha)^-1`` the middle term is ``|R b|^2``, which takes p1^2 products. For a scale
    that is more than is needed: k random combinations of the rows, ``S R`` with normal S of variance 1/k,
    give it to ``sqrt(2 / k)`` of its size (Johnson and Lindenstrauss 1984), in one product together with C.

    Attributes
    ----------
    root : (k, p1), ``S R``.
    noise : alpha.
    largest : largest variance of a training function given the others; infinite if it is not known.
    """

    root: np.ndarray
    noise: float
    largest: float = np.inf

    @classmethod
    def of(cls, fit: Fit, p1: int) -> Self:
        """Return the variance for a solver's fit with p1 features."""
        few = np.random.default_rng(0).normal(size=(_PROJECTIONS, p1)) / np.sqrt(_PROJECTIONS)
        root = fit.root(np.eye(p1) if p1 <= _PROJECTIONS else few)
        return cls(np.ascontiguousarray(root), fit.noise)

    def with_coefficients(
        self, operator: Operator, Z: np.ndarray, *more: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the coefficients ``C b`` (n, r) of functions Z, their variances (n,), and ``more b``."""
        rows = [operator.C, self.root, *(row[None] for row in more)]
        every = np.concatenate(rows, dtype=operator.C.dtype)
        found, rest = features_times_and_rest(operator.branch, Z, every.T)
        r, k = len(operator.C), len(operator.C) + len(self.root)
        return np.ascontiguousarray(found[:, :r]), self._variance(found[:, r:k], rest), found[:, k:]

    def left_out(self, fit: Fit, operator: Operator, Z: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """Return the variances (n,) of the training functions Z, each given the others.

        ``1 / (1 - h_i)``, which is ``1 + h_i / (1 - h_i)``. Where h of new functions is estimated by random
        combinations, so is theirs, and both are alike. A function that counts w^2 times has w^2 times the
        leverage.
        """
        exact = fit.left_out_variance()
        size = 1.0 if weights is None else 1 / weights**2
        if self.misses_some(operator, Z):
            return 1 + (exact - 1) * size
        half = fit.halves(self.root)
        return 1 + np.einsum("ki,ki->i", half, half) * exact * size

    def novelty(self, operator: Operator, Z: np.ndarray) -> np.ndarray:
        """Return the standard deviation of each function (n,), relative to the largest in training."""
        return np.sqrt(self.with_coefficients(operator, Z)[1] / self.largest)

    def misses_some(self, operator: Operator, Z: np.ndarray) -> bool:
        """Return whether the features of new functions miss a part of them, as those of kernels do."""
        return features_times_and_rest(operator.branch, Z[:1], self.root.T)[1] is not None

    def arrays(self) -> dict[str, np.ndarray]:
        """Return all of it as named arrays, for a file."""
        return {"root": self.root, "numbers": np.array([self.noise, self.largest])}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Self:
        """Invert `arrays`."""
        return cls(arrays["root"], *arrays["numbers"].tolist())

    def _variance(self, half: np.ndarray, rest: Any) -> np.ndarray:
        inside = np.einsum("ij,ij->i", half, half, dtype=np.float64)
        return 1 + inside + (0.0 if rest is None else rest / max(self.noise, np.finfo(float).tiny))


@dataclass(frozen=True)
class LearnedSize:
    """The size of the error, learned from left-out residuals.

    The logarithm of a function's residual is regressed on the features, as one more output; then, by least
    squares, on its left-out prediction by that regression and on the logarithm of its standard deviation.

    Attributes
    ----------
    row : (p1,), coefficients of the first regression.
    numbers : powers of the standard deviation and of the first regression in the second one; smallest and
        largest size of functions left out, which bound all others.
    """

    row: np.ndarray
    numbers: np.ndarray

    @classmethod
    def of(
        cls, fit: Fit, residuals: np.ndarray, deviation: np.ndarray, weights: np.ndarray | None
    ) -> tuple[Self, np.ndarray]:
        """Return the size learned from residuals (n, R) and standard deviations (n,), and its values (n,)."""
        size = np.sqrt(np.mean(residuals**2, axis=1))
        log_size = np.log(np.maximum(size, _SMALLEST_SIZE * size.max() + np.finfo(float).tiny))
        log_size -= log_size.mean()
        w = np.ones(len(size)) if weights is None else weights
        row, left_out = fit.regressed(log_size * w)
        both = np.column_stack([np.log(deviation), left_out / w])
        # Not negative: a function's prediction by the mean of the others falls as that function rises.
        powers = np.minimum(nnls(both - both.mean(axis=0), log_size)[0], _MAX_POWER)
        sizes = np.exp(both @ powers)
        return cls(row, np.array([*powers, sizes.min(), sizes.max()])), sizes

    def __call__(self, deviation: np.ndarray, regressed: np.ndarray) -> np.ndarray:
        """Return the size of the error (n,), up to a factor."""
        a, b, least, most = self.numbers
        return np.exp(np.clip(a * np.log(deviation) + b * regressed, np.log(least), np.log(most)))
