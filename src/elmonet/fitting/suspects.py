"""Suspects: training pairs that contradict the rest.

A fit that has seen a wrong pair bends towards it, and its ridge grows until all left-out residuals are alike.
So the functions with the largest residuals are set aside, the others are fitted again, and all are judged by
that fit: those in it left out, those aside as new functions. Two more rounds settle who is aside.

The residual of a function is measured by the median over its points, in units of the median over functions
at each point: wild values at single points, as of heavy-tailed noise, count little. Beyond the median, the
logarithms of these sizes are compared with an exponential tail, fitted between their median and their 70 %
quantile, which a quarter of wrong pairs does not reach.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.spatial.distance import cdist
from scipy.special import bdtrc

from elmonet.errors import InputError
from elmonet.features.kernels import InfiniteWidth
from elmonet.fitting.residuals import Residuals, rows_and_lift, training_residuals
from elmonet.forms.training import Training
from elmonet.linalg import gram, product
from elmonet.summary import Fact

if TYPE_CHECKING:
    from elmonet.fitting.fitted_operator import FittedOperator

MIN_FUNCTIONS = 20  # below, quantiles say nothing of a tail
_ASIDE = 0.15  # part of the functions that is set aside
_KERNELS, _SCALES = ("rbf", "matern52", "matern32"), (0.1, 0.3, 0.6, 1.0)  # that the model is compared with
_MAX_FOR_JUDGE = 400  # functions that are enough to compare them
_GOOD_JUDGE = 0.01  # relative left-out error of trusted functions up to which no other kernel is tried
_ROUNDS = 3  # fits without those aside; a suspect is one after each of the last two
_PASSES = 3  # more searches among the others, once some are found
_TAIL = 0.7  # quantile that, with the median, fits the tail
_CHANCE = 0.001  # probability of accusing anyone if nobody is wrong
_FALSE = 0.05  # part of a group of suspects that may be right pairs
_LONGER_TAIL = 4.0  # times 1 / sqrt(n): two standard errors of a tail's scale, relative to it
_MOST = 0.25  # part of the functions that can be accused
_HUGE = 50.0  # the same as _MIN_RATIO, for residuals that no tail of right pairs reaches
_LIKELY = 0.02  # the same as _CHANCE, for these
_MIN_RATIO = 4.0  # residual of a suspect, in units of a typical one
_UNEXPLAINED = 0.35  # of a residual that may be left where a reason explains it
_MUCH_BETTER = 2.0  # distance to the own prediction, relative to that to another's, of a swapped output
_MAX_COMPARED = 5000  # functions, above which outputs are not compared with the predictions of all others
_MODES = 1e-3  # smallest mode of the predictions, relative to the largest: beyond, a residual is noise
_AT_ONE_POINT = 0.9  # of the squares of a residual, at one point
_MIN_VALUES = 8  # values of a function, below which none stands out
_MAX_SENSORS = 1500  # above, single sensors are not looked at
_MIN_ODD = 0.05  # deviation of a sensor's value, in units of its standard deviation
_SENSOR_NOISE = 1e-6  # variance added to each sensor's, relative to it
_SHOWN = 20  # rows of a printed table
_LISTED = 8  # rows in a summary
MAX_IN_SUMMARY = 2000  # functions, above which a summary does not look for suspects: that takes a few fits
MAX_VALUES_IN_SUMMARY = 500_000  # values of their outputs, likewise


@dataclass(frozen=True)
class Suspects:
    """Training pairs that contradict the rest; print it.

    Attributes
    ----------
    functions : (k,), rows of the training data, the most suspect first.
    scores : (k,), size of the residual that gives each away, in units of a typical one.
    reasons : (k,), what is wrong, in words, as far as the residual tells.
    kinds : (k,), which part does not belong: "pair", "output", "output value" or "input value".
    residuals : (N,), the residual of every function that was judged, in the same units.
    judged : (N,), rows of these functions.
    n : number of functions in the training data.
    """

    functions: np.ndarray
    scores: np.ndarray
    reasons: tuple[str, ...]
    kinds: tuple[str, ...]
    residuals: np.ndarray
    judged: np.ndarray
    n: int

    @property
    def keep(self) -> np.ndarray:
        """(n,), True for every function that is no suspect: ``fit(X[keep], y[keep], points)``."""
        return ~np.isin(np.arange(self.n), self.functions)

    def facts(self) -> tuple[Fact, ...]:
        """Return a line of a summary, if there are any."""
        rows = ", ".join(map(str, self.functions[:_LISTED])) + ", ..." * (len(self) > _LISTED)
        words = f"{len(self)} of {self.n} training pairs contradict the rest: row {rows}. See suspects()"
        return (Fact("Suspects", words),) if len(self) else ()

    def __len__(self) -> int:
        return len(self.functions)

    def __str__(self) -> str:
        judged = len(self.judged)
        among = (
            f"{judged} functions" if judged == self.n else f"{judged} of {self.n} functions that were judged"
        )
        if not len(self):
            return f"No suspects among {among}."
        rows = zip(self.functions[:_SHOWN], self.scores, self.reasons, strict=False)
        more = [f"... and {len(self) - _SHOWN} more"] if len(self) > _SHOWN else []
        return "\n".join(
            [
                f"{len(self)} suspect{'' if len(self) == 1 else 's'} among {among}. Scores are in units of a "
                "typical residual.",
                "   row      score  reason",
                *(f"{row:6d}  {score:9.3g}  {reason}" for row, score, reason in rows),
                *more,
            ]
        )


def find_suspects(model: FittedOperator | None) -> Suspects:
    """Return the training pairs that contradict the rest, judged by an operator fitted to them.

    Raises
    ------
    InputError : without training data, without left-out residuals, or with too few functions.
    """
    if model is None or model.training is None:
        raise InputError(
            "suspects are found among the training functions by a global model. This model has none, or no "
            "training functions: it was loaded from a file, fitted in blocks, or has layers that start from "
            'nothing (first="nothing"). Fit an ELMDeepONet or an AutoELMDeepONet in memory.'
        )
    training, residuals = model.training, training_residuals(model)
    if residuals is None:
        raise InputError("this fit leaves no function out, so that it can judge none: use Ridge().")
    if len(residuals.functions) < MIN_FUNCTIONS:
        raise InputError(
            f"telling suspects from chance takes at least {MIN_FUNCTIONS} functions; got "
            f"{len(residuals.functions)}."
        )
    model, residuals = _best_judge(model, training, residuals)
    judged, found = _one_pass(model, training, residuals)
    sizes, total, new = (
        dict(zip(judged.rows.tolist(), judged.sizes.tolist(), strict=True)),
        len(judged.rows),
        found,
    )
    for _ in range(_PASSES):  # without these, others may stand out
        rest = np.flatnonzero(~np.isin(judged.rows, list(found)))
        if not new or model.again is None or not residuals.left_out or len(rest) < (1 - _MOST) * total:
            break
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            training = training.of(rest)
            model = model.again(training)
        residuals = training_residuals(model)
        assert residuals is not None
        judged, new = _one_pass(model, training, residuals)
        found |= new
        sizes |= judged.by_row()
    order = sorted(found, key=lambda row: -found[row].score)
    return Suspects(
        np.array(order, int),
        np.array([found[row].score for row in order]),
        tuple(found[row].words for row in order),
        tuple(found[row].kind for row in order),
        np.array(list(sizes.values())),
        np.array(list(sizes)),
        training.total or total,
    )


def _best_judge(
    model: FittedOperator, training: Training, residuals: Residuals
) -> tuple[FittedOperator, Residuals]:
    """Return the model, or one with another kernel if that predicts trusted functions better; and residuals.

    Wrong pairs spoil the choice of a model, too: it smooths so much that it misses right pairs by as much as
    wrong ones. So the model is compared with some kernels, without the functions that are most conspicuous.
    """
    n = len(residuals.functions)
    if model.with_branch is None or model.again is None or not residuals.left_out:
        return model, residuals
    target = model.outputs.target(training.y)
    predicted = model.outputs.values(target - residuals.values)
    sizes = _scaled_and_sizes(residuals.values, _column(residuals.scales[1], n), predicted)[1]
    trusted = np.argsort(sizes, kind="stable")[: n - int(_ASIDE * n)]
    kept = np.sort(np.random.default_rng(0).permutation(trusted)[:_MAX_FOR_JUDGE])
    few, Z = training.of(kept), model.seen(training.X[kept])
    spread = float(np.sqrt(np.mean((Z - Z.mean(axis=0)) ** 2))) or 1.0

    def error(fit: FittedOperator) -> float:
        own = training_residuals(fit)
        assert own is not None
        predicted = model.outputs.target(fit.outputs.values(fit.outputs.target(few.y) - own.values))
        missed = np.linalg.norm(target[kept] - predicted, axis=1)
        return float(np.mean(missed)) if np.isfinite(missed).all() else np.inf

    branches = [InfiniteWidth(kernel, scale / spread) for kernel in _KERNELS for scale in _SCALES]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own = error(model.again(few))
        if own <= _GOOD_JUDGE * float(np.mean(np.linalg.norm(target[kept], axis=1))):
            return model, residuals
        errors = [error(model.with_branch(branch, few)) for branch in branches]
        if min(errors) >= own:
            return model, residuals
        judge = model.with_branch(branches[int(np.argmin(errors))], training)
    found = training_residuals(judge)
    assert found is not None
    return judge, found


class _Reason(NamedTuple):
    """What is wrong with a pair: which part of it, in words, and the size that gives it away."""

    kind: str
    words: str
    score: float


def _one_pass(
    model: FittedOperator, training: Training, residuals: Residuals
) -> tuple[_Judged, dict[int, _Reason]]:
    """Return all functions as they were judged, and the reason of each suspect by its row."""
    judged = _judged(model, training, residuals)
    found = {i: judged.reason(i) for i in np.flatnonzero(judged.wrong).tolist()}
    found |= {i: judged.at_one_point(i) for i in np.flatnonzero(judged.spiked & ~judged.wrong).tolist()}
    place = {int(i): k for k, i in enumerate(judged.functions)}
    for i, (sensor, score) in _odd_sensors(training.X).items():
        if i in place:
            words = f"input: value {sensor} does not fit the others"
            found[place[i]] = _Reason("input value", words, max(score, float(judged.sizes[place[i]])))
    return judged, {int(judged.rows[i]): reason for i, reason in found.items()}


class _Judged(NamedTuple):
    """All functions, judged by a fit without the worst.

    functions, rows : (n,), their indices in the fit, and their rows in the training data.
    truth, predicted : (n, R), outputs in the user's units, NaN where unknown.
    own_points : whether each function is known at points of its own.
    scaled : (n, R), sizes of residuals in units of the typical one at each point.
    sizes : (n,), their medians over the points, in units of the typical function's.
    wrong, spiked : (n,), which functions contradict the fit, as a whole and at one point.
    """

    functions: np.ndarray
    rows: np.ndarray
    truth: np.ndarray
    predicted: np.ndarray
    own_points: bool
    scaled: np.ndarray
    sizes: np.ndarray
    wrong: np.ndarray
    spiked: np.ndarray

    def by_row(self) -> dict[int, float]:
        """Return the size of each function's residual, by its row."""
        return dict(zip(self.rows.tolist(), self.sizes.tolist(), strict=True))

    def at_one_point(self, i: int) -> _Reason:
        """Return the reason of a function that is off at one point."""
        k = int(np.nanargmax(self.scaled[i]))
        words = f"output: value {k} is off by {self.truth[i, k] - self.predicted[i, k]:.3g}"
        return _Reason("output value", words, float(self.scaled[i, k]))

    def reason(self, i: int) -> _Reason:
        """Return the change that explains most of a function's residual, if one does."""
        known = np.isfinite(self.truth[i])
        y, p = self.truth[i, known], self.predicted[i, known]
        pp, offset, score = float(p @ p), float(np.mean(y - p)), float(self.sizes[i])
        factor = float(p @ y) / pp if pp else 0.0
        left = {
            ("output", f"output: {factor:.3g} times what was expected"): np.linalg.norm(y - factor * p),
            ("output", f"output: shifted by {offset:.3g}"): np.linalg.norm(y - p - offset),
        }
        if not self.own_points:
            distance = np.linalg.norm(self.predicted[:, known] - y, axis=1)
            j = int(np.argmin(distance))
            left["pair", f"output: fits the input of row {self.rows[j]}"] = distance[j]
        (kind, words), least = min(left.items(), key=lambda item: item[1])
        if least > _UNEXPLAINED * np.linalg.norm(y - p):
            kind, words = "pair", "output and input do not belong together, or one of them is wrong"
            if not self.own_points and self._inside(y - p, known) < 0.5:
                kind, words = "output", "output: noise that other outputs do not have"
        return _Reason(kind, words, score)

    def _inside(self, residual: np.ndarray, known: np.ndarray) -> float:
        """Return the part of a residual's squares in the modes of the predictions."""
        P = self.predicted[:, known]
        P = P - P.mean(axis=0)
        values, V = eigh(gram(P), lower=True)
        kept = values > _MODES**2 * values[-1]
        inside = (V[:, kept].T @ (P @ residual)) / np.sqrt(values[kept])
        return float(inside @ inside) / float(residual @ residual)


def _judged(model: FittedOperator, training: Training, residuals: Residuals) -> _Judged:
    """Judge all functions by fits without the worst; functions held out of a fit, by that fit alone."""
    y, lift, points = rows_and_lift(model, training.of(residuals.functions))
    masks, n = [], len(residuals.functions)
    values, deviation = residuals.values, _column(residuals.scales[min(1, len(residuals.scales) - 1)], n)
    for rounds in range(_ROUNDS + 1):
        predicted = model.outputs.values(model.outputs.target(y) - values) if points is None else y - values
        scaled, sizes = _scaled_and_sizes(values, deviation, predicted)
        masks.append(_outliers(sizes))
        if rounds == _ROUNDS or not residuals.left_out or model.again is None:
            break
        trusted = np.argsort(np.where(masks[-1], np.inf, sizes), kind="stable")[: n - int(masks[-1].sum())]
        kept = np.sort(trusted[: len(trusted) - int(_ASIDE * len(trusted))])
        with warnings.catch_warnings():  # what the fit had to say was said of all functions
            warnings.simplefilter("ignore")
            fit = model.again(training.of(kept))
            values, deviation = _judged_by(fit, training, kept)
        if model.outputs.logs is not None or model.outputs.centre is not None:  # from the units of that fit
            predicted = fit.outputs.values(fit.outputs.target(y) - values)
            values = model.outputs.target(y) - model.outputs.target(predicted)
    # Beside rounding, residuals are compared with each other alone.
    floor = np.sqrt(np.finfo(model.outputs.dtype).eps) * np.sqrt(np.nanmean(y**2))
    counts = np.sqrt(np.nanmean((y - predicted) ** 2, axis=1)) > floor
    squares = np.nan_to_num((y - predicted) ** 2)
    alone = squares.max(axis=1) >= _AT_ONE_POINT * squares.sum(axis=1)
    spiked = _has_spike(scaled) & alone & counts
    wrong = np.logical_and.reduce(masks[-2:]) & counts
    if points is None and n <= _MAX_COMPARED and np.isfinite(y).all():
        wrong |= _swapped(y, predicted, wrong) & counts
    shown = (y + lift, predicted + lift, points is not None)
    rows = (np.arange(len(training.X)) if training.rows is None else training.rows)[residuals.functions]
    return _Judged(residuals.functions, rows, *shown, scaled, sizes, wrong, spiked)


def _judged_by(fit: FittedOperator, training: Training, kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return residuals (N, R) and standard deviations (N,): of `kept` functions left out, others as new."""
    own = training_residuals(fit)
    assert own is not None
    assert own.variance is not None
    n = len(training.X)
    aside = np.setdiff1d(np.arange(n), kept)
    Z = fit.seen(training.X[aside])
    values, deviation = np.empty((n, own.values.shape[1])), np.empty(n)
    values[kept], deviation[kept] = own.values, _column(own.scales[1], len(kept))
    values[aside] = fit.outputs.target(training.y[aside]) - fit.operator.at_training_points(Z)
    deviation[aside] = np.sqrt(own.variance.with_coefficients(fit.operator, Z)[1])
    return values, deviation


def _column(scale: np.ndarray, n: int) -> np.ndarray:
    return np.broadcast_to(scale[:, 0], (n,))


def _scaled_and_sizes(
    values: np.ndarray, deviation: np.ndarray, predicted: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return sizes of residuals (n, R) and of functions (n,), their medians, both in typical units."""
    scaled = _in_typical_units(values, deviation, predicted)
    sizes = np.nanmedian(scaled, axis=1)
    return scaled, sizes / (np.median(sizes) or 1.0)


def _in_typical_units(values: np.ndarray, deviation: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """Return the sizes of residuals (n, R), in units of the median over functions at each point.

    Functions may differ in what to expect: by their standard deviation, by their size, by both, or not at
    all. The measure with the narrowest distribution is taken.
    """
    size = np.sqrt(np.nanmean(predicted**2, axis=1))
    size = np.maximum(size, 1e-3 * np.median(size) + np.finfo(float).tiny)
    best, narrowest = np.abs(values), np.inf
    for expected in (np.ones_like(size), deviation, size, deviation * size):
        scaled = np.abs(values) / expected[:, None]
        typical = np.nanmedian(scaled, axis=0)
        scaled /= np.maximum(typical, 1e-3 * np.sqrt(np.nanmean(typical**2)) + np.finfo(float).tiny)
        spread = _tail(np.nanmedian(scaled, axis=1))
        if spread < narrowest:
            best, narrowest = scaled, spread
    return best


def _tail(sizes: np.ndarray) -> float:
    """Return the scale of the exponential tail of the logarithms of sizes (n,)."""
    middle, upper = np.log(np.maximum(np.quantile(sizes, (0.5, _TAIL)), np.finfo(float).tiny))
    return max(float(upper - middle) / np.log(0.5 / (1 - _TAIL)), 1e-3)


def _outliers(sizes: np.ndarray) -> np.ndarray:
    """Return which sizes (n,), in units of their median, lie beyond the tail of the others.

    One by one, if so large a size is unlikely among n. Or as a group of k above a gap, if k sizes so large
    are unlikely, and so is the gap: that of an exponential tail is exponential, with 1 / k of its scale. Or
    without a gap, if k sizes so large are very unlikely even for a longer tail, and hardly one of them is to
    be expected of right pairs: n chance <= q k, the rule of Benjamini and Hochberg.
    """
    n, order = len(sizes), np.argsort(-sizes, kind="stable")
    logs = np.log(np.maximum(sizes[order], np.finfo(float).tiny))
    scale = _tail(sizes)
    chance = 0.5 * np.exp(-np.maximum(logs, 0) / scale)
    count = np.arange(1, n + 1)
    unlikely = bdtrc(count - 1, n, chance) < _CHANCE
    gap = np.append(-np.diff(logs), 0.0) * count / scale > np.log(_MOST * n / _CHANCE)
    possible = (count <= _MOST * n) & (logs >= np.log(_MIN_RATIO))
    longer = scale * (1 + _LONGER_TAIL / np.sqrt(n))
    many = bdtrc(count - 1, n, 0.5 * np.exp(-np.maximum(logs, 0) / longer)) < _CHANCE
    group = count[possible & ((unlikely & gap) | (many & (n * chance <= _FALSE * count)))].max(initial=0)
    wrong = np.zeros(n, bool)
    limit = np.where(logs >= np.log(_HUGE), _LIKELY, _CHANCE)
    wrong[order] = (count <= group) | (possible & (n * chance < limit))
    return wrong


def _swapped(y: np.ndarray, predicted: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    """Return which outputs (n,) fit the input of another function much better, one that is wrong or alike.

    Distances are in units of the typical residual at each point. By chance, an output may fit another input;
    that this one's output fits yet another is unlikely.
    """
    unit = np.median(np.abs(y - predicted), axis=0)
    unit = np.maximum(unit, 1e-3 * np.sqrt(np.mean(unit**2)) + np.finfo(float).tiny)
    distance = cdist(y / unit, predicted / unit)
    own = np.diagonal(distance).copy()
    np.fill_diagonal(distance, np.inf)
    other = np.argmin(distance, axis=1)
    better = own > _MUCH_BETTER * distance[np.arange(len(y)), other]
    return better & (better | wrong)[other]


def _has_spike(scaled: np.ndarray) -> np.ndarray:
    """Return which functions (n,) have a value far beyond the tail of all values (n, R), in units of each."""
    own = scaled / np.maximum(np.nanmedian(scaled, axis=1, keepdims=True), np.finfo(float).tiny)
    values = np.log(np.maximum(own[np.isfinite(own)], np.finfo(float).tiny))
    if len(values) < _MIN_VALUES * len(own):
        return np.zeros(len(own), bool)
    low, high = np.quantile(values, (0.9, 0.99))
    scale = max((high - low) / np.log(10), 1e-3)
    largest = np.log(np.maximum(np.nanmax(own, axis=1), np.finfo(float).tiny))
    chance = 0.01 * np.exp(-np.maximum(largest - high, 0) / scale)
    return (len(values) * chance < _LIKELY) & (largest >= high + np.log(_MIN_RATIO))


def _odd_sensors(X: np.ndarray) -> dict[int, tuple[int, float]]:
    """Return functions with one input value that the other values of the function contradict.

    By a normal distribution of the inputs, a value given all others of its function deviates by
    ``(P z)_k / P_kk``, P the inverse of the correlation matrix. It is estimated from the functions that
    deviate least. Each entry is the index of the value, and its deviation in units of a typical one.
    """
    X = X.reshape(len(X), -1).astype(float)
    deviation = X.std(axis=0)
    varies = np.flatnonzero(deviation > 1e-12 * np.abs(X).max(axis=0))
    n, m = len(X), len(varies)
    if not 2 < m <= _MAX_SENSORS:
        return {}
    z = (X[:, varies] - np.median(X[:, varies], axis=0)) / deviation[varies]
    kept = np.arange(n)
    for _ in range(_ROUNDS):
        values, V = eigh(gram(z[kept].T) / len(kept), lower=True)
        values = np.maximum(values, 0) + _SENSOR_NOISE
        if 3 * np.count_nonzero(values > 2 * _SENSOR_NOISE) > n:
            return {}  # too few functions to tell what belongs together
        P = product(V / values, V.T)
        odd = np.abs(product(z, P)) / np.diagonal(P)
        scaled = odd / np.maximum(np.median(odd, axis=0), 1e-12)
        largest = scaled.max(axis=1)
        kept = np.sort(np.argsort(largest, kind="stable")[: n - int(_ASIDE * n)])
    which = scaled.argmax(axis=1)
    counts = odd[np.arange(n), which] >= _MIN_ODD
    found = np.flatnonzero(_outliers(largest / np.median(largest)) & counts)
    return {int(i): (int(varies[which[i]]), float(largest[i])) for i in found}
