"""Between a file and the library: errors in our own words, and memory that is checked before it is used."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from elmonet._check import ElmonetError, FileError, MissingExtra, NotEnoughMemory
from elmonet.memory import available, readable

__all__ = ["extra", "opening", "reading", "require_room"]

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
