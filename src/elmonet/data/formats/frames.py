"""Tables of pandas, and the files that pandas reads: xlsx and parquet."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from elmonet.checks import plain
from elmonet.data.formats.registry import register_reader
from elmonet.data.formats.text import NOTE, add_columns
from elmonet.data.lazy import Arrays, Lazy, is_stored, load, unpacked
from elmonet.data.limits import require_extra
from elmonet.errors import InputError


@register_reader("parquet", endings=["parquet", "pq"], description="parquet or xlsx (tables, with pandas)")
def add_parquet(arrays: Arrays, path: Path) -> None:
    """Add the columns of a parquet file, as those of a CSV."""
    require_extra("pyarrow", "tables")
    arrays.charge(4 * path.stat().st_size)
    frame = require_extra("pandas", "tables").read_parquet(path)
    add_frame(arrays, frame)
    if isinstance(note := frame.attrs.get("elmonet"), str):
        arrays[NOTE] = np.frombuffer(note.encode(), np.uint8)


@register_reader("xlsx", endings=["xlsx"], description="parquet or xlsx (tables, with pandas)")
def add_xlsx(arrays: Arrays, path: Path) -> None:
    """Add the columns of the first sheet, as those of a CSV."""
    require_extra("openpyxl", "tables")
    add_frame(arrays, require_extra("pandas", "tables").read_excel(path))


def add_frame(arrays: Arrays, frame: Any) -> None:
    """Add the columns of a DataFrame or dictionary of columns; numbered columns become one array.

    Columns of text go to `Arrays.text`. Units are those of ``frame.attrs["units"]``, or in brackets after a
    name.
    """
    columns = list(frame.columns) if hasattr(frame, "columns") else list(frame)
    names = ["_".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in columns]
    if len(set(names)) < len(names):
        raise InputError(f"the columns of a DataFrame must have different names, got {', '.join(names)}.")
    given = getattr(frame, "attrs", {})
    units = given.get("units", {}) if isinstance(given, Mapping) else {}
    table = Arrays()
    add_entries(table, {name: frame[column] for name, column in zip(names, columns, strict=True)})
    for name, column in zip(names, columns, strict=True):
        if name in table.skipped and hasattr(frame[column], "tolist"):
            arrays.text[name] = ["" if entry is None else str(entry) for entry in frame[column].tolist()]
    arrays.skipped += table.skipped
    add_columns(arrays, table)
    arrays.units |= {str(name): str(unit) for name, unit in dict(units).items()}


def add_entries(arrays: Arrays, entries: Mapping[Any, Any], prefix: str = "") -> None:
    """Add the entries of a dictionary that are numbers, those of a dictionary in it as "name.key"."""
    for key, entry in entries.items():
        name = f"{prefix}{key}"
        if isinstance(entry, Mapping):
            add_entries(arrays, entry, f"{name}.")
            continue
        if is_stored(entry) and not isinstance(entry, (np.memmap, Lazy)):
            entry = Lazy.of(unpacked(entry, entry.attrs, name), name)
        try:
            array = entry if isinstance(entry, (Lazy, np.memmap)) else load(plain(entry))
            missing = array.dtype == object and hasattr(entry, "to_numpy")  # a column of pandas with gaps
            array = entry.to_numpy(dtype=float, na_value=np.nan) if missing else array
        except (TypeError, ValueError):
            array = None
        if array is None or array.dtype.kind not in "biufc" or name.startswith("__"):  # as of loadmat
            arrays.skipped.append(name)
        else:
            arrays[name] = array
