"""A chain of layers: fitted layer by layer, applied on any resolution, rolled out in time."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from elmonet.errors import ExtrapolationWarning, InputError
from elmonet.interpolation import interpolate
from elmonet.layered.bands import HeldOut, LayerBands, WindowNovelty
from elmonet.layered.features import Fields, LayerSettings, resampled
from elmonet.layered.fields import FieldForm
from elmonet.layered.grid import Grid, Symmetry
from elmonet.layered.layer import Layer, LayerSamples, fit_layer
from elmonet.metrics import function_norms, reference_norms, relative_l2

__all__ = [
    "Chain",
    "LayerData",
    "LayerRecord",
    "Layered",
    "Places",
    "error_before",
    "fit_chain",
    "fitted_first",
    "held_out_of",
    "left_out_rows",
    "predicted_rows",
    "roll_out",
]


def fitted_first(first: Any, X: Any, y: Any, *, seed: int, **given: Any) -> Any:
    """The fitted `ELMDeepONet`: `first` itself if it was fitted to these functions, else a clone of it.

    A clone without a seed of its own takes this one, so that a chain with a seed is the same each time.
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
    model.fit(X, y, **given)
    return getattr(model, "global_model_", model)


def left_out_rows(model: Any) -> np.ndarray:
    """What the model says of each training function if it is left out: rows (N, c M) of its outputs."""
    found = model._fitted()
    if found.outputs.lift is not None:
        raise InputError(
            "layers cannot begin with a model that has a lift: give outputs minus the lift instead."
        )
    try:
        left_out = found.solution.left_out()
    except AttributeError as error:
        raise InputError(
            "layers begin with the predictions of the first model for training functions left out, and this "
            f"model cannot give them: {error} Use a model with Ridge, fitted in memory."
        ) from None
    return np.asarray(found.outputs.values(left_out.T), np.float64)


def predicted_rows(model: Any, rows: np.ndarray) -> np.ndarray:
    """What the model says of input rows, as rows (n, c M) at the training points."""
    found = model._fitted()
    predicted = found.operator.at_training_points(found.seen(rows))
    return np.asarray(found.outputs.values(predicted), np.float64)


def _knows(model: Any, X: Any) -> bool:
    """Whether a model was fitted to just these functions, and can leave them out."""
    if getattr(model, "_found", None) is None or model._found.solution.fit is None:
        return False
    try:
        same = bool(model.is_training_function(X).all())
    except ValueError:
        return False
    n = len(next(iter(X.values())) if isinstance(X, dict) else X)
    return same and model._found.solution.left_out().shape[1] == n


_HELD_OUT = 0.15  # of the functions
_LEAST = 8  # functions
_GAIN = 0.99  # of the error; a layer that gains less is the last one
_SCOUT = 8  # times narrower than a layer, fitted at half the points: it tells if the layer is worth its time
_HOPELESS = 1.0  # times the error before: a scout that does no better ends the chain


@dataclass(frozen=True)
class LayerRecord:
    """The account of one layer: error of functions held out after it, seconds, features, ridge."""

    error: float
    seconds: float
    features: int
    alpha: float


@dataclass(frozen=True)
class LayerData:
    """Training functions on a grid: inputs u (N, C, *shape) and outputs s (N, c, *shape), of order 1.

    `first` (N, c, *shape): left-out predictions of a global model, or None to begin from nothing.
    `groups` (N,): functions of the same number belong together.
    """

    grid: Grid
    u: np.ndarray
    s: np.ndarray
    first: np.ndarray | None = None
    groups: np.ndarray | None = None

    def of(self, rows: np.ndarray) -> LayerData:
        """Some of the functions."""
        first = None if self.first is None else self.first[rows]
        groups = None if self.groups is None else np.unique(self.groups[rows], return_inverse=True)[1]
        return LayerData(self.grid, self.u[rows], self.s[rows], first, groups)


@dataclass(frozen=True)
class Chain:
    """Layers in turn, with the account of each."""

    layers: tuple[Layer, ...]
    records: tuple[LayerRecord, ...]
    errors: np.ndarray | None = None  # (n,), of the functions held out, after the last layer

    @property
    def error(self) -> float:
        """Of the functions held out, after the last layer."""
        return self.records[-1].error if self.records else np.inf

    def __call__(self, u: np.ndarray, first: np.ndarray | None, grid: Grid) -> np.ndarray:
        """Outputs (n, c, *shape) on a grid, of inputs u (n, C, *shape) and the first model's outputs."""
        return self.with_last_update(u, first, grid)[0]

    def with_last_update(
        self, u: np.ndarray, first: np.ndarray | None, grid: Grid
    ) -> tuple[np.ndarray, np.ndarray]:
        """The outputs, and by what the last layer changed them."""
        fields, update = Fields(u, first), None
        for layer in self.layers:
            update = layer.update(fields, grid)
            fields = fields.after(update, layer.features.settings.history)
        assert fields.s is not None
        return fields.s, np.zeros_like(fields.s) if update is None else update


def held_out_of(n: int, seed: int, groups: np.ndarray | None = None) -> np.ndarray:
    """Which of n functions (n,) are held out of all layers: whole groups, where functions belong together."""
    if n < _LEAST:
        raise InputError(f"layers need at least {_LEAST} functions, some of them to be held out; got {n}.")
    groups = (
        np.arange(n) if groups is None or np.ptp(groups) == 0 else np.unique(groups, return_inverse=True)[1]
    )
    count = np.bincount(groups)
    order = np.random.default_rng(seed).permutation(len(count))
    enough = int(np.searchsorted(np.cumsum(count[order]), round(_HELD_OUT * n))) + 1
    return np.isin(groups, order[:enough])


def error_before(problem: LayerData, seed: int) -> float:
    """The error of the first model's left-out predictions, of the functions held out of all layers."""
    unseen = held_out_of(len(problem.u), seed, problem.groups)
    return np.inf if problem.first is None else relative_l2(problem.first[unseen], problem.s[unseen])


def fit_chain(
    problem: LayerData,
    recipes: list[LayerSettings],
    seed: int,
    *,
    rows: int,
    images: tuple[Symmetry, ...] = (),
    all_layers: bool = False,
    deadline: float = np.inf,
    tell: Any = None,
) -> Chain:
    """Layer after layer by these recipes, until functions held out no longer gain.

    Some functions are held out of all layers; the errors are theirs. They are not taken in afterwards: a
    later layer corrects the errors of these earlier ones, and not those of layers that are fitted again.
    """
    truth = problem.s.reshape(len(problem.s), -1)
    fields, sizes = Fields(problem.u, problem.first), reference_norms(function_norms(truth))
    held_out = held_out_of(len(truth), seed, problem.groups)
    norms, rest = sizes[held_out], ~held_out
    unseen, fields = fields.of(held_out), fields.of(rest)
    layers: list[Layer] = []
    records: list[LayerRecord] = []

    def errors(s: np.ndarray) -> np.ndarray:
        return np.asarray(function_norms(s.reshape(-1, truth.shape[1]) - truth[held_out]) / norms)

    def error(s: np.ndarray | None) -> float:
        return np.inf if s is None else float(np.mean(errors(s)))

    of_each = None
    before = error(unseen.s)
    for k, recipe in enumerate(recipes):
        begin = perf_counter()
        if begin > deadline and k > 0:
            break
        points = min(rows, problem.grid.size)
        seen = (
            LayerSamples(fields, problem.s[rest], sizes[rest]),
            LayerSamples(unseen, problem.s[held_out], norms),
        )
        if k > 0 and not all_layers:
            narrow = replace(recipe, width=max(1, recipe.width // _SCOUT))
            scout = fit_layer(narrow, seed + 1 + k, problem.grid, *seen, max(1, points // 2))
            if error(unseen.after(scout.update(unseen, problem.grid), 0).s) > _HOPELESS * before:
                break
        layer = fit_layer(recipe, seed + 1 + k, problem.grid, *seen, points, images)
        after = unseen.after(layer.update(unseen, problem.grid), recipe.history)
        now = error(after.s)
        if not all_layers and now >= before:
            break
        layers.append(layer)
        of_each = None if after.s is None else errors(after.s)
        going = k + 1 < len(recipes) and (all_layers or now < _GAIN * before)
        if going:
            unseen, before = after, now
            fields = fields.after(layer.update(fields, problem.grid), recipe.history)
        records.append(LayerRecord(now, perf_counter() - begin, len(layer.coefficients), layer.alpha))
        if tell is not None:
            tell(records[-1])
        if not going:
            break
    return Chain(tuple(layers), tuple(records), of_each)


class Places(NamedTuple):
    """Where inputs are known, and where to predict.

    grid, order : the grid of the inputs, and the order that sorts its points.
    shape : in which outputs come back; None: as in training.
    between : (M, d), other points, to which outputs on the grid are interpolated.
    """

    grid: Grid
    order: np.ndarray
    shape: tuple[int, ...] | None = None
    between: np.ndarray | None = None


@dataclass(frozen=True)
class Layered:
    """A fitted chain with the form of its data.

    `error`: of functions held out of all layers, and `interval`: between what it lies. `novelty`: how far a
    function is from the training ones.
    """

    form: FieldForm
    first: Any
    chain: Chain
    error: float
    first_error: float | None
    symmetries: tuple[Symmetry, ...]
    novelty: WindowNovelty
    bands: LayerBands | None = None
    interval: tuple[float, float] | None = None
    held_out: HeldOut | None = None  # not in files

    def strange(self, u: Any, grid: Grid, order: np.ndarray) -> np.ndarray:
        """Which functions (n,) lie well beyond the training functions."""
        return self.novelty.strange(self.form.channels(u, grid, order), grid)

    def states(self, u: Any, grid: Grid, order: np.ndarray) -> np.ndarray:
        """Outputs (n, c, *shape) as layers see them, of inputs known at the points of a grid."""
        return self._with_last_update(u, grid, order)[0]

    def with_spread(self, u: Any, grid: Grid, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The outputs as layers see them, and the size of the error to expect of each value."""
        states, update = self._with_last_update(u, grid, order)
        return states, self.confident().spread(update, grid)

    def calibrated(self, u: Any, truth: np.ndarray) -> Layered | None:
        """The same, with bands from functions on the training grid that it has not seen; None if too few."""
        grid = self.form.grid
        states, update = self._with_last_update(u, grid, self.form.order)
        bands = LayerBands.of_missed(truth - states, update, grid)
        return None if bands is None else replace(self, bands=bands)

    def confident(self) -> LayerBands:
        """The bands, or an error."""
        if self.bands is None:
            raise InputError(
                "this model has no bands: its file was written without them, or too few functions were held "
                "out. Give functions that it has not seen to calibrate(u, s)."
            )
        return self.bands

    def _with_last_update(self, u: Any, grid: Grid, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        form = self.form
        channels = form.channels(u, grid, order)
        start = None
        if self.first is not None:
            there = u if grid == form.grid else form.at_training_grid(u, grid, order)
            start = form.states(predicted_rows(self.first, form.inputs.trusted_rows(there)))
            start = start if grid == form.grid else resampled(start, form.grid, grid)
        return self.chain.with_last_update(channels, start, grid)

    def finished(self, states: np.ndarray, there: Places) -> Any:
        """What layers say on a grid, as outputs in the user's shapes."""
        form = self.form
        if there.between is None:
            return form.values(states, there.grid, there.order, there.shape)
        fields = there.grid.with_repeats(states) * form.size
        n, c = fields.shape[:2]
        rows = interpolate(there.grid.points, fields.reshape(n * c, -1).T, there.between).T
        return form.outputs.unpacked(rows.reshape(n, -1), there.shape)


def roll_out(found: Layered, u0: np.ndarray, steps: int) -> np.ndarray:
    """States (n, steps, *shape) from u0 (n, *shape); NaN after one has left what the training covers."""
    form = found.form
    if len(form.parts) > 1 or form.parts[0].channels != max(1, form.outputs.components):
        raise InputError("rollout needs a model whose outputs are like its inputs: a step u(t) -> u(t + h).")
    out = np.full((len(u0), steps, *u0.shape[1:]), np.nan)
    state, going, there = u0, np.arange(len(u0)), Places(form.grid, form.order)
    for k in range(steps):
        strange = found.strange(state, form.grid, form.order)
        if strange.any():
            warnings.warn(
                f"{int(strange.sum())} of {len(u0)} functions are no longer like the training functions "
                f"after {k} steps (the first: row {going[np.argmax(strange)]}). Their rollout stops there. "
                "Train on functions like these, or on more of them.",
                ExtrapolationWarning,
                stacklevel=3,
            )
            state, going = state[~strange], going[~strange]
        if not len(going):
            break
        predicted = np.asarray(found.finished(found.states(state, form.grid, form.order), there))
        state = predicted.reshape(len(going), *u0.shape[1:])
        out[going, k] = state
    return out
