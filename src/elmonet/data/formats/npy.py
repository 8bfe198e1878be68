"""NumPy's own files: npz, npy, and folders of npy."""

from __future__ import annotations

import io
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np

from elmonet._check import FileError
from elmonet.data.arrays import Arrays
from elmonet.data.formats.flatten import add_named
from elmonet.data.formats.pickle_machine import unpickle
from elmonet.data.formats.pickled import NUMPY
from elmonet.data.formats.zipped import check_sizes, member_bytes

__all__ = ["add_folder", "add_npy", "add_npz"]

_LONGEST_HEADER = 1 << 16


def add_npz(arrays: Arrays, path: Path) -> None:
    """Every array of an npz, in memory."""
    with ZipFile(path) as file:
        check_sizes(file, arrays, path)
        for info in file.infolist():
            name = info.filename.removesuffix(".npy")
            if name == info.filename:
                arrays.skipped.append(name)
                continue
            content = member_bytes(file, info)
            _add(arrays, name, _Header.of(content[: _LONGEST_HEADER + 12].tobytes()), content)


def add_folder(arrays: Arrays, path: Path) -> None:
    """The npy files of a folder by name, as memory maps."""
    for file in sorted(path.glob("*.npy")):
        add_npy(arrays, file)


@dataclass(frozen=True)
class _Header:
    shape: tuple[int, ...]
    order: Any
    dtype: np.dtype
    offset: int

    @classmethod
    def of(cls, start: bytes) -> _Header:
        """Of the first bytes of a file."""
        version, wide = np.lib.format.read_magic(io.BytesIO(start[:8])), 4
        if version == (1, 0):
            wide = 2
        elif version != (2, 0):
            raise FileError(f"npy files of version {version} hold records, not numbers. Save plain arrays.")
        offset = 8 + wide + int.from_bytes(start[8 : 8 + wide], "little")
        if offset > min(len(start), _LONGEST_HEADER):
            raise FileError(f"the header of an npy file takes {offset} bytes, more than there are.")
        stream = io.BytesIO(start[8:offset])
        read = np.lib.format.read_array_header_1_0 if wide == 2 else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read(stream)
        if any(n < 0 for n in shape) or len(shape) > 32:
            raise FileError(f"an npy file gives the shape {str(shape)[:80]}.")
        return cls(tuple(int(n) for n in shape), "F" if fortran else "C", dtype, offset)

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    def check(self, there: int) -> None:
        """Raise unless as many bytes are there as the shape needs."""
        if self.nbytes != there:
            raise FileError(
                f"an array of shape {str(self.shape)[:80]} and type {self.dtype} takes {self.nbytes} bytes, "
                f"but {there} are there. The file is damaged, or not complete."
            )


def _add(arrays: Arrays, name: str, header: _Header, content: np.ndarray) -> None:
    """Add the array, or the arrays, that a whole npy file in memory holds."""
    if header.dtype.hasobject:
        add_named(arrays, name, unpickle(content[header.offset :].tobytes(), NUMPY, unpack=arrays.unpack))
    elif header.dtype.kind not in "biufc":
        arrays.skipped.append(name)
    else:
        header.check(len(content) - header.offset)
        values = content[header.offset :]
        if header.offset % header.dtype.alignment:
            values = values.copy()
        arrays[name] = values.view(header.dtype).reshape(header.shape, order=header.order)


def add_npy(arrays: Arrays, path: Path) -> None:
    """The array of one npy file, under the file's name, as a memory map."""
    name = path.stem
    with path.open("rb") as file:
        header = _Header.of(file.read(_LONGEST_HEADER + 12))
    size = path.stat().st_size
    if header.dtype.hasobject:
        arrays.unpack(2 * size)
        _add(arrays, name, header, np.fromfile(path, np.uint8))
    elif header.dtype.kind not in "biufc":
        arrays.skipped.append(name)
    else:
        header.check(size - header.offset)
        where: dict[str, Any] = {"offset": header.offset, "order": header.order}
        if header.nbytes == 0:
            arrays[name] = np.zeros(header.shape, header.dtype)
        else:
            arrays[name] = np.memmap(path, header.dtype, "r", shape=header.shape, **where)
