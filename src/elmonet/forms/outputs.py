"""The form of the output functions: grids, components, logarithms, points; errors and scores in that form."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from sklearn.metrics import r2_score

from elmonet.checks import coordinates, outputs, plain
from elmonet.data.scattered import Scattered
from elmonet.errors import InputError
from elmonet.forms.inputs import rows_of
from elmonet.forms.transforms import Affine, LogOutputs, log_outputs, unit_box
from elmonet.interpolation import interpolate
from elmonet.metrics import function_norms, reference_norms, relative_errors

__all__ = [
    "OutputForm",
    "checked_outputs",
    "errors_of_functions",
    "find_outputs",
    "find_scattered",
    "lift_at",
    "lift_at_own_points",
    "named_components",
    "r2_of",
    "relative_error",
    "root_mean_squares",
]


def lift_at(lift: Any, X: Any, points: np.ndarray, n: int) -> np.ndarray:
    """The lift of n input functions X at points (M, d): (n, M), or (1, M) if it does not depend on them."""
    of_inputs = _takes_inputs(lift)
    values = np.asarray(lift(X, points) if of_inputs else lift(points), dtype=float)
    expected = (n, len(points)) if of_inputs else (len(points),)
    if values.shape != expected or not np.isfinite(values).all():
        raise InputError(
            f"the lift must give finite values of shape {expected}, for {n} functions at {len(points)} "
            f"points; it gave {values.shape}."
        )
    return values if of_inputs else values[None]


def lift_at_own_points(lift: Any, X: Any, places: Scattered) -> np.ndarray:
    """The lift of each function at points of its own, (K,)."""
    if not _takes_inputs(lift):
        return lift_at(lift, X, places.points, 1)[0]
    out = np.empty(len(places))
    for i in np.unique(places.index):
        own = places.index == i
        out[own] = lift_at(lift, rows_of(X, slice(i, i + 1)), places.points[own], 1)[0]
    return out


def _takes_inputs(lift: Any) -> bool:
    if not callable(lift):
        raise InputError(f"lift must be a function of points, or of inputs and points; got {lift!r}.")
    needed = [p for p in inspect.signature(lift).parameters.values() if p.default is p.empty]
    return len(needed) > 1


@dataclass(frozen=True)
class OutputForm:
    """How output functions come, and how the solvers see them: as rows (N, c M).

    A row holds all points of the first component, then those of the second, each divided by its root mean
    square, so that components in different units count alike.

    Attributes
    ----------
    shape : of one output as the user gives it; named components are its last axis.
    points : (M, d), the training points as they are given; the corners (2, d) of their box if scattered.
    axis : which axis of `shape` counts components; None: the outputs are plain functions.
    sizes : (c,), the root mean squares of the components.
    names : of the components, if they come as a dictionary.
    scattered : every function is known at its own points, so that a prediction needs points.
    lift : known values that are added to what the operator gives.
    logs : the operator gives logarithms.
    box : the box of the points, which the trunk sees as the unit cube; None: as they are.
    dtype : of predictions.
    """

    shape: tuple[int, ...]
    points: np.ndarray
    axis: int | None = None
    sizes: np.ndarray | None = None
    names: tuple[str, ...] | None = None
    scattered: bool = False
    lift: Any = None
    logs: LogOutputs | None = None
    box: Affine | None = None
    dtype: Any = np.float64

    @property
    def components(self) -> int:
        """How many; 0 if the outputs are plain functions."""
        return 0 if self.axis is None else self.shape[self.axis]

    def rows(self, y: np.ndarray) -> np.ndarray:
        """Outputs (N, *shape) as rows."""
        if self.axis is None or self.sizes is None:
            return y.reshape(len(y), -1)
        parts = np.moveaxis(y, self.axis + 1, 1).reshape(len(y), self.components, -1)
        return (parts / self.sizes[:, None].astype(y.dtype)).reshape(len(y), -1)

    def unpacked(self, rows: np.ndarray, grid: tuple[int, ...] | None = None) -> Any:
        """Rows as outputs: at the training points, or at others that form a `grid`, as (M,)."""
        own = tuple(n for i, n in enumerate(self.shape) if i != self.axis)
        places = own if grid is None else grid
        rows = rows.astype(self.dtype, copy=False)
        if self.axis is None or self.sizes is None:
            return rows.reshape(len(rows), *places)
        parts = rows.reshape(len(rows), self.components, *places)
        parts = parts * self.sizes.astype(rows.dtype).reshape(-1, *[1] * len(places))
        if self.names is not None:
            return {name: parts[:, i] for i, name in enumerate(self.names)}
        return np.moveaxis(parts, 1, -1 if self.axis == len(self.shape) - 1 else 1)

    def prepared(self, rows: Any, *, logarithms: bool, scale: bool) -> OutputForm:
        """The same form, with logarithms and scaling as these training outputs want them."""
        if logarithms and self.components:
            raise InputError("log_outputs is for outputs without components: fit one model for each.")
        if logarithms and self.scattered:
            raise InputError("log_outputs needs outputs at common points; give the logarithms of the values.")
        if logarithms and np.isnan(rows).any():
            raise InputError("log_outputs needs outputs without gaps; give the logarithms of the values.")
        box = unit_box(self.places()) if scale else None
        return replace(self, box=box, logs=log_outputs(rows) if logarithms else None)

    def target(self, rows: np.ndarray) -> np.ndarray:
        """What the operator learns, of training rows: the rows, or their logarithms."""
        return rows if self.logs is None else self.logs(rows, self.points)

    def values(self, z: np.ndarray, points: np.ndarray | None = None) -> np.ndarray:
        """The inverse of `target`, at the training points or at others (M, d)."""
        if self.logs is None:
            return z
        centre = self.logs.centre
        if points is not None:  # the geometric mean of the training outputs there; it is not negative
            centre = np.maximum(interpolate(self.points, centre[:, None], points)[:, 0], 0)
        return self.logs.inverse(z, centre)

    def errors(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The relative error of each function (N,) if the operator gives z (N, M) where the rows are y."""
        return relative_errors(function_norms(self.values(z) - y), function_norms(y), y.shape[1])

    def places(self, points: np.ndarray | None = None) -> np.ndarray:
        """Points (M, d) as places: for components (c M, d + 1), with their number last."""
        points = self.points if points is None else points
        if self.axis is None:
            return points
        number = np.repeat(np.arange(self.components, dtype=float), len(points))
        return np.column_stack([np.tile(points, (self.components, 1)), number])

    def seen(self, points: np.ndarray | None = None, dtype: Any = np.float64) -> np.ndarray:
        """The places of points, by default the training points, as the trunk sees them."""
        places = self.places(points)
        return (places if self.box is None else self.box(places)).astype(dtype, copy=False)

    def checked(self, points: Any) -> np.ndarray:
        """Points of the user, (M, d) with the dimension seen in fit."""
        return coordinates(points, dimension=self.points.shape[1])

    def lifted(self, X: Any, n: int, points: np.ndarray | None = None) -> np.ndarray:
        """The lift of n inputs as the user gave them, (n or 1, M)."""
        return lift_at(self.lift, X, self.points if points is None else points, n)

    def scattered_rows(self, data: Scattered) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Scattered values as (K,) of function index (K,) at places (K, d'), sorted by function."""
        assert data.values is not None
        parts = data.values.reshape(len(data), -1)
        parts = parts if self.sizes is None else parts / self.sizes
        index, places = np.tile(data.index, max(1, self.components)), self.places(data.points)
        order = np.argsort(index, kind="stable")
        return index[order], places[order], parts.T.ravel()[order].astype(float)


def find_outputs(
    y: np.ndarray, points: np.ndarray, names: tuple[str, ...] | None, dtype: Any, lift: Any = None
) -> OutputForm:
    """The form of outputs y (N, ...) at points (M, d); with names, the last axis holds their components."""
    shape, last, M = y.shape[1:], y.ndim - 2, len(points)
    if names is None and prod(shape) == M:
        return OutputForm(shape, points, lift=lift, dtype=dtype)
    for axis in (last, 0) if names is None else (last,):
        if len(shape) > 1 and prod(shape) // shape[axis] == M:
            parts = np.moveaxis(y, axis + 1, 1).reshape(len(y), shape[axis], -1)
            _refuse_lift(lift)
            return OutputForm(shape, points, axis, root_mean_squares(parts), names, dtype=dtype)
    raise InputError(
        f"y {y.shape} does not fit {M} points: it must be (N, {M}), or (N, {M}, c) for c components, or a "
        "grid of as many points as there are rows in points."
    )


def find_scattered(data: Scattered, X: Any, dtype: Any, lift: Any = None) -> tuple[OutputForm, Scattered]:
    """The form of outputs at scattered points, and these without the lift."""
    values = data.values
    assert values is not None
    if lift is not None:
        if values.ndim == 2:
            _refuse_lift(lift)
        values = values - lift_at_own_points(lift, X, data)
    corners = np.stack([data.points.min(axis=0), data.points.max(axis=0)])
    form = OutputForm((0,), corners, scattered=True, lift=lift, dtype=dtype)
    if values.ndim == 2:
        form = replace(form, shape=(0, values.shape[1]), axis=1, sizes=root_mean_squares(values.T[None]))
    return form, Scattered(data.index, data.points, values)


def root_mean_squares(parts: np.ndarray) -> np.ndarray:
    """The size of each component (c,) of values (N, c, M), some of them perhaps NaN; 1 if all are zero."""
    largest = np.nanmax(np.abs(parts), axis=(0, 2)).astype(np.float64)
    zero = largest == 0
    largest[zero] = 1
    means = np.nanmean((parts / largest[:, None]) ** 2, axis=(0, 2))
    return np.where(zero, 1.0, largest * np.sqrt(means))


def _refuse_lift(lift: Any) -> None:
    if lift is not None:
        raise InputError("lift is for outputs without components: fit one model for each.")


def named_components(y: Any) -> tuple[tuple[str, ...] | None, Any]:
    """The names of components that came as a dictionary, and the outputs with these as last axis."""
    if not isinstance(y, dict):
        return None, y
    try:
        parts = [np.asarray(plain(part)) for part in y.values()]
    except ValueError:
        raise InputError(
            "the components of y have rows of different lengths. If functions are known at points of their "
            "own, give one Scattered with values (K, c)."
        ) from None
    if not parts or len({part.shape for part in parts}) > 1 or parts[0].ndim < 2:
        shapes = {name: np.shape(part) for name, part in y.items()}
        raise InputError(f"the components of y must all have the same shape (N, M), got {shapes}.")
    return tuple(str(name) for name in y), np.stack(parts, axis=-1)


def r2_of(predicted: Any, y: Any, sample_weight: Any = None) -> float:
    """R^2 over all functions and points together."""
    predicted = np.asarray(named_components(predicted)[1])
    y = outputs(named_components(y)[1], len(predicted))
    if predicted.shape != y.shape:
        raise InputError(
            f"y must have the shape of the predictions, {predicted.shape}, got {y.shape}. To compare at "
            "other points, use relative_l2(model.predict(X, points=points), y)."
        )
    predicted, y = (A.reshape(len(A), -1) for A in (predicted, y))
    return float(r2_score(y, predicted, sample_weight=sample_weight, multioutput="variance_weighted"))


def relative_error(predicted: Any, truth: Any) -> float | None:
    """The mean relative error of predictions of functions with known outputs, None if these are others."""
    errors = errors_of_functions(predicted, truth)
    return None if errors is None or np.isnan(errors).all() else float(np.nanmean(errors))


def errors_of_functions(predicted: Any, truth: Any) -> Any:
    """The relative error of each function (N,): NaN if it is not known; None if the outputs are others.

    Of named components, each has its relative error, and a function has their mean.
    """
    if isinstance(truth, dict):
        if not isinstance(predicted, dict) or set(predicted) != set(truth):
            return None
        parts = [errors_of_functions(predicted[name], truth[name]) for name in truth]
        return None if any(part is None for part in parts) else _mean_of_known(np.stack(parts))
    predicted = np.stack(list(predicted.values()), axis=-1) if isinstance(predicted, dict) else predicted
    known: Any = truth.values if isinstance(truth, Scattered) else np.asarray(truth, dtype=float)
    if predicted.size != known.size:
        return None
    rows = (len(known), -1)
    known, missed = known.reshape(rows), (predicted.reshape(known.shape) - known).reshape(rows)
    there = np.isfinite(known)
    known, missed = np.where(there, known, 0), np.where(there, missed, 0)
    if isinstance(truth, Scattered):
        count, *squares = (np.bincount(truth.index, A.sum(axis=1)) for A in (there, missed**2, known**2))
        norms = [np.sqrt(A) for A in squares]
    else:
        count, norms = there.sum(axis=1), [function_norms(A) for A in (missed, known)]
    errors = np.full(len(count), np.nan)
    seen = count > 0
    errors[seen] = norms[0][seen] / reference_norms(norms[1][seen])
    return errors


def _mean_of_known(parts: Any) -> Any:
    """The mean over the first axis of what is not NaN; NaN where there is nothing."""
    count = np.isfinite(parts).sum(axis=0)
    return np.where(count > 0, np.nansum(parts, axis=0) / np.maximum(count, 1), np.nan)


def checked_outputs(y: Any, form: OutputForm, n: int | None = None) -> np.ndarray:
    """Outputs (N, *shape) at the training points of a model."""
    y = named_components(y)[1]
    y = outputs(y, len(y) if n is None else n)
    if y.shape[1:] != form.shape:
        raise InputError(
            f"outputs must be known at the training points, as (N, {', '.join(map(str, form.shape))}); got "
            f"{y.shape}."
        )
    return y
