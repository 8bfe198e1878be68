"""The fit of a layered model: choose where to begin, choose settings, fit the chain."""

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
from elmonet.layered.features import Recipe
from elmonet.layered.fields import FieldForm, find_fields
from elmonet.layered.fitted import FittedChain, left_out_rows
from elmonet.layered.grid import Grid, Symmetry, symmetries_of
from elmonet.metrics import relative_l2
from elmonet.uncertainty.error_estimate import ErrorEstimate, error_interval

__all__ = [
    "MOST_LAYERS",
    "Plan",
    "best_beginning",
    "choose",
    "default_width",
    "few_of",
    "find_problem",
    "first_plan",
    "fit_layers",
]

_FEW = 300  # functions on which settings are tried
_NARROW = 300  # features of a trial
_BETTER = 0.98  # of the error: less is no reason to change a setting
_HOLDS = 1.1  # times the error of new functions, that their images under a symmetry may have
_TRIAL_ROWS = 64  # points of a function in a trial
_CLOSE = 1.5  # times the least error of a beginning, below which another one is tried with more features
_WIDER = 4  # times as many
_RADIUS = 31  # of a window of one axis
MOST_LAYERS = 8
_WIDTH = 5000  # random features for fields of one axis; of more:
_WIDTH_OF_MORE = 1500
_FIRST = 4  # times fewer in a first layer of one axis, which only begins
_IMAGES = 1_000_000  # values of all outputs, above which images of the functions are not worth their time
_MOST_ROWS = 200_000  # points of all functions at which a layer is fitted
_ROWS_PER_FEATURE = 20  # values that it takes to determine a coefficient


@dataclass(frozen=True)
class Plan:
    """The settings of a chain: recipes of the first layer, if it begins from nothing, and of the others."""

    first: Recipe
    other: Recipe
    rows: int
    symmetries: tuple[Symmetry, ...] = ()

    def rows_of_image(self, n: int) -> int:
        """At how many points each image of n functions counts."""
        return max(8, min(self.rows, _MOST_ROWS // n) // (1 + len(self.symmetries)))

    def recipes(self, layers: int, from_nothing: bool) -> list[Recipe]:
        """One for each layer."""
        return [self.first if k == 0 and from_nothing else self.other for k in range(layers)]

    def with_width(self, width: int, first: int | None = None) -> Plan:
        """With so many random features in each layer, or others in a first one from nothing."""
        begin = replace(self.first, width=first or width)
        return replace(self, first=begin, other=replace(self.other, width=width))


def first_plan(grid: Grid) -> Plan:
    """What works for many fields; windows as wide as the grid along one axis, small along more."""
    if len(grid.shape) == 1:
        half = (grid.shape[0] - 1) // 2
        spacing = max(1, round(half / _RADIUS))
        window = (min(_RADIUS, half // spacing),)
        shared: dict[str, Any] = {"activation": "tanh", "history": 2}
        first = Recipe(window, (spacing,), window, widths=(0.1, 0.2), scale=0.8, **shared)
        return Plan(first, replace(first, widths=(0.05, 0.1), scale=0.5), rows=48)
    d = len(grid.shape)
    radius, beside = ((2,) * d, (1,) * d) if d == 2 else ((1,) * d, (0,) * d)
    other = Recipe(radius, (1,) * d, (1,) * d, products=beside, differences=True, history=4)
    return Plan(other, other, rows=128)


def default_width(grid: Grid, n: int) -> tuple[int, int]:
    """Random features for a chain on so many functions, and for a first layer from nothing."""
    one_axis = len(grid.shape) == 1
    most = _WIDTH if one_axis else _WIDTH_OF_MORE
    width = int(max(50, min(most, n * grid.size // _ROWS_PER_FEATURE)))
    return width, min(width, most // _FIRST) if one_axis else width


def alternatives(plan: Plan, grid: Grid) -> Iterator[list[Plan]]:
    """Other settings that are worth a trial: for each setting in turn, changes of the best plan so far."""

    def both(**how: Any) -> Plan:
        return replace(plan, first=replace(plan.first, **how), other=replace(plan.other, **how))

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


def few_of(problem: LayerData, seed: int) -> LayerData:
    """The few functions on which settings are tried."""
    return problem.of(np.random.default_rng(seed).permutation(len(problem.u))[:_FEW])


def best_beginning(problems: Sequence[LayerData], plan: Plan, seed: int, limit: float) -> int | None:
    """Which of some beginnings leads to the least error on few functions; None if that is above the limit.

    Those that are close are tried again with more features.
    """
    smalls = [few_of(problem, seed) for problem in problems]
    errors = [_tried(small, plan, seed).error for small in smalls]
    if min(errors) > limit:
        return None
    close = [i for i, error in enumerate(errors) if error <= _CLOSE * min(errors)]
    if len(close) > 1:
        errors = [
            _tried(small, plan, seed, _WIDER * _NARROW).error if i in close else np.inf
            for i, small in enumerate(smalls)
        ]
    return int(np.argmin(errors))


def _tried(small: LayerData, plan: Plan, seed: int, width: int = _NARROW) -> Chain:
    """A short chain of narrow layers."""
    return fit_chain(
        small,
        plan.with_width(width).recipes(2 + (small.first is None), small.first is None),
        seed,
        rows=min(plan.rows, _TRIAL_ROWS) // (1 + len(plan.symmetries)),
        images=plan.symmetries,
        all_layers=True,
    )


def choose(problem: LayerData, plan: Plan, seed: int, deadline: float) -> Plan:
    """The plan with the least error on few functions, one setting changed at a time until the deadline."""
    small = few_of(problem, seed)
    best, chain = plan, _tried(small, plan, seed)
    for k in range(len(list(alternatives(plan, problem.grid)))):
        for trial in list(alternatives(best, problem.grid))[k]:
            if perf_counter() > deadline:
                return best
            other = _tried(small, trial, seed)
            if other.error < _BETTER * chain.error:
                best, chain = trial, other
    if perf_counter() > deadline:
        return best
    if problem.s.size > _IMAGES:
        return best
    # Every image costs as much as the functions themselves: only the symmetry that holds best is used.
    unseen = small.of(np.flatnonzero(held_out_of(len(small.u), seed, small.groups)))
    ratios = {symmetry: _ratio(symmetry, chain, unseen) for symmetry in symmetries_of(problem.grid)}
    symmetry = min(ratios, key=lambda known: ratios[known])
    holds = ratios[symmetry] < _HOLDS
    return replace(best, symmetries=(symmetry,) if holds else ())


def _ratio(symmetry: Symmetry, chain: Chain, unseen: LayerData) -> float:
    """The error of images of new functions over that of the functions, by a chain that has seen no images."""
    first = unseen.first
    own = chain(unseen.u, first, unseen.grid)
    image = chain(symmetry(unseen.u), None if first is None else symmetry(first), unseen.grid)
    return relative_l2(image, symmetry(unseen.s)) / max(relative_l2(own, unseen.s), np.finfo(float).tiny)


_MOST_VALUES = 4_000_000  # of all functions that layers are fitted to
_LEAST_USED = 300  # functions


def find_problem(
    training: Training, sensors: Any, periodic: bool | None, seed: int
) -> tuple[FieldForm, LayerData, np.ndarray]:
    """The training functions as layers see them, without a beginning, and which of them (n,) are used.

    Fields of many points hold so many windows that some functions are enough. Raises `InputError` if
    inputs and outputs are not fields on one uniform grid.
    """
    form, u, s = find_fields(training, sensors, periodic)
    groups = None if training.groups is None else training.groups.numbers
    problem = LayerData(form.grid, u, s, groups=groups)
    most = max(_LEAST_USED, _MOST_VALUES // form.grid.size)
    if len(u) <= most:
        return form, problem, np.arange(len(u))
    used = np.sort(np.random.default_rng(seed).permutation(len(u))[:most])
    return form, problem.of(used), used


def fit_layers(
    form: FieldForm,
    problem: LayerData,
    used: np.ndarray,
    beginnings: Sequence[ELMDeepONet | None],
    *,
    layers: int | None,
    width: int | None,
    seed: int,
    deadline: float,
    tell: Callable[[str, float, float], None],
    worth: float = np.inf,
) -> FittedChain | None:
    """A chain from the best of some beginnings: fitted global models, or None for none.

    Parameters
    ----------
    form, problem, used : the functions, without a beginning, as `find_problem` gives them.
    layers, width : as in `LayeredELMDeepONet`.
    seed : of the random features, and of the functions that are held out.
    deadline : no layer is begun after it, and no setting is tried.
    worth : times the error of the last beginning's left-out predictions, above which, on few functions, a
        chain is given up: then None.
    """
    plan = first_plan(form.grid)
    starts = [None if model is None else form.states(left_out_rows(model)[used]) for model in beginnings]
    trials = [replace(problem, first=start) for start in starts]
    best: int | None = 0
    if len(trials) > 1 or worth < np.inf:
        tell("layers on few functions", 0, 1)
        limit = np.inf if worth == np.inf else worth * error_before(few_of(trials[-1], seed), seed)
        best = best_beginning(trials, plan, seed, limit)
    if best is None:
        return None
    problem = trials[best]
    tell("settings on few functions", 0, 1)
    plan = choose(problem, plan, seed, deadline)
    most = MOST_LAYERS if layers is None else layers
    widths = default_width(form.grid, len(problem.u)) if width is None else (width, width)
    done: list[float] = []

    def told(record: LayerRecord) -> None:
        done.append(record.error)
        tell(f"layer {len(done)}: {record.error:.3g}", len(done), most)

    chain = fit_chain(
        problem,
        plan.with_width(*widths).recipes(most, problem.first is None),
        seed,
        rows=plan.rows_of_image(len(problem.u)),
        images=plan.symmetries,
        all_layers=layers is not None,
        deadline=deadline,
        tell=told,
    )
    before = None if problem.first is None else error_before(problem, seed)
    error = chain.error if before is None else min(chain.error, before)
    return FittedChain(
        inputs=form.inputs,
        outputs=form.outputs,
        estimate=ErrorEstimate(error, _interval(problem, chain, error, seed), "held out"),
        form=form,
        first=beginnings[best],
        chain=chain,
        first_error=before,
        held_out_error=error,
        symmetries=plan.symmetries,
        windows=WindowNovelty.of(problem.u, form.grid, plan.other),
        held_out=_held_out(problem, chain, used, seed),
    )


def _held_out(problem: LayerData, chain: Chain, used: np.ndarray, seed: int) -> HeldOutFields:
    """The functions that were held out of all layers, and what these say of them."""
    rows = np.flatnonzero(held_out_of(len(problem.u), seed, problem.groups))
    unseen = problem.of(rows)
    predicted, update = chain.with_last_update(unseen.u, unseen.first, problem.grid)
    return HeldOutFields(used[rows], unseen.s, predicted, update, unseen.groups)


def _interval(problem: LayerData, chain: Chain, error: float, seed: int) -> tuple[float, float] | None:
    """Of the error, from those of the functions held out."""
    if chain.errors is None:
        return None
    independent = len(problem.u)
    if problem.groups is not None:
        independent = len(np.unique(problem.groups[held_out_of(independent, seed, problem.groups)]))
    return error_interval(chain.errors, problem.s[0].size, stated=error, independent=independent)
