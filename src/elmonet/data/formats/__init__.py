"""Readers of files, one module for each kind; all give arrays by name."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path

from elmonet.data.arrays import Arrays
from elmonet.data.formats.detect import SUPPORTED, file_format
from elmonet.data.guard import opening

__all__ = ["READERS", "SUPPORTED", "open_arrays"]

READERS = {
    "npz": ("npy", "open_npz"),
    "npy": ("npy", "open_npy"),
    "npy folder": ("npy", "open_folder"),
    "torch": ("torch_file", "open_torch"),
    "matlab": ("matlab", "open_matlab"),
    "matlab 7.3": ("matlab", "open_matlab73"),
    "hdf5": ("hdf5", "open_hdf5"),
    "zarr": ("zarr_group", "open_zarr"),
    "netcdf": ("netcdf", "open_netcdf"),
    "csv": ("csv_table", "open_csv"),
}


def open_arrays(path: str | os.PathLike[str]) -> Arrays:
    """The arrays of numbers in a file or folder, by name.

    Those of zarr, HDF5, NetCDF and npy stay on disk and are read by slicing; the others are in memory.
    Nothing that the file brings is run. Raises `FileError` for what is damaged, unknown, or a pickled object;
    `NotEnoughMemory` before more is read than there is room for; `MissingExtra` if a package is missing.
    """
    path = Path(path)
    with opening(path):
        kind = file_format(path)
        module, function = READERS[kind]
        arrays: Arrays = getattr(import_module(f"elmonet.data.formats.{module}"), function)(path)
    arrays.format = kind
    return arrays
