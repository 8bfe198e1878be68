"""HDF5: arrays of the root and of groups, and files with one group per function."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from elmonet._check import FileError
from elmonet.data.arrays import Arrays
from elmonet.data.guard import extra
from elmonet.data.lazy import Lazy

__all__ = ["add_hdf5", "open_datasets"]

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
