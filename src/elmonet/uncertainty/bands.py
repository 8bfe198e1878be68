"""Error bars: the protocol every method follows, and bands from left-out or held-out residuals.

Let r_i(y) be the residual of function i, left out or held out, and g_i the expected size of its error (one,
or a standard deviation). With the scale of each place

    sigma(y)^2 = mean_i (r_i(y) / g_i)^2

the band of a new function is its prediction plus or minus ``q sigma(y) g``. For single values, q is a
quantile of the scores ``|r_i(y)| / (sigma(y) g_i)`` over all i and y; for whole functions, of their maximum
over y. In the score of function i, sigma leaves that function out, as it leaves out a new one. The quantile
is that of n functions and one more with an infinite score: if all functions are exchangeable, the score of
the (n + 1)-th is at most the k-th smallest of n with probability at least ``k / (n + 1)``.

Residuals of functions left out of one fit are not independent: with ``P = alpha (K + alpha)^-1`` they are
``(P Y)_i / P_ii``, and if one eigenvalue of P dominates, all are multiples of the same function of y. Then
sigma vanishes where that function does, every score is about one, and a new function scores ten. So where
fits can be repeated, scores come from trials: fit and sigma are made again without some functions, which are
then scored.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from elmonet.checks import choice, number
from elmonet.errors import InputError

_LEVELS = 1001  # quantile levels kept for single values
_MAX_VALUES = 300_000  # values that quantiles and the choice of scale are computed from
_FLOOR = 1e-3  # smallest sigma, relative to its root mean square: elsewhere rounding would dominate
_MIN_KNOWN = 2  # residuals at a place, below which they say nothing: its scale is the largest of all
_NARROWER = 0.97  # largest width of another scale, relative to the first one's
_COMPARED_AT = 0.9  # coverage at which widths are compared


class ErrorBars(ABC):
    """A method of error bars: half-widths ``factor(coverage) x spread`` around predictions.

    A method is one subclass; its name is registered, so that a model file can hold it. `model` is a fitted
    model (`elmonet.fitting.fitted.FittedModel`), `query` the functions and points of a prediction.
    Values and spreads are in the units that the model learns: `model.finish` brings them into the user's.
    """

    registry: ClassVar[dict[str, type[ErrorBars]]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        ErrorBars.registry[cls.__name__] = cls

    @property
    @abstractmethod
    def independent(self) -> int:
        """Number of independent functions, or groups of them, behind the quantiles."""

    @property
    @abstractmethod
    def widen(self) -> float:
        """Factor on all widths, for an error known to be larger than the residuals show."""

    @classmethod
    @abstractmethod
    def from_fit(cls, model: Any) -> Self | None:
        """Return error bars from what the fit keeps of its training data, or None if it keeps too little."""

    @classmethod
    @abstractmethod
    def from_validation(
        cls, model: Any, query: Any, target: np.ndarray, current: Any, groups: np.ndarray | None = None
    ) -> Self | None:
        """Return error bars from functions the fit has not seen, with known targets; None if too few.

        `current` are the error bars so far, if there are any. Functions with the same number in `groups` (n,)
        are not independent; they are passed if there are any.
        """

    @abstractmethod
    def values_and_spread(self, model: Any, query: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return predictions and the expected size of their errors, as the model sees outputs."""

    @abstractmethod
    def factor(self, coverage: float, of: str) -> float:
        """Return the half-width in units of the spread, for "points" or for a whole "function"."""

    @abstractmethod
    def arrays(self) -> dict[str, np.ndarray]:
        """Return all of it as named arrays, for a file."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], model: Any) -> Self:
        """Invert `arrays`, for the model they belong to."""

    def novelty(self, model: Any, query: Any) -> np.ndarray | None:
        """Return the spread of each function relative to the largest in training, if the method knows it."""
        return None

    @classmethod
    def validation(cls, model: Any) -> Any:
        """Return a `Validation` of training functions that the fit left out, if the method can."""
        return None


class BandTrial(NamedTuple):
    """Functions that neither a fit nor the sigma of its bands has seen.

    residuals : (n, R), NaN where unknown.
    scales : (n, 1) or (1, 1), each candidate scale g of these functions, by that fit.
    sigmas : (R,), the scale of each place, from the fit's own residuals, for each candidate g.
    groups : (n,), of functions that are not independent; None if all are.
    """

    residuals: np.ndarray
    scales: list[np.ndarray]
    sigmas: list[np.ndarray]
    groups: np.ndarray | None = None

    def scores(self, scale: int) -> np.ndarray:
        """Return ``|r_i(y)| / (sigma(y) g_i)`` (n, R)."""
        return np.abs(self.residuals) / (self.sigmas[scale] * self.scales[scale])

    @property
    def independent(self) -> int:
        """Number of independent functions, or groups of them."""
        return len(self.residuals if self.groups is None else np.unique(self.groups))


@dataclass(frozen=True)
class Bands:
    """Scores of residuals, and their quantiles.

    Attributes
    ----------
    sigma : (R,), the scale of each place.
    functions : (n,), the scores of whole functions, sorted.
    points : (levels,), quantiles of the scores of single values, at levels from 0 to 1.
    independent : number of independent functions, or groups of them.
    scale : index of the scale g that was chosen.
    widen : factor on all widths, for an error known to be larger than the residuals show.
    """

    sigma: np.ndarray
    functions: np.ndarray
    points: np.ndarray
    independent: int
    scale: int = 0
    widen: float = 1.0

    @classmethod
    def of(
        cls,
        residuals: np.ndarray,
        scales: Sequence[np.ndarray],
        groups: np.ndarray | None = None,
        *,
        places: np.ndarray | None = None,
        widen: float = 1.0,
        trials: Sequence[BandTrial] = (),
        effective: float | None = None,
        first: int = 0,
    ) -> Bands | None:
        """Return bands from residuals (n, R), NaN where unknown, and candidate scales g (n, 1 or R).

        Scores are those of the functions in `trials`; without trials, those of the residuals themselves. Of
        the scales that make bands for whole functions narrower than the first one's, the narrowest is taken,
        without trials the likeliest. Functions with the same number in `groups` (n,) are not independent.
        Columns with the same number in `places` share one sigma; by default each has its own. None if fewer
        than two functions are independent. Sigma is as uncertain as that of `effective` independent
        functions; by default all that are independent. With trials, scales before the `first` are not taken.
        """
        places = np.arange(residuals.shape[1]) if places is None else places
        numbers = np.arange(len(residuals)) if groups is None else np.unique(groups, return_inverse=True)[1]
        independent = int(numbers.max(initial=-1)) + 1
        if independent < 2:
            return None
        few = slice(None, None, ceil(residuals.size / _MAX_VALUES))
        if trials:
            effective = effective or independent
            return cls._of_trials(residuals, scales, numbers, places, widen, trials, effective, few, first)
        # The scale is chosen by some of the places.
        best = _best_scale(residuals[:, few], [g[:, few] if g.shape[1] > 1 else g for g in scales], numbers)
        sigma, functions, scores = _scored(residuals / scales[best], numbers, places)
        scores = scores[:, few]
        points = np.quantile(scores[np.isfinite(scores)], np.linspace(0, 1, _LEVELS))
        return cls(sigma, functions, points, independent, best, widen)

    @classmethod
    def _of_trials(
        cls,
        residuals: np.ndarray,
        scales: Sequence[np.ndarray],
        numbers: np.ndarray,
        places: np.ndarray,
        widen: float,
        trials: Sequence[BandTrial],
        effective: float,
        few: slice,
        first: int,
    ) -> Bands:
        independent = sum(trial.independent for trial in trials)
        # All trials share the functions: sigma and q are each off by 1 / sqrt(2 effective) of themselves.
        uncertain = 1 + 1 / np.sqrt(effective)
        found, widths = [], []
        for k, g in enumerate(scales):
            sigma = sigma_of(residuals / g, numbers, places)
            functions = np.sort(np.concatenate([trial.scores(k).max(axis=1) for trial in trials]))
            found.append((sigma, uncertain * functions))
            quantile = _quantile(functions, _COMPARED_AT, independent, at_most=True)
            widths.append(quantile * float(np.mean(sigma) * np.mean(g)))
        widths = [width / (_NARROWER if k else 1.0) for k, width in enumerate(widths)]
        best = first + int(np.argmin(widths[first:]))
        scores = np.concatenate([trial.scores(best)[:, few].ravel() for trial in trials])
        points = np.quantile(scores, np.linspace(0, 1, _LEVELS))
        return cls(*found[best], points, independent, best, widen)

    def factor(self, coverage: float, of: str) -> float:
        """Return the factor q for a coverage of single values ("points") or whole functions ("function")."""
        scores = self.functions if choice(of, "of", ("points", "function")) == "function" else self.points
        return self.widen * _quantile(scores, checked_coverage(coverage), self.independent)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return all of it as named arrays, for a file."""
        return {
            "sigma": self.sigma,
            "functions": self.functions,
            "points": self.points,
            "numbers": np.array([self.independent, self.scale, self.widen]),
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Bands:
        """Invert `arrays`."""
        independent, scale, widen = arrays["numbers"].tolist()
        return cls(
            arrays["sigma"], arrays["functions"], arrays["points"], int(independent), int(scale), float(widen)
        )


class BandErrorBars(ErrorBars):
    """Error bars whose quantiles are those of `bands`."""

    bands: Bands

    @property
    def independent(self) -> int:
        """Number of independent functions, or groups of them, behind the quantiles."""
        return self.bands.independent

    @property
    def widen(self) -> float:
        """Factor on all widths."""
        return self.bands.widen

    def factor(self, coverage: float, of: str) -> float:
        """Return the half-width in units of the spread."""
        return self.bands.factor(coverage, of)


def checked_coverage(coverage: float) -> float:
    """Return a coverage between 0 and 1, or raise `InputError`."""
    coverage = number(coverage, "coverage", strict=True)
    if coverage >= 1:
        raise InputError(
            "coverage must be below 1, such as 0.9 for bands that contain 90 % of the values; got "
            f"{coverage:g}."
        )
    return coverage


def _best_scale(residuals: np.ndarray, scales: list[np.ndarray], numbers: np.ndarray) -> int:
    """Return the index of the likeliest scale of those with narrower bands than the first."""
    if len(scales) == 1:
        return 0
    places, likely, widths = np.arange(residuals.shape[1]), [], []
    for g in scales:
        sigma, functions, _ = _scored(residuals / g, numbers, places)
        # The likelihood of normal errors with these scales, up to a constant.
        likely.append(-float(np.mean(np.log(sigma)) + np.mean(np.log(g))))
        quantile = _quantile(functions, _COMPARED_AT, numbers.max() + 1, at_most=True)
        widths.append(quantile * float(np.mean(sigma * g)))
    narrow = [i == 0 or width <= _NARROWER * widths[0] for i, width in enumerate(widths)]
    return int(np.argmax(np.where(narrow, likely, -np.inf)))


def sigma_of(residuals: np.ndarray, numbers: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return the scale of each place, from residuals (n, R) over their scale g."""
    return _scored(residuals, numbers, places)[0]


def _scored(
    residuals: np.ndarray, numbers: np.ndarray, places: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return sigma (R,), sorted scores of functions (n,), and scores of single values (n, R)."""
    known = np.isfinite(residuals)
    residuals = np.abs(residuals) if known.all() else np.where(known, np.abs(residuals), 0.0)
    # Sums over the functions of each group, which leave each other out.
    sums, count = (_by_place(_by_group(part, numbers), places) for part in (residuals**2, known))
    total, all_known = sums.sum(axis=0), count.sum(axis=0, dtype=np.float64)
    sigma = np.sqrt(total / np.maximum(all_known, 1))
    sigma[all_known < _MIN_KNOWN] = sigma.max()
    floor = _FLOOR * float(np.sqrt(np.mean(sigma**2))) + np.finfo(np.float64).tiny
    left = all_known - count
    others = np.maximum(total - sums, 0) / np.maximum(left, 1)
    np.sqrt(others, out=others)
    np.copyto(others, sigma, where=left < _MIN_KNOWN - 1)
    np.maximum(others, floor, out=others)
    if not (_in_order(numbers, len(others)) and _in_order(places, others.shape[1])):
        others = others[np.ix_(numbers, places)]
    scores = residuals / others
    functions = np.sort(scores.max(axis=1))
    return np.maximum(sigma, floor), functions, scores if known.all() else np.where(known, scores, np.nan)


def _by_group(values: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Sum over the functions of each group."""
    if _in_order(numbers, len(values)):
        return values
    order = np.argsort(numbers, kind="stable")
    first = np.searchsorted(numbers[order], np.arange(numbers.max() + 1))
    return np.add.reduceat(values[order], first, axis=0, dtype=np.float64)


def _in_order(numbers: np.ndarray, n: int) -> bool:
    """Return whether the numbers are 0, 1, ..., n - 1."""
    return np.array_equal(numbers, np.arange(n))


def _by_place(sums: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Sum over the columns of each place."""
    if _in_order(places, sums.shape[1]):
        return sums
    return np.stack([sums[:, places == place].sum(axis=1) for place in range(places.max() + 1)], axis=1)


def _quantile(scores: np.ndarray, coverage: float, independent: int, *, at_most: bool = False) -> float:
    """Return the quantile of sorted scores of independent functions and one more, which is infinite."""
    level = coverage * (independent + 1) / independent
    if level > 1 + 1e-12 and not at_most:
        raise InputError(
            f"a coverage of {coverage:g} takes at least {ceil(coverage / (1 - coverage) - 1e-9)} independent "
            f"functions; there are {independent}. Ask for a lower coverage, at most "
            f"{independent / (independent + 1):.3g}, or fit to more functions."
        )
    return float(scores[min(ceil(level * len(scores) - 1e-9), len(scores)) - 1])
