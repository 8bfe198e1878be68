"""Which files belong together: a pattern, folder, list, zip or pvd as one data set with a run per file."""

from __future__ import annotations

import glob
import os
import re
import shutil
import tempfile
import weakref
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np

from elmonet.checks import choice
from elmonet.data.formats import data_endings, find_reader
from elmonet.data.formats.mesh import steps_in_list
from elmonet.data.limits import SizeLimit, reading, stored_bytes
from elmonet.errors import FileError, InputError

TABLE_ENDINGS = (".csv", ".tsv", ".xlsx", ".parquet")


@dataclass(frozen=True)
class Runs:
    """Files of one data set, in their order, and a table with a row for each.

    Attributes
    ----------
    files : one for each run.
    name : of the whole, as the user gave it.
    table : file, or anything with columns; None if all is in the files.
    bad : "raise": a run that differs from the rest, cannot be read or has no partner is an error; "skip":
        it is left out.
    folder : temporary folder of files that were packed; it is there as long as this is.
    """

    files: tuple[Path, ...]
    name: str
    table: Any = None
    bad: str = "raise"
    folder: Any = None

    def __str__(self) -> str:
        return f"{self.table}, {self.name}" if isinstance(self.table, (str, Path)) else self.name

    @property
    def bytes(self) -> int:
        """Size of all files."""
        return sum(file.stat().st_size if file.is_file() else stored_bytes(file) for file in self.files)


def find_runs(source: Any, table: Any = None, bad: str = "raise") -> Runs | None:
    """Return the files that a pattern, a folder or a list names; None if it is one file of functions.

    In a folder with files of several kinds, a single table (csv, tsv, xlsx, parquet) belongs to the others.
    """
    choice(bad, "bad_runs", ("raise", "skip"))
    if (
        isinstance(source, (list, tuple))
        and source
        and all(isinstance(p, (str, os.PathLike)) for p in source)
    ):
        files, name = [Path(p) for p in source], f"{Path(source[0]).parent}/ ({len(source)} files)"
        if len(files) == 1:
            return find_runs(files[0], table, bad)
    elif isinstance(source, (str, os.PathLike)):
        path, name = Path(source), str(source)
        if glob.has_magic(str(path)) and not path.exists():
            files = [Path(p) for p in glob.glob(str(path), recursive=True)]
            if not files:
                raise FileError(f"no file matches {str(path)!r}. Look at its folder and its ending.")
        elif path.suffix.lower() == ".zip" and path.is_file():
            return _in_zip(path, table, bad)
        elif path.suffix.lower() == ".pvd" and path.is_file():
            return _in_list(path, table, bad)
        elif path.is_dir() and not _is_data(path):
            files, table = _in_folder(path, table)
            if not files:
                return None  # its reader says so
        elif table is not None:
            files = [path]
        else:
            return None
    else:
        return None
    names = Counter(str(file) for file in files)
    if twice := [file for file, count in names.items() if count > 1]:
        raise InputError(f"{twice[0]!r} is named {names[twice[0]]} times. Name each run once.")
    kinds = {file.suffix.lower() for file in files}
    if len(kinds) > 1:
        raise InputError(
            f"the runs must be files of one kind, got {', '.join(sorted(kinds))}. Name those of one kind, "
            f"for example {'*' + max(kinds, key=len)!r}."
        )
    return Runs(tuple(sorted(files, key=lambda file: natural(str(file)))), name, table, bad)


def natural(name: str) -> list[Any]:
    """Return a key that sorts numbers in names by their value: run_2 before run_10.

    >>> sorted(["run_10", "run_2"], key=natural)
    ['run_2', 'run_10']
    """
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", name)]


def _is_data(folder: Path) -> bool:
    """Return whether a folder is a data set by itself, as zarr is."""
    try:
        find_reader(folder)
    except FileError:
        return False
    return True


class _Unpacked:
    """A temporary folder that is removed with the last of those who hold it."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="elmonet-"))
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)


def _in_zip(path: Path, table: Any, bad: str) -> Runs:
    """Return the runs in a zip archive, which is unpacked to a temporary folder."""
    unpacked = _Unpacked()
    place = unpacked.folder
    with reading(path), ZipFile(path) as packed:
        entries = [
            e for e in packed.infolist() if not e.is_dir() and not Path(e.filename).name.startswith(".")
        ]
        entries = [e for e in entries if not e.filename.startswith("__MACOSX")]
        SizeLimit(path).charge(sum(e.file_size for e in entries))
        for entry in entries:
            packed.extract(entry, place)  # never outside of it
    inside = sorted({(place / entry.filename).parent for entry in entries})
    depth = [each for each in inside if sum(f.is_file() for f in each.iterdir()) > 1] or inside
    if not depth:
        raise FileError(f"{str(path)!r} holds no file.")
    tables = [f for each in inside if each not in depth for f in each.iterdir() if f.suffix in TABLE_ENDINGS]
    if table is None and len(tables) == 1:
        table = tables[0]
    found = find_runs(depth[-1], table, bad)
    if found is None:
        raise FileError(f"{str(path)!r} holds no file of data.")
    return replace(found, name=str(path), folder=unpacked)


def _in_list(path: Path, table: Any, bad: str) -> Runs:
    """Return the files that a pvd lists as runs; without a table, their times are the inputs."""
    steps = steps_in_list(path)
    times = {"time": np.array([time for time, _ in steps])}
    return Runs(tuple(file for _, file in steps), str(path), times if table is None else table, bad)


def _in_folder(folder: Path, table: Any) -> tuple[list[Path], Any]:
    """Return the runs in a folder, and the table among them."""
    entries = [e for e in folder.iterdir() if not e.name.startswith(".")]
    files = [e for e in entries if e.is_file() and e.suffix.lower() in data_endings()]
    files += [e for e in entries if e.suffix.lower() == ".zarr"]
    kinds = Counter(file.suffix.lower() for file in files)
    if set(kinds) != {".txt"} or len(files) == 1:  # notes on the others
        files = [file for file in files if file.suffix.lower() != ".txt"]
        kinds.pop(".txt", None)
    if len(kinds) > 1 and kinds.pop(".pvd", 0):  # a list of the others
        files = [file for file in files if file.suffix.lower() != ".pvd"]
    tables = [file for file in files if file.suffix.lower() in TABLE_ENDINGS]
    if table is None and len(kinds) == 2 and len(tables) == 1:
        return [file for file in files if file not in tables], tables[0]
    if len(kinds) > 1:
        listed = ", ".join(f"{n} {kind[1:]}" for kind, n in kinds.most_common())
        first = kinds.most_common(1)[0][0]
        raise FileError(
            f"the folder {str(folder)!r} holds files of several kinds, {listed}. Name those of one kind: "
            f"{folder / '*'!s}{first}"
        )
    return files, table
