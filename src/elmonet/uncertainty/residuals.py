"""Functions that are held out of fits to the others, where leaving each out would need a fit each."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh

from elmonet.data.scattered import Scattered
from elmonet.errors import ExtrapolationWarning
from elmonet.features.base import learns_from
from elmonet.fitting.fitted import Fitted
from elmonet.forms.outputs import OutputForm
from elmonet.forms.training import Training
from elmonet.linalg import gram, product
from elmonet.solve.observations import folds
from elmonet.uncertainty.bands import Bands
from elmonet.uncertainty.confidence import Confidence, Learned, Variance

__all__ = [
    "HeldOut",
    "LeftOut",
    "from_held_out",
    "from_left_out",
    "from_unseen",
    "held_out",
    "held_out_places",
    "left_out",
    "missed_left_out",
    "missed_of",
    "packed",
]

_MOST_VALUES = 8_000_000  # of all functions that bands are made from
_LEAST_USED = 300  # functions
_NOTHING = 1e-12  # of the whole: rounding
_ROUNDED = 1e8  # a condition above which the rounding of C may matter


class LeftOut(NamedTuple):
    """What is missed of training functions (N, R) that are left out, and how large an error was expected.

    scales : (N or 1, 1), of which bands choose one: the same for all, standard deviations, what was learned.
    """

    missed: np.ndarray
    scales: list[np.ndarray]
    variance: Variance
    learned: Learned


def left_out(fitted: Fitted, training: Training) -> LeftOut:
    """Of all training functions, each left out; the solution must keep its factor."""
    fit, operator, weights = fitted.solution.fit, fitted.operator, training.weights
    assert fit is not None
    variance = Variance.of(fit, operator.C.shape[1])
    given_others = variance.left_out(fit, operator, fitted.seen(training.X), weights)
    variance, g = replace(variance, largest=float(given_others.max())), np.sqrt(given_others)
    missed = missed_left_out(fitted, training, variance)
    learned, size = Learned.of(fit, missed, g, weights)
    return LeftOut(missed, _scales(g, size), variance, learned)


def from_left_out(fitted: Fitted, training: Training, widen: float = 1.0) -> Confidence | None:
    """From all training functions, each left out.

    `widen`: the error to expect is larger than that of functions left out, by this factor.
    """
    missed, scales, variance, learned = left_out(fitted, training)
    groups = None if training.groups is None else training.groups.numbers
    some = _some(*missed.shape)
    bands = Bands.of(
        missed[some],
        [g if len(g) == 1 else g[some] for g in scales],
        None if groups is None else groups[some],
        widen=max(widen, 1.0),
    )
    return None if bands is None else Confidence(bands, variance, learned)


def missed_left_out(fitted: Fitted, training: Training, variance: Variance) -> np.ndarray:
    """What is missed of each training function (N, R), as the operator sees outputs, if it is left out.

    With what a new function would lose by the rounding of C, and by a trunk that has not learned from it.
    """
    fit, operator, weights = fitted.solution.fit, fitted.operator, training.weights
    assert fit is not None
    w = 1.0 if weights is None else weights
    inside, missed_inside = ((part / w).T for part in fit.coefficients_left_out())
    target = fitted.outputs.target(training.y)
    missed = target - product(inside - missed_inside, operator.basis.T)
    if training.groups is None and (fitted.solution.condition or 0.0) > _ROUNDED:
        # Rounding of C shows in the residuals, which are not e = (1 - h) missed. New functions have more in
        # the directions in which C is rounded most, unless their features miss just these parts.
        Z, spread = fitted.seen(training.X), fit.left_out_variance()[:, None]
        rounding = target - operator.at_training_points(Z) - missed / spread
        missed += rounding if variance.misses_some(operator, Z) else rounding * np.sqrt(spread)
    whole = inside.shape[1] >= min(target.shape)  # then the trunk holds all that it has learned from
    if "outputs" in learns_from(operator.trunk) and not whole:
        missed += (target - product(inside, operator.basis.T)) * _seen_by_trunk(inside)[:, None]
    return missed


def from_unseen(
    fitted: Fitted, rows: np.ndarray, y: np.ndarray, known: Confidence | None
) -> Confidence | None:
    """From functions that the fit has not seen: input rows and rows of outputs (n, c M).

    Of the confidence that is `known`, the scale of functions is kept.
    """
    missed = missed_of(fitted, rows, y)
    if known is None:
        bands = Bands.of(missed, _scales())
        return None if bands is None else Confidence(bands)
    _, g = known.with_coefficients(fitted.operator, fitted.seen(rows))
    bands = Bands.of(missed, [g[:, None]])
    if bands is None:
        return None
    return replace(known, bands=replace(bands, scale=known.bands.scale))


def _seen_by_trunk(inside: np.ndarray) -> np.ndarray:
    """How much more a trunk misses of functions (n,) that it has not learned from, as a part of its misses.

    Of function i it misses ``o_i = y_i - Q q_i`` with ``q_i = Q' y_i``, the rows of `inside` (n, r). Of one
    left out it is about ``o_i / (1 - h_i)``, as in a regression: ``h_i = q_i' (sum_j q_j q_j')^-1 q_i``.
    """
    values, V = eigh(gram(inside.T), lower=True)
    kept = values > _NOTHING * values[-1]
    U = product(inside, V[:, kept]) / np.sqrt(values[kept])
    h = np.einsum("ij,ij->i", U, U)
    return 1 / np.maximum(1 - h, 1 / len(h)) - 1


def _scales(*scales: np.ndarray) -> list[np.ndarray]:
    """The same width for all functions, or in the ratio of scales (n,)."""
    return [np.ones((1, 1)), *(g[:, None] for g in scales)]


def _some(n: int, places: int) -> Any:
    """Functions whose values are enough to make bands from."""
    most = max(_LEAST_USED, _MOST_VALUES // max(places, 1))
    return slice(None) if n <= most else np.random.default_rng(0).permutation(n)[:most]


def missed_of(fitted: Fitted, rows: np.ndarray, y: Any) -> np.ndarray:
    """What is missed of functions: (n, c M), or (n, c times the most values of a function), else NaN."""
    operator, Z = fitted.operator, fitted.seen(rows)
    if not isinstance(y, Scattered):
        return fitted.outputs.target(y) - operator.at_training_points(Z)
    index, places, values = fitted.outputs.scattered_rows(y)
    P = places if fitted.outputs.box is None else fitted.outputs.box(places)
    return packed(values - operator.values(operator.coefficients(Z), P, index), index, places, fitted.outputs)


def packed(values: np.ndarray, index: np.ndarray, places: np.ndarray, outputs: OutputForm) -> np.ndarray:
    """Values of functions, sorted by function, side by side; components take turns in the columns."""
    c = max(1, outputs.components)
    component = places[:, -1].astype(int) if outputs.components else np.zeros(len(values), int)
    key = index * c + component
    order = np.argsort(key, kind="stable")
    count = np.bincount(key, minlength=(index.max() + 1) * c)
    position = np.arange(len(key)) - np.repeat(np.cumsum(count) - count, count)
    out = np.full((index.max() + 1, count.max() * c), np.nan)
    out[index[order], position * c + component[order]] = values[order]
    return out[np.bincount(index) > 0]


class HeldOut(NamedTuple):
    """What is missed of functions that are held out of fits to the others.

    rows : (n,), which training functions these are.
    missed : (n, R), NaN where nothing is known; at points of their own, values come as `packed` gives them.
    """

    rows: np.ndarray
    missed: np.ndarray


def held_out(fit: Callable[[Training], Fitted], training: Training) -> HeldOut | None:
    """From functions that are held out of fits to the others, some at a time."""
    rows: list[np.ndarray] = []
    parts: list[np.ndarray] = []
    for kept in folds(len(training.X)):
        with warnings.catch_warnings():  # scattered points of the others may lie around those that are kept
            warnings.simplefilter("ignore", ExtrapolationWarning)
            out = np.flatnonzero(~kept)
            fitted, others = fit(training.of(np.flatnonzero(kept))), training.of(out)
            parts.append(missed_of(fitted, others.X, others.y))
            there = np.unique(others.y.index) if isinstance(others.y, Scattered) else slice(None)
            rows.append(out[there])
    if not parts:
        return None
    width = max(part.shape[1] for part in parts)
    padded = [np.pad(part, ((0, 0), (0, width - part.shape[1])), constant_values=np.nan) for part in parts]
    return HeldOut(np.concatenate(rows), np.concatenate(padded))


def from_held_out(found: HeldOut, outputs: OutputForm) -> Confidence | None:
    """From functions that were held out."""
    bands = Bands.of(found.missed, [np.ones((1, 1))], places=held_out_places(found, outputs))
    return None if bands is None else Confidence(bands)


def held_out_places(found: HeldOut, outputs: OutputForm) -> np.ndarray | None:
    """Which columns have one sigma: at points of their own, those of a component; None: each its own."""
    return np.arange(found.missed.shape[1]) % max(1, outputs.components) if outputs.scattered else None
