"""Where the outputs of new functions lie, from what a model missed of functions that it had not seen.

Let r_i(y) be what was missed of function i, left out or held out, and g_i how large an error there is to be
expected (one, or the root of a variance). With the scale of each place

    sigma(y)^2 = mean_i (r_i(y) / g_i)^2

the band of a new function is its prediction, plus or minus ``q sigma(y) g``. For single values, q is a
quantile of ``|r_i(y)| / (sigma(y) g_i)`` over all i and y; for whole functions, of its maximum over y. In the
score of function i, sigma leaves that function out, as it leaves out a new one. The quantile is that of the
n functions and of one more, whose score is infinite: a new function is the (n + 1)-th, and if all are
exchangeable, its score is not above the k-th smallest of n with a probability of at least ``k / (n + 1)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from elmonet.checks import choice, number
from elmonet.errors import InputError

__all__ = ["Bands", "checked_coverage"]

_LEVELS = 1001  # at which the quantiles of single values are kept
_MOST_VALUES = 300_000  # that these quantiles are found from, and scales compared by
_FLOOR = 1e-3  # of the root mean square of sigma: where nothing was missed, rounding would count
_NARROWER = 0.97  # times the first scale's width, that another must not exceed
_USUAL = 0.9  # the coverage at which widths are compared


@dataclass(frozen=True)
class Bands:
    """What it takes to make bands.

    Attributes
    ----------
    sigma : (R,), the scale of each place, in the rows that the model gives.
    functions : (n,), the scores of whole functions, sorted.
    points : (levels,), quantiles of the scores of single values, at levels from 0 to 1.
    independent : how many functions, or groups of them, are independent of each other.
    scale : which of the scales g that were offered was chosen.
    widen : a factor on all widths, for an error that is known to be larger than what was missed.
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
        missed: np.ndarray,
        scales: Sequence[np.ndarray],
        groups: np.ndarray | None = None,
        *,
        places: np.ndarray | None = None,
        widen: float = 1.0,
    ) -> Bands | None:
        """From what was missed (n, R), NaN where nothing is known, and scales g to choose from: (n, 1 or R).

        The most likely scale is taken, of those that make bands for whole functions narrower than the first.
        Functions of the same number in `groups` (n,) are not independent. Columns of the same number in
        `places` have one sigma; None: each has its own. None if fewer than two functions are independent.
        """
        places = np.arange(missed.shape[1]) if places is None else places
        numbers = np.arange(len(missed)) if groups is None else np.unique(groups, return_inverse=True)[1]
        independent = int(numbers.max(initial=-1)) + 1
        if independent < 2:
            return None
        # The scale is chosen by some of the places.
        few = slice(None, None, ceil(missed.size / _MOST_VALUES))
        best = _best_scale(missed[:, few], [g[:, few] if g.shape[1] > 1 else g for g in scales], numbers)
        sigma, functions, scores = _scored(missed / scales[best], numbers, places)
        scores = scores[:, few]
        points = np.quantile(scores[np.isfinite(scores)], np.linspace(0, 1, _LEVELS))
        return cls(sigma, functions, points, independent, best, widen)

    def times(self, coverage: float, of: str) -> float:
        """The factor q, for the coverage of single values ("points") or of whole functions ("function")."""
        kept = self.functions if choice(of, "of", ("points", "function")) == "function" else self.points
        return self.widen * _quantile(kept, checked_coverage(coverage), self.independent)

    def arrays(self) -> dict[str, np.ndarray]:
        """All of it as arrays, for a file."""
        return {
            "sigma": self.sigma,
            "functions": self.functions,
            "points": self.points,
            "numbers": np.array([self.independent, self.scale, self.widen]),
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Bands:
        """The inverse of `arrays`."""
        independent, scale, widen = arrays["numbers"].tolist()
        return cls(
            arrays["sigma"], arrays["functions"], arrays["points"], int(independent), int(scale), float(widen)
        )


def checked_coverage(coverage: float) -> float:
    """A number between 0 and 1."""
    coverage = number(coverage, "coverage", strict=True)
    if coverage >= 1:
        raise InputError(
            "coverage must be below 1, such as 0.9 for bands that hold in 90 % of all cases; got "
            f"{coverage:g}."
        )
    return coverage


def _best_scale(missed: np.ndarray, scales: list[np.ndarray], numbers: np.ndarray) -> int:
    """The most likely scale, of those that make bands for whole functions narrower than the first."""
    if len(scales) == 1:
        return 0
    places, likely, widths = np.arange(missed.shape[1]), [], []
    for g in scales:
        sigma, functions, _ = _scored(missed / g, numbers, places)
        # The likelihood of normal errors with these scales, up to a constant.
        likely.append(-float(np.mean(np.log(sigma)) + np.mean(np.log(g))))
        quantile = _quantile(functions, _USUAL, numbers.max() + 1, at_most=True)
        widths.append(quantile * float(np.mean(sigma * g)))
    narrow = [i == 0 or width <= _NARROWER * widths[0] for i, width in enumerate(widths)]
    return int(np.argmax(np.where(narrow, likely, -np.inf)))


def _scored(
    missed: np.ndarray, numbers: np.ndarray, places: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sigma (R,), the scores of functions (n,) sorted, and those of single values (n, R)."""
    known = np.isfinite(missed)
    missed = np.abs(missed) if known.all() else np.where(known, np.abs(missed), 0.0)
    # Sums over the functions of each group, which leave each other out.
    sums, count = (_by_place(_by_group(part, numbers), places) for part in (missed**2, known))
    total, all_known = sums.sum(axis=0), count.sum(axis=0, dtype=np.float64)
    sigma = np.sqrt(total / np.maximum(all_known, 1))
    floor = _FLOOR * float(np.sqrt(np.mean(sigma**2))) + np.finfo(np.float64).tiny
    others = np.maximum(total - sums, 0) / np.maximum(all_known - count, 1)
    np.sqrt(others, out=others)
    np.maximum(others, floor, out=others)
    if not (_in_order(numbers, len(others)) and _in_order(places, others.shape[1])):
        others = others[np.ix_(numbers, places)]
    scores = missed / others
    functions = np.sort(scores.max(axis=1))
    return np.maximum(sigma, floor), functions, scores if known.all() else np.where(known, scores, np.nan)


def _by_group(values: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Functions of the same number together."""
    if _in_order(numbers, len(values)):
        return values
    order = np.argsort(numbers, kind="stable")
    first = np.searchsorted(numbers[order], np.arange(numbers.max() + 1))
    return np.add.reduceat(values[order], first, axis=0, dtype=np.float64)


def _in_order(numbers: np.ndarray, n: int) -> bool:
    """Whether they are 0, 1, ..., n - 1."""
    return np.array_equal(numbers, np.arange(n))


def _by_place(sums: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Columns of the same place together."""
    if _in_order(places, sums.shape[1]):
        return sums
    return np.stack([sums[:, places == place].sum(axis=1) for place in range(places.max() + 1)], axis=1)


def _quantile(scores: np.ndarray, coverage: float, independent: int, *, at_most: bool = False) -> float:
    """Of sorted scores of so many independent functions, and of one more, which is infinite."""
    level = coverage * (independent + 1) / independent
    if level > 1 + 1e-12 and not at_most:
        raise InputError(
            f"a coverage of {coverage:g} takes at least {ceil(coverage / (1 - coverage) - 1e-9)} independent "
            f"functions; there are {independent}. Ask for a lower coverage, at most "
            f"{independent / (independent + 1):.3g}, or fit to more functions."
        )
    return float(scores[min(ceil(level * len(scores) - 1e-9), len(scores)) - 1])
