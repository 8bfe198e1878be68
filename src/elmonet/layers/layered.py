"""A fitted chain with the form of its data: what it says of new functions, on any resolution."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from elmonet._check import InputError
from elmonet.interpolation import interpolate
from elmonet.layers.bands import LayerBands
from elmonet.layers.chain import Chain
from elmonet.layers.first import predicted_rows
from elmonet.layers.forms import FieldForm
from elmonet.layers.grid import Grid
from elmonet.layers.novelty import WindowNovelty
from elmonet.layers.symmetry import Symmetry
from elmonet.layers.unseen import HeldOut
from elmonet.layers.window import resampled

__all__ = ["Layered", "Places"]


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
