"""Functions in columns, as MATLAB users have them, where the lengths of the arrays do not give them away."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from elmonet._check import FunctionsInColumnsWarning

__all__ = ["warn_of_columns"]

_ENOUGH = 8  # rows and columns, below which nothing can be said
_SMOOTH = 0.1  # times the roughness across, below which values along an axis belong to one function
_UNRELATED = 1.0  # roughness of values that have little to do with each other; 2 if nothing


def warn_of_columns(X: np.ndarray, y: np.ndarray, points: Any) -> None:
    """Warn if inputs X (N, m) and outputs y (N, M) vary smoothly down the columns, and wildly along the rows.

    Only where the lengths leave it open: without points, or with as many points as functions.
    """
    if X.ndim != 2 or y.ndim != 2 or (points is not None and len(y) != y.shape[1]):
        return
    if min(*X.shape, *y.shape) < _ENOUGH or np.isnan(y).any():
        return
    for A in (X, y):
        down, along = _roughness(A, 0), _roughness(A, 1)
        if along < _UNRELATED or down > _SMOOTH * along:
            return
    warnings.warn(
        f"X {X.shape} and y {y.shape} vary smoothly down their columns and not along their rows: do they "
        "hold one function per column, as in MATLAB? Then call fit(X.T, y.T, ...): here a row is a function.",
        FunctionsInColumnsWarning,
        stacklevel=5,
    )


def _roughness(A: np.ndarray, axis: int) -> float:
    """The mean squared step along an axis, of the variance: 0 if smooth, 2 if neighbours are unrelated."""
    with np.errstate(over="ignore"):
        steps, variance = np.mean(np.diff(A, axis=axis) ** 2), np.var(A)
    return float(steps / variance) if 0 < variance < np.inf else 0.0
