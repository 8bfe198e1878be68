"""A chain of layers, and its error on functions that are held out of all of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from elmonet._check import InputError
from elmonet.layers.features import Fields, Recipe
from elmonet.layers.grid import Grid
from elmonet.layers.layer import Functions, Layer, fit_layer
from elmonet.layers.symmetry import Symmetry
from elmonet.metrics import function_norms, reference_norms, relative_l2

__all__ = ["Chain", "LayerRecord", "Problem", "error_before", "fit_chain", "held_out_of"]

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
class Problem:
    """Training functions on a grid: inputs u (N, C, *shape) and outputs s (N, c, *shape), of order 1.

    `first` (N, c, *shape): left-out predictions of a global model, or None to begin from nothing.
    `groups` (N,): functions of the same number belong together.
    """

    grid: Grid
    u: np.ndarray
    s: np.ndarray
    first: np.ndarray | None = None
    groups: np.ndarray | None = None

    def of(self, rows: np.ndarray) -> Problem:
        """Some of the functions."""
        first = None if self.first is None else self.first[rows]
        groups = None if self.groups is None else np.unique(self.groups[rows], return_inverse=True)[1]
        return Problem(self.grid, self.u[rows], self.s[rows], first, groups)


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
            fields = fields.after(update, layer.features.recipe.history)
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


def error_before(problem: Problem, seed: int) -> float:
    """The error of the first model's left-out predictions, of the functions held out of all layers."""
    unseen = held_out_of(len(problem.u), seed, problem.groups)
    return np.inf if problem.first is None else relative_l2(problem.first[unseen], problem.s[unseen])


def fit_chain(
    problem: Problem,
    recipes: list[Recipe],
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
        seen = Functions(fields, problem.s[rest], sizes[rest]), Functions(unseen, problem.s[held_out], norms)
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
