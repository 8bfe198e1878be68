"""Inputs, outputs and coordinates from the arrays of a file, in the shapes that the library works with."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from elmonet._check import InputError
from elmonet.data.axes import point_array
from elmonet.data.lazy import by_rows, load
from elmonet.data.role_names import Axes, Roles
from elmonet.data.scattered import Scattered
from elmonet.interpolation import grid_points

__all__ = ["Assembled", "assemble"]


@dataclass(frozen=True)
class Assembled:
    """As in `OperatorData`, but what is on disk stays there."""

    u_train: Any
    s_train: Any
    u_test: Any
    s_test: Any
    sensors: np.ndarray | None
    points: np.ndarray | None
    components: tuple[str, ...] | None


def assemble(arrays: Mapping[str, Any], roles: Roles) -> Assembled:
    """Put the arrays into their roles."""
    s_train = _outputs(arrays, roles, roles.s_train)
    s_test = None if roles.s_test is None else _outputs(arrays, roles, roles.s_test)
    u_train, u_test = (_inputs(arrays, roles, names) for names in (roles.u_train, roles.u_test))
    sensors = None if roles.sensors is None else _coordinates(arrays, roles.sensors, tuple(u_train.shape[1:]))
    components = _component_names(arrays, roles, s_train)
    if roles.scattered:
        u_train, s_train = _scattered(arrays, u_train, s_train, roles.points, roles.index)
        if roles.u_test is not None:
            u_test, s_test = _scattered(arrays, u_test, s_test, roles.points_test, roles.index_test)
        return Assembled(u_train, s_train, u_test, s_test, sensors, None, components)
    points = _points(arrays, roles)
    if roles.points_test is not None and points is not None:
        own = point_array(arrays[roles.points_test])
        if not np.array_equal(own, points):
            s_test = _at_own_points(s_test, own)
    return Assembled(u_train, s_train, u_test, s_test, sensors, points, components)


def _inputs(arrays: Mapping[str, Any], roles: Roles, names: Any) -> Any:
    if isinstance(names, dict):
        return {key: _inputs(arrays, roles, name) for key, name in names.items()}
    if names is None:
        return None
    if not roles.evolution:
        return by_rows(_rows, arrays[names])
    channels = roles.components and not isinstance(roles.s_train, list)
    first = by_rows(_channels_first if channels else _rows, arrays[names], take=(0,))
    return by_rows(_squeezed, first) if first.ndim > 2 else first


def _outputs(arrays: Mapping[str, Any], roles: Roles, names: str | list[str]) -> Any:
    take = (slice(1, None),) if roles.evolution else ()
    if isinstance(names, list):
        flat = [by_rows(_flat, arrays[name], take=take) for name in names]
        return by_rows(lambda *rows: np.stack(rows, axis=-1), *flat)
    if roles.scattered:
        return by_rows(_numbers, arrays[names])
    if roles.components:
        return by_rows(_points_and_components, arrays[names], take=take)
    return by_rows(lambda rows: _squeezed(_rows(rows)), arrays[names], take=take)


def _numbers(rows: np.ndarray) -> np.ndarray:
    return rows.astype(np.uint8) if rows.dtype == bool else rows


def _rows(rows: np.ndarray) -> np.ndarray:
    """(N,) becomes (N, 1)."""
    rows = _numbers(rows)
    return rows[:, None] if rows.ndim == 1 else rows


def _squeezed(rows: np.ndarray) -> np.ndarray:
    """Without axes of length 1, but at least (N, 1)."""
    kept = [n for n in rows.shape[1:] if n > 1]
    return rows.reshape(rows.shape[0], *(kept or [1]))


def _flat(rows: np.ndarray) -> np.ndarray:
    return _numbers(rows).reshape(rows.shape[0], math.prod(rows.shape[1:]))


def _points_and_components(rows: np.ndarray) -> np.ndarray:
    """(N, ..., c) becomes (N, M, c); one component alone leaves its grid."""
    rows = _numbers(rows)
    if rows.shape[-1] == 1:
        return _squeezed(rows)
    return rows.reshape(rows.shape[0], math.prod(rows.shape[1:-1]), rows.shape[-1])


def _channels_first(rows: np.ndarray) -> np.ndarray:
    return np.moveaxis(_numbers(rows), -1, 1)


def _points(arrays: Mapping[str, Any], roles: Roles) -> np.ndarray | None:
    if roles.points is None:
        return None
    first = arrays[roles.s_train if isinstance(roles.s_train, str) else roles.s_train[0]]
    sizes = tuple(n for n in first.shape[1:] if n > 1)
    return _coordinates(arrays, roles.points, sizes, skip_first=roles.evolution)


def _coordinates(
    arrays: Mapping[str, Any], names: Axes, sizes: tuple[int, ...], *, skip_first: bool = False
) -> np.ndarray:
    """Points (M, d): listed in one array, or the grid of several; an axis without any goes from 0 to 1."""
    if isinstance(names, str):
        return point_array(arrays[names])
    axes = []
    for i, name in enumerate(names or ()):
        size = sizes[i] if i < len(sizes) else 0
        axis = np.linspace(0.0, 1.0, size) if name is None else load(arrays[name]).astype(np.float64).ravel()
        axis = axis[:size] if len(axis) == size + 1 else axis
        axes.append(axis[1:] if skip_first and i == 0 else axis)
    return grid_points(axes)


def _component_names(arrays: Mapping[str, Any], roles: Roles, s: Any) -> tuple[str, ...] | None:
    if isinstance(roles.s_train, list):
        return tuple(roles.s_train)
    dims = getattr(arrays, "dims", {}).get(roles.s_train, ())
    labels = getattr(arrays, "labels", {}).get(dims[-1]) if dims else None
    return labels if roles.components and labels and len(labels) == s.shape[-1] else None


def _scattered(
    arrays: Mapping[str, Any], u: Any, s: Any, points: Any, index: str | None
) -> tuple[Any, Scattered]:
    """Values with their points; repeated inputs are kept once."""
    where = point_array(arrays[points])
    if index is None:
        u, which = _once(u)
    else:
        which = _whole(load(arrays[index]).ravel(), index)
        first = next(iter(u.values())) if isinstance(u, dict) else u
        if which.size and which.min() == 1 and which.max() == len(first):
            which = which - 1  # counted from 1, as MATLAB does
        if which.size and which.max() >= len(first):
            raise InputError(
                f"{index} goes up to {which.max()}, but there are {len(first)} input functions, from 0."
            )
    values = load(s)
    return u, Scattered(which, where, values)


def _whole(index: np.ndarray, name: str) -> np.ndarray:
    whole = index.astype(np.int64)
    if not np.array_equal(whole, index):
        raise InputError(f"{name} must hold integers, the row of the input that each value belongs to.")
    return whole


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


def _at_own_points(s: Any, points: np.ndarray) -> Scattered:
    """Test functions that are known at other points than those for training."""
    values = load(s)
    N, M = len(values), len(points)
    values = values.reshape(N * M, -1)
    return Scattered(np.repeat(np.arange(N), M), np.tile(points, (N, 1)), values)
