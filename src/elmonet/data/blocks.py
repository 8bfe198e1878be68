"""Pairs of functions that are read a block of rows at a time: memory maps, zarr, HDF5, or the like."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from elmonet._check import InputError
from elmonet.data.lazy import Lazy

__all__ = ["Blocks", "checked_rows", "is_dask", "is_stored", "read_rows"]

_SMALL = 1 << 26  # bytes of a memory map


def is_stored(array: Any) -> bool:
    """Whether an array lives outside memory and should be read in blocks."""
    if isinstance(array, np.memmap):
        return array.nbytes > _SMALL  # what is less is read as a whole
    if isinstance(array, Lazy):
        return True
    known = type(array).__module__.split(".")[0]
    return known in ("zarr", "h5py") and hasattr(array, "shape")


def is_dask(array: Any) -> bool:
    """Whether an array is Dask's."""
    return type(array).__module__.split(".")[0] == "dask" and hasattr(array, "dask")


@dataclass(frozen=True)
class Blocks:
    """Inputs u (N, ...) and outputs s (N, M), in blocks of `rows` functions.

    Iterating gives ``(start, u, s)`` with arrays in memory, checked to be finite: an error names the function
    by its index in the whole.
    """

    u: Any
    s: Any
    rows: int

    def __post_init__(self) -> None:
        for name, array in (("X", self.u), ("y", self.s)):
            if not hasattr(array, "shape") or len(array.shape) < 2 or 0 in array.shape:
                raise InputError(
                    f"{name} must hold one function per row, (N, ...), and not be empty; got "
                    f"{getattr(array, 'shape', type(array).__name__)}."
                )
            if np.dtype(array.dtype).kind not in "fiu":
                raise InputError(f"{name} must hold real numbers, got the type {array.dtype}.")
        if self.u.shape[0] != self.s.shape[0]:
            raise InputError(
                "X and y must hold the same number of functions, one per row; got X "
                f"{tuple(self.u.shape)} and y {tuple(self.s.shape)}."
            )

    @property
    def functions(self) -> int:
        """N."""
        return int(self.u.shape[0])

    def starts(self, begin: int = 0) -> range:
        """Where the blocks begin, from a function on."""
        return range(begin, self.functions, self.rows)

    def __len__(self) -> int:
        return len(self.starts())

    def __iter__(self) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        for start in self.starts():
            yield start, *self.read(start)

    def read(self, start: int) -> tuple[np.ndarray, np.ndarray]:
        """The block that begins at a function."""
        return self.inputs(start), read_rows(self.s, start, start + self.rows, "y")

    def inputs(self, start: int) -> np.ndarray:
        """The inputs of a block alone."""
        return read_rows(self.u, start, start + self.rows, "X")


def read_rows(array: Any, start: int, stop: int, name: str) -> np.ndarray:
    """Some rows of a stored array in memory, in a floating-point type, finite."""
    try:
        rows = np.asarray(array[start:stop])
    except (OSError, RuntimeError, ValueError) as error:
        raise InputError(
            f"{name} cannot be read from function {start} on: {type(error).__name__}: {error}. The file may "
            "be damaged, or not complete."
        ) from error
    return checked_rows(rows, start, name)


def checked_rows(rows: np.ndarray, start: int, name: str) -> np.ndarray:
    """Rows in a floating-point type, finite; an error names the function by its index, from `start` on."""
    if rows.dtype not in (np.float64, np.float32):
        rows = rows.astype(np.float64)
    bad = ~np.isfinite(rows.reshape(len(rows), -1).sum(axis=1))
    if bad.any() and not np.isfinite(rows[bad]).all():
        wrong = [start + int(i) for i in np.flatnonzero(bad) if not np.isfinite(rows[i]).all()]
        raise InputError(
            f"{name} holds NaN or Inf in function {wrong[0]}"
            + (f" and {len(wrong) - 1} more of this block" if len(wrong) > 1 else "")
            + ". Every value must be finite: remove these functions or fill the gaps."
        )
    return rows
