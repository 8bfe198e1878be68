"""What error to expect of the model that was chosen, and how sure that is."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from elmonet.auto.search import Search, Trial
from elmonet.errors import NumericsWarning
from elmonet.estimators.deeponet import ELMDeepONet
from elmonet.features import POD
from elmonet.forms.training import Training
from elmonet.metrics import function_norms, overall, relative_errors
from elmonet.solve import Ridge
from elmonet.uncertainty.error_estimate import MAX_RATE, error_interval

__all__ = [
    "EXACT",
    "FEW",
    "Expected",
    "LearningCurve",
    "chosen_model",
    "errors_without_each",
    "errors_without_half",
    "expect",
    "learning_curve",
    "optimism",
]

_HALVES = 4  # times that the functions are split


def chosen_model(
    search: Search, trial: Trial, training: Training, rank: int | None = None, missing: str = "raise"
) -> ELMDeepONet:
    """A candidate, with all that is learned for it learned from these functions."""
    way: dict[str, Any] = {**search.ways[trial.way]}
    inputs = training.inputs.prepared(training.X, logarithms=way["log_inputs"], scale=way["scale_inputs"])
    Z = inputs.seen(training.X)
    spread = float(np.sqrt(np.mean((Z - Z.mean(axis=0)) ** 2))) or 1.0
    branch = trial.candidate.branch(Z, spread, search.seed)
    trunk = POD(None if training.outputs.components else rank)
    model = ELMDeepONet(branch, trunk, Ridge("loo"), missing=missing, random_state=search.seed, **way)
    return model._fit_training(training)


def errors_without_each(search: Search, trial: Trial) -> np.ndarray:
    """The relative error of each function (N,), predicted by a fit without it, or without its group.

    The exact leave-one-out of one factorisation leaves a function out of the coefficients, but not of what
    was learned before: means and deviations at the sensors, the mean logarithm of the outputs, alpha. With
    hundreds of functions this makes no difference. With ten, it does: if inputs and outputs are both
    centred, the last function is minus the sum of the others on both sides, and a linear fit knows it.
    """
    groups = _groups(search)
    return _errors(search, trial, [groups == group for group in np.unique(groups)])


def errors_without_half(search: Search, trial: Trial) -> np.ndarray:
    """The relative error of each function (N,), by fits to random halves in which it is not; their mean."""
    groups = _groups(search)
    labels, rng = np.unique(groups), np.random.default_rng(search.seed)
    halves = [np.isin(groups, rng.permutation(labels)[: len(labels) // 2]) for _ in range(_HALVES)]
    return _errors(search, trial, [out for half in halves for out in (half, ~half)])


def _groups(search: Search) -> np.ndarray:
    groups = search.training.groups
    return np.arange(len(search.X)) if groups is None else groups.numbers


def _errors(search: Search, trial: Trial, left_out: list[np.ndarray]) -> np.ndarray:
    """Of each function (N,), the mean over the fits that leave it out; `left_out` are masks (N,)."""
    training = search.training
    missed = np.zeros(len(training.X))
    for out in left_out:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NumericsWarning)
            model = chosen_model(search, trial, training.of(np.flatnonzero(~out)))
        missed[out] += function_norms(model._fitted().at_training_points(training.X[out]) - training.y[out])
    missed /= np.sum(left_out, axis=0)
    return relative_errors(missed, function_norms(training.y), training.y.shape[1])


EXACT = 1e-8  # an error below which nothing is left to gain
FEW = 50  # functions, up to which each is left out by a fit of its own
_HALVED = 4  # functions that have halves of two


@dataclass(frozen=True)
class LearningCurve:
    """The errors of the best branch on n and on N > n functions: they fall as N^-rate."""

    n: int
    before: float
    N: int
    now: float

    @property
    def rate(self) -> float:
        """At least 0, and not steeper than is believed."""
        if self.now == 0:
            return 0.0
        rate = np.log(self.before / self.now) / np.log(self.N / self.n) if self.before > 0 else 0.0
        return float(min(max(rate, 0.0), MAX_RATE))


@dataclass(frozen=True)
class Expected:
    """The expected error, its interval, and which part of the error the choice had hidden."""

    error: float
    interval: tuple[float, float]
    hidden: float


def expect(model: ELMDeepONet, search: Search, best: Trial) -> Expected:
    """Of the fitted model, from left-out errors, what the choice hides, and how fast errors fall.

    An error of functions left out is that of a fit to N - 1 functions. With few functions that matters: the
    error of N is less by ((N - 1) / N)^rate.
    """
    N, M = len(search.X), search.y.shape[1]
    groups = search.training.groups
    independent = N if groups is None else len(np.unique(groups.numbers))
    curve = learning_curve(search, best)
    errors, one_more = model.solution_.loo_errors, 1.0
    if independent >= _HALVED and N <= FEW:
        errors = errors_without_each(search, best)
        half = float(overall(errors_without_half(search, best), M))
        curve = LearningCurve(independent // 2, half, independent - 1, float(overall(errors, M)))
        one_more = (1 - 1 / independent) ** curve.rate
    hidden = optimism(search, best)
    error = one_more * float(overall(errors, M)) + hidden
    rate = None if curve is None else curve.rate
    interval = error_interval(errors, M, stated=error, independent=independent, rate=rate)
    return Expected(error, interval, hidden)


def learning_curve(search: Search, best: Trial) -> LearningCurve | None:
    """From trials of the best branch, at any scale; None if there are none on fewer functions."""
    N = len(search.X)
    same: dict[int, float] = {}
    for t in search.trials:
        if t.kind == best.kind:
            same[t.functions] = min(t.error, same.get(t.functions, np.inf))
    fewer = [n for n in same if n < N]
    if not fewer or N not in same:
        return None
    return LearningCurve(max(fewer), same[max(fewer)], N, same[N])


def optimism(search: Search, best: Trial) -> float:
    """How much of the best trial's error is hidden by having chosen it.

    Choose again for every function without its own error, or that of its group, and take the error of
    the chosen trial there.
    """
    rivals = [trial for trial in search.trials if trial.functions == best.functions]
    view = search.view(best.way, best.functions)
    errors = np.array([trial.errors for trial in rivals])
    power = 2 if view.y.shape[1] == 1 else 1
    groups = np.arange(errors.shape[1]) if view.groups is None else view.groups
    own = np.array([np.bincount(groups, weights=row) for row in errors**power])
    without = (own.sum(axis=1, keepdims=True) - own)[:, groups]
    chosen = np.argmin(without, axis=0)
    honest = view.overall(errors[chosen, np.arange(errors.shape[1])])
    return max(0.0, honest - best.error)
