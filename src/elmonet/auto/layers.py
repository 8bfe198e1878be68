"""Whether layers that all points share do better than the best global model, and the model if they do."""

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
from elmonet.layered.chain import error_before, held_out_of, left_out_rows
from elmonet.layered.choice import find_problem, fit_layers
from elmonet.uncertainty.novelty import Memory

__all__ = ["Comparison", "compare_with_layers"]

_WORTH = 0.9  # of the error: layers that gain less on few functions are not worth the time they take
_BETTER = 0.98  # of the error: what layers must gain on all functions


@dataclass(frozen=True)
class Comparison:
    """The errors of a global model and of layers, of the same functions held out; and the layers if better.

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

    With ``layers=None``, None if inputs and outputs are not fields on one grid, or nothing is to gain; with a
    number, so many are used whatever they gain, and other data are refused.
    """
    begin = perf_counter()
    exact = float(best.expected_error_ or 0.0) < EXACT
    if layers is None and (exact or begin > deadline):
        return None
    try:
        form, problem, used = find_problem(training, sensors, None, seed)
        start = form.states(left_out_rows(best)[used])
        held_out_of(len(start), seed, problem.groups)
    except InputError:
        if layers is None:
            return None
        raise
    before = error_before(replace(problem, first=start), seed)
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
    if layers is None and found.error > _BETTER * before:
        return Comparison(before, found.error, seconds)
    model = LayeredELMDeepONet(layers=layers, random_state=seed)
    return Comparison(before, found.error, seconds, model._with(found, Memory.of(training.X)))
