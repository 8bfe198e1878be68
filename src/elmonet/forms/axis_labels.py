"""Labels of rows and axes, of pandas and xarray, which must not contradict the positions."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np

from elmonet.errors import InputError


class AxisLabels(NamedTuple):
    """Names of the axes of a DataArray, functions first, and what their coordinates are.

    Attributes
    ----------
    names : of all axes.
    orders : fingerprints of the coordinates of each axis but the first; "" where it has none.
    sets : the same, of the sorted coordinates.
    """

    names: tuple[str, ...]
    orders: tuple[str, ...]
    sets: tuple[str, ...]


def axis_labels(X: Any) -> AxisLabels | None:
    """Return the labels of an ``xarray.DataArray``; None for any other array."""
    if not (hasattr(X, "dims") and hasattr(X, "coords") and hasattr(X, "transpose")):
        return None
    coords = [np.asarray(X.coords[name]) if name in X.coords else None for name in X.dims[1:]]
    orders = tuple("" if own is None else _fingerprint(own) for own in coords)
    sets = tuple("" if own is None else _fingerprint(np.sort(own)) for own in coords)
    return AxisLabels(tuple(map(str, X.dims)), orders, sets)


def restored_axes(record: Any) -> AxisLabels | None:
    """Return the labels that a file holds as lists."""
    return None if record is None else AxisLabels(*(tuple(part) for part in record))


def require_same_axes(known: AxisLabels | None, X: Any) -> None:
    """Raise `InputError` for a DataArray whose axes, or values along one, are in another order."""
    own = None if known is None else axis_labels(X)
    if known is None or own is None or len(own.names) != len(known.names):
        return
    if not set(known.names[1:]) <= set(own.names):
        return  # other names, which say nothing
    if own.names[1:] != known.names[1:]:
        call = ", ".join(["...", *map(repr, known.names[1:])])
        raise InputError(
            f"X has the dimensions {own.names}, those of fit were {known.names}: give X.transpose({call})."
        )
    for name, order, before, values, once in zip(
        known.names[1:], own.orders, known.orders, own.sets, known.sets, strict=True
    ):
        if order != before and values == once:
            raise InputError(
                f"X has the coordinates of {name!r} in another order than in fit, and values are used by "
                f"position. Give X.reindex({name}=...) with the coordinates of the training inputs."
            )


def require_paired(X: Any, y: Any) -> None:
    """Raise `InputError` for rows of inputs and outputs whose labels, of pandas or xarray, do not agree."""
    for part in X.values() if isinstance(X, dict) else (X,):
        _require_same_index(part, y)
        _require_same_functions(part, y)


def _require_same_index(X: Any, y: Any) -> None:
    first, second = (getattr(A, "index", None) for A in (X, y))
    if first is None or second is None or not (hasattr(first, "equals") and hasattr(second, "equals")):
        return
    if len(first) == len(second) and not first.equals(second):
        raise InputError(
            "the rows of X and y have different labels (index), and rows are paired by position. Give "
            "y.loc[X.index] to pair them by label, or y.to_numpy() if they belong together so."
        )


def _require_same_functions(X: Any, y: Any) -> None:
    own, other = axis_labels(X), axis_labels(y)
    if own is None or other is None:
        return
    if own.names[0] == other.names[0]:
        _require_same_coordinate(own.names[0], X, y)
        return
    shared = [name for name in (own.names[0], other.names[0]) if name in own.names and name in other.names]
    if shared:
        which = "y" if shared[0] == own.names[0] else "X"
        raise InputError(
            f"X has the dimensions {own.names} and y {other.names}; the first counts the functions of both. "
            f"Give {which}.transpose({shared[0]!r}, ...)."
        )


def _require_same_coordinate(name: str, X: Any, y: Any) -> None:
    first, second = (np.asarray(A.coords[name]) if name in A.coords else None for A in (X, y))
    if first is None or second is None or first.shape != second.shape or np.array_equal(first, second):
        return
    raise InputError(
        f"X and y have different coordinates along {name!r}, and rows are paired by position. Give "
        f"y.sel({name}=X[{name!r}]) to pair them by label, or y.to_numpy() if they belong together so."
    )


def _fingerprint(values: np.ndarray) -> str:
    values = values.astype(np.float64) if values.dtype.kind in "iuf" else values.astype(str)
    return blake2b(np.ascontiguousarray(values).tobytes(), digest_size=8).hexdigest()
