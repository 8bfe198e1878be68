"""From predictions of functions that a fit has not seen to what a report shows of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from elmonet.bands import Bands
from elmonet.calibration import Calibration
from elmonet.form.outputs import OutputForm
from elmonet.metrics import function_norms, relative_errors
from elmonet.plot.one_function import HOLDS, WithBand
from elmonet.report.account import Unseen

__all__ = ["USUAL", "times_and_words", "unseen"]

USUAL = 0.9  # the coverage of bands
_MOST_VALUES = 3000  # that are kept to be drawn
_MOST_SHOWN = 4  # components of which functions are drawn


def times_and_words(bands: Bands) -> tuple[float, str]:
    """The factor of bands that hold 90 % of functions, or as many as so few tell, and what they hold."""
    coverage = min(USUAL, bands.independent / (bands.independent + 1))
    return bands.times(coverage, "function"), HOLDS["function"].format(100 * coverage)


def unseen(
    how: str,
    outputs: OutputForm,
    numbers: np.ndarray,
    truth: np.ndarray,
    predicted: np.ndarray,
    band: Callable[[int], tuple[np.ndarray, np.ndarray]],
    holds: str,
    calibration: Calibration | None,
    own_points: np.ndarray | None = None,
) -> Unseen:
    """What a report shows of n functions.

    Parameters
    ----------
    how, numbers, calibration : as in `Unseen`.
    truth, predicted : (n, R), rows of the outputs, NaN where they are not known; with the lift.
    band : the ends (R,) of the band of the i-th function; `holds`, in words, what it holds.
    own_points : (n, R, d), where functions are known at points of their own; components take turns.
    """
    c = max(1, outputs.components)
    R = truth.shape[1]
    component = np.repeat(np.arange(c), R // c) if own_points is None else np.arange(R) % c
    units = np.ones(R) if outputs.sizes is None else outputs.sizes[component]
    missed = np.nan_to_num(predicted - truth)
    errors = relative_errors(function_norms(missed), function_norms(np.nan_to_num(truth)), R)
    order, known = np.argsort(errors, kind="stable"), np.isfinite(truth)

    def shown(i: int, name: str) -> tuple[WithBand, ...]:
        parts = []
        for k in range(min(c, _MOST_SHOWN)):
            own = np.flatnonzero((component == k) & known[i])
            points = outputs.points if own_points is None else own_points[i]
            where = points[own - k * len(points)] if own_points is None else points[own]
            value, low, high, true = (A[own] * units[own] for A in (predicted[i], *band(i), truth[i]))
            parts.append(WithBand(where, value, low, high, true, name, holds))
        return tuple(part for part in parts if len(part.points))

    picked = {"best": order[0], "median": order[len(order) // 2], "worst": order[-1]}
    if own_points is None:
        squares = np.sum(missed**2, axis=0) / np.maximum(known.sum(axis=0), 1)
        places, typical = outputs.points, (np.sqrt(squares) * units).reshape(c, -1).T
    else:
        places, typical = _single_errors(missed * units, known, own_points, component, c)
    pairs = np.column_stack([truth[known], predicted[known]])
    return Unseen(
        how,
        numbers,
        errors,
        {name: shown(int(i), name) for name, i in picked.items()},
        _names(outputs),
        places,
        typical,
        own_points is not None,
        pairs[_some(len(pairs))],
        calibration,
    )


def _single_errors(
    missed: np.ndarray, known: np.ndarray, points: np.ndarray, component: np.ndarray, c: int
) -> tuple[np.ndarray, np.ndarray]:
    """Some places (P, d), and the size of the error (P, c) of the component that is known at each."""
    i, j = np.nonzero(known)
    some = _some(len(i))
    i, j = i[some], j[some]
    sizes = np.full((len(i), c), np.nan)
    sizes[np.arange(len(i)), component[j]] = np.abs(missed[i, j])
    return points[i, j], sizes


def _names(outputs: OutputForm) -> tuple[str, ...]:
    if not outputs.components:
        return ("",)
    return outputs.names or tuple(f"component {k}" for k in range(outputs.components))


def _some(n: int) -> np.ndarray:
    return np.sort(np.random.default_rng(0).permutation(n)[:_MOST_VALUES])
