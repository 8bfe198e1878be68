"""NetCDF, and xarray's datasets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from elmonet.data.arrays import COMPONENT_DIMS, Arrays
from elmonet.data.guard import extra
from elmonet.data.lazy import Lazy

__all__ = ["add_dataset", "add_netcdf"]

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
        arrays[str(key)] = _lazy(variable, f"{key} of {source}")


def _lazy(variable: Any, name: str) -> Any:
    if variable.ndim == 0:
        return np.asarray(variable.values)

    def read(start: int, stop: int, rest: tuple) -> np.ndarray:
        return np.asarray(variable[start:stop].values)[(slice(None), *rest)]

    return Lazy(variable.shape, variable.dtype, read, name)
