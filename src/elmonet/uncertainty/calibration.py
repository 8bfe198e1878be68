"""Calibration: the coverage of error bars on functions with known outputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from elmonet.errors import InputError
from elmonet.summary import plural
from elmonet.uncertainty.bands import Bands, ErrorBars

_NOMINAL = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98)
_PRINTED = (0.5, 0.8, 0.9, 0.95)
_SHARPNESS_AT = 0.9  # coverage whose mean width is the sharpness
_MIN_SPLIT = 10  # independent functions worth splitting into two halves


@dataclass(frozen=True)
class Calibration:
    """Nominal against observed coverage of error bars.

    Attributes
    ----------
    asked : (k,), nominal coverages.
    points, functions : (k,), observed coverage of single values, and of whole functions.
    sharpness : mean width of bands for 90 % of all values, in units of the outputs' root mean square.
    crps : mean continuous ranked probability score of normal distributions with the predicted mean and
        standard deviation, in the same units; smaller is better, zero is perfect.
    correlation : correlation of the logarithms of stated and true error over functions; None if all are
        stated alike.
    stated, true : (n,), root mean squares of the stated and of the true error of each function.
    """

    asked: np.ndarray
    points: np.ndarray
    functions: np.ndarray
    sharpness: float
    crps: float
    correlation: float | None
    stated: np.ndarray
    true: np.ndarray

    def __str__(self) -> str:
        rows = [i for i, asked in enumerate(self.asked) if asked in _PRINTED]
        table = [
            f"{100 * self.asked[i]:6.0f} %  {100 * self.points[i]:8.1f} %  {100 * self.functions[i]:12.1f} %"
            for i in rows
        ]
        more = "" if self.correlation is None else f", correlation {self.correlation:.2f}"
        return "\n".join(
            [
                "   asked  of all values  of whole functions",
                *table,
                f"{plural(len(self.true), 'function')}; mean width at 90 % {self.sharpness:.3g}, CRPS "
                f"{self.crps:.3g} (of the outputs' size); stated over true error {self._ratio():.2f} "
                f"(median){more}.",
            ]
        )

    def _ratio(self) -> float:
        return float(np.median(self.stated / np.maximum(self.true, np.finfo(float).tiny)))


class Validation(NamedTuple):
    """Functions that a fit has not seen: left out, or held out; all as rows of the outputs.

    kind : what these functions are, in words: "training functions, left out".
    functions : (n,), their indices among the training functions.
    truth, predicted : (n, R), with the lift, NaN where unknown.
    band : function of i that returns the ends (R,) of the i-th function's band.
    coverage : the part of whole functions that these bands hold.
    calibration : of bands from one half of the functions on the other; None if there are too few.
    points : (n, R, d), for functions at their own points; None at common points.
    """

    kind: str
    functions: np.ndarray
    truth: np.ndarray
    predicted: np.ndarray
    band: Callable[[int], tuple[np.ndarray, np.ndarray]]
    coverage: float
    calibration: Calibration | None
    points: np.ndarray | None = None


def calibration_of(
    bars: ErrorBars | Bands, residuals: np.ndarray, spread: np.ndarray, units: np.ndarray | float, size: float
) -> Calibration:
    """Return the calibration of error bars on residuals (n, R) with the stated spread (n, R).

    Both are as the model sees outputs; residuals are NaN where unknown, but not for a whole function.
    `units`, times these, are outputs; `size` is the outputs' root mean square.
    """
    if len(residuals) == 0:
        raise InputError("calibration needs at least one function with known outputs.")
    most = bars.independent / (bars.independent + 1)
    asked = np.array([coverage for coverage in _NOMINAL if coverage <= most])
    known = np.isfinite(residuals)
    scores = np.abs(residuals) / spread
    largest, scores = np.nanmax(scores, axis=1), scores[known]
    points = [float(np.mean(scores <= bars.factor(coverage, "points"))) for coverage in asked]
    functions = [float(np.mean(largest <= bars.factor(coverage, "function"))) for coverage in asked]
    std, error = spread * bars.widen * units / (size or 1.0), residuals * units / (size or 1.0)
    typical = 2 * bars.factor(min(_SHARPNESS_AT, most), "points") / bars.widen
    stated, true = (np.sqrt(np.mean(part**2, axis=1, where=known)) for part in (std, error))
    return Calibration(
        asked,
        np.array(points),
        np.array(functions),
        sharpness=float(typical * np.mean(std[known])),
        crps=_crps(error[known], std[known]),
        correlation=_correlation(stated, true),
        stated=stated,
        true=true,
    )


def calibration_by_halves(
    tried: Callable[[np.ndarray, np.ndarray], Calibration | None], n: int, groups: np.ndarray | None
) -> Calibration | None:
    """Return the calibration of n functions, each half with bands from the other: ``tried(half, other)``.

    Bands hold by construction on the functions they are made from; this tests them on others. Functions with
    the same number in `groups` stay in one half. None if fewer than ten are independent.
    """
    numbers = np.arange(n) if groups is None else np.unique(groups, return_inverse=True)[1].ravel()
    independent = int(numbers.max(initial=-1)) + 1
    if independent < _MIN_SPLIT:
        return None
    first = np.isin(numbers, np.random.default_rng(0).permutation(independent)[: independent // 2])
    halves = np.flatnonzero(first), np.flatnonzero(~first)
    parts = [tried(*halves), tried(*halves[::-1])]
    one, other = parts
    if one is None or other is None:
        return None
    weights = [len(part.true) for part in (one, other)]

    def mean(name: str) -> np.ndarray:
        shared = min(len(one.asked), len(other.asked))
        both = [np.atleast_1d(getattr(part, name))[:shared] for part in (one, other)]
        return np.average(both, axis=0, weights=weights)

    stated, true = (np.concatenate([getattr(p, name) for p in (one, other)]) for name in ("stated", "true"))
    return Calibration(
        mean("asked"),
        mean("points"),
        mean("functions"),
        sharpness=float(mean("sharpness")[0]),
        crps=float(mean("crps")[0]),
        correlation=_correlation(stated, true),
        stated=stated,
        true=true,
    )


def _crps(error: np.ndarray, std: np.ndarray) -> float:
    """Return the mean of ``std (z (2 Phi(z) - 1) + 2 phi(z) - 1 / sqrt(pi))``, z the error over std."""
    std = np.maximum(std, np.finfo(float).tiny)
    z = error / std
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    return float(np.mean(std * (z * (2 * ndtr(z) - 1) + 2 * density - 1 / np.sqrt(np.pi))))


def _correlation(stated: np.ndarray, true: np.ndarray) -> float | None:
    usable = (stated > 0) & (true > 0)
    if usable.sum() < 3:
        return None
    a, b = np.log(stated[usable]), np.log(true[usable])
    if np.ptp(a) < 1e-9 or np.ptp(b) < 1e-9:
        return None
    return float(np.corrcoef(a, b)[0, 1])
