"""Errors of predicted functions, as the paper and its peers report them."""

from __future__ import annotations

from typing import Any

import numpy as np

from elmonet.errors import InputError

__all__ = [
    "function_norms",
    "neg_relative_l2",
    "overall",
    "reference_norms",
    "relative_errors",
    "relative_l2",
]


def relative_l2(prediction: Any, truth: Any) -> float:
    """Mean over functions of the relative error in the 2-norm.

    ``mean_i ||prediction_i - truth_i|| / ||truth_i||``, where row i is a function. A function that
    is zero everywhere has no relative error of its own; it is measured against the root mean
    square of the other norms.

    Parameters
    ----------
    prediction, truth : (N, M) or (N, M, c); (M,) is one function.

    Examples
    --------
    >>> relative_l2([[1.0, 0.0], [0.0, 2.2]], [[1.0, 0.0], [0.0, 2.0]])
    0.05...
    """
    prediction, truth = np.asarray(prediction), np.asarray(truth)
    if prediction.shape != truth.shape or truth.ndim == 0 or truth.size == 0:
        raise InputError(
            "relative_l2 compares two arrays of the same shape (N, M), one row a function; "
            f"got prediction {prediction.shape} and truth {truth.shape}."
        )
    n = len(truth) if truth.ndim > 1 else 1
    truth = truth.reshape(n, -1).astype(np.float64, copy=False)
    difference = prediction.reshape(truth.shape) - truth
    return float(np.mean(function_norms(difference) / reference_norms(function_norms(truth))))


def neg_relative_l2(estimator: Any, X: Any, y: Any) -> float:
    """Minus `relative_l2` of ``estimator.predict(X)`` and y: give it to scikit-learn as ``scoring=``.

    Parameters
    ----------
    estimator : a fitted model.
    X, y : input functions and their outputs, as in `ELMDeepONet.fit`.
    """
    return -relative_l2(estimator.predict(X), y)


def relative_errors(missed: np.ndarray, norms: np.ndarray, points: int) -> np.ndarray:
    """The relative error of each function (N,), from the norm of what is missed and those of the outputs.

    Outputs at a single point are numbers, some of them near zero by chance; there all of them together
    count as one function.
    """
    if points == 1:
        return missed / (np.sqrt(np.mean(norms**2)) or 1.0)
    return missed / reference_norms(norms)


def overall(errors: np.ndarray, points: int) -> Any:
    """One number for the `relative_errors` (..., N) of all functions."""
    return np.sqrt(np.mean(errors**2, axis=-1)) if points == 1 else np.mean(errors, axis=-1)


def function_norms(functions: np.ndarray) -> np.ndarray:
    """2-norm of each row, safe from overflow and underflow."""
    largest = np.maximum(functions.max(axis=1), -functions.min(axis=1))
    # hypot's trick, a row at a time: ||f|| = c ||f / c|| with c the power of two above max|f|.
    _, exponent = np.frexp(largest)
    scaled = np.ldexp(functions, -exponent[:, None])
    return np.ldexp(np.sqrt(np.einsum("ij,ij->i", scaled, scaled)), exponent)


def reference_norms(norms: np.ndarray) -> np.ndarray:
    """The norms to divide by: zeros become the root mean square of the rest (1 if all are zero)."""
    zero = norms == 0
    if not zero.any():
        return norms
    rest = norms[~zero]
    top = rest.max() if rest.size else 1.0
    return np.where(zero, top * np.sqrt(np.mean((rest / top) ** 2)) if rest.size else 1.0, norms)
