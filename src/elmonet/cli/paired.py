"""Which of some models is better, from their errors on the same functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from elmonet.summaries import percent

__all__ = ["Pair", "pairs_with_best", "verdict"]

_CERTAINTY = 0.95
_ROUNDING = 1e-12  # errors below this differ by rounding alone


@dataclass(frozen=True)
class Pair:
    """The best model and another one; the errors of function i are e_i (the best's) and f_i.

    difference : ``mean_i (f_i - e_i)``, which is not negative.
    standard_error : of that mean, ``std_i (f_i - e_i) / sqrt(n)``; None if there is one function only.
        Some functions are hard for both models. Their difference does not contain that, so this is much
        less than the standard errors of the two means.
    better_on : on how many of the `functions` e_i is smaller.
    largest : the larger of the two mean errors.
    """

    better: str
    worse: str
    better_on: int
    functions: int
    difference: float
    standard_error: float | None
    largest: float

    @property
    def clear(self) -> bool:
        """Whether chance gives such a difference in less than 5 % of cases (Student's t, both sides)."""
        from scipy.special import stdtrit

        if self.standard_error is None or self.difference == 0:
            return False
        quantile = stdtrit(self.functions - 1, (1 + _CERTAINTY) / 2)
        return bool(self.difference > quantile * self.standard_error)

    def in_words(self) -> str:
        """One sentence."""
        if self.difference == 0:
            return f"{self.better} and {self.worse} have the same error."
        if self.largest < _ROUNDING:
            return f"{self.better} and {self.worse} are both exact up to rounding."
        if self.standard_error is None:
            return (
                f"{self.better} has the lower error, by {percent(self.difference, 2)}, on this one function. "
                "More functions are needed to tell which model is better."
            )
        found = (
            f"the error is lower by {percent(self.difference, 2)} (standard error "
            f"{percent(self.standard_error, 1)}), on {self.better_on} of {self.functions} functions"
        )
        if self.clear:
            return f"{self.better} is better than {self.worse}: {found}."
        return f"{self.better} is not clearly better than {self.worse}: {found}."


def pairs_with_best(names: list[str], errors: list[Any]) -> list[Pair]:
    """The model with the lowest mean error against every other one, the nearest first.

    errors : for each model those of the functions, (N,); NaN where a function has no known value.
    """
    known = np.isfinite(np.stack(errors)).all(axis=0)
    kept = [np.asarray(each)[known] for each in errors]
    order = np.argsort([each.mean() for each in kept], kind="stable")
    best, n = order[0], int(known.sum())
    pairs = []
    for other in order[1:]:
        difference = kept[other] - kept[best]
        pairs.append(
            Pair(
                better=names[best],
                worse=names[other],
                better_on=int((difference > 0).sum()),
                functions=n,
                difference=float(difference.mean()),
                standard_error=float(difference.std(ddof=1) / np.sqrt(n)) if n > 1 else None,
                largest=float(kept[other].mean()),
            )
        )
    return pairs


def verdict(pairs: list[Pair]) -> str:
    """One sentence about all pairs with the best."""
    if len(pairs) == 1:
        return pairs[0].in_words()
    best = pairs[0].better
    near = [pair.worse for pair in pairs if not pair.clear or pair.largest < _ROUNDING]
    if not near:
        return f"Best: {best}."
    return f"Lowest error: {best}, but it is not clearly better than {', '.join(near)}."
