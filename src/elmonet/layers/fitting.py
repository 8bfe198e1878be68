"""The fit of a layered model: choose settings, fit the chain, and what it gives for new functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from elmonet.form.training import Training
from elmonet.layers.chain import Chain, Problem, fit_chain
from elmonet.layers.choice import MOST_LAYERS, choose, default_width, first_plan
from elmonet.layers.first import fitted_first, left_out_rows
from elmonet.layers.forms import FieldForm, find_fields
from elmonet.layers.grid import Grid
from elmonet.layers.linked import linked_groups
from elmonet.layers.symmetry import Symmetry
from elmonet.layers.window import resampled
from elmonet.metrics import relative_l2
from elmonet.model import ELMDeepONet

__all__ = ["Layered", "fit_layers"]


@dataclass(frozen=True)
class Layered:
    """A fitted chain with the form of its data.

    `error`: of functions held out of all layers. `largest`: the largest value of a training input.
    """

    form: FieldForm
    first: Any
    chain: Chain
    error: float
    first_error: float | None
    symmetries: tuple[Symmetry, ...]
    largest: float

    def states(self, u: Any, grid: Grid, order: np.ndarray) -> np.ndarray:
        """Outputs (n, c, *shape) as layers see them, of inputs known at the points of a grid."""
        form = self.form
        channels = form.channels(u, grid, order)
        start = None
        if self.first is not None:
            there = u if grid == form.grid else form.at_training_grid(u, grid, order)
            start = form.states_of(self.first.predict(there, points=form.grid.points), form.grid)
            start = start if grid == form.grid else resampled(start, form.grid, grid)
        return self.chain(channels, start, grid)

    def predict(self, u: Any, grid: Grid, order: np.ndarray, shape: tuple[int, ...] | None) -> Any:
        """Outputs in the user's shapes at the points of a grid, whose order `order` sorts."""
        return self.form.values(self.states(u, grid, order), grid, order, shape)

    def rows(self, u: Any, grid: Grid, order: np.ndarray) -> np.ndarray:
        """Rows (n, c M) at the sorted points of a grid."""
        fields = grid.with_repeats(self.states(u, grid, order)) * self.form.size
        return fields.reshape(len(fields), -1)


def fit_layers(
    training: Training,
    given: tuple[Any, Any, Any, Any],
    *,
    first: Any,
    layers: int | None,
    width: int | None,
    periodic: bool | None,
    seed: int,
    begin: float,
    deadline: float,
    progress: Any,
) -> Layered:
    """The settings are those of `LayeredELMDeepONet`; `given`: u, s, points and sensors as they came."""
    u, s, points, sensors = given
    form, channels, states = find_fields(training, u, sensors, periodic)
    tell = progress or (lambda what, done, total: None)
    tell("the first model", 0, 1)
    plan, groups = first_plan(form.grid), linked_groups(training.X, training.y)
    linked = len(np.unique(groups)) < len(groups)
    problem = Problem(form.grid, channels, states, groups=groups if linked else None)
    model, least = None, np.inf
    if first is None:
        # A function left out is not new where its neighbours in time are known: then from nothing.
        first = "nothing" if linked else ("nothing", ELMDeepONet(random_state=seed))
    beginnings = first if isinstance(first, (tuple, list)) else (first,)
    from_nothing = problem
    for beginning in beginnings:
        known, trial = None, from_nothing
        if beginning != "nothing":
            known = fitted_first(beginning, u, s, points, sensors)
            start = form.states(left_out_rows(known))
            trial = Problem(form.grid, channels, states, start, problem.groups)
        error = choose(trial, plan, seed)[1] if len(beginnings) > 1 else 0.0
        if error < least:
            model, problem, least = known, trial, error
    tell("settings on few functions", 0, 1)
    plan, _ = choose(problem, plan, seed, deadline)
    most = MOST_LAYERS if layers is None else layers
    width = default_width(form.grid, len(channels)) if width is None else width
    done: list[float] = []

    def told(record: Any) -> None:
        done.append(record.error)
        tell(f"layer {len(done)}: {record.error:.3g}", len(done), most)

    chain = fit_chain(
        problem,
        plan.with_width(width).recipes(most, problem.first is None),
        seed,
        rows=plan.rows_of_image,
        images=plan.symmetries,
        all_layers=layers is not None,
        deadline=deadline,
        tell=told,
    )
    before = None if problem.first is None else relative_l2(problem.first, problem.s)
    error = chain.records[-1].error if chain.records else float(before or 1.0)
    largest = float(np.abs(training.X).max())
    return Layered(form, model, chain, error, before, plan.symmetries, largest)
