"""One safe file: arrays and a JSON header in the safetensors format.

No pickle, nothing executed on load. Writing is atomic: the file at `path` is the old one or the new
one, whole, whatever happens in between. A digest over header and arrays finds every damaged bit.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save as to_bytes

from elmonet.errors import FileError

__all__ = ["FORMAT_VERSION", "destination", "digest", "read", "replacing", "write", "write_bytes"]

_NO_FILES = {
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
}


def destination(path: str | os.PathLike[str], *, folder: bool = False) -> Path:
    """The place that `path` means, for a file or, with `folder`, for a folder of files.

    Symbolic links are followed, also to a file that is not there yet. Raises `FileError` for devices, sockets
    and pipes, for links in a circle, where the folder around it does not exist, and for a folder where a file
    should be written, or the other way round.
    """
    real = Path(os.path.realpath(path))
    try:
        mode = stat.S_IFMT(os.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        if real.parent.is_dir():
            return real
        outside = real.parent if Path(path).is_symlink() else Path(path).parent
        why = f"it must name a file in a folder that exists; there is no folder {str(outside)!r}."
    except OSError as error:
        circle = error.errno == errno.ELOOP
        why = "its links lead to each other, and to no file. Name a file." if circle else f"{error.strerror}."
    else:
        if mode in _NO_FILES:
            why = f"it is {_NO_FILES[mode]}, not a file. Name a file."
        elif mode == stat.S_IFDIR and not folder:
            why = "it is a folder. Name a file in it."
        elif mode != stat.S_IFDIR and folder:
            why = "it would be a folder, but a file is there. Name another."
        else:
            return real
    raise FileError(f"cannot write {os.fspath(path)!r}: {why}")


@contextmanager
def replacing(path: str | os.PathLike[str], *, folder: bool = False) -> Iterator[Path]:
    """A place to write to, from where the result moves to the `destination` of `path` when it is whole.

    Raises `FileError` if it cannot be written; what was there before is then unchanged.
    """
    real = destination(path, folder=folder)
    place = None
    try:
        # In the same folder, because only there os.replace is atomic.
        place = Path(tempfile.mkdtemp(dir=real.parent, prefix=f".{real.name[:100]}.", suffix=".part"))
        new, old = place / real.name, place / "old"
        yield new
        if not folder:
            with new.open("rb+") as file:
                os.fsync(file.fileno())
        elif real.exists():
            os.replace(real, old)  # a folder cannot be replaced at once
        try:
            os.replace(new, real)
        except OSError:
            if folder and old.exists():
                os.replace(old, real)
            raise
    except OSError as error:
        raise FileError(
            f"cannot write {os.fspath(path)!r}: {error.strerror or error}. Make room there, or name another "
            "place. What was there before is unchanged."
        ) from error
    finally:
        if place is not None:
            shutil.rmtree(place, ignore_errors=True)


FORMAT_VERSION = 2  # 1 was elmonet 0.1's
_FORMAT = "elmonet"


def write(path: str | os.PathLike[str], header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Write header and arrays to `path`, atomically."""
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    text = json.dumps(header, sort_keys=True, allow_nan=False)
    metadata = {
        "format": _FORMAT,
        "version": str(FORMAT_VERSION),
        "header": text,
        "sha256": _file_digest(FORMAT_VERSION, text, arrays),
    }
    write_bytes(path, to_bytes(arrays, metadata))


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Write `content` to `path`: the file there is the old one or the new one, whole.

    Symbolic links are followed. Raises `FileError` where no file can be written: folders, devices, ...
    """
    with replacing(path) as new:
        new.write_bytes(content)


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read header and arrays, or raise `FileError` if the file is not whole or not ours."""
    path = Path(path)
    if not path.is_file():
        raise FileError(f"there is no file {str(path)!r}.")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            _check_kind(path, metadata)
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        digest_now = _file_digest(int(metadata["version"]), metadata["header"], arrays)
        if digest_now != metadata["sha256"]:
            raise FileError(
                f"{str(path)!r} is damaged: its checksum is wrong. Take another copy, or fit the model again."
            )
        return json.loads(metadata["header"]), arrays
    except FileError:
        raise
    except Exception as error:  # any error of the parser about a damaged file
        raise FileError(
            f"{str(path)!r} is not a whole elmonet model: {type(error).__name__}: {error}. It may be of "
            "another kind, or not complete. Write it again with model.save()."
        ) from error


def digest(arrays: list[np.ndarray]) -> str:
    """SHA-256 of the types, shapes and bytes of some arrays."""
    sha = hashlib.sha256()
    for array in arrays:
        array = np.ascontiguousarray(array)
        sha.update(f"{array.dtype.str}{array.shape};".encode())
        sha.update(array.data.cast("B") if array.size else b"")
    return sha.hexdigest()


def _check_kind(path: Path, metadata: dict[str, str]) -> None:
    if metadata.get("format") != _FORMAT:
        raise FileError(
            f"{str(path)!r} is a safetensors file but not an elmonet model. Load it with the program "
            "that wrote it."
        )
    version = metadata.get("version", "")
    if not version.isdecimal() or not version.isascii() or len(version) > 9:
        raise FileError(f"{str(path)!r} is damaged: its version reads {version[:20]!r}.")
    if int(version) > FORMAT_VERSION:
        raise FileError(
            f"{str(path)!r} was written by a newer elmonet (file version {version}, this one reads up to "
            f"{FORMAT_VERSION}). Install a newer elmonet to load it."
        )
    if int(version) < 1 or not {"header", "sha256"} <= set(metadata):
        raise FileError(f"{str(path)!r} is damaged: its header is not complete.")


def _file_digest(version: int, header: str, arrays: dict[str, np.ndarray]) -> str:
    names = sorted(arrays)
    content = digest([arrays[name] for name in names])
    text = json.dumps([_FORMAT, version, header, names, content])
    return hashlib.sha256(text.encode()).hexdigest()
