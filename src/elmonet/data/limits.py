"""Limits on what a file may cost: memory that is checked before it is used, errors in our own words."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from elmonet.errors import ElmonetError, FileError, InputError, MissingExtra, NotEnoughMemory
from elmonet.memory import available, bytes_of, readable

__all__ = ["SizeLimit", "extra", "opening", "reading", "require_room", "stored_bytes"]

_ASK = 1 << 22  # less than this is not worth a look at what is free


@contextmanager
def reading(path: Any, doing: str = "read") -> Iterator[None]:
    """Any error of another library about a damaged file becomes a `FileError` (or `NotEnoughMemory`)."""
    try:
        yield
    except ElmonetError:
        raise
    except MemoryError:
        raise NotEnoughMemory(
            f"{str(path)!r} asks for more memory than there is ({readable(available())} are free)."
        ) from None
    except Exception as error:
        said = " ".join(str(error).split())[:300]
        raise FileError(
            f"{str(path)!r} cannot be {doing}: {type(error).__name__}: {said}. It may be damaged, not "
            "complete or of another kind. Write or download it again."
        ) from error


@contextmanager
def opening(path: Any) -> Iterator[None]:
    """As `reading`, and without the warnings of the libraries; not for threads."""
    with reading(path, "opened"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def require_room(needed: int, what: str) -> None:
    """Raise `NotEnoughMemory` if `what` needs more bytes than are free."""
    if needed > _ASK and needed > available():
        raise NotEnoughMemory(
            f"{what} needs {readable(needed)} of memory; {readable(available())} are free. Keep the arrays "
            "in zarr, HDF5 or npy files and fit in blocks: elmonet fit FILE --memory 2GB, or fit_blocks in "
            "Python."
        )


def extra(module: str, name: str | None = None) -> Any:
    """An optional package, or `MissingExtra` with the line that installs it."""
    try:
        return import_module(module)
    except ImportError:
        name = name or module
        raise MissingExtra(f"this kind of file needs {module}: pip install 'elmonet[{name}]'.") from None


# Numbers that were computed or measured shrink by less than 20 times, fields of two values by some 100 times;
# zeros by 1000 times, of which 1 GiB passes too. A file made to fill the memory needs more than that.
_TIMES, _ALWAYS = 200, 1 << 30


class SizeLimit:
    """Bytes that may be unpacked from one file: 200 times its size or 1 GiB, whichever is more.

    `max_bytes` sets another limit: a number of bytes, or a text such as "4GB".
    """

    def __init__(self, path: Any, max_bytes: Any = None):
        self.path, self.taken = path, 0
        self._given = None if max_bytes is None else _bytes(max_bytes)

    @cached_property
    def most(self) -> int:
        """The limit; a folder of many files is measured only if something is unpacked from it."""
        return self._given or max(_ALWAYS, _TIMES * stored_bytes(Path(self.path)))

    def take(self, count: int) -> None:
        """Raise `FileError` if `count` more bytes pass the limit, `NotEnoughMemory` if they do not fit."""
        self.taken += count
        if count and self.taken > self.most:
            raise FileError(
                f"{str(self.path)!r} has {readable(stored_bytes(Path(self.path)))} and unpacks to "
                f"{readable(self.taken)} or more; the limit is {readable(self.most)}, because a small file "
                "that fills the memory may be an attack. If you trust the file, raise the limit: --max-size "
                f"{-(-self.taken // (1 << 30))}GB, or max_bytes in Python's read."
            )
        require_room(count, f"reading {str(self.path)!r}")


def _bytes(max_bytes: Any) -> int:
    with suppress(InputError):
        if (count := bytes_of(max_bytes)) > 0:
            return count
    raise InputError(
        f'max_bytes (--max-size) must be a number of bytes or a text such as "4GB", got {max_bytes!r}.'
    )


def stored_bytes(path: Path) -> int:
    """The size of a file, or of all files in a folder."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())
