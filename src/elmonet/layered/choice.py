"""The fit of a layered model: choose where to start, choose settings, fit the chain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from time import perf_counter
from typing import Any

import numpy as np

from elmonet.estimators.deeponet import ELMDeepONet
from elmonet.forms.training import Training
from elmonet.layered.bands import HeldOutFields, WindowNovelty
from elmonet.layered.chain import Chain, LayerData, LayerRecord, error_before, fit_chain, held_out_of
from elmonet.layered.fields import FieldForm, find_fields
from elmonet.layered.fitted import FittedChain, left_out_rows
from elmonet.layered.grid import Symmetry, symmetries_of
from elmonet.layered.layer import shown_in_turn
from elmonet.layered.settings import (
    CHANGES_OF_MORE,
    CHANGES_OF_ONE,
    FEWEST_FEATURES,
    Fields,
    Plan,
    default_plan,
    default_width,
)
from elmonet.layered.source import are_steps, source_helps
from elmonet.metrics import relative_l2
from elmonet.uncertainty.error_estimate import ErrorEstimate, reason_unknown

# Trials, on few functions with few features.
_TRIAL_FUNCTIONS = 300
_TRIAL_VALUES = 300_000  # output values, which may be of fewer functions
_FEWEST_TRIAL_FUNCTIONS = 80
_TRIAL_WIDTH = 300  # random features
_TRIAL_ROWS = 64  # points per function
_CLOSE = 1.5  # starts with errors within this factor of the least are tried again
_WIDER = 4  # with this many times as many features, where layers have as many
_BEHIND = 1.3  # a setting whose error after its first layer exceeds the best one's by this factor is dropped
_OUT_OF_REACH = 30.0  # a chain whose error exceeds the limit by this factor does not come down to it
_CHOICE_SHARE = 0.4  # of the time that is left, for the choice of settings
_BETTER = 0.98  # a setting is changed if the error falls below this part
_SYMMETRY_HOLDS = 1.1  # largest ratio of the errors of images and of functions
_MOST_VALUES_FOR_PAIRS = 1_000_000  # output values, above which layers have one symmetry only

# The chain.
_MOST_LAYERS = 8
_MOST_THAT_SMOOTH = 6  # as many layers of those that see far: the first ones gain nearly all
_MOST_VALUES = 8_000_000  # output values to which layers are fitted
_FEWEST_FUNCTIONS = 300  # to which they are fitted, however many values these have


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
    deadline : no layer and no trial is started that is expected to end later. One layer is fitted in any
        case, with fewer features if time is short, unless `worth` is given.
    tell : called as ``tell(what, done, total)``.
    worth : give up if the error on few functions exceeds this part of the error of the last start.
    """
    plan = _first_plan(data, seed)
    first = [None if model is None else form.states(left_out_rows(model)[used]) for model in starts]
    trials = [replace(data, first=states) for states in first]
    best: int | None = 0
    tried: Chain | None = None
    if len(trials) > 1 or worth < np.inf:
        tell("layers on few functions", 0, 1)
        limit = np.inf if worth == np.inf else worth * error_before(_few(trials[-1], seed), seed)
        best, tried = _best_start(trials, plan, seed, limit, deadline)
    if best is None:
        return None
    data = trials[best]
    tell("settings on few functions", 0, 1)
    plan, tried = _choose_plan(data, plan, seed, deadline, tried)
    smooths = bool(plan.other.kernels)
    most = layers if layers is not None else _MOST_THAT_SMOOTH if smooths else _MOST_LAYERS
    widths = default_width(form.grid, len(data.u), smooths) if width is None else (width, width)
    longer = _longer(data, plan, widths, tried, deadline)
    if longer > 1 and worth < np.inf:
        return None
    if longer > 1:
        own, begin = (max(min(w, FEWEST_FEATURES), int(w / np.sqrt(longer))) for w in widths)
        widths = own, begin
    done = 0

    def report(record: LayerRecord) -> None:
        nonlocal done
        done += 1
        tell(f"layer {done}: {record.error:.3g}", done, most)

    chain = fit_chain(
        data,
        plan.with_width(*widths).settings(most, data.first is None),
        seed,
        rows=plan.rows_of(len(data.u)),
        images=plan.symmetries,
        source=plan.source,
        all_layers=layers is not None,
        deadline=deadline,
        tell=report,
    )
    before = None if data.first is None else error_before(data, seed)
    error = chain.error if before is None else min(chain.error, before)
    rows = np.flatnonzero(held_out_of(len(data.u), seed, data.groups))
    held_out, estimate = data.of(rows), ErrorEstimate(error, None, "held out")
    predicted, update = chain.with_last_update(held_out.u, held_out.first, data.grid, fast=True)
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


def _first_plan(data: LayerData, seed: int) -> Plan:
    """Return the default plan; with a source where that helps, if all axes are periodic.

    Layers commute with shifts along periodic axes. Along others, the position is an input, and a source,
    which is rough at borders, would not be the same field on another grid.
    """
    few = _few(data, seed)
    plan = default_plan(data.grid, are_steps(few.u, few.s))
    if not all(data.grid.periodic):
        return plan
    out = held_out_of(len(few.u), seed, few.groups)
    fitted, held_out = (Fields(few.u[own], few.s[own]) for own in (~out, out))
    return replace(plan, source=source_helps(fitted, held_out, data.grid, plan.other))


def _few(data: LayerData, seed: int) -> LayerData:
    """Return the few functions of trials; there, components count alike."""
    most = min(_TRIAL_FUNCTIONS, max(_FEWEST_TRIAL_FUNCTIONS, _TRIAL_VALUES // data.grid.size))
    some = np.random.default_rng(seed).permutation(len(data.u))[:most]
    return replace(data.of(some), units=None)


def _trial(
    few: LayerData,
    plan: Plan,
    seed: int,
    width: int = _TRIAL_WIDTH,
    *,
    limit: float = np.inf,
    deadline: float,
) -> Chain:
    """Fit a short chain of narrow layers; `limit` and `deadline` as in `fit_chain`."""
    return fit_chain(
        few,
        plan.with_width(width).settings(2 + (few.first is None), few.first is None),
        seed,
        rows=_trial_rows(plan),
        images=plan.symmetries,
        source=plan.source,
        all_layers=True,
        deadline=deadline,
        limit=limit,
    )


def _trial_rows(plan: Plan) -> int:
    return min(plan.rows, _TRIAL_ROWS)


def _longer(data: LayerData, plan: Plan, widths: tuple[int, int], tried: Chain, deadline: float) -> float:
    """Return how many times longer than there is time the first layer would take, from that of a trial.

    The normal equations of p features at so many points take most of it.
    """
    if deadline == np.inf:
        return 0.0
    first, n = tried.records[0], len(data.u)
    more = (widths[1] if data.first is None else widths[0]) - _TRIAL_WIDTH
    features = max(1.0, (first.features + more) / first.features)
    points = n * plan.rows_of(n) / (min(n, _TRIAL_FUNCTIONS) * _trial_rows(plan))
    left = deadline - perf_counter()
    return float(first.seconds * points * features**2 / left) if left > 0 else np.inf


def _best_start(
    starts: Sequence[LayerData], plan: Plan, seed: int, limit: float, deadline: float
) -> tuple[int | None, Chain | None]:
    """Return the index of the start of least error on few functions, and its chain; None beyond the limit.

    Starts that are close are tried again with more features, if the layers will have more. The last start
    comes first: if time is short, it is the only one.
    """
    few = [_few(data, seed) for data in starts]
    chains: dict[int, Chain] = {}
    until = perf_counter() + _CHOICE_SHARE * (deadline - perf_counter()) if deadline < np.inf else np.inf
    took = 0.0
    for i in reversed(range(len(few))):
        begin = perf_counter()
        if not chains or begin + took <= until:
            chains[i] = _trial(few[i], plan, seed, limit=_OUT_OF_REACH * limit, deadline=deadline)
            took = perf_counter() - begin
    errors = {i: chain.least_error for i, chain in chains.items()}
    if min(errors.values()) > limit:
        return None, None
    close = sorted(i for i, error in errors.items() if error <= _CLOSE * min(errors.values()))
    most = default_width(few[0].grid, len(starts[0].u), bool(plan.other.kernels))[0]
    wider = min(_WIDER * _TRIAL_WIDTH, most)
    if wider > _TRIAL_WIDTH and len(close) > 1 and perf_counter() + _WIDER**2 * took * len(close) <= until:
        errors = {
            i: min(errors[i], _trial(few[i], plan, seed, wider, deadline=deadline).least_error) for i in close
        }
    best = min(sorted(errors), key=errors.__getitem__)
    return best, chains[best]


def _choose_plan(
    data: LayerData, plan: Plan, seed: int, deadline: float, chain: Chain | None
) -> tuple[Plan, Chain]:
    """Return the plan of least error on few functions, and its chain; `chain` is that of the first plan.

    One setting is changed at a time, in a part of the time until the deadline. Where layers smooth and
    functions are shown in turn, symmetries come first: the mean over images bears more features. With fewer
    functions, a chain without symmetries is too uncertain to find them.
    """
    few = _few(data, seed)
    until = perf_counter() + _CHOICE_SHARE * (deadline - perf_counter()) if deadline < np.inf else np.inf
    best, chain = plan, chain or _trial(few, plan, seed, deadline=until)
    took = sum(record.seconds for record in chain.records)
    out = held_out_of(len(few.u), seed, few.groups)
    early = bool(plan.other.kernels) and shown_in_turn(int(np.sum(~out)), data.grid.size)
    if early and perf_counter() + took <= until:
        best = replace(plan, symmetries=_symmetries(data, few, plan, seed, chain))
        if best.symmetries:
            chain = _trial(few, best, seed, deadline=until)
            took = sum(record.seconds for record in chain.records)
    for change in CHANGES_OF_ONE if len(data.grid.shape) == 1 else CHANGES_OF_MORE:
        for changed in change(best, data.grid):
            if perf_counter() + took > until:
                return best, chain
            other = _trial(few, changed, seed, limit=_BEHIND * chain.records[0].error, deadline=until)
            if other.least_error < _BETTER * chain.least_error:
                best, chain = changed, other
    if not early and perf_counter() <= until:
        best = replace(best, symmetries=_symmetries(data, few, best, seed, chain))
    elif not best.other.kernels:
        best = replace(best, symmetries=best.symmetries[:1])
    return best, chain


def _symmetries(data: LayerData, few: LayerData, plan: Plan, seed: int, chain: Chain) -> tuple[Symmetry, ...]:
    """Return the symmetries of the operator that layers are to have, by a chain that does not know of them.

    Every image costs as much as the functions themselves: only the symmetry that holds best is used; where
    layers smooth, which are narrow, two that commute, and their product, unless there are many values.
    """
    out = few.of(np.flatnonzero(held_out_of(len(few.u), seed, few.groups)))
    seen = chain.fields(out.u, out.first, out.grid)
    own = max(relative_l2(chain.apply(seen, out.grid)[0], out.s), np.finfo(float).tiny)

    def ratio(symmetry: Symmetry) -> float:
        """Return the error for images of held-out functions over that for the functions themselves."""
        return relative_l2(chain.apply(seen.image(symmetry), out.grid)[0], symmetry(out.s)) / own

    ratios = {symmetry: ratio(symmetry) for symmetry in symmetries_of(data.grid)}
    holds = sorted((s for s in ratios if ratios[s] < _SYMMETRY_HOLDS), key=lambda known: ratios[known])
    pairs = plan.other.kernels and data.s.size <= _MOST_VALUES_FOR_PAIRS
    for one, another in combinations(holds, 2) if pairs else ():
        if (both := one.after(another)) is not None:
            return one, another, both
    return tuple(holds[:1])
