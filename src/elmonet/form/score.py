"""Errors and scores of predictions in the user's shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import r2_score

from elmonet._check import InputError, outputs
from elmonet.data.scattered import Scattered
from elmonet.form.outputs import OutputForm
from elmonet.form.training import named_components
from elmonet.metrics import reference_norms, relative_l2

__all__ = ["checked_outputs", "r2_of", "relative_error"]


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


def relative_error(predicted: Any, truth: Any) -> float | None:
    """The mean relative error of predictions of functions with known outputs, None if these are others."""
    if isinstance(truth, dict):
        if not isinstance(predicted, dict) or set(predicted) != set(truth):
            return None
        parts = [relative_error(predicted[name], truth[name]) for name in truth]
        return None if None in parts else float(np.mean(np.array(parts, dtype=float)))
    predicted = np.stack(list(predicted.values()), axis=-1) if isinstance(predicted, dict) else predicted
    known: Any = truth.values if isinstance(truth, Scattered) else np.asarray(truth, dtype=float)
    if predicted.size != known.size:
        return None
    predicted = predicted.reshape(known.shape)
    if isinstance(truth, Scattered):
        squares = [
            np.bincount(truth.index, (A.reshape(len(A), -1) ** 2).sum(axis=1))
            for A in (predicted - known, known)
        ]
        there = np.bincount(truth.index) > 0
        missed, norms = (np.sqrt(A[there]) for A in squares)
        return float(np.mean(missed / reference_norms(norms)))
    return relative_l2(np.where(np.isnan(known), 0, predicted), np.nan_to_num(known))


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
