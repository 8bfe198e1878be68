"""Which coordinates fit which functions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from elmonet.data.conventions import Table, axis_rank
from elmonet.data.lazy import load

__all__ = ["coordinate_axes", "count_points", "fit", "length", "point_array"]

_MOST_DIMENSIONS = 4
_MOST_COMPONENTS = 16
_TIME = axis_rank("t") or 0  # this rank and beyond


def length(shape: Sequence[int]) -> int | None:
    """How long a vector of this shape is, (n,), (1, n) or (n, 1); None for other shapes."""
    long = [n for n in shape if n > 1]
    return long[0] if len(long) == 1 and len(shape) <= 2 else None


def count_points(shape: Sequence[int]) -> int:
    """How many points an array of this shape lists: (n, d), (n,), (1, n) or a grid (..., d)."""
    vector = length(shape)
    if len(shape) < 2 or (vector is not None and shape[0] == 1):
        return math.prod(shape)
    return math.prod(shape[:-1]) if shape[-1] <= _MOST_DIMENSIONS else 0


def fit(n_points: int, shape: Sequence[int]) -> str | None:
    """How so many points belong to outputs of this shape.

    "aligned": all functions (N, ...) are known at these points; "components": so, with several values at
    each, in the last axis; "scattered": each value has its own point.

    >>> fit(800, (5, 40, 20)), fit(40, (5, 40, 2)), fit(5, (5,)), fit(7, (5, 8))
    ('aligned', 'components', 'scattered', None)
    """
    if n_points == math.prod(shape[1:]) and len(shape) > 1:
        return "aligned"
    if len(shape) > 2 and n_points == math.prod(shape[1:-1]):
        return "components"
    few = math.prod(shape[1:]) <= _MOST_COMPONENTS and len(shape) <= 2
    return "scattered" if few and n_points == shape[0] else None


def coordinate_axes(
    arrays: Mapping[str, Any],
    table: Table,
    sizes: Sequence[int],
    dims: Sequence[str],
    *,
    used: set[str],
    time_first: bool = False,
) -> tuple[str | None, ...] | None:
    """For each axis of the functions the name of its coordinates, or None; None if no axis has any.

    `sizes` are the lengths of the axes (those of length 1 do not count); `dims`, if known, their names.
    """
    pairs = [(dim, n) for dim, n in zip(dims, sizes, strict=False) if n > 1]
    named = tuple(dim if _is_axis(arrays, dim, n) else None for dim, n in pairs)
    if any(named):
        return named
    ranks = {n: axis_rank(table.key[n]) for n in arrays if n not in used and table.part[n] == ""}
    times = {n for n, rank in ranks.items() if rank is not None and rank >= _TIME}
    ordered = sorted((n for n, rank in ranks.items() if rank is not None), key=lambda n: ranks[n] or 0)
    if time_first:
        ordered.sort(key=lambda n: n not in times)
    sizes = [n for n in sizes if n > 1]
    free = {n: long for n in ordered if (long := length(arrays[n].shape)) is not None}
    if len(sizes) == 1 and sizes[0] not in free.values() and len(free) > 1:
        return tuple(free) if math.prod(free.values()) == sizes[0] else None
    found: list[str | None] = []
    for size in sizes:
        # A time axis may have one entry more than the array has times (PDEBench).
        match = next(
            (n for n, long in free.items() if long == size or (n in times and long == size + 1)), None
        )
        if match is not None:
            del free[match]
        found.append(match)
    return tuple(found) if any(found) else None


def _is_axis(arrays: Mapping[str, Any], name: str, size: int) -> bool:
    return name in arrays and tuple(arrays[name].shape) == (size,)


def point_array(array: Any) -> np.ndarray:
    """Points as (n, d), from (n, d), (n,), (1, n) or a grid (..., d)."""
    values = load(array).astype(np.float64)
    if values.ndim < 2 or (length(values.shape) is not None and values.shape[0] == 1):
        return values.reshape(-1, 1)
    return values.reshape(-1, values.shape[-1])
