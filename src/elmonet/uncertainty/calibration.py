"""How well bands hold on functions whose outputs are known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from elmonet.errors import InputError
from elmonet.uncertainty.bands import Bands

__all__ = ["Calibration", "calibration_by_halves", "calibration_of"]

_ASKED = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98)
_TOLD = (0.5, 0.8, 0.9, 0.95)
_TYPICAL = 0.9  # the coverage whose width is the sharpness
_FEWEST = 10  # independent functions that are worth two halves


@dataclass(frozen=True)
class Calibration:
    """Coverage asked against coverage found.

    Attributes
    ----------
    asked : (k,), coverages.
    points, functions : (k,), the part of all values, and of whole functions, that their bands hold.
    sharpness : the mean width of bands for 90 % of all values, in units of the outputs' root mean square.
    crps : the mean continuous ranked probability score of normal distributions with the predicted mean and
        standard deviation, in the same units; smaller is better, zero is perfect.
    correlation : of the logarithms of stated and true error, over functions; None if all are stated alike.
    stated, true : (n,), root mean square of the stated and of the true error of each function.
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
        rows = [i for i, asked in enumerate(self.asked) if asked in _TOLD]
        told = [
            f"{100 * self.asked[i]:6.0f} %  {100 * self.points[i]:8.1f} %  {100 * self.functions[i]:12.1f} %"
            for i in rows
        ]
        more = "" if self.correlation is None else f", correlation {self.correlation:.2f}"
        return "\n".join(
            [
                "   asked  of all values  of whole functions",
                *told,
                f"{len(self.true)} functions; mean width at 90 % {self.sharpness:.3g}, CRPS {self.crps:.3g} "
                f"(of the outputs' size); stated over true error {self._ratio():.2f} (median){more}.",
            ]
        )

    def _ratio(self) -> float:
        return float(np.median(self.stated / np.maximum(self.true, np.finfo(float).tiny)))


def calibration_of(
    bands: Bands, missed: np.ndarray, spread: np.ndarray, units: np.ndarray | float, size: float
) -> Calibration:
    """From what was missed (n, R), and the spread (n, R) that was stated for it, as the model sees outputs.

    What was missed is NaN where it is not known; of each function something is. `units`, times these, are
    outputs; `size` is the outputs' root mean square.
    """
    if len(missed) == 0:
        raise InputError("calibration needs at least one function with known outputs.")
    most = bands.independent / (bands.independent + 1)
    asked = np.array([coverage for coverage in _ASKED if coverage <= most])
    known = np.isfinite(missed)
    scores = np.abs(missed) / spread
    largest, scores = np.nanmax(scores, axis=1), scores[known]
    points = [float(np.mean(scores <= bands.times(coverage, "points"))) for coverage in asked]
    functions = [float(np.mean(largest <= bands.times(coverage, "function"))) for coverage in asked]
    std, error = spread * bands.widen * units / (size or 1.0), missed * units / (size or 1.0)
    typical = 2 * bands.times(min(_TYPICAL, most), "points") / bands.widen
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
    """Of n functions, each half tried with the bands of the other: ``tried(half, other)``, rows of each.

    Bands hold on the functions that they are made from, by construction; on others, this shows it. Functions
    of the same number in `groups` stay in the same half. None if fewer than ten are independent.
    """
    numbers = np.arange(n) if groups is None else np.unique(groups, return_inverse=True)[1].ravel()
    independent = int(numbers.max(initial=-1)) + 1
    if independent < _FEWEST:
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
    """``std (z (2 Phi(z) - 1) + 2 phi(z) - 1 / sqrt(pi))``, z the error over std: of normal distributions."""
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
