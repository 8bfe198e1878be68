"""The expected error of the chosen model: leave-one-out refits, optimism of the choice, learning curve."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from elmonet.auto.search import Search, Trial
from elmonet.auto.transformed_data import TransformedData, errors_of
from elmonet.errors import NumericsWarning
from elmonet.estimators.deeponet import ELMDeepONet
from elmonet.uncertainty.error_estimate import MAX_RATE, ErrorEstimate

EXACT = 1e-8  # relative error below which nothing is left to gain
_REFIT_UP_TO = 50  # functions or groups of them, up to which each is left out by a refit
_FEW_REFITS = 10  # refits where one takes long
_REFIT_VALUES = 12_000  # functions in all refits, above which there are only a few
_ADDED = 1.1  # error of refits, in units of leave-one-out errors, from which it is more than chance
_REFIT_FUNCTIONS = 2000  # functions, above which there are none
_REFIT_FROM = 4  # independent functions, so that halves hold two
_SIGNIFICANT = 1.64  # standard errors of a paired difference
_OFTEN_BETTER = 0.3  # part of the functions that a trial like the best predicts at least as well
_HALVINGS = 4  # random splits into halves
_REFIT_SHARE = 0.5  # of the time that is left, for refits; layers come after them
_FEWEST_PARTS = 5  # parts left out in turn, below which refits say less than leave-one-out


@dataclass(frozen=True)
class LearningCurve:
    """The errors of the best branch on n and on N > n functions, taken to fall as N^-rate."""

    n: float
    error_n: float
    N: float
    error_N: float

    @property
    def rate(self) -> float:
        """The rate, between 0 and the steepest one that is believed."""
        if self.error_N == 0:
            return 0.0
        rate = np.log(self.error_n / self.error_N) / np.log(self.N / self.n) if self.error_n > 0 else 0.0
        return float(min(max(rate, 0.0), MAX_RATE))


def error_estimate(model: ELMDeepONet, search: Search, best: Trial, *, refits: bool = True) -> ErrorEstimate:
    """Estimate the error of the fitted model: leave-one-out error plus the optimism of the choice.

    A leave-one-out error is that of a fit to N - 1 functions. With few functions that matters: the error of
    N functions is smaller by ((N - 1) / N)^rate. With few groups, the error without a group is stated as it
    is: what the choice of scales has seen of the groups weighs as much as one group more. Where scales of
    parts were learned, functions left out of learning say how much more than claimed is to be expected, up
    to their own error.
    """
    before = model._fitted().estimate
    if before.reason:
        return before
    N = len(search.X)
    groups = search.training.groups
    independent = N if groups is None else len(np.unique(groups.numbers))
    curve = learning_curve(search, best)
    errors, one_more = np.asarray(model.solution_.loo_errors)[search.judges(N)], 1.0
    few = independent <= _REFIT_UP_TO
    wanted = refits and (few or search.checked is not None)
    if wanted and independent >= _REFIT_FROM and N <= _REFIT_FUNCTIONS:
        parts = independent if independent * N <= _REFIT_VALUES else min(independent, _FEW_REFITS)
        parts, halvings = _refits_in_time(search, best, parts)
        if halvings:
            each = errors_without_each(search, best, parts)
            half = errors_without_half(search, best, halvings)
            kept = independent * (1 - 1 / parts)
            refitted = LearningCurve(independent // 2, float(np.mean(half)), kept, float(np.mean(each)))
            factor = (kept / independent) ** refitted.rate if groups is None else 1.0
            # With learned scales, what refits add.
            if few or factor * refitted.error_N > _ADDED * np.mean(errors):
                errors, curve, one_more = each, refitted, factor
    hidden = optimism(search, best)
    rate = None if curve is None else curve.rate
    if search.checked is not None and search.checked.claimed > 0:  # left out of learning scales as well
        checked, mean = search.checked, one_more * float(np.mean(errors))
        hidden = max(hidden, min((checked.error / checked.claimed - 1) * mean, checked.error - mean))
    error = one_more * float(np.mean(errors)) + hidden
    components = before.components
    if components and before.error:
        components = tuple((name, own * error / before.error) for name, own in components)
    more: dict[str, Any] = {"optimism": hidden, "components": components}
    choice = undecided(search, best, independent)
    estimate = ErrorEstimate.of(
        errors,
        before.kind or "leave-one-out",
        stated=error,
        independent=independent,
        rate=rate,
        choice=choice,
        **more,
    )
    rest = replace(model._fitted(), estimate=estimate).rest_of_grid
    return estimate if rest is None else rest.estimate(estimate, choice, independent, rate)


def _refits_in_time(search: Search, best: Trial, parts: int) -> tuple[int, int]:
    """Return how many parts to leave out in turn, and how many halvings: fewer, or none, if time is short."""
    every, took = parts + 2 * _HALVINGS, search.fit_took + best.seconds
    left = max(_REFIT_SHARE * (search.deadline - perf_counter()), 0.0)
    if every * took <= left:
        return parts, _HALVINGS
    count = int(left / took)
    halvings = min(max(count // (2 * _FEWEST_PARTS), 1), _HALVINGS)
    enough = count - 2 * halvings >= min(_FEWEST_PARTS, parts)
    return (min(parts, count - 2 * halvings), halvings) if enough else (0, 0)


def learning_curve(search: Search, best: Trial) -> LearningCurve | None:
    """Return the curve through the trials of the best branch; None without one on fewer functions."""
    N = len(search.X)
    errors: dict[int, float] = {}
    for trial in search.trials:
        if trial.kind == best.kind:
            errors[trial.functions] = min(trial.stated_error, errors.get(trial.functions, np.inf))
    fewer = [n for n in errors if n < N]
    if not fewer or N not in errors:
        return None
    return LearningCurve(max(fewer), errors[max(fewer)], N, errors[N])


def optimism(search: Search, best: Trial) -> float:
    """Return by how much choosing the best trial makes its error too small.

    Choose again for every function without its own error, or that of its group, and take the error of the
    chosen trial there.
    """
    rivals = [trial for trial in search.trials if trial.functions == best.functions]
    data = search.data(best.transform, best.functions)
    errors = np.array([trial.errors for trial in rivals])
    groups = np.arange(errors.shape[1])
    if data.groups is not None:
        groups = np.unique(data.groups[search.judges(best.functions)], return_inverse=True)[1]
    own = np.array([np.bincount(groups, weights=row) for row in errors])
    without = (own.sum(axis=1, keepdims=True) - own)[:, groups]
    chosen = np.argmin(without, axis=0)
    honest = np.mean([rivals[k].stated[i] for i, k in enumerate(chosen)])
    return max(0.0, float(honest) - best.stated_error)


def undecided(search: Search, best: Trial, independent: int) -> float:
    """Return log(error / error of the best), the median over trials that cannot be told from the best.

    With few functions and many trials, the best is best by chance, and a new function has the error of any
    trial whose paired differences from it are not significant: at most 1.64 standard errors above zero, and
    negative for 30 % of the functions.
    """
    rivals = [trial for trial in search.trials if trial.functions == best.functions]
    differences = np.array([trial.stated - best.stated for trial in rivals])
    deviation = np.std(differences, axis=1) / np.sqrt(max(1, independent - 1))
    close = differences.mean(axis=1) <= _SIGNIFICANT * deviation
    close &= np.mean(differences <= 0, axis=1) > _OFTEN_BETTER  # a few huge errors make a mean uncertain
    if not best.stated_error:
        return 0.0
    ratios = [t.stated_error / best.stated_error for t, same in zip(rivals, close, strict=True) if same]
    return float(max(0.0, np.log(np.median(ratios))))


def errors_without_each(search: Search, trial: Trial, parts: int | None = None) -> np.ndarray:
    """Return the relative error of each function (N,), predicted by a refit without it or its group.

    The exact leave-one-out of one factorisation leaves a function out of the coefficients, but not of what
    was learned before: means and deviations at the sensors, the mean logarithm of the outputs, alpha. With
    hundreds of functions this makes no difference. With ten, it does: if inputs and outputs are both
    centred, the last function is minus the sum of the others on both sides, and a linear fit knows it.
    With fewer `parts` than functions or groups, several of these are left out together.
    """
    groups = np.unique(_groups(search), return_inverse=True)[1].ravel()
    independent = int(groups.max()) + 1
    part = np.arange(independent)
    if parts is not None and parts < independent:
        part = np.random.default_rng(search.seed).permutation(independent) % parts
    return _errors(search, trial, [part[groups] == k for k in np.unique(part)])


def errors_without_half(search: Search, trial: Trial, halvings: int = _HALVINGS) -> np.ndarray:
    """Return the relative error of each function (N,), the mean over refits to random halves without it."""
    groups = _groups(search)
    labels, rng = np.unique(groups), np.random.default_rng(search.seed)
    halves = [np.isin(groups, rng.permutation(labels)[: len(labels) // 2]) for _ in range(halvings)]
    return _errors(search, trial, [out for half in halves for out in (half, ~half)])


def _groups(search: Search) -> np.ndarray:
    groups = search.training.groups
    return np.arange(len(search.X)) if groups is None else groups.numbers


def _errors(search: Search, trial: Trial, left_out: list[np.ndarray]) -> np.ndarray:
    """Return the mean error of each function (N,) over the refits without it; `left_out` are masks (N,)."""
    training, transform = search.training, search.transforms[trial.transform]
    errors = np.zeros(len(training.X))
    for out in left_out:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NumericsWarning)
            data = TransformedData(training.of(np.flatnonzero(~out)), transform)
            model = data.model(trial.candidate, search.seed)
        errors[out] += errors_of(model, training, out)
    return errors / np.sum(left_out, axis=0)
