"""The errors and warnings of the library."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

from sklearn import exceptions

__all__ = [
    "ElmonetError",
    "ExtrapolationWarning",
    "FileError",
    "FunctionsInColumnsWarning",
    "InputError",
    "InterpolationThresholdWarning",
    "MissingExtra",
    "NotEnoughMemory",
    "NotFittedError",
    "NumericsWarning",
    "RankCollapseWarning",
    "require_fitted",
]


class ElmonetError(Exception):
    """Base of every error that elmonet raises itself."""


class InputError(ElmonetError, ValueError):
    """An argument or an array that elmonet cannot work with."""


class FileError(ElmonetError, ValueError):
    """A file that is not whole, not readable, or not what it should be."""


class MissingExtra(ElmonetError, ImportError):
    """Something that an optional package does; the message says how to install it."""


class NotEnoughMemory(ElmonetError, MemoryError):
    """A fit that would take more memory than it may; raised before it does."""


class NumericsWarning(UserWarning):
    """Base of the warnings about the numbers: the answer is finite, but look at it."""


class InterpolationThresholdWarning(NumericsWarning):
    """The branch is about as wide as there are functions and nothing regularises the fit."""


class RankCollapseWarning(NumericsWarning):
    """The features span far fewer directions than their width suggests."""


class FunctionsInColumnsWarning(UserWarning):
    """The arrays look as if they held one function per column; here a row is a function."""


class ExtrapolationWarning(NumericsWarning):
    """A prediction was asked for outside the region that the training data covers."""


class NotFittedError(ElmonetError, exceptions.NotFittedError):
    """A model or feature map was used before `fit`; also scikit-learn's error of that name."""


def require_fitted(estimator: Any, attribute: str) -> None:
    """Raise `NotFittedError` unless `estimator` has the attribute that `fit` gives it."""
    if not hasattr(estimator, attribute):
        raise NotFittedError(
            f"this {type(estimator).__name__} is not fitted yet: call fit with training data first."
        )


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the first caller outside this package."""
    package, level, frame = os.path.dirname(__file__) + os.sep, 1, sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(package):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level + 1)
