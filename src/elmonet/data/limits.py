"""Limits on what a file may cost: memory is checked before it is used, and errors are elmonet's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from elmonet.errors import ElmonetError, FileError, MissingExtra, NotEnoughMemory
from elmonet.memory import available, bytes_of, readable

DEFLATE_RATIO = 1032  # deflate cannot produce more bytes than this from one
_UNCHECKED_BYTES = 1 << 22  # requests below this are not compared with the free memory
# Computed or measured numbers compress by less than 20 times, fields of two values by some 100 times, zeros
# by 1000 times. So 200 times the file's size is allowed, and 1 GiB in any case. A file that is made to fill
# the memory needs more.
_COMPRESSION_RATIO, _ALWAYS_ALLOWED = 200, 1 << 30


class SizeLimit:
    """Bytes that may be unpacked from one file: 200 times its size or 1 GiB, whichever is more.

    `max_bytes` sets another limit: a number of bytes, or a string such as "4GB".
    """

    def __init__(self, path: Any, max_bytes: Any = None):
        self.path, self.charged = path, 0
        self._given = None if max_bytes is None else bytes_of(max_bytes, "max_bytes (--max-size)")

    @cached_property
    def limit(self) -> int:
        """The limit; the size of a folder is measured only if something is unpacked from it."""
        return self._given or max(_ALWAYS_ALLOWED, _COMPRESSION_RATIO * stored_bytes(Path(self.path)))

    def charge(self, count: int) -> None:
        """Raise `FileError` if `count` more bytes exceed the limit, `NotEnoughMemory` if they do not fit."""
        self.charged += count
        if count and self.charged > self.limit:
            raise FileError(
                f"{str(self.path)!r} has {readable(stored_bytes(Path(self.path)))} and unpacks to "
                f"{readable(self.charged)} or more; the limit is {readable(self.limit)}, because a small "
                "file that fills the memory may be an attack. If you trust the file, raise the limit: "
                f"--max-size {-(-self.charged // (1 << 30))}GB, or max_bytes in Python's read."
            )
        require_room(count, f"reading {str(self.path)!r}")


def stored_bytes(path: Path) -> int:
    """Return the size of a file, or of all files in a folder."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def require_room(needed: int, what: str) -> None:
    """Raise `NotEnoughMemory` if `what` needs more bytes than are free."""
    if needed > _UNCHECKED_BYTES and needed > available():
        raise NotEnoughMemory(
            f"{what} needs {readable(needed)} of memory; {readable(available())} are free. Keep the arrays "
            "in zarr, HDF5 or npy files and fit in blocks: elmonet fit FILE --memory 2GB, or fit_blocks in "
            "Python."
        )


def require_extra(module: str, extra: str | None = None) -> Any:
    """Import an optional package; raise `MissingExtra` with the command that installs it."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtra(
            f"this kind of file needs {module}: pip install 'elmonet[{extra or module}]'."
        ) from None


@contextmanager
def reading(path: Any, verb: str = "read") -> Iterator[None]:
    """Turn any error of another library about a damaged file into a `FileError` (or `NotEnoughMemory`)."""
    try:
        yield
    except ElmonetError:
        raise
    except MemoryError:
        raise NotEnoughMemory(
            f"{str(path)!r} asks for more memory than there is ({readable(available())} are free)."
        ) from None
    except Exception as error:
        message = " ".join(str(error).split())[:300]
        raise FileError(
            f"{str(path)!r} cannot be {verb}: {type(error).__name__}: {message}. It may be damaged, "
            "truncated or of another kind. Write or download it again."
        ) from error
