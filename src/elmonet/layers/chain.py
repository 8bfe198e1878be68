"""A chain of layers, and its error on functions that are held out of all of them."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from elmonet.layers.features import Fields, Recipe
from elmonet.layers.grid import Grid
from elmonet.layers.layer import Layer, fit_layer
from elmonet.layers.symmetry import Symmetry
from elmonet.metrics import function_norms, reference_norms

__all__ = ["Chain", "LayerRecord", "Problem", "fit_chain"]

_HELD_OUT = 0.15  # of the functions
_GAIN = 0.985  # of the error; a layer that gains less is the last one


@dataclass(frozen=True)
class LayerRecord:
    """The account of one layer: error of functions held out after it, seconds, features, ridge."""

    error: float
    seconds: float
    features: int
    alpha: float


@dataclass(frozen=True)
class Problem:
    """Training functions on a grid: inputs u (N, C, *shape), outputs s (N, c, *shape), both in units of order 1.

    `first` (N, c, *shape): left-out predictions of a global model, or None to begin from nothing.
    """

    grid: Grid
    u: np.ndarray
    s: np.ndarray
    first: np.ndarray | None = None

    def of(self, rows: np.ndarray) -> Problem:
        """Some of the functions."""
        first = None if self.first is None else self.first[rows]
        return Problem(self.grid, self.u[rows], self.s[rows], first)


@dataclass(frozen=True)
class Chain:
    """Layers in turn, with the account of each."""

    layers: tuple[Layer, ...]
    records: tuple[LayerRecord, ...]

    def __call__(self, u: np.ndarray, first: np.ndarray | None, grid: Grid) -> np.ndarray:
        """Outputs (n, c, *shape) on a grid, of inputs u (n, C, *shape) and the first model's prediction there."""
        fields = Fields(u, first)
        for layer in self.layers:
            fields = fields.after(layer.update(fields, grid), layer.features.recipe.history)
        assert fields.s is not None
        return fields.s


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

    Some functions are held out of all layers; the errors are theirs. They are not taken in afterwards: a later
    layer corrects the errors of these earlier ones, and not those of layers that are fitted again.
    """
    truth = problem.s.reshape(len(problem.s), -1)
    fields, sizes = Fields(problem.u, problem.first), reference_norms(function_norms(truth))
    n = len(truth)
    held_out = np.zeros(n, bool)
    held_out[np.random.default_rng(seed).permutation(n)[: max(1, round(_HELD_OUT * n))]] = True
    layers: list[Layer] = []
    records: list[LayerRecord] = []

    def error(s: np.ndarray) -> float:
        missed = function_norms(s[held_out].reshape(-1, truth.shape[1]) - truth[held_out])
        return float(np.mean(missed / sizes[held_out]))

    before = np.inf if problem.first is None else error(problem.first)
    for k, recipe in enumerate(recipes):
        begin = perf_counter()
        if begin > deadline:
            break
        points = min(rows, problem.grid.size)
        layer = fit_layer(
            recipe, seed + 1 + k, problem.grid, fields, problem.s, held_out, sizes, points, images
        )
        after = fields.after(layer.update(fields, problem.grid), recipe.history)
        assert after.s is not None
        now = error(after.s)
        if not all_layers and now >= before:
            break
        fields = after
        layers.append(layer)
        records.append(LayerRecord(now, perf_counter() - begin, len(layer.coefficients), layer.alpha))
        if tell is not None:
            tell(records[-1])
        if not all_layers and now > _GAIN * before:
            break
        before = now
    return Chain(tuple(layers), tuple(records))
