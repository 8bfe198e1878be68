"""Predicted fields on their mesh, as files that ParaView opens: one per run, and a .pvd that lists them."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from elmonet.data.dataset import Labels
from elmonet.data.formats.mesh import write_mesh
from elmonet.data.limits import require_extra
from elmonet.data.mesh import DISPLACEMENT, Mesh
from elmonet.errors import FileError, InputError
from elmonet.interpolation import as_grid
from elmonet.store import atomic_write, writable_path

FIELD_ENDINGS = (".vtu", ".vtk", ".xdmf")
_LIST = "predictions.pvd"
_PVD = """<?xml version="1.0"?>
<VTKFile type="Collection" version="0.1">
<Collection>
{}
</Collection>
</VTKFile>
"""


def mesh_of_points(points: np.ndarray) -> Mesh:
    """Return a mesh of points (M, d): squares of a grid in the plane, else single points.

    Raises
    ------
    InputError : if the points have more than three coordinates.
    """
    if points.shape[1] > 3:
        raise InputError(f"points in {points.shape[1]}-D are not on a mesh. Write npz, h5, zarr or nc.")
    nodes = points if points.shape[1] > 1 else np.column_stack([points, np.zeros(len(points))])
    axes, order = as_grid(points)
    if points.shape[1] == 2 and axes is not None and min(map(len, axes)) > 1:
        at = np.asarray(order).reshape(len(axes[0]), len(axes[1]))
        corners = (at[:-1, :-1], at[1:, :-1], at[1:, 1:], at[:-1, 1:])
        return Mesh(nodes, (("quad", np.stack(corners, axis=-1).reshape(-1, 4)),))
    return Mesh(nodes, (("vertex", np.arange(len(nodes))[:, None]),))


def require_field_place(path: Path) -> None:
    """Raise `FileError` unless fields on a mesh can be written to a file, or to a folder (no ending)."""
    require_extra("meshio", "mesh")
    target = writable_path(path, folder=not path.suffix)
    if not path.suffix and target.is_dir():
        others = [
            e.name
            for e in target.iterdir()
            if e.suffix not in (".vtu", ".pvd", ".xdmf") and e.name != "design.csv"
        ]
        if others:
            raise FileError(
                f"cannot write {str(path)!r}: the folder holds other files ({others[0]}), which would be "
                "lost. Name a new folder."
            )


def write_fields(
    path: str | os.PathLike[str],
    labels: Labels,
    points: np.ndarray,
    values: Mapping[str, Any],
    table: Mapping[str, np.ndarray] | None = None,
) -> list[str]:
    """Write fields on a mesh: to one file (vtu, vtk, xdmf) if there is one function, else to a folder.

    Parameters
    ----------
    path : file, or a name without ending for a folder: 0001.vtu, 0002.vtu, ... and predictions.pvd.
    labels : names, units and mesh; without a mesh, that of the points.
    points : (M, d), where values are known.
    values : arrays (n, ...) or dictionaries of components, by what follows the names: "", "_lower", ...
    table : numbers (n,) by name, written to design.csv in the folder, beside the names of the files.

    Returns
    -------
    names : of the fields in each file.
    """
    path = Path(path)
    mesh = mesh_of_points(points) if labels.mesh is None else labels.mesh
    M = len(mesh.points)
    fields: dict[str, np.ndarray] = {}
    for end, given in values.items():
        for name, array in _by_name(labels, given, M).items():
            fields[f"{name}{end}"] = array
    units = {name: labels.units.get(_stem(name, values), "") for name in fields}
    n = len(next(iter(fields.values())))
    if mesh.times is not None and path.suffix not in ("", ".xdmf"):
        raise InputError(f"{str(path)!r} has no time steps. Write xdmf, or name a folder.")
    if path.suffix and n > 1:
        raise InputError(
            f"{str(path)!r} can hold one function, and there are {n}. Name a folder, such as "
            f"{str(path.with_suffix(''))!r}."
        )
    names: list[str] = []
    with atomic_write(path, folder=not path.suffix) as new:
        if path.suffix:
            names = _write_one(new, mesh, fields, units, 0)
        else:
            new.mkdir()
            digits = max(4, int(math.log10(n)) + 1)
            ending = "vtu" if mesh.times is None else "xdmf"
            files = [f"{i + 1:0{digits}d}.{ending}" for i in range(n)]
            for i, file in enumerate(files):
                names = _write_one(new / file, mesh, fields, units, i)
            if table:
                _write_table(new / "design.csv", table, files, labels)
            if mesh.times is None:
                listed = [f'<DataSet timestep="{i}" part="0" file="{file}"/>' for i, file in enumerate(files)]
                (new / _LIST).write_text(_PVD.format("\n".join(listed)), encoding="utf-8")
    return names


def _write_table(path: Path, table: Mapping[str, np.ndarray], files: list[str], labels: Labels) -> None:
    """Write a row for each run: the name of its file, and its numbers."""
    columns = {name: np.asarray(column).reshape(len(files), -1) for name, column in table.items()}
    names = [
        labels.with_unit(name if part.shape[1] == 1 else f"{name}{k}")
        for name, part in columns.items()
        for k in range(part.shape[1])
    ]
    rows = np.concatenate(list(columns.values()), axis=1)
    lines = [f"{file}," + ",".join(f"{x:.17g}" for x in row) for file, row in zip(files, rows, strict=True)]
    path.write_text("\n".join([",".join(["file", *names]), *lines]) + "\n", encoding="utf-8")


def _by_name(labels: Labels, given: Any, M: int) -> dict[str, np.ndarray]:
    """Return components (n, M) by name."""
    if isinstance(given, Mapping):
        return {str(name): np.asarray(array).reshape(len(array), M) for name, array in given.items()}
    array = np.asarray(given)
    if array[0].size == M:
        return {labels.output or "s": array.reshape(len(array), M)}
    parts = array.reshape(len(array), M, -1)
    names = labels.components or tuple(f"{labels.output or 's'}{k}" for k in range(parts.shape[2]))
    return {name: parts[:, :, k] for k, name in enumerate(names)}


def _stem(name: str, values: Mapping[str, Any]) -> str:
    return next((name.removesuffix(end) for end in values if end and name.endswith(end)), name)


def _vector(name: str, fields: Mapping[str, Any]) -> tuple[str, list[str]] | None:
    """Return the vector that a component belongs to, v_lower for ``v_x_lower``, and its components."""
    found = re.fullmatch(r"(.+)_([xyz])(|_lower|_upper|_half_width)", name)
    if found is None:
        return None
    parts = [f"{found[1]}_{k}{found[3]}" for k in "xyz"]
    own = [part for part in parts if part in fields]
    return (f"{found[1]}{found[3]}", own) if own[:2] == parts[:2] else None


def _write_one(
    path: Path, mesh: Mesh, fields: Mapping[str, np.ndarray], units: Mapping[str, str], i: int
) -> list[str]:
    """Write one function; components of a vector together. Return the names of the fields."""
    shown: dict[str, np.ndarray] = {}
    own_units: dict[str, str] = {}
    for name, array in fields.items():
        vector = _vector(name, fields)
        label, parts = vector or (name, [name])
        shown[label] = np.column_stack([fields[part][i] for part in parts]) if vector else array[i]
        own_units[label] = units[name]
    if mesh.moving:
        moved = [fields[f"{DISPLACEMENT}_{'xyz'[k]}"][i] for k in mesh.coordinates]
        mesh = mesh.moved(np.column_stack(moved))
    write_mesh(path, mesh, shown, own_units)
    return list(shown)
