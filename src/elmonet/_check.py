"""Every check of input, with its message, and the library's own errors and warnings.

A message says what was expected, what came, and what to do.
"""

from __future__ import annotations

import numbers
from typing import Any

__all__ = [
    "ElmonetError",
    "ExtrapolationWarning",
    "FileError",
    "InputError",
    "InterpolationThresholdWarning",
    "NumericsWarning",
    "RankCollapseWarning",
    "choice",
    "number",
    "positive_integer",
]


class ElmonetError(Exception):
    """Base of every error that elmonet raises itself."""


class InputError(ElmonetError, ValueError):
    """An argument or an array that elmonet cannot work with."""


class FileError(ElmonetError, ValueError):
    """A file that is not a whole, readable elmonet model."""


class NumericsWarning(UserWarning):
    """Base of the warnings about the numbers: the answer is finite, but look at it."""


class InterpolationThresholdWarning(NumericsWarning):
    """The branch is about as wide as there are functions and nothing regularises the fit."""


class RankCollapseWarning(NumericsWarning):
    """The features span far fewer directions than their width suggests."""


class ExtrapolationWarning(NumericsWarning):
    """A prediction was asked for outside the region that the training data covers."""


def positive_integer(value: Any, name: str, minimum: int = 1) -> int:
    """Return `value` as an int of at least `minimum`, or raise `InputError`."""
    if (
        isinstance(value, bool)
        or not isinstance(value, numbers.Integral)
        or value < minimum
    ):
        raise InputError(
            f"{name} must be a whole number of at least {minimum}, got {value!r}."
        )
    return int(value)


def number(
    value: Any, name: str, *, minimum: float = 0.0, strict: bool = False
) -> float:
    """Return `value` as a finite float of at least (or above) `minimum`, or raise `InputError`."""
    ok = isinstance(value, numbers.Real) and not isinstance(value, bool)
    ok = ok and abs(float(value)) < float("inf") and value >= minimum
    if not ok or (strict and value == minimum):
        bound = "above" if strict else "of at least"
        raise InputError(
            f"{name} must be a finite number {bound} {minimum:g}, got {value!r}."
        )
    return float(value)


def choice(value: Any, name: str, allowed: Any) -> Any:
    """Return `value` if it is one of `allowed`, or raise `InputError` that lists them."""
    if not isinstance(value, str) or value not in allowed:
        listed = ", ".join(repr(a) for a in allowed)
        raise InputError(f"{name} must be one of {listed}; got {value!r}.")
    return value
