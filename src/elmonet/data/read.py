"""Files of functions to `OperatorData`, and what a file holds."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from elmonet._check import InputError
from elmonet.data.arrays import Arrays
from elmonet.data.assemble import assemble
from elmonet.data.axes import point_array
from elmonet.data.formats import open_arrays
from elmonet.data.formats.netcdf import from_dataset
from elmonet.data.guard import require_room
from elmonet.data.lazy import Lazy, load
from elmonet.data.operator_data import OperatorData
from elmonet.data.roles import Roles, find_roles
from elmonet.interpolation import as_grid

__all__ = ["find_given_roles", "open_roles", "read", "read_with_roles"]


def read(
    source: Any,
    *,
    input: Any = None,
    output: Any = None,
    points: Any = None,
    sensors: Any = None,
    index: Any = None,
) -> OperatorData:
    """Read input and output functions from a file, a folder or an ``xarray.Dataset``.

    What is what is guessed from names and shapes; `elmonet info FILE` tells it. The names overrule the guess.

    Parameters
    ----------
    source : npz, npy, a folder of npy, PyTorch, MATLAB, HDF5, zarr, NetCDF or CSV; nothing in it is run.
    input : name of the input functions; a list of names for several input functions.
    output : name of the output functions; a list of names for the components of a vector.
    points : name of the output points, a list of names of a grid's axes, an array (M, d), or a npy or csv
        file.
    sensors : the same for the inputs.
    index : name of the integers that say which function a value belongs to, where each has a point of its
        own.

    Raises `FileError`, `InputError` that lists the arrays, or, before it is read, `NotEnoughMemory`.

    Examples
    --------
    >>> import numpy as np, os, tempfile
    >>> file = os.path.join(tempfile.mkdtemp(), "heat.npz")
    >>> np.savez(file, u=np.ones((5, 8)), s=np.ones((5, 3)), y=np.arange(3.0))
    >>> read(file)
    OperatorData 'heat': 5 functions
      u (N, 8) -> s (N, 3) at 3 points in 1-D
    """
    flags = {"input": input, "output": output, "points": points, "sensors": sensors, "index": index}
    return read_with_roles(source, **flags)[0]


def read_with_roles(source: Any, **flags: Any) -> tuple[OperatorData, Roles]:
    """As `read`, with what was taken as what."""
    arrays, roles = open_roles(source, **flags)
    try:
        parts = vars(assemble(arrays, roles))
        on_disk = [part for part in parts.values() if isinstance(part, (Lazy, np.memmap))]
        require_room(sum(int(part.nbytes) for part in on_disk), "holding these functions in memory")
        found = {key: _loaded(part) for key, part in parts.items()}
        for key in ("u_train", "u_test"):
            found[key] = _as_images(found[key], found["sensors"])
        return OperatorData(**found, name=_name(source)), roles
    finally:
        arrays.close()


def open_roles(source: Any, **flags: Any) -> tuple[Arrays, Roles]:
    """The arrays of a source, with those that are given beside it, and their roles."""
    if type(source).__module__.split(".")[0] == "xarray":
        if not hasattr(source, "data_vars"):
            raise InputError(
                f"expected an xarray.Dataset, got a {type(source).__name__}. Call .to_dataset() first."
            )
        arrays = from_dataset(source)
    else:
        arrays = open_arrays(source)
    try:
        return arrays, find_given_roles(arrays, **flags)
    except BaseException:
        arrays.close()
        raise


def find_given_roles(arrays: Arrays, **flags: Any) -> Roles:
    """As `find_roles`, where points and sensors may also be arrays or files."""
    return find_roles(arrays, **{flag: _given(arrays, flag, value) for flag, value in flags.items()})


def _given(arrays: Arrays, flag: str, value: Any) -> Any:
    """Names as they are; an array or a file of coordinates is put beside the others under its own name."""
    several = isinstance(value, (list, tuple)) and all(isinstance(name, str) for name in value)
    if value is None or several or (isinstance(value, str) and not _is_file(value, arrays)):
        return value
    name = f"given as {flag}"
    if isinstance(value, (str, os.PathLike)):
        name = Path(value).name
        with open_arrays(value) as beside:
            columns = [point_array(array) for array in beside.values()]
        if len({len(column) for column in columns}) != 1:
            raise InputError(f"{str(value)!r}, given for {flag}, must hold one list of points.")
        value = np.concatenate(columns, axis=1)
    arrays[name] = np.asarray(value)
    return name


def _is_file(value: str, arrays: Arrays) -> bool:
    return value not in arrays and "." in value and Path(value).is_file()


def _loaded(part: Any) -> Any:
    if isinstance(part, dict):
        return {key: load(array) for key, array in part.items()}
    return load(part) if isinstance(part, (Lazy, np.ndarray)) else part


def _as_images(u: Any, sensors: Any) -> Any:
    """Rows (N, m) at sensors that are a grid of a plane, row by row, as images (N, H, W)."""
    if u is None or isinstance(u, dict) or u.ndim != 2 or sensors is None or np.shape(sensors)[1:] != (2,):
        return u
    axes, order = as_grid(np.asarray(sensors, float))
    row_by_row = np.array_equal(order, np.arange(len(order)))
    if axes is None or min(len(axis) for axis in axes) < 2 or not row_by_row:
        return u
    return u.reshape(len(u), *(len(axis) for axis in axes))


def _name(source: Any) -> str:
    if isinstance(source, (str, os.PathLike)):
        return Path(source).stem
    return str(source.attrs.get("name", ""))
