"""Exceptions and warnings."""

from __future__ import annotations

import os
import sys
import warnings
from types import FrameType

ISSUES = ""  # address for reports of bugs, once the project is published


def how_to_report(what: str) -> str:
    """Return a sentence on how to report a bug, with `what` in the report."""
    return f"Please report it at {ISSUES}, with {what}." if ISSUES else f"If you report it, include {what}."


class ElmonetError(Exception):
    """Base class of all errors that elmonet raises."""


class InputError(ElmonetError, ValueError):
    """An invalid argument or array."""


class FileError(ElmonetError, ValueError):
    """A file that is incomplete, unreadable, or of the wrong kind."""


class MissingExtra(ElmonetError, ImportError):
    """A feature that needs an optional package; the message says how to install it."""


class NotEnoughMemory(ElmonetError, MemoryError):
    """A fit that would exceed the available or allowed memory; raised before it starts."""


class NumericsWarning(UserWarning):
    """Base class of warnings about numerical accuracy: the result is finite but should be checked."""


class InterpolationThresholdWarning(NumericsWarning):
    """The branch is about as wide as there are functions, and the fit is not regularised."""


class RankCollapseWarning(NumericsWarning):
    """The rank of the features is far below their width."""


class FunctionsInColumnsWarning(UserWarning):
    """The arrays appear to hold one function per column; elmonet expects one per row."""


class ExtrapolationWarning(NumericsWarning):
    """A prediction outside the region covered by the training data."""


class LargeErrorWarning(NumericsWarning):
    """Expected errors so large that predictions are of little use: of a fit, or of some inputs."""


class FewFunctionsWarning(NumericsWarning):
    """A statement about whole functions that rests on few of them."""


class SeenFunctionsWarning(NumericsWarning):
    """Functions that were given as new are training functions, or copies of each other."""


class LeaveOneOutWarning(NumericsWarning):
    """Errors of functions left out one at a time say little about new functions."""


class ContradictionWarning(NumericsWarning):
    """Measurements that no input explains within the noise and the model's error."""


class SamplerWarning(NumericsWarning):
    """Samples of a posterior that have not converged."""


class NoCompilerWarning(UserWarning):
    """An FMU without a library for this platform: there was no C compiler."""


class TimeBudgetWarning(UserWarning):
    """A time budget left a part of the data unused."""


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the first caller outside this package."""
    package, level = os.path.dirname(__file__) + os.sep, 1
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(package):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level + 1)
