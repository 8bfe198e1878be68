"""A fitted chain with the form of its data: what it says of new functions, on any resolution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from elmonet.interpolation import interpolate
from elmonet.layers.chain import Chain
from elmonet.layers.first import predicted_rows
from elmonet.layers.forms import FieldForm
from elmonet.layers.grid import Grid
from elmonet.layers.novelty import WindowNovelty
from elmonet.layers.symmetry import Symmetry
from elmonet.layers.window import resampled

__all__ = ["Layered"]


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
    interval: tuple[float, float] | None = None

    def strange(self, u: Any, grid: Grid, order: np.ndarray) -> np.ndarray:
        """Which functions (n,) lie well beyond the training functions."""
        return self.novelty.strange(self.form.channels(u, grid, order), grid)

    def states(self, u: Any, grid: Grid, order: np.ndarray) -> np.ndarray:
        """Outputs (n, c, *shape) as layers see them, of inputs known at the points of a grid."""
        form = self.form
        channels = form.channels(u, grid, order)
        start = None
        if self.first is not None:
            there = u if grid == form.grid else form.at_training_grid(u, grid, order)
            start = form.states(predicted_rows(self.first, form.inputs.trusted_rows(there)))
            start = start if grid == form.grid else resampled(start, form.grid, grid)
        return self.chain(channels, start, grid)

    def predict(self, u: Any, grid: Grid, order: np.ndarray, shape: tuple[int, ...] | None) -> Any:
        """Outputs in the user's shapes at the points of a grid, whose order `order` sorts."""
        return self.form.values(self.states(u, grid, order), grid, order, shape)

    def between(self, u: Any, points: np.ndarray) -> np.ndarray:
        """Rows (n, c M') at any points (M', d), of inputs on the training grid: outputs are interpolated."""
        grid = self.form.grid
        fields = grid.with_repeats(self.states(u, grid, self.form.order)) * self.form.size
        n, c = fields.shape[:2]
        return interpolate(grid.points, fields.reshape(n * c, -1).T, points).T.reshape(n, -1)
