"""Bands of a chain: from functions held out of all layers, wider where its last layer still changes much."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter1d

from elmonet.bands import Bands
from elmonet.layers.chain import Chain, Problem, held_out_of
from elmonet.layers.grid import Grid
from elmonet.layers.window import resampled

__all__ = ["LayerBands"]

_SMOOTH = 2.0  # steps of the training grid, over which the last update is averaged
_LEAST = 0.1  # of the mean square of the last update: what is expected where it is zero


@dataclass(frozen=True)
class LayerBands:
    """Bands whose scale g at a point is the root mean square of the last layer's update around it, or one.

    Attributes
    ----------
    bands : its sigma is that of each component at each point of the training grid.
    least : a mean square that is added.
    grid : the training grid.
    """

    bands: Bands
    least: float
    grid: Grid

    @classmethod
    def of(cls, chain: Chain, problem: Problem, seed: int) -> LayerBands | None:
        """From the functions of a problem that were held out of all layers; None if these are too few."""
        unseen = problem.of(np.flatnonzero(held_out_of(len(problem.u), seed, problem.groups)))
        s, update = chain.with_last_update(unseen.u, unseen.first, problem.grid)
        least = _LEAST * float(np.mean(update**2))
        g = _scale(update, least, problem.grid, problem.grid)
        missed, n = unseen.s - s, len(s)
        scales = [np.ones((1, 1))] + ([g.reshape(n, -1)] if least > 0 else [])
        bands = Bands.of(missed.reshape(n, -1), scales, unseen.groups)
        return None if bands is None else cls(bands, least, problem.grid)

    def spread(self, update: np.ndarray, grid: Grid) -> np.ndarray:
        """The size of the error to expect (n, c, *shape) on a grid, of functions with this last update."""
        sigma = self.bands.sigma.reshape(1, -1, *self.grid.shape)
        if grid != self.grid:
            sigma = np.clip(resampled(sigma, self.grid, grid), sigma.min(), sigma.max())
        if self.bands.scale == 0:
            return np.broadcast_to(sigma, update.shape)
        return sigma * _scale(update, self.least, grid, self.grid)

    def arrays(self) -> dict[str, np.ndarray]:
        """All of it as arrays, for a file."""
        kept = {f"bands.{name}": array for name, array in self.bands.arrays().items()}
        return kept | {"bands.least": np.array([self.least])}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], grid: Grid) -> LayerBands | None:
        """The inverse of `arrays`; None if there is nothing of it."""
        kept = {n.removeprefix("bands."): a for n, a in arrays.items() if n.startswith("bands.")}
        return cls(Bands.from_arrays(kept), float(kept["least"][0]), grid) if kept else None


def _scale(update: np.ndarray, least: float, grid: Grid, training: Grid) -> np.ndarray:
    """The root mean square of the update (n, c, *shape) around each point."""
    squares = update**2
    for axis, periodic in enumerate(grid.periodic):
        steps = _SMOOTH * grid.shape[axis] / training.shape[axis]
        squares = gaussian_filter1d(squares, steps, axis=axis + 2, mode="wrap" if periodic else "nearest")
    return np.sqrt(squares + least)
