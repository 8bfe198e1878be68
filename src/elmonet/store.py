"""One safe file: arrays and a JSON header in the safetensors format.

No pickle, nothing executed on load. Writing is atomic: the file at `path` is the old one or the new
one, whole, whatever happens in between. A digest over header and arrays finds every damaged bit.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save as to_bytes

from elmonet._check import FileError
from elmonet.destination import replacing

__all__ = ["FORMAT_VERSION", "digest", "read", "write", "write_bytes"]

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
