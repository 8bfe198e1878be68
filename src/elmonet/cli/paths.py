"""The files that a verb is given, looked at before anything is computed."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

from elmonet._check import FileError

__all__ = ["is_model", "open_model", "require_data", "require_data_place", "require_file", "require_place"]

_DATA = (".npz", ".npy", ".h5", ".hdf5", ".zarr", ".mat", ".nc", ".csv", ".txt", ".pt", ".pth")
_ZARR = ("zarr.json", ".zgroup", ".zarray", ".zmetadata")


def require_file(path: Path) -> None:
    """Raise unless there is a file, not empty, or a folder; a name that is nearly right is told."""
    if path.exists():
        if path.is_file() and path.stat().st_size == 0:
            raise FileError(f"{str(path)!r} is empty: it has no bytes. Write it again, or fetch it again.")
        return
    beside = sorted(path.parent.iterdir()) if path.parent.is_dir() else []
    for some in ([entry for entry in beside if entry.suffix == path.suffix], beside):
        close = difflib.get_close_matches(path.stem, [entry.stem for entry in some], n=1)
        if close:
            meant = next(entry for entry in some if entry.stem == close[0])
            raise FileError(f"there is no file or folder {str(path)!r}. Did you mean {str(meant)!r}?")
    raise FileError(f"there is no file or folder {str(path)!r}.")


def is_model(file: Path) -> bool:
    """Whether a file is of safetensors, as models are: eight bytes of length, then JSON."""
    if file.is_dir():
        return False
    with file.open("rb") as opened:
        start = opened.read(9)
    return file.suffix == ".elmonet" or (len(start) == 9 and start[8:] == b"{" and start[7] == 0)


def require_data(path: Path) -> None:
    """Raise unless there is something that may hold functions."""
    require_file(path)
    if is_model(path):
        raise FileError(
            f"{str(path)!r} is a model, not a file of functions. Give the file that holds the functions; "
            f"elmonet info {path} tells what the model takes."
        )


def open_model(path: Path) -> Any:
    """The model in a file, or a `FileError` that says what the file is instead."""
    from elmonet import load
    from elmonet.data.formats.detect import file_format

    require_file(path)
    if is_model(path):
        return load(path)
    try:
        kind = f"a file of functions ({file_format(path)}) and not"
    except FileError:
        kind = "not"
    raise FileError(
        f"{str(path)!r} is {kind} a model. The model comes first, then the functions; elmonet fit makes a "
        "model."
    )


def require_place(out: Path, *read: Path, model: bool = False) -> None:
    """Raise if a file cannot be written there, or should not: it is one of those that are `read`."""
    if out.is_dir():
        raise FileError(f"cannot write {str(out)!r}: it is a folder. Name a file in it.")
    if not out.parent.is_dir():
        raise FileError(f"cannot write {str(out)!r}: it must name a file in a folder that exists.")
    _require_other(out, read)
    if model and out.suffix.lower() in _DATA:
        raise FileError(
            f"cannot write a model to {str(out)!r}: this ending is for functions. Name it "
            f"{str(out.with_suffix('.elmonet'))!r}."
        )


def require_data_place(out: Path, *read: Path, table: bool = True) -> None:
    """The same for a file of functions, which may be a folder; `table`: as a table, or one array, too."""
    from elmonet.data.write import _WRITERS, WRITTEN

    ending = out.suffix.lower()
    if ending not in _WRITERS:
        raise FileError(f"cannot write {str(out)!r}: its ending must be one of {WRITTEN}.")
    if not table and ending in (".npy", ".csv"):
        raise FileError(
            f"cannot write {str(out)!r}: it holds one array or one table, not functions with their points. "
            f"Name it {str(out.with_suffix('.npz'))!r}, or .h5, .zarr, .mat, .nc."
        )
    if not out.parent.is_dir():
        raise FileError(f"cannot write {str(out)!r}: there is no folder {str(out.parent)!r}.")
    _require_other(out, read)
    as_folder = ending in ("", ".zarr")
    if out.exists() and as_folder != out.is_dir():
        there, wanted = ("file", "folder") if as_folder else ("folder", "file")
        raise FileError(f"cannot write {str(out)!r}: it would be a {wanted}, but a {there} is there.")
    if out.is_dir() and not _is_ours(out):
        raise FileError(
            f"cannot write {str(out)!r}: the folder holds other things, which would be lost. Name a file, as "
            f"{str(out / 'functions.npz')!r}, or a new folder."
        )


def _require_other(out: Path, read: tuple[Path, ...]) -> None:
    for path in read:
        if out.exists() and path.exists() and out.samefile(path):
            raise FileError(f"cannot write {str(out)!r}: it is read, and would be lost. Name another file.")


def _is_ours(folder: Path) -> bool:
    """Whether a folder is zarr, or holds npy files alone: such a one may be replaced."""
    inside = list(folder.iterdir())
    return any(entry.name in _ZARR for entry in inside) or all(entry.suffix == ".npy" for entry in inside)
