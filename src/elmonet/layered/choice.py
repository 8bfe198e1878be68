"""The fit of a layered model: choose where to start, choose settings, fit the chain."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from elmonet.estimators.deeponet import ELMDeepONet
from elmonet.forms.training import Training
from elmonet.layered.bands import HeldOutFields, WindowNovelty
from elmonet.layered.chain import Chain, LayerData, LayerRecord, error_before, fit_chain, held_out_of
from elmonet.layered.features import LayerSettings
from elmonet.layered.fields import FieldForm, find_fields
from elmonet.layered.fitted import FittedChain, left_out_rows
from elmonet.layered.grid import Grid, Symmetry, symmetries_of
from elmonet.metrics import relative_l2
from elmonet.uncertainty.error_estimate import ErrorEstimate, reason_unknown

# Trials, on few functions with few features.
_TRIAL_FUNCTIONS = 300
_TRIAL_WIDTH = 300  # random features
_TRIAL_ROWS = 64  # points per function
_CLOSE = 1.5  # starts with errors within this factor of the least are tried again
_WIDER = 4  # with this many times as many features
_BETTER = 0.98  # a setting is changed if the error falls below this part
_SYMMETRY_HOLDS = 1.1  # largest ratio of the errors of images and of functions
_MOST_VALUES_FOR_IMAGES = 1_000_000  # output values, above which symmetries are not worth their time

# The chain.
_MOST_LAYERS = 8
_RADIUS = 31  # of a window of one axis, at most
_WIDTH = 5000  # random features, for fields of one axis
_WIDTH_OF_MORE = 1500  # and of more axes
_FIRST_NARROWER = 4  # the first layer from zero has this many times fewer features, for fields of one axis
_ROWS_PER_FEATURE = 20  # values per random feature
_FEWEST_FEATURES = 50
_MOST_ROWS = 200_000  # points of all functions at which a layer is fitted
_FEWEST_ROWS = 8  # points of each image of a function
_MOST_VALUES = 4_000_000  # output values to which layers are fitted
_FEWEST_FUNCTIONS = 300  # to which they are fitted, however many values these have


@dataclass(frozen=True)
class Plan:
    """The settings of a chain.

    Attributes
    ----------
    first : settings of the first layer, if the chain starts from zero.
    other : settings of the other layers.
    rows : points per function at which layers are fitted.
    symmetries : that all layers have.
    """

    first: LayerSettings
    other: LayerSettings
    rows: int
    symmetries: tuple[Symmetry, ...] = ()

    def rows_of_image(self, n: int) -> int:
        """Return the points per image of each of n functions."""
        return max(_FEWEST_ROWS, min(self.rows, _MOST_ROWS // n) // (1 + len(self.symmetries)))

    def settings(self, layers: int, from_zero: bool) -> list[LayerSettings]:
        """Return the settings of each layer."""
        return [self.first if k == 0 and from_zero else self.other for k in range(layers)]

    def with_width(self, width: int, first: int | None = None) -> Plan:
        """Return the plan with this many random features per layer; `first`: in a first layer from zero."""
        begin = replace(self.first, width=first or width)
        return replace(self, first=begin, other=replace(self.other, width=width))


def find_layer_data(
    training: Training, sensors: Any, periodic: bool | None, seed: int
) -> tuple[FieldForm, LayerData, np.ndarray]:
    """Return the form of the training functions, those used as layers see them, and their indices (n,).

    Fields of many points hold so many windows that some of the functions are enough. Raises `InputError` if
    inputs and outputs are not fields on one uniform grid.
    """
    form, u, s = find_fields(training, sensors, periodic)
    groups = None if training.groups is None else training.groups.numbers
    data = LayerData(form.grid, u, s, groups=groups, units=form.outputs.sizes)
    most = max(_FEWEST_FUNCTIONS, _MOST_VALUES // form.grid.size)
    if len(u) <= most:
        return form, data, np.arange(len(u))
    used = np.sort(np.random.default_rng(seed).permutation(len(u))[:most])
    return form, data.of(used), used


def fit_layers(
    form: FieldForm,
    data: LayerData,
    used: np.ndarray,
    starts: Sequence[ELMDeepONet | None],
    *,
    layers: int | None,
    width: int | None,
    seed: int,
    deadline: float,
    tell: Callable[[str, float, float], None],
    worth: float = np.inf,
) -> FittedChain | None:
    """Fit a chain from the best of some starts; return None if it is not worth its time.

    Parameters
    ----------
    form, data, used : the functions, without a start, as `find_layer_data` returns them.
    starts : fitted global models, or None for a chain from zero.
    layers, width : as in `LayeredELMDeepONet`.
    seed : of the random features and of the held-out functions.
    deadline : time after which no layer and no trial is started.
    tell : called as ``tell(what, done, total)``.
    worth : give up if the error on few functions exceeds this part of the error of the last start.
    """
    plan = _default_plan(form.grid)
    first = [None if model is None else form.states(left_out_rows(model)[used]) for model in starts]
    trials = [replace(data, first=states) for states in first]
    best: int | None = 0
    if len(trials) > 1 or worth < np.inf:
        tell("layers on few functions", 0, 1)
        limit = np.inf if worth == np.inf else worth * error_before(_few(trials[-1], seed), seed)
        best = _best_start(trials, plan, seed, limit)
    if best is None:
        return None
    data = trials[best]
    tell("settings on few functions", 0, 1)
    plan = _choose_plan(data, plan, seed, deadline)
    most = _MOST_LAYERS if layers is None else layers
    widths = _default_width(form.grid, len(data.u)) if width is None else (width, width)
    done = 0

    def report(record: LayerRecord) -> None:
        nonlocal done
        done += 1
        tell(f"layer {done}: {record.error:.3g}", done, most)

    chain = fit_chain(
        data,
        plan.with_width(*widths).settings(most, data.first is None),
        seed,
        rows=plan.rows_of_image(len(data.u)),
        images=plan.symmetries,
        all_layers=layers is not None,
        deadline=deadline,
        tell=report,
    )
    before = None if data.first is None else error_before(data, seed)
    error = chain.error if before is None else min(chain.error, before)
    rows = np.flatnonzero(held_out_of(len(data.u), seed, data.groups))
    held_out, estimate = data.of(rows), ErrorEstimate(error, None, "held out")
    predicted, update = chain.with_last_update(held_out.u, held_out.first, data.grid)
    if reason := reason_unknown(data.s, len(data.s)):
        estimate = ErrorEstimate(reason=reason)
    elif chain.errors is not None:
        independent = len(data.u) if held_out.groups is None else int(held_out.groups.max()) + 1
        each = form.outputs.component_errors(*(A.reshape(len(rows), -1) for A in (predicted, held_out.s)))
        names = () if each is None else zip(form.outputs.component_names, map(float, each), strict=True)
        estimate = ErrorEstimate.of(
            chain.errors, "held out", stated=error, independent=independent, components=tuple(names)
        )
    return FittedChain(
        inputs=form.inputs,
        outputs=form.outputs,
        estimate=estimate,
        form=form,
        first=starts[best],
        chain=chain,
        first_error=before,
        held_out_error=error,
        symmetries=plan.symmetries,
        windows=WindowNovelty.of(data.u, form.grid, plan.other),
        held_out=HeldOutFields(used[rows], held_out.s, predicted, update, held_out.groups),
        global_model=next((start for start in starts if start is not None), None),
    )


def _default_plan(grid: Grid) -> Plan:
    """Return settings that suit many fields: windows as wide as one axis, small windows of more axes."""
    d = len(grid.shape)
    if d == 1:
        half = (grid.shape[0] - 1) // 2
        spacing = max(1, round(half / _RADIUS))
        window = (min(_RADIUS, half // spacing),)
        shared: dict[str, Any] = {"activation": "tanh", "history": 2}
        first = LayerSettings(window, (spacing,), window, widths=(0.1, 0.2), scale=0.8, **shared)
        return Plan(first, replace(first, widths=(0.05, 0.1), scale=0.5), rows=48)
    radius, products = ((2,) * d, (1,) * d) if d == 2 else ((1,) * d, (0,) * d)
    other = LayerSettings(radius, (1,) * d, (1,) * d, products=products, differences=True, history=4)
    return Plan(other, other, rows=128)


def _default_width(grid: Grid, n: int) -> tuple[int, int]:
    """Return the random features of a layer fitted to n functions, and of a first layer from zero."""
    one_axis = len(grid.shape) == 1
    most = _WIDTH if one_axis else _WIDTH_OF_MORE
    width = int(max(_FEWEST_FEATURES, min(most, n * grid.size // _ROWS_PER_FEATURE)))
    return width, min(width, most // _FIRST_NARROWER) if one_axis else width


def _alternatives(plan: Plan, grid: Grid) -> Iterator[list[Plan]]:
    """Yield, for each setting in turn, the plans in which it is changed."""

    def both(**changes: Any) -> Plan:
        return replace(plan, first=replace(plan.first, **changes), other=replace(plan.other, **changes))

    other = plan.other
    if len(grid.shape) == 1:
        for factor in (0.5, 2.0):
            widths = tuple(factor * w for w in other.widths)
            yield [replace(plan, other=replace(other, widths=widths))]
        yield [replace(plan, other=replace(other, scale=2 * other.scale))]
    else:
        reach = min(grid.shape) // 8
        yield [both(spacing=(h,) * len(grid.shape)) for h in (2, 4) if h <= reach]
        yield [both(activation="tanh", scale=0.5)]


def _few(data: LayerData, seed: int) -> LayerData:
    """Return the few functions of trials; there, components count alike."""
    some = np.random.default_rng(seed).permutation(len(data.u))[:_TRIAL_FUNCTIONS]
    return replace(data.of(some), units=None)


def _trial(few: LayerData, plan: Plan, seed: int, width: int = _TRIAL_WIDTH) -> Chain:
    """Fit a short chain of narrow layers."""
    return fit_chain(
        few,
        plan.with_width(width).settings(2 + (few.first is None), few.first is None),
        seed,
        rows=min(plan.rows, _TRIAL_ROWS) // (1 + len(plan.symmetries)),
        images=plan.symmetries,
        all_layers=True,
    )


def _best_start(starts: Sequence[LayerData], plan: Plan, seed: int, limit: float) -> int | None:
    """Return the index of the start of least error on few functions; None if that exceeds the limit.

    Starts that are close are tried again with more features.
    """
    few = [_few(data, seed) for data in starts]
    errors = [_trial(data, plan, seed).error for data in few]
    if min(errors) > limit:
        return None
    close = [i for i, error in enumerate(errors) if error <= _CLOSE * min(errors)]
    if len(close) > 1:
        errors = [
            _trial(data, plan, seed, _WIDER * _TRIAL_WIDTH).error if i in close else np.inf
            for i, data in enumerate(few)
        ]
    return int(np.argmin(errors))


def _choose_plan(data: LayerData, plan: Plan, seed: int, deadline: float) -> Plan:
    """Return the plan of least error on few functions, changing one setting at a time until the deadline."""
    few = _few(data, seed)
    best, chain = plan, _trial(few, plan, seed)
    for k in range(len(list(_alternatives(plan, data.grid)))):
        for changed in list(_alternatives(best, data.grid))[k]:
            if perf_counter() > deadline:
                return best
            other = _trial(few, changed, seed)
            if other.error < _BETTER * chain.error:
                best, chain = changed, other
    if perf_counter() > deadline or data.s.size > _MOST_VALUES_FOR_IMAGES:
        return best
    # Every image costs as much as the functions themselves: only the symmetry that holds best is used.
    out = few.of(np.flatnonzero(held_out_of(len(few.u), seed, few.groups)))
    own = max(relative_l2(chain(out.u, out.first, out.grid), out.s), np.finfo(float).tiny)

    def ratio(symmetry: Symmetry) -> float:
        """Return the error for images of held-out functions over that for the functions themselves."""
        first = None if out.first is None else symmetry(out.first)
        return relative_l2(chain(symmetry(out.u), first, out.grid), symmetry(out.s)) / own

    ratios = {symmetry: ratio(symmetry) for symmetry in symmetries_of(data.grid)}
    symmetry = min(ratios, key=lambda known: ratios[known])
    return replace(best, symmetries=(symmetry,) if ratios[symmetry] < _SYMMETRY_HOLDS else ())
