"""Outputs in the user's shapes: components by name, scores and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import r2_score

from elmonet.checks import outputs, plain
from elmonet.data.scattered import Scattered
from elmonet.errors import InputError
from elmonet.metrics import function_norms, output_sizes, reference_norms


def named_components(y: Any) -> tuple[tuple[str, ...] | None, Any]:
    """Return the names of components that come as a dictionary, and the outputs with these as last axis."""
    if not isinstance(y, dict):
        return None, y
    try:
        parts = [np.asarray(plain(part)) for part in y.values()]
    except ValueError:
        raise InputError(
            "the components of y have rows of different lengths. If functions are known at points of their "
            "own, give one Scattered with values (K, c)."
        ) from None
    if not parts or len({part.shape for part in parts}) > 1 or parts[0].ndim < 2:
        shapes = {name: np.shape(part) for name, part in y.items()}
        raise InputError(f"the components of y must all have the same shape (N, M), got {shapes}.")
    return tuple(str(name) for name in y), np.stack(parts, axis=-1)


def by_name(y: Any, names: tuple[str, ...] | None) -> Any:
    """Return outputs with components as last axis; those of a dictionary in the order of `names`."""
    given, stacked = named_components(y)
    if given is None:
        return y
    if names is None or set(given) != set(names):
        expected = "an array without names" if names is None else f"the components {', '.join(names)}"
        raise InputError(f"y must hold {expected}, as in fit; got the components {', '.join(given)}.")
    return stacked[..., [given.index(name) for name in names]]


# Scores and errors in the user's shapes


def r2_of(predicted: Any, y: Any, sample_weight: Any = None) -> float:
    """Return R^2 over all functions and points together; components are matched by name."""
    if isinstance(predicted, list):  # records of different lengths
        return _r2_of_records(predicted, y, sample_weight)
    names, predicted = named_components(predicted)
    predicted = np.asarray(predicted)
    hole = np.isnan(predicted).all(axis=0)  # without a value in any training function
    y = outputs(by_name(y, names), len(predicted), gaps=bool(hole.any()))
    if predicted.shape != y.shape:
        raise InputError(
            f"y must have the shape of the predictions, {predicted.shape}, got {y.shape}. To compare at "
            "other points, use relative_l2(model.predict(X, points=points), y)."
        )
    predicted, y = (A.reshape(len(A), -1)[:, ~hole.ravel()] for A in (predicted, y))
    return float(r2_score(y, predicted, sample_weight=sample_weight, multioutput="variance_weighted"))


def _r2_of_records(predicted: list[np.ndarray], y: Any, sample_weight: Any) -> float:
    """Return R^2 over all steps of records of different lengths."""
    shapes = [np.shape(one) for one in predicted], [np.shape(one) for one in y]
    if shapes[0] != shapes[1]:
        raise InputError(f"y must hold records of the shapes {shapes[0]}, got {shapes[1]}.")
    lengths = [len(one) for one in predicted]
    weights = None if sample_weight is None else np.repeat(np.asarray(sample_weight, float), lengths)
    true, found = (
        np.concatenate([np.reshape(plain(one), (len(one), -1)) for one in A]) for A in (y, predicted)
    )
    return float(r2_score(true, found, sample_weight=weights, multioutput="variance_weighted"))


def relative_error(predicted: Any, truth: Any, volumes: np.ndarray | None = None) -> float | None:
    """Return the mean relative error of predictions, or None if truth has another form.

    At the points of a mesh, `volumes` (M,) weigh them.
    """
    errors = errors_of_functions(predicted, truth, volumes)
    return None if errors is None or np.isnan(errors).all() else float(np.nanmean(errors))


def errors_of_functions(predicted: Any, truth: Any, volumes: np.ndarray | None = None) -> Any:
    """Return the relative error of each function (N,), NaN where unknown; None if truth has another form.

    It is that of `relative_l2`, over the values that are known. `volumes` (M,) weigh common points; those of
    another number of points are not used.
    """
    if isinstance(truth, dict):
        if not isinstance(predicted, dict) or set(predicted) != set(truth):
            return None
        parts = [np.asarray(part, dtype=float) for part in truth.values()]
        if len({part.shape for part in parts}) > 1:
            return None
        truth, predicted = np.stack(parts, axis=-1), {name: predicted[name] for name in truth}
    predicted = np.stack(list(predicted.values()), axis=-1) if isinstance(predicted, dict) else predicted
    true: Any = truth.values if isinstance(truth, Scattered) else np.asarray(truth, dtype=float)
    if predicted.size != true.size:
        return None
    rows = (len(true), -1)
    residuals = predicted.reshape(true.shape) - true
    if volumes is not None and not isinstance(truth, Scattered) and true.shape[1:2] == volumes.shape:
        root = np.sqrt(volumes).reshape(-1, *[1] * (true.ndim - 2))
        true, residuals = true * root, residuals * root
    true, residuals = true.reshape(rows), residuals.reshape(rows)
    known = np.isfinite(true)
    true, residuals = np.where(known, true, 0), np.where(known, residuals, 0)
    if isinstance(truth, Scattered):
        count, *squares = (np.bincount(truth.index, A.sum(axis=1)) for A in (known, residuals**2, true**2))
        observed = count > 0
        norms, sizes = np.sqrt(squares[0][observed]), reference_norms(np.sqrt(squares[1][observed]))
    else:
        observed = known.any(axis=1)
        norms, sizes = function_norms(residuals[observed]), output_sizes(true[observed])
    errors = np.full(len(observed), np.nan)
    errors[observed] = norms / sizes
    return errors
