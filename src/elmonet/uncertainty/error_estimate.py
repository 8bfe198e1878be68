"""How sure an expected error is: an interval around it, from the errors of the functions left out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from elmonet.metrics import overall
from elmonet.summary import Summary

__all__ = ["FEWEST", "STEEPEST", "Promise", "error_interval", "restored_interval", "stored_interval"]

_COVERAGE = 0.9  # of the interval
FEWEST = 10  # independent functions, below which the interval was seen to fail
_LEAST_SPREAD = 0.5  # of the errors of functions, in units of their mean: a few may be alike by chance
_LUCK = 0.8  # spread of what one training function teaches, in units of the mean; observed
_FLATTEST = 1.0  # rate at which errors fall with more functions; where it is not known, too
STEEPEST = 4.0  # rate that is believed


class Promise(NamedTuple):
    """What whoever chose a model says of it: the expected error, the summary, and the error's interval."""

    error: float | None
    words: Summary | str  # as text, if it was loaded
    interval: tuple[float, float] | None = None

    def stored(self) -> list[object]:
        """For a file."""
        return [self.error, str(self.words), stored_interval(self.interval)]

    @classmethod
    def restored(cls, error: float | None, words: str, ends: list[float | None] | None = None) -> Promise:
        """The inverse of `stored`; older files hold no interval."""
        return cls(error, words, restored_interval(ends))


def error_interval(
    errors: np.ndarray,
    points: int,
    *,
    stated: float | None = None,
    independent: int | None = None,
    rate: float | None = None,
) -> tuple[float, float]:
    """Between what the mean error of new functions lies, for 90 of 100 sets of training functions.

    The relative errors e_i of functions left out have the mean E and the deviation v E. Over sets of training
    functions, log(true / E) varies by

        d^2 = (max(v, 1/2)^2 + (luck rate)^2) / n ,        interval = E exp(-+ t d) ,

    n being the number of errors. The first term is that of a mean of n errors. The second is that of
    the functions learned from, which left-out errors do not show: where the error falls as n^-rate, and each
    function teaches 1 +- luck functions' worth, n of them teach n +- luck sqrt(n), and the error varies by
    rate luck / sqrt(n) of itself. The logarithm keeps the interval positive. `luck` was observed. t is
    Student's, its degrees of freedom one less than the independent functions.

    Parameters
    ----------
    errors : (n,), relative.
    points : at how many the outputs are known; at one, E is the root mean square of the errors.
    stated : E, if more is known than the errors; their mean otherwise.
    independent : training functions, or groups of them; None: n. If these are fewer than n, they are n.
    rate : of the error with n; at least 1 is taken, also for None.

    Below 10 independent functions, (0, inf): nothing can be said. There, the spread of a few errors and
    the rate of a few functions are so uncertain that no interval held on every problem that was tried.

    Examples
    --------
    >>> low, high = error_interval(np.full(400, 0.01), 50)
    >>> round(low, 4), round(high, 4)
    (0.0093, 0.0108)
    """
    independent = len(errors) if independent is None else independent
    n = min(len(errors), independent)
    mean = float(overall(errors, points))
    stated = mean if stated is None else stated
    if independent < FEWEST:
        return 0.0, np.inf
    if mean == 0 or not np.isfinite(mean):
        return stated, stated
    scaled = errors / mean
    # log of sqrt(mean e^2) varies half as much as that of mean e^2.
    varies = 0.0
    if len(errors) > 1:
        varies = float(np.std(scaled**2, ddof=1) / 2 if points == 1 else np.std(scaled, ddof=1))
    luck = _LUCK * min(max(rate or 0.0, _FLATTEST), STEEPEST)
    d = np.hypot(max(varies, _LEAST_SPREAD), luck) / np.sqrt(n)
    t = stdtrit(independent - 1, (1 + _COVERAGE) / 2)
    return float(stated * np.exp(-t * d)), float(stated * np.exp(t * d))


def stored_interval(interval: tuple[float, float] | None) -> list[float | None] | None:
    """For a file, which knows no infinity: None stands for it."""
    return None if interval is None else [end if np.isfinite(end) else None for end in interval]


def restored_interval(ends: list[float | None] | None) -> tuple[float, float] | None:
    """The inverse of `stored_interval`; older files hold no interval."""
    low, high = ends or (None, None)
    return None if low is None else (low, np.inf if high is None else high)
