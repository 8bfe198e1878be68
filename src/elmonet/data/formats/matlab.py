"""MATLAB's files: version 4 by SciPy, 5 to 7 read without trust, 7.3, which is HDF5, by h5py."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from elmonet.data.formats.hdf5 import open_datasets
from elmonet.data.lazy import Arrays, Lazy
from elmonet.errors import FileError

__all__ = ["add_matlab", "add_matlab5", "add_matlab73", "is_matlab5"]

_HEADER = 128
_MATRIX, _PACKED = 14, 15
_COMPLEX = 0x800
# How numbers are kept in the file, and what they are in MATLAB.
_KEPT = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_CLASS = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8"}


def is_matlab5(start: bytes) -> bool:
    """Whether a file that begins so is of this kind."""
    return start[124:128] in (b"\x00\x01IM", b"\x01\x00MI")


def add_matlab5(arrays: Arrays, path: Path) -> None:
    """The numeric variables; those that are not packed stay on disk."""
    content = np.memmap(path, np.uint8, "r")
    order = "<" if bytes(content[126:128]) == b"IM" else ">"
    for kind, body in _elements(content[_HEADER:], order, padded=False):
        if kind == _PACKED:
            kind, body = _unpacked(arrays, body, order)
        if kind == _MATRIX:
            _add(arrays, body, order)


def _elements(content: np.ndarray, order: str, *, padded: bool = True) -> Iterator[tuple[int, np.ndarray]]:
    """The elements in some bytes, as type and content; within a matrix they are padded to 8 bytes."""
    at = 0
    while at + 8 <= len(content):
        kind, size = (int(n) for n in content[at : at + 8].view(f"{order}u4"))
        begin, step = at + 8, 8 + size
        if kind >> 16:  # a small one: type and size share four bytes, and the content takes the other four
            kind, size, begin, step = kind & 0xFFFF, kind >> 16, at + 4, 8
        if begin + size > len(content):
            raise FileError(
                f"a part of {size} bytes goes past the end. The file is damaged, or not complete."
            )
        yield kind, content[begin : begin + size]
        at += -(-step // 8) * 8 if padded or kind != _PACKED else step


def _unpacked(arrays: Arrays, body: np.ndarray, order: str) -> tuple[int, np.ndarray]:
    """The element that a packed one holds."""
    tag = zlib.decompressobj().decompress(body.data, 8)
    if len(tag) < 8:
        raise FileError("a packed array ends too early. Write or download the file again.")
    kind, size = (int(n) for n in np.frombuffer(tag, f"{order}u4"))
    if size > 1032 * len(body):  # deflate cannot make more out of it
        raise FileError(
            f"a packed array says that it has {size} bytes, more than it can hold. The file is damaged."
        )
    arrays.unpack(size)
    unpacking = zlib.decompressobj()
    content = unpacking.decompress(body.data, size + 8)  # no more than it declares
    if len(content) < size + 8:
        raise FileError("a packed array ends too early. Write or download the file again.")
    unpacking.decompress(unpacking.unconsumed_tail, 1)  # to the end, where its sum is checked
    return kind, np.frombuffer(bytearray(content), np.uint8)[8:]


def _add(arrays: Arrays, body: np.ndarray, order: str) -> None:
    elements = _elements(body, order)
    flags, sizes, name = (next(elements, (0, body[:0])) for _ in range(3))
    if flags[0] != 6 or len(flags[1]) != 8 or sizes[0] != 5 or len(sizes[1]) % 4 or name[0] != 1:
        raise FileError("an array does not begin with its type, sizes and name. The file is damaged.")
    what = int(flags[1].view(f"{order}u4")[0])
    shape = tuple(int(n) for n in sizes[1].view(f"{order}i4"))
    called = bytes(name[1]).decode("utf-8", "replace")
    if what & 0xFF not in _CLASS or not called:
        if called:
            arrays.skipped.append(called)
        return
    if len(shape) > 32 or any(n < 0 for n in shape):
        raise FileError(f"{called[:80]} has the sizes {str(shape)[:80]}. The file is damaged.")
    dtype = np.dtype(order + _CLASS[what & 0xFF])
    array = _numbers(arrays, next(elements, None), shape, dtype, called)
    if what & _COMPLEX:
        array = array + 1j * _numbers(arrays, next(elements, None), shape, dtype, called)
    arrays[called] = array


def _numbers(arrays: Arrays, element: Any, shape: tuple[int, ...], dtype: np.dtype, name: str) -> np.ndarray:
    """Numbers of a matrix, which may be kept in a smaller type than they have."""
    kind, content = element if element is not None else (0, np.empty(0, np.uint8))
    kept = np.dtype(dtype.byteorder + _KEPT[kind]) if kind in _KEPT else None
    if kept is None or len(content) != math.prod(shape) * kept.itemsize:
        raise FileError(
            f"{name[:80]} of sizes {str(shape)[:80]} does not have the bytes for its numbers. The file is "
            "damaged."
        )
    if not content.flags.aligned or content.ctypes.data % kept.itemsize:
        content = content.copy()
    numbers = content.view(kept)
    if kept != dtype:
        arrays.unpack(math.prod(shape) * dtype.itemsize)
        numbers = numbers.astype(dtype)
    return numbers.reshape(shape, order="F")


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
