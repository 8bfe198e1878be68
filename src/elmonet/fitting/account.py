"""What a fitted model has to tell in a report."""

from __future__ import annotations

from typing import Any

import numpy as np

from elmonet.data.scattered import Scattered
from elmonet.fitting.fitted import Fitted
from elmonet.fitting.unseen import unseen_of
from elmonet.fitting.words import kind_in_words, outputs_in_words
from elmonet.form.inputs import InputForm
from elmonet.form.outputs import OutputForm
from elmonet.form.training import Training
from elmonet.novelty import Memory
from elmonet.report.account import Account, Unseen
from elmonet.solve import LEFT_OUT

__all__ = ["account_of", "call_of", "data_of", "seed_of"]

_NOT_KEPT = (
    "Not known: this model was loaded from a file, or fitted in blocks, so the training functions are not "
    "there. Give functions with known outputs: model.report(path, X, y)."
)
_NOT_LEFT_OUT = (
    "Not known: this fit leaves no function out, or there are too few functions. Give functions with known "
    "outputs: model.report(path, X, y)."
)


def account_of(model: Any, fitted: Fitted, training: Training | None) -> Account:
    """Of an `ELMDeepONet`; the training functions are None if they are not at hand."""
    solution, operator = fitted.solution, fitted.operator
    data = data_of(fitted.inputs, fitted.outputs, model._remembered(), training)
    settings = {
        "branch": f"{' '.join(repr(operator.branch).split())}, {operator.C.shape[1]} features",
        "trunk": f"{' '.join(repr(operator.trunk).split())}, {len(operator.W)} functions",
        "alpha": f"{solution.alpha:.3g}",
        "condition": "not known" if solution.condition is None else f"{solution.condition:.2g}",
        "error on the training functions": (
            "not known" if solution.residual is None else f"{solution.residual:.2g}"
        ),
        "time of the solve": f"{solution.seconds:.2g} s, {solution.method}",
    }
    unseen = None if training is None else _unseen(model, fitted, training)
    return Account(
        type(model).__name__,
        model.summary(),
        data | ({"belong together": fitted.word} if fitted.word else {}),
        settings,
        seed_of(model.random_state, loaded=training is None),
        call_of(model, training),
        model.expected_error_,
        model.expected_error_interval_,
        kind_in_words(solution.error_kind),
        unseen,
        "" if unseen is not None else _NOT_KEPT if training is None else _NOT_LEFT_OUT,
        solution,
    )


def data_of(
    inputs: InputForm, outputs: OutputForm, memory: Memory, training: Training | None
) -> dict[str, str]:
    """The data, in names and values."""
    count = None if memory.fingerprints is None else len(memory.fingerprints)
    count = count if training is None else len(training.X)
    found = {
        "training functions": "not known" if count is None else str(count),
        "inputs": inputs.told,
        "outputs": outputs_in_words(outputs),
    }
    if outputs.names is not None:
        found["components"] = ", ".join(outputs.names)
    low, high = outputs.points.min(axis=0), outputs.points.max(axis=0)
    axes = ["x"] if len(low) == 1 else [f"x{k + 1}" for k in range(len(low))]
    found["domain"] = ", ".join(
        f"{x} from {a:.4g} to {b:.4g}" for x, a, b in zip(axes, low, high, strict=True)
    )
    return found if training is None else found | _ranges(training)


def _ranges(training: Training) -> dict[str, str]:
    """Between what the values lie, and how many are missing."""
    outputs, y = training.outputs, training.y
    values: Any = y.values if isinstance(y, Scattered) else y
    if not isinstance(y, Scattered) and outputs.sizes is not None:
        values = np.moveaxis(y.reshape(len(y), outputs.components, -1), 1, -1) * outputs.sizes
    parts = values.reshape(-1, max(1, outputs.components))
    said = [f"{np.nanmin(part):.4g} to {np.nanmax(part):.4g}" for part in parts.T]
    lifted = ", without the lift" if outputs.lift is not None else ""
    missing = int(np.isnan(values).sum())
    return {
        "input values": f"{training.X.min():.4g} to {training.X.max():.4g}",
        "output values": "; ".join(said) + lifted,
        "missing output values": f"{missing} of {values.size}" if missing else "none",
    }


def seed_of(random_state: Any, *, loaded: bool) -> dict[str, str]:
    """The seed, in names and values."""
    if random_state is None:
        none = "not kept in the file" if loaded else "none was given: another fit draws other features"
        return {"seed": none}
    return {"seed": str(random_state)}


def call_of(model: Any, training: Training | None, y: str = "s", more: str = "") -> str:
    """The call that repeats a fit, as far as it is known: of outputs `y`, and with `more` arguments."""
    made = f"model = {' '.join(repr(model).split())}"
    if training is None:
        return f"{made}\n# the call of fit is not known: the model was loaded, or fitted in blocks"
    n = len(training.X)
    points = "" if training.outputs.scattered else ", points=points"
    return f"{made}\nmodel.fit(u, {y}{points}{more})  # {n} functions"


def _unseen(model: Any, fitted: Fitted, training: Training) -> Unseen | None:
    confidence = model._confidence_if_any()
    left_out = fitted.solution.error_kind in LEFT_OUT and fitted.solution.fit is not None
    if confidence is None or not (left_out or model._held_out is not None):
        return None
    return unseen_of(fitted, training, confidence, model._held_out)
