"""Model files: arrays and a JSON header in the safetensors format, written atomically.

No pickle: loading executes nothing. Writing is atomic: the file at `path` is either the old one or the
complete new one, whatever happens in between. A SHA-256 digest of header and arrays detects damage.
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

FORMAT_VERSION = 2  # 1 was written by elmonet 0.1
_FORMAT = "elmonet"
_TEST_BYTES = 1 << 16  # written where a result will go, to see whether that is possible


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


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read header and arrays; raise `FileError` if the file is incomplete, damaged or of another kind."""
    path = Path(path)
    if not path.is_file():
        if path.is_dir():
            raise FileError(f"{str(path)!r} is a folder. Name the file of a model in it.")
        raise FileError(f"there is no file {str(path)!r}.")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            _check_metadata(path, metadata)
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if _file_digest(int(metadata["version"]), metadata["header"], arrays) != metadata["sha256"]:
            raise FileError(
                f"{str(path)!r} is damaged: its checksum is wrong. Use another copy, or fit the model again."
            )
        return json.loads(metadata["header"]), arrays
    except FileError:
        raise
    except Exception as error:  # whatever the parser raises for a damaged file
        raise FileError(
            f"{str(path)!r} is not a complete elmonet model: {type(error).__name__}: {error}. It may be "
            "truncated or of another kind. Write it again with model.save()."
        ) from error


def _check_metadata(path: Path, metadata: dict[str, str]) -> None:
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
        raise FileError(f"{str(path)!r} is damaged: its header is incomplete.")


def digest(arrays: list[np.ndarray]) -> str:
    """Return the SHA-256 of the dtypes, shapes and bytes of some arrays."""
    sha = hashlib.sha256()
    for array in arrays:
        array = np.ascontiguousarray(array)
        sha.update(f"{array.dtype.str}{array.shape};".encode())
        sha.update(array.data.cast("B") if array.size else b"")
    return sha.hexdigest()


def _file_digest(version: int, header: str, arrays: dict[str, np.ndarray]) -> str:
    names = sorted(arrays)
    content = digest([arrays[name] for name in names])
    text = json.dumps([_FORMAT, version, header, names, content])
    return hashlib.sha256(text.encode()).hexdigest()


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Write `content` to the file at `path`, atomically; see `atomic_write`."""
    with atomic_write(path) as temporary:
        temporary.write_bytes(content)


def _sync(path: Path) -> None:
    """Wait until a file is on the disk; the system may notice only now that there is no space."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


@contextmanager
def atomic_write(path: str | os.PathLike[str], *, folder: bool = False) -> Iterator[Path]:
    """Yield a temporary path to write to; on success it replaces `path` (see `writable_path`) in one step.

    Raises `FileError` if it cannot be written; what was at `path` is then unchanged.
    """
    target = _resolved(path, folder=folder)
    workspace = None
    try:
        # In the same folder, because os.replace is atomic only within one file system.
        workspace = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name[:100]}.", suffix=".part"))
        new, old = workspace / target.name, workspace / "old"
        yield new
        if not folder:
            _sync(new)
        elif target.exists():
            os.replace(target, old)  # os.replace cannot overwrite a folder that is not empty
        try:
            os.replace(new, target)
        except OSError:
            if folder and old.exists():
                os.replace(old, target)
            raise
    except OSError as error:
        unchanged = " What was there before is unchanged." if target.exists() else ""
        raise FileError(f"cannot write {os.fspath(path)!r}: {refusal(error)}{unchanged}") from error
    finally:
        if workspace is not None:
            shutil.rmtree(workspace, ignore_errors=True)


_SPECIAL_FILES = {
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
}


def writable_path(path: str | os.PathLike[str], *, folder: bool = False) -> Path:
    """Resolve `path` to the place where a file, or with `folder` a folder of files, can be written.

    This is tried: a small file is written beside it and removed, so that a long computation does not end with
    a result that cannot be saved. Raises `FileError` where that fails, and as `_resolved` does.
    """
    target = _resolved(path, folder=folder)
    require_room(target.parent, path)
    return target


def require_room(folder: Path, path: str | os.PathLike[str]) -> None:
    """Write a small file to a folder and remove it; raise `FileError` for `path` if that fails."""
    try:
        with tempfile.TemporaryDirectory(dir=folder, prefix=".elmonet.") as made:
            test = Path(made) / "test"
            test.write_bytes(bytes(_TEST_BYTES))
            _sync(test)
    except OSError as error:
        raise FileError(f"cannot write {os.fspath(path)!r}: {refusal(error)}") from error


def refusal(error: OSError) -> str:
    """Return why the system did not write, and what to do."""
    why = error.strerror or str(error)
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"{why}. Choose a folder where you may write."
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"{why}. Make room there, or choose another place."
    return f"{why}. Choose another place."


def _resolved(path: str | os.PathLike[str], *, folder: bool = False) -> Path:
    """Resolve `path`, following symbolic links, also to a file that does not exist yet.

    Raises `FileError` for devices, sockets and pipes, for circular links, if the parent folder does not
    exist, for a folder where a file is to be written, and the other way round.
    """
    real = Path(os.path.realpath(path))
    try:
        mode = stat.S_IFMT(os.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        if real.parent.is_dir():
            return real
        parent = real.parent if Path(path).is_symlink() else Path(path).parent
        why = f"it must name a file in a folder that exists; there is no folder {str(parent)!r}."
    except OSError as error:
        circular = error.errno == errno.ELOOP
        why = "its symbolic links are circular. Name a file." if circular else refusal(error)
    else:
        if mode in _SPECIAL_FILES:
            why = f"it is {_SPECIAL_FILES[mode]}, not a file. Name a file."
        elif mode == stat.S_IFDIR and not folder:
            why = "it is a folder. Name a file in it."
        elif mode != stat.S_IFDIR and folder:
            why = "a folder is to be written, but a file is there. Choose another name."
        else:
            return real
    raise FileError(f"cannot write {os.fspath(path)!r}: {why}")
