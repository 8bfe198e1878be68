"""Arrays of a page: each once, as base64, without the lowest bytes where predictions do not need them."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from elmonet.description import Description, Operation
from elmonet.description import operations as ops

_LARGE = 1 << 20  # bytes of arrays above which numbers are rounded
_AGREE = 1e-11  # change of predictions by rounding, relative to their size
_WIDTHS = (5, 6, 7)  # bytes of rounded numbers


class PackedArrays:
    """Collects arrays as base64, each once, and operations that refer to them."""

    def __init__(self) -> None:
        self.found: list[dict[str, Any]] = []
        self._places: dict[tuple[str, int, bytes], int] = {}

    def array(self, values: np.ndarray) -> dict[str, Any]:
        """Add an array; return what refers to it."""
        values = np.asarray(values)
        if values.dtype.kind == "i":  # from -1, which becomes 0
            width = 2 if values.max(initial=0) < 0xFFFF else 4
            kind, raw = "int", (values + 1).astype(f"<u{width}").tobytes()
        else:
            kind, width = "float", _width(values)
            raw = np.ascontiguousarray(_bytes(values)[:, 8 - width :]).tobytes()
        place = self._places.setdefault((kind, width, raw), len(self.found))
        if place == len(self.found):
            self.found.append({"type": kind, "width": width, "base64": b64encode(raw).decode()})
        return {"array": place, "shape": list(values.shape)}

    def operations(self, operations: Sequence[Operation]) -> list[dict[str, Any]]:
        """Return operations for JSON."""
        found = []
        for op in operations:
            own = {item.name: self._value(getattr(op, item.name)) for item in fields(op)}
            found.append({"kind": type(op).__name__, **own})
        return found

    def _value(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return self.array(value)
        if isinstance(value, tuple) and value and isinstance(value[0], Operation):
            return self.operations(value)
        return list(value) if isinstance(value, tuple) else value


def _bytes(values: np.ndarray) -> np.ndarray:
    """Return the bytes (n, 8) of numbers, the lowest first."""
    return np.ascontiguousarray(values.ravel(), "<f8").view(np.uint8).reshape(-1, 8)


def _width(values: np.ndarray) -> int:
    """Return the number of bytes that hold all numbers exactly, at least 2."""
    used = _bytes(values).any(axis=0)
    return max(2, 8 - int(np.argmax(used))) if used.any() else 2


def rounded(description: Description, known: np.ndarray | None) -> Description:
    """Return a description whose large arrays have few bytes, as far as that changes no prediction.

    Predictions for known inputs (n, m), for three times their deviations, and for noise of their size, may
    change by 1e-11 of their size.
    """
    sizes = [(a.nbytes, place) for place, a in _large(description.operations)]
    if sum(size for size, _ in sizes) <= _LARGE:
        return description
    x = _trials(description.input_size, known)
    with np.errstate(all="ignore"):
        expected = description(x)
    if not np.isfinite(expected).all():
        return description
    limit = _AGREE * np.abs(expected).max(axis=1, keepdims=True)
    operations = description.operations
    for _, place in sorted(sizes, reverse=True):
        for width in _WIDTHS:
            tried = _with_width(operations, place, width)
            with np.errstate(all="ignore"):
                off = np.abs(ops.evaluate(tried, x) - expected)
            if (off <= limit).all():
                operations = tried
                break
    return replace(description, operations=operations)


def _large(operations: Sequence[Operation]) -> list[tuple[tuple[int, str], np.ndarray]]:
    """Return matrices and centres, with the number of the operation and the name of the array."""
    names = {ops.AffineMap: "matrix", ops.Kernel: "centres"}
    return [
        ((i, names[type(op)]), getattr(op, names[type(op)]))
        for i, op in enumerate(operations)
        if type(op) in names and getattr(op, names[type(op)]).nbytes > _LARGE // 16
    ]


def _with_width(operations: Sequence[Operation], place: tuple[int, str], width: int) -> tuple[Operation, ...]:
    number, name = place
    values = getattr(operations[number], name)
    step = np.uint64(1 << 8 * (8 - width))
    bits = np.ascontiguousarray(values, np.float64).view(np.uint64)
    nearest = ((bits + step // np.uint64(2)) // step * step).view(np.float64)
    changes: dict[str, Any] = {name: nearest}
    changed = replace(operations[number], **changes)
    return tuple(changed if i == number else op for i, op in enumerate(operations))


def _trials(m: int, known: np.ndarray | None) -> np.ndarray:
    rng = np.random.default_rng(0)
    known = rng.normal(size=(8, m)) if known is None or not len(known) else known
    some = known[np.linspace(0, len(known) - 1, min(len(known), 8)).astype(int)]
    middle, low, high = known.mean(axis=0), known.min(axis=0), known.max(axis=0)
    far = middle + 3 * (some - middle)
    far = np.where(low > 0, np.maximum(far, low / 3), far)  # logarithms
    return np.concatenate([some, far, rng.uniform(low, high, (8, m))])
