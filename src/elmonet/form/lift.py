"""Known values that a model adds to what its network gives."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from elmonet._check import InputError
from elmonet.data.scattered import Scattered
from elmonet.form.inputs import rows_of

__all__ = ["lift_at", "lift_at_own_points"]


def lift_at(lift: Any, X: Any, points: np.ndarray, n: int) -> np.ndarray:
    """The lift of n input functions X at points (M, d): (n, M), or (1, M) if it does not depend on them."""
    of_inputs = _takes_inputs(lift)
    values = np.asarray(lift(X, points) if of_inputs else lift(points), dtype=float)
    expected = (n, len(points)) if of_inputs else (len(points),)
    if values.shape != expected or not np.isfinite(values).all():
        raise InputError(
            f"the lift must give finite values of shape {expected}, for {n} functions at {len(points)} "
            f"points; it gave {values.shape}."
        )
    return values if of_inputs else values[None]


def lift_at_own_points(lift: Any, X: Any, places: Scattered) -> np.ndarray:
    """The lift of each function at points of its own, (K,)."""
    if not _takes_inputs(lift):
        return lift_at(lift, X, places.points, 1)[0]
    out = np.empty(len(places))
    for i in np.unique(places.index):
        own = places.index == i
        out[own] = lift_at(lift, rows_of(X, slice(i, i + 1)), places.points[own], 1)[0]
    return out


def _takes_inputs(lift: Any) -> bool:
    if not callable(lift):
        raise InputError(f"lift must be a function of points, or of inputs and points; got {lift!r}.")
    needed = [p for p in inspect.signature(lift).parameters.values() if p.default is p.empty]
    return len(needed) > 1
