"""Tables of numbers as text: CSV and similar."""

from __future__ import annotations

import csv
import re
from array import array
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from elmonet.data.formats.registry import has_known_ending, register_reader
from elmonet.data.lazy import Arrays, unit_in_name
from elmonet.errors import FileError

NOTE = "elmonet_note"  # see elmonet.data.named
NOTE_LINE = "# elmonet: "  # begins the first line of a table that elmonet wrote
_MAX_BYTES = 256 << 20  # reading text of this size takes minutes
_READ = 1 << 20  # characters
_NUMBERED = re.compile(r"(.*?[^\W\d_].*?)[_ .\[]?(\d+)\]?")
_LOCATED = re.compile(r"(.*?[^\W\d_])[_ @=]+(-?\d+\.?\d*(?:e[+-]?\d+)?)")
# What programs write for a missing value, in lower case.
_MISSING = {"", "na", "n/a", "#n/a", "#na", "<na>", "nan", "-nan", "null", "none", "-", "?"}
_NO_NUMBER = (
    "it is not a number. Write plain numbers, with units in the header line alone; leave the cell empty if "
    "its value is missing"
)
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")  # may also be a number with three decimals
_WITH_COMMA = re.compile(r"[+-]?[\d.]*,[\d.,]*")  # meant as a number


@register_reader(
    "csv",
    endings=["csv", "tsv", "txt", "dat"],
    description="csv, tsv or txt (tables of numbers)",
    recognise=lambda path, start: not has_known_ending(path) and _is_table(start),
)
def add_csv(arrays: Arrays, path: Path) -> None:
    """Add each column by its name; numbered columns (u0, u1, ... or s_1, s_2, ...) become one array (N, k).

    Without a header line, all numbers are one array under the file's name. Empty cells, NA and the like are
    missing values, NaN. Decimal commas are read where they cannot mean anything else.
    """
    if path.stat().st_size > _MAX_BYTES:
        raise FileError(
            f"{str(path)!r} has more than {_MAX_BYTES >> 20} MB; text of this size takes very long to read. "
            "Write it as npz, HDF5 or zarr."
        )
    encoding = _encoding(path)
    with path.open(encoding=encoding) as file:
        opening = file.readline(_MAX_BYTES)
        if opening.startswith(NOTE_LINE):
            arrays[NOTE] = np.frombuffer(opening.removeprefix(NOTE_LINE).strip().encode(), np.uint8)
        file.seek(0)
        _, first = next(_lines(file), (0, ""))
    separator = next((mark for mark in ";\t," if mark in first), None)
    names = [name.strip("'") for name in _cells(first, separator)]
    decimal_comma = separator != ","
    named = not all(_number(cell, decimal_comma) is not None for cell in names)
    with path.open(encoding=encoding) as file:
        lines = _lines(file)
        if named:
            next(lines, None)
        try:
            table = np.loadtxt((line for _, line in lines), delimiter=separator, ndmin=2, comments=None)
        except ValueError:
            file.seek(0)
            reader = _Table(path, names if named else None, separator)
            table = reader.read(_lines(file), arrays)
            if reader.text:
                file.seek(0)
                rows = [_cells(row, separator) for _, row in _lines(file)][1:]
                arrays.text |= {names[column]: [row[column] for row in rows] for column in reader.text}
    if table.size == 0:
        raise FileError(
            f"{str(path)!r} must be a table of numbers, and it has no row of them. Write it again."
        )
    if named and table.shape[1] != len(names):
        raise FileError(
            f"{str(path)!r} must be a table of numbers with as many columns as names, got {table.shape[1]} "
            f"columns and {len(names)} names."
        )
    if not named:
        arrays[path.stem] = table
        return
    repeated = [name for name in names if name and names.count(name) > 1]
    if repeated:
        raise FileError(f"{str(path)!r} has several columns {repeated[0]!r}. Give each its own name.")
    columns = {name or f"column{i}": table[:, i] for i, name in enumerate(names)}
    add_columns(arrays, {name: column for name, column in columns.items() if name not in arrays.skipped})


def _encoding(path: Path) -> str:
    """Return UTF-16 where the first bytes say so, as in "Unicode text" of spreadsheets; else UTF-8.

    Raises
    ------
    FileError : if the text is neither.
    """
    with path.open("rb") as file:
        if file.read(2) in (BOM_UTF16_LE, BOM_UTF16_BE):
            return "utf-16"
    try:
        with path.open(encoding="utf-8-sig") as text:
            while text.read(_READ):
                pass
    except UnicodeDecodeError as error:
        raise FileError(
            f"{str(path)!r} is not text in UTF-8: it has the byte 0x{error.object[error.start]:02x}, a "
            "letter of another encoding or no text at all. Save the table as UTF-8."
        ) from None
    return "utf-8-sig"


def add_columns(arrays: Arrays, columns: Mapping[str, np.ndarray]) -> None:
    """Add the columns of a table by name, numbered ones together as one array (N, k).

    Columns such as T_0.25, T_0.5, T_0.75 are one array too, and its coordinates are another. Units in
    brackets after the names, "T [K]", go to `Arrays.units`.
    """
    parsed = {name: unit_in_name(name) for name in columns}
    if len({label for label, _ in parsed.values()}) == len(parsed):
        arrays.units |= {label: unit for label, unit in parsed.values() if unit}
        columns = {parsed[name][0]: column for name, column in columns.items()}
    located = _located(list(columns))
    taken = {member for members in located.values() for member in members.values()}
    for stem, at in located.items():
        where = np.array(sorted(at))
        arrays[stem] = np.stack([columns[at[x]] for x in where], axis=1)
        arrays[f"{stem} columns"] = where
        arrays.coordinates[stem] = f"{stem} columns"
        unit = {arrays.units.pop(member, "") for member in at.values()}
        arrays.units |= {stem: unit.pop()} if len(unit) == 1 and unit != {""} else {}
    for name, members in _grouped([name for name in columns if name not in taken]).items():
        each = [columns[member] for member in members]
        arrays[name] = each[0] if members == [name] else np.stack(each, axis=1)


def _located(names: list[str]) -> dict[str, dict[float, str]]:
    """Return columns whose names end in a coordinate, such as T_0.028, by their common name.

    >>> _located(["k", "T_0.5", "T_1", "T_1.5"])
    {'T': {0.5: 'T_0.5', 1.0: 'T_1', 1.5: 'T_1.5'}}
    """
    groups: dict[str, dict[float, str]] = {}
    for name in names:
        if found := _LOCATED.fullmatch(name):
            groups.setdefault(found[1], {})[float(found[2])] = name
    return {
        stem: members
        for stem, members in groups.items()
        if len(members) > 2
        and stem not in names
        and any("." in each or "e" in each for each in (name[len(stem) :] for name in members.values()))
    }


def _grouped(names: list[str]) -> dict[str, list[str]]:
    """Return the columns of each name: numbered ones together if they count up from 0 or 1."""
    groups: dict[str, dict[int, str]] = {}
    for name in names:
        found = _NUMBERED.fullmatch(name)
        if found and len(found[2]) < 9:
            groups.setdefault(found[1], {})[int(found[2])] = name
    together: dict[str, list[str]] = {}
    for stem, numbers in groups.items():
        ordered = sorted(numbers)
        runs = ordered[0] in (0, 1) and ordered == list(range(ordered[0], ordered[0] + len(ordered)))
        if len(ordered) > 1 and runs and stem not in names:
            together[stem] = [numbers[n] for n in ordered]
    taken = {name for members in together.values() for name in members}
    return {name: [name] for name in names if name not in taken} | together


class _Table:
    """A table with missing values, quotes, decimal commas or text, read cell by cell."""

    def __init__(self, path: Path, names: list[str] | None, separator: str | None):
        self.path, self.names, self.separator = path, names, separator
        self.text: dict[int, tuple[int, str]] = {}  # the first text of each column, with its line
        self.numbers: dict[int, tuple[int, str]] = {}  # the first number of each column
        self.comma: tuple[int, int, str] | None = None  # line, column and content of the first decimal comma
        self.comma_is_decimal = self.has_points = False

    def read(self, lines: Iterator[tuple[int, str]], arrays: Arrays) -> np.ndarray:
        """Return the numbers, NaN where missing; the names of columns of text go to ``arrays.skipped``."""
        if self.names is not None:
            next(lines)
        values, count = array("d"), 0 if self.names is None else len(self.names)
        for line, row in lines:
            cells = _cells(row, self.separator)
            count = count or len(cells)
            if len(cells) != count:
                raise FileError(
                    f"line {line} of {str(self.path)!r} has {len(cells)} cells, where the lines before have "
                    f"{count}. Leave cells of missing values empty."
                )
            values.extend(self._value(line, column, cell) for column, cell in enumerate(cells))
        if self.comma is not None and (self.has_points or not self.comma_is_decimal):
            line, column, cell = self.comma
            why = "other cells have a decimal point" if self.has_points else "it may separate thousands"
            raise self._error(line, column, cell, f"{why}. Write numbers as 1234.5")
        self._check_text(arrays)
        return np.array(values).reshape(-1, max(count, 1))

    def _value(self, line: int, column: int, cell: str) -> float:
        value = _number(cell, decimal_comma=self.separator != ",")
        if value is None:
            self.text.setdefault(column, (line, cell))
            return np.nan
        if "," in cell:
            self.comma = self.comma or (line, column, cell)
            self.comma_is_decimal |= _THOUSANDS.fullmatch(cell) is None
        if not np.isnan(value):
            self.has_points |= "." in cell
            self.numbers.setdefault(column, (line, cell))
        return value

    def _check_text(self, arrays: Arrays) -> None:
        """Leave out columns of text; raise for text among numbers, or where a number is needed."""
        for column, (line, cell) in self.text.items():
            name = self._name(column)
            alone = self.names is not None and name in _grouped(self.names)
            if column in self.numbers or not alone or _WITH_COMMA.fullmatch(cell):
                raise self._error(line, column, cell, _NO_NUMBER)
            arrays.skipped.append(name)

    def _name(self, column: int) -> str:
        return (self.names[column] if self.names else "") or f"column{column}"

    def _error(self, line: int, column: int, cell: str, why: str) -> FileError:
        where = f"column {self._name(column)!r}" if self.names else f"column {column + 1}"
        return FileError(f"line {line} of {str(self.path)!r} has {cell[:40]!r} in {where}: {why}.")


def _lines(file: Any) -> Iterator[tuple[int, str]]:
    """Yield number and content of the lines that are neither empty nor comments."""
    for number, line in enumerate(file, 1):
        if line.strip() and not line.startswith("#"):
            yield number, line


def _cells(line: str, separator: str | None) -> list[str]:
    if separator is None:
        return [cell.strip('"') for cell in line.split()]
    return [cell.strip() for cell in next(csv.reader([line], delimiter=separator, skipinitialspace=True))]


def _number(cell: str, decimal_comma: bool = False) -> float | None:
    """Return the number in a cell, NaN if it is missing, None if it is text."""
    if cell.lower() in _MISSING:
        return np.nan
    try:
        return float(cell.replace(",", ".") if decimal_comma and "." not in cell else cell)
    except ValueError:
        return None


def _is_table(start: bytes) -> bool:
    """Return whether a file begins with lines of numbers, with or without a header line."""
    try:
        lines = [line for line in start.decode("ascii").splitlines() if line.strip() and line[0] != "#"]
        cells = lines[min(1, len(lines) - 1)].replace(",", " ").replace(";", " ").split()
        return bool(cells) and all(_number(cell) is not None for cell in cells[:-1] or cells)
    except (ValueError, IndexError):
        return False
