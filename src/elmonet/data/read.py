"""Files of functions to `OperatorData`, in three steps: `formats` open, `understand`, `assemble`."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from elmonet._check import FunctionsInColumnsWarning, InputError
from elmonet.data.arrays import Arrays
from elmonet.data.assemble import as_images, assemble, flat
from elmonet.data.formats import open_arrays
from elmonet.data.formats.netcdf import add_dataset
from elmonet.data.guard import require_room
from elmonet.data.lazy import Lazy, by_rows, load, point_array
from elmonet.data.operator_data import OperatorData
from elmonet.data.understand import Roles, axis_names, find_roles

__all__ = ["open_pairs", "read", "read_with_roles", "understand"]


def read(
    source: Any,
    *,
    input: Any = None,
    output: Any = None,
    points: Any = None,
    sensors: Any = None,
    index: Any = None,
    transpose: bool = False,
    max_bytes: int | str | None = None,
) -> OperatorData:
    """Read input and output functions from a file, a folder or an ``xarray.Dataset``.

    What is what is guessed from names and shapes; `elmonet info FILE` shows the guess. Names that are given
    here overrule it.

    Parameters
    ----------
    source : npz, npy, a folder of npy, PyTorch, MATLAB, HDF5, zarr, NetCDF or CSV; nothing in it is run.
    input : name of the input functions; a list of names for several input functions.
    output : name of the output functions; a list of names for the components of a vector.
    points : name of the output points, a list of names of a grid's axes, an array (M, d), or an npy or csv
        file.
    sensors : the same for the inputs.
    index : name of the integers that say which function a value belongs to, for scattered outputs.
    transpose : each column is a function, (m, N) and (M, N), as is common in MATLAB; of arrays with more
        axes, the last one counts the functions. Where the file's coordinates fit the columns only, a
        `FunctionsInColumnsWarning` says so.
    max_bytes : how much may be unpacked from the file, as a number or as "4GB". By default 200 times the
        file's size, or 1 GiB if that is more: a small file that unpacks to more is refused.

    Raises `FileError`, `InputError` that lists the arrays, or, before it is read, `NotEnoughMemory`.

    Examples
    --------
    >>> import numpy as np, os, tempfile
    >>> file = os.path.join(tempfile.mkdtemp(), "heat.npz")
    >>> np.savez(file, u=np.ones((5, 8)), s=np.ones((5, 3)), y=np.arange(3.0))
    >>> read(file)
    OperatorData 'heat': 5 functions
      u (N, 8) -> s (N, 3) at 3 points in 1-D (y)
    """
    names = {"input": input, "output": output, "points": points, "sensors": sensors, "index": index}
    data, roles = read_with_roles(source, transpose=transpose, max_bytes=max_bytes, **names)
    if roles.doubt:
        warnings.warn(roles.doubt, FunctionsInColumnsWarning, stacklevel=2)
    return data


def read_with_roles(source: Any, *, max_bytes: Any = None, **names: Any) -> tuple[OperatorData, Roles]:
    """As `read`, with what was taken as what."""
    with _opened(source, max_bytes) as arrays:
        roles = understand(arrays, max_bytes=max_bytes, **names)
        parts = assemble(arrays, roles)
        each = (e for part in parts.values() for e in (part.values() if isinstance(part, dict) else [part]))
        on_disk = sum(int(array.nbytes) for array in each if isinstance(array, (Lazy, np.memmap)))
        require_room(on_disk, "holding these functions in memory")
        arrays.unpack(on_disk)
        parts = {key: _in_memory(part) for key, part in parts.items()}
        for key in ("u_train", "u_test"):
            parts[key] = as_images(parts[key], parts["sensors"])
        where = parts["s_train"].points if roles.scattered else parts["points"]
        axes = None if where is None else axis_names(arrays, roles.points, where.shape[1])
        return OperatorData(**parts, name=_name(source), axes=axes), roles


def open_pairs(path: str | os.PathLike[str], **flags: Any) -> tuple[Any, Any, np.ndarray | None, Roles]:
    """Inputs u (N, ...), outputs s (N, M) or (N, M, c), points (M, d) or None, and what was taken as what.

    The flags are those of `read`. Arrays of zarr, HDF5, NetCDF and npy stay where they are and are read by
    slicing, to fit in blocks.
    """
    arrays = _opened(path, flags.get("max_bytes"))
    try:
        roles = understand(arrays, **flags)
        if roles.scattered or isinstance(roles.u_train, dict):
            kind = "scattered outputs" if roles.scattered else "several input functions"
            raise InputError(
                f"{kind} are fitted in memory, not in blocks: remove --memory, --checkpoint and --workers; "
                f"in Python data = read({str(path)!r}), then fit(data.u_train, data.s_train)."
            )
        parts = assemble(arrays, roles)
    except BaseException:
        arrays.close()
        raise
    s = parts["s_train"]
    if s.ndim > 2 and not (roles.components and s.ndim == 3):
        s = by_rows(flat, s)
    return parts["u_train"], s, parts["points"], roles


def understand(arrays: Arrays, *, transpose: bool = False, max_bytes: Any = None, **names: Any) -> Roles:
    """As `find_roles`, where points and sensors may also be arrays or files."""
    names = {flag: _beside(arrays, flag, value, max_bytes) for flag, value in names.items()}
    return find_roles(arrays, transpose=transpose, **names)


def _opened(source: Any, max_bytes: Any) -> Arrays:
    if type(source).__module__.split(".")[0] != "xarray":
        return open_arrays(source, max_bytes)
    if not hasattr(source, "data_vars"):
        raise InputError(
            f"expected an xarray.Dataset, got a {type(source).__name__}. Call .to_dataset() first."
        )
    arrays = Arrays()
    add_dataset(arrays, source, "the dataset")
    return arrays


def _beside(arrays: Arrays, flag: str, value: Any, max_bytes: Any) -> Any:
    """Names as they are; an array or a file of coordinates is put beside the others under its own name."""
    several = isinstance(value, (list, tuple)) and all(isinstance(name, str) for name in value)
    is_name = isinstance(value, str) and (value in arrays or "." not in value or not Path(value).is_file())
    if value is None or several or is_name:
        return value
    name = f"given as {flag}"
    if isinstance(value, (str, os.PathLike)):
        name = Path(value).name
        with open_arrays(value, max_bytes) as beside:
            columns, names = [point_array(array) for array in beside.values()], tuple(beside)
        if len({len(column) for column in columns}) != 1:
            raise InputError(f"{str(value)!r}, given for {flag}, must hold one list of points.")
        value = np.concatenate(columns, axis=1)
        if value.shape[1] == len(names):
            arrays.columns[name] = names
    arrays[name] = np.asarray(value)
    return name


def _in_memory(part: Any) -> Any:
    if isinstance(part, dict):
        return {key: load(array) for key, array in part.items()}
    return load(part) if isinstance(part, (Lazy, np.ndarray)) else part


def _name(source: Any) -> str:
    if isinstance(source, (str, os.PathLike)):
        return Path(source).stem
    return str(source.attrs.get("name", ""))
