"""Files of meshes, through meshio: VTU, VTK, XDMF, Exodus, Gmsh and others."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from elmonet.data.formats.registry import register_reader
from elmonet.data.lazy import Arrays, unit_in_name
from elmonet.data.limits import reading, require_extra
from elmonet.data.mesh import Mesh
from elmonet.errors import FileError, InputError

ENDINGS = ["vtu", "vtk", "xdmf", "xmf", "msh", "e", "exo", "ex2", "med", "inp", "bdf", "nas", "su2", "pvd"]


@dataclass(frozen=True)
class _Step:
    """What a file holds at one time: fields of points, and of the blocks of cells."""

    time: float
    point_data: Mapping[str, Any]
    cell_data: Mapping[str, Any]


@register_reader("mesh", endings=ENDINGS, description="vtu, vtk, xdmf, msh, exo and others (meshes)")
def add_mesh(arrays: Arrays, path: Path) -> None:
    """Add the fields of a mesh by name, and the mesh itself; vectors have their components in the last axis.

    Fields of points come first. Those of cells are added too, and `Arrays.on_cells` names them. The third
    component of vectors on a mesh in the plane is left out if it is zero. With time steps (XDMF series, pvd),
    the first axis of fields counts these, and the array ``time`` holds the times: a file by itself is a
    function of the time.
    """
    meshio = require_extra("meshio", "mesh")
    if path.stat().st_size == 0:
        raise FileError(f"{str(path)!r} is empty: it has no bytes. Write it again.")
    mesh, steps = _opened(meshio, path)
    arrays.columns["points"] = mesh.axes
    arrays["points"] = mesh.points
    first = steps[0]
    for name in first.point_data:
        _add(arrays, str(name), [np.asarray(step.point_data.get(name)) for step in steps], mesh)
    for name in first.cell_data:
        parts = [step.cell_data.get(name, ()) for step in steps]
        each = [
            np.concatenate([np.empty((0, *np.shape(b)[1:])) for b in p[:1]] + list(p)) for p in parts if p
        ]
        label = _add(arrays, str(name), each, mesh) if len(each) == len(steps) else ""
        if label:
            arrays.on_cells.add(label)
    arrays.mesh = mesh
    if len(steps) > 1:
        fields = [name for name in arrays if name != "points" and name not in arrays.on_cells]
        arrays.steps = np.array([step.time for step in steps])
        arrays["time"] = arrays.steps
        arrays.roles = {"input": ["time"], "output": fields or sorted(arrays.on_cells), "points": "points"}


def steps_in_list(path: Path) -> list[tuple[float, Path]]:
    """Return times and files that a pvd file lists, in their order.

    Raises
    ------
    FileError : if it is no such list, or a step consists of several parts.
    """
    with reading(path):
        found = ElementTree.parse(path).getroot().iter("DataSet")
        listed = [(each.get("timestep", ""), each.get("file", "")) for each in found]
    try:
        steps = [(float(time), path.parent / file) for time, file in listed]
    except ValueError:
        steps = []
    if not steps:
        raise FileError(f"{str(path)!r} lists no files with their times. Name the files themselves.")
    if len({time for time, _ in steps}) < len(steps):
        raise FileError(f"{str(path)!r} lists several parts of one time step: merge them to one file each.")
    return steps


def _opened(meshio: Any, path: Path) -> tuple[Mesh, list[_Step]]:
    """Return the mesh of a file, and its fields at one or more times."""
    ending = path.suffix.lower()
    if ending == ".pvd":
        each = [(time, *_opened(meshio, file)) for time, file in steps_in_list(path)]
        mesh = each[0][1]
        for time, own, _ in each:
            if not (mesh.same_cells(own) and np.array_equal(mesh.nodes, own.nodes)):
                raise FileError(f"{str(path)!r} has another mesh at the time {time:g} than at the first.")
        return mesh, [_Step(time, own[0].point_data, own[0].cell_data) for time, _, own in each]
    if ending in (".xdmf", ".xmf"):
        with contextlib.suppress(meshio.ReadError, KeyError), meshio.xdmf.TimeSeriesReader(path) as series:
            points, cells = series.read_points_cells()
            steps = [_Step(*series.read_data(k)) for k in range(series.num_steps)]
            return _mesh(points, cells), steps
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            found = meshio.read(path)
    except SystemExit:  # meshio ends the program where it cannot read a file
        words = " ".join(said.getvalue().split())[:200]
        raise FileError(
            f"{str(path)!r} cannot be read by meshio: {words or 'it does not say why'}."
        ) from None
    return _mesh(found.points, found.cells), [_Step(0.0, found.point_data, found.cell_data)]


def _mesh(points: Any, cells: Any) -> Mesh:
    return Mesh(points, tuple((block.type, np.asarray(block.data)) for block in cells))


def _add(arrays: Arrays, name: str, steps: list[np.ndarray], mesh: Mesh) -> str:
    """Add a field (M, ...), of several steps (T, M, ...), under its name without unit.

    Return the name, or "" if it holds no numbers.
    """
    label, unit = unit_in_name(name)
    if any(v.dtype.kind not in "biuf" or v.shape != steps[0].shape for v in steps) or label in arrays:
        arrays.skipped.append(name)
        return ""
    values = np.stack(steps)
    values = values.reshape(*values.shape[:2], -1)  # tensors, too, are components
    if values.shape[2] == 1:
        values = values[:, :, 0]
    elif values.shape[2] == 3 and len(mesh.coordinates) == 2 and not values[:, :, 2].any():
        values = values[:, :, :2]
    arrays[label] = values if len(steps) > 1 else values[0]
    if unit:
        arrays.units[label] = unit
    return label


def write_mesh(path: Path, mesh: Mesh, fields: dict[str, np.ndarray], units: dict[str, str]) -> None:
    """Write fields (M,) or (M, k) on a mesh, in the format that the ending names; units follow the names.

    Fields at several times are a series of XDMF.
    """
    meshio = require_extra("meshio", "mesh")
    data: dict[str, Any] = {}
    for name, values in fields.items():
        values = np.asarray(values, dtype=np.float64)
        if values.ndim == 2 and values.shape[1] == 2:  # vectors have three components in VTK
            values = np.column_stack([values, np.zeros(len(values))])
        data[f"{name} [{units[name]}]" if units.get(name) else name] = values
    nodes = mesh.nodes
    if nodes.shape[1] < 3:
        nodes = np.column_stack([nodes, np.zeros((len(nodes), 3 - nodes.shape[1]))])
    cells = [(kind, each) for kind, each in mesh.cells]
    ends = np.cumsum([len(each) for _, each in cells])[:-1]

    def placed(data: dict[str, np.ndarray]) -> dict[str, Any]:
        if mesh.on_cells:
            return {"cell_data": {name: np.split(values, ends) for name, values in data.items()}}
        return {"point_data": data}

    given, said = placed(data), io.StringIO()
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            if mesh.times is not None:
                with meshio.xdmf.TimeSeriesWriter(path, data_format="XML") as series:
                    series.write_points_cells(nodes, cells)
                    for k, time in enumerate(mesh.times):
                        own = {name: np.split(values, len(mesh.times))[k] for name, values in data.items()}
                        series.write_data(time, **placed(own))
                return
            options = {"data_format": "XML"} if path.suffix.lower() == ".xdmf" else {}  # all in one file
            meshio.Mesh(nodes, cells, **given).write(path, **options)
    except (SystemExit, KeyError, ValueError, AttributeError, meshio.WriteError) as error:
        raise InputError(f"{str(path)!r} cannot be written by meshio: {error}. Write vtu instead.") from None
