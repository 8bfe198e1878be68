"""The form of input functions: one array, several by name, or values on a grid."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from elmonet.checks import coordinates, finite, functions, owned, plain, require_same_grid
from elmonet.description import Graph, Port
from elmonet.errors import InputError, NumericsWarning, warn
from elmonet.forms.axis_labels import AxisLabels, axis_labels, require_same_axes
from elmonet.forms.parts import MAX_NUMBERS, InputPart, are_numbers, column_sizes, find_parts, whole
from elmonet.forms.transforms import Affine, extreme_exponents, is_rounding, of_order_one, standardise
from elmonet.interpolation import as_grid
from elmonet.linalg import product

_FUNCTION = 4  # columns of one size that make the values of a function
_ONE_SIZE = 1e3  # ratio of the largest and the smallest of them, below which they have one size


@dataclass(frozen=True)
class InputForm:
    """The form of the user's input functions, and how the branch sees them.

    Attributes
    ----------
    given : shape of one function as the user gives it; several functions are packed side by side, (m,).
    shape : shape of one function in rows (N, *shape): `given`, or the grid that its sensors form.
    names, shapes : names and shapes of several input functions; None for a single one.
    order : (m,), the order that sorts the sensors on their grid; None if they are sorted.
    parts : the parts of the inputs, and how the branch sees each of them; None if it sees all as they are.
    scale : scaling applied after that, with the relevance of each part; None for no scaling.
    metric : (columns, r), matrix that rows are multiplied by at the end; None for none.
    columns : column names of a DataFrame, which scikit-learn checks in `predict`.
    sensors : (m, d), where the inputs are known, as given to `fit`; None if they were not given.
    exponents : (*given), powers of two that are the units of values beyond 1e60 or below 1e-60, whose squares
        have no room; 0 for the others. None if there are no such values.
    numbers : whether a single array holds numbers, each in a unit of its own, and not values of a function.
    axes : names and coordinates of the axes of an ``xarray.DataArray``; None for other inputs.
    """

    given: tuple[int, ...]
    shape: tuple[int, ...]
    names: tuple[str, ...] | None = None
    shapes: tuple[tuple[int, ...], ...] | None = None
    order: np.ndarray | None = None
    parts: tuple[InputPart, ...] | None = None
    scale: Affine | None = None
    columns: tuple[str, ...] | None = None
    sensors: np.ndarray | None = None
    exponents: np.ndarray | None = None
    metric: np.ndarray | None = None
    numbers: bool = False
    axes: AxisLabels | None = None

    def rows(self, estimator: Any, X: Any) -> np.ndarray:
        """Check the user's input functions and return them as rows (N, *shape)."""
        require_same_axes(self.axes, X)
        return self.arranged(functions(estimator, self._packed(X), reset=False))

    def one_case(self, X: Any) -> Any:
        """Return a dictionary of numbers and single functions as one with a single row each."""
        if not isinstance(X, dict) or all(np.ndim(part) for part in X.values()):
            return X
        return {name: np.asarray(plain(part))[None] for name, part in X.items()}

    def at_sensors(self, X: Any, sensors: Any) -> Any:
        """Return inputs known at `sensors`, the training sensors in any order, in the order of training."""
        where = _checked_sensors(sensors, self, count_of(X))
        if self.sensors is None:
            raise InputError(
                "sensors were not given in the first call, so they cannot be compared: leave them out."
            )
        mine, theirs = np.lexsort(self.sensors.T), np.lexsort(where.T)
        if where.shape != self.sensors.shape or not np.array_equal(self.sensors[mine], where[theirs]):
            raise InputError(
                "the sensors differ from those of the first call: all input functions of one model are known "
                "at the same sensors. Resample them: elmonet.resample(values, sensors, new_sensors)."
            )
        order = np.empty_like(mine)
        order[mine] = theirs
        X = np.asarray(plain(X))
        return X.reshape(len(X), -1, len(order))[..., order].reshape(X.shape)

    def trusted_rows(self, X: Any) -> np.ndarray:
        """Return input functions that were checked before as rows."""
        return self.arranged(self._packed(X))

    def seen(self, rows: np.ndarray, dtype: Any = np.float64) -> np.ndarray:
        """Return rows as the branch sees them."""
        rows = rows.astype(dtype, copy=False)
        rows = rows if self.parts is None else self._through_parts(rows, self.parts)
        rows = rows if self.scale is None else self.scale(rows)
        if self.metric is None:
            return rows
        return product(np.ascontiguousarray(rows.reshape(len(rows), -1)), self.metric.astype(dtype))

    def _through_parts(self, rows: np.ndarray, parts: tuple[InputPart, ...]) -> np.ndarray:
        """Return rows with each part as the branch sees it; in their shape, if no part changes its size."""
        ends = np.cumsum([part.size for part in parts])[:-1]
        columns = [
            part.seen(own)
            for part, own in zip(parts, np.split(rows.reshape(len(rows), -1), ends, axis=1), strict=True)
        ]
        seen = columns[0] if len(columns) == 1 else np.hstack(columns)
        return seen.reshape(rows.shape) if seen.size == rows.size else seen

    # As array operations, for derivatives and exports

    def ports(self) -> tuple[Port, ...]:
        """Return names and shapes of the inputs; a single one is called u."""
        if self.names is None or self.shapes is None:
            return (Port("u", self.given),)
        return tuple(Port(name, shape) for name, shape in zip(self.names, self.shapes, strict=True))

    def trace(self, graph: Graph, x: int) -> int:
        """Write the way from the user's inputs, packed and flat, to what the branch sees."""
        return self.trace_seen(graph, self.trace_rows(graph, x))

    def trace_seen(self, graph: Graph, x: int) -> int:
        """Write `seen`: from rows to what the branch sees."""
        if self.parts is not None:
            ends = np.cumsum([0, *(part.size for part in self.parts)])
            x = graph.concat(
                [
                    part.trace(graph, graph.part(x, int(start), int(end)))
                    for part, start, end in zip(self.parts, ends[:-1], ends[1:], strict=True)
                ]
            )
        if self.scale is not None:
            x = graph.scale(x, 1 / self.scale.scale, before=self.scale.shift)
        return x if self.metric is None else graph.affine(x, self.metric.T)

    def trace_rows(self, graph: Graph, x: int) -> int:
        """Write the way from the user's inputs, packed and flat, to rows."""
        if self.exponents is not None:
            x = graph.scale(x, np.ldexp(1.0, -self.exponents.ravel()))
        return x if self.order is None else graph.gather(x, self.order)

    def flat(self, X: Any, what: str = "X") -> np.ndarray:
        """Return values in the form of the inputs, packed and flat, (N, m); of any sign and size."""
        X = np.asarray(plain(self._packed(X)), np.float64)
        if X.shape[1:] != self.given:
            shape = ", ".join(map(str, ("N", *self.given)))
            raise InputError(f"{what} must have the shape of the inputs, ({shape}); got {X.shape}.")
        finite(X, what)
        return X.reshape(len(X), -1)

    def from_flat(self, values: np.ndarray) -> Any:
        """Invert `flat`."""
        if self.names is None or self.shapes is None:
            return values.reshape(len(values), *self.given)
        parts = np.split(values, np.cumsum(self.sizes or [])[:-1], axis=1)
        named = zip(self.names, self.shapes, parts, strict=True)
        return {name: part.reshape(len(values), *shape) for name, shape, part in named}

    def prepared(
        self,
        rows: np.ndarray,
        weights: np.ndarray | None = None,
        *,
        parts: tuple[InputPart, ...] | None,
        scale: bool,
        metric: np.ndarray | None = None,
        balanced: bool = True,
    ) -> InputForm:
        """Return this form with parts and a scaling fitted to training rows, counted by `weights` (N,).

        Several parts that share a branch are `balanced`: each counts alike, however many sensors it has.
        """
        form = replace(self, parts=parts, scale=None, metric=None)
        if scale:
            sizes = form.compared if parts is None else form.seen_sizes
            form = form.scaled_by(standardise(form.seen(rows), weights, sizes), balanced)
        if metric is None:
            return form
        columns = form.seen(rows[:1]).size
        metric = np.asarray(plain(metric))
        if metric.ndim != 2 or len(metric) != columns or not np.isfinite(metric.astype(float)).all():
            raise InputError(
                f"metric must be a matrix ({columns}, r) of finite numbers, with a row for each column that "
                f"the branch sees of an input; got an array of shape {metric.shape}."
            )
        return replace(form, metric=metric)

    @property
    def sizes(self) -> list[int] | None:
        """Number of values of each of several inputs; None for a single one."""
        return None if self.shapes is None else [prod(shape) for shape in self.shapes]

    @property
    def compared(self) -> list[int] | None:
        """Number of values that share a unit, so that rounding of one may be the size of another."""
        return [1] * prod(self.given) if self.numbers else self.sizes

    @property
    def seen_sizes(self) -> list[int] | None:
        """Number of columns that the branch sees of each part; None if there are no parts."""
        return self.sizes if self.parts is None else column_sizes(self.parts)

    def whole_parts(self) -> tuple[InputPart, ...]:
        """Return one part for each input, by name."""
        return whole(prod(self.given), self.names, self.shapes)

    def found_parts(self, rows: np.ndarray) -> tuple[InputPart, ...]:
        """Return the parts that training rows have: by name, and numbers that lie side by side."""
        return find_parts(rows, self.names, self.shapes, self.columns)

    def scaled_by(self, scale: Affine | None, balanced: bool = True) -> InputForm:
        """Return this form with a given scaling."""
        sizes = self.seen_sizes
        if scale is not None and sizes is not None:
            factors = np.ones(len(sizes))
            if balanced:
                factors = np.array([np.sqrt(sum(sizes) / (len(sizes) * size)) for size in sizes])
            if self.parts is not None:
                factors = factors * [r for part in self.parts for r in part.relevance]
            columns = np.repeat(factors, sizes).reshape(scale.scale.shape)
            with np.errstate(divide="ignore"):  # what has no relevance becomes zero
                scale = Affine(scale.shift, scale.scale / columns)
        return replace(self, scale=scale)

    @property
    def has_relevance(self) -> bool:
        """Whether values of an input may count differently: by a metric, or by scales of several parts."""
        return self.metric is not None or (self.parts is not None and len(self.relevance()) > 1)

    def relevance(self) -> dict[str, np.ndarray]:
        """Return how much each part of the inputs matters to the branch, by name, at each of its columns.

        A number is what one standard deviation of all columns of a part contributes to the distance of two
        inputs; a part of relevance 0 is not seen. With a metric, it tells where along the sensors inputs
        matter. The amplitude of a function that was split off has the name of the function, and "amplitude".
        """
        parts = self.parts or self.whole_parts()
        names = [n for part in parts for n in (part.name, f"{part.name} amplitude")[: part.groups]]
        sizes = column_sizes(parts)
        factors = np.repeat([r for part in parts for r in part.relevance], sizes)
        factors = factors / np.sqrt(np.repeat(sizes, sizes))
        if self.metric is not None:
            factors = factors * np.linalg.norm(self.metric, axis=1)
        return dict(zip(names, np.split(factors, np.cumsum(sizes)[:-1]), strict=True))

    def unscaled(self) -> InputForm:
        """Return this form without scaling, and without what comes after it."""
        return replace(self, scale=None, metric=None)

    def on_grid_of(self, sensors: np.ndarray | None) -> InputForm:
        """Return this form with its functions on the grid that sensors (m, d) form, if they form one."""
        if sensors is None or self.names is not None or len(self.given) > 1 or sensors.shape[1] < 2:
            return self
        axes, order = as_grid(sensors)
        if axes is None or min(len(axis) for axis in axes) < 2:
            return self
        is_sorted = np.array_equal(order, np.arange(len(order)))
        return replace(self, shape=tuple(len(a) for a in axes), order=None if is_sorted else order)

    def describe(self) -> str:
        """Return what one function is, in words."""
        if self.names is not None and self.shapes is not None:
            return ", ".join(
                f"{n!r} (N, {', '.join(map(str, s))})" for n, s in zip(self.names, self.shapes, strict=True)
            )
        if self.shape != self.given:
            return f"{prod(self.given)} values on a grid of {' x '.join(map(str, self.shape))} sensors"
        return f"of shape {self.given}"

    def _packed(self, X: Any) -> Any:
        """Return several inputs side by side, (N, m); a single one unchanged."""
        if self.names is None or self.shapes is None:
            if isinstance(X, dict):
                own = ", ".join(map(str, ("N", *self.given)))
                raise InputError(
                    f"this model has a single input without a name: give an array ({own}); got a "
                    f"dictionary with {', '.join(map(repr, X)) or 'nothing'}."
                )
            return X
        parts = X if isinstance(X, dict) else dict(enumerate(X)) if isinstance(X, (list, tuple)) else None
        if parts is None or {str(name) for name in parts} != set(self.names):
            came = type(X).__name__ if parts is None else ", ".join(map(str, parts))
            raise InputError(
                f"this model has {len(self.names)} input functions: give a dictionary with "
                f"{self.describe()}; got {came}."
            )
        parts = {str(name): np.asarray(plain(part)) for name, part in parts.items()}
        rows = {name: len(parts[name]) for name in self.names}
        if len(set(rows.values())) > 1:
            raise InputError(f"all input functions must have the same number of rows, got {rows}.")
        packed = []
        for name, shape in zip(self.names, self.shapes, strict=True):
            part = parts[name]
            if (part.shape[1:] or (1,)) != shape:
                expected = ", ".join(map(str, ("N", *shape)))
                raise InputError(f"the input {name!r} must have the shape ({expected}), got {part.shape}.")
            packed.append(part.reshape(len(part), -1))
        return np.hstack(packed)

    def arranged(self, X: np.ndarray) -> np.ndarray:
        """Return checked inputs (N, *given) as rows (N, *shape), on their grid."""
        if self.exponents is not None:
            X = np.ldexp(X, -self.exponents)
        if self.order is not None:
            X = X[:, self.order]
        return X if self.shape == self.given else X.reshape(len(X), *self.shape)

    def as_given(self, rows: np.ndarray) -> Any:
        """Invert `rows`: return an array or a dictionary, as the user gives them."""
        X = rows.reshape(len(rows), -1)
        if self.order is not None:
            X = X[:, np.argsort(self.order)]
        if self.exponents is not None:
            X = np.ldexp(X, self.exponents.ravel())
        return self.from_flat(X)


def find_inputs(
    estimator: Any, X: Any, *, n: int | None = None, sensors: Any = None, points: np.ndarray | None = None
) -> tuple[InputForm, np.ndarray]:
    """Return the form of training inputs, and the inputs as rows.

    `n`, the number of functions if it is known, distinguishes a list of inputs from a list of images.
    Sensors that form a grid, or points that do and are as many as the values of a function, make functions on
    that grid. `estimator` names itself in messages; nothing is written to it.
    """
    named = _several(X, n)
    form = InputForm((), ()) if named is None else InputForm((), (), *named)
    # scikit-learn's validation stores what it saw: in a stand-in of the same name, not in the estimator.
    seen = type(type(estimator).__name__, (BaseEstimator,), {})()
    rows = functions(seen, form._packed(X), reset=True)
    columns = getattr(seen, "feature_names_in_", None)
    columns = None if columns is None else tuple(map(str, columns))
    form = replace(form, given=rows.shape[1:], shape=rows.shape[1:], columns=columns, axes=axis_labels(X))
    form = replace(form, numbers=form.names is None and are_numbers(rows))
    form = replace(form, exponents=extreme_exponents(rows, form.compared))
    if form.names is None and rows.ndim == 2:
        _warn_of_rounding(rows, form)
    if sensors is not None:
        points = _checked_sensors(sensors, form, len(rows))
        points = owned(points, sensors)
        form = replace(form, sensors=points)
    elif points is not None and len(points) != prod(form.given):
        points = None
    form = form.on_grid_of(points)
    return form, form.arranged(rows)


def _warn_of_rounding(rows: np.ndarray, form: InputForm) -> None:
    """Warn of columns that vary, but by no more than the rounding of other columns (N, m), unlike a function.

    A function has values of 1e-17 where it is zero, beside others of one size.
    """
    if not 1 < rows.shape[1] <= MAX_NUMBERS:
        return
    scaled = of_order_one(rows, form.compared)
    lost = is_rounding(np.std(scaled, axis=0), rows.dtype) & (np.ptp(rows, axis=0) > 0)
    others = np.abs(rows[:, ~lost]).max(axis=0)
    others = others[others > 0]
    if lost.any() and not (len(others) >= _FUNCTION and others.max() < _ONE_SIZE * others.min()):
        k = int(np.argmax(lost))
        warn(
            f"column {k} of X varies by {np.ptp(rows[:, k]):.1e} beside values of {np.abs(rows).max():.1e}: "
            "this counts as rounding, and the column as constant. If it is a quantity of its own, give each "
            "quantity by name: X={'a': ..., 'b': ...}.",
            NumericsWarning,
        )


def rows_of(X: Any, rows: Any) -> Any:
    """Return some functions (an index or a slice) of an array, or of each array of a dictionary."""
    return {name: part[rows] for name, part in X.items()} if isinstance(X, dict) else X[rows]


def count_of(X: Any) -> int:
    """Return the number of functions in an array, or in a dictionary of arrays."""
    return len(next(iter(X.values())) if isinstance(X, dict) else X)


def _checked_sensors(sensors: Any, form: InputForm, n: int) -> np.ndarray:
    if form.names is not None:
        raise InputError("sensors is for a single input function; several come with their shapes.")
    where = np.asarray(plain(sensors))
    require_same_grid("sensors", where.shape[:-1] if where.ndim > 2 else None, "X", form.given)
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
    """Return names and shapes of several inputs in a dictionary or a list; None for a single array."""
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
    """Return whether each entry holds one input of all functions, rather than one function."""
    if not X or not all(is_array(part) and np.ndim(part) > 1 for part in X):
        return False
    return len({np.shape(part) for part in X}) > 1 or (len(X) != n and len(X[0]) == n)


def is_array(part: Any) -> bool:
    """Return whether `part` is an array of any library, not a list."""
    return hasattr(part, "shape") and hasattr(part, "dtype")


def _refuse_ragged(X: Any) -> None:
    """Raise for a list of functions measured at different sensors."""
    if not isinstance(X, (list, tuple)) or not X or any(np.ndim(row) != 1 for row in X if is_array(row)):
        return
    lengths = sorted({len(row) for row in X if hasattr(row, "__len__")})
    if len(lengths) > 1:
        raise InputError(
            f"the input functions have different numbers of sensors ({lengths[0]} to {lengths[-1]}), but a "
            "branch needs all of them at the same sensors. Resample them: X = elmonet.resample(values, "
            "sensors, new_sensors), with one array of values and one of sensors for each function."
        )
