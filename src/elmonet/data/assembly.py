"""Arrays with their roles as functions: inputs (N, ...), outputs (N, M, c) or scattered, and coordinates."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from elmonet.data.lazy import last_axis_first, load, map_rows, point_array
from elmonet.data.roles import Axes, Roles
from elmonet.data.scattered import Scattered, at_own_points, long_table, parts, unique_inputs
from elmonet.errors import InputError
from elmonet.interpolation import as_grid, grid_points


def assemble(arrays: Mapping[str, Any], roles: Roles) -> dict[str, Any]:
    """Return the fields of `OperatorData`: inputs and outputs, sensors, points, and names of components."""
    u_train, u_test = (_inputs(arrays, roles, names) for names in (roles.u_train, roles.u_test))
    s_train, s_test = (_outputs(arrays, roles, names) for names in (roles.s_train, roles.s_test))
    components = _component_names(arrays, roles, s_train)
    sensors = points = None
    if roles.sensors is not None:
        sensors = _coordinates(arrays, roles.sensors, tuple(u_train.shape[1:]))
    if roles.scattered:
        u_train, s_train, points = _scattered(arrays, u_train, s_train, roles.points, roles.index)
        if roles.u_test is not None:
            u_test, s_test, _ = _scattered(arrays, u_test, s_test, roles.points_test, roles.index_test)
        sensors = sensors if isinstance(u_train, dict) or points is None else points
    elif roles.points is not None:
        first = roles.s_train if isinstance(roles.s_train, str) else roles.s_train[0]
        sizes = tuple(n for n in _functions_first(arrays, roles, first).shape[1:] if n > 1)
        points = _coordinates(arrays, roles.points, sizes, skip_first=roles.evolution)
        own = None if roles.points_test is None else point_array(arrays[roles.points_test])
        if own is not None and not np.array_equal(own, points):
            s_test = at_own_points(s_test, own)
    functions = {"u_train": u_train, "s_train": s_train, "u_test": u_test, "s_test": s_test}
    return {**functions, "sensors": sensors, "points": points, "components": components}


def _functions_first(arrays: Mapping[str, Any], roles: Roles, name: str) -> Any:
    return last_axis_first(arrays[name]) if roles.transpose else arrays[name]


def _inputs(arrays: Mapping[str, Any], roles: Roles, names: Any) -> Any:
    if isinstance(names, dict):
        return {key: _inputs(arrays, roles, name) for key, name in names.items()}
    if names is None:
        return None
    array = _functions_first(arrays, roles, names)
    if not roles.evolution:
        return map_rows(number_rows, array)
    channels = roles.components and not isinstance(roles.s_train, list)
    first = map_rows(_channels_first if channels else number_rows, array, take=(0,))
    return map_rows(_squeezed, first) if first.ndim > 2 else first


def _outputs(arrays: Mapping[str, Any], roles: Roles, names: Any) -> Any:
    if names is None:
        return None
    take = (slice(1, None),) if roles.evolution else ()
    if isinstance(names, list):
        parts = [map_rows(flat_rows, _functions_first(arrays, roles, name), take=take) for name in names]
        if roles.scattered:
            return map_rows(lambda *rows: np.concatenate(rows, axis=-1), *parts)
        return map_rows(lambda *rows: np.stack(rows, axis=-1), *parts)
    array = _functions_first(arrays, roles, names)
    if roles.scattered:
        return map_rows(_numbers, array)
    return map_rows(_points_and_components if roles.components else _grids, array, take=take)


def _numbers(rows: np.ndarray) -> np.ndarray:
    return rows.astype(np.uint8) if rows.dtype == bool else rows


def number_rows(rows: np.ndarray) -> np.ndarray:
    """Turn (N,) into (N, 1)."""
    rows = _numbers(rows)
    return rows[:, None] if rows.ndim == 1 else rows


def _squeezed(rows: np.ndarray) -> np.ndarray:
    """Drop axes of length 1, but keep at least (N, 1)."""
    sizes = [n for n in rows.shape[1:] if n > 1]
    return rows.reshape(rows.shape[0], *(sizes or [1]))


def _grids(rows: np.ndarray) -> np.ndarray:
    return _squeezed(number_rows(rows))


def flat_rows(rows: np.ndarray) -> np.ndarray:
    """Turn (N, ...) into (N, M)."""
    return _numbers(rows).reshape(rows.shape[0], math.prod(rows.shape[1:]))


def _points_and_components(rows: np.ndarray) -> np.ndarray:
    """Turn (N, ..., c) into (N, M, c), or into a grid if c = 1."""
    if rows.shape[-1] == 1:
        return _grids(rows)
    return _numbers(rows).reshape(rows.shape[0], math.prod(rows.shape[1:-1]), rows.shape[-1])


def _channels_first(rows: np.ndarray) -> np.ndarray:
    return np.moveaxis(_numbers(rows), -1, 1)


def as_images(u: Any, sensors: Any) -> Any:
    """Return rows (N, m) whose sensors are a grid in the plane, in C order, as images (N, H, W)."""
    if u is None or isinstance(u, dict) or u.ndim != 2 or sensors is None or sensors.shape[1] != 2:
        return u
    axes, order = as_grid(sensors)
    in_c_order = np.array_equal(order, np.arange(len(order)))
    if axes is None or min(len(axis) for axis in axes) < 2 or not in_c_order:
        return u
    return u.reshape(len(u), *(len(axis) for axis in axes))


def _coordinates(
    arrays: Mapping[str, Any], names: Any, sizes: tuple[int, ...], *, skip_first: bool = False
) -> np.ndarray:
    """Return points (M, d): listed in one array, or the grid of several; unnamed axes go from 0 to 1."""
    if isinstance(names, str):
        return point_array(arrays[names])
    axes = []
    for i, name in enumerate(names):
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
    arrays: Mapping[str, Any], u: Any, s: Any, points: Axes, index: str | None
) -> tuple[Any, Any, np.ndarray | None]:
    """Return inputs, each once, the values at their points, and None; `points` and `index` are names.

    Of a table whose inputs vary with the points, return inputs and outputs (N, M), and their common points.
    """
    columns = [points] if isinstance(points, str) else [name for name in points or () if name]
    where = np.concatenate([point_array(arrays[name]) for name in columns], axis=1)
    if index is None:
        u, row = unique_inputs(u)
        return u, Scattered(row, where, load(s)), None
    given = load(arrays[index]).ravel()
    if not np.array_equal(np.round(given), given):
        odd = given[np.round(given) != given][0]
        raise InputError(
            f"{index} must hold integers, the row of the input that each value belongs to; got {odd:g}. Name "
            f"another array: --index NAME, in Python read(file, index=...)."
        )
    row = given.astype(np.int64)
    n = len(next(iter(u.values())) if isinstance(u, dict) else u)
    if n == len(row) > len(np.unique(row)):
        long = long_table({key: load(rows) for key, rows in parts(u).items()}, row, where, load(s), index)
        if long is not None:
            inputs, *outputs = long
            return (inputs if isinstance(u, dict) else inputs[""]), *outputs
    if row.size and row.min() == 1 and row.max() == n:
        row = row - 1  # counted from 1, as in MATLAB
    if row.size and row.max() >= n:
        raise InputError(f"{index} goes up to {row.max()}, but there are {n} input functions, from 0.")
    return u, Scattered(row, where, load(s)), None
