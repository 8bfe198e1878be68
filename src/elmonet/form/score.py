"""Errors and scores of predictions in the user's shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import r2_score

from elmonet._check import InputError, outputs
from elmonet.data.scattered import Scattered
from elmonet.form.outputs import OutputForm
from elmonet.form.training import named_components
from elmonet.metrics import function_norms, reference_norms

__all__ = ["checked_outputs", "r2_of", "relative_error", "relative_errors"]


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
    errors = relative_errors(predicted, truth)
    return None if errors is None or np.isnan(errors).all() else float(np.nanmean(errors))


def relative_errors(predicted: Any, truth: Any) -> Any:
    """The relative error of each function (N,): NaN if it is not known; None if the outputs are others.

    Of named components, each has its relative error, and a function has their mean.
    """
    if isinstance(truth, dict):
        if not isinstance(predicted, dict) or set(predicted) != set(truth):
            return None
        parts = [relative_errors(predicted[name], truth[name]) for name in truth]
        return None if any(part is None for part in parts) else _mean_of_known(np.stack(parts))
    predicted = np.stack(list(predicted.values()), axis=-1) if isinstance(predicted, dict) else predicted
    known: Any = truth.values if isinstance(truth, Scattered) else np.asarray(truth, dtype=float)
    if predicted.size != known.size:
        return None
    rows = (len(known), -1)
    known, missed = known.reshape(rows), (predicted.reshape(known.shape) - known).reshape(rows)
    there = np.isfinite(known)
    known, missed = np.where(there, known, 0), np.where(there, missed, 0)
    if isinstance(truth, Scattered):
        count, *squares = (np.bincount(truth.index, A.sum(axis=1)) for A in (there, missed**2, known**2))
        norms = [np.sqrt(A) for A in squares]
    else:
        count, norms = there.sum(axis=1), [function_norms(A) for A in (missed, known)]
    errors = np.full(len(count), np.nan)
    seen = count > 0
    errors[seen] = norms[0][seen] / reference_norms(norms[1][seen])
    return errors


def _mean_of_known(parts: Any) -> Any:
    """The mean over the first axis of what is not NaN; NaN where there is nothing."""
    count = np.isfinite(parts).sum(axis=0)
    return np.where(count > 0, np.nansum(parts, axis=0) / np.maximum(count, 1), np.nan)


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
