"""Read files of functions as `OperatorData`: open the file, find the roles of its arrays, assemble them."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from elmonet.checks import plain
from elmonet.data.dataset import OperatorData
from elmonet.data.formats import open_arrays
from elmonet.data.formats.hdf5 import add_dataset
from elmonet.data.formats.text import add_columns
from elmonet.data.lazy import Arrays, Lazy, is_stored, last_axis_first, load, map_rows, point_array, unpacked
from elmonet.data.limits import require_room, stored_bytes
from elmonet.data.role_search import find_roles
from elmonet.data.roles import Axes, Roles, axis_names
from elmonet.data.scattered import Scattered, at_own_points, long_table, parts, unique_inputs
from elmonet.errors import FunctionsInColumnsWarning, InputError
from elmonet.interpolation import as_grid, grid_points

_BLOCK_BYTES = 1 << 26  # read at a time to describe an array


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
    """Read input and output functions from a file, a folder, or arrays by name.

    The roles of the arrays are inferred from their names and shapes; `elmonet info FILE` shows the result.
    Names that are given here overrule it.

    Parameters
    ----------
    source : npz, npy, a folder of npy, PyTorch, safetensors, MATLAB, HDF5, zarr, NetCDF or CSV, or a kind of
        your own (`elmonet.data.register_reader`); nothing in it is executed. Or a dictionary of arrays, an
        ``xarray.Dataset``, or a ``pandas.DataFrame``, whose columns are understood as those of CSV. Masked
        values, empty cells and fill values are missing: NaN.
    input : name of the input functions; a list of names for several input functions.
    output : name of the output functions; a list of names for the components of a vector.
    points : name of the output points, a list of names of a grid's axes, an array (M, d), or an npy or csv
        file.
    sensors : the same for the inputs.
    index : name of the integers that say which function a value belongs to, for scattered outputs.
    transpose : each column is a function, (m, N) and (M, N), as is common in MATLAB; in arrays with more
        axes, the last one counts the functions. If the file's coordinates match only the columns, a
        `FunctionsInColumnsWarning` says so.
    max_bytes : how much may be unpacked from the file, as a number or as "4GB". By default 200 times the
        file's size, or 1 GiB if that is more: a small file that unpacks to more is refused.

    Returns
    -------
    data : the functions in memory, with their sensors, points and names.

    Raises
    ------
    FileError : if the file is missing, damaged, of an unknown kind, or refused.
    InputError : if the roles cannot be inferred; the message lists the arrays.
    NotEnoughMemory : before the arrays are read, if they do not fit.
    MissingExtra : if an optional package is missing.

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
    """Return the data as `read` does, and the roles of the arrays."""
    with _open(source, max_bytes) as arrays:
        roles = _roles(arrays, max_bytes=max_bytes, **names)
        fields = _assemble(arrays, roles)
        each = (e for part in fields.values() for e in (part.values() if isinstance(part, dict) else [part]))
        on_disk = sum(int(array.nbytes) for array in each if isinstance(array, (Lazy, np.memmap)))
        require_room(on_disk, "holding these functions in memory")
        arrays.charge(on_disk)
        fields = {key: _in_memory(part) for key, part in fields.items()}
        for key in ("u_train", "u_test"):
            fields[key] = _as_images(fields[key], fields["sensors"])
        s = fields["s_train"]
        points = s.points if isinstance(s, Scattered) else fields["points"]
        axes = None if points is None else axis_names(arrays, roles.points, points.shape[1])
        is_path = isinstance(source, (str, os.PathLike))
        name = Path(source).stem if is_path else str(getattr(source, "attrs", {}).get("name", ""))
        return OperatorData(**fields, name=name, axes=axes), roles


def open_pairs(path: str | os.PathLike[str], **flags: Any) -> tuple[Any, Any, np.ndarray | None, Roles]:
    """Return inputs u (N, ...), outputs s (N, M) or (N, M, c), points (M, d) or None, and the roles.

    The flags are those of `read`. Arrays of zarr, HDF5, NetCDF and npy stay on disk and are read by slicing,
    to fit in blocks.
    """
    arrays = _open(path, flags.get("max_bytes"))
    try:
        roles = _roles(arrays, **flags)
        if roles.scattered or isinstance(roles.u_train, dict):
            kind = "scattered outputs" if roles.scattered else "several input functions"
            raise InputError(
                f"{kind} are fitted in memory, not in blocks: remove --memory, --checkpoint and --workers; "
                f"in Python data = read({str(path)!r}), then fit(data.u_train, data.s_train)."
            )
        fields = _assemble(arrays, roles)
    except BaseException:
        arrays.close()
        raise
    s = fields["s_train"]
    if s.ndim > 2 and not (roles.components and s.ndim == 3):
        s = map_rows(_flat, s)
    return fields["u_train"], s, fields["points"], roles


def describe_file(path: str | os.PathLike[str], *, max_bytes: Any = None, **flags: Any) -> dict[str, Any]:
    """Describe a file: its format, its arrays, and their roles. The flags are those of `read`.

    Returns a dict with ``format``, ``bytes``, ``arrays`` (dicts of name, shape, dtype, min, max, nan),
    ``skipped`` (names of what is not numeric), and either ``roles`` with the sentences ``reasons``, or
    ``error``.
    """
    with open_arrays(path, max_bytes) as arrays:
        description: dict[str, Any] = {
            "path": str(path),
            "format": arrays.format,
            "bytes": stored_bytes(Path(path)),
            "arrays": [{"name": name, **_describe_array(array)} for name, array in arrays.items()],
            "skipped": list(arrays.skipped),
            "roles": None,
            "reasons": [],
            "error": None,
        }
        try:
            roles = _roles(arrays, max_bytes=max_bytes, **flags)
        except InputError as error:
            description["error"] = str(error)
        else:
            description["reasons"] = list(roles.reasons)
            about = ("reasons", "names")
            description["roles"] = {key: value for key, value in asdict(roles).items() if key not in about}
    return description


def _describe_array(array: Any) -> dict[str, Any]:
    """Return shape, dtype, range and number of NaN, read in blocks of rows."""
    shape, dtype = tuple(int(n) for n in array.shape), np.dtype(array.dtype)
    low, high, nan = math.inf, -math.inf, 0
    if dtype.kind in "biuf" and 0 not in shape:
        rows = max(1, _BLOCK_BYTES // max(1, dtype.itemsize * math.prod(shape[1:])))
        for start in range(0, shape[0] if shape else 1, rows):
            block = np.asarray(array[start : start + rows] if shape else array)
            missing = np.isnan(block) if dtype.kind == "f" else np.zeros(block.shape, bool)
            nan += int(missing.sum())
            if not missing.all():
                known = block[~missing] if missing.any() else block
                low, high = min(low, float(known.min())), max(high, float(known.max()))
    span = {"min": low, "max": high} if low <= high else {"min": None, "max": None}
    return {"shape": shape, "dtype": str(dtype), **span, "nan": nan}


def _open(source: Any, max_bytes: Any) -> Arrays:
    """Return the arrays of a file, a Dataset, a DataFrame or a dictionary."""
    if isinstance(source, (str, os.PathLike)):
        return open_arrays(source, max_bytes)
    arrays = Arrays()
    if hasattr(source, "data_vars"):
        add_dataset(arrays, source, "the dataset")
    elif hasattr(source, "columns") and hasattr(source, "to_numpy"):
        columns = list(source.columns)
        names = ["_".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in columns]
        if len(set(names)) < len(names):
            raise InputError(f"the columns of a DataFrame must have different names, got {', '.join(names)}.")
        table = Arrays()
        _add_entries(table, {name: source[column] for name, column in zip(names, columns, strict=True)})
        arrays.skipped += table.skipped
        add_columns(arrays, table)
    elif isinstance(source, Mapping):
        _add_entries(arrays, source)
    else:
        advice = " Call .to_dataset() first." if hasattr(source, "to_dataset") else ""
        raise InputError(
            "expected a file, a dictionary of arrays, a pandas.DataFrame or an xarray.Dataset, got a "
            f"{type(source).__name__}.{advice}"
        )
    return arrays


def _add_entries(arrays: Arrays, entries: Mapping[Any, Any], prefix: str = "") -> None:
    """Add the entries of a dictionary that are numbers, those of a dictionary in it as "name.key"."""
    for key, entry in entries.items():
        name = f"{prefix}{key}"
        if isinstance(entry, Mapping):
            _add_entries(arrays, entry, f"{name}.")
            continue
        if is_stored(entry) and not isinstance(entry, (np.memmap, Lazy)):
            entry = Lazy.of(unpacked(entry, entry.attrs, name), name)
        try:
            array = entry if isinstance(entry, (Lazy, np.memmap)) else load(plain(entry))
            missing = array.dtype == object and hasattr(entry, "to_numpy")  # a column of pandas with gaps
            array = entry.to_numpy(dtype=float, na_value=np.nan) if missing else array
        except (TypeError, ValueError):
            array = None
        if array is None or array.dtype.kind not in "biufc" or name.startswith("__"):  # as of loadmat
            arrays.skipped.append(name)
        else:
            arrays[name] = array


def _roles(arrays: Arrays, *, transpose: bool = False, max_bytes: Any = None, **names: Any) -> Roles:
    """Find the roles, where points and sensors may also be arrays or files, which are added to `arrays`."""
    names = {flag: _add_given(arrays, flag, value, max_bytes) for flag, value in names.items()}
    return find_roles(arrays, transpose=transpose, **names)


def _add_given(arrays: Arrays, flag: str, value: Any, max_bytes: Any) -> Any:
    """Return names unchanged; add an array or a file of coordinates to `arrays`, and return its new name."""
    several = isinstance(value, (list, tuple)) and all(isinstance(name, str) for name in value)
    is_name = isinstance(value, str) and (value in arrays or "." not in value or not Path(value).is_file())
    if value is None or several or is_name:
        return value
    name = f"given as {flag}"
    if isinstance(value, (str, os.PathLike)):
        name = Path(value).name
        with open_arrays(value, max_bytes) as given:
            columns, names = [point_array(array) for array in given.values()], tuple(given)
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


def _assemble(arrays: Mapping[str, Any], roles: Roles) -> dict[str, Any]:
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
        return map_rows(_rows, array)
    channels = roles.components and not isinstance(roles.s_train, list)
    first = map_rows(_channels_first if channels else _rows, array, take=(0,))
    return map_rows(_squeezed, first) if first.ndim > 2 else first


def _outputs(arrays: Mapping[str, Any], roles: Roles, names: Any) -> Any:
    if names is None:
        return None
    take = (slice(1, None),) if roles.evolution else ()
    if isinstance(names, list):
        parts = [map_rows(_flat, _functions_first(arrays, roles, name), take=take) for name in names]
        return map_rows(lambda *rows: np.stack(rows, axis=-1), *parts)
    array = _functions_first(arrays, roles, names)
    if roles.scattered:
        return map_rows(_numbers, array)
    return map_rows(_points_and_components if roles.components else _grids, array, take=take)


def _numbers(rows: np.ndarray) -> np.ndarray:
    return rows.astype(np.uint8) if rows.dtype == bool else rows


def _rows(rows: np.ndarray) -> np.ndarray:
    """Turn (N,) into (N, 1)."""
    rows = _numbers(rows)
    return rows[:, None] if rows.ndim == 1 else rows


def _squeezed(rows: np.ndarray) -> np.ndarray:
    """Drop axes of length 1, but keep at least (N, 1)."""
    sizes = [n for n in rows.shape[1:] if n > 1]
    return rows.reshape(rows.shape[0], *(sizes or [1]))


def _grids(rows: np.ndarray) -> np.ndarray:
    return _squeezed(_rows(rows))


def _flat(rows: np.ndarray) -> np.ndarray:
    """Turn (N, ...) into (N, M)."""
    return _numbers(rows).reshape(rows.shape[0], math.prod(rows.shape[1:]))


def _points_and_components(rows: np.ndarray) -> np.ndarray:
    """Turn (N, ..., c) into (N, M, c), or into a grid if c = 1."""
    if rows.shape[-1] == 1:
        return _grids(rows)
    return _numbers(rows).reshape(rows.shape[0], math.prod(rows.shape[1:-1]), rows.shape[-1])


def _channels_first(rows: np.ndarray) -> np.ndarray:
    return np.moveaxis(_numbers(rows), -1, 1)


def _as_images(u: Any, sensors: Any) -> Any:
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
        raise InputError(f"{index} must hold integers, the row of the input that each value belongs to.")
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
