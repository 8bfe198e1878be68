"""Read files of functions as `OperatorData`: open the file, find the roles of its arrays, assemble them."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from elmonet.data.assembly import as_images, assemble, flat_rows, number_rows
from elmonet.data.dataset import OperatorData
from elmonet.data.formats import open_arrays
from elmonet.data.formats.frames import add_entries, add_frame
from elmonet.data.formats.hdf5 import add_dataset
from elmonet.data.lazy import Arrays, Lazy, load, map_rows, point_array
from elmonet.data.limits import require_room, stored_bytes
from elmonet.data.mesh import DISPLACEMENT
from elmonet.data.named import apply_note, take_note
from elmonet.data.role_search import find_roles
from elmonet.data.roles import Roles, abbreviated, axis_names, axis_rank
from elmonet.data.run_files import Runs, find_runs
from elmonet.data.runs import open_runs, split_steps
from elmonet.data.scattered import Scattered
from elmonet.errors import FunctionsInColumnsWarning, InputError
from elmonet.memory import available

_BLOCK_BYTES = 1 << 26  # read at a time to describe an array


def read(
    source: Any,
    *,
    input: str | Sequence[str] | None = None,
    output: str | Sequence[str] | None = None,
    points: str | Sequence[str] | ArrayLike | None = None,
    sensors: str | Sequence[str] | ArrayLike | None = None,
    index: str | None = None,
    transpose: bool = False,
    max_bytes: int | str | None = None,
    table: Any = None,
    bad_runs: str = "raise",
) -> OperatorData:
    """Read input and output functions from a file, from many files with a run each, or from arrays by name.

    The roles of the arrays are inferred from their names and shapes; `elmonet info FILE` shows the result.
    Names that are given here overrule it.

    Parameters
    ----------
    source : npz, npy, a folder of npy, PyTorch, safetensors, MATLAB, HDF5, zarr, NetCDF or CSV, or a kind of
        your own (`elmonet.data.register_reader`); nothing in it is executed. Or a dictionary of arrays, an
        ``xarray.Dataset``, or a ``pandas.DataFrame``, whose columns are understood as those of CSV. Masked
        values, empty cells and fill values are missing: NaN. Or files with a run each: a pattern such as
        ``"runs/*.vtu"``, a folder, or a list of paths. Many large files are read when their rows are asked
        for.
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
    table : table with a row for each run (csv, tsv, xlsx, parquet, a DataFrame): its columns are the inputs.
        Rows belong to files by a column of their names or numbers, else in the order of their names.
    bad_runs : "raise" refuses runs that cannot be read, differ from the rest or have no partner; "skip"
        leaves them out.

    Returns
    -------
    data : the functions, with their sensors, points, names, units and mesh.

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
    names: dict[str, Any] = {
        "input": input,
        "output": output,
        "points": points,
        "sensors": sensors,
        "index": index,
    }
    names |= {"table": table, "bad_runs": bad_runs}
    data, roles = read_with_roles(source, transpose=transpose, max_bytes=max_bytes, **names)
    if roles.doubt:
        warnings.warn(roles.doubt, FunctionsInColumnsWarning, stacklevel=2)
    return data


def read_with_roles(
    source: Any, *, max_bytes: Any = None, table: Any = None, bad_runs: str = "raise", **names: Any
) -> tuple[OperatorData, Roles]:
    """Return the data as `read` does, and the roles of the arrays."""
    with open_source(source, max_bytes, table, bad_runs) as arrays:
        if arrays.ragged:
            return _records(arrays, _name(source), names)
        roles = _roles(arrays, max_bytes=max_bytes, **names)
        fields = assemble(arrays, roles)
        if isinstance(fields["s_train"], list):  # a long table of records
            fields["sensors"] = fields["components"] = None
            axes = axis_names(arrays, roles.points, 1)
            return OperatorData(
                **fields, name=_name(source), **(_labels(arrays, roles, None) | {"axes": axes})
            ), roles
        labels = _labels(arrays, roles, fields["points"])
        if _too_large(fields):
            return OperatorData(**_on_disk(fields), name=_name(source), **labels), roles
        each = (e for part in fields.values() for e in (part.values() if isinstance(part, dict) else [part]))
        on_disk = sum(int(array.nbytes) for array in each if isinstance(array, (Lazy, np.memmap)))
        require_room(on_disk, "holding these functions in memory")
        arrays.charge(on_disk)
        fields = {key: _in_memory(part) for key, part in fields.items()}
        for key in ("u_train", "u_test"):
            fields[key] = as_images(fields[key], fields["sensors"])
        s = fields["s_train"]
        points = s.points if isinstance(s, Scattered) else fields["points"]
        axes = None if points is None else axis_names(arrays, roles.points, points.shape[1])
        return OperatorData(**fields, name=_name(source), **(labels | {"axes": axes})), roles


def _name(source: Any) -> str:
    """Return the name of a data set."""
    if isinstance(source, Runs):
        source = source.name
    if isinstance(source, (list, tuple)):
        source = Path(source[0]).parent if isinstance(source[0], (str, os.PathLike)) else ""
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        return path.parent.name if "*" in path.name else path.stem
    return str(getattr(source, "attrs", {}).get("name", ""))


def _labels(arrays: Arrays, roles: Roles, points: Any) -> dict[str, Any]:
    """Return names, units and mesh as fields of `OperatorData`."""
    names = {flag: roles.names.get(flag) for flag in ("input", "output")}
    one = {flag: name if isinstance(name, str) else "" for flag, name in names.items()}
    mesh, outputs = arrays.mesh, [roles.s_train] if isinstance(roles.s_train, str) else roles.s_train
    if mesh is not None and set(outputs) & arrays.on_cells:
        mesh = replace(mesh, on_cells=True)
    if mesh is not None and (points is None or len(points) != len(mesh.points)):
        mesh = None
    if mesh is not None and mesh.moving and not any(name.startswith(DISPLACEMENT) for name in outputs):
        mesh = replace(mesh, moving=False)
    axes = None if points is None else axis_names(arrays, roles.points, points.shape[1])
    return {**one, "units": dict(arrays.units), "mesh": mesh, "axes": axes}


def _too_large(fields: Mapping[str, Any]) -> bool:
    """Return whether runs on disk are to be read in blocks: half of the free memory cannot hold them."""
    each = [fields[key] for key in ("u_train", "s_train")]
    lazy = [part for part in each if isinstance(part, Lazy) and part.from_runs]
    return bool(lazy) and sum(part.nbytes for part in lazy) > available() / 2


def _on_disk(fields: dict[str, Any]) -> dict[str, Any]:
    """Return fields whose outputs stay on disk; several inputs of one number are one array."""
    s = fields["s_train"]
    if s.ndim > 2 and fields["components"] is None:
        fields["s_train"] = map_rows(flat_rows, s)
    return fields | {"u_train": side_by_side(fields["u_train"])}


def side_by_side(u: Any) -> Any:
    """Return several inputs in memory as one array (N, m); one input as it is."""
    if not isinstance(u, dict):
        return u
    return np.concatenate([load(part).reshape(len(part), -1) for part in u.values()], axis=1)


def _records(arrays: Arrays, name: str, names: Mapping[str, Any]) -> tuple[OperatorData, Roles]:
    """Return runs whose lengths differ: as records in time, or as scattered values if inputs are numbers."""
    pool = [*arrays.ragged, *arrays]

    def asked(flag: str) -> list[str]:
        given = names.get(flag) or arrays.roles.get(flag) or []
        found = []
        for one in [given] if isinstance(given, str) else given:
            match = one if one in pool else abbreviated(one, pool)
            if match is None:
                raise InputError(f"--{flag} {one}: there is no such array. There are: {', '.join(pool)}.")
            found.append(match)
        return found

    inputs, outputs = asked("input"), [n for n in asked("output") if not n.startswith(f"{DISPLACEMENT}_")]
    if not inputs or not outputs:
        raise InputError(
            "cannot tell which arrays are the inputs and the outputs of these runs. Say which: --input NAME "
            f"--output NAME, in Python read(..., input=..., output=...). There are: {', '.join(pool)}."
        )
    s = [np.stack(own, axis=-1) for own in zip(*(arrays.ragged[n] for n in outputs), strict=True)]
    s = [own[:, 0] for own in s] if len(outputs) == 1 else s
    used = ("points",) if "points" in arrays.ragged else arrays.ragged
    free = [n for n in used if n not in inputs and n not in outputs]
    axes = asked("points") or [n for n in free if n == "points" or axis_rank(n.lower()) is not None]
    given = {n: arrays.ragged[n] if n in arrays.ragged else arrays[n] for n in inputs}
    where = None
    if axes:
        columns = [arrays.ragged[n] for n in axes]
        where = [np.column_stack(own) for own in zip(*columns, strict=True)]
    notes = [*arrays.notes, f"inputs: {', '.join(inputs)}", f"outputs: {', '.join(outputs)}"]
    notes.append(
        f"times: {axes[0]}" if len(axes) == 1 and axes[0] != "points" else f"points: {', '.join(axes)}"
    )
    found = {"input": inputs, "output": outputs, "points": axes}
    short = {flag: value[0] if len(value) == 1 else value for flag, value in found.items() if value}
    more: dict[str, Any] = {
        "name": name,
        "units": dict(arrays.units),
        "input": inputs[0] if len(inputs) == 1 else "",
    }
    more |= {"output": outputs[0] if len(outputs) == 1 else ""}
    more |= {"components": tuple(outputs) if len(outputs) > 1 else None}
    scattered = not any(isinstance(part, list) for part in given.values())
    roles = Roles(inputs[0], outputs[0], scattered=scattered, reasons=tuple(notes), names=short)
    u: Any = {n: part if isinstance(part, list) else number_rows(part) for n, part in given.items()}
    u = u if len(u) > 1 else next(iter(u.values()))
    if not scattered:
        times = None if where is None else [own[:, 0] for own in where]
        labelled = tuple(axes) if len(axes) == 1 else None
        return OperatorData(u, s, points=times, axes=labelled, **more), roles
    if where is None:
        raise InputError(
            f"runs of different lengths need coordinates of their values. There are: {', '.join(pool)}."
        )
    labelled = tuple(axes) if axes != ["points"] else arrays.columns.get("points")
    more["meshes"] = arrays.meshes if axes == ["points"] else None
    return OperatorData(u, Scattered.of(s, where), axes=labelled, **more), roles


def open_pairs(
    path: str | os.PathLike[str] | Runs, **flags: Any
) -> tuple[Any, Any, np.ndarray | None, Roles]:
    """Return inputs u (N, ...), outputs s (N, M) or (N, M, c), points (M, d) or None, and the roles.

    The flags are those of `read`. Arrays of zarr, HDF5, NetCDF and npy stay on disk and are read by slicing,
    to fit in blocks.
    """
    runs = {name: flags.pop(name) for name in ("table", "bad_runs") if name in flags}
    arrays = open_source(path, flags.get("max_bytes"), **runs)
    try:
        roles = _roles(arrays, **flags)
        several = isinstance(roles.u_train, dict)
        if isinstance(roles.u_train, dict) and all(
            isinstance(arrays[name], np.ndarray) and arrays[name].ndim == 1 for name in roles.u_train.values()
        ):
            several = False  # numbers of a table, side by side
        if roles.scattered or several:
            kind = "scattered outputs" if roles.scattered else "several input functions"
            raise InputError(
                f"{kind} are fitted in memory, not in blocks: remove --memory, --checkpoint and --workers; "
                f"in Python data = read({str(path)!r}), then fit(data.u_train, data.s_train)."
            )
        fields = assemble(arrays, roles)
    except BaseException:
        arrays.close()
        raise
    s = fields["s_train"]
    if s.ndim > 2 and not (roles.components and s.ndim == 3):
        s = map_rows(flat_rows, s)
    return side_by_side(fields["u_train"]), s, fields["points"], roles


def describe_file(
    path: str | os.PathLike[str] | Runs, *, max_bytes: Any = None, **flags: Any
) -> dict[str, Any]:
    """Describe a file: its format, its arrays, and their roles. The flags are those of `read`.

    Returns a dict with ``format``, ``bytes``, ``arrays`` (dicts of name, shape, dtype, min, max, nan),
    ``skipped`` (names of what is not numeric), and either ``roles`` with the sentences ``reasons``, or
    ``error``.
    """
    runs = {name: flags.pop(name) for name in ("table", "bad_runs") if name in flags}
    with open_source(path, max_bytes, **runs) as arrays:
        shown = dict(arrays) | {f"{n} (lists)": np.concatenate(each) for n, each in arrays.ragged.items()}
        description: dict[str, Any] = {
            "path": str(path),
            "format": arrays.format,
            "bytes": path.bytes if isinstance(path, Runs) else stored_bytes(Path(path)),
            "arrays": [{"name": name, **_describe_array(array)} for name, array in shown.items()],
            "skipped": list(arrays.skipped),
            "roles": None,
            "reasons": [],
            "error": None,
        }
        try:
            if arrays.ragged:
                _, roles = _records(arrays, "", flags)
            else:
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


def open_source(source: Any, max_bytes: Any = None, table: Any = None, bad_runs: str = "raise") -> Arrays:
    """Return the arrays of a file, of runs, a Dataset, a DataFrame or a dictionary."""
    runs = source if isinstance(source, Runs) else find_runs(source, table, bad_runs)
    if runs is not None:
        return open_runs(runs, max_bytes)
    if isinstance(source, (str, os.PathLike)):
        arrays = open_arrays(source, max_bytes)
        take_note(arrays)
        if arrays.steps is not None:
            split_steps(arrays)
        return arrays
    arrays = Arrays()
    if hasattr(source, "data_vars"):
        add_dataset(arrays, source, "the dataset")
    elif hasattr(source, "columns") and hasattr(source, "to_numpy"):
        add_frame(arrays, source)
        if isinstance(note := getattr(source, "attrs", {}).get("elmonet"), str):
            apply_note(arrays, note)
    elif isinstance(source, Mapping):
        add_entries(arrays, source)
    else:
        advice = " Call .to_dataset() first." if hasattr(source, "to_dataset") else ""
        raise InputError(
            "expected a file, a dictionary of arrays, a pandas.DataFrame or an xarray.Dataset, got a "
            f"{type(source).__name__}.{advice}"
        )
    return arrays


def _roles(arrays: Arrays, *, transpose: bool = False, max_bytes: Any = None, **names: Any) -> Roles:
    """Find the roles, where points and sensors may also be arrays or files, which are added to `arrays`."""
    names = {flag: _add_given(arrays, flag, value, max_bytes) for flag, value in names.items()}
    for flag, known in arrays.roles.items():  # what the file or the table itself says
        if names.get(flag) is None and known:
            names[flag] = known
    transpose = transpose or bool(names.pop("transpose", False))
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
