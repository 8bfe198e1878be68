"""A data set as arrays by its own names, and the note that says what they are: roles, units and coordinates.

The note is JSON in the array ``elmonet_note``, as bytes, or in the first comment of a table. A file that has
one is read without guessing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from elmonet.data.dataset import Labels, OperatorData
from elmonet.data.formats.text import NOTE
from elmonet.data.lazy import Arrays, load
from elmonet.data.mesh import Mesh
from elmonet.data.scattered import Scattered
from elmonet.errors import FileError, InputError
from elmonet.interpolation import as_grid

_MAX_NOTE = 1 << 26  # bytes


def named_arrays(data: OperatorData, *, long: bool = False) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return the arrays of a data set by their own names, and the note on them.

    `long`: columns with a row for each value. Raises `InputError` if two things have the same name.
    """
    u = data.u_train if isinstance(data.u_train, dict) else {"": data.u_train}
    numbers = all(isinstance(part, list) or math.prod(part.shape[1:]) == 1 for part in u.values())
    if isinstance(data.s_train, Scattered) and not (numbers and data.s_test is None):
        return data.to_arrays(), _note(data, {})
    if isinstance(data.s_train, (list, Scattered)) or long:
        return _long(data)
    arrays: dict[str, np.ndarray] = {}
    roles: dict[str, Any] = {"input": [], "output": []}
    coordinates, axes = _coordinates(data)
    parts = ("train", "test") if data.u_test is not None else ("",)
    for part in parts:
        at = part or "train"
        end = f"_{part}" if part else ""
        u, s = getattr(data, f"u_{at}"), load(getattr(data, f"s_{at}"))
        for name, array in (u if isinstance(u, dict) else {data.input or "u": u}).items():
            own = load(array)
            _add(arrays, f"{name}{end}", own[:, 0] if own.shape[1:] == (1,) else own)
            roles["input"].append(name)
        names = data.components or (data.output or "s",)
        for k, name in enumerate(names):
            own = s[..., k] if data.components is not None else s
            if len(axes) > 1:
                own = own.reshape(len(own), *(len(axis) for axis in axes))
            _add(arrays, f"{name}{end}", own)
            roles["output"].append(name)
    roles = {flag: list(dict.fromkeys(names)) for flag, names in roles.items()}
    for name, array in coordinates.items():
        _add(arrays, name, array)
    if coordinates:
        roles["points"] = list(coordinates)
    if data.sensors is not None and not isinstance(data.u_train, dict):
        grid = len(axes) > 1 and np.array_equal(data.sensors, data.points)
        if grid:
            roles["sensors"] = list(coordinates)
        else:
            _add(arrays, "sensors", np.asarray(data.sensors))
            roles["sensors"] = ["sensors"]
    note = _note(data, roles)
    if data.mesh is not None:
        of_mesh: dict[str, np.ndarray] = {}
        note["mesh"] = data.mesh.to_store(of_mesh)
        for name, array in of_mesh.items():
            _add(arrays, _underscored(name), array)
    return arrays, note


def named_predictions(
    labels: Labels, points: np.ndarray, arrays: Mapping[str, np.ndarray], ends: tuple[str, ...]
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return predictions (N, ...) by name with their coordinates, and the note with names and units.

    Points of a grid become its axes; `ends` follow the names of what has the unit of another array.
    """
    axes, order = as_grid(points) if points.shape[1] > 1 else ([points[:, 0]], np.arange(len(points)))
    named = labels.axes if labels.axes is not None and len(labels.axes) == points.shape[1] else None
    grid = axes is not None and np.array_equal(order, np.arange(len(points)))
    if grid and axes is not None and (named is not None or points.shape[1] == 1):
        coordinates = dict(zip(named or ("points",), axes, strict=True))
    else:
        coordinates = {"points": points}
    sizes = tuple(len(axis) for axis in coordinates.values())
    found = {
        name: own.reshape(len(own), *sizes) if math.prod(own.shape[1:]) == math.prod(sizes) else own
        for name, own in ((name, np.asarray(array)) for name, array in arrays.items())
    }
    units = dict(labels.units)
    for name in found:
        stem = next((name.removesuffix(end) for end in ends if end and name.endswith(end)), name)
        if units.get(stem):
            units[name] = units[stem]
    roles = {"output": list(found), "points": list(coordinates)}
    note = {"roles": roles, "units": units, "axes": None if named is None else list(named), "name": ""}
    return found | coordinates, note


def _underscored(name: str) -> str:
    """Return the name of an array of a mesh, as every format can hold it."""
    return name.replace(".", "_")


def _note(data: OperatorData, roles: dict[str, Any]) -> dict[str, Any]:
    short = {flag: names[0] if len(names) == 1 else names for flag, names in roles.items() if names}
    axes = None if data.axes is None else list(data.axes)
    return {"roles": short, "units": dict(data.units), "axes": axes, "name": data.name}


def _add(arrays: dict[str, np.ndarray], name: str, array: np.ndarray) -> None:
    if name in arrays:
        raise InputError(f"two arrays of this data set are called {name!r}. Rename one.")
    arrays[name] = array


def _coordinates(data: OperatorData) -> tuple[dict[str, np.ndarray], list[np.ndarray]]:
    """Return points by name: an axis each if they form a grid in the order of the outputs, else a list."""
    if data.points is None:
        return {}, []
    points = np.asarray(data.points)
    if points.shape[1] == 1:
        return {data.axes[0] if data.axes else "points": points[:, 0]}, [points[:, 0]]
    axes, order = as_grid(points)
    sizes = () if axes is None else tuple(len(axis) for axis in axes)
    s = data.s_train.shape[1:]
    in_order = axes is not None and np.array_equal(order, np.arange(len(points)))
    if axes is not None and in_order and data.axes and math.prod(s[: len(sizes)]) in (math.prod(sizes), s[0]):
        return dict(zip(data.axes, axes, strict=True)), axes
    return {"points": points}, []


def _long(data: OperatorData) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return columns with a row for each value: the number of the run, coordinates, inputs, outputs."""
    if data.u_test is not None:
        raise InputError(
            "a long table holds one set of functions, and these are training and test functions."
        )
    s, names = data.s_train, data.components or (data.output or "s",)
    if isinstance(s, list):
        arrays = data.to_arrays()
        axis = data.axes[0] if data.axes else "t"
        inputs = list(data.u_train) if isinstance(data.u_train, dict) else [data.input or "u"]
        roles = {"input": inputs, "output": [data.output or "s"], "points": [axis], "index": ["run"]}
        return arrays, _note(data, roles)
    if isinstance(s, Scattered):
        index, points, values = s.index, s.points, s.values
        assert values is not None
    else:
        rows = load(s)
        n, M = len(rows), math.prod(rows.shape[1:]) // len(names)
        points = np.tile(np.arange(M)[:, None] if data.points is None else data.points, (n, 1))
        index, values = np.repeat(np.arange(n), M), rows.reshape(n * M, -1)
    values = values.reshape(len(index), -1)
    axes = list(data.axes or "xyz"[: points.shape[1]])
    arrays = {"run": index} | {axis: points[:, k] for k, axis in enumerate(axes)}
    u = data.u_train if isinstance(data.u_train, dict) else {data.input or "u": data.u_train}
    for name, part in u.items():
        part = load(part)
        if math.prod(part.shape[1:]) > 1:
            raise InputError(
                f"a long table holds inputs that are numbers; {name} has the shape {part.shape[1:]}."
            )
        _add(arrays, name, part.reshape(len(part))[index])
    for k, name in enumerate(names):
        _add(arrays, name, values[:, k])
    known = np.isfinite(values).any(axis=1)
    arrays = {name: column[known] for name, column in arrays.items()}
    roles = {"input": list(u), "output": list(names), "points": axes, "index": ["run"]}
    return arrays, _note(data, roles)


def note_as_array(note: Mapping[str, Any]) -> np.ndarray:
    """Return a note as bytes."""
    return np.frombuffer(json.dumps(note).encode(), np.uint8).copy()


def _take_mesh(arrays: Arrays, record: dict[str, Any]) -> None:
    """Make the mesh of its arrays, which are removed."""
    own = {
        name: load(arrays.pop(name))
        for name in list(arrays)
        if name.startswith(("mesh_nodes", "mesh_cells_"))
    }
    try:
        parts = {"mesh.nodes": own["mesh_nodes"]}
        parts |= {f"mesh.cells.{i}": own[f"mesh_cells_{i}"] for i in range(len(record["kinds"]))}
        arrays.mesh = Mesh.from_store(record, parts)
    except (KeyError, TypeError, ValueError) as error:
        raise FileError(f"the mesh in this file is damaged ({type(error).__name__}: {error}).") from None
    outputs = arrays.roles.get("output") or []
    if arrays.mesh.on_cells:
        arrays.on_cells |= {outputs} if isinstance(outputs, str) else set(outputs)


def take_note(arrays: Arrays) -> None:
    """Apply the note of a file to its arrays, and remove it."""
    array = arrays.pop(NOTE, None)
    if array is not None:
        content = load(array).ravel()
        if content.size <= _MAX_NOTE:
            apply_note(arrays, bytes(content.astype(np.uint8)).decode("utf-8", "replace"))


def apply_note(arrays: Arrays, text: str) -> None:
    """Apply a note: roles, units and names, and the coordinates that a table has no place for.

    Raises
    ------
    FileError : if it is not the note of an elmonet file.
    """
    try:
        note = json.loads(text)
        roles = {str(flag): names for flag, names in note["roles"].items()}
        units = {str(name): str(unit) for name, unit in note["units"].items()}
        more = {str(name): np.asarray(each, dtype=float) for name, each in note.get("arrays", {}).items()}
        axes = note.get("axes")
        given = [name for names in roles.values() for name in ([names] if isinstance(names, str) else names)]
        if not all(isinstance(name, str) for name in (*given, *(axes or ()))):
            raise TypeError("names must be text")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FileError(
            f"the note of elmonet in this file is damaged ({type(error).__name__}: {error})."
        ) from None
    arrays.update(more)
    for name, shape in note.get("shapes", {}).items():
        if name in arrays and all(isinstance(n, int) and n > 0 for n in shape):
            own = load(arrays[name])
            if own.ndim == 2 and own.shape[1] == math.prod(shape):
                arrays[name] = own.reshape(len(own), *shape)
    arrays.roles = {
        flag: names[0] if flag == "index" and not isinstance(names, str) else names
        for flag, names in roles.items()
    }
    arrays.units |= units
    if axes:
        arrays.columns["points"] = tuple(axes)
    if isinstance(mesh := note.get("mesh"), dict):
        _take_mesh(arrays, mesh)
