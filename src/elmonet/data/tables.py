"""A table with a row per run, and how its rows belong to the files of the runs: by name, number or order."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from elmonet.data.formats import open_arrays
from elmonet.data.formats.frames import add_frame
from elmonet.data.lazy import Arrays, load
from elmonet.errors import InputError
from elmonet.summary import plural

_LABELS = ("run", "id", "case", "index", "idx", "number", "no", "nr", "sim", "simulation", "sample", "job")
_MOST = 0.5  # part of the rows that must name a file, for a column to name the files
_SHOWN = 5  # names in a message


@dataclass(frozen=True)
class Join:
    """Rows of a table beside files.

    Attributes
    ----------
    files : positions of the files that have a row, in their order.
    columns : numbers of the table by name, (n,), in the order of `files`.
    labels : names of columns that only tell runs apart.
    how : by what they were joined, in words.
    """

    files: list[int]
    columns: dict[str, np.ndarray]
    labels: tuple[str, ...]
    how: str
    units: dict[str, str]
    skipped: list[str]


def open_table(table: Any, max_bytes: Any = None) -> Arrays:
    """Return the columns of a table: a file, a DataFrame, or a dictionary of columns."""
    if isinstance(table, (str, os.PathLike)):
        with open_arrays(table, max_bytes) as arrays:
            for name, array in arrays.items():
                arrays[name] = load(array)
        return arrays
    arrays = Arrays()
    add_frame(arrays, table)
    return arrays


def join_table(files: Sequence[Path], table: Any, bad: str, max_bytes: Any = None) -> Join:
    """Find which row of a table belongs to each file: by a column of names or numbers, else by their order.

    Raises
    ------
    InputError : if a run has no row or a row has no run, unless bad runs are left out; if rows repeat.
    """
    arrays = open_table(table, max_bytes)
    name = repr(str(table)) if isinstance(table, (str, os.PathLike)) else "the table"
    counts = {len(column) for column in (*arrays.values(), *arrays.text.values())}
    if len(counts) != 1:
        raise InputError(f"{name} must be a table with a row for each run; its columns differ in length.")
    n = counts.pop()
    found = _by_name(files, arrays) or _by_number(files, arrays)
    labels: tuple[str, ...] = ()
    if found is not None:
        how, rows = found
        labels = (how,)
        kind = "names of files" if how in arrays.text else "numbers in the names of files"
        _check_unique(rows, files, how, name)
        row_of = {file: row for row, file in enumerate(rows) if file is not None}
        lost = [i for i in range(len(files)) if i not in row_of]
        alone = [row for row, file in enumerate(rows) if file is None]
        if bad == "raise":
            _refuse_unmatched(files, lost, alone, arrays, how, name)
        joined = [i for i in range(len(files)) if i in row_of]
        order = np.array([row_of[i] for i in joined], dtype=int)
        said = f"{name}, joined by {how} ({kind})"
        left = len(lost) + len(alone)
        said += f"; {left} without a partner left out" if left else ""
    else:
        if n != len(files):
            raise InputError(
                f"{name} has {plural(n, 'row')} and there are {plural(len(files), 'run')}: they must be as "
                "many, or a column must hold the names or the numbers of the files."
            )
        joined, order = list(range(n)), np.arange(n)
        said = f"{name}, row by row in the order of the files' names ({files[0].name} is row 1)"
    columns = {key: np.asarray(column)[order] for key, column in arrays.items() if key not in labels}
    labels += tuple(key for key, column in columns.items() if _is_label(key, column))
    for key, column in columns.items():
        missing = np.isnan(column.reshape(len(column), -1)).any(axis=1) if column.dtype.kind == "f" else []
        if np.any(missing):
            row = int(order[int(np.argmax(missing))])
            raise InputError(
                f"{name} has no number in column {key!r}, row {row + 1}. Fill it in, or remove the row."
            )
    return Join(joined, columns, labels, said, dict(arrays.units), [*arrays.skipped])


def _is_label(name: str, column: np.ndarray) -> bool:
    """Return whether a column only counts the runs."""
    whole = column.ndim == 1 and np.array_equal(column, np.round(column))
    return whole and name.lower() in _LABELS and len(np.unique(column)) == len(column)


def _by_name(files: Sequence[Path], arrays: Arrays) -> tuple[str, list[int | None]] | None:
    """Return the column of text that names the files, and the file of each row."""
    at: dict[str, int] = {}
    for i, file in enumerate(files):
        at |= {file.stem.lower(): i, file.name.lower(): i, file.as_posix().lower(): i}
    for name, column in arrays.text.items():
        rows = []
        for entry in column:
            path = Path(str(entry).strip().replace("\\", "/"))
            keys = (path.as_posix().lower(), path.name.lower(), path.stem.lower())
            rows.append(next((at[key] for key in keys if key in at), None))
        if sum(row is not None for row in rows) >= _MOST * len(rows):
            return name, rows
    return None


def _by_number(files: Sequence[Path], arrays: Arrays) -> tuple[str, list[int | None]] | None:
    """Return the column of numbers that are in the files' names, and the file of each row."""
    numbers = [re.findall(r"\d+", file.stem) for file in files]
    if not all(numbers):
        return None
    at: dict[int, int] = {}
    for i, found in enumerate(numbers):
        at.setdefault(int(found[-1]), i)
    if len(at) < len(files):
        return None
    for name, column in arrays.items():
        if name.lower() not in _LABELS or column.ndim != 1 or not np.array_equal(column, np.round(column)):
            continue
        rows = [at.get(int(entry)) for entry in column]
        if sum(row is not None for row in rows) >= _MOST * len(rows):
            return name, rows
    return None


def _check_unique(rows: list[int | None], files: Sequence[Path], column: str, table: str) -> None:
    repeated = [file for file, count in Counter(r for r in rows if r is not None).items() if count > 1]
    if repeated:
        where = [str(row + 1) for row, file in enumerate(rows) if file == repeated[0]]
        raise InputError(
            f"column {column!r} of {table} names {files[repeated[0]].name!r} in rows {', '.join(where)}. "
            "Each run has one row: remove the others."
        )


def _refuse_unmatched(
    files: Sequence[Path], lost: list[int], alone: list[int], arrays: Arrays, column: str, table: str
) -> None:
    leave = "Or leave them out: --bad-runs skip, in Python read(..., bad_runs='skip')."
    if alone:
        entries = arrays.text.get(column) or [f"{entry:g}" for entry in arrays[column]]
        named = ", ".join(str(entries[row]) for row in alone[:_SHOWN])
        more = f" and {len(alone) - _SHOWN} more" if len(alone) > _SHOWN else ""
        raise InputError(
            f"{table} has {plural(len(alone), 'row')} without a file: {column} {named}{more}. Is a run "
            f"missing? {leave}"
        )
    if lost:
        named = ", ".join(files[i].name for i in lost[:_SHOWN])
        more = f" and {len(lost) - _SHOWN} more" if len(lost) > _SHOWN else ""
        raise InputError(f"{table} has no row for {named}{more} (column {column!r}). Add the rows. {leave}")
