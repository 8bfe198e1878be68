"""Learned time steps of fields, applied again and again: alone, or with a forcing and parameters."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from elmonet.checks import finite, plain
from elmonet.errors import ExtrapolationWarning, InputError, warn
from elmonet.forms.inputs import count_of
from elmonet.layered.fields import InputChannels
from elmonet.layered.fitted import ChainQuery, FittedChain


def rollout(model: FittedChain, estimator: Any, X: Any, steps: int, forcing: Any = None) -> np.ndarray:
    """Return states (n, steps, *shape) from X (n, *shape); NaN where the rollout has stopped.

    `forcing` holds the other inputs of the step, see `LayeredELMDeepONet.rollout`.
    """
    form, n = model.form, count_of(X)
    state_part, others = _roles(form.parts, forcing)
    if not state_part.is_field or state_part.channels != max(1, form.outputs.components):
        raise InputError("rollout needs a model whose outputs are like its inputs: a step u(t) -> u(t + h).")
    given = {part.name: _over_time(values, part, n, steps) for part, values in others}

    def inputs(state: Any, k: int, active: Any) -> Any:
        if state_part.name is None:
            return state
        now = {name: values[active, min(k, values.shape[1] - 1)] for name, values in given.items()}
        return {part.name: state if part is state_part else now[part.name] for part in form.parts}

    first = model.query(estimator, inputs(X, 0, slice(None))).X
    state = np.asarray(first if state_part.name is None else first[state_part.name])
    shape, active = state.shape[1:], np.arange(n)
    out = np.full((n, steps, *shape), np.nan)
    for k in range(steps):
        query = ChainQuery(inputs(state, k, active), form.grid, form.order)
        outside = model.outside(query)
        if outside.any():
            warn(
                f"{int(outside.sum())} of {n} functions are unlike the training functions after {k} steps "
                f"(the first: row {active[np.argmax(outside)]}). Their rollout stops there. "
                "Train on functions like these, or on more of them.",
                ExtrapolationWarning,
            )
            state, active = state[~outside], active[~outside]
            query = ChainQuery(inputs(state, k, active), form.grid, form.order)
        if not len(active):
            break
        state = np.asarray(model.finish(model.values(query), query)).reshape(len(active), *shape)
        out[active, k] = state
    return out


def _roles(
    parts: tuple[InputChannels, ...], forcing: Any
) -> tuple[InputChannels, list[tuple[InputChannels, Any]]]:
    """Return which input of the model is the state, and the others with their values."""
    names = ", ".join(str(part.name) for part in parts)
    if forcing is None:
        if len(parts) > 1:
            raise InputError(
                f"this model has the inputs {names}: rollout needs the initial state, and the others as "
                "forcing={name: values}."
            )
        return parts[0], []
    if len(parts) == 1:
        raise InputError("this model has no input but the state: fit a step with {'u': u, 'f': f} first.")
    if not isinstance(forcing, dict):
        if len(parts) > 2:
            raise InputError(f"this model has the inputs {names}: give forcing={{name: values}}.")
        return parts[0], [(parts[1], forcing)]
    rest = [part for part in parts if part.name not in forcing]
    if len(rest) != 1 or len(forcing) != len(parts) - 1:
        raise InputError(
            f"forcing must hold all inputs but the state; this model has {names}, got "
            f"{', '.join(map(str, forcing)) or 'none'}."
        )
    return rest[0], [(part, forcing[part.name]) for part in parts if part is not rest[0]]


def _over_time(values: Any, part: InputChannels, n: int, steps: int) -> np.ndarray:
    """Return values (n, 1 or steps, *shape) of one input: constant, or one for each step."""
    array = np.asarray(plain(values), dtype=np.float64)
    finite(array, "forcing")
    shape, number = part.shape, prod(part.shape) == 1
    if array.shape == (n, *shape) or (number and array.shape == (n,)):
        return array.reshape(n, 1, *shape)
    if array.shape == (n, steps, *shape) or (number and array.shape == (n, steps)):
        return array.reshape(n, steps, *shape)
    constant, varying = (n, *shape), (n, steps, *shape)
    raise InputError(
        f"forcing {part.name!r} must have the shape {varying}, with the values of each step, or {constant}, "
        f"if it does not vary in time; got {array.shape}."
    )
