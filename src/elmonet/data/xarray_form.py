"""`OperatorData` as an ``xarray.Dataset``."""

from __future__ import annotations

from typing import Any

import numpy as np

from elmonet.data.guard import extra
from elmonet.data.scattered import Scattered

__all__ = ["to_dataset"]


def to_dataset(data: Any) -> Any:
    """Variables by the names that `read` knows; see `OperatorData.to_xarray`."""
    xarray = extra("xarray")
    variables: dict[str, Any] = {}
    coordinates: dict[str, Any] = {}
    for part, function in (("train", "function"), ("test", "test_function")):
        u, s = getattr(data, f"u_{part}"), getattr(data, f"s_{part}")
        if u is None:
            continue
        if isinstance(u, dict):
            for key, array in u.items():
                variables[f"u_{part}.{key}"] = (_dims(array, function, f"{key}_sensor"), array)
        else:
            variables[f"u_{part}"] = (_dims(u, function, "sensor"), u)
        variables.update(_outputs(data, s, part, function))
    if data.sensors is not None:
        coordinates["sensors"] = (("sensor_number", "sensor_dimension"), data.sensors)
    if data.points is not None:
        coordinates["points"] = (("point_number", "point_dimension"), data.points)
    if data.axes is not None:
        coordinates["point_dimension"] = ("point_dimension", list(data.axes))
    if data.components is not None:
        coordinates["component"] = ("component", list(data.components))
    return xarray.Dataset(variables, coordinates, {"name": data.name})


def _outputs(data: Any, s: Any, part: str, function: str) -> dict[str, Any]:
    if isinstance(s, Scattered):
        value = f"{part}_value"
        return {
            f"s_{part}": ((value, "component")[: s.values.ndim], s.values) if s.values is not None else None,
            f"index_{part}": ((value,), s.index),
            f"points_{part}": ((value, "point_dimension"), s.points),
        }
    points = None if data.points is None else len(data.points)
    vector = s.ndim == 3 and (s.shape[1] == points or (points is None and data.components is not None))
    dims = (function, "point", "component") if vector else _dims(s, function, "point")
    return {f"s_{part}": (dims, s)}


def _dims(array: np.ndarray, function: str, name: str) -> tuple[str, ...]:
    """(N, m) has the dimensions function and name; grids have name_0, name_1, ..."""
    if array.ndim == 2:
        return (function, name)
    return (function, *(f"{name}_{axis}" for axis in range(array.ndim - 1)))
