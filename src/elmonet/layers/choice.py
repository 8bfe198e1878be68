"""The settings of a chain, chosen on few functions with few features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from elmonet.layers.chain import Chain, Problem, fit_chain, held_out_of
from elmonet.layers.features import Recipe
from elmonet.layers.grid import Grid
from elmonet.layers.symmetry import Symmetry, symmetries_of
from elmonet.metrics import relative_l2

__all__ = ["MOST_LAYERS", "Plan", "choose", "default_width", "first_plan"]

_FEW = 300  # functions on which settings are tried
_NARROW = 300  # features of a trial
_BETTER = 0.98  # of the error: less is no reason to change a setting
_HOLDS = 1.1  # times the error of new functions, that their images under a symmetry may have
_TRIAL_ROWS = 64  # points of a function in a trial
_RADIUS = 31  # of a window of one axis
MOST_LAYERS = 8
_WIDTH = {1: 2500}  # random features for fields of one axis; of more:
_WIDTH_OF_MORE = 1000
_ROWS_PER_FEATURE = 20  # values that it takes to determine a coefficient


@dataclass(frozen=True)
class Plan:
    """The settings of a chain: recipes of the first layer, if it begins from nothing, and of the others."""

    first: Recipe
    other: Recipe
    rows: int
    symmetries: tuple[Symmetry, ...] = ()

    @property
    def rows_of_image(self) -> int:
        """At how many points each image of a function counts."""
        return max(8, self.rows // (1 + len(self.symmetries)))

    def recipes(self, layers: int, from_nothing: bool) -> list[Recipe]:
        """One for each layer."""
        return [self.first if k == 0 and from_nothing else self.other for k in range(layers)]

    def with_width(self, width: int) -> Plan:
        """With so many random features in each layer."""
        return replace(self, first=replace(self.first, width=width), other=replace(self.other, width=width))


def first_plan(grid: Grid) -> Plan:
    """What works for many fields; windows as wide as the grid along one axis, small along more."""
    if len(grid.shape) == 1:
        half = (grid.shape[0] - 1) // 2
        spacing = max(1, round(half / _RADIUS))
        window = (min(_RADIUS, half // spacing),)
        shared: dict[str, Any] = {"activation": "tanh", "history": 2}
        first = Recipe(window, (spacing,), window, widths=(0.1, 0.2), scale=0.8, **shared)
        return Plan(first, replace(first, widths=(0.05, 0.1), scale=0.5), rows=32)
    d = len(grid.shape)
    radius, beside = ((2,) * d, (1,) * d) if d == 2 else ((1,) * d, (0,) * d)
    other = Recipe(radius, (1,) * d, (1,) * d, products=beside, differences=True, history=4)
    return Plan(other, other, rows=256)


def default_width(grid: Grid, n: int) -> int:
    """Random features for a chain on so many functions."""
    most = _WIDTH.get(len(grid.shape), _WIDTH_OF_MORE)
    return int(max(50, min(most, n * grid.size // _ROWS_PER_FEATURE)))


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


def choose(problem: Problem, plan: Plan, seed: int, deadline: float = -np.inf) -> tuple[Plan, float]:
    """The plan with the least error on few functions, one setting changed at a time, and that error.

    Other plans are tried until the deadline.
    """
    few = np.random.default_rng(seed).permutation(len(problem.u))[:_FEW]
    small = problem.of(few)

    def tried(trial: Plan) -> Chain:
        narrow, layers = trial.with_width(_NARROW), 2 + (problem.first is None)
        return fit_chain(
            small,
            narrow.recipes(layers, problem.first is None),
            seed,
            rows=min(trial.rows, _TRIAL_ROWS) // (1 + len(trial.symmetries)),
            images=trial.symmetries,
            all_layers=True,
        )

    best, chain = plan, tried(plan)
    for k in range(len(list(alternatives(plan, problem.grid)))):
        for trial in list(alternatives(best, problem.grid))[k]:
            if perf_counter() > deadline:
                return best, chain.error
            other = tried(trial)
            if other.error < _BETTER * chain.error:
                best, chain = trial, other
    if perf_counter() > deadline:
        return best, chain.error
    # Every image costs as much as the functions themselves: only the symmetry that holds best is used.
    unseen = small.of(np.flatnonzero(held_out_of(len(small.u), seed, small.groups)))
    ratios = {symmetry: _ratio(symmetry, chain, unseen) for symmetry in symmetries_of(problem.grid)}
    symmetry = min(ratios, key=lambda known: ratios[known])
    holds = ratios[symmetry] < _HOLDS
    return replace(best, symmetries=(symmetry,) if holds else ()), chain.error


def _ratio(symmetry: Symmetry, chain: Chain, unseen: Problem) -> float:
    """The error of images of new functions over that of the functions, by a chain that has seen no images."""
    first = unseen.first
    own = chain(unseen.u, first, unseen.grid)
    image = chain(symmetry(unseen.u), None if first is None else symmetry(first), unseen.grid)
    return relative_l2(image, symmetry(unseen.s)) / max(relative_l2(own, unseen.s), np.finfo(float).tiny)
