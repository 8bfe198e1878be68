"""How much may come out of a small file: a limit that is checked before anything is unpacked."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from elmonet._check import FileError, InputError
from elmonet.data.guard import require_room
from elmonet.memory import bytes_of, readable

__all__ = ["SizeLimit", "stored_bytes"]

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
