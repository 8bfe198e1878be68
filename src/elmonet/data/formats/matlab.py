"""MATLAB's files: version 4 by SciPy, 5 to 7 by `matlab5`, 7.3, which is HDF5, by h5py."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from elmonet._check import FileError
from elmonet.data.arrays import Arrays
from elmonet.data.formats.hdf5 import open_datasets
from elmonet.data.formats.matlab5 import add_matlab5, is_matlab5
from elmonet.data.lazy import Lazy

__all__ = ["add_matlab", "add_matlab73"]

_BYTES = {"double": 8, "single": 4, "logical": 1} | {
    f"{sign}int{bits}": bits // 8 for sign in ("", "u") for bits in (8, 16, 32, 64)
}


def add_matlab(arrays: Arrays, path: Path) -> None:
    """The numeric variables of a file of version 4 to 7."""
    with path.open("rb") as file:
        start = file.read(128)
    (add_matlab5 if is_matlab5(start) else _add_matlab4)(arrays, path)


def _add_matlab4(arrays: Arrays, path: Path) -> None:
    from scipy.io import loadmat, whosmat
    from scipy.io.matlab import matfile_version

    sizes = {}
    if matfile_version(path)[0] != 0:  # SciPy's reader of later versions may crash on damaged files
        raise FileError(f"{str(path)!r} does not begin as a file of MATLAB. Write or download it again.")
    with path.open("rb") as file:
        for name, shape, kind in whosmat(file):
            if kind not in _BYTES or any(n < 0 for n in shape):
                arrays.skipped.append(name)
            else:
                sizes[name] = _BYTES[kind] * math.prod(int(n) for n in shape)
        if sum(sizes.values()) > 8 * path.stat().st_size:  # a double may be kept as a byte
            raise FileError(
                f"{str(path)!r} is damaged: its arrays say that they have more numbers than it can hold."
            )
        arrays.unpack(2 * sum(sizes.values()))
        found = loadmat(file, variable_names=list(sizes)) if sizes else {}
    for name in sizes:
        if isinstance(found.get(name), np.ndarray) and found[name].dtype.kind in "biufc":
            arrays[name] = found[name]
        else:
            arrays.skipped.append(name)


def add_matlab73(arrays: Arrays, path: Path) -> None:
    """The numeric variables of a file of version 7.3, with their axes in MATLAB's order."""
    for name, dataset in open_datasets(arrays, path).items():
        kind = dataset.attrs.get("MATLAB_class", b"double")
        kind = kind.decode() if isinstance(kind, bytes) else str(kind)
        if kind not in _BYTES or "MATLAB_empty" in dataset.attrs or name.startswith("#"):
            arrays.skipped.append(name)
        else:
            arrays[name] = _transposed(dataset, f"{name} of {str(path)!r}")


def _transposed(dataset: Any, name: str) -> Any:
    """MATLAB writes its axes in reverse."""
    if dataset.ndim == 0:
        return np.asarray(dataset[()])

    def read(start: int, stop: int, rest: tuple) -> np.ndarray:
        return np.asarray(dataset[..., start:stop]).T[(slice(None), *rest)]

    return Lazy(dataset.shape[::-1], dataset.dtype, read, name)
