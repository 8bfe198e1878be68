"""Arrays that stay on disk and are read by slicing, and views of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from elmonet.data.guard import reading, require_room

__all__ = ["Lazy", "by_rows", "last_axis_first", "load", "point_array"]

Read = Callable[[int, int, tuple], Any]


class Lazy:
    """An array (N, ...) whose rows are read when they are asked for: ``lazy[10:20]``.

    ``read(start, stop, rest)`` gives rows start to stop, indexed by `rest` along the other axes.
    """

    def __init__(self, shape: Any, dtype: Any, read: Read, name: str):
        self.shape, self.dtype = tuple(int(n) for n in shape), np.dtype(dtype)
        self._read, self._name = read, name

    @classmethod
    def of(cls, source: Any, name: str) -> Lazy:
        """Of anything with a shape and a type that gives rows by slicing."""

        def read(start: int, stop: int, rest: tuple) -> Any:
            return source[(slice(start, stop), *rest)]

        return cls(source.shape, source.dtype, read, name)

    def __getitem__(self, key: Any) -> np.ndarray:
        first, rest = (key[0], key[1:]) if isinstance(key, tuple) and key else (key, ())
        if first is Ellipsis:
            return np.asarray(self)[key]
        if isinstance(first, slice):
            start, stop, step = first.indices(len(self))
            if step == 1:
                return self._rows(start, max(start, stop), rest)
            return np.asarray(self)[key]
        if np.ndim(first) == 0:
            row = int(first) + (len(self) if first < 0 else 0)
            if not 0 <= row < len(self):
                raise IndexError(f"row {int(first)} of {len(self)}")
            return self._rows(row, row + 1, rest)[0]
        chosen = np.asarray(first)
        chosen = np.flatnonzero(chosen) if chosen.dtype == bool else chosen
        rows = [self[(int(i), *rest)] for i in chosen]
        return np.stack(rows) if rows else self._rows(0, 0, rest)

    def _rows(self, start: int, stop: int, rest: tuple) -> np.ndarray:
        taken = [
            len(range(n)[key]) for n, key in zip(self.shape[1:], rest, strict=False) if type(key) is slice
        ]
        row = self.dtype.itemsize * math.prod((*taken, *self.shape[1 + len(rest) :]))
        require_room(row * (stop - start), self._name)
        with reading(self._name):
            return np.asarray(self._read(start, stop, rest))

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        array = self[:]
        return array if dtype is None else array.astype(dtype, copy=False)

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """What it would take in memory."""
        return self.dtype.itemsize * math.prod(self.shape)

    def __repr__(self) -> str:
        return f"Lazy {self._name} {self.shape} {self.dtype}"


def by_rows(function: Callable[..., np.ndarray], *sources: Any, take: tuple = ()) -> Any:
    """A function of rows, applied to arrays at once, or to lazy ones when their rows are read.

    `take` picks along the other axes before, so that what is not picked is not read from disk.
    """
    if all(isinstance(source, np.ndarray) for source in sources):
        return function(*(source[(slice(None), *take)] for source in sources))
    nothing = (np.empty((0, *source.shape[1:]), source.dtype)[(slice(None), *take)] for source in sources)
    sample = function(*nothing)

    def read(start: int, stop: int, rest: tuple) -> np.ndarray:
        rows = (np.asarray(source[(slice(start, stop), *take)]) for source in sources)
        return function(*rows)[(slice(None), *rest)]

    name = ", ".join(getattr(source, "_name", "an array") for source in sources)
    return Lazy((sources[0].shape[0], *sample.shape[1:]), sample.dtype, read, name)


def last_axis_first(source: Any) -> Any:
    """An array (..., N) as (N, ...): at once, or for a lazy one when its rows are read."""
    if isinstance(source, np.ndarray):
        return np.moveaxis(source, -1, 0) if source.ndim else source
    if source.ndim < 2:
        return source
    between = (slice(None),) * (source.ndim - 1)

    def read(start: int, stop: int, rest: tuple) -> np.ndarray:
        return np.moveaxis(source[(*between, slice(start, stop))], -1, 0)[(slice(None), *rest)]

    return Lazy((source.shape[-1], *source.shape[:-1]), source.dtype, read, source._name)


def load(array: Any) -> np.ndarray:
    """An array in memory, as it is."""
    return np.array(array) if isinstance(array, np.memmap) else np.asarray(array)


def point_array(array: Any) -> np.ndarray:
    """Points as (n, d), from (n, d), (n,), (1, n) or a grid (..., d)."""
    values = load(array).astype(np.float64)
    in_a_row = values.ndim == 2 and values.shape[0] == 1 and values.shape[1] > 1
    return values.reshape(-1, 1 if values.ndim < 2 or in_a_row else values.shape[-1])
