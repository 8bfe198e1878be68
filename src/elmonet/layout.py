"""How a user's arrays are laid out: several inputs, components, grids; and the rows that the solvers see."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from elmonet._check import InputError, coordinates, plain
from elmonet.data.scattered import Scattered
from elmonet.interpolation import grid_points

__all__ = [
    "Inputs",
    "LaidOut",
    "Layout",
    "count",
    "is_list_of_points",
    "named_components",
    "place_points",
    "root_mean_squares",
    "rows_of",
    "scattered_outputs",
    "training_points",
]


@dataclass(frozen=True)
class Inputs:
    """Several input functions by name, each of its own shape, packed into one row a function."""

    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, X: Any, n: int | None = None) -> Inputs | None:
        """Of a dictionary or list of arrays, one for each input function; None for a single array.

        `n`, the number of functions, tells a list of inputs from a list of images.
        """
        if isinstance(X, dict):
            parts = {str(name): part for name, part in X.items()}
        elif isinstance(X, (list, tuple)) and _is_list_of_inputs(X, n):
            parts = {str(i): part for i, part in enumerate(X)}
        else:
            _refuse_ragged(X)
            return None
        if not parts:
            raise InputError("X is an empty dictionary: it must hold one array for each input function.")
        return cls(tuple(parts), tuple(tuple(np.shape(part)[1:]) or (1,) for part in parts.values()))

    def pack(self, X: Any) -> np.ndarray:
        """All inputs side by side, (N, m)."""
        parts = X if isinstance(X, dict) else dict(enumerate(X)) if isinstance(X, (list, tuple)) else None
        if parts is None or {str(name) for name in parts} != set(self.names):
            given = type(X).__name__ if parts is None else ", ".join(map(str, parts))
            raise InputError(
                f"this model has {len(self.names)} input functions: give a dictionary with {self._told()}; "
                f"got {given}."
            )
        parts = {str(name): np.asarray(plain(part)) for name, part in parts.items()}
        rows = {name: len(parts[name]) for name in self.names}
        if len(set(rows.values())) > 1:
            raise InputError(f"all input functions must have the same number of rows, got {rows}.")
        packed = []
        for name, shape in zip(self.names, self.shapes, strict=True):
            part = parts[name]
            if (part.shape[1:] or (1,)) != shape:
                raise InputError(f"the input {name!r} must have the shape (N, *{shape}), got {part.shape}.")
            packed.append(part.reshape(len(part), -1))
        return np.hstack(packed)

    def unpack(self, X: np.ndarray) -> dict[str, np.ndarray]:
        """The inverse of `pack`."""
        ends = np.cumsum([prod(shape) for shape in self.shapes])[:-1]
        parts = zip(self.names, self.shapes, np.split(X, ends, axis=1), strict=True)
        return {name: part.reshape(len(X), *shape) for name, shape, part in parts}

    def balance(self) -> np.ndarray:
        """Factors (m,) with which each input function counts alike, however many sensors it has."""
        sizes = [prod(shape) for shape in self.shapes]
        return np.repeat([np.sqrt(sum(sizes) / (len(sizes) * size)) for size in sizes], sizes)

    def _told(self) -> str:
        return ", ".join(
            f"{n!r} (N, {', '.join(map(str, s))})" for n, s in zip(self.names, self.shapes, strict=True)
        )


@dataclass(frozen=True)
class Layout:
    """The shape of one output, and which of its axes, if any, counts components.

    Outputs become rows (N, c M): all points of the first component, then those of the second, each divided by
    its root mean square, so that components in different units count alike.
    """

    shape: tuple[int, ...]
    axis: int | None = None
    scale: np.ndarray | None = None  # (c,)
    names: tuple[str, ...] | None = None  # of the components, if they came as a dictionary

    @classmethod
    def of(cls, y: np.ndarray, n_points: int, names: tuple[str, ...] | None = None) -> Layout:
        """Of outputs y (N, ...) at so many points."""
        shape, last = y.shape[1:], y.ndim - 2
        if names is None and prod(shape) == n_points:
            return cls(shape)
        for axis in (last, 0) if names is None else (last,):
            if len(shape) > 1 and prod(shape) // shape[axis] == n_points:
                parts = np.moveaxis(y, axis + 1, 1).reshape(len(y), shape[axis], -1)
                return cls(shape, axis, root_mean_squares(parts), names)
        raise InputError(
            f"y {y.shape} does not fit {n_points} points: it must be (N, {n_points}), or (N, {n_points}, c) "
            "for c components, or a grid of as many points as there are rows in points."
        )

    @property
    def components(self) -> int:
        """How many; 0 if the outputs are plain functions."""
        return 0 if self.axis is None else self.shape[self.axis]

    def rows(self, y: np.ndarray) -> np.ndarray:
        """Outputs (N, *shape) as rows."""
        if self.axis is None or self.scale is None:
            return y.reshape(len(y), -1)
        parts = np.moveaxis(y, self.axis + 1, 1).reshape(len(y), self.components, -1)
        return (parts / self.scale[:, None].astype(y.dtype)).reshape(len(y), -1)

    def outputs(self, rows: np.ndarray, grid: tuple[int, ...] | None = None) -> Any:
        """Rows as outputs: at the training points, or at others that form a `grid`, as (M,)."""
        own = tuple(n for i, n in enumerate(self.shape) if i != self.axis)
        places = own if grid is None else grid
        if self.axis is None or self.scale is None:
            return rows.reshape(len(rows), *places)
        parts = rows.reshape(len(rows), self.components, *places)
        parts = parts * self.scale.astype(rows.dtype).reshape(-1, *[1] * len(places))
        if self.names is not None:
            return {name: parts[:, i] for i, name in enumerate(self.names)}
        return np.moveaxis(parts, 1, -1 if self.axis == len(self.shape) - 1 else 1)

    def places(self, points: np.ndarray) -> np.ndarray:
        """Points (M, d) as the trunk sees them: for components, (c M, d + 1), with their number last."""
        if self.axis is None:
            return points
        number = np.repeat(np.arange(self.components, dtype=float), len(points))
        return np.column_stack([np.tile(points, (self.components, 1)), number])


class LaidOut:
    """A stored array of outputs (N, ...) as rows (N, c M), a block at a time."""

    def __init__(self, s: Any, layout: Layout):
        self.s, self.layout, self.dtype = s, layout, s.dtype
        self.shape = (int(s.shape[0]), prod(layout.shape))

    def __getitem__(self, rows: slice) -> np.ndarray:
        return self.layout.rows(np.asarray(self.s[rows]))


def place_points(points: Any) -> tuple[np.ndarray, tuple[int, ...] | None]:
    """Points (M, d), and the grid that they form if they came as (H, W, d): then outputs come back on it."""
    if np.ndim(points) <= 2:
        return points, None
    points = np.asarray(points)
    return points.reshape(-1, points.shape[-1]), points.shape[:-1]


def scattered_outputs(y: Any, points: Any) -> Scattered | None:
    """The outputs, if every function is known at points of its own."""
    if isinstance(y, Scattered):
        if points is not None:
            raise InputError("a Scattered holds its own points: leave points out.")
        if y.values is None:
            raise InputError("this Scattered holds places but no values.")
        return y
    if _is_array(y) and _is_array(points) and points.ndim == 3 and points.shape[:2] == y.shape[:2]:
        return Scattered.of(list(plain(y)), list(plain(points)))  # (N, M) values at points (N, M, d)
    if not isinstance(y, (list, tuple)) or not isinstance(points, (list, tuple)):
        return None
    sizes = [
        (len(v), len(p))
        for v, p in zip(y, points, strict=False)
        if hasattr(v, "__len__") and hasattr(p, "__len__")
    ]
    matching = len(y) == len(points) == len(sizes) and all(v == p for v, p in sizes)
    ragged = len(set(sizes)) > 1
    own = matching and (ragged or all(_is_array(p) for p in points))
    return Scattered.of(y, points) if own or is_list_of_points(points) else None


def is_list_of_points(points: Any, n: int | None = None, d: int | None = None) -> bool:
    """Whether there is an array of points for each function: (M_i, d), or (M_i,) of different lengths.

    For n functions of d = 1 variable, arrays (M_i,) of the same length are such points too.
    """
    if not isinstance(points, (list, tuple)) or not all(hasattr(own, "shape") for own in points):
        return False
    if all(np.ndim(own) == 2 for own in points) or len({np.shape(own) for own in points}) > 1:
        return True
    return d == 1 and len(points) == n and all(np.shape(own) != (1,) for own in points)


def named_components(y: Any) -> tuple[tuple[str, ...] | None, Any]:
    """The names of components that came as a dictionary, and the outputs with these as last axis."""
    if not isinstance(y, dict):
        return None, y
    try:
        parts = [np.asarray(plain(part)) for part in y.values()]
    except ValueError:
        raise InputError(
            "the components of y are ragged lists. If functions are known at points of their own, give one "
            "Scattered with values (K, c)."
        ) from None
    if not parts or len({part.shape for part in parts}) > 1 or parts[0].ndim < 2:
        shapes = {name: np.shape(part) for name, part in y.items()}
        raise InputError(f"the components of y must all have the same shape (N, M), got {shapes}.")
    return tuple(str(name) for name in y), np.stack(parts, axis=-1)


def count(y: Any) -> int | None:
    """How many functions inputs or outputs belong to, if that can be told."""
    if isinstance(y, dict):
        y = next(iter(y.values()), None)
    if isinstance(y, Scattered) or not hasattr(y, "__len__") or getattr(y, "ndim", 1) == 0:
        return None
    return len(y)


def training_points(points: Any, shape: tuple[int, ...], inputs: tuple[int, ...]) -> np.ndarray:
    """The points (M, d) of outputs of a shape: as given, or guessed from that of the inputs if it is safe."""
    if points is not None:
        M = None if len(shape) > 1 else sum(shape) or 1  # of more axes, some may count components
        return coordinates(place_points(points)[0], n_points=M)
    if shape in ((), (1,)):
        return np.zeros((1, 1))
    if shape not in (inputs, inputs[1:]):
        raise InputError(
            f"points is missing: y has functions of shape {shape} and X has functions of shape {inputs}, so "
            f"it cannot be guessed where the outputs live. Give fit points of shape "
            f"({', '.join(map(str, shape))}, d)."
        )
    return grid_points([np.linspace(0, 1, n) for n in shape])


def rows_of(X: Any, rows: Any) -> Any:
    """Some functions (an index or a slice) of an array, or of each array of a dictionary."""
    return {name: part[rows] for name, part in X.items()} if isinstance(X, dict) else X[rows]


def root_mean_squares(parts: np.ndarray) -> np.ndarray:
    """The size of each component (c,) of values (N, c, M), some of them perhaps NaN; 1 if all are zero."""
    largest = np.nanmax(np.abs(parts), axis=(0, 2)).astype(np.float64)
    zero = largest == 0
    largest[zero] = 1
    means = np.nanmean((parts / largest[:, None]) ** 2, axis=(0, 2))
    return np.where(zero, 1.0, largest * np.sqrt(means))


def _is_list_of_inputs(X: Any, n: int | None) -> bool:
    """Whether each entry holds all functions, and not each one function."""
    if not X or not all(_is_array(part) and np.ndim(part) > 1 for part in X):
        return False
    return len({np.shape(part) for part in X}) > 1 or (len(X) != n and len(X[0]) == n)


def _is_array(part: Any) -> bool:
    return hasattr(part, "shape") and hasattr(part, "dtype")


def _refuse_ragged(X: Any) -> None:
    """A list of functions that are measured at different sensors."""
    if not isinstance(X, (list, tuple)) or not X or any(np.ndim(row) != 1 for row in X if _is_array(row)):
        return
    lengths = sorted({len(row) for row in X if hasattr(row, "__len__")})
    if len(lengths) > 1:
        raise InputError(
            f"the input functions have different numbers of sensors ({lengths[0]} to {lengths[-1]}), but a "
            "branch needs all of them at the same sensors. Resample them: X = elmonet.resample(values, "
            "sensors, new_sensors), with one array of values and one of sensors for each function."
        )
