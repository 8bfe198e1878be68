"""Forms of output functions: at common points or scattered, with components, logarithms and a lift."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from math import prod
from typing import Any, ClassVar

import numpy as np
from scipy.spatial import cKDTree

from elmonet.checks import coordinates, outputs
from elmonet.data.scattered import Scattered
from elmonet.description import Graph, Port
from elmonet.errors import ExtrapolationWarning, InputError, warn
from elmonet.forms.components import by_name
from elmonet.forms.inputs import rows_of
from elmonet.forms.transforms import Affine, LogOutputs, extreme_exponents, log_outputs, unit_box
from elmonet.interpolation import interpolate
from elmonet.metrics import function_norms, output_sizes
from elmonet.summary import plural

_FAR = 3.0  # standard deviations between zero and the values of a component that is centred
_BEYOND = 0.1  # of the size of the domain, by which points may lie outside of it without a warning
_SOME = 32  # functions that may show at once that no component is far from zero
_CONSTANT = 1e-13  # deviation relative to the mean, below which it is rounding


@dataclass(frozen=True)
class OutputForm:
    """The form of outputs known at common points, and how the solvers see them: as rows (N, c M).

    A row holds all points of the first component, then those of the second, each divided by its root mean
    square, so that components in different units count alike. `ScatteredForm` is the form of outputs
    known at different points for every function.

    Attributes
    ----------
    shape : shape of one output as the user gives it; named components are its last axis.
    points : (M, d), the training points; for scattered outputs the corners (2, d) of their bounding box.
    axis : axis of `shape` that counts components; None for scalar functions.
    sizes : (c,), root mean squares of the components.
    names : names of the components, if they come as a dictionary.
    lift : known values that are added to the operator's values.
    logs : logarithm transform of the outputs; None if the operator learns the outputs themselves.
    box : bounding box of the points, which the trunk sees as the unit cube; None for no scaling.
    centre : mean and standard deviation of components far from zero, at every place (c M,): the operator
        learns their variation, ``(rows - shift) / scale``. None if there are none.
    exponent : power of two that is the unit of rows without components, if values are extreme.
    dtype : dtype of predictions.
    everywhere : (M', d), all points as given, if some of them have no value in any function: the hole of a
        domain, land in an ocean. `points` are those with values; predictions are NaN at the others.
    kept : (M',), which of these have values.
    volumes : (M,), what each point stands for if the points are those of a mesh: errors are norms of fields,
        however fine the mesh is in places. None: all points count alike.
    """

    shape: tuple[int, ...]
    points: np.ndarray
    axis: int | None = None
    sizes: np.ndarray | None = None
    names: tuple[str, ...] | None = None
    lift: Any = None
    logs: LogOutputs | None = None
    box: Affine | None = None
    dtype: Any = np.float64
    centre: Affine | None = None
    exponent: int = 0
    everywhere: np.ndarray | None = None
    kept: np.ndarray | None = None
    volumes: np.ndarray | None = None
    scattered: ClassVar[bool] = False

    @property
    def components(self) -> int:
        """Number of components; 0 for scalar functions."""
        return 0 if self.axis is None else self.shape[self.axis]

    @property
    def component_names(self) -> tuple[str, ...]:
        """Names of the components, as given or by their number."""
        return self.names or tuple(f"component {k}" for k in range(self.components))

    def describe(self) -> str:
        """Return where the outputs are known, in words."""
        c, M = self.components, len(self.points)
        hole = "" if self.everywhere is None else f" of {len(self.everywhere)}; the others never have a value"
        where = f"{plural(c, 'component')} at {plural(M, 'point')}" if c else f"at {plural(M, 'point')}"
        mesh = "" if self.volumes is None else " of a mesh; errors are weighted by the volume of its cells"
        return where + hole + mesh

    @property
    def given_points(self) -> np.ndarray:
        """All points as given (M', d), those without values too."""
        return self.points if self.everywhere is None else self.everywhere

    @property
    def holes(self) -> np.ndarray | None:
        """Which of the points as given (M',) have no value in any function; None if there are none."""
        return None if self.kept is None else ~self.kept

    @property
    def given_volumes(self) -> np.ndarray | None:
        """What all points as given (M',) stand for, those without values nothing; None without a mesh."""
        if self.volumes is None or self.kept is None:
            return self.volumes
        volumes = np.zeros(len(self.kept))
        volumes[self.kept] = self.volumes
        return volumes

    def without(self, holes: np.ndarray) -> OutputForm:
        """Return the form of outputs that have no value at some of its points (M',)."""
        volumes = None if self.volumes is None else self.volumes[~holes]
        own = replace(self, points=self.points[~holes], everywhere=self.points, kept=~holes)
        return own.on_mesh(volumes)

    def on_mesh(self, volumes: np.ndarray | None) -> OutputForm:
        """Return the form of outputs whose points stand for these volumes (M,); of none, if all are zero."""
        known = volumes is not None and len(volumes) == len(self.points) and volumes.any()
        return replace(self, volumes=volumes if known else None)

    # Between the user's arrays and rows

    def checked(self, y: Any, n: int | None = None) -> np.ndarray:
        """Return outputs (N, *shape) at the training points; components that come as a dictionary by name.

        `n` is the expected number of functions, if it is known.
        """
        y = by_name(y, self.names)
        y = outputs(y, len(y) if n is None else n, gaps=self.kept is not None)
        if y.shape[1:] != self.shape:
            raise InputError(
                f"outputs must be known at the training points, as (N, {', '.join(map(str, self.shape))}); "
                f"got {y.shape}."
            )
        if self.kept is not None and np.isnan(self.rows(y)).any():
            raise InputError("outputs hold NaN at points that have values in the training functions.")
        return y

    def rows(self, y: np.ndarray) -> np.ndarray:
        """Return outputs (N, *shape) as rows."""
        if self.axis is None or self.sizes is None:
            y = np.ldexp(y, -self.exponent) if self.exponent else y
            y = y.reshape(len(y), -1)
            return y if self.kept is None else y[:, self.kept]
        parts = np.moveaxis(y, self.axis + 1, 1).reshape(len(y), self.components, -1)
        parts = parts if self.kept is None else parts[:, :, self.kept]
        return (parts / self.sizes[:, None].astype(y.dtype)).reshape(len(y), -1)

    def unpacked(self, rows: np.ndarray, grid: tuple[int, ...] | None = None) -> Any:
        """Return rows in the user's shapes: at the training points, or at others of the shape `grid`."""
        own = tuple(n for i, n in enumerate(self.shape) if i != self.axis)
        places = own if grid is None else grid
        rows = rows.astype(self.dtype, copy=False)
        if grid is None and self.kept is not None:
            c = max(1, self.components)
            full = np.full((len(rows), c, len(self.kept)), np.nan, rows.dtype)
            full[:, :, self.kept] = rows.reshape(len(rows), c, -1)
            rows = full.reshape(len(rows), -1)
        if self.axis is None or self.sizes is None:
            rows = np.ldexp(rows, self.exponent) if self.exponent else rows
            return rows.reshape(len(rows), *places)
        parts = rows.reshape(len(rows), self.components, *places)
        parts = parts * self.sizes.astype(rows.dtype).reshape(-1, *[1] * len(places))
        if self.names is not None:
            return {name: parts[:, i] for i, name in enumerate(self.names)}
        return np.moveaxis(parts, 1, -1 if self.axis == len(self.shape) - 1 else 1)

    def subset(self, y: Any, functions: np.ndarray) -> Any:
        """Return the training outputs of some functions, by their indices."""
        return y[functions]

    def has_gaps(self, y: Any) -> bool:
        """Return whether values are missing at common points."""
        return bool(np.isnan(y).any())

    # Between rows and what the operator learns

    def prepared(
        self, rows: Any, weights: np.ndarray | None = None, *, logarithms: bool, scale: bool
    ) -> OutputForm:
        """Return this form with logarithms and scaling fitted to training rows, counted by `weights` (N,)."""
        if logarithms and self.components:
            raise InputError("log_outputs is for outputs without components: fit one model for each.")
        if logarithms and np.isnan(rows).any():
            raise InputError("log_outputs needs outputs without gaps; give the logarithms of the values.")
        box = unit_box(self.places()) if scale else None
        if logarithms:
            return replace(self, box=box, logs=log_outputs(rows, weights), centre=None)
        # A lift, or a trunk that vanishes at given points, has said already where zero is.
        centre = _offsets(rows, weights, max(1, self.components)) if scale and self.lift is None else None
        return replace(self, box=box, logs=None, centre=centre)

    def target(self, rows: np.ndarray) -> np.ndarray:
        """Return what the operator learns from training rows: the rows, their variation or logarithms."""
        if self.logs is not None:
            return self.logs(rows, self.points)
        return rows if self.centre is None else self.centre(rows.astype(np.float64, copy=False))

    def values(self, z: np.ndarray, points: np.ndarray | None = None) -> np.ndarray:
        """Invert `target`, at the training points or at others (M, d)."""
        if self.logs is None:
            if self.centre is None:
                return z
            shift, scale = self.centre.shift.astype(z.dtype), self.centre.scale.astype(z.dtype)
            return z * self._everywhere(scale, points) + self._everywhere(shift, points)
        centre = self.logs.centre
        if points is not None:  # the geometric mean of the training outputs there; it is not negative
            centre = np.maximum(interpolate(self.points, centre[:, None], points)[:, 0], 0)
        return self.logs.inverse(z, centre)

    def unit(self, z: np.ndarray, points: np.ndarray | None = None) -> np.ndarray | float:
        """Return the factor from small errors of operator values z to errors of rows."""
        if self.logs is not None:  # the error of a logarithm is a relative one
            return self.values(z, points)
        return 1.0 if self.centre is None else self._everywhere(self.centre.scale, points)

    def _everywhere(self, each: np.ndarray, points: np.ndarray | None) -> np.ndarray:
        """Return numbers of the components, at the training places (c M,), at those of other points."""
        if points is None:
            return each
        return np.repeat(each[:: len(self.points)], len(points))

    # As array operations, for derivatives and exports

    def trace(self, graph: Graph, z: int, points: np.ndarray | None) -> int:
        """Write `values`, the lift and `unpacked`: from what the operator gives to flat outputs."""
        if points is None and self.kept is not None:
            raise InputError(
                f"{int((~self.kept).sum())} of {len(self.kept)} points have no value in any training "
                "function: derivatives and exports need the points that you want, as points=."
            )
        z = self.trace_values(graph, z, points)
        if self.lift is not None:
            if _takes_inputs(self.lift):
                raise InputError(
                    "a lift that depends on the inputs is a function of your own: a model with it has no "
                    "derivatives by the inputs and cannot be exported. Use a lift of the points alone."
                )
            z = graph.scale(z, 1.0, after=self.lifted(None, 1, points)[0])
        return self.trace_unpacked(graph, z)

    def trace_values(self, graph: Graph, z: int, points: np.ndarray | None) -> int:
        """Write `values`: from what the operator gives to rows."""
        M = len(self.points if points is None else points)
        if self.logs is not None:
            at_zero = np.exp(np.clip(0.0, self.logs.low, self.logs.high))
            centre = self.values(np.zeros((1, M)), points)[0] / at_zero
            z = graph.elementwise(graph.clip(z, self.logs.low, self.logs.high), "exp")
            z = graph.scale(z, centre)
        elif self.centre is not None:
            parts = (self._everywhere(part, points) for part in (self.centre.scale, self.centre.shift))
            z = graph.scale(z, next(parts), after=next(parts))
        return z

    def trace_unpacked(self, graph: Graph, z: int) -> int:
        """Write `unpacked`: from rows to outputs in the user's units, flat in the user's order."""
        if self.axis is None or self.sizes is None:
            return graph.scale(z, np.ldexp(1.0, self.exponent))
        M = graph.sizes[z] // self.components
        z = graph.scale(z, np.repeat(self.sizes, M))
        if self.names is None and self.axis == len(self.shape) - 1:
            z = graph.gather(z, np.arange(graph.sizes[z]).reshape(self.components, M).T)
        return z

    def ports(self, grid: tuple[int, ...] | None = None) -> tuple[Port, ...]:
        """Return names and shapes of outputs at the training points, or at others of the shape `grid`."""
        places = tuple(n for i, n in enumerate(self.shape) if i != self.axis) if grid is None else grid
        if self.names is not None:
            return tuple(Port(name, places) for name in self.names)
        if self.axis is None:
            return (Port("s", places),)
        last = self.axis == len(self.shape) - 1
        return (Port("s", (*places, self.components) if last else (self.components, *places)),)

    # Errors, in the user's units: all components together, weighted by volumes, as in `relative_l2`

    def reference(self, rows: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray | None:
        """Return the sizes (N,) that errors of operator values are relative to in a solve; None: their own.

        A small error e of a logarithm is a relative error e of the output, whatever the logarithm is: so it
        counts as it is. So does that of a variation, in units of its standard deviation, if there are
        components: each counts alike, whatever its units. Otherwise it is relative to the output itself.
        """
        if self.logs is not None or (self.centre is not None and self.components):
            return np.full(len(rows), np.sqrt(rows.shape[1]))
        if self.centre is not None:
            return output_sizes(rows, weights) / self.centre.scale[0]
        return output_sizes(rows, weights) if rows.shape[1] == 1 else None

    @property
    def weighs(self) -> bool:
        """Whether places count differently in errors: components by their sizes, points by volumes."""
        return bool(self.components) or self.volumes is not None

    @property
    def _roots(self) -> np.ndarray | None:
        """Square roots (M,) of the volumes, in units of their mean; None if points count alike."""
        return None if self.volumes is None else np.sqrt(self.volumes / self.volumes.mean())

    def in_units(self, rows: np.ndarray) -> np.ndarray:
        """Return rows (N, c M) in the user's units, times the square roots of volumes: its norm counts."""
        rows = rows if self.sizes is None else rows * np.repeat(self.sizes, rows.shape[1] // len(self.sizes))
        return rows if self._roots is None else rows * np.tile(self._roots, max(1, self.components))

    def errors(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the relative error (N,) of operator values z (N, c M) for functions with rows y."""
        return function_norms(self.in_units(self.values(z) - y)) / output_sizes(self.in_units(y))

    def component_errors(
        self, z: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None
    ) -> np.ndarray | None:
        """Return the mean relative error of each component (c,) by itself; None without components."""
        if not self.components:
            return None
        root = 1.0 if self._roots is None else self._roots
        both = (A.reshape(len(A), self.components, -1) * root for A in (self.values(z) - y, y))
        pairs = zip(*(np.moveaxis(A, 1, 0) for A in both), strict=True)
        return np.array(
            [
                np.average(function_norms(e) / output_sizes(true, weights), weights=weights)
                for e, true in pairs
            ]
        )

    # Points

    def places(self, points: np.ndarray | None = None) -> np.ndarray:
        """Return points (M, d) as places: for components (c M, d + 1), with the component's number last."""
        points = self.points if points is None else points
        if self.axis is None:
            return points
        number = np.repeat(np.arange(self.components, dtype=float), len(points))
        return np.column_stack([np.tile(points, (self.components, 1)), number])

    def seen(self, points: np.ndarray | None = None, dtype: Any = np.float64) -> np.ndarray:
        """Return the places of points, by default the training points, as the trunk sees them."""
        return self.scaled(self.places(points)).astype(dtype, copy=False)

    def scaled(self, places: np.ndarray) -> np.ndarray:
        """Return places in the trunk's coordinates."""
        return places if self.box is None else self.box(places)

    def checked_points(self, points: Any) -> np.ndarray:
        """Return the user's points (M, d), with the dimension of the training points."""
        return coordinates(points, dimension=self.points.shape[1])

    def warn_of_places(self, points: np.ndarray) -> None:
        """Warn of points in a hole of the training points, or well beyond them (`ExtrapolationWarning`)."""
        low, high = self.points.min(axis=0), self.points.max(axis=0)
        margin = _BEYOND * (high - low)
        beyond = ((points < low - margin) | (points > high + margin)).any(axis=1)
        inside = np.zeros(len(points), bool)
        if self.kept is not None:
            unit = np.where(high > low, high - low, 1.0)
            _, nearest = cKDTree(self.given_points / unit).query(points / unit)
            inside = ~self.kept[nearest] & ~beyond
        for wrong, what in (
            (inside, "in a hole of the domain, where no training function has a value"),
            (beyond, "outside of the domain of the training points"),
        ):
            if wrong.any():
                warn(
                    f"{int(wrong.sum())} of {plural(len(points), 'point')} lie {what}: values there are "
                    "extrapolated. Predict at other points.",
                    ExtrapolationWarning,
                )

    def require_points(self) -> None:
        """Raise `InputError` if predictions need points to be given."""

    def at_points(self, sigma: np.ndarray, points: np.ndarray | None) -> np.ndarray:
        """Return a scale (c M,) of the training places at other points (M', d), clipped to its range."""
        if points is None:
            return sigma
        each = sigma.reshape(max(1, self.components), -1)
        between = interpolate(self.points, each.T, points).T
        return np.clip(between, each.min(axis=1, keepdims=True), each.max(axis=1, keepdims=True)).ravel()

    def lifted(self, X: Any, n: int, points: np.ndarray | None = None) -> np.ndarray:
        """Return the lift of n inputs, as the user gave them: (n or 1, M)."""
        return lift_at(self.lift, X, self.points if points is None else points, n)


@dataclass(frozen=True)
class ScatteredForm(OutputForm):
    """The form of outputs that are known at different points for every function.

    There is no common set of points: `points` holds the corners of the bounding box, predictions need
    points, and training outputs are a `Scattered` instead of rows.
    """

    scattered: ClassVar[bool] = True

    def describe(self) -> str:
        """Return where the outputs are known, in words."""
        return "at scattered points, different for every function"

    def checked(self, y: Any, n: int | None = None) -> np.ndarray:
        """Refuse: there are no common points to check outputs at."""
        raise InputError(
            "this needs outputs at common points, but the model was fitted to outputs at scattered points. "
            "Compare interval(X, points=...) with the outputs at these points."
        )

    def subset(self, y: Scattered, functions: np.ndarray) -> Scattered:
        """Return the training outputs of some functions, by their indices."""
        return y.of_functions(functions)

    def has_gaps(self, y: Any) -> bool:
        """Return False: a value that is not known is not listed."""
        return False

    def prepared(
        self, rows: Any, weights: np.ndarray | None = None, *, logarithms: bool, scale: bool
    ) -> OutputForm:
        """Return this form with scaling fitted to the bounding box."""
        if logarithms:
            raise InputError("log_outputs needs outputs at common points; give the logarithms of the values.")
        return replace(self, box=unit_box(self.places()) if scale else None)

    def require_points(self) -> None:
        """Raise `InputError`: a prediction needs points."""
        raise InputError(
            "this model was fitted to outputs at scattered points: give the points of the prediction, "
            "points=(M, d)."
        )

    def at_points(self, sigma: np.ndarray, points: np.ndarray | None) -> np.ndarray:
        """Return the scale of each component (c,) at every point."""
        return sigma if points is None else np.repeat(sigma, len(points))

    def flattened(self, y: Scattered) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return function indices (K,), places (K, d') and values (K,) of scattered outputs, by function."""
        assert y.values is not None
        parts = y.values.reshape(len(y), -1)
        parts = parts if self.sizes is None else parts / self.sizes
        index, places = np.tile(y.index, max(1, self.components)), self.places(y.points)
        order = np.argsort(index, kind="stable")
        return index[order], places[order], parts.T.ravel()[order].astype(float)


def find_outputs(
    y: np.ndarray,
    points: np.ndarray,
    names: tuple[str, ...] | None,
    dtype: Any,
    lift: Any = None,
    weights: np.ndarray | None = None,
) -> OutputForm:
    """Return the form of outputs y (N, ...) at points (M, d); with names, the last axis holds components.

    `weights` (N,) count the functions.
    """
    shape, last, M = y.shape[1:], y.ndim - 2, len(points)
    if names is None and prod(shape) == M:
        extreme = extreme_exponents(np.where(np.isnan(y), 0, y).reshape(-1, 1)) if lift is None else None
        exponent = 0 if extreme is None else int(extreme[0])
        return OutputForm(shape, points, lift=lift, dtype=dtype, exponent=exponent)
    if names is None and shape == (M, M) and M > 1:
        raise InputError(
            f"y {y.shape} has {M} components at {M} points: either axis may count them. Give a dictionary: "
            '{"a": y[:, :, 0], ...} if the last one does, {"a": y[:, 0], ...} if the first one does.'
        )
    for axis in (last, 0) if names is None else (last,):
        if len(shape) > 1 and prod(shape) // shape[axis] == M:
            parts = np.moveaxis(y, axis + 1, 1).reshape(len(y), shape[axis], -1)
            _refuse_lift(lift)
            return OutputForm(shape, points, axis, root_mean_squares(parts, weights), names, dtype=dtype)
    raise InputError(
        f"y {y.shape} does not fit {M} points: it must be (N, {M}), or (N, {M}, c) for c components, or a "
        "grid of as many points as there are rows in points."
    )


def find_scattered(
    data: Scattered, X: Any, dtype: Any, lift: Any = None, weights: np.ndarray | None = None
) -> tuple[ScatteredForm, Scattered]:
    """Return the form of scattered outputs, and the outputs without the lift; `weights` (N,) count them."""
    values = data.values
    assert values is not None
    if lift is not None:
        if values.ndim == 2:
            _refuse_lift(lift)
        values = values - lift_at_own_points(lift, X, data)
    corners = np.stack([data.points.min(axis=0), data.points.max(axis=0)])
    form = ScatteredForm((0,), corners, lift=lift, dtype=dtype)
    if values.ndim == 2:
        sizes = root_mean_squares(values[:, :, None], None if weights is None else weights[data.index])
        form = replace(form, shape=(0, values.shape[1]), axis=1, sizes=sizes)
    return form, Scattered(data.index.copy(), data.points.copy(), values.copy())


def _offsets(rows: np.ndarray, weights: np.ndarray | None, c: int) -> Affine | None:
    """Return mean and standard deviation (c M,) of c components of rows (N, c M), if one is far from zero.

    Such a component has no value within three standard deviations of zero, as a pressure of 1e5 or a
    temperature in Kelvin. The others stay as they are.
    """
    parts = rows.reshape(len(rows), c, -1)
    if weights is None and _are_near_zero(parts):
        return None
    least, shift, scale = np.nanmin(np.abs(parts), axis=(0, 2)), np.zeros(c), np.ones(c)
    for i in range(c):
        known = ~np.isnan(parts[:, i])
        counts = known if weights is None else known * weights[:, None]
        size = float(np.nanmax(np.abs(parts[:, i]))) or 1.0  # squares of 1e200 have no room
        values = np.where(known, parts[:, i], 0) / size
        mean = np.sum(values * counts) / np.sum(counts)
        deviation = np.sqrt(np.sum(np.where(known, values - mean, 0) ** 2 * counts) / np.sum(counts))
        if least[i] / size > _FAR * deviation > _FAR * _CONSTANT:
            shift[i], scale[i] = mean * size, deviation * size
    if not shift.any():
        return None
    return Affine(*(np.repeat(A, parts.shape[2]) for A in (shift, scale)))


def _are_near_zero(parts: np.ndarray) -> bool:
    """Return whether some functions show that no component of values (N, c, M) is far from zero.

    The sum of squares about the mean is at least that of these functions about theirs.
    """
    some = parts[:: -(-len(parts) // _SOME)]
    largest = np.max(np.abs(some), axis=(0, 2), keepdims=True)
    some = some / np.where(largest > 0, largest, 1)  # squares of 1e200 have no room
    least = np.min(np.abs(some), axis=(0, 2))
    return bool(np.all(least <= _FAR * np.std(some, axis=(0, 2)) * np.sqrt(len(some) / len(parts))))


def root_mean_squares(parts: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Return the size of each component (c,) of values (N, c, M), possibly with NaN; 1 if all are zero."""
    if weights is not None:
        parts = parts[weights > 0]
    largest = np.nanmax(np.abs(parts), axis=(0, 2)).astype(np.float64)
    zero = largest == 0
    largest[zero] = 1
    squares = (parts / largest[:, None]) ** 2
    if weights is None:
        means = np.nanmean(squares, axis=(0, 2))
    else:
        counts = weights[weights > 0][:, None, None] * ~np.isnan(squares)
        means = np.nansum(squares * counts, axis=(0, 2)) / counts.sum(axis=(0, 2))
    return np.where(zero, 1.0, largest * np.sqrt(means))


def _refuse_lift(lift: Any) -> None:
    if lift is not None:
        raise InputError("lift is for outputs without components: fit one model for each.")


# The lift: known values that a model adds to its network's


def lift_at(lift: Any, X: Any, points: np.ndarray, n: int) -> np.ndarray:
    """Return the lift of n inputs X at points (M, d): (n, M), or (1, M) if it does not depend on inputs."""
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
    """Return the lift of each function at its own points, (K,)."""
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
