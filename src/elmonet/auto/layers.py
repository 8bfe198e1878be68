"""Layers against the best global model: compared on the same held-out functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from elmonet.auto.error_estimate import EXACT
from elmonet.errors import InputError
from elmonet.estimators.deeponet import ELMDeepONet
from elmonet.forms.training import Training
from elmonet.layered import LayeredELMDeepONet
from elmonet.layered.chain import error_before, held_out_of
from elmonet.layered.choice import find_layer_data, fit_layers
from elmonet.layered.fitted import left_out_rows
from elmonet.metrics import relative_l2
from elmonet.uncertainty.novelty import TrainingRecord

_WORTH = 0.9  # error with layers, relative to without, on few functions: else they are not worth the time
_BETTER = 0.98  # the same on all functions


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
        held_out_of(len(start), seed, problem.groups)
    except InputError:
        if layers is None:
            return None
        raise
    started = replace(problem, first=start)
    before, alike = error_before(started, seed), error_before(replace(started, units=None), seed)
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
    if layers is None and relative_l2(held.predicted, held.truth) > _BETTER * alike:
        return Comparison(before, found.estimate.error, seconds)
    model = LayeredELMDeepONet(layers=layers, random_state=seed)
    found = replace(found, known=TrainingRecord.of(training.X))
    return Comparison(before, found.estimate.error, seconds, model._adopt(found))
