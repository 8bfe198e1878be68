"""Outputs of which each value, or each test function, has its own points, as `Scattered`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from elmonet._check import InputError
from elmonet.data.lazy import load, point_array
from elmonet.data.scattered import Scattered

__all__ = ["at_own_points", "scattered"]


def scattered(
    arrays: Mapping[str, Any], u: Any, s: Any, points: Any, index: str | None
) -> tuple[Any, Scattered]:
    """Inputs, and values with their points (a name, as `index`); repeated inputs are kept once."""
    if index is None:
        u, which = _once(u)
    else:
        which = _integers(load(arrays[index]).ravel(), index)
        n = len(next(iter(u.values())) if isinstance(u, dict) else u)
        if which.size and which.min() == 1 and which.max() == n:
            which = which - 1  # counted from 1, as MATLAB does
        if which.size and which.max() >= n:
            raise InputError(f"{index} goes up to {which.max()}, but there are {n} input functions, from 0.")
    return u, Scattered(which, point_array(arrays[points]), load(s))


def at_own_points(s: Any, points: np.ndarray) -> Scattered:
    """Functions (N, M, ...) at other points (M, d) than those for training."""
    values = load(s)
    N, M = len(values), len(points)
    return Scattered(np.repeat(np.arange(N), M), np.tile(points, (N, 1)), values.reshape(N * M, -1))


def _integers(index: np.ndarray, name: str) -> np.ndarray:
    integers = index.astype(np.int64)
    if not np.array_equal(integers, index):
        raise InputError(f"{name} must hold whole numbers, the row of the input that each value belongs to.")
    return integers


def _once(u: Any) -> tuple[Any, np.ndarray]:
    """Inputs without repetition, in the order in which they come first, and which one each row was."""
    parts = u if isinstance(u, dict) else {"": u}
    loaded = {key: np.ascontiguousarray(load(rows)) for key, rows in parts.items()}
    flat = np.concatenate([rows.reshape(len(rows), -1).view(np.uint8) for rows in loaded.values()], axis=1)
    begins = np.append(True, (flat[1:] != flat[:-1]).any(axis=1))  # runs of the same input are counted once
    kept = np.ascontiguousarray(flat[begins])
    whole = kept.view(np.dtype((np.void, kept.shape[1]))).ravel()
    _, first, which = np.unique(whole, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    rows = np.flatnonzero(begins)[first[order]]
    once = {key: array[rows] for key, array in loaded.items()}
    return (once if isinstance(u, dict) else once[""]), rank[which.ravel()][np.cumsum(begins) - 1]
