"""The model that was chosen, and its errors with few functions, of real fits without each of them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from elmonet._check import NumericsWarning
from elmonet.auto.search import Search, Trial
from elmonet.features import POD
from elmonet.form.training import Training
from elmonet.layers.first import predicted_rows
from elmonet.metrics import function_norms, relative_errors
from elmonet.model import ELMDeepONet
from elmonet.solve import Ridge

__all__ = ["chosen_model", "errors_without_each", "errors_without_half"]

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
    return model._fit(training)


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
        missed[out] += function_norms(predicted_rows(model, training.X[out]) - training.y[out])
    missed /= np.sum(left_out, axis=0)
    return relative_errors(missed, function_norms(training.y), training.y.shape[1])
