"""Nested lists and dicts of arrays to arrays with names."""

from __future__ import annotations

from typing import Any

import numpy as np

from elmonet._check import FileError
from elmonet.data.arrays import Arrays
from elmonet.data.formats.pickled import Objects, PickledArray

__all__ = ["add_named"]

_MOST, _DEEPEST = 10_000, 16


def add_named(arrays: Arrays, name: str, value: Any, depth: int = 0) -> None:
    """Add `value` under `name`: entries of a dict as "name.key", of an object array or list as "name[0]".

    Without a name, entries have their key or number alone.
    """
    if depth > _DEEPEST or len(arrays) + len(arrays.skipped) > _MOST:
        raise FileError(
            f"the file holds more than {_MOST} arrays, or more than {_DEEPEST} levels of them. Save plain "
            "arrays."
        )
    if isinstance(value, PickledArray):
        value = value.value
    if isinstance(value, Objects) and value.shape == ():
        inner = value.items[0]
        add_named(arrays, "" if isinstance(inner, dict) and depth == 0 else name, inner, depth + 1)
    elif isinstance(value, dict) and value:
        for key, entry in value.items():
            add_named(arrays, f"{name}.{key}" if name else str(key), entry, depth + 1)
    elif isinstance(value, (Objects, list, tuple)):
        items = value.items if isinstance(value, Objects) else list(value)
        arrays.unpack(8 * len(items))
        if not items:
            arrays.skipped.append(name or "an empty list")
        elif all(_is_number(item) for item in items):
            numbers = np.array([float(item) for item in items])
            arrays[name or "values"] = numbers.reshape(getattr(value, "shape", -1))
        else:
            for i, entry in enumerate(items):
                add_named(arrays, f"{name}[{i}]" if name else str(i), entry, depth + 1)
    elif isinstance(value, np.ndarray):
        arrays[name or "tensor"] = value
    elif _is_number(value):
        arrays[name or "value"] = np.array(float(value))
    else:
        arrays.skipped.append(name or type(value).__name__)


def _is_number(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, int) and abs(value) < 1 << 63)
