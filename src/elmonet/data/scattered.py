"""Outputs with different points for each function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from elmonet.checks import coordinates, finite
from elmonet.errors import InputError

__all__ = ["Scattered"]


@dataclass(frozen=True, eq=False, repr=False)
class Scattered:
    """Values of output functions, each at its own points: function ``index[k]`` at ``points[k]``.

    Parameters
    ----------
    index : (K,) integers, which function: row ``index[k]`` of the inputs.
    points : (K, d), or (K,) if d = 1.
    values : (K,), or (K, c) for c components; None for places without values, as for `predict`.

    Examples
    --------
    >>> Scattered([0, 0, 1], [0.1, 0.7, 0.4], [1.0, 2.0, 3.0])
    3 values of 2 functions, at points in 1-D
    >>> Scattered.of([[1.0, 2.0], [3.0]], [[0.1, 0.7], [0.4]]).index
    array([0, 0, 1])
    """

    index: np.ndarray
    points: np.ndarray
    values: np.ndarray | None = None

    def __post_init__(self) -> None:
        index, points = np.asarray(self.index), coordinates(self.points)
        if index.ndim != 1 or index.dtype.kind not in "iu" or len(index) != len(points):
            raise InputError(
                "index must hold one whole number for each point, the row of the inputs that it belongs to; "
                f"got index {index.shape} of type {index.dtype} for {len(points)} points."
            )
        if index.min() < 0:
            raise InputError(f"index counts the functions from 0; its smallest value is {index.min()}.")
        object.__setattr__(self, "index", index.astype(np.int64, copy=False))
        object.__setattr__(self, "points", points)
        if self.values is not None:
            object.__setattr__(self, "values", self._checked(self.values))

    def _checked(self, values: Any) -> np.ndarray:
        values = np.asarray(values)
        if values.dtype not in (np.float64, np.float32):
            values = values.astype(np.float64)
        if values.ndim not in (1, 2) or len(values) != len(self.points) or values.size == 0:
            raise InputError(
                f"values must be (K,) or (K, c), one row for each of the {len(self.points)} points; got "
                f"{values.shape}."
            )
        if values.shape[1:] == (1,):
            values = values[:, 0]
        finite(values, "values")
        return values

    @classmethod
    def of(cls, values: Any, points: Any) -> Self:
        """From lists with one entry per function: its values (M_i,) or (M_i, c), and its points (M_i, d).

        Values None: places without values.
        """
        places = [coordinates(p) for p in points]
        index = np.repeat(np.arange(len(places)), [len(p) for p in places])
        if values is None:
            return cls(index, np.concatenate(places))
        if len(values) != len(points):
            raise InputError(
                f"there are values of {len(values)} functions and points of {len(points)}: give both."
            )
        values = [np.asarray(v, dtype=float) for v in values]
        for i, (v, p) in enumerate(zip(values, places, strict=True)):
            if len(v) != len(p):
                raise InputError(f"function {i} has {len(v)} values and {len(p)} points.")
        return cls(index, np.concatenate(places), np.concatenate(values))

    @property
    def n_functions(self) -> int:
        """One more than the largest index."""
        return int(self.index.max()) + 1

    def of_functions(self, rows: Any) -> Self:
        """Those of some functions, `rows` (an array of their indices), numbered from 0 in that order."""
        rows = np.asarray(rows)
        new = np.full(max(self.n_functions, int(rows.max()) + 1), -1)
        new[rows] = np.arange(len(rows))
        kept = new[self.index] >= 0
        values = None if self.values is None else self.values[kept]
        return type(self)(new[self.index[kept]], self.points[kept], values)

    def __len__(self) -> int:
        return len(self.index)

    def __repr__(self) -> str:
        what = "places" if self.values is None else "values"
        n, d = len(np.unique(self.index)), self.points.shape[1]
        return f"{len(self)} {what} of {n} functions, at points in {d}-D"
