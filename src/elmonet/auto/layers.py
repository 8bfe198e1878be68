"""Layers against the best global model: compared on the same held-out functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
from scipy.special import stdtrit

from elmonet.auto.error_estimate import EXACT
from elmonet.errors import InputError
from elmonet.estimators.deeponet import ELMDeepONet
from elmonet.forms.training import Training
from elmonet.layered import LayeredELMDeepONet
from elmonet.layered.chain import error_before, held_out_of
from elmonet.layered.choice import find_layer_data, fit_layers
from elmonet.layered.fitted import left_out_rows
from elmonet.metrics import function_norms, output_sizes
from elmonet.uncertainty.novelty import TrainingRecord

_WORTH = 0.9  # error with layers, relative to without, on few functions: else they are not worth the time
_BETTER = 0.98  # the same on all functions
_CERTAIN = 0.95  # one-sided, of the test that layers are better


@dataclass(frozen=True)
class Comparison:
    """Errors of a global model and of layers on the same held-out functions; the layers if they are better.

    `error` is None where layers did not gain on few functions.
    """

    before: float
    error: float | None
    seconds: float
    model: LayeredELMDeepONet | None = None


def compare_with_layers(
    training: Training,
    sensors: Any,
    best: ELMDeepONet,
    *,
    layers: int | None,
    seed: int,
    deadline: float,
    tell: Callable[[str, float, float], None],
) -> Comparison | None:
    """Try layers from nothing and from the best global model.

    With ``layers=None``, return None if inputs and outputs are not fields on one grid, or nothing can be
    gained. A number of layers is used whatever they gain, and other data are refused.
    """
    begin = perf_counter()
    exact = float(best.expected_error_ or 0.0) < EXACT
    if layers is None and (exact or begin > deadline):
        return None
    try:
        form, problem, used = find_layer_data(training, sensors, None, seed)
        start = form.states(left_out_rows(best)[used])
        out = held_out_of(len(start), seed, problem.groups)
    except InputError:
        if layers is None:
            return None
        raise
    started = replace(problem, first=start)
    before = error_before(started, seed)
    found = fit_layers(
        form,
        problem,
        used,
        [None, best],
        layers=layers,
        width=None,
        seed=seed,
        deadline=deadline,
        tell=tell,
        worth=_WORTH if layers is None else np.inf,
    )
    seconds = perf_counter() - begin
    if found is None:
        return Comparison(before, None, seconds)
    held = found.held_out
    assert held is not None
    # As in every choice, components count alike.
    without, with_layers = _errors(start[out], held.truth), _errors(held.predicted, held.truth)
    if layers is None and not _are_better(with_layers, without, held.groups):
        return Comparison(before, found.estimate.error, seconds)
    model = LayeredELMDeepONet(layers=layers, random_state=seed)
    found = replace(found, known=TrainingRecord.of(training.X))
    return Comparison(before, found.estimate.error, seconds, model._adopt(found))


def _errors(predicted: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return the relative error of each function (n,)."""
    predicted, truth = (A.reshape(len(A), -1) for A in (predicted, truth))
    return np.asarray(function_norms(predicted - truth) / output_sizes(truth))


def _are_better(errors: np.ndarray, before: np.ndarray, groups: np.ndarray | None) -> bool:
    """Return whether errors (n,) are smaller than those before in the mean, and by more than chance.

    By Student's test of the paired differences, those of a group of functions (n,) together. A few held-out
    functions are easily better with layers by chance: of many chains, the best one on them was taken.
    """
    if np.mean(errors) > _BETTER * np.mean(before):
        return False
    gains = before - errors
    if groups is not None and np.ptp(groups) > 0:
        number = np.unique(groups, return_inverse=True)[1]
        gains = np.bincount(number, weights=gains) / np.bincount(number)
    if len(gains) < 2:
        return False
    deviation = float(np.std(gains, ddof=1)) / np.sqrt(len(gains))
    return bool(np.mean(gains) >= stdtrit(len(gains) - 1, _CERTAIN) * deviation)
