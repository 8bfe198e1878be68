"""Training data: what came to `fit`, checked once, as rows with their forms."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from elmonet.checks import coordinates, outputs, owned, plain, require_same_grid, weights
from elmonet.data.dataset import OperatorData
from elmonet.data.mesh import Mesh
from elmonet.data.scattered import Scattered
from elmonet.errors import FunctionsInColumnsWarning, InputError, NumericsWarning, warn
from elmonet.forms.axis_labels import require_paired
from elmonet.forms.components import named_components
from elmonet.forms.groups import Groups, find_groups, given_groups
from elmonet.forms.inputs import InputForm, find_inputs, is_array
from elmonet.forms.outputs import OutputForm, find_outputs, find_scattered
from elmonet.interpolation import grid_points

_MIN_SIDE = 8  # rows and columns needed to judge smoothness
_SMOOTH = 0.1  # roughness down the columns, relative to that along the rows, of functions in columns
_SAME_VALUE = 1e-6  # difference of outputs at one place that is none, relative to the largest output
_UNRELATED = 1.0  # roughness of nearly uncorrelated neighbours; 2 if uncorrelated


@dataclass(frozen=True)
class Training:
    """Training functions as rows, and their form on each side.

    Attributes
    ----------
    X : (N, ...), input functions.
    y : (N, c M), output functions without the lift, NaN where a value is missing; or a `Scattered`.
    weights : (N,), square roots of the sample weights; None for equal weights.
    groups : functions that are left out together; None if each is left out by itself.
    rows, total : (N,), the rows of these functions in the data given to `fit`, and how many these are; None
        if they are all.
    """

    X: np.ndarray
    y: Any
    inputs: InputForm
    outputs: OutputForm
    weights: np.ndarray | None = None
    groups: Groups | None = None
    rows: np.ndarray | None = None
    total: int | None = None

    @property
    def counts(self) -> np.ndarray | None:
        """How often each function counts (N,), the sample weights; None for equal weights."""
        return None if self.weights is None else self.weights**2

    @property
    def has_gaps(self) -> bool:
        """Return whether values are missing at common points."""
        return self.outputs.has_gaps(self.y)

    def of(self, rows: np.ndarray) -> Training:
        """Return some of the functions, by their indices."""
        weights = None if self.weights is None else self.weights[rows]
        groups = None if self.groups is None else self.groups.of(rows)
        y, given = self.outputs.subset(self.y, rows), rows if self.rows is None else self.rows[rows]
        total = self.total or len(self.X)
        return replace(self, X=self.X[rows], y=y, weights=weights, groups=groups, rows=given, total=total)


def understand(
    estimator: Any,
    X: Any,
    y: Any,
    points: Any = None,
    *,
    sensors: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    gaps: bool = False,
    lift: Any = None,
) -> Training:
    """Check the arguments of `fit`, find the forms of the data, and return them as rows.

    Each array is checked once. `estimator` names itself in messages. With `gaps`, NaN in y means a missing
    value.
    """
    scattered = _scattered_outputs(y, points)
    names, y = (None, scattered) if scattered is not None else named_components(y)
    require_paired(X, y)
    where, grid = (None, None) if scattered is not None or points is None else place_points(points)
    where = None if where is None else owned(coordinates(where), points)
    inputs, rows = find_inputs(estimator, X, n=_count(y), sensors=sensors, points=where)
    rows = owned(rows, X)  # error bars and records are made later: the caller may change his arrays
    weight = None if sample_weight is None else weights(sample_weight, len(rows))
    own = None if groups is None else given_groups(groups, len(rows))
    if groups is not None and (scattered is not None or gaps):
        raise InputError(
            "groups are for outputs without gaps at common points; here, some functions are held out. "
            "Remove groups, or the functions with gaps."
        )
    if scattered is not None:
        if scattered.n_functions > len(rows):
            raise InputError(
                f"index names function {scattered.n_functions - 1}, but X holds {len(rows)} functions "
                "(counted from 0)."
            )
        assert scattered.values is not None
        own_form, data = find_scattered(scattered, X, np.result_type(rows, scattered.values), lift, weight)
        training = Training(rows, data, inputs, own_form, None if weight is None else np.sqrt(weight))
        return training if weight is None else training.of(np.flatnonzero(weight))
    given, y = y, _with_holes(y, len(rows), gaps=gaps)
    shape = y.shape[1:-1] if names else y.shape[1:]
    require_same_grid("points", grid, "y", shape)
    if where is None and sensors is not None:  # outputs of the inputs' size are known at the sensors
        known_at = coordinates(place_points(sensors)[0])
        where = known_at if len(known_at) == prod(shape) else None
    where = _training_points(where, shape, inputs, y)
    form = find_outputs(y, where, names, np.result_type(rows, y), lift, weight)
    form = form.on_mesh(points.volumes) if isinstance(points, Mesh) else form
    _warn_of_columns(rows, y, points)
    if where is not None and not isinstance(points, Mesh):
        _warn_of_repeated_points(where, form.rows(y))
    if (hole := _holes(form, y)) is not None:
        form = form.without(hole)
        if not gaps and np.isnan(form.rows(y)).any():
            y = outputs(given, len(rows))  # raises
    y = owned(form.rows(y), given)
    if groups is None and not gaps:
        own = find_groups(rows, y, inputs.sizes, inputs.compared)
    if lift is not None:
        y = y - form.lifted(X, len(rows))
    training = Training(rows, y, inputs, form, None if weight is None else np.sqrt(weight), own)
    return training if weight is None else training.of(np.flatnonzero(weight))


def _warn_of_repeated_points(points: np.ndarray, y: np.ndarray) -> None:
    """Warn of points (M, d) given more than once with different values of the same function, y (N, c M)."""
    order = np.lexsort(points.T)
    again = np.flatnonzero((points[order][1:] == points[order][:-1]).all(axis=1))
    if not again.size or len(points) < 2 or y.shape[1] % len(points):
        return
    values = y.reshape(len(y), -1, len(points))
    apart = np.abs(values[..., order[again + 1]] - values[..., order[again]])
    differ = (np.nan_to_num(apart) > _SAME_VALUE * np.nanmax(np.abs(values))).any(axis=(0, 1))
    if differ.any():
        a, b = sorted(order[again[np.argmax(differ)] + np.arange(2)].tolist())
        warn(
            f"points {a} and {b} are the same place, and outputs have different values there"
            f"{'' if differ.sum() == 1 else f' (as at {differ.sum()} places in all)'}: a function has one "
            "value at a point. Check the points; several quantities at one place are components: "
            "y={'a': ..., 'b': ...}.",
            NumericsWarning,
        )


def _with_holes(y: Any, n: int, *, gaps: bool) -> np.ndarray:
    """Check outputs; some points may have no value in any function."""
    values = outputs(y, n, gaps=True)
    missing = np.isnan(values)
    if values.size and missing.all():
        raise InputError("y holds no value: all are NaN. Check how the outputs were read or masked.")
    if not gaps and missing.any():
        hole = missing.all(axis=0)
        if hole.all() or not hole.any():
            outputs(y, n)  # raises
    return values


def _holes(form: OutputForm, y: np.ndarray) -> np.ndarray | None:
    """Return which points (M,) have no value in any function and component; None if there are none."""
    if not np.isnan(y).any():
        return None
    hole = np.isnan(form.rows(y)).reshape(len(y), max(1, form.components), -1).all(axis=(0, 1))
    return hole if hole.any() and not hole.all() else None


def unpacked_data(X: Any, y: Any, points: Any, sensors: Any) -> tuple[Any, Any, Any, Any]:
    """Return the training functions, points and sensors of an `OperatorData` that came as X."""
    if not isinstance(X, OperatorData):
        return X, y, points, sensors
    if any(given is not None for given in (y, points, sensors)):
        raise InputError("an OperatorData holds outputs, points and sensors: give nothing else but options.")
    on_mesh = X.mesh is not None and not isinstance(X.s_train, (list, Scattered))
    return X.u_train, X.s_train, X.mesh if on_mesh else X.points, X.sensors


def points_once(own: Any, points: Any, estimator: str) -> Any:
    """Return the points of an estimator or those given to `fit`; raise if both are given."""
    if points is not None and own is not None:
        raise InputError(f"points were given twice, in {estimator}(points=...) and in fit: give them once.")
    return own if points is None else points


def place_points(points: Any) -> tuple[Any, tuple[int, ...] | None]:
    """Return points (M, d), also those of a mesh; the shape (H, W) of the grid if they came as (H, W, d)."""
    points = points.points if isinstance(points, Mesh) else plain(points)
    if np.ndim(points) <= 2:
        return points, None
    points = np.asarray(points)
    return points.reshape(-1, points.shape[-1]), points.shape[:-1]


def is_list_of_points(points: Any, n: int | None = None, d: int | None = None) -> bool:
    """Return whether there is an array of points for each function: (M_i, d), or (M_i,) of different lengths.

    For n functions of d = 1 variable, arrays (M_i,) of the same length are such points too.
    """
    if not isinstance(points, (list, tuple)) or not all(hasattr(own, "shape") for own in points):
        return False
    if all(np.ndim(own) == 2 for own in points) or len({np.shape(own) for own in points}) > 1:
        return True
    return d == 1 and len(points) == n and all(np.shape(own) != (1,) for own in points)


def _training_points(
    points: np.ndarray | None, shape: tuple[int, ...], inputs: InputForm, y: np.ndarray
) -> np.ndarray:
    """Return the points (M, d) of outputs of a shape: as given, or inferred from the inputs if safe."""
    if points is not None:
        # Of more axes than one, some may count components.
        M = sum(shape) or 1
        if len(shape) <= 1 and len(points) != M:
            columns = (
                " There are as many points as rows of y: if its functions are columns (as in MATLAB), give "
                "X.T and y.T."
                if len(points) == len(y)
                else ""
            )
            raise InputError(
                f"points must have one row for each of the M = {M} columns of y; got {len(points)} rows."
                f"{columns} (A grid search or cross-validation that splits points because there are as many "
                "of them as functions needs them set on the model: ELMDeepONet(points=...).)"
            )
        return points
    if shape in ((), (1,)):
        return np.zeros((1, 1))
    if shape not in (inputs.given, inputs.given[1:]):
        raise InputError(
            f"points is missing: y has functions of shape {shape} and X has functions of shape "
            f"{inputs.given}, so the points of the outputs cannot be guessed. Give fit points of shape "
            f"({', '.join(map(str, shape))}, d)."
        )
    return grid_points([np.linspace(0, 1, n) for n in shape])


def _scattered_outputs(y: Any, points: Any) -> Scattered | None:
    """Return the outputs as `Scattered` if every function is known at its own points, else None."""
    if isinstance(y, Scattered):
        if points is not None:
            raise InputError("a Scattered holds its own points: do not give points too.")
        if y.values is None:
            raise InputError("this Scattered holds points but no values.")
        return y
    if is_array(y) and is_array(points) and points.ndim == 3 and points.shape[:2] == y.shape[:2]:
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
    own = matching and (ragged or all(is_array(p) for p in points))
    return Scattered.of(y, points) if own or is_list_of_points(points) else None


def _count(y: Any) -> int | None:
    """Return the number of functions in y, if it is known."""
    if isinstance(y, Scattered) or not hasattr(y, "__len__") or getattr(y, "ndim", 1) == 0:
        return None
    return len(y)


def _warn_of_columns(X: np.ndarray, y: np.ndarray, points: Any) -> None:
    """Warn if inputs X (N, m) and outputs y (N, M) vary smoothly down the columns, and wildly along the rows.

    Only where the lengths leave it open: without points, or with as many points as functions.
    """
    if isinstance(points, Mesh) or X.ndim != 2 or y.ndim != 2:
        return
    if points is not None and len(y) != y.shape[1]:
        return
    if min(*X.shape, *y.shape) < _MIN_SIDE or np.isnan(y).any():
        return
    for A in (X, y):
        down, along = _roughness(A, 0), _roughness(A, 1)
        if along < _UNRELATED or down > _SMOOTH * along:
            return
    warnings.warn(
        f"X {X.shape} and y {y.shape} vary smoothly down their columns and not along their rows: do they "
        "hold one function per column, as in MATLAB? Then call fit(X.T, y.T, ...): here a row is a function.",
        FunctionsInColumnsWarning,
        stacklevel=5,
    )


def _roughness(A: np.ndarray, axis: int) -> float:
    """The mean squared step along an axis, of the variance: 0 if smooth, 2 if neighbours are unrelated."""
    with np.errstate(over="ignore"):
        steps, variance = np.mean(np.diff(A, axis=axis) ** 2), np.var(A)
    return float(steps / variance) if 0 < variance < np.inf else 0.0
