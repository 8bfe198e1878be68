"""Files of functions that are opened, not read: zarr, HDF5, or a folder of npy files."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from elmonet._check import FileError, InputError, MissingExtra

__all__ = ["open_pairs"]

_NAMES = {"u": ("u", "u_train"), "s": ("s", "s_train"), "points": ("points", "y")}


def open_pairs(path: str | os.PathLike[str]) -> tuple[Any, Any, np.ndarray | None]:
    """Inputs u (N, ...), outputs s (N, M) and, if they are there, points (M, d), of a file or folder.

    A zarr group, an HDF5 file, or a folder of npy files, with arrays named u or u_train, s or s_train, and
    points or y. Inputs and outputs stay where they are and are read by slicing.
    """
    path = Path(path)
    if not path.exists():
        raise FileError(f"there is no file or folder {str(path)!r}.")
    arrays = _opened(path)
    found = {what: _first(arrays, names) for what, names in _NAMES.items()}
    for what in ("u", "s"):
        if found[what] is None:
            raise InputError(
                f"{str(path)!r} has no array named {' or '.join(_NAMES[what])}; it has "
                f"{', '.join(sorted(arrays)) or 'none at all'}. Rename one, or open it in Python and call "
                "fit_blocks(model, u, s, points)."
            )
    points = found["points"]
    return found["u"], found["s"], None if points is None else np.asarray(points[:])


def _opened(path: Path) -> dict[str, Any]:
    suffix = path.suffix.lower()
    try:
        if suffix in (".h5", ".hdf5"):
            file = _module("h5py").File(path, "r")
            return {name: item for name, item in file.items() if hasattr(item, "shape")}
        if (path / "zarr.json").exists() or (path / ".zgroup").exists() or suffix == ".zarr":
            return dict(_module("zarr").open_group(path, mode="r").arrays())
        if path.is_dir():
            files = path.glob("*.npy")
            return {f.stem: np.load(f, mmap_mode="r", allow_pickle=False) for f in files}
    except MissingExtra:
        raise
    except Exception as error:  # whatever a damaged file makes its library say
        raise FileError(f"{str(path)!r} cannot be opened: {type(error).__name__}: {error}") from error
    raise InputError(f"{str(path)!r} must be a zarr group, an HDF5 file (.h5), or a folder of npy files.")


def _first(arrays: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((arrays[name] for name in names if name in arrays), None)


def _module(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise MissingExtra(f"reading this file needs {name}: pip install 'elmonet[{name}]'.") from None
