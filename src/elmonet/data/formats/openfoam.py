"""OpenFOAM cases, through VTK's reader in pyvista: fields of the cells of the internal mesh."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from elmonet.data.formats.registry import register_reader
from elmonet.data.lazy import Arrays
from elmonet.data.mesh import Mesh
from elmonet.errors import FileError, MissingExtra

_KINDS = {10: "tetra", 12: "hexahedron", 13: "wedge", 14: "pyramid"}  # by VTK's numbers
_CONTROL = Path("system", "controlDict")


@register_reader(
    "openfoam",
    endings=["foam"],
    description="an OpenFOAM case (folder or .foam)",
    recognise=lambda path, start: path.is_dir() and (path / _CONTROL).is_file(),
)
def add_openfoam(arrays: Arrays, path: Path) -> None:
    """Add the fields of cells at the last time of a case, and its mesh; vectors as components.

    Polyhedra are divided into tetrahedra and pyramids, each with the values of its cell.
    """
    try:
        pyvista: Any = import_module("pyvista")
    except ImportError:
        raise MissingExtra("OpenFOAM cases are read by pyvista: pip install pyvista.") from None
    case = path if path.is_dir() else path.parent
    # The reader takes controlDict as the name of the case, where there is no .foam file.
    reader = pyvista.OpenFOAMReader(str(path if path.is_file() else case / _CONTROL))
    reader.cell_to_point_creation = False
    times = [time for time in reader.time_values if time > 0] or list(reader.time_values)
    if not times:
        raise FileError(f"{str(path)!r} has no time with fields. Has the case been run?")
    reader.set_active_time_value(times[-1])
    inside = reader.read()["internalMesh"]
    kinds = np.asarray(inside.celltypes)
    unknown = sorted(set(kinds.tolist()) - set(_KINDS))
    if unknown or not len(kinds):
        raise FileError(f"{str(path)!r} has no cells that are read here (VTK's kinds {unknown}).")
    cells, order = [], []
    for number, corners in inside.cells_dict.items():
        cells.append((_KINDS[int(number)], np.asarray(corners)))
        order.append(np.flatnonzero(kinds == number))
    mesh = Mesh(np.asarray(inside.points, dtype=float), tuple(cells), on_cells=True)
    arrays.mesh = mesh
    arrays["points"], arrays.columns["points"] = mesh.points, mesh.axes
    rows = np.concatenate(order)
    for name in inside.cell_data:
        values = np.asarray(inside.cell_data[name])
        if values.dtype.kind not in "iuf" or name in ("points", "CellId"):
            arrays.skipped.append(str(name))
            continue
        arrays[str(name)] = values[rows].astype(float)
        arrays.on_cells.add(str(name))
    arrays.notes.append(f"the time {times[-1]:g} of the case")
