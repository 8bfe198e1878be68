"""Checks of the paths that a verb is given, before anything is read or written."""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import Any

from elmonet.data.run_files import TABLE_ENDINGS, Runs, find_runs
from elmonet.errors import FileError, InputError
from elmonet.store import require_room, writable_path

# The kinds of data files, by their endings.
WRITTEN = "npz, h5, zarr, mat, nc"  # hold functions with their points
TABLES = (".npy", ".csv")  # hold one array, or one table
_ALIKE = 0.65  # similarity of a name that may be meant: nwe and new have 0.67, nofile and five 0.6


def data_source(given: list[Path], table: Path | None = None, bad_runs: str = "raise") -> Path | Runs:
    """Return what the arguments of a verb name: a file of functions, or files with a run each.

    A table may come first: ``design.csv "runs/*.vtu"``.
    """
    first, rest = given[0], given[1:]
    if table is None and rest and first.suffix.lower() in TABLE_ENDINGS and _is_table_of(first, rest):
        table, given = first, rest
    if table is not None:
        require_file(table)
    for path in given if len(given) > 1 else ():
        if path.suffix == ".elmonet" and path.is_file():
            require_data(path)
    runs = find_runs(given if len(given) > 1 else given[0], table, bad_runs)
    if runs is None:
        if bad_runs != "raise":
            raise InputError("--bad-runs is for several files with a run each; here is one file.")
        require_data(given[0])
        return given[0]
    for file in runs.files:
        require_data(file, empty=True)
    return runs


def _is_table_of(first: Path, rest: list[Path]) -> bool:
    """Return whether the first file is the table of the others: of another kind or in another folder."""
    others = {path.suffix.lower() for path in rest}
    return first.suffix.lower() not in others or all(path.parent != first.parent for path in rest)


def files_of(source: Path | Runs) -> list[Path]:
    """Return the files that a verb reads."""
    if isinstance(source, Path):
        return [source]
    return [*source.files, *([Path(source.table)] if isinstance(source.table, (str, Path)) else [])]


def name_of(source: Path | Runs) -> str:
    """Return a short name of what a verb reads."""
    return source.stem if isinstance(source, Path) else Path(source.name).parent.name or source.name


def require_file(path: Path, *, empty: bool = False) -> None:
    """Raise unless this is a file that is not empty, or a folder; suggest a similar name."""
    if path.exists():
        if not path.is_file() and not path.is_dir():
            raise FileError(f"{str(path)!r} is not a data file (a device, for example). Name a file.")
        if path.is_file() and path.stat().st_size == 0 and not empty:
            raise FileError(f"{str(path)!r} is empty: it has no bytes. Write or download it again.")
        return
    if path.is_symlink():
        raise FileError(
            f"{str(path)!r} is a link to {str(path.readlink())!r}, which leads to no file. Name the file "
            "itself."
        )
    if path.parts[:1] in (("http:",), ("https:",), ("ftp:",), ("s3:",)):
        address = str(path).replace(":/", "://", 1)
        raise FileError(f"{address!r} is an address, not a file. Download it first and name the file.")
    siblings = sorted(path.parent.iterdir()) if path.parent.is_dir() else []
    for some in ([entry for entry in siblings if entry.suffix == path.suffix], siblings):
        close = difflib.get_close_matches(path.stem, [entry.stem for entry in some], n=1, cutoff=_ALIKE)
        if close:
            meant = next(entry for entry in some if entry.stem == close[0])
            raise FileError(f"there is no file or folder {str(path)!r}. Did you mean {str(meant)!r}?")
    raise FileError(f"there is no file or folder {str(path)!r}.")


def is_model(file: Path) -> bool:
    """Return whether this is a safetensors file, as models are: eight bytes of length, then JSON."""
    if file.is_dir():
        return False
    if file.suffix.lower() == ".safetensors":  # may also hold functions
        from safetensors import safe_open

        from elmonet.data.limits import reading

        with reading(file), safe_open(file, framework="numpy") as tensors:
            return (tensors.metadata() or {}).get("format") == "elmonet"
    with file.open("rb") as opened:
        start = opened.read(9)
    return file.suffix == ".elmonet" or (len(start) == 9 and start[8:] == b"{" and start[7] == 0)


def require_data(path: Path, *, empty: bool = False) -> None:
    """Raise unless this may be a file of functions; `empty`: or has no bytes, which its reader refuses."""
    require_file(path, empty=empty)
    if is_model(path):
        raise FileError(
            f"{str(path)!r} is a model, not a file of functions. Give the file that holds the functions; "
            f"elmonet info {path} shows what the model takes."
        )


def open_model(path: Path) -> Any:
    """Load a model, or raise a `FileError` that says what the file is instead."""
    from elmonet import load
    from elmonet.data.formats import find_reader

    require_file(path)
    if is_model(path):
        return load(path)
    try:
        kind = f"a file of functions ({find_reader(path).kind}) and not"
    except FileError:
        kind = "not"
    raise FileError(
        f"{str(path)!r} is {kind} a model. The model comes first, then the functions; elmonet fit makes a "
        "model."
    )


def require_place(out: Path, *read: Path, model: bool = False) -> None:
    """Raise if a file, or a model, cannot be written here, or would replace one that is `read`."""
    from elmonet.data.formats import data_endings

    writable_path(out)
    _require_other(out, read)
    if model and out.suffix.lower() in data_endings():
        raise FileError(
            f"cannot write a model to {str(out)!r}: this ending is for functions. Name it "
            f"{str(out.with_suffix('.elmonet'))!r}."
        )


def require_data_place(out: Path, *read: Path, table: bool = True) -> None:
    """Raise if functions cannot be written here; `table`: to a table or a single array, too."""
    from elmonet.data.write import require_writable

    require_writable(out)
    if not table and out.suffix.lower() in TABLES:
        raise FileError(
            f"cannot write {str(out)!r}: it holds one array or one table, not functions with their points. "
            f"Name it {str(out.with_suffix('.npz'))!r}; functions go to {WRITTEN}."
        )
    _require_other(out, read)


def existing(*names: str | None) -> list[Path]:
    """Return those of some names that are files; others are names of arrays."""
    return [Path(name) for name in names if name is not None and Path(name).is_file()]


def require_folder(out: Path) -> None:
    """Raise unless files can be written to a folder, which is made where it does not exist yet."""
    there = next(path for path in (out.absolute(), *out.absolute().parents) if os.path.lexists(path))
    if not there.is_dir():
        which = "it" if there == out.absolute() else f"{str(there)!r}"
        raise FileError(f"cannot write to {str(out)!r}: {which} is a file. Name a folder for the results.")
    require_room(there, out)


def _require_other(out: Path, read: tuple[Path, ...]) -> None:
    for path in read:
        if out.exists() and path.exists() and out.samefile(path):
            raise FileError(
                f"cannot write {str(out)!r}: it is an input of this command and would be lost. Name another "
                "file."
            )


def bytes_on_disk(path: Path | Runs) -> int:
    """Return the size of files or a folder that can be read in blocks, and 0 for any other."""
    if isinstance(path, Runs):
        return path.bytes
    from elmonet.data.formats import find_reader
    from elmonet.data.limits import stored_bytes

    return stored_bytes(path) if find_reader(path).on_disk else 0
