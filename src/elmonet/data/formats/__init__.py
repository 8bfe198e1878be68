"""Readers of files, one module for each family of kinds; each registers itself and yields arrays by name."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

from elmonet.data.formats import (
    frames,
    hdf5,
    matlab,
    mesh,
    numpy_files,
    openfoam,
    text,
    torch_file,
    zarr_group,
)
from elmonet.data.formats.registry import data_endings, find_reader, register_reader
from elmonet.data.lazy import Arrays
from elmonet.data.limits import SizeLimit, reading

__all__ = ["data_endings", "find_reader", "open_arrays", "register_reader"]

_ = (
    frames,
    hdf5,
    matlab,
    mesh,
    numpy_files,
    openfoam,
    text,
    torch_file,
    zarr_group,
)  # imported to register their readers


def open_arrays(path: str | os.PathLike[str], max_bytes: int | str | None = None) -> Arrays:
    """Return the numeric arrays in a file or folder, by name.

    Arrays of zarr, HDF5, NetCDF and npy stay on disk and are read by slicing, until the dictionary is closed;
    the others are in memory. Nothing in the file is executed, and at most `max_bytes`, a number or "4GB", are
    unpacked (see `SizeLimit`). Raises `FileError` if the file is damaged, unknown, too large, or a pickled
    object, `NotEnoughMemory` before more is read than fits into memory, and `MissingExtra`.
    """
    path, arrays = Path(path), Arrays()
    with reading(path, "opened"), warnings.catch_warnings():  # not thread-safe
        warnings.simplefilter("ignore")  # those of other libraries
        reader = find_reader(path)
        arrays.format, arrays.limit = reader.kind, SizeLimit(path, max_bytes)
        try:
            reader.add_arrays(arrays, path)
        except BaseException:
            arrays.close()
            raise
    return arrays
