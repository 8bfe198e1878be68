"""Errors of predicted functions, as reported in the literature."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from elmonet.checks import Functions, plain
from elmonet.errors import InputError

if TYPE_CHECKING:
    from sklearn.base import RegressorMixin


def relative_l2(prediction: Functions, truth: Functions, weights: ArrayLike | None = None) -> float:
    """Return the mean over functions of the relative error in the 2-norm.

    ``mean_i ||prediction_i - truth_i|| / ||truth_i||``, where row i is a function with all its values: all
    components together, in the units in which they come. The error of a function that is zero everywhere is
    relative to the root mean square of the other norms. Functions of a single value are numbers: if these
    have both signs, some are near zero by chance, and all errors are relative to their root mean square.

    `expected_error_` estimates this number for new functions.

    Parameters
    ----------
    prediction, truth : (N, M) or (N, M, c), or dictionaries of components; (M,) is one function. Points
        that are NaN in every function of both are left out.
    weights : (M,), what each point counts in the norms: ``mesh.volumes`` gives the norm of the field, however
        fine the mesh is in places. None: all points count alike.

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
    if isinstance(prediction, dict) and isinstance(truth, dict) and set(prediction) == set(truth):
        prediction, truth = (np.stack([part[name] for name in truth], -1) for part in (prediction, truth))
    predicted, true = np.asarray(plain(prediction)), np.asarray(plain(truth))
    if predicted.shape != true.shape or true.ndim == 0 or true.size == 0:
        raise InputError(
            "relative_l2 compares two arrays of the same shape (N, M), one row a function; "
            f"got prediction {predicted.shape} and truth {true.shape}."
        )
    n = len(true) if true.ndim > 1 else 1
    true = true.reshape(n, -1).astype(np.float64, copy=False)
    difference = predicted.reshape(true.shape) - true
    hole = np.isnan(true).all(axis=0) & np.isnan(difference).all(axis=0)
    if hole.any() and not hole.all():  # points without a value in any function
        true, difference = true[:, ~hole], difference[:, ~hole]
    if weights is not None:
        root = np.sqrt(np.asarray(weights, np.float64))
        if root.ndim != 1 or true.shape[1] % len(root) or not (np.isfinite(root).all() and root.any()):
            raise InputError(
                f"weights must be one number, not negative, for each point: ({true.shape[1]},); got "
                f"{root.shape}."
            )
        root = root[~hole] if len(root) == len(hole) else np.repeat(root, true.shape[1] // len(root))
        true, difference = true * root, difference * root
    return float(np.mean(function_norms(difference) / output_sizes(true)))


def neg_relative_l2(estimator: RegressorMixin, X: Functions, y: Functions) -> float:
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


def expected_relative_errors(spread: Functions, values: Functions) -> np.ndarray:
    """Return the norm of each function's spread relative to that of its values, (N,), as in `relative_l2`.

    Both are predictions: (N, M) or (N, M, c), dictionaries of components, or lists of functions. Holes, where
    both are NaN, do not count.
    """
    norms, sizes = (_norms_of_each(part) for part in (spread, values))
    numbers = np.concatenate(_each(values))
    if len(numbers) == len(sizes) and np.nanmin(numbers) < 0 < np.nanmax(numbers):
        return norms / (root_mean_square(sizes) or 1.0)
    return norms / reference_norms(sizes)


def _norms_of_each(functions: Any) -> np.ndarray:
    each = (values[~np.isnan(values)] for values in _each(functions))
    return np.array([root_mean_square(values) * np.sqrt(values.size) for values in each])


def _each(functions: Any) -> list[np.ndarray]:
    """Return the values of each function, flat."""
    if isinstance(functions, dict):
        return [np.concatenate(parts) for parts in zip(*map(_each, functions.values()), strict=True)]
    return [np.asarray(plain(one), np.float64).ravel() for one in functions]


def output_sizes(functions: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Return the sizes (N,) that errors of outputs (N, M) are relative to, as in `relative_l2`.

    A function with `weights` (N,) 2 counts as if it were there twice.
    """
    norms = function_norms(functions)
    if functions.shape[1] == 1 and functions.min() < 0 < functions.max():
        return np.full(len(norms), root_mean_square(norms, weights))
    return reference_norms(norms, weights)


def function_norms(functions: np.ndarray) -> np.ndarray:
    """Return the 2-norm of each row, safe from overflow and underflow."""
    largest = np.maximum(functions.max(axis=1), -functions.min(axis=1))
    # As in hypot: ||f|| = c ||f / c|| with c the power of two above max|f|.
    _, exponent = np.frexp(largest)
    scaled = np.ldexp(functions, -exponent[:, None])
    return np.ldexp(np.sqrt(np.einsum("ij,ij->i", scaled, scaled)), exponent)


def reference_norms(norms: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Return the norms to divide by: zeros become the root mean square of the rest (1 if all are zero)."""
    zero = norms == 0
    if not zero.any():
        return norms
    rest = root_mean_square(norms[~zero], None if weights is None else weights[~zero])
    return np.where(zero, rest or 1.0, norms)


def root_mean_square(values: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Return the root mean square, safe from overflow and underflow; 0 for no values."""
    top = float(np.abs(values).max(initial=0.0))
    return top * float(np.sqrt(np.average((values / top) ** 2, weights=weights))) if top else 0.0
