"""Write arrays to files of any kind that elmonet reads, atomically."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from elmonet.data.formats.text import NOTE, NOTE_LINE
from elmonet.data.formats.zarr_group import ZARR_FILES
from elmonet.data.limits import require_extra
from elmonet.data.named import note_as_array
from elmonet.errors import FileError, InputError
from elmonet.store import atomic_write, writable_path

_MAX_IN_NOTE = 200_000  # numbers of coordinates that a table holds in its first line


def write_data(
    path: str | os.PathLike[str], arrays: Mapping[str, Any], note: Mapping[str, Any] | None = None
) -> None:
    """Write arrays by name, in the format that the ending of `path` names.

    npz, h5 or hdf5, zarr, mat, nc, csv, parquet; npy for one array; no ending for a folder of npy. A `note`
    (`elmonet.data.named`) is written beside them; units are attributes where the format has any. What was at
    `path` is replaced once the new file is complete. Raises `FileError` if it cannot be written, `InputError`
    if the format cannot hold these arrays, and `MissingExtra` if an optional package is missing.
    """
    path = Path(path)
    require_writable(path)
    if not arrays:
        raise InputError(f"there is no array to write to {str(path)!r}.")
    with atomic_write(path, folder=_is_folder(path)) as new:
        plain = {str(name): _plain(array, str(name)) for name, array in arrays.items()}
        ending = path.suffix.lower()
        if ending in (".csv", ".parquet"):
            plain, note = _one_table(plain, note)
        elif note is not None and ending != ".npy":
            plain[NOTE] = note_as_array(note)
        _WRITERS[ending](new, plain, note or {})


def _one_table(
    arrays: dict[str, np.ndarray], note: Mapping[str, Any] | None
) -> tuple[dict[str, np.ndarray], Mapping[str, Any] | None]:
    """Return what fits into one table, and the note with the coordinates that do not."""
    if note is None:
        return arrays, None
    roles = note["roles"]
    functions = [n for flag in ("input", "output") for n in _listed(roles.get(flag))]
    lengths = {len(array) for name, array in arrays.items() if name.split("_train")[0] in functions}
    if len(lengths) != 1:
        return arrays, note
    n = lengths.pop()
    long = "index" in roles
    elsewhere = [name for name in arrays if name not in functions and not long] or []
    elsewhere = [
        name for name in elsewhere if name in _listed(roles.get("points")) + _listed(roles.get("sensors"))
    ]
    elsewhere += [name for name in arrays if name.startswith("mesh_") and "mesh" in note]
    if sum(arrays[name].size for name in elsewhere) > _MAX_IN_NOTE:
        raise InputError("a table has no room for so many points. Write npz, h5, zarr or nc.")
    kept = {name: array for name, array in arrays.items() if name not in elsewhere}
    shapes = {
        name: list(array.shape[1:]) for name, array in kept.items() if array.ndim > 2 and len(array) == n
    }
    more = {"arrays": {name: arrays[name].tolist() for name in elsewhere}, "shapes": shapes}
    return kept, dict(note) | more


def _listed(names: Any) -> list[str]:
    return [names] if isinstance(names, str) else list(names or ())


def require_writable(path: Path) -> None:
    """Raise `FileError` unless arrays can be written to `path`."""
    if path.suffix.lower() not in _WRITERS:
        endings = ", ".join(suffix or "none (a folder of npy)" for suffix in _WRITERS)
        raise FileError(f"cannot write {str(path)!r}: its ending must be one of {endings}.")
    for module, extra in _EXTRAS.get(path.suffix.lower(), ()):
        require_extra(module, extra)
    target = writable_path(path, folder=_is_folder(path))
    if target.is_dir() and not _may_replace(target):
        raise FileError(
            f"cannot write {str(path)!r}: the folder holds other files than arrays, which would be lost. "
            f"Name a file, such as {str(path / 'functions.npz')!r}, or a new folder."
        )


def _is_folder(path: Path) -> bool:
    return path.suffix.lower() in ("", ".zarr")


def _plain(array: Any, name: str) -> np.ndarray:
    array = np.asarray(array)
    if array.dtype.kind not in "biufc":
        raise InputError(f"{name} has the type {array.dtype}; only numbers are written.")
    return array


def _may_replace(folder: Path) -> bool:
    """Return whether a folder is zarr, or holds npy files only."""
    names = [entry.name for entry in folder.iterdir()]
    return any(name in ZARR_FILES for name in names) or all(name.endswith(".npy") for name in names)


def _npz(path: Path, arrays: dict[str, np.ndarray], note: Mapping[str, Any]) -> None:
    if "file" in arrays:
        raise InputError("np.savez cannot write an array named 'file'. Rename it.")
    np.savez(path, allow_pickle=False, **arrays)


def _npy(path: Path, arrays: dict[str, np.ndarray], note: Mapping[str, Any]) -> None:
    if len(arrays) > 1:
        raise InputError(
            f"an npy file holds one array, got {', '.join(arrays)}. Write npz, or a folder (a name without "
            "ending)."
        )
    np.save(path, next(iter(arrays.values())), allow_pickle=False)


def _folder(path: Path, arrays: dict[str, np.ndarray], note: Mapping[str, Any]) -> None:
    path.mkdir()
    for name, array in arrays.items():
        if not re.fullmatch(r"[\w\-\[\]. ]+", name) or name.startswith("."):
            raise InputError(f"{name!r} cannot be a file name. Use letters, digits and _.")
        np.save(path / f"{name}.npy", array, allow_pickle=False)


def _unit(name: str, note: Mapping[str, Any]) -> dict[str, str]:
    """Return the attributes of an array: its unit, if it has one."""
    units = note.get("units", {})
    unit = units.get(name) or units.get(name.removesuffix("_train").removesuffix("_test"))
    return {"units": unit} if unit else {}


def _hdf5(path: Path, arrays: dict[str, np.ndarray], note: Mapping[str, Any]) -> None:
    with require_extra("h5py").File(path, "w") as file:
        for name, array in arrays.items():
            file.create_dataset(name, data=array).attrs.update(_unit(name, note))


def _zarr(path: Path, arrays: dict[str, np.ndarray], note: Mapping[str, Any]) -> None:
    """Write zarr; dimensions as in NetCDF have names, so that xarray opens it with coordinates."""
    group = require_extra("zarr").open_group(path, mode="w")
    dims = _dimensions(arrays, note)
    for name, array in arrays.items():
        group.create_array(name, data=array, attributes=_unit(name, note), dimension_names=dims[name])


def _matlab(path: Path, arrays: dict[str, np.ndarray], note: Mapping[str, Any]) -> None:
    from scipy.io import savemat

    for name, array in arrays.items():
        if not re.fullmatch("[A-Za-z][A-Za-z0-9_]{0,30}", name):
            raise InputError(
                f"{name!r} is not a name in MATLAB: use a letter, then up to 30 letters, digits or _."
            )
        if array.nbytes >= 1 << 31:
            raise InputError(f"{name} has 2 GiB or more, which this kind of .mat cannot hold. Write .h5.")
    savemat(path, arrays, do_compression=True, oned_as="column")  # a row for each function


def _netcdf(path: Path, arrays: dict[str, np.ndarray], note: Mapping[str, Any]) -> None:
    """Write NetCDF; axes of the same length, such as 100, share a dimension, n100.

    Axes of a grid that the note names are the dimensions of the outputs.
    """
    dims = _dimensions(arrays, note)
    variables = {name: (dims[name], array, _unit(name, note)) for name, array in arrays.items()}
    require_extra("xarray").Dataset(variables).to_netcdf(path, engine="h5netcdf")


def _dimensions(arrays: dict[str, np.ndarray], note: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the names of the dimensions of each array."""
    axes = [
        name
        for name in _listed(note.get("roles", {}).get("points"))
        if name in arrays and arrays[name].ndim == 1
    ]
    sizes = [len(arrays[name]) for name in axes]
    functions = [n for flag in ("input", "output") for n in _listed(note.get("roles", {}).get(flag))]
    found: dict[str, tuple[str, ...]] = {}
    for name, array in arrays.items():
        if name in axes:
            found[name] = (name,)
            continue
        label = name.removesuffix("_train").removesuffix("_test")
        if label in functions:
            run = "run" if label == name else f"run_{name[len(label) + 1 :]}"
            own = axes if sizes == list(array.shape[1:]) else [f"{label}_{k}" for k in range(array.ndim - 1)]
            found[name] = (run, *own)
            continue
        dims: list[str] = []
        for n in array.shape:
            dims.append(f"n{n}" + "_" * sum(dim.rstrip("_") == f"n{n}" for dim in dims))
        found[name] = tuple(dims)
    return found


def _columns(arrays: dict[str, np.ndarray], note: Mapping[str, Any]) -> tuple[list[str], np.ndarray]:
    """Return names and values of columns: (N,) by its name, (N, k) as name0, name1, ..."""
    if len({a.shape[:1] for a in arrays.values()}) > 1 or not all(
        a.shape and a.size for a in arrays.values()
    ):
        listed = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise InputError(
            f"the arrays of one table must have the same number of rows, got {listed}. Write npz instead."
        )
    names: list[str] = []
    for name, array in arrays.items():
        apart = "_" if name[-1:].isdigit() else ""
        columns = range(array[0].size)
        names += [name] if array.ndim == 1 else [f"{name}{apart}{i}" for i in columns]
    if any(set(name) & set(',\n\r"#') for name in names) or not any(not name.isdigit() for name in names):
        raise InputError(f"column names must be words of letters, digits and _; got {', '.join(arrays)}.")
    table = np.concatenate([array.reshape(len(array), -1) for array in arrays.values()], axis=1)
    return names, table


def _csv(path: Path, arrays: dict[str, np.ndarray], note: Mapping[str, Any]) -> None:
    names, table = _columns(arrays, note)
    header = ",".join(names)
    if note:
        header = f"{NOTE_LINE}{json.dumps(note)}\n{header}"
    np.savetxt(path, table, fmt="%.17g", delimiter=",", header=header, comments="", encoding="utf-8")


def _parquet(path: Path, arrays: dict[str, np.ndarray], note: Mapping[str, Any]) -> None:
    names, table = _columns(arrays, note)
    frame = require_extra("pandas", "tables").DataFrame(table, columns=names)
    frame.attrs = {"units": dict(note.get("units", {}))} | ({"elmonet": json.dumps(note)} if note else {})
    frame.to_parquet(path)


# The optional packages that writing needs: module, and the extra that installs it.
_EXTRAS = {
    ".h5": [("h5py", "h5py")],
    ".hdf5": [("h5py", "h5py")],
    ".zarr": [("zarr", "zarr")],
    ".nc": [("xarray", "xarray"), ("h5netcdf", "xarray")],
    ".parquet": [("pandas", "tables"), ("pyarrow", "tables")],
}
_WRITERS: dict[str, Callable[[Path, dict[str, np.ndarray], Mapping[str, Any]], None]] = {
    ".npz": _npz,
    ".npy": _npy,
    "": _folder,
    ".h5": _hdf5,
    ".hdf5": _hdf5,
    ".zarr": _zarr,
    ".mat": _matlab,
    ".nc": _netcdf,
    ".csv": _csv,
    ".parquet": _parquet,
}
