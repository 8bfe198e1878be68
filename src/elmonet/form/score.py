"""scikit-learn's score, for predictions in the user's shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import r2_score

from elmonet._check import InputError, outputs
from elmonet.form.outputs import OutputForm
from elmonet.form.training import named_components

__all__ = ["checked_outputs", "r2_of"]


def r2_of(predicted: Any, y: Any, sample_weight: Any = None) -> float:
    """R^2 over all functions and points together."""
    predicted = np.asarray(named_components(predicted)[1])
    y = outputs(named_components(y)[1], len(predicted))
    if predicted.shape != y.shape:
        raise InputError(
            f"y must have the shape of the predictions, {predicted.shape}, got {y.shape}. To compare at "
            "other points, use relative_l2(model.predict(X, points=points), y)."
        )
    predicted, y = (A.reshape(len(A), -1) for A in (predicted, y))
    return float(r2_score(y, predicted, sample_weight=sample_weight, multioutput="variance_weighted"))


def checked_outputs(y: Any, form: OutputForm, n: int | None = None) -> np.ndarray:
    """Outputs (N, *shape) at the training points of a model."""
    y = named_components(y)[1]
    y = outputs(y, len(y) if n is None else n)
    if y.shape[1:] != form.shape:
        raise InputError(
            f"outputs must be known at the training points, as (N, {', '.join(map(str, form.shape))}); got "
            f"{y.shape}."
        )
    return y
