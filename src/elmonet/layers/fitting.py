"""The fit of a layered model: choose where to begin, choose settings, fit the chain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from elmonet.certainty import error_interval
from elmonet.form.training import Training
from elmonet.layers.chain import Chain, LayerRecord, Problem, error_before, fit_chain, held_out_of
from elmonet.layers.choice import MOST_LAYERS, best_beginning, choose, default_width, few_of, first_plan
from elmonet.layers.first import left_out_rows
from elmonet.layers.forms import FieldForm, find_fields
from elmonet.layers.layered import Layered
from elmonet.layers.novelty import WindowNovelty
from elmonet.layers.unseen import HeldOut
from elmonet.model import ELMDeepONet

__all__ = ["find_problem", "fit_layers"]

_MOST_VALUES = 4_000_000  # of all functions that layers are fitted to
_LEAST_USED = 300  # functions


def find_problem(
    training: Training, sensors: Any, periodic: bool | None, seed: int
) -> tuple[FieldForm, Problem, np.ndarray]:
    """The training functions as layers see them, without a beginning, and which of them (n,) are used.

    Fields of many points hold so many windows that some functions are enough. Raises `InputError` if
    inputs and outputs are not fields on one uniform grid.
    """
    form, u, s = find_fields(training, sensors, periodic)
    groups = None if training.groups is None else training.groups.numbers
    problem = Problem(form.grid, u, s, groups=groups)
    most = max(_LEAST_USED, _MOST_VALUES // form.grid.size)
    if len(u) <= most:
        return form, problem, np.arange(len(u))
    used = np.sort(np.random.default_rng(seed).permutation(len(u))[:most])
    return form, problem.of(used), used


def fit_layers(
    form: FieldForm,
    problem: Problem,
    used: np.ndarray,
    beginnings: Sequence[ELMDeepONet | None],
    *,
    layers: int | None,
    width: int | None,
    seed: int,
    deadline: float,
    tell: Callable[[str, float, float], None],
    worth: float = np.inf,
) -> Layered | None:
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
    novelty = WindowNovelty.of(problem.u, form.grid, plan.other)
    held = _held_out(problem, chain, used, seed)
    interval = _interval(problem, chain, error, seed)
    facts = error, before, plan.symmetries, novelty, held.bands(form), interval, held
    return Layered(form, beginnings[best], chain, *facts)


def _held_out(problem: Problem, chain: Chain, used: np.ndarray, seed: int) -> HeldOut:
    """The functions that were held out of all layers, and what these say of them."""
    rows = np.flatnonzero(held_out_of(len(problem.u), seed, problem.groups))
    unseen = problem.of(rows)
    predicted, update = chain.with_last_update(unseen.u, unseen.first, problem.grid)
    return HeldOut(used[rows], unseen.s, predicted, update, unseen.groups)


def _interval(problem: Problem, chain: Chain, error: float, seed: int) -> tuple[float, float] | None:
    """Of the error, from those of the functions held out."""
    if chain.errors is None:
        return None
    independent = len(problem.u)
    if problem.groups is not None:
        independent = len(np.unique(problem.groups[held_out_of(independent, seed, problem.groups)]))
    return error_interval(chain.errors, problem.s[0].size, stated=error, independent=independent)
