"""What a fit misses of functions that it has not seen, and the confidence that follows from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from elmonet.bands import Bands
from elmonet.data.scattered import Scattered
from elmonet.fitting.confidence import Confidence
from elmonet.fitting.fitted import Fitted
from elmonet.form.outputs import OutputForm
from elmonet.form.training import Training
from elmonet.solve.held_out import folds
from elmonet.variance import Variance

__all__ = ["from_folds", "from_left_out", "from_unseen"]

_MOST_VALUES = 8_000_000  # of all functions that bands are made from
_LEAST_USED = 300  # functions
_ROUNDED = 1e8  # a condition above which the rounding of C may matter


def from_left_out(fitted: Fitted, training: Training, widen: float = 1.0) -> Confidence | None:
    """From all training functions, each left out; the solution must keep its factor.

    `widen`: the error to expect is larger than that of functions left out, by this factor.
    """
    fit, operator, weights = fitted.solution.fit, fitted.operator, training.weights
    assert fit is not None
    variance, Z = Variance.of(fit, operator.C.shape[1]), fitted.seen(training.X)
    g = np.sqrt(variance.left_out(fit, operator, Z, weights))
    target, left_out = fitted.outputs.target(training.y), fit.left_out().T
    missed = target - (left_out if weights is None else left_out / weights[:, None])
    groups = None if training.groups is None else training.groups.numbers
    if groups is None and (fitted.solution.condition or 0.0) > _ROUNDED:
        # Rounding of C shows in the residuals, which are not e = (1 - h) missed; left out, it is amplified.
        own = np.sqrt(fit.left_out_variance())[:, None]
        missed += (target - operator.at_training_points(Z)) * own - missed / own
    some = _some(*missed.shape)
    bands = Bands.of(
        missed[some], _scales(g[some]), None if groups is None else groups[some], widen=max(widen, 1.0)
    )
    return None if bands is None else Confidence(bands, variance)


def from_folds(fit: Callable[[Training], Fitted], training: Training) -> Confidence | None:
    """From functions that are held out of fits to the others, some at a time."""
    parts: list[np.ndarray] = []
    for kept in folds(len(training.X)):
        fitted, held_out = fit(training.of(np.flatnonzero(kept))), training.of(np.flatnonzero(~kept))
        parts.append(_missed(fitted, held_out.X, held_out.y))
    if not parts:
        return None
    width = max(part.shape[1] for part in parts)
    padded = [np.pad(part, ((0, 0), (0, width - part.shape[1])), constant_values=np.nan) for part in parts]
    places = None
    if training.outputs.scattered:
        missed = np.concatenate(padded)
        places = np.arange(width) % max(1, training.outputs.components)
    else:
        missed = np.concatenate(parts)
    bands = Bands.of(missed, [np.ones((1, 1))], places=places)
    return None if bands is None else Confidence(bands)


def from_unseen(
    fitted: Fitted, rows: np.ndarray, y: np.ndarray, variance: Variance | None
) -> Confidence | None:
    """From functions that the fit has not seen: input rows and rows of outputs (n, c M)."""
    missed, scales = _missed(fitted, rows, y), [np.ones((1, 1))]
    if variance is not None:
        g = variance.with_coefficients(fitted.operator, fitted.seen(rows))[1]
        scales = _scales(np.sqrt(g))
    bands = Bands.of(missed, scales)
    return None if bands is None else Confidence(bands, variance)


def _scales(g: np.ndarray) -> list[np.ndarray]:
    """The same width for all functions, or in the ratio of g."""
    return [np.ones((1, 1)), g[:, None]]


def _some(n: int, places: int) -> Any:
    """Functions whose values are enough to make bands from."""
    most = max(_LEAST_USED, _MOST_VALUES // max(places, 1))
    return slice(None) if n <= most else np.random.default_rng(0).permutation(n)[:most]


def _missed(fitted: Fitted, rows: np.ndarray, y: Any) -> np.ndarray:
    """What is missed of functions: (n, c M), or (n, c times the most values of a function), else NaN."""
    operator, Z = fitted.operator, fitted.seen(rows)
    if not isinstance(y, Scattered):
        return fitted.outputs.target(y) - operator.at_training_points(Z)
    index, places, values = fitted.outputs.scattered_rows(y)
    P = places if fitted.outputs.box is None else fitted.outputs.box(places)
    return _packed(
        values - operator.values(operator.coefficients(Z), P, index), index, places, fitted.outputs
    )


def _packed(values: np.ndarray, index: np.ndarray, places: np.ndarray, outputs: OutputForm) -> np.ndarray:
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
