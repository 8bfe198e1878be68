"""Readers of files, one module for each kind; all give arrays by name."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path

from elmonet.data.formats.detect import SUPPORTED, file_format
from elmonet.data.lazy import Arrays
from elmonet.data.limits import SizeLimit, opening

__all__ = ["READERS", "SUPPORTED", "open_arrays"]

# Module and function; each function adds the arrays of a file to a record of arrays.
READERS = {
    "npz": ("numpy_files", "add_npz"),
    "npy": ("numpy_files", "add_npy"),
    "npy folder": ("numpy_files", "add_folder"),
    "torch": ("torch_file", "add_torch"),
    "matlab": ("matlab", "add_matlab"),
    "matlab 7.3": ("matlab", "add_matlab73"),
    "hdf5": ("hdf5", "add_hdf5"),
    "zarr": ("zarr_group", "add_zarr"),
    "netcdf": ("hdf5", "add_netcdf"),
    "csv": ("text", "add_csv"),
}


def open_arrays(path: str | os.PathLike[str], max_bytes: int | str | None = None) -> Arrays:
    """The arrays of numbers in a file or folder, by name.

    Those of zarr, HDF5, NetCDF and npy stay on disk and are read by slicing; the others are in memory.
    Nothing that the file brings is run, and no more than `max_bytes` is unpacked (see `SizeLimit`). Raises
    `FileError` for what is damaged, unknown, too large, or a pickled object; `NotEnoughMemory` before more is
    read than there is room for; `MissingExtra` if a package is missing.
    """
    path, arrays = Path(path), Arrays()
    with opening(path):
        arrays.format = file_format(path)
        arrays.limit = SizeLimit(path, max_bytes)
        module, function = READERS[arrays.format]
        try:
            getattr(import_module(f"elmonet.data.formats.{module}"), function)(arrays, path)
        except BaseException:
            arrays.close()
            raise
    return arrays
