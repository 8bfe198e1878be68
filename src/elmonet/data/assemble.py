"""Arrays in their roles, in the shapes that the library works with; what is on disk stays there."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from elmonet.data.lazy import by_rows, last_axis_first, load, point_array
from elmonet.data.own_points import at_own_points, scattered
from elmonet.data.understand import Roles
from elmonet.interpolation import as_grid, grid_points

__all__ = ["as_images", "assemble", "flat"]


def assemble(arrays: Mapping[str, Any], roles: Roles) -> dict[str, Any]:
    """The fields of `OperatorData`: inputs and outputs, sensors, points, and names of components."""
    u_train, u_test = (_inputs(arrays, roles, names) for names in (roles.u_train, roles.u_test))
    s_train, s_test = (_outputs(arrays, roles, names) for names in (roles.s_train, roles.s_test))
    parts: dict[str, Any] = {
        "sensors": None,
        "points": None,
        "components": _component_names(arrays, roles, s_train),
    }
    if roles.sensors is not None:
        parts["sensors"] = _coordinates(arrays, roles.sensors, tuple(u_train.shape[1:]))
    if roles.scattered:
        u_train, s_train = scattered(arrays, u_train, s_train, roles.points, roles.index)
        if roles.u_test is not None:
            u_test, s_test = scattered(arrays, u_test, s_test, roles.points_test, roles.index_test)
    elif roles.points is not None:
        first = roles.s_train if isinstance(roles.s_train, str) else roles.s_train[0]
        sizes = tuple(n for n in _functions(arrays, roles, first).shape[1:] if n > 1)
        parts["points"] = _coordinates(arrays, roles.points, sizes, skip_first=roles.evolution)
        own = None if roles.points_test is None else point_array(arrays[roles.points_test])
        if own is not None and not np.array_equal(own, parts["points"]):
            s_test = at_own_points(s_test, own)
    return parts | {"u_train": u_train, "s_train": s_train, "u_test": u_test, "s_test": s_test}


def _functions(arrays: Mapping[str, Any], roles: Roles, name: str) -> Any:
    return last_axis_first(arrays[name]) if roles.transpose else arrays[name]


def _inputs(arrays: Mapping[str, Any], roles: Roles, names: Any) -> Any:
    if isinstance(names, dict):
        return {key: _inputs(arrays, roles, name) for key, name in names.items()}
    if names is None:
        return None
    array = _functions(arrays, roles, names)
    if not roles.evolution:
        return by_rows(_rows, array)
    channels = roles.components and not isinstance(roles.s_train, list)
    first = by_rows(_channels_first if channels else _rows, array, take=(0,))
    return by_rows(_squeezed, first) if first.ndim > 2 else first


def _outputs(arrays: Mapping[str, Any], roles: Roles, names: Any) -> Any:
    if names is None:
        return None
    take = (slice(1, None),) if roles.evolution else ()
    if isinstance(names, list):
        parts = [by_rows(flat, _functions(arrays, roles, name), take=take) for name in names]
        return by_rows(lambda *rows: np.stack(rows, axis=-1), *parts)
    array = _functions(arrays, roles, names)
    if roles.scattered:
        return by_rows(_numbers, array)
    return by_rows(_points_and_components if roles.components else _grids, array, take=take)


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


def _grids(rows: np.ndarray) -> np.ndarray:
    return _squeezed(_rows(rows))


def flat(rows: np.ndarray) -> np.ndarray:
    """(N, ...) becomes (N, M)."""
    return _numbers(rows).reshape(rows.shape[0], math.prod(rows.shape[1:]))


def _points_and_components(rows: np.ndarray) -> np.ndarray:
    """(N, ..., c) becomes (N, M, c); one component alone leaves its grid."""
    if rows.shape[-1] == 1:
        return _grids(rows)
    return _numbers(rows).reshape(rows.shape[0], math.prod(rows.shape[1:-1]), rows.shape[-1])


def _channels_first(rows: np.ndarray) -> np.ndarray:
    return np.moveaxis(_numbers(rows), -1, 1)


def as_images(u: Any, sensors: Any) -> Any:
    """Rows (N, m) at sensors that are a grid of a plane, row by row, as images (N, H, W)."""
    if u is None or isinstance(u, dict) or u.ndim != 2 or sensors is None or sensors.shape[1] != 2:
        return u
    axes, order = as_grid(sensors)
    row_by_row = np.array_equal(order, np.arange(len(order)))
    if axes is None or min(len(axis) for axis in axes) < 2 or not row_by_row:
        return u
    return u.reshape(len(u), *(len(axis) for axis in axes))


def _coordinates(
    arrays: Mapping[str, Any], names: Any, sizes: tuple[int, ...], *, skip_first: bool = False
) -> np.ndarray:
    """Points (M, d): listed in one array, or the grid of several; an axis without any goes from 0 to 1."""
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
