"""NumPy's own files: npz, npy, and folders of npy."""

from __future__ import annotations

import io
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import numpy as np

from elmonet.data.formats.pickled import NUMPY, Objects, PickledArray, unpickle
from elmonet.data.lazy import Arrays
from elmonet.errors import FileError

__all__ = ["add_folder", "add_named", "add_npy", "add_npz", "check_sizes", "member_bytes"]

_MOST_DEFLATED = 1032  # deflate cannot make more bytes than this out of one
_PIECE = 1 << 22


def check_sizes(file: ZipFile, arrays: Arrays, path: object) -> None:
    """Raise if the members declare more than they can hold, more than the limit, or more than memory."""
    for info in file.infolist():
        if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise FileError(f"{str(path)!r} is packed in an unusual way; write it again with np.savez.")
        most = info.compress_size * (_MOST_DEFLATED if info.compress_type == ZIP_DEFLATED else 1)
        if info.file_size > most:
            raise FileError(
                f"{str(path)!r} is damaged: {info.filename[:80]!r} says that it has {info.file_size} bytes, "
                f"but it can hold {most} at most. Write or download the file again."
            )
    arrays.unpack(sum(info.file_size for info in file.infolist()))


def member_bytes(file: ZipFile, info: ZipInfo) -> np.ndarray:
    """The bytes of a member as an array, checked against their sum; no more than it declares is unpacked."""
    content = np.empty(info.file_size, np.uint8)
    done = 0
    with file.open(info) as member:
        # Asked for no more than is left, it unpacks no more; reading to the end checks the sum.
        while piece := member.read(min(_PIECE, max(1, info.file_size - done))):
            content[done : done + len(piece)] = np.frombuffer(piece, np.uint8)
            done += len(piece)
    if done != info.file_size:
        raise FileError(f"{info.filename[:80]!r} ends after {done} of {info.file_size} bytes.")
    return content


_MOST, _DEEPEST = 10_000, 16


def add_named(arrays: Arrays, name: str, value: Any, depth: int = 0) -> None:
    """Add `value` under `name`: entries of a dict as "name.key", of an object array or list as "name[0]".

    Without a name, entries have their key or number alone.
    """
    if depth > _DEEPEST or len(arrays) + len(arrays.skipped) > _MOST:
        raise FileError(
            f"the file holds more than {_MOST} arrays, or more than {_DEEPEST} levels of them. Save plain "
            "arrays."
        )
    if isinstance(value, PickledArray):
        value = value.value
    if isinstance(value, Objects) and value.shape == ():
        inner = value.items[0]
        add_named(arrays, "" if isinstance(inner, dict) and depth == 0 else name, inner, depth + 1)
    elif isinstance(value, dict) and value:
        for key, entry in value.items():
            add_named(arrays, f"{name}.{key}" if name else str(key), entry, depth + 1)
    elif isinstance(value, (Objects, list, tuple)):
        items = value.items if isinstance(value, Objects) else list(value)
        arrays.unpack(8 * len(items))
        if not items:
            arrays.skipped.append(name or "an empty list")
        elif all(_is_number(item) for item in items):
            numbers = np.array([float(item) for item in items])
            arrays[name or "values"] = numbers.reshape(getattr(value, "shape", -1))
        else:
            for i, entry in enumerate(items):
                add_named(arrays, f"{name}[{i}]" if name else str(i), entry, depth + 1)
    elif isinstance(value, np.ndarray):
        arrays[name or "tensor"] = value
    elif _is_number(value):
        arrays[name or "value"] = np.array(float(value))
    else:
        arrays.skipped.append(name or type(value).__name__)


def _is_number(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, int) and abs(value) < 1 << 63)


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
