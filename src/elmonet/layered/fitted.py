"""A fitted chain of layers with the form of its data, on any resolution of its grid."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial import cKDTree
from sklearn.base import clone

from elmonet.checks import coordinates
from elmonet.data.scattered import Scattered
from elmonet.description import Description, Graph, Operation
from elmonet.errors import InputError, LargeErrorWarning
from elmonet.fitting.fitted import FittedModel
from elmonet.forms.inputs import count_of
from elmonet.forms.training import Training, is_list_of_points, place_points
from elmonet.interpolation import interpolate
from elmonet.layered.bands import ChainErrorBars, HeldOutFields, WindowNovelty
from elmonet.layered.chain import Chain
from elmonet.layered.fields import FieldForm
from elmonet.layered.grid import Grid, Symmetry
from elmonet.layered.settings import TracedFields
from elmonet.layered.windows import resampled
from elmonet.summary import Fact, Summary, percent
from elmonet.uncertainty.bands import ErrorBars
from elmonet.uncertainty.calibration import Validation
from elmonet.uncertainty.novelty import TrainingRecord

_SAME_POINT = 1e-9  # distance of two points that are the same, relative to the extent of the grid


@dataclass(frozen=True)
class ChainQuery:
    """Functions and points of a prediction by a chain.

    X : the functions, checked, as the user gives them.
    grid, order : the grid where they are known, and the order that sorts its points.
    shape : shape in which outputs come back; None as in training.
    between : (M, d), other points, to which outputs on the grid are interpolated; or (M,), indices of points
        of the grid, in their own order.
    """

    X: Any
    grid: Grid
    order: np.ndarray
    shape: tuple[int, ...] | None = None
    between: np.ndarray | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedChain(FittedModel):
    """A fitted chain of layers.

    Attributes
    ----------
    form : the form of inputs and outputs as fields on one grid.
    first : the fitted `ELMDeepONet` that the chain starts from, or None.
    chain : the layers.
    first_error : error of the first model on the functions held out of all layers, or None.
    held_out_error : error of the chain on these functions.
    symmetries : symmetries found in the training data.
    windows : novelty of what the layers see.
    held_out : the functions held out of all layers; None in a file.
    global_model : a fitted `ELMDeepONet`, whether the chain starts from it or not; None in a file.
    """

    form: FieldForm
    first: Any
    chain: Chain
    first_error: float | None
    held_out_error: float
    symmetries: tuple[Symmetry, ...]
    windows: WindowNovelty
    held_out: HeldOutFields | None = None
    global_model: Any = None
    method: type[ErrorBars] = ChainErrorBars

    def query(self, estimator: Any, X: Any, points: Any = None, sensors: Any = None) -> ChainQuery:
        """Check functions and points.

        Inputs are known at the sensors, if given; otherwise on the training grid, if they have as many values
        as there; otherwise at the points of the prediction.
        """
        form, known_at = self.form, self.form.points_of(X)
        d = form.outputs.points.shape[1]
        where, shape = (None, None) if points is None else _common_points(points, d)
        own = None if sensors is None else _common_points(sensors, d)[0]
        if own is None and known_at == len(form.order):
            X, grid, order = form.inputs.as_given(form.inputs.rows(estimator, X)), form.grid, form.order
            if where is None:
                return ChainQuery(X, grid, order)
            return ChainQuery(X, grid, order, shape, _selected(form.outputs.points, where))
        if own is None:
            if where is None:
                raise InputError(
                    f"X is known at {known_at} points, the training inputs at {len(form.order)}. For inputs "
                    "on another grid of the same domain, give predict its points, or sensors."
                )
            if known_at != len(where):
                raise InputError(
                    f"X is known at {known_at} points; it must be known at the {len(where)} points of the "
                    f"prediction or at the {len(form.order)} of the training, or sensors must say where."
                )
            own = where
        if known_at != len(own):
            raise InputError(f"X is known at {known_at} points, but there are {len(own)} sensors.")
        X = np.asarray(X) if hasattr(X, "columns") else X  # a DataFrame
        grid, order = form.grid.of_same_domain(own)
        if where is None:
            where, shape = form.outputs.points, None
        return ChainQuery(X, grid, order, shape, _selected(own, where))

    def values(self, query: ChainQuery) -> np.ndarray:
        """Return outputs (n, c, *shape) as layers see them."""
        return self.states_and_update(query)[0]

    def states_and_update(self, query: ChainQuery) -> tuple[np.ndarray, np.ndarray]:
        """Return outputs as layers see them, and the update of the last layer."""
        form, grid, start = self.form, query.grid, None
        channels = form.channels(query.X, grid, query.order)
        # A kernel is a map of the training domain: a grid that ends elsewhere is cut there, or continued.
        grid = grid.within(form.grid) if self.chain.sees_far else grid
        if grid != query.grid:
            channels = resampled(channels, query.grid, grid)
        if self.first is not None:
            same = query.grid == form.grid
            X = query.X if same else form.at_training_grid(query.X, query.grid, query.order)
            rows = self.first._fitted().at_training_points(form.inputs.trusted_rows(X))
            start = form.states(rows)
            start = start if grid == form.grid else resampled(start, form.grid, grid, odd=True)
        fast = form.outputs.dtype == np.float32  # single precision in gives single precision out
        found = self.chain.with_last_update(channels, start, grid, fast=fast)
        if grid == query.grid:
            return found
        states, update = (resampled(fields, grid, query.grid, odd=True) for fields in found)
        return states, update

    def described(self, points: Any = None, steps: int | None = None) -> Description:
        """Return the chain on its training grid as a list of array operations."""
        form, grid, outputs = self.form, self.form.grid, self.outputs
        where, shape = (None, None) if points is None else _common_points(points, outputs.points.shape[1])
        ports = form.inputs.ports()
        graph = Graph(sum(port.size for port in ports))
        fields = TracedFields(form.trace_channels(graph, 0), [], [])
        for channel in () if self.chain.source is None else self.chain.source:
            fields.u.append(graph.constant(channel.ravel()))
        if self.first is not None:
            first = self.first._fitted()
            seen = first.inputs.trace_seen(graph, form.inputs.trace_rows(graph, 0))
            rows = first.outputs.trace_values(graph, first.operator.trace(graph, seen), None)
            fields = fields._replace(s=form.trace_states(graph, rows))
        for layer in self.chain.layers:
            update = layer.trace(graph, fields, grid)
            if fields.s:
                history = layer.features.settings.history * len(update)
                s = [graph.sum(pair) for pair in zip(fields.s, update, strict=True)]
                fields = TracedFields(fields.u, s, [*update, *fields.updates][:history])
            else:
                fields = fields._replace(s=update)
        M, c = grid.size, len(fields.s)
        index = grid.with_repeats(np.arange(M).reshape(grid.shape)).ravel()[np.argsort(form.order)]
        between = None if where is None else _selected(outputs.points, where)
        if between is not None and between.ndim == 1:
            index = index[between]
        z = graph.gather(graph.concat(fields.s), index + M * np.arange(c)[:, None])
        if between is not None and between.ndim == 2:
            z = graph.affine(z, interpolate(outputs.points, np.eye(len(index)), between), rows=c)
        operations = graph.finished(outputs.trace_unpacked(graph, graph.scale(z, form.size)))
        at = outputs.points if where is None else where
        return Description(operations, ports, outputs.ports(shape), at, self.facts_to_export())

    def described_novelty(self, steps: int | None = None) -> tuple[Operation, ...]:
        """Return operations from the inputs to the novelty of the most unusual window."""
        graph = Graph(sum(port.size for port in self.form.inputs.ports()))
        return graph.finished(self.windows.trace(graph, self.form.trace_channels(graph, 0)))

    def flat_inputs(self, estimator: Any, X: Any) -> np.ndarray:
        """Check inputs on the training grid; return them packed and flat."""
        known_at = self.form.points_of(X)
        if known_at != len(self.form.order):
            raise InputError(
                f"derivatives by the inputs are for inputs on the training grid of {len(self.form.order)} "
                f"points; X is known at {known_at}."
            )
        return super().flat_inputs(estimator, X)

    def finish(self, z: np.ndarray, query: ChainQuery) -> Any:
        """Return what layers give on a grid as outputs in the user's shapes."""
        form = self.form
        fields = query.grid.with_repeats(z) * form.size
        n, c = fields.shape[:2]
        rows, between = fields.reshape(n * c, -1), query.between
        if between is None or between.ndim == 1:
            rows = rows[:, np.argsort(query.order)]
            rows = rows if between is None else rows[:, between]
        else:
            rows = interpolate(query.grid.points, rows.T, between).T
        return form.outputs.unpacked(rows.reshape(n, -1), query.shape)

    def finish_spread(self, spread: np.ndarray, z: np.ndarray, query: ChainQuery) -> Any:
        """Return the size of errors in the user's shapes."""
        return self.finish(spread, query)

    def derivative(self, query: ChainQuery, orders: Any) -> Any:
        """Refuse: layers are known on grids only."""
        raise InputError("a model with layers has no derivatives: fit with layers=0.")

    def targets(self, query: ChainQuery, y: Any) -> np.ndarray:
        """Check outputs at the training points; return them as layers see them."""
        outputs = self.form.outputs
        return self.form.states(outputs.rows(outputs.checked(y, count_of(query.X))))

    def units(self, z: np.ndarray, target: np.ndarray) -> tuple[np.ndarray | float, float]:
        """Return 1, and the root mean square of the targets."""
        return 1.0, float(np.sqrt(np.mean(target**2)))

    def novelty(self, query: ChainQuery) -> np.ndarray:
        """Return the novelty (n,) of each function's most unusual window."""
        return self.windows(self.form.channels(query.X, query.grid, query.order), query.grid)

    def outside(self, query: ChainQuery) -> np.ndarray:
        """Return which functions (n,) lie well outside the training functions."""
        return self.windows.outside(self.form.channels(query.X, query.grid, query.order), query.grid)

    def is_training(self, estimator: Any, X: Any) -> np.ndarray:
        """Return which inputs (N,) are training functions; none on another grid."""
        if self.form.points_of(X) != len(self.form.order):
            return np.zeros(count_of(X), bool)
        return super().is_training(estimator, X)

    def _new_record(self) -> TrainingRecord:
        return TrainingRecord()

    @property
    def judge(self) -> Any:
        """A fitted global model: layers hold out few functions."""
        return None if self.global_model is None else self.global_model._fitted()

    def own_summary(self) -> Summary:
        """Return the summary of a chain with given settings."""
        return self.summary_after(Summary())

    def summary_after(self, before: Summary) -> Summary:
        """Return what was said before, with the expected error, the gain of each layer, and the grid."""
        own, chain = self.settings(), self.chain
        start = own["starts from"]
        if self.first_error is not None:
            start = f"a global model with branch {start}, error {percent(self.first_error)}"
        choice = [Fact("Starts from", start)]
        for k, (record, layer) in enumerate(zip(chain.records, chain.layers, strict=True), start=1):
            settings = layer.features.settings
            window = " x ".join(str(2 * r + 1) for r in settings.radius)
            text = (
                f"error {percent(record.error)}; windows of {window} values, {record.features} features "
                f"({settings.activation}), alpha {record.alpha:.2g}, {record.seconds:.1f} s"
            )
            choice.append(Fact(f"Layer {k}", text))
        last = chain.layers[-1].features.settings if chain.layers else None
        if last is not None and last.kernels:
            choice.append(Fact("Smoothing", "; ".join(map(str, last.kernels))))
        if last is not None and last.potentials:
            choice.append(Fact("Products with", "; ".join(map(str, last.potentials))))
        if self.chain.source is not None:
            choice.append(Fact("Source", "a fixed field, found in the data"))
        if self.symmetries:
            choice.append(Fact("Symmetries", f"{own['symmetries']}; found in the data"))
        details = before.details or (Fact("Outputs", self.outputs.describe()),)
        return Summary(
            error=(*self.estimate.facts(), *before.error),
            help=before.help,
            choice=(*before.choice, *choice),
            equation=before.equation,
            details=(*details, Fact("Grid", own["grid"])),
        )

    def settings(self) -> dict[str, str]:
        """Return what was chosen, as names and values for a report."""
        grid = self.form.grid
        axes = ["periodic" if around else "not periodic" for around in grid.periodic]
        kinds = axes[0] if len(set(axes)) == 1 else ", ".join(f"axis {i + 1} {a}" for i, a in enumerate(axes))
        return {
            "starts from": "nothing" if self.first is None else " ".join(repr(self.first.branch_).split()),
            "layers": str(len(self.chain.layers)),
            "grid": f"{' x '.join(map(str, grid.given))} points, {kinds}",
            "symmetries": "; ".join(map(str, self.symmetries)) or "none found",
        }

    def validation(self) -> Validation | str:
        """Return the functions held out of all layers, or why they are not known."""
        if self.held_out is None:
            return (
                "Not known: this model was loaded from a file, which does not contain the held-out "
                "functions. Give functions with known outputs: model.report(path, X, y)."
            )
        return self.method.validation(self) or "Not known: too few functions were held out."


def _common_points(points: Any, dimension: int) -> tuple[np.ndarray, tuple[int, ...]]:
    """Return points (M, d) that all functions share, and the shape in which outputs come back."""
    if isinstance(points, Scattered) or is_list_of_points(points):
        raise InputError(
            "a model with layers predicts at points that all functions share: give points (M, d). For points "
            "of their own, interpolate the prediction on the grid."
        )
    where, shape = place_points(points)
    where = coordinates(where, dimension=dimension)
    return where, shape or (len(where),)


def _selected(own: np.ndarray, where: np.ndarray) -> np.ndarray:
    """Return the indices (M,) of points `where` (M, d) among `own` (m, d); or `where` if some are missing."""
    distance, nearest = cKDTree(own).query(where)
    return nearest if np.all(distance <= _SAME_POINT * np.ptp(own, axis=0).max()) else where


def fitted_first(first: Any, X: Any, y: Any, training: Training, *, seed: int, **given: Any) -> Any:
    """Return a fitted `ELMDeepONet`: `first` itself if it was fitted to these functions, else a clone.

    A clone without a seed of its own takes this one, so that a chain with a seed is reproducible. An
    `ELMDeepONet` without a lift and points of its own sees the same `training` data as the chain.
    """
    if not hasattr(first, "get_params"):
        raise InputError(
            'first must be an ELMDeepONet, an AutoELMDeepONet, "nothing", or a tuple of these to try; got '
            f"{first!r}."
        )
    known = getattr(first, "global_model_", first)
    if _knows(known, X):
        return known
    model = clone(first)
    if model.get_params().get("random_state", seed) is None:
        model.set_params(random_state=seed)
    if "layers" in model.get_params():  # of an automatic choice, only the global model
        model.set_params(layers=0)
    own = model.get_params()
    if hasattr(model, "_fit_training") and own["lift"] is None and own["points"] is None:
        return model._fit_training(training)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LargeErrorWarning)  # layers are to reduce it
        model.fit(X, y, **given)
    return getattr(model, "global_model_", model)


def left_out_rows(model: Any) -> np.ndarray:
    """Return the left-out prediction of each training function by a global model, as rows (N, c M)."""
    found = model._fitted()
    if found.outputs.lift is not None:
        raise InputError(
            "layers cannot start from a model that has a lift: give outputs minus the lift instead."
        )
    try:
        left_out = found.solution.left_out()
    except AttributeError as error:
        raise InputError(
            "layers start from the first model's left-out predictions of the training functions, and this "
            f"model cannot give them: {error} Use a model with Ridge, fitted in memory."
        ) from None
    return np.asarray(found.outputs.values(left_out.T), np.float64)


def _knows(model: Any, X: Any) -> bool:
    """Return whether a model was fitted to just these functions, and can leave them out."""
    if not model.__sklearn_is_fitted__() or model.solution_.fit is None:
        return False
    try:
        same = bool(model.is_training_function(X).all())
    except ValueError:
        return False
    return same and model.solution_.left_out().shape[1] == count_of(X)
