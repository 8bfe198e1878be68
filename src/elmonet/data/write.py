"""Write arrays to files of any kind that elmonet reads, atomically."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from elmonet.data.formats.zarr_group import ZARR_FILES
from elmonet.data.limits import require_extra
from elmonet.errors import FileError, InputError
from elmonet.store import atomic_write, writable_path


def write_data(path: str | os.PathLike[str], arrays: Mapping[str, Any]) -> None:
    """Write arrays by name, in the format that the ending of `path` names.

    npz, h5 or hdf5, zarr, mat, nc, csv; npy for one array; no ending for a folder of npy. What was at `path`
    is replaced once the new file is complete. Raises `FileError` if it cannot be written, `InputError` if the
    format cannot hold these arrays, and `MissingExtra` if an optional package is missing.
    """
    path = Path(path)
    require_writable(path)
    if not arrays:
        raise InputError(f"there is no array to write to {str(path)!r}.")
    with atomic_write(path, folder=_is_folder(path)) as new:
        plain = {str(name): _plain(array, str(name)) for name, array in arrays.items()}
        _WRITERS[path.suffix.lower()](new, plain)


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


def _npz(path: Path, arrays: dict[str, np.ndarray]) -> None:
    if "file" in arrays:
        raise InputError("np.savez cannot write an array named 'file'. Rename it.")
    np.savez(path, allow_pickle=False, **arrays)


def _npy(path: Path, arrays: dict[str, np.ndarray]) -> None:
    if len(arrays) > 1:
        raise InputError(
            f"an npy file holds one array, got {', '.join(arrays)}. Write npz, or a folder (a name without "
            "ending)."
        )
    np.save(path, next(iter(arrays.values())), allow_pickle=False)


def _folder(path: Path, arrays: dict[str, np.ndarray]) -> None:
    path.mkdir()
    for name, array in arrays.items():
        if not re.fullmatch(r"[\w\-\[\]. ]+", name) or name.startswith("."):
            raise InputError(f"{name!r} cannot be a file name. Use letters, digits and _.")
        np.save(path / f"{name}.npy", array, allow_pickle=False)


def _hdf5(path: Path, arrays: dict[str, np.ndarray]) -> None:
    with require_extra("h5py").File(path, "w") as file:
        for name, array in arrays.items():
            file.create_dataset(name, data=array)


def _zarr(path: Path, arrays: dict[str, np.ndarray]) -> None:
    group = require_extra("zarr").open_group(path, mode="w")
    for name, array in arrays.items():
        group.create_array(name, data=array)


def _matlab(path: Path, arrays: dict[str, np.ndarray]) -> None:
    from scipy.io import savemat

    for name, array in arrays.items():
        if not re.fullmatch("[A-Za-z][A-Za-z0-9_]{0,30}", name):
            raise InputError(
                f"{name!r} is not a name in MATLAB: use a letter, then up to 30 letters, digits or _."
            )
        if array.nbytes >= 1 << 31:
            raise InputError(f"{name} has 2 GiB or more, which this kind of .mat cannot hold. Write .h5.")
    savemat(path, arrays, do_compression=True)


def _netcdf(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Write NetCDF; axes of the same length, such as 100, share a dimension, n100."""
    xarray = require_extra("xarray")
    variables = {}
    for name, array in arrays.items():
        dims: list[str] = []
        for n in array.shape:
            dims.append(f"n{n}" + "_" * sum(dim.rstrip("_") == f"n{n}" for dim in dims))
        variables[name] = (tuple(dims), array)
    xarray.Dataset(variables).to_netcdf(path, engine="h5netcdf")


def _csv(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Write (N,) as a column of its name, (N, k) as the columns name0, name1, ..."""
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
    np.savetxt(path, table, fmt="%.17g", delimiter=",", header=",".join(names), comments="")


# The optional packages that writing needs: module, and the extra that installs it.
_EXTRAS = {
    ".h5": [("h5py", "h5py")],
    ".hdf5": [("h5py", "h5py")],
    ".zarr": [("zarr", "zarr")],
    ".nc": [("xarray", "xarray"), ("h5netcdf", "xarray")],
}
_WRITERS: dict[str, Callable[[Path, dict[str, np.ndarray]], None]] = {
    ".npz": _npz,
    ".npy": _npy,
    "": _folder,
    ".h5": _hdf5,
    ".hdf5": _hdf5,
    ".zarr": _zarr,
    ".mat": _matlab,
    ".nc": _netcdf,
    ".csv": _csv,
}
