"""The expected error of a model, and its confidence interval from the errors of functions left out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import stdtrit

from elmonet.metrics import overall
from elmonet.summary import Fact, percent

_KINDS = {
    "leave-one-out": ("leave-one-out", "each function is predicted by a fit to all others"),
    "leave-group-out": ("leave-group-out", "each group of functions is predicted by a fit to all others"),
    "gcv": ("generalised cross-validation", "from the residuals of all values together"),
    "held out": ("held-out functions", "predicted by a fit that has not seen them"),
}
_COVERAGE = 0.9  # of the interval
MIN_INDEPENDENT = 10  # independent functions, below which the interval failed (benchmarks/small_n.py)
_MIN_SPREAD = 0.5  # of the errors of functions, in units of their mean: a few may be alike by chance
_LUCK = 0.8  # spread of what one training function teaches, in units of the mean (benchmarks/small_n.py)
_MIN_RATE = 1.0  # at which errors fall with more functions; also where it is not known
MAX_RATE = 4.0


@dataclass(frozen=True)
class ErrorEstimate:
    """The relative error to expect on new functions drawn like the training functions.

    Attributes
    ----------
    error : the expected error; None if it is not known.
    interval : (low, high), its 90 % interval; None if it is not known.
    kind : how it was estimated: "leave-one-out", "leave-group-out", "held out" or "gcv"; None if not known.
    unknown : why the error is not known, if it is not.
    """

    error: float | None = None
    interval: tuple[float, float] | None = None
    kind: str | None = None
    unknown: str = "no function was left out"

    def plus(self, error: float) -> ErrorEstimate:
        """Return the estimate for training outputs that have an error of their own."""
        low, high = self.interval or (0.0, np.inf)
        return replace(self, error=(self.error or 0.0) + error, interval=(low + error, high + error))

    def facts(self, *, warns: bool = True) -> tuple[Fact, ...]:
        """Return the expected error, its interval, how it was estimated and where it holds.

        `warns`: whether `predict` warns of inputs unlike the training inputs.
        """
        if self.error is None or self.kind is None:
            return (Fact("Expected error", f"not known: {self.unknown}. Test on new functions"),)
        where = "new functions like the training functions"
        where += (
            ". Not other kinds of inputs: predict warns of them, novelty() measures them" if warns else ""
        )
        how = ": ".join(_KINDS[self.kind])
        return (*self.size_facts(), Fact("Estimated by", how), Fact("Valid for", where))

    def size_facts(self) -> tuple[Fact, ...]:
        """Return the expected error and its interval."""
        assert self.error is not None
        size = Fact("Expected error", f"{percent(self.error)} of the size of the outputs")
        if self.interval is None:
            return (size,)
        low, high = self.interval
        said = f"{percent(low, 2)} to {percent(high, 2)}"
        if high == np.inf:
            said = f"not known with fewer than {MIN_INDEPENDENT} functions"
        return size, Fact("90 % interval", said)

    @property
    def kind_in_words(self) -> str:
        """How the error was estimated, in a few words."""
        return "not known" if self.kind is None else _KINDS[self.kind][0]


def error_interval(
    errors: np.ndarray,
    points: int,
    *,
    stated: float | None = None,
    independent: int | None = None,
    rate: float | None = None,
) -> tuple[float, float]:
    """Return the 90 % interval of the mean error of new functions, over sets of training functions.

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
    points : number of output points; for a single one, E is the root mean square of the errors.
    stated : E, if more is known than the errors; by default their mean.
    independent : number of independent training functions, or groups of them; by default n. If there are
        fewer than n, they count as n.
    rate : rate at which the error falls with n; at least 1 is taken, also by default.

    Returns
    -------
    interval : (low, high); (0, inf) below 10 independent functions, where the spread of a few errors and the
        rate of a few functions are so uncertain that no interval held on every problem tried.

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
    if independent < MIN_INDEPENDENT:
        return 0.0, np.inf
    if mean == 0 or not np.isfinite(mean):
        return stated, stated
    scaled = errors / mean
    # log of sqrt(mean e^2) varies half as much as that of mean e^2.
    varies = 0.0
    if len(errors) > 1:
        varies = float(np.std(scaled**2, ddof=1) / 2 if points == 1 else np.std(scaled, ddof=1))
    luck = _LUCK * min(max(rate or 0.0, _MIN_RATE), MAX_RATE)
    d = np.hypot(max(varies, _MIN_SPREAD), luck) / np.sqrt(n)
    t = stdtrit(independent - 1, (1 + _COVERAGE) / 2)
    return float(stated * np.exp(-t * d)), float(stated * np.exp(t * d))


def stored_interval(interval: tuple[float, float] | None) -> list[float | None] | None:
    """Return an interval for JSON, which has no infinity: None stands for it."""
    return None if interval is None else [end if np.isfinite(end) else None for end in interval]


def restored_interval(ends: list[float | None] | None) -> tuple[float, float] | None:
    """Invert `stored_interval`; older files hold no interval."""
    low, high = ends or (None, None)
    return None if low is None else (low, np.inf if high is None else high)
