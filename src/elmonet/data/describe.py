"""What a file holds, for people to look at before they fit."""

from __future__ import annotations

import math
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from elmonet._check import InputError
from elmonet.data.formats import open_arrays
from elmonet.data.read import understand
from elmonet.data.size_limit import stored_bytes

__all__ = ["describe_file"]

_BLOCK = 1 << 26  # bytes that are looked at at a time


def describe_file(path: str | os.PathLike[str], *, max_bytes: Any = None, **flags: Any) -> dict[str, Any]:
    """The format of a file, its arrays with shape, type, range and number of NaN, and what is taken as what.

    Returns a dict with ``format``, ``bytes``, ``arrays`` (dicts of name, shape, dtype, min, max, nan),
    ``skipped`` (names of what is not numbers), and either ``roles`` with the sentences ``reasons``, or
    ``error``. The flags are those of `read`.
    """
    with open_arrays(path, max_bytes) as arrays:
        told: dict[str, Any] = {
            "path": str(path),
            "format": arrays.format,
            "bytes": stored_bytes(Path(path)),
            "arrays": [{"name": name, **_looked_at(array)} for name, array in arrays.items()],
            "skipped": list(arrays.skipped),
            "roles": None,
            "reasons": [],
            "error": None,
        }
        try:
            roles = understand(arrays, max_bytes=max_bytes, **flags)
        except InputError as error:
            told["error"] = str(error)
        else:
            told["reasons"] = list(roles.reasons)
            told["roles"] = {key: value for key, value in asdict(roles).items() if key != "reasons"}
    return told


def _looked_at(array: Any) -> dict[str, Any]:
    """Shape, type, and what the numbers are, read in blocks of rows."""
    shape, dtype = tuple(int(n) for n in array.shape), np.dtype(array.dtype)
    least, most, nan = math.inf, -math.inf, 0
    if dtype.kind in "biuf" and 0 not in shape:
        rows = max(1, _BLOCK // max(1, dtype.itemsize * math.prod(shape[1:])))
        for start in range(0, shape[0] if shape else 1, rows):
            block = np.asarray(array[start : start + rows] if shape else array)
            missing = np.isnan(block) if dtype.kind == "f" else np.zeros(block.shape, bool)
            nan += int(missing.sum())
            if not missing.all():
                known = block[~missing] if missing.any() else block
                least, most = min(least, float(known.min())), max(most, float(known.max()))
    known_range = least <= most
    return {
        "shape": shape,
        "dtype": str(dtype),
        "min": least if known_range else None,
        "max": most if known_range else None,
        "nan": nan,
    }
