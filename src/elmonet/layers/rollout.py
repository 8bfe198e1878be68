"""A learned time step, applied again and again."""

from __future__ import annotations

import warnings

import numpy as np

from elmonet._check import ExtrapolationWarning, InputError
from elmonet.layers.layered import Layered, Places

__all__ = ["roll_out"]


def roll_out(found: Layered, u0: np.ndarray, steps: int) -> np.ndarray:
    """States (n, steps, *shape) from u0 (n, *shape); NaN after one has left what the training covers."""
    form = found.form
    if len(form.parts) > 1 or form.parts[0].channels != max(1, form.outputs.components):
        raise InputError("rollout needs a model whose outputs are like its inputs: a step u(t) -> u(t + dt).")
    out = np.full((len(u0), steps, *u0.shape[1:]), np.nan)
    state, going, there = u0, np.arange(len(u0)), Places(form.grid, form.order)
    for k in range(steps):
        strange = found.strange(state, form.grid, form.order)
        if strange.any():
            warnings.warn(
                f"{int(strange.sum())} of {len(u0)} functions are no longer like the training functions "
                f"after {k} steps (the first: row {going[np.argmax(strange)]}). Their rollout stops there. "
                "Train on functions like these, or on more of them.",
                ExtrapolationWarning,
                stacklevel=3,
            )
            state, going = state[~strange], going[~strange]
        if not len(going):
            break
        predicted = np.asarray(found.finished(found.states(state, form.grid, form.order), there))
        state = predicted.reshape(len(going), *u0.shape[1:])
        out[going, k] = state
    return out
