"""The expected error of a model, and its confidence interval from the errors of functions left out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.special import stdtrit

from elmonet.errors import LargeErrorWarning, warn
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
_MIN_FOR_TAIL = 6  # errors, below which their tail is not looked at
_TAIL_POWER = 0.6  # of n: the number of errors in the tail
_MAX_INDEX = 0.85  # largest inverse tail index of a Pareto law that is used; at 1, the mean is infinite
_MAX_LOG_VARIANCE = 9.0  # largest variance of the errors' logarithms that is used: they spread over 5 decades
USELESS = 0.5  # expected error above which a fit warns
_INTERPOLATED = 1.5  # ratio of the errors between the points and at them, above which both are stated
_SOLVER_FACTOR = 5.0  # within which the error of a solver is right (tests/physics/test_stated_error.py)
_HEAVY = 2.0  # ratio of mean and median error, above which few functions determine the mean


@dataclass(frozen=True)
class ErrorEstimate:
    """The relative error to expect on new functions drawn like the training functions.

    Attributes
    ----------
    error : the expected error, the mean over functions as in `relative_l2`; None if it is not known.
    interval : (low, high), its 90 % interval; None if it is not known.
    kind : how it was estimated: "leave-one-out", "leave-group-out", "held out" or "gcv"; None if not known.
    optimism : the part of it that makes up for choosing the best of many models; not kept in files.
    quantiles : the median and the 95 % quantile of the errors of single functions; None if not known.
    components : names of the components and the expected error of each by itself.
    reason : why the error is not known, if the data do not allow to state one.
    solver : the part of it that the training outputs have, from the solver that computed them; not kept in
        files.
    left_out : the error of functions left out, if `error` is that at the rest of a grid, where inputs are on
        a part of it; not kept in files.
    """

    error: float | None = None
    interval: tuple[float, float] | None = None
    kind: str | None = None
    optimism: float = 0.0
    quantiles: tuple[float, float] | None = None
    components: tuple[tuple[str, float], ...] = ()
    reason: str = ""
    solver: float = 0.0
    left_out: float | None = None

    @classmethod
    def of(
        cls,
        errors: np.ndarray,
        kind: str,
        *,
        stated: float | None = None,
        independent: int | None = None,
        rate: float | None = None,
        choice: float = 0.0,
        **more: Any,
    ) -> Self:
        """Return the estimate from the errors of functions that were left out; see `error_interval`."""
        mean = float(np.mean(errors))
        stated = mean if stated is None else stated
        known: dict[str, Any] = {"independent": independent, "rate": rate, "choice": choice}
        low, high = error_interval(errors, stated=stated, **known)
        # How much the choice hides is known from few errors as well, and may be nothing.
        interval = low * (1 - more.get("optimism", 0.0) / stated if stated else 1.0), high
        quantiles = None
        if len(errors) >= MIN_INDEPENDENT:
            median, high = np.quantile(errors, [0.5, 0.95]) * (stated / mean if mean else 1.0)
            quantiles = float(median), float(high)
        return cls(stated, interval, kind, quantiles=quantiles, **more)

    @property
    def heavy_tail(self) -> bool:
        """Whether few functions with large errors determine the mean."""
        return self.quantiles is not None and (self.error or 0.0) > _HEAVY * self.quantiles[0]

    def warn_if_useless(self) -> None:
        """Warn of a large expected error, also of one component by itself."""
        whole = [("the outputs", self.error)] if self.error is not None else []
        for name, error in (*whole, *self.components):
            if error > USELESS:
                warn(
                    f"the expected error of {name} is {percent(error, 2)}: new functions are hardly "
                    "predicted. Check that rows of inputs and outputs belong together, and that the inputs "
                    "determine the outputs. More training functions may help; summary() says more.",
                    LargeErrorWarning,
                )
                return

    def warn_if_exceeded(self, errors: np.ndarray) -> None:
        """Warn of functions whose own expected errors (n,) exceed the interval and the 95 % quantile."""
        if self.interval is None or self.quantiles is None or self.error is None:
            return
        above = errors > max(self.interval[1], self.quantiles[1])
        if above.any():
            warn(
                f"{int(above.sum())} of {len(above)} inputs (the first: row {int(np.argmax(above))}) have an "
                f"expected error of up to {percent(float(errors[above].max()), 2)}, where "
                f"{percent(self.error, 2)} is expected in the mean: training functions around them are "
                "predicted far worse than others. expected_errors(X) gives the error of each; add functions "
                "like these.",
                LargeErrorWarning,
            )

    def plus(self, error: float) -> ErrorEstimate:
        """Return the estimate for training outputs that have an error of their own, known as a size only."""
        low, high = self.interval or (0.0, np.inf)
        quantiles = None if self.quantiles is None else (self.quantiles[0] + error, self.quantiles[1] + error)
        components = tuple((name, own + error) for name, own in self.components)
        changes: dict[str, Any] = {"quantiles": quantiles, "components": components}
        changes["solver"] = self.solver + error
        interval = low + error / _SOLVER_FACTOR, high + error * _SOLVER_FACTOR
        return replace(self, error=(self.error or 0.0) + error, interval=interval, **changes)

    def facts(self, *, warns: bool = True) -> tuple[Fact, ...]:
        """Return the expected error, its interval, how it was estimated and where it holds.

        `warns`: whether `predict` warns of inputs unlike the training inputs.
        """
        if self.error is None or self.kind is None:
            reason = self.reason or "no function was left out. Test on new functions"
            return (Fact("Expected error", f"not known: {reason}"),)
        where = "new functions like the training functions"
        where += (
            ". Not other kinds of inputs: predict warns of them, novelty() measures them" if warns else ""
        )
        how = ": ".join(_KINDS[self.kind])
        return (*self.size_facts(), Fact("Estimated by", how), Fact("Valid for", where))

    def between(self, interpolation: float | None) -> float | None:
        """Return the expected error between the training points, where interpolation has that error."""
        if self.error is None or interpolation is None:
            return None
        return float(np.hypot(self.error, interpolation))

    def facts_between(self, interpolation: float | None) -> tuple[Fact, ...]:
        """Return the expected error between the training points, if interpolation makes a difference."""
        between = self.between(interpolation)
        if self.error is None or between is None or between <= _INTERPOLATED * self.error:
            return ()
        said = f"{percent(between, 2)} halfway between the training points, with the error of interpolation"
        return (Fact("Other points", said),)

    def size_facts(self) -> tuple[Fact, ...]:
        """Return the expected error, its interval, that of single functions and of components."""
        assert self.error is not None
        low, high = self.interval or (0.0, 0.0)
        size = f"about {percent(self.error, 1)}" if high == np.inf else percent(self.error)
        useless = ": new functions are hardly predicted" if self.error > USELESS else ""
        facts = [Fact("Expected error", f"{size} of the size of the outputs{useless}")]
        if self.interval is not None:
            said = f"{percent(low, 2)} to {percent(high, 2)}"
            if high == np.inf:
                said = f"not known with fewer than {MIN_INDEPENDENT} functions"
            facts.append(Fact("90 % interval", said))
        if self.quantiles is not None:
            median, high = self.quantiles
            said = f"median {percent(median, 2)}, 95 % are below {percent(high, 2)}"
            if self.heavy_tail:
                said += ". A heavy tail: few large errors determine the expected error;"
                said += " expected_errors(X) says where"
            facts.append(Fact("Each function", said))
        if self.components:
            each = ", ".join(f"{name} {percent(error, 2)}" for name, error in self.components)
            facts.append(Fact("Each component", each))
        return tuple(facts)

    @property
    def kind_in_words(self) -> str:
        """How the error was estimated, in a few words."""
        return "not known" if self.kind is None else _KINDS[self.kind][0]


def error_interval(
    errors: np.ndarray,
    *,
    stated: float | None = None,
    independent: int | None = None,
    rate: float | None = None,
    choice: float = 0.0,
) -> tuple[float, float]:
    """Return the 90 % interval of the mean error of new functions, over sets of training functions.

    The relative errors e_i of functions left out have the mean E and the deviation v E. Over sets of training
    functions, log(true / E) varies by

        d^2 = (max(v, 1/2)^2 + (luck rate)^2) / n ,    interval = E exp(-t d) to E exp(sqrt((t d)^2 + a^2)) ,

    where a^2 = tail^2 + choice^2 and n is the number of errors. The first term is that of a mean of n
    errors. The second is that of the functions learned from, which left-out errors do not show: where the
    error falls as n^-rate, and each function teaches 1 +- luck functions' worth, n of them teach
    n +- luck sqrt(n), and the error varies by rate luck / sqrt(n) of itself. The logarithm keeps the interval
    positive. `luck` was observed. t is Student's, its degrees of freedom one less than the independent
    functions. `tail` is for a heavy tail of the errors, of which n of them show only a part, see `_tail`.

    Parameters
    ----------
    errors : (n,), relative.
    stated : E, if more is known than the errors; by default their mean.
    independent : number of independent training functions, or groups of them; by default n. If there are
        fewer than n, they count as n.
    rate : rate at which the error falls with n; at least 1 is taken, also by default.
    choice : logarithm of the factor by which the choice among several models may hide errors.

    Returns
    -------
    interval : (low, high); (0, inf) below 10 independent functions, where the spread of a few errors and the
        rate of a few functions are so uncertain that no interval held on every problem tried.

    Examples
    --------
    >>> low, high = error_interval(np.full(400, 0.01))
    >>> round(low, 4), round(high, 4)
    (0.0093, 0.0108)
    """
    independent = len(errors) if independent is None else independent
    n = min(len(errors), independent)
    mean = float(np.mean(errors))
    stated = mean if stated is None else stated
    if independent < MIN_INDEPENDENT:
        return 0.0, np.inf
    if mean == 0 or not np.isfinite(mean):
        return stated, stated
    scaled = errors / mean
    varies = float(np.std(scaled, ddof=1)) if len(errors) > 1 else 0.0
    luck = _LUCK * min(max(rate or 0.0, _MIN_RATE), MAX_RATE)
    t = float(stdtrit(independent - 1, (1 + _COVERAGE) / 2))
    width = t * np.hypot(max(varies, _MIN_SPREAD), luck) / np.sqrt(n)
    above = np.linalg.norm([width, _tail(scaled, n, t), choice])
    return float(stated * np.exp(-width)), float(stated * np.exp(above))


def _tail(scaled: np.ndarray, n: int, t: float) -> float:
    """Return the logarithm of the largest mean that errors of mean 1 leave possible; 0 for a light tail.

    Two laws continue the tail beyond the largest error seen, each with the largest parameter that agrees with
    the errors. A Pareto law above the k = n^0.6 largest errors: their mean is e_k / (1 - g), where Hill's
    estimate of g, the mean of log(e_i / e_k), varies by g / sqrt(k). And a log-normal law above the median:
    the mean is median exp(V / 2), where V, the mean of log^2(e_i / median) over the upper half, varies by
    V sqrt(4 / n), and the logarithm of the median by sqrt(V / n) (Cox's interval, with half of the errors).
    `n` is the number of independent errors, t Student's factor.
    """
    ordered, median = np.sort(scaled)[::-1], float(np.median(scaled))
    independent = max(3.0, n**_TAIL_POWER)
    k = round(independent * len(scaled) / n)
    if len(scaled) < max(_MIN_FOR_TAIL, k + 1) or median <= 0:
        return 0.0
    g = float(np.mean(np.log(ordered[:k] / ordered[k])))
    g = min(g * (1 + t / np.sqrt(independent)), _MAX_INDEX)
    pareto = (ordered[k:].sum() + k * ordered[k] / (1 - g)) / len(scaled)
    V = min(float(np.mean(np.log(ordered[: len(scaled) // 2] / median) ** 2)), _MAX_LOG_VARIANCE)
    log_normal = np.log(median) + V / 2 + t * np.sqrt((V + V**2) / n)
    return float(max(0.0, np.log(pareto), log_normal))


def stored_interval(interval: tuple[float, float] | None) -> list[float | None] | None:
    """Return an interval for JSON, which has no infinity: None stands for it."""
    return None if interval is None else [end if np.isfinite(end) else None for end in interval]


def reason_unknown(y: np.ndarray, independent: int) -> str:
    """Return why no expected error can be stated for outputs y (N, M) of so many functions; "" if one can."""
    if independent < 2:
        return "there is a single training function, and without it nothing is left to fit"
    if not np.nan_to_num(y).any():
        return "all training outputs are zero, so there is no size that errors are relative to"
    return ""


def restored_estimate(
    header: dict[str, Any], error: float | None, interval: Any, kind: str | None
) -> ErrorEstimate:
    """Return the estimate of a file, with the quantiles and components of its header, if it has them."""
    quantiles = header.get("quantiles")
    components = tuple((str(name), float(own)) for name, own in header.get("components") or ())
    more: dict[str, Any] = {"components": components, "quantiles": quantiles and tuple(quantiles)}
    more["reason"] = str(header.get("unknown", ""))
    return ErrorEstimate(error, restored_interval(interval), None if error is None else kind, **more)


def restored_interval(ends: list[float | None] | None) -> tuple[float, float] | None:
    """Invert `stored_interval`; older files hold no interval."""
    low, high = ends or (None, None)
    return None if low is None else (low, np.inf if high is None else high)
