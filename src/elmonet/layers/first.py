"""The global model that a chain begins with, and what it says of its own training functions left out."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from elmonet._check import InputError

__all__ = ["fitted_first", "left_out_rows", "predicted_rows"]


def fitted_first(first: Any, X: Any, y: Any, *, seed: int, **given: Any) -> Any:
    """The fitted `ELMDeepONet`: `first` itself if it was fitted to these functions, else a clone of it.

    A clone without a seed of its own takes this one, so that a chain with a seed is the same each time.
    """
    if not hasattr(first, "get_params"):
        raise InputError(
            'first must be an ELMDeepONet, an AutoELMDeepONet, "nothing", or a tuple of these to try; got '
            f"{first!r}."
        )
    known = getattr(first, "global_model_", first)
    if _knows(known, X):
        return known
    model = clone(first)
    if model.get_params().get("random_state", seed) is None:
        model.set_params(random_state=seed)
    if "layers" in model.get_params():  # of an automatic choice, only the global model
        model.set_params(layers=0)
    model.fit(X, y, **given)
    return getattr(model, "global_model_", model)


def left_out_rows(model: Any) -> np.ndarray:
    """What the model says of each training function if it is left out: rows (N, c M) of its outputs."""
    found = model._fitted()
    if found.outputs.lift is not None:
        raise InputError(
            "layers cannot begin with a model that has a lift: give outputs minus the lift instead."
        )
    try:
        left_out = found.solution.left_out()
    except AttributeError as error:
        raise InputError(
            "layers begin with the predictions of the first model for training functions left out, and this "
            f"model cannot give them: {error} Use a model with Ridge, fitted in memory."
        ) from None
    return np.asarray(found.outputs.values(left_out.T), np.float64)


def predicted_rows(model: Any, rows: np.ndarray) -> np.ndarray:
    """What the model says of input rows, as rows (n, c M) at the training points."""
    found = model._fitted()
    predicted = found.operator.at_training_points(found.seen(rows))
    return np.asarray(found.outputs.values(predicted), np.float64)


def _knows(model: Any, X: Any) -> bool:
    """Whether a model was fitted to just these functions, and can leave them out."""
    if getattr(model, "_found", None) is None or model._found.solution.fit is None:
        return False
    try:
        same = bool(model.is_training_function(X).all())
    except ValueError:
        return False
    n = len(next(iter(X.values())) if isinstance(X, dict) else X)
    return same and model._found.solution.left_out().shape[1] == n
