"""HDF5 and NetCDF files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from elmonet.data.formats.registry import register_reader
from elmonet.data.lazy import COMPONENT_DIMS, Arrays, Lazy, unpacked
from elmonet.data.limits import require_extra
from elmonet.errors import FileError

_MAX_ARRAYS = 100_000  # in one file
_NETCDF_ENDINGS = ("nc", "nc4", "cdf", "netcdf")


def is_hdf5(start: bytes) -> bool:
    """Return whether a file that begins so is HDF5, possibly behind a block of the user."""
    return any(start[at : at + 8] == b"\x89HDF\r\n\x1a\n" for at in (0, 512, 1024, 2048, 4096))


@register_reader(
    "hdf5",
    endings=["h5", "hdf5", "hdf", "he5"],
    description="h5 or hdf5 (HDF5)",
    recognise=lambda path, start: is_hdf5(start),
    on_disk=True,
)
def add_hdf5(arrays: Arrays, path: Path) -> None:
    """Add the numeric arrays by "group/name", read by slicing.

    Groups that are numbered "0000", "0001", ... and hold arrays of the same shapes are one function each:
    their arrays are stacked, and the grid of the first group is taken for all.
    """
    datasets = {
        name: unpacked(dataset, dataset.attrs, f"{name} of {str(path)!r}")
        for name, dataset in open_datasets(arrays, path).items()
    }
    for name, dataset in datasets.items():
        if unit := text_of(dataset, "units") or text_of(dataset, "unit"):
            arrays.units[name] = unit
    numbered = sorted({name.split("/")[0] for name in datasets if name.split("/")[0].isdecimal()}, key=int)
    stacked = _stacked(datasets, numbered, path) if numbered else {}
    arrays.update(stacked)
    for name, dataset in datasets.items():
        if not (stacked and name.split("/")[0] in numbered):
            arrays[name] = Lazy.of(dataset, f"{name} of {str(path)!r}")


def text_of(array: Any, attribute: str) -> str:
    """Return an attribute of text; "" if there is none."""
    value = getattr(array, "attrs", {}).get(attribute)
    value = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    return value if isinstance(value, str) else ""


def open_datasets(arrays: Arrays, path: Path) -> dict[str, Any]:
    """Return the numeric datasets of a file, which stays open until `arrays` is closed."""
    file = require_extra("h5py").File(path, "r")
    arrays.keep_open(file)
    found: dict[str, Any] = {}

    def look(name: str, item: Any) -> None:
        if not hasattr(item, "dtype"):  # a group
            return
        if len(found) + len(arrays.skipped) >= _MAX_ARRAYS:
            raise FileError(
                f"{str(path)!r} holds more than {_MAX_ARRAYS} arrays. Put them into one array, one function "
                "per row."
            )
        elsewhere = item.is_virtual or item.external
        if item.shape is None or elsewhere or item.dtype.kind not in "biufc":
            arrays.skipped.append(name)
        else:
            found[name] = item

    file.visititems(look)  # does not follow links to other files
    return found


def _stacked(datasets: dict[str, Any], groups: list[str], path: Path) -> dict[str, Any]:
    """Return the arrays of all groups, stacked along a first axis; nothing if the groups differ."""
    inside = [name.split("/", 1)[1] for name in datasets if name.startswith(f"{groups[0]}/")]
    stacked: dict[str, Any] = {}
    for name in inside:
        if name.startswith("grid/"):
            stacked[name] = Lazy.of(datasets[f"{groups[0]}/{name}"], f"{name} of {str(path)!r}")
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


@register_reader(
    "netcdf",
    endings=_NETCDF_ENDINGS,
    description="nc (NetCDF)",
    recognise=lambda path, start: (
        start[:4] in (b"CDF\x01", b"CDF\x02", b"CDF\x05")
        or (is_hdf5(start) and path.suffix.lower()[1:] in _NETCDF_ENDINGS)
    ),
    on_disk=True,
)
def add_netcdf(arrays: Arrays, path: Path) -> None:
    """Add the numeric variables and coordinates, with the names of their dimensions."""
    xarray = require_extra("xarray")
    with path.open("rb") as file:
        classic = file.read(3) == b"CDF"
    if not classic:
        require_extra("h5netcdf", "xarray")
        require_extra("h5py").File(path, "r").close()  # h5netcdf leaves a file open that it cannot read
    dataset = xarray.open_dataset(path, engine="scipy" if classic else "h5netcdf", decode_times=False)
    arrays.keep_open(dataset)
    add_dataset(arrays, dataset, repr(str(path)))


def add_dataset(arrays: Arrays, dataset: Any, source: str) -> None:
    """Add the arrays of an ``xarray.Dataset``, with a dimension of components moved last."""
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
        if unit := text_of(variable, "units"):
            arrays.units[str(key)] = unit
        arrays[str(key)] = Lazy.of(variable, f"{key} of {source}")
