"""How sure an expected error is: an interval around it, from the errors of the functions left out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from elmonet.metrics import overall

__all__ = ["COVERAGE", "FEWEST", "STEEPEST", "Promise", "error_interval"]

COVERAGE = 0.9  # of the interval
FEWEST = 4  # independent functions, below which nothing can be said
_LUCK = 0.7  # spread of what one training function teaches, in units of the mean; observed
_RATE = 1.0  # at which errors fall with more functions, where it is not known
STEEPEST = 4.0  # rate that is believed


class Promise(NamedTuple):
    """What whoever chose a model says of it: the expected error, the summary, and the error's interval."""

    error: float | None
    words: str
    interval: tuple[float, float] | None = None

    def stored(self) -> list[object]:
        """For a file, which knows no infinity: None stands for it."""
        ends = None if self.interval is None else [e if np.isfinite(e) else None for e in self.interval]
        return [self.error, self.words, ends]

    @classmethod
    def restored(cls, error: float | None, words: str, ends: list[float | None] | None = None) -> Promise:
        """The inverse of `stored`; older files hold no interval."""
        low, high = ends or (None, None)
        return cls(error, words, None if low is None else (low, np.inf if high is None else high))


def error_interval(
    errors: np.ndarray,
    points: int,
    *,
    stated: float | None = None,
    independent: int | None = None,
    rate: float | None = None,
) -> tuple[float, float]:
    """Between what the mean error of new functions lies, for 90 of 100 sets of training functions.

    The relative errors e_i (N,) of functions left out have the mean E and the deviation v E. Over sets of n
    training functions, log(true / E) varies by

        d^2 = (v^2 + (rate luck)^2) / n ,        interval = E exp(-+ t d) ,

    t being Student's for n - 1. The first term is that of a mean of n errors. The second is that of the
    functions learned from, which left-out errors do not show: where the error falls as n^-rate, and each
    function teaches 1 +- luck functions' worth, n of them teach n +- luck sqrt(n), and the error varies by
    rate luck / sqrt(n) of itself. The logarithm keeps the interval positive.

    Parameters
    ----------
    points : at how many the outputs are known; at one, E is the root mean square of the errors.
    stated : E, if more is known than the errors; their mean otherwise.
    independent : n, if it is not N: the number of groups.
    rate : of the error with n; None: 1.

    Below 5 independent functions, (0, inf): nothing can be said.

    Examples
    --------
    >>> low, high = error_interval(np.full(400, 0.01), 50)
    >>> round(low, 4), round(high, 4)
    (0.0094, 0.0106)
    """
    n = len(errors) if independent is None else independent
    mean = float(overall(errors, points))
    stated = mean if stated is None else stated
    if n < FEWEST:
        return 0.0, np.inf
    if mean == 0 or not np.isfinite(mean):
        return stated, stated
    scaled = errors / mean
    # log of sqrt(mean e^2) varies half as much as that of mean e^2.
    varies = np.std(scaled**2, ddof=1) / 2 if points == 1 else np.std(scaled, ddof=1)
    luck = _LUCK * (_RATE if rate is None else min(max(rate, 0.0), STEEPEST))
    width = stdtrit(n - 1, (1 + COVERAGE) / 2) * np.hypot(varies, luck) / np.sqrt(n)
    return float(stated * np.exp(-width)), float(stated * np.exp(width))
