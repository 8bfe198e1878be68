"""Errors of predicted functions, as reported in the literature."""

from __future__ import annotations

from typing import Any

import numpy as np

from elmonet.checks import plain
from elmonet.errors import InputError


def relative_l2(prediction: Any, truth: Any) -> float:
    """Return the mean over functions of the relative error in the 2-norm.

    ``mean_i ||prediction_i - truth_i|| / ||truth_i||``, where row i is a function. The error of a function
    that is zero everywhere is relative to the root mean square of the other norms.

    Parameters
    ----------
    prediction, truth : (N, M) or (N, M, c); (M,) is one function.

    Returns
    -------
    error : a number; 0.01 is 1 %.

    Raises
    ------
    InputError : if the shapes differ, or there are no values.

    Examples
    --------
    >>> relative_l2([[1.0, 0.0], [0.0, 2.2]], [[1.0, 0.0], [0.0, 2.0]])
    0.05...
    """
    prediction, truth = np.asarray(plain(prediction)), np.asarray(plain(truth))
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
    """Return minus `relative_l2` of ``estimator.predict(X)`` and y, for scikit-learn's ``scoring=``.

    Parameters
    ----------
    estimator : a fitted model.
    X, y : input functions and their outputs, as in `ELMDeepONet.fit`.

    Returns
    -------
    score : a number; larger is better.
    """
    return -relative_l2(estimator.predict(X), y)


def relative_errors(residuals: np.ndarray, norms: np.ndarray, points: int) -> np.ndarray:
    """Return the relative error of each function, from norms of residuals (..., N) and of outputs (N,).

    Outputs at a single point are numbers, some of them near zero by chance; there all functions are relative
    to the same root mean square.
    """
    if points == 1:
        return residuals / (np.sqrt(np.mean(norms**2)) or 1.0)
    return residuals / reference_norms(norms)


def overall(errors: np.ndarray, points: int, weights: np.ndarray | None = None) -> Any:
    """Return the overall error of `relative_errors` (..., N): the mean, or for one point the RMS."""
    if points == 1:
        return np.sqrt(np.average(errors**2, axis=-1, weights=weights))
    return np.average(errors, axis=-1, weights=weights)


def function_norms(functions: np.ndarray) -> np.ndarray:
    """Return the 2-norm of each row, safe from overflow and underflow."""
    largest = np.maximum(functions.max(axis=1), -functions.min(axis=1))
    # As in hypot: ||f|| = c ||f / c|| with c the power of two above max|f|.
    _, exponent = np.frexp(largest)
    scaled = np.ldexp(functions, -exponent[:, None])
    return np.ldexp(np.sqrt(np.einsum("ij,ij->i", scaled, scaled)), exponent)


def reference_norms(norms: np.ndarray) -> np.ndarray:
    """Return the norms to divide by: zeros become the root mean square of the rest (1 if all are zero)."""
    zero = norms == 0
    if not zero.any():
        return norms
    rest = norms[~zero]
    top = rest.max() if rest.size else 1.0
    return np.where(zero, top * np.sqrt(np.mean((rest / top) ** 2)) if rest.size else 1.0, norms)
