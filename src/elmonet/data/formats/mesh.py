"""Files of meshes, through meshio: VTU, VTK, XDMF, Exodus, Gmsh and others."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any

import numpy as np

from elmonet.data.formats.registry import register_reader
from elmonet.data.lazy import Arrays, unit_in_name
from elmonet.data.limits import require_extra
from elmonet.data.mesh import Mesh
from elmonet.errors import FileError, InputError

ENDINGS = ["vtu", "vtk", "xdmf", "xmf", "msh", "e", "exo", "ex2", "med", "inp", "bdf", "nas", "su2"]


@register_reader("mesh", endings=ENDINGS, description="vtu, vtk, xdmf, msh, exo and others (meshes)")
def add_mesh(arrays: Arrays, path: Path) -> None:
    """Add the fields of a mesh by name, and the mesh itself; vectors have their components in the last axis.

    Fields of points come first. Those of cells are added too, and `Arrays.on_cells` names them. The third
    component of vectors on a mesh in the plane is left out if it is zero.
    """
    meshio = require_extra("meshio", "mesh")
    if path.stat().st_size == 0:
        raise FileError(f"{str(path)!r} is empty: it has no bytes. Write it again.")
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            found = meshio.read(path)
    except SystemExit:  # meshio ends the program where it cannot read a file
        words = " ".join(said.getvalue().split())[:200]
        raise FileError(
            f"{str(path)!r} cannot be read by meshio: {words or 'it does not say why'}."
        ) from None
    mesh = Mesh(found.points, tuple((block.type, np.asarray(block.data)) for block in found.cells))
    arrays.mesh = mesh
    arrays.columns["points"] = mesh.axes
    arrays["points"] = mesh.points
    d = len(mesh.coordinates)
    for name, values in found.point_data.items():
        _add(arrays, str(name), np.asarray(values), d)
    for name, blocks in found.cell_data.items():
        values = np.concatenate([np.asarray(block) for block in blocks])
        label = _add(arrays, str(name), values, d)
        if label:
            arrays.on_cells.add(label)


def _add(arrays: Arrays, name: str, values: np.ndarray, d: int) -> str:
    """Add a field under its name without unit; return the name, or "" if it holds no numbers."""
    label, unit = unit_in_name(name)
    if values.dtype.kind not in "biuf" or label in arrays:
        arrays.skipped.append(name)
        return ""
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim == 2 and values.shape[1] == 3 and d == 2 and not values[:, 2].any():
        values = values[:, :2]
    arrays[label] = values
    if unit:
        arrays.units[label] = unit
    return label


def write_mesh(path: Path, mesh: Mesh, fields: dict[str, np.ndarray], units: dict[str, str]) -> None:
    """Write fields (M,) or (M, k) on a mesh, in the format that the ending names; units follow the names."""
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
    if mesh.on_cells:
        ends = np.cumsum([len(each) for _, each in cells])[:-1]
        given = {"cell_data": {name: np.split(values, ends) for name, values in data.items()}}
    else:
        given = {"point_data": data}
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            options = {"data_format": "XML"} if path.suffix.lower() == ".xdmf" else {}  # all in one file
            meshio.Mesh(nodes, cells, **given).write(path, **options)
    except (SystemExit, KeyError, ValueError, AttributeError, meshio.WriteError) as error:
        raise InputError(f"{str(path)!r} cannot be written by meshio: {error}. Write vtu instead.") from None
