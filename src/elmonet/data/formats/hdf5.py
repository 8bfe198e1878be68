"""HDF5 and NetCDF files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from elmonet.data.lazy import COMPONENT_DIMS, Arrays, Lazy
from elmonet.data.limits import extra
from elmonet.errors import FileError

__all__ = ["add_dataset", "add_hdf5", "add_netcdf", "open_datasets"]

_MOST = 100_000


def add_hdf5(arrays: Arrays, path: Path) -> None:
    """The numeric arrays, by "group/name", read by slicing.

    Groups that are numbered "0000", "0001", ... and hold arrays of the same shapes are one function
    each: their arrays are stacked, and the grid is the first one's.
    """
    datasets = open_datasets(arrays, path)
    numbered = sorted({name.split("/")[0] for name in datasets if name.split("/")[0].isdecimal()}, key=int)
    stacked = _stacked(datasets, numbered, path) if numbered else {}
    arrays.update(stacked)
    for name, dataset in datasets.items():
        if not (stacked and name.split("/")[0] in numbered):
            arrays[name] = _lazy(dataset, f"{name} of {str(path)!r}")


def open_datasets(arrays: Arrays, path: Path) -> dict[str, Any]:
    """The datasets of numbers of a file that stays open with `arrays`."""
    file = extra("h5py").File(path, "r")
    arrays.keep_open(file)
    found: dict[str, Any] = {}

    def look(name: str, item: Any) -> None:
        if not hasattr(item, "dtype"):  # a group
            return
        if len(found) + len(arrays.skipped) >= _MOST:
            raise FileError(
                f"{str(path)!r} holds more than {_MOST} arrays. Put them into one array, one function per "
                "row."
            )
        elsewhere = item.is_virtual or item.external
        if item.shape is None or elsewhere or item.dtype.kind not in "biufc":
            arrays.skipped.append(name)
        else:
            found[name] = item

    file.visititems(look)  # does not follow links to other files
    return found


def _lazy(dataset: Any, name: str) -> Any:
    return Lazy.of(dataset, name) if dataset.ndim else np.asarray(dataset[()])


def _stacked(datasets: dict[str, Any], groups: list[str], path: Path) -> dict[str, Any]:
    """Arrays of all groups, one above the other, or nothing if the groups hold different arrays."""
    inside = [name.split("/", 1)[1] for name in datasets if name.startswith(f"{groups[0]}/")]
    stacked: dict[str, Any] = {}
    for name in inside:
        if name.startswith("grid/"):
            stacked[name] = _lazy(datasets[f"{groups[0]}/{name}"], f"{name} of {str(path)!r}")
            continue
        rows = [datasets.get(f"{group}/{name}") for group in groups]
        kinds = {(row.shape, row.dtype) for row in rows if row is not None}
        if None in rows or len(kinds) != 1:
            return {}
        (shape, dtype) = kinds.pop()
        stacked[name] = Lazy((len(rows), *shape), dtype, _read_rows(rows), f"{name} of {str(path)!r}")
    return stacked


def _read_rows(rows: list[Any]) -> Any:
    def read(start: int, stop: int, rest: tuple) -> np.ndarray:
        if start == stop:
            return np.empty((0, *rows[0].shape), rows[0].dtype)[(slice(None), *rest)]
        return np.stack([row[rest] for row in rows[start:stop]])

    return read


_SIGNATURE_OF_CLASSIC = b"CDF"


def add_netcdf(arrays: Arrays, path: Path) -> None:
    """The numeric variables and coordinates with the names of their dimensions."""
    xarray = extra("xarray")
    with path.open("rb") as file:
        classic = file.read(3) == _SIGNATURE_OF_CLASSIC
    if not classic:
        extra("h5netcdf", "xarray")
        with extra("h5py").File(path, "r"):  # h5netcdf does not clean up after a file that cannot be opened
            pass
    engine = "scipy" if classic else "h5netcdf"
    dataset = xarray.open_dataset(path, engine=engine, decode_times=False)
    arrays.keep_open(dataset)
    add_dataset(arrays, dataset, repr(str(path)))


def add_dataset(arrays: Arrays, dataset: Any, source: str) -> None:
    """The arrays of an ``xarray.Dataset``; a dimension of components comes last."""
    for key, variable in dataset.variables.items():
        dims = tuple(str(dim) for dim in variable.dims)
        if variable.dtype.kind not in "biufc":
            if len(dims) == 1 and variable.dtype.kind in "UOST":
                arrays.labels[dims[0]] = tuple(str(entry) for entry in np.asarray(variable.values))
            else:
                arrays.skipped.append(str(key))
            continue
        last = [dim for dim in dims if dim in COMPONENT_DIMS]
        if last and dims[-1] != last[0]:
            dims = (*(dim for dim in dims if dim != last[0]), last[0])
            variable = variable.transpose(*dims)
        arrays.dims[str(key)] = dims
        arrays[str(key)] = _lazy_variable(variable, f"{key} of {source}")


def _lazy_variable(variable: Any, name: str) -> Any:
    if variable.ndim == 0:
        return np.asarray(variable.values)

    def read(start: int, stop: int, rest: tuple) -> np.ndarray:
        return np.asarray(variable[start:stop].values)[(slice(None), *rest)]

    return Lazy(variable.shape, variable.dtype, read, name)
