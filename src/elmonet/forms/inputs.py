"""The form of the input functions: one array, several by name, or values on a grid."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from elmonet.checks import coordinates, functions, plain
from elmonet.errors import InputError
from elmonet.forms.transforms import Affine, log_inputs, standardise
from elmonet.interpolation import as_grid

__all__ = ["InputForm", "count_of", "find_inputs", "is_array", "rows_of"]


@dataclass(frozen=True)
class InputForm:
    """How input functions come, and how the branch sees them.

    Attributes
    ----------
    given : the shape of one function as the user gives it; of several, packed side by side, (m,).
    shape : the shape of one function in rows (N, *shape): `given`, or the grid that its sensors form.
    names, shapes : of several input functions; None for one.
    order : (m,), the place on their grid of the sensors; None: as they come.
    logarithms : whether the branch sees logarithms of the inputs.
    scale : how the branch sees them after that; None: as they are.
    """

    given: tuple[int, ...]
    shape: tuple[int, ...]
    names: tuple[str, ...] | None = None
    shapes: tuple[tuple[int, ...], ...] | None = None
    order: np.ndarray | None = None
    logarithms: bool = False
    scale: Affine | None = None

    def rows(self, estimator: Any, X: Any) -> np.ndarray:
        """Input functions as the user gives them, checked, as rows (N, *shape)."""
        return self.arranged(functions(estimator, self._packed(X), reset=False))

    def trusted_rows(self, X: Any) -> np.ndarray:
        """The same, of functions that were checked already."""
        return self.arranged(self._packed(X))

    def seen(self, rows: np.ndarray, dtype: Any = np.float64) -> np.ndarray:
        """Rows as the branch sees them."""
        rows = rows.astype(dtype, copy=False)
        rows = log_inputs(rows) if self.logarithms else rows
        return rows if self.scale is None else self.scale(rows)

    def prepared(
        self, rows: np.ndarray, *, logarithms: bool, scale: bool, balanced: bool = True
    ) -> InputForm:
        """The same form, with logarithms and scaling as these training functions want them.

        Several inputs that share a branch are `balanced`: each counts alike, however many sensors it has.
        """
        form = replace(self, logarithms=logarithms, scale=None)
        return form.scaled_by(standardise(form.seen(rows)), balanced) if scale else form

    def scaled_by(self, scale: Affine | None, balanced: bool = True) -> InputForm:
        """The same form with a scaling that was found elsewhere."""
        if scale is not None and balanced and self.shapes is not None:
            scale = Affine(scale.shift, scale.scale / self._balance())
        return replace(self, scale=scale)

    def on_grid_of(self, sensors: np.ndarray | None) -> InputForm:
        """The same form, its functions on the grid of two or more axes that sensors (m, d) form, if any."""
        if sensors is None or self.names is not None or len(self.given) > 1 or sensors.shape[1] < 2:
            return self
        axes, order = as_grid(sensors)
        if axes is None or min(len(axis) for axis in axes) < 2:
            return self
        as_they_come = np.array_equal(order, np.arange(len(order)))
        return replace(self, shape=tuple(len(a) for a in axes), order=None if as_they_come else order)

    @property
    def told(self) -> str:
        """What one function is, in words."""
        if self.names is not None and self.shapes is not None:
            return ", ".join(
                f"{n!r} (N, {', '.join(map(str, s))})" for n, s in zip(self.names, self.shapes, strict=True)
            )
        if self.shape != self.given:
            return f"{prod(self.given)} values on a grid of {' x '.join(map(str, self.shape))} sensors"
        return f"of shape {self.given}"

    def _packed(self, X: Any) -> Any:
        """Several inputs side by side, (N, m); one as it is."""
        if self.names is None or self.shapes is None:
            return X
        parts = X if isinstance(X, dict) else dict(enumerate(X)) if isinstance(X, (list, tuple)) else None
        if parts is None or {str(name) for name in parts} != set(self.names):
            came = type(X).__name__ if parts is None else ", ".join(map(str, parts))
            raise InputError(
                f"this model has {len(self.names)} input functions: give a dictionary with {self.told}; "
                f"got {came}."
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

    def arranged(self, X: np.ndarray) -> np.ndarray:
        """Checked inputs (N, *given) on their grid, as rows (N, *shape)."""
        if self.order is not None:
            X = X[:, self.order]
        return X if self.shape == self.given else X.reshape(len(X), *self.shape)

    def as_given(self, rows: np.ndarray) -> Any:
        """Rows as the user gives them, an array or a dictionary: the inverse of `rows`."""
        X = rows.reshape(len(rows), -1)
        if self.order is not None:
            X = X[:, np.argsort(self.order)]
        if self.names is None or self.shapes is None:
            return X.reshape(len(X), *self.given)
        parts = np.split(X, np.cumsum([prod(shape) for shape in self.shapes])[:-1], axis=1)
        named = zip(self.names, self.shapes, parts, strict=True)
        return {name: part.reshape(len(X), *shape) for name, shape, part in named}

    def _balance(self) -> np.ndarray:
        sizes = [prod(shape) for shape in self.shapes or ()]
        return np.repeat([np.sqrt(sum(sizes) / (len(sizes) * size)) for size in sizes], sizes)


def find_inputs(
    estimator: Any, X: Any, *, n: int | None = None, sensors: Any = None, points: np.ndarray | None = None
) -> tuple[InputForm, np.ndarray]:
    """The form of training inputs, and these as rows.

    `n`, the number of functions if it is known, tells a list of inputs from a list of images. Sensors that
    form a grid, or points that do and are as many as the values of a function, make functions on that grid.
    """
    named = _several(X, n)
    form = InputForm((), ()) if named is None else InputForm((), (), *named)
    rows = functions(estimator, form._packed(X), reset=True)
    form = replace(form, given=rows.shape[1:], shape=rows.shape[1:])
    if sensors is not None:
        points = _checked_sensors(sensors, form, len(rows))
    elif points is not None and len(points) != prod(form.given):
        points = None
    form = form.on_grid_of(points)
    return form, form.arranged(rows)


def rows_of(X: Any, rows: Any) -> Any:
    """Some functions (an index or a slice) of an array, or of each array of a dictionary."""
    return {name: part[rows] for name, part in X.items()} if isinstance(X, dict) else X[rows]


def count_of(X: Any) -> int:
    """How many functions an array, or a dictionary of arrays, holds."""
    return len(next(iter(X.values())) if isinstance(X, dict) else X)


def _checked_sensors(sensors: Any, form: InputForm, n: int) -> np.ndarray:
    if form.names is not None:
        raise InputError("sensors is for a single input function; several come with their shapes.")
    where = np.asarray(plain(sensors))
    where = coordinates(where.reshape(-1, where.shape[-1]) if where.ndim > 2 else where)
    m = prod(form.given)
    if len(where) != m and not (len(form.given) > 2 and len(where) == prod(form.given[1:])):
        columns = (
            f" X has {n} rows: if its functions are columns, give X.T and y.T." if len(where) == n else ""
        )
        raise InputError(
            f"sensors must have one row for each of the {m} values of an input function; got "
            f"{len(where)}.{columns}"
        )
    return where


def _several(X: Any, n: int | None) -> tuple[tuple[str, ...], tuple[tuple[int, ...], ...]] | None:
    """Names and shapes of several input functions, in a dictionary or a list; None for a single array."""
    if isinstance(X, dict):
        parts = {str(name): part for name, part in X.items()}
    elif isinstance(X, (list, tuple)) and _is_list_of_inputs(X, n):
        parts = {str(i): part for i, part in enumerate(X)}
    else:
        _refuse_ragged(X)
        return None
    if not parts:
        raise InputError("X is an empty dictionary: it must hold one array for each input function.")
    return tuple(parts), tuple(tuple(np.shape(part)[1:]) or (1,) for part in parts.values())


def _is_list_of_inputs(X: Any, n: int | None) -> bool:
    """Whether each entry holds all functions, and not each one function."""
    if not X or not all(is_array(part) and np.ndim(part) > 1 for part in X):
        return False
    return len({np.shape(part) for part in X}) > 1 or (len(X) != n and len(X[0]) == n)


def is_array(part: Any) -> bool:
    """Whether it is an array of any library, not a list."""
    return hasattr(part, "shape") and hasattr(part, "dtype")


def _refuse_ragged(X: Any) -> None:
    """A list of functions that are measured at different sensors."""
    if not isinstance(X, (list, tuple)) or not X or any(np.ndim(row) != 1 for row in X if is_array(row)):
        return
    lengths = sorted({len(row) for row in X if hasattr(row, "__len__")})
    if len(lengths) > 1:
        raise InputError(
            f"the input functions have different numbers of sensors ({lengths[0]} to {lengths[-1]}), but a "
            "branch needs all of them at the same sensors. Resample them: X = elmonet.resample(values, "
            "sensors, new_sensors), with one array of values and one of sensors for each function."
        )
