"""Where a file may be written, and writing that leaves the old file or the new one, whole."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from elmonet._check import FileError

__all__ = ["destination", "replacing"]

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
