"""Bands of a chain: from functions held out of all layers, wider where its last layer still changes much."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import gaussian_filter1d

from elmonet.bands import Bands
from elmonet.layers.grid import Grid
from elmonet.layers.window import resampled

__all__ = ["LayerBands"]

_SMOOTH = 2.0  # steps of the training grid, over which the last update is averaged
_FLOOR = 1e-6  # of the mean square of the errors: where nothing was missed, rounding would count
_LEAST = 0.1  # of the mean square of the last update: what is expected where it is zero


@dataclass(frozen=True)
class LayerBands:
    """Bands of a chain: ``+- q g(y)`` times the size of the errors around a point of the training grid.

    Attributes
    ----------
    bands : one sigma for each component; its scales are those sizes, and times the root mean square g of the
        last layer's update around each point.
    sizes : (c, *shape), of the errors, or of the errors over g, around each point of the training grid.
    least : a mean square that is added to that of the update.
    grid : the training grid.
    """

    bands: Bands
    sizes: np.ndarray
    least: float
    grid: Grid

    @classmethod
    def of_missed(
        cls, missed: np.ndarray, update: np.ndarray, grid: Grid, groups: np.ndarray | None = None
    ) -> LayerBands | None:
        """From what was missed (n, c, *shape) of functions, and their last updates; None if too few."""
        n, least = len(missed), _LEAST * float(np.mean(update**2))
        if n < 2:
            return None
        scales = [np.ones_like(missed)] + ([_scale(update, least, grid, grid)] if least > 0 else [])
        found = [_around(missed / g, grid) for g in scales]
        rows = [(g * others).reshape(n, -1) for g, (_, others) in zip(scales, found, strict=True)]
        component = np.repeat(np.arange(missed.shape[1]), grid.size)
        bands = Bands.of(missed.reshape(n, -1), rows, groups, places=component)
        return None if bands is None else cls(bands, found[bands.scale][0], least, grid)

    def widened(self, times: float) -> LayerBands:
        """The same, so many times as wide."""
        return replace(self, bands=replace(self.bands, widen=self.bands.widen * times))

    def spread(self, update: np.ndarray, grid: Grid) -> np.ndarray:
        """The size of the error to expect (n, c, *shape) on a grid, of functions with this last update."""
        sizes = self.sizes * self.bands.sigma.reshape(-1, *[1] * len(self.grid.shape))
        if grid != self.grid:
            sizes = np.clip(resampled(sizes[None], self.grid, grid)[0], sizes.min(), sizes.max())
        if self.bands.scale == 0:
            return np.broadcast_to(sizes, update.shape)
        return sizes * _scale(update, self.least, grid, self.grid)

    def arrays(self) -> dict[str, np.ndarray]:
        """All of it as arrays, for a file."""
        kept = {f"bands.{name}": array for name, array in self.bands.arrays().items()}
        return kept | {"bands.sizes": self.sizes, "bands.least": np.array([self.least])}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], grid: Grid) -> LayerBands | None:
        """The inverse of `arrays`; None if there is nothing of it."""
        kept = {n.removeprefix("bands."): a for n, a in arrays.items() if n.startswith("bands.")}
        return cls(Bands.from_arrays(kept), kept["sizes"], float(kept["least"][0]), grid) if kept else None


def _around(missed: np.ndarray, grid: Grid) -> tuple[np.ndarray, np.ndarray]:
    """Root mean squares around each point: of all functions (c, *shape), and without each (n, c, *shape)."""
    squares = np.maximum(_smooth(missed**2, grid, grid), 0)
    total, n = squares.sum(axis=0), len(squares)
    floor = _FLOOR * float(np.mean(total / n)) + np.finfo(float).tiny
    return np.sqrt(total / n + floor), np.sqrt(np.maximum(total - squares, 0) / (n - 1) + floor)


def _scale(update: np.ndarray, least: float, grid: Grid, training: Grid) -> np.ndarray:
    """The root mean square of the update (n, c, *shape) around each point."""
    return np.sqrt(np.maximum(_smooth(update**2, grid, training), 0) + least)


def _smooth(squares: np.ndarray, grid: Grid, training: Grid) -> np.ndarray:
    """Averaged over some steps of the training grid."""
    for axis, periodic in enumerate(grid.periodic):
        steps = _SMOOTH * grid.shape[axis] / training.shape[axis]
        squares = gaussian_filter1d(squares, steps, axis=axis + 2, mode="wrap" if periodic else "nearest")
    return squares
