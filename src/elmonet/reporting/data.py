"""What a report tells, as plain values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from elmonet.data.scattered import Scattered
from elmonet.estimators.base import kind_in_words, outputs_in_words
from elmonet.fitting.fitted import Fitted
from elmonet.forms.inputs import InputForm
from elmonet.forms.outputs import OutputForm, lift_at_own_points
from elmonet.forms.training import Training
from elmonet.metrics import function_norms, relative_errors
from elmonet.plot.functions import HOLDS, WithBand
from elmonet.solve import LEFT_OUT
from elmonet.uncertainty.bands import Bands
from elmonet.uncertainty.calibration import Calibration, calibration_by_halves, calibration_of
from elmonet.uncertainty.confidence import Confidence
from elmonet.uncertainty.novelty import Memory
from elmonet.uncertainty.residuals import HeldOut, held_out_places, left_out, packed

__all__ = [
    "USUAL",
    "Account",
    "Tested",
    "Unseen",
    "account_of",
    "call_of",
    "data_of",
    "seed_of",
    "times_and_words",
    "unseen",
    "unseen_of",
]


@dataclass(frozen=True)
class Unseen:
    """What a fit says of functions that it has not seen: each left out, some held out, or those of a test.

    Attributes
    ----------
    how : what functions these are, in words: "training functions, left out".
    numbers, errors : (n,), their rows, and the relative error of each.
    shown : the best, the median and the worst function, each with all of its components, in their units.
    components : what the components are called; one empty name if there are none.
    places, typical : (P, d), (P, c), the root mean square of the error at each place. For functions at points
        of their own, the size of single errors, NaN where a component is not known.
    own_points : whether functions are known at points of their own.
    values : (k, 2), some true values and their predictions, components in units of their size.
    calibration : of bands from one half of these functions, tried on the other; None if there are too few.
    """

    how: str
    numbers: np.ndarray
    errors: np.ndarray
    shown: dict[str, tuple[WithBand, ...]]
    components: tuple[str, ...]
    places: np.ndarray
    typical: np.ndarray
    own_points: bool
    values: np.ndarray
    calibration: Calibration | None


@dataclass(frozen=True)
class Tested:
    """How a model does on functions that it was not fitted to: how many, their error, and its bands."""

    functions: int
    error: float | None
    calibration: Calibration | None


@dataclass(frozen=True)
class Account:
    """All that a report tells of a model.

    Attributes
    ----------
    model : the name of its class.
    words : its summary.
    data, settings, made : names and values, of the data, of what was chosen, and of what it takes to
        repeat the fit.
    error, interval, kind : the expected error, between what it lies, and how it was found, in words.
    call : the call, or the command, that repeats the fit; what is not known is said in `made`.
    unseen : functions that the fit has not seen; None: `why_not` says why.
    solution : of a linear solve, with the alphas that were tried.
    leaderboard : the candidates that were tried, as `AutoELMDeepONet.leaderboard_`.
    layers : the account of each layer, as `LayeredELMDeepONet.layers_`.
    physics : of an equation, as `AutoELMDeepONet.physics_`.
    understood : what was taken as what, of a file.
    """

    model: str
    words: str
    data: dict[str, str]
    settings: dict[str, str]
    made: dict[str, str]
    call: str
    error: float | None
    interval: tuple[float, float] | None
    kind: str
    unseen: Unseen | None = None
    why_not: str = ""
    solution: Any = None
    leaderboard: tuple[dict[str, Any], ...] = ()
    layers: tuple[dict[str, Any], ...] = ()
    physics: Any = None
    understood: tuple[str, ...] = ()


USUAL = 0.9  # the coverage of bands
_MOST_VALUES = 3000  # that are kept to be drawn
_MOST_SHOWN = 4  # components of which functions are drawn


def times_and_words(bands: Bands) -> tuple[float, str]:
    """The factor of bands that hold 90 % of functions, or as many as so few tell, and what they hold."""
    coverage = min(USUAL, bands.independent / (bands.independent + 1))
    return bands.times(coverage, "function"), HOLDS["function"].format(100 * coverage)


def unseen(
    how: str,
    outputs: OutputForm,
    numbers: np.ndarray,
    truth: np.ndarray,
    predicted: np.ndarray,
    band: Callable[[int], tuple[np.ndarray, np.ndarray]],
    holds: str,
    calibration: Calibration | None,
    own_points: np.ndarray | None = None,
) -> Unseen:
    """What a report shows of n functions.

    Parameters
    ----------
    how, numbers, calibration : as in `Unseen`.
    truth, predicted : (n, R), rows of the outputs, NaN where they are not known; with the lift.
    band : the ends (R,) of the band of the i-th function; `holds`, in words, what it holds.
    own_points : (n, R, d), where functions are known at points of their own; components take turns.
    """
    c = max(1, outputs.components)
    R = truth.shape[1]
    component = np.repeat(np.arange(c), R // c) if own_points is None else np.arange(R) % c
    units = np.ones(R) if outputs.sizes is None else outputs.sizes[component]
    missed = np.nan_to_num(predicted - truth)
    errors = relative_errors(function_norms(missed), function_norms(np.nan_to_num(truth)), R)
    order, known = np.argsort(errors, kind="stable"), np.isfinite(truth)

    def shown(i: int, name: str) -> tuple[WithBand, ...]:
        parts = []
        for k in range(min(c, _MOST_SHOWN)):
            own = np.flatnonzero((component == k) & known[i])
            points = outputs.points if own_points is None else own_points[i]
            where = points[own - k * len(points)] if own_points is None else points[own]
            value, low, high, true = (A[own] * units[own] for A in (predicted[i], *band(i), truth[i]))
            parts.append(WithBand(where, value, low, high, true, name, holds))
        return tuple(part for part in parts if len(part.points))

    picked = {"best": order[0], "median": order[len(order) // 2], "worst": order[-1]}
    if own_points is None:
        squares = np.sum(missed**2, axis=0) / np.maximum(known.sum(axis=0), 1)
        places, typical = outputs.points, (np.sqrt(squares) * units).reshape(c, -1).T
    else:
        places, typical = _single_errors(missed * units, known, own_points, component, c)
    pairs = np.column_stack([truth[known], predicted[known]])
    return Unseen(
        how,
        numbers,
        errors,
        {name: shown(int(i), name) for name, i in picked.items()},
        _names(outputs),
        places,
        typical,
        own_points is not None,
        pairs[_some(len(pairs))],
        calibration,
    )


def _single_errors(
    missed: np.ndarray, known: np.ndarray, points: np.ndarray, component: np.ndarray, c: int
) -> tuple[np.ndarray, np.ndarray]:
    """Some places (P, d), and the size of the error (P, c) of the component that is known at each."""
    i, j = np.nonzero(known)
    some = _some(len(i))
    i, j = i[some], j[some]
    sizes = np.full((len(i), c), np.nan)
    sizes[np.arange(len(i)), component[j]] = np.abs(missed[i, j])
    return points[i, j], sizes


def _names(outputs: OutputForm) -> tuple[str, ...]:
    if not outputs.components:
        return ("",)
    return outputs.names or tuple(f"component {k}" for k in range(outputs.components))


def _some(n: int) -> np.ndarray:
    return np.sort(np.random.default_rng(0).permutation(n)[:_MOST_VALUES])


def unseen_of(fitted: Fitted, training: Training, confidence: Confidence, held: HeldOut | None) -> Unseen:
    """Of functions that were held out, or else of all training functions, each left out by its factor.

    No fit is made: what was missed of a function gives what was predicted, ``target - missed``.
    """
    outputs, bands = fitted.outputs, confidence.bands
    groups = places = None
    if held is None:
        numbers, (missed, scales, *_) = np.arange(len(training.X)), left_out(fitted, training)
        groups = None if training.groups is None else training.groups.numbers
    else:
        (numbers, missed), scales = held, [np.ones((1, 1))]
        places = held_out_places(held, outputs)
    some = training.of(numbers)
    y, lifted, points = _rows(fitted, some)
    z = outputs.target(y) - missed
    times, holds = times_and_words(bands)
    sigma = bands.sigma if places is None else bands.sigma[places]
    g = np.broadcast_to(scales[min(bands.scale, len(scales) - 1)], (len(z), 1))

    def band(i: int) -> tuple[np.ndarray, np.ndarray]:
        half = times * sigma * g[i]
        low, high = (outputs.values(row[None])[0] for row in (z[i] - half, z[i] + half))
        return low + lifted[i % len(lifted)], high + lifted[i % len(lifted)]

    predicted = outputs.values(z)
    units = predicted if outputs.logs is not None else np.ones((1, 1))
    calibration = _by_halves(missed, scales, groups, places, units, y)
    how = f"training functions, {'left out' if held is None else 'held out'}"
    return unseen(
        how, outputs, numbers, y + lifted, predicted + lifted, band, holds, calibration, own_points=points
    )


def _rows(fitted: Fitted, training: Training) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Outputs as rows (n, R), what the lift adds to them (n or 1, R), and points of their own (n, R, d)."""
    outputs, y = fitted.outputs, training.y
    X: Any = None if outputs.lift is None else training.inputs.as_given(training.X)
    if not outputs.scattered:
        return y, np.zeros((1, 1)) if X is None else outputs.lifted(X, len(y)), None
    index, places, values = outputs.scattered_rows(y)

    def rows(values: np.ndarray) -> np.ndarray:
        return packed(values, index, places, outputs)

    lifted = np.zeros((1, 1))
    if X is not None:
        lift = Scattered(y.index, y.points, lift_at_own_points(outputs.lift, X, y))
        lifted = rows(outputs.scattered_rows(lift)[2])
    d = outputs.points.shape[1]
    return rows(values), lifted, np.stack([rows(places[:, k]) for k in range(d)], axis=-1)


def _by_halves(
    missed: np.ndarray,
    scales: Sequence[np.ndarray],
    groups: np.ndarray | None,
    places: np.ndarray | None,
    units: np.ndarray,
    y: np.ndarray,
) -> Calibration | None:
    """Bands made from what was missed of one half of the functions, tried on the other."""
    size = float(np.sqrt(np.nanmean(y**2)))

    def of(rows: np.ndarray, values: np.ndarray) -> np.ndarray:
        return values if len(values) == 1 else values[rows]

    def tried(half: np.ndarray, other: np.ndarray) -> Calibration | None:
        own = None if groups is None else groups[half]
        bands = Bands.of(missed[half], [of(half, g) for g in scales], own, places=places)
        if bands is None:
            return None
        sigma = bands.sigma if places is None else bands.sigma[places]
        spread = np.broadcast_to(sigma * of(other, scales[bands.scale]), missed[other].shape)
        return calibration_of(bands, missed[other], spread, of(other, units), size)

    return calibration_by_halves(tried, len(missed), groups)


_NOT_KEPT = (
    "Not known: this model was loaded from a file, or fitted in blocks, so the training functions are not "
    "there. Give functions with known outputs: model.report(path, X, y)."
)
_NOT_LEFT_OUT = (
    "Not known: this fit leaves no function out, or there are too few functions. Give functions with known "
    "outputs: model.report(path, X, y)."
)


def account_of(model: Any, fitted: Fitted, training: Training | None) -> Account:
    """Of an `ELMDeepONet`; the training functions are None if they are not at hand."""
    solution, operator = fitted.solution, fitted.operator
    data = data_of(fitted.inputs, fitted.outputs, model._remembered(), training)
    settings = {
        "branch": f"{' '.join(repr(operator.branch).split())}, {operator.C.shape[1]} features",
        "trunk": f"{' '.join(repr(operator.trunk).split())}, {len(operator.W)} functions",
        "alpha": f"{solution.alpha:.3g}",
        "condition": "not known" if solution.condition is None else f"{solution.condition:.2g}",
        "error on the training functions": (
            "not known" if solution.residual is None else f"{solution.residual:.2g}"
        ),
        "time of the solve": f"{solution.seconds:.2g} s, {solution.method}",
    }
    unseen = None if training is None else _unseen(model, fitted, training)
    return Account(
        type(model).__name__,
        model.summary(),
        data | ({"belong together": fitted.word} if fitted.word else {}),
        settings,
        seed_of(model.random_state, loaded=training is None),
        call_of(model, training),
        model.expected_error_,
        model.expected_error_interval_,
        kind_in_words(solution.error_kind),
        unseen,
        "" if unseen is not None else _NOT_KEPT if training is None else _NOT_LEFT_OUT,
        solution,
    )


def data_of(
    inputs: InputForm, outputs: OutputForm, memory: Memory, training: Training | None
) -> dict[str, str]:
    """The data, in names and values."""
    count = None if memory.fingerprints is None else len(memory.fingerprints)
    count = count if training is None else len(training.X)
    found = {
        "training functions": "not known" if count is None else str(count),
        "inputs": inputs.told,
        "outputs": outputs_in_words(outputs),
    }
    if outputs.names is not None:
        found["components"] = ", ".join(outputs.names)
    low, high = outputs.points.min(axis=0), outputs.points.max(axis=0)
    axes = ["x"] if len(low) == 1 else [f"x{k + 1}" for k in range(len(low))]
    found["domain"] = ", ".join(
        f"{x} from {a:.4g} to {b:.4g}" for x, a, b in zip(axes, low, high, strict=True)
    )
    return found if training is None else found | _ranges(training)


def _ranges(training: Training) -> dict[str, str]:
    """Between what the values lie, and how many are missing."""
    outputs, y = training.outputs, training.y
    values: Any = y.values if isinstance(y, Scattered) else y
    if not isinstance(y, Scattered) and outputs.sizes is not None:
        values = np.moveaxis(y.reshape(len(y), outputs.components, -1), 1, -1) * outputs.sizes
    parts = values.reshape(-1, max(1, outputs.components))
    said = [f"{np.nanmin(part):.4g} to {np.nanmax(part):.4g}" for part in parts.T]
    lifted = ", without the lift" if outputs.lift is not None else ""
    missing = int(np.isnan(values).sum())
    return {
        "input values": f"{training.X.min():.4g} to {training.X.max():.4g}",
        "output values": "; ".join(said) + lifted,
        "missing output values": f"{missing} of {values.size}" if missing else "none",
    }


def seed_of(random_state: Any, *, loaded: bool) -> dict[str, str]:
    """The seed, in names and values."""
    if random_state is None:
        none = "not kept in the file" if loaded else "none was given: another fit draws other features"
        return {"seed": none}
    return {"seed": str(random_state)}


def call_of(model: Any, training: Training | None, y: str = "s", more: str = "") -> str:
    """The call that repeats a fit, as far as it is known: of outputs `y`, and with `more` arguments."""
    made = f"model = {' '.join(repr(model).split())}"
    if training is None:
        return f"{made}\n# the call of fit is not known: the model was loaded, or fitted in blocks"
    n = len(training.X)
    points = "" if training.outputs.scattered else ", points=points"
    return f"{made}\nmodel.fit(u, {y}{points}{more})  # {n} functions"


def _unseen(model: Any, fitted: Fitted, training: Training) -> Unseen | None:
    confidence = model._confidence_if_any()
    left_out = fitted.solution.error_kind in LEFT_OUT and fitted.solution.fit is not None
    if confidence is None or not (left_out or model._held_out is not None):
        return None
    return unseen_of(fitted, training, confidence, model._held_out)
