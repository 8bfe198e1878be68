"""Readers of files, one module for each family of kinds; each registers itself and yields arrays by name."""

from __future__ import annotations

import os
from pathlib import Path

from elmonet.data.formats import hdf5, matlab, numpy_files, text, torch_file, zarr_group
from elmonet.data.formats.registry import data_endings, find_reader, register_reader
from elmonet.data.lazy import Arrays
from elmonet.data.limits import SizeLimit, opening

__all__ = ["data_endings", "find_reader", "open_arrays", "register_reader"]

_ = hdf5, matlab, numpy_files, text, torch_file, zarr_group  # imported to register their readers


def open_arrays(path: str | os.PathLike[str], max_bytes: int | str | None = None) -> Arrays:
    """Return the numeric arrays in a file or folder, by name.

    Arrays of zarr, HDF5, NetCDF and npy stay on disk and are read by slicing; the others are in memory.
    Nothing in the file is executed, and at most `max_bytes` are unpacked (see `SizeLimit`).

    Parameters
    ----------
    path : of the file or folder.
    max_bytes : how much may be unpacked, as a number or as "4GB".

    Returns
    -------
    arrays : dictionary of the arrays; close it, or use it in a with statement.

    Raises
    ------
    FileError : if the file is damaged, unknown, too large, or a pickled object.
    NotEnoughMemory : before more is read than fits into memory.
    MissingExtra : if an optional package is missing.
    """
    path, arrays = Path(path), Arrays()
    with opening(path):
        reader = find_reader(path)
        arrays.format, arrays.limit = reader.kind, SizeLimit(path, max_bytes)
        try:
            reader.add_arrays(arrays, path)
        except BaseException:
            arrays.close()
            raise
    return arrays
