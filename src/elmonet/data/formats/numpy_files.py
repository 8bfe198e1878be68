"""NumPy files: npz, npy, and folders of npy."""

from __future__ import annotations

import math
from pathlib import Path
from typing import IO, Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import numpy as np

from elmonet.data.formats.pickled import NUMPY, add_unpickled, unpickle
from elmonet.data.formats.registry import register_reader, zip_names
from elmonet.data.lazy import Arrays
from elmonet.data.limits import DEFLATE_RATIO
from elmonet.errors import FileError

_CHUNK = 1 << 22  # bytes
_NPY = "npy or a folder of npy (NumPy)"


@register_reader(
    "npz",
    endings=["npz"],
    recognise=lambda path, start: (
        (names := zip_names(path, start)) is not None
        and (path.suffix.lower() == ".npz" or any(name.endswith(".npy") for name in names))
    ),
)
def add_npz(arrays: Arrays, path: Path) -> None:
    """Add every array of an npz file, in memory."""
    with ZipFile(path) as file:
        check_sizes(file, arrays, path)
        for info in file.infolist():
            name = info.filename.removesuffix(".npy")
            if name == info.filename:
                arrays.skipped.append(name)
                continue
            with file.open(info) as member:
                shape, dtype = _read_header(member)
                if dtype.hasobject:
                    _add_pickled(arrays, name, member.read(info.file_size))
                elif dtype.kind not in "biufc":
                    arrays.skipped.append(name)
                else:
                    _check_size(shape, dtype, info.file_size - member.tell())
                    member.seek(0)
                    arrays[name] = np.lib.format.read_array(member, allow_pickle=False)


@register_reader(
    "npy",
    endings=["npy"],
    description=_NPY,
    recognise=lambda path, start: start.startswith(b"\x93NUMPY"),
    on_disk=True,
)
def add_npy(arrays: Arrays, path: Path) -> None:
    """Add the array of an npy file under the file's name, as a memory map."""
    size = path.stat().st_size
    if not size:
        raise FileError(f"{str(path)!r} is empty: it has no bytes. Write or download it again.")
    with path.open("rb") as file:
        shape, dtype = _read_header(file)
        if dtype.hasobject:
            arrays.charge(2 * size)
            _add_pickled(arrays, path.stem, file.read())
        elif dtype.kind not in "biufc":
            arrays.skipped.append(path.stem)
        else:
            _check_size(shape, dtype, size - file.tell())
            empty = 0 in shape  # cannot be mapped
            arrays[path.stem] = np.zeros(shape, dtype) if empty else np.lib.format.open_memmap(path, mode="r")


@register_reader(
    "npy folder",
    description=_NPY,
    recognise=lambda path, start: path.is_dir() and any(path.glob("*.npy")),
    on_disk=True,
)
def add_folder(arrays: Arrays, path: Path) -> None:
    """Add the npy files of a folder by name, as memory maps."""
    for file in sorted(path.glob("*.npy")):
        add_npy(arrays, file)


def _read_header(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype]:
    """Return shape and dtype, and leave the stream at the first byte after the header."""
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    elif version == (2, 0):
        shape, _, dtype = np.lib.format.read_array_header_2_0(file)
    else:
        raise FileError(f"npy files of version {version} hold records, not numbers. Save plain arrays.")
    if any(n < 0 for n in shape) or len(shape) > 32:
        raise FileError(f"an npy file gives the shape {str(shape)[:80]}.")
    return shape, dtype


def _check_size(shape: tuple[int, ...], dtype: np.dtype, present: int) -> None:
    """Raise unless exactly the bytes that an array needs are present, before any memory is allocated."""
    needed = math.prod(shape) * dtype.itemsize
    if needed != present:
        raise FileError(
            f"an array of shape {str(shape)[:80]} and type {dtype} takes {needed} bytes, but {present} are "
            "there. The file is damaged or truncated."
        )


def _add_pickled(arrays: Arrays, name: str, content: bytes) -> None:
    add_unpickled(arrays, name, unpickle(content, NUMPY, charge=arrays.charge))


def check_sizes(file: ZipFile, arrays: Arrays, path: Any) -> None:
    """Raise if the members of a zip declare more than they can hold, than the limit, or than memory."""
    for info in file.infolist():
        if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise FileError(f"{str(path)!r} uses an unusual compression; write it again with np.savez.")
        possible = info.compress_size * (DEFLATE_RATIO if info.compress_type == ZIP_DEFLATED else 1)
        if info.file_size > possible:
            raise FileError(
                f"{str(path)!r} is damaged: {info.filename[:80]!r} says that it has {info.file_size} bytes, "
                f"but it can hold {possible} at most. Write or download the file again."
            )
    arrays.charge(sum(info.file_size for info in file.infolist()))


def member_bytes(file: ZipFile, info: ZipInfo) -> np.ndarray:
    """Return a zip member as an array of bytes, with its checksum checked.

    Reading in chunks of what is left unpacks no more than the member declares.
    """
    content = np.empty(info.file_size, np.uint8)
    done = 0
    with file.open(info) as member:
        while chunk := member.read(min(_CHUNK, max(1, info.file_size - done))):
            content[done : done + len(chunk)] = np.frombuffer(chunk, np.uint8)
            done += len(chunk)
    if done != info.file_size:
        raise FileError(f"{info.filename[:80]!r} ends after {done} of {info.file_size} bytes.")
    return content
