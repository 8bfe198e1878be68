"""MATLAB files: version 4 by SciPy, 5 to 7 by a reader of our own, 7.3, which is HDF5, by h5py.

SciPy's reader of versions 5 to 7 is compiled code that trusts the file: one wrong byte, in the type of an
element, makes it crash (tests/data/test_matlab.py has such a file). The reader here checks before it reads.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from elmonet.data.formats.hdf5 import is_hdf5, open_datasets
from elmonet.data.formats.registry import register_reader
from elmonet.data.lazy import Arrays, Lazy
from elmonet.data.limits import DEFLATE_RATIO
from elmonet.errors import FileError

_HEADER_BYTES = 128
# Element types and flags of the format, and the dtypes of stored numbers and of MATLAB's classes.
_INT8, _INT32, _UINT32, _MATRIX, _COMPRESSED = 1, 5, 6, 14, 15
_COMPLEX = 0x800
_STORED = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_CLASS = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8"}
_ITEM_BYTES = {"double": 8, "single": 4, "logical": 1} | {
    f"{sign}int{bits}": bits // 8 for sign in ("", "u") for bits in (8, 16, 32, 64)
}


@register_reader(
    "matlab",
    endings=["mat"],
    description="mat (MATLAB)",
    recognise=lambda path, start: start.startswith(b"MATLAB 5.0"),
)
def add_matlab(arrays: Arrays, path: Path) -> None:
    """Add the numeric variables of a file of version 4 to 7; uncompressed ones stay on disk."""
    with path.open("rb") as file:
        signature = file.read(_HEADER_BYTES)[124:]
    if signature not in (b"\x00\x01IM", b"\x01\x00MI"):
        return _add_version4(arrays, path)
    content = np.memmap(path, np.uint8, "r")
    order = "<" if signature[2:] == b"IM" else ">"
    for kind, body in _elements(content[_HEADER_BYTES:], order, padded=False):
        if kind == _COMPRESSED:
            kind, body = _decompressed(arrays, body, order)
        if kind == _MATRIX:
            _add_matrix(arrays, body, order)


def _elements(content: np.ndarray, order: str, *, padded: bool = True) -> Iterator[tuple[int, np.ndarray]]:
    """Yield type and content of the elements in some bytes; inside a matrix they are padded to 8 bytes."""
    at = 0
    while at + 8 <= len(content):
        kind, size = (int(n) for n in content[at : at + 8].view(f"{order}u4"))
        begin, step = at + 8, 8 + size
        if kind >> 16:  # a small element: type and size share four bytes, the content takes the other four
            kind, size, begin, step = kind & 0xFFFF, kind >> 16, at + 4, 8
        if begin + size > len(content):
            raise FileError(f"an element of {size} bytes exceeds the file. It is damaged or truncated.")
        yield kind, content[begin : begin + size]
        at += -(-step // 8) * 8 if padded or kind != _COMPRESSED else step


def _decompressed(arrays: Arrays, body: np.ndarray, order: str) -> tuple[int, np.ndarray]:
    """Return type and content of the element inside a compressed one."""
    tag = zlib.decompressobj().decompress(body.data, 8)
    if len(tag) < 8:
        raise FileError("a compressed array ends too early. Write or download the file again.")
    kind, size = (int(n) for n in np.frombuffer(tag, f"{order}u4"))
    if size > DEFLATE_RATIO * len(body):
        raise FileError(
            f"a compressed array says that it has {size} bytes, more than it can hold. The file is damaged."
        )
    arrays.charge(size)
    decompressor = zlib.decompressobj()
    content = decompressor.decompress(body.data, size + 8)  # no more than it declares
    if len(content) < size + 8:
        raise FileError("a compressed array ends too early. Write or download the file again.")
    decompressor.decompress(decompressor.unconsumed_tail, 1)  # to the end, where the checksum is
    return kind, np.frombuffer(bytearray(content), np.uint8)[8:]


def _add_matrix(arrays: Arrays, body: np.ndarray, order: str) -> None:
    elements = _elements(body, order)
    flags, sizes, label = (next(elements, (0, body[:0])) for _ in range(3))
    types = (flags[0], sizes[0], label[0])
    if types != (_UINT32, _INT32, _INT8) or len(flags[1]) != 8 or len(sizes[1]) % 4:
        raise FileError("an array does not begin with its type, sizes and name. The file is damaged.")
    flag = int(flags[1].view(f"{order}u4")[0])
    shape = tuple(int(n) for n in sizes[1].view(f"{order}i4"))
    name = bytes(label[1]).decode("utf-8", "replace")
    if flag & 0xFF not in _CLASS or not name:
        arrays.skipped += [name] if name else []
        return
    if len(shape) > 32 or any(n < 0 for n in shape):
        raise FileError(f"{name[:80]} has the sizes {str(shape)[:80]}. The file is damaged.")
    dtype = np.dtype(order + _CLASS[flag & 0xFF])
    array = _numbers(arrays, next(elements, None), shape, dtype, name)
    if flag & _COMPLEX:
        array = array + 1j * _numbers(arrays, next(elements, None), shape, dtype, name)
    arrays[name] = array


def _numbers(arrays: Arrays, element: Any, shape: tuple[int, ...], dtype: np.dtype, name: str) -> np.ndarray:
    """Return the numbers of a matrix, which may be stored in a smaller type than they have."""
    kind, content = element if element is not None else (0, np.empty(0, np.uint8))
    stored = np.dtype(dtype.byteorder + _STORED[kind]) if kind in _STORED else None
    if stored is None or len(content) != math.prod(shape) * stored.itemsize:
        raise FileError(
            f"{name[:80]} of sizes {str(shape)[:80]} does not have the bytes for its numbers. The file is "
            "damaged."
        )
    if not content.flags.aligned or content.ctypes.data % stored.itemsize:
        content = content.copy()
    numbers = content.view(stored)
    if stored != dtype:
        arrays.charge(math.prod(shape) * dtype.itemsize)
        numbers = numbers.astype(dtype)
    return numbers.reshape(shape, order="F")


def _add_version4(arrays: Arrays, path: Path) -> None:
    from scipy.io import loadmat, whosmat
    from scipy.io.matlab import matfile_version

    sizes = {}
    if matfile_version(path)[0] != 0:
        raise FileError(f"{str(path)!r} does not begin as a MATLAB file. Write or download it again.")
    with path.open("rb") as file:
        for name, shape, kind in whosmat(file):
            if kind not in _ITEM_BYTES or any(n < 0 for n in shape):
                arrays.skipped.append(name)
            else:
                sizes[name] = _ITEM_BYTES[kind] * math.prod(int(n) for n in shape)
        if sum(sizes.values()) > 8 * path.stat().st_size:  # a double may be stored as a byte
            raise FileError(
                f"{str(path)!r} is damaged: its arrays declare more numbers than the file can hold."
            )
        arrays.charge(2 * sum(sizes.values()))
        found = loadmat(file, variable_names=list(sizes)) if sizes else {}
    for name in sizes:
        if isinstance(found.get(name), np.ndarray) and found[name].dtype.kind in "biufc":
            arrays[name] = found[name]
        else:
            arrays.skipped.append(name)


@register_reader(
    "matlab 7.3",
    description="mat (MATLAB)",
    recognise=lambda path, start: (
        is_hdf5(start) and (path.suffix.lower() == ".mat" or start.startswith(b"MATLAB 7.3"))
    ),
    on_disk=True,
)
def add_matlab73(arrays: Arrays, path: Path) -> None:
    """Add the numeric variables of a file of version 7.3, with their axes in MATLAB's order."""
    for name, dataset in open_datasets(arrays, path).items():
        kind = dataset.attrs.get("MATLAB_class", b"double")
        kind = kind.decode() if isinstance(kind, bytes) else str(kind)
        if kind not in _ITEM_BYTES or "MATLAB_empty" in dataset.attrs or name.startswith("#"):
            arrays.skipped.append(name)
        else:
            arrays[name] = Lazy.of(dataset, f"{name} of {str(path)!r}", reverse=True)
