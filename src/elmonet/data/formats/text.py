"""Tables of numbers as text: CSV and similar."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from elmonet.data.formats.registry import has_known_ending, register_reader
from elmonet.data.lazy import Arrays
from elmonet.errors import FileError

_MAX_BYTES = 256 << 20  # reading text of this size takes minutes
_NUMBERED = re.compile(r"(.*?[A-Za-z].*?)[_ .\[]?(\d+)\]?")


@register_reader(
    "csv",
    endings=["csv", "tsv", "txt", "dat"],
    description="csv, tsv or txt (tables of numbers)",
    recognise=lambda path, start: not has_known_ending(path) and _is_table(start),
)
def add_csv(arrays: Arrays, path: Path) -> None:
    """Add each column by its name; numbered columns (u0, u1, ... or s_1, s_2, ...) become one array (N, k).

    Without a header line, all numbers are one array under the file's name.
    """
    if path.stat().st_size > _MAX_BYTES:
        raise FileError(
            f"{str(path)!r} has more than {_MAX_BYTES >> 20} MB; text of this size takes very long to read. "
            "Write it as npz, HDF5 or zarr."
        )
    with path.open(encoding="utf-8-sig") as file:
        first = next((line for line in file if line.strip() and not line.startswith("#")), "")
    separator = next((mark for mark in ",;\t" if mark in first), None)
    cells = [cell.strip().strip("\"'") for cell in first.rstrip("\r\n").split(separator)]
    named = not all(_is_number(cell) for cell in cells)
    with path.open(encoding="utf-8-sig") as file:
        lines = (line for line in file if line.strip() and not line.startswith("#"))
        if named:
            next(lines, None)
        table = np.loadtxt(lines, delimiter=separator, ndmin=2, comments=None)
    if table.size == 0 or (named and table.shape[1] != len(cells)):
        raise FileError(
            f"{str(path)!r} must be a table of numbers with as many columns as names, got {table.shape[1]} "
            f"columns and {len(cells)} names."
        )
    if not named:
        arrays[path.stem] = table
        return
    for name, columns in _grouped(cells).items():
        arrays[name] = table[:, columns[0]] if len(columns) == 1 else table[:, columns]


def _grouped(names: list[str]) -> dict[str, list[int]]:
    """Return the columns of each name: numbered ones together if they count up from 0 or 1."""
    groups: dict[str, dict[int, int]] = {}
    for column, name in enumerate(names):
        found = _NUMBERED.fullmatch(name)
        if found and len(found[2]) < 9:
            groups.setdefault(found[1], {})[int(found[2])] = column
    together: dict[str, list[int]] = {}
    for stem, numbers in groups.items():
        ordered = sorted(numbers)
        runs = ordered[0] in (0, 1) and ordered == list(range(ordered[0], ordered[0] + len(ordered)))
        if len(ordered) > 1 and runs and stem not in names:
            together[stem] = [numbers[n] for n in ordered]
    taken = {column for columns in together.values() for column in columns}
    alone = {name or f"column{i}": [i] for i, name in enumerate(names) if i not in taken}
    return alone | together


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _is_table(start: bytes) -> bool:
    """Return whether a file begins with lines of numbers, with or without a header line."""
    try:
        lines = [line for line in start.decode("ascii").splitlines() if line.strip() and line[0] != "#"]
        cells = lines[min(1, len(lines) - 1)].replace(",", " ").replace(";", " ").split()
        return bool(cells) and all(_is_number(cell) for cell in cells[:-1] or cells)
    except (ValueError, IndexError):
        return False
