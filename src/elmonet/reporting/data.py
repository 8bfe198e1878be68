"""The content of a report as plain values: a fitted model, and functions it has not seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from elmonet.data.dataset import Labels
from elmonet.data.mesh import Mesh
from elmonet.data.scattered import Scattered
from elmonet.errors import InputError
from elmonet.fitting.suspects import Suspects
from elmonet.forms.components import by_name, relative_error
from elmonet.forms.inputs import InputForm, count_of
from elmonet.forms.outputs import OutputForm
from elmonet.forms.training import Training
from elmonet.metrics import function_norms, output_sizes
from elmonet.plot.predicted import HOLDS, WithBand, moved_mesh
from elmonet.summary import plural
from elmonet.uncertainty.calibration import Calibration, Validation
from elmonet.uncertainty.error_estimate import ErrorEstimate

_COVERAGE = 0.9  # of the bands around test functions
_MAX_VALUES = 3000  # values that are drawn
_MAX_COMPONENTS = 4  # components of which functions are drawn


@dataclass(frozen=True)
class Shown:
    """What a report shows of functions that a fit has not seen: left out, held out, or from a test.

    Attributes
    ----------
    kind : what these functions are, in words: "training functions, left out".
    functions, errors : (n,), their indices, and the relative error of each.
    examples : the best, the median and the worst function, each with all of its components, in their units.
    components : names of the components; one empty name if there are none.
    places, typical : (P, d), (P, c), the root mean square of the error at each place. For functions at their
        own points, the size of single errors, NaN where a component is unknown.
    own_points : whether functions are known at their own points.
    values : (k, 2), some true values and their predictions, components in units of their size.
    calibration : of bands from one half of these functions on the other; None if there are too few.
    axes : names of the coordinates, with their units.
    mesh : mesh that the functions belong to.
    labels : names and units of the components, if the data have any.
    """

    kind: str
    functions: np.ndarray
    errors: np.ndarray
    examples: dict[str, tuple[WithBand, ...]]
    components: tuple[str, ...]
    places: np.ndarray
    typical: np.ndarray
    own_points: bool
    values: np.ndarray
    calibration: Calibration | None
    axes: tuple[str, ...] | None = None
    mesh: Mesh | None = None
    labels: tuple[str, ...] = ()

    def count(self, n: int) -> str:
        """Return n of these functions in words: "20 training functions, left out"."""
        return f"{n} {self.kind}" if n != 1 else f"1 {self.kind.replace('functions', 'function', 1)}"


@dataclass(frozen=True)
class TestScore:
    """Number of test functions, their error, and the calibration of the error bars on them."""

    functions: int
    error: float | None
    calibration: Calibration | None


@dataclass(frozen=True)
class ReportData:
    """The content of a report.

    Attributes
    ----------
    model : name of the estimator's class.
    summary : its summary.
    data, settings, reproduce : names and values: of the data, of what was chosen, and of what it takes to
        repeat the fit.
    call : the call that repeats the fit, as far as it is known.
    estimate : the expected error.
    shown : functions that the fit has not seen; a text says why there are none.
    solution : of a linear solve, with the alphas that were tried.
    leaderboard : the candidates that were tried, as `AutoELMDeepONet.leaderboard_`.
    layers : the account of each layer, as `LayeredELMDeepONet.layers_`.
    physics : of an equation, as `AutoELMDeepONet.physics_`.
    suspects : training pairs that contradict the rest; None if they cannot be judged.
    inputs : the form of the inputs, which knows how much each part counts.
    """

    model: str
    summary: str
    data: dict[str, str]
    settings: dict[str, str]
    reproduce: dict[str, str]
    call: str
    estimate: ErrorEstimate
    shown: Shown | str
    solution: Any = None
    leaderboard: tuple[dict[str, Any], ...] = ()
    layers: tuple[dict[str, Any], ...] = ()
    physics: Any = None
    suspects: Suspects | None = None
    inputs: InputForm | None = None


def report_data(estimator: Any) -> ReportData:
    """Return the content of the report of any estimator."""
    model = estimator._fitted()
    validation, physics = model.validation(), getattr(estimator, "physics_", None)
    # An automatic choice keeps its training data in the global model, and draws a seed where none is given.
    chosen_by = getattr(estimator, "global_model_", estimator)
    training = getattr(chosen_by._fitted(), "training", None)
    return ReportData(
        model=type(estimator).__name__,
        summary=estimator.summary(),
        data=_data_facts(estimator, model, training),
        settings=model.settings(),
        reproduce=_seed(estimator.random_state, chosen_by.random_state, loaded=isinstance(validation, str)),
        call=_call(estimator, training, physics),
        estimate=model.estimate,
        shown=validation
        if isinstance(validation, str)
        else shown_of(validation, model.outputs, model.labels),
        solution=getattr(model, "solution", None),
        leaderboard=tuple(getattr(estimator, "leaderboard_", ())),
        layers=tuple(dict(vars(record)) for record in model.chain.records) if hasattr(model, "chain") else (),
        physics=physics,
        suspects=None if physics is not None else model.suspects_if_quick(),
        inputs=getattr(model, "inputs", None),
    )


def evaluate(estimator: Any, X: Any, y: Any, points: Any = None) -> TestScore:
    """Return how a model does on functions with known outputs, at its training points or at others."""
    where = y if isinstance(y, Scattered) else points
    volumes = estimator.outputs_.given_volumes if where is None else None
    error = relative_error(estimator.predict(X, points=where), y, volumes)
    try:
        calibration = estimator.calibration(X, y)
    except InputError:  # without error bars, or at other points
        calibration = None
    return TestScore(count_of(X), error, calibration)


def shown_test(estimator: Any, X: Any, y: Any) -> Shown | None:
    """Return what a report shows of test functions; None at other points, or without error bars."""
    if isinstance(y, Scattered):
        return None
    outputs = estimator.outputs_
    try:
        truth = outputs.rows(outputs.checked(y))
        ends = estimator.interval(X, _COVERAGE, "function")
    except InputError:
        return None
    predicted, low, high = (outputs.rows(by_name(A, outputs.names)) for A in (estimator.predict(X), *ends))

    def band(i: int) -> tuple[np.ndarray, np.ndarray]:
        return low[i], high[i]

    functions = np.arange(len(truth))
    found = Validation("test functions", functions, truth, predicted, band, _COVERAGE, None)
    return shown_of(found, outputs, estimator.labels_)


def shown_of(validation: Validation, outputs: OutputForm, labels: Labels | None = None) -> Shown:
    """Return what a report shows of functions that a fit has not seen, with the labels of the data."""
    labels = labels or Labels()
    names = outputs.names or labels.components or (labels.output or "s",)
    mesh = None if outputs.kept is not None else labels.mesh
    truth, predicted, own_points = validation.truth, validation.predicted, validation.points
    c, R = max(1, outputs.components), truth.shape[1]
    component = np.repeat(np.arange(c), R // c) if own_points is None else np.arange(R) % c
    units = np.ones(R) if outputs.sizes is None else outputs.sizes[component]
    residuals = np.nan_to_num(predicted - truth)
    scaled = (residuals, np.nan_to_num(truth))
    if own_points is None:
        missed, true = map(outputs.in_units, scaled)
    else:
        missed, true = (A * units for A in scaled)
    errors = function_norms(missed) / output_sizes(true)
    order, known = np.argsort(errors, kind="stable"), np.isfinite(truth)
    holds = HOLDS["function"].format(100 * validation.coverage)

    def called(k: int) -> str:
        return labels.with_unit(names[k] if k < len(names) else "s")

    def example(i: int, name: str) -> tuple[WithBand, ...]:
        parts = []
        for k in range(min(c, _MAX_COMPONENTS)):
            own = np.flatnonzero((component == k) & known[i])
            points = outputs.points if own_points is None else own_points[i]
            where = points[own - k * len(points)] if own_points is None else points[own]
            rows = (predicted[i], *validation.band(i), truth[i])
            value, low, high, true = (A[own] * units[own] for A in rows)
            drawn = mesh if own_points is None and len(where) == len(outputs.points) else None
            if drawn is not None and drawn.moving:  # on the mesh as it is predicted
                each = (predicted[i] * units).reshape(c, -1)
                moves = {n: each[j][None] for j, n in enumerate(names)}
                drawn = moved_mesh(drawn, moves)
                where = drawn.points
            shown = WithBand(
                where, value, low, high, true, name, holds, labels.axes_with_units, called(k), drawn
            )
            parts.append(shown)
        return tuple(part for part in parts if len(part.points))

    picked = {"best": order[0], "median": order[len(order) // 2], "worst": order[-1]}
    if own_points is None:
        squares = np.sum(residuals**2, axis=0) / np.maximum(known.sum(axis=0), 1)
        places, typical = outputs.points, (np.sqrt(squares) * units).reshape(c, -1).T
    else:
        places, typical = _single_errors(residuals * units, known, own_points, component, c)
    pairs = np.column_stack([truth[known], predicted[known]])
    return Shown(
        validation.kind,
        validation.functions,
        errors,
        {name: example(int(i), name) for name, i in picked.items()},
        outputs.component_names or ("",),
        places,
        typical,
        own_points is not None,
        pairs[_sample(len(pairs))],
        validation.calibration,
        labels.axes_with_units,
        mesh,
        tuple(map(called, range(c))) if labels.output or labels.components else (),
    )


def _single_errors(
    residuals: np.ndarray, known: np.ndarray, points: np.ndarray, component: np.ndarray, c: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return some places (P, d), and the size of the error (P, c) of the component that is known at each."""
    i, j = np.nonzero(known)
    some = _sample(len(i))
    i, j = i[some], j[some]
    sizes = np.full((len(i), c), np.nan)
    sizes[np.arange(len(i)), component[j]] = np.abs(residuals[i, j])
    return points[i, j], sizes


def _sample(n: int) -> np.ndarray:
    return np.sort(np.random.default_rng(0).permutation(n)[:_MAX_VALUES])


def _data_facts(estimator: Any, model: Any, training: Training | None) -> dict[str, str]:
    """Return the data as names and values."""
    inputs, outputs, fingerprints = model.inputs, model.outputs, model.record.fingerprints
    count = None if fingerprints is None else len(fingerprints)
    count = count if training is None else len(training.X)
    low, high = outputs.points.min(axis=0), outputs.points.max(axis=0)
    axes = ["x"] if len(low) == 1 else [f"x{k + 1}" for k in range(len(low))]
    if model.labels.axes is not None and len(model.labels.axes) == len(low):
        axes = list(model.labels.axes_with_units or axes)
    facts = {
        "training functions": "not known" if count is None else str(count),
        "inputs": inputs.describe(),
        "outputs": outputs.describe(),
    }
    if model.labels.mesh is not None:
        facts["mesh"] = repr(model.labels.mesh)
    if outputs.names is not None:
        facts["components"] = ", ".join(map(model.labels.with_unit, outputs.names))
    facts["domain"] = ", ".join(
        f"{x} from {a:.4g} to {b:.4g}" for x, a, b in zip(axes, low, high, strict=True)
    )
    if training is not None:
        facts |= _ranges(training)
    if getattr(model, "grouping", ""):
        facts["groups"] = model.grouping
    repeats = getattr(estimator, "repeats_", None)
    if repeats is not None and repeats.count:
        facts["repeats"] = f"{plural(repeats.count, 'input')} merged with others; rows count the rest"
    return facts


def _ranges(training: Training) -> dict[str, str]:
    """Return the ranges of the values, and how many are missing."""
    outputs, y = training.outputs, training.y
    values: Any = y.values if isinstance(y, Scattered) else y
    if not isinstance(y, Scattered) and outputs.sizes is not None:
        values = np.moveaxis(y.reshape(len(y), outputs.components, -1), 1, -1) * outputs.sizes
    parts = values.reshape(-1, max(1, outputs.components))
    ranges = [f"{np.nanmin(part):.4g} to {np.nanmax(part):.4g}" for part in parts.T]
    lift = ", without the lift" if outputs.lift is not None else ""
    missing = int(np.isnan(values).sum())
    return {
        "input values": f"{training.X.min():.4g} to {training.X.max():.4g}",
        "output values": "; ".join(ranges) + lift,
        "missing output values": f"{missing} of {values.size}" if missing else "none",
    }


def _seed(given: Any, used: Any, *, loaded: bool) -> dict[str, str]:
    if given is not None:
        return {"seed": str(given)}
    if used is not None:
        return {"seed": f"{used}, drawn for this fit"}
    return {"seed": "not kept in the file" if loaded else "none was given: another fit draws other features"}


def _call(estimator: Any, training: Training | None, physics: Any) -> str:
    """Return the call that repeats a fit, as far as it is known."""
    made = f"model = {' '.join(repr(estimator).split())}"
    if hasattr(estimator._fitted(), "chain") and training is None:
        return f"{made}\nmodel.fit(X, y, points=points)"
    if training is None:
        return f"{made}\n# the call of fit is not known: the model was loaded, or fitted in blocks"
    y, more = "s", ""
    if physics is not None:
        data = ", data=data" if physics.correction is not None or physics.constants else ""
        y, more = "pde", f", sensors=sensors{data}"
    points = "" if training.outputs.scattered else ", points=points"
    return f"{made}\nmodel.fit(u, {y}{points}{more})  # {plural(len(training.X), 'function')}"
