"""Numbers on a part of a grid: what error to expect at the rest of it.

Left-out errors are those of the points that are there. Where the missing ones are, on which line and how far
from the others, only the error bars of these inputs know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from elmonet.fitting.error_bars import OperatorErrorBars
from elmonet.fitting.residuals import training_residuals
from elmonet.summary import Fact, percent, plural

if TYPE_CHECKING:
    from elmonet.fitting.fitted_operator import FittedOperator

_PART_OF_GRID = 0.2  # part of the points of a grid, from which on inputs are a part of it (coverage.py)


class RestOfGrid(NamedTuple):
    """The points (k, p) that inputs on a part of a grid leave out, and the error to expect of each (k,)."""

    points: np.ndarray
    errors: np.ndarray

    def fact(self) -> Fact:
        """Return the expected error there."""
        mean, largest = (percent(float(error), 2) for error in (self.errors.mean(), self.errors.max()))
        where = ", ".join(f"{value:g}" for value in self.points[int(np.argmax(self.errors))])
        missing = plural(len(self.errors), "point")
        return Fact("Rest of the grid", f"{mean} at the {missing} without a function, {largest} at ({where})")


def missing_points(X: np.ndarray) -> np.ndarray | None:
    """Return the points (k, p) that inputs (n, p) on a part of a grid leave out; None for other inputs.

    >>> missing_points(np.array([[0, 0], [0, 1], [1, 0]])).tolist()
    [[1, 1]]
    """
    if X.ndim != 2:
        return None
    levels = [np.unique(column) for column in X.T]
    size = float(np.prod([float(len(own)) for own in levels]))
    known = np.unique(X, axis=0)
    if sum(len(own) > 1 for own in levels) < 2 or not _PART_OF_GRID * size <= len(known) < size:
        return None
    grid = np.stack(np.meshgrid(*levels, indexing="ij"), axis=-1).reshape(-1, len(levels))
    every, count = np.unique(np.concatenate([grid, known]), axis=0, return_counts=True)
    return every[count == 1]


def rest_of_grid(model: FittedOperator, points: np.ndarray, errors: np.ndarray) -> RestOfGrid | None:
    """Return what to expect at points (k, p) of a grid whose error bars have these relative sizes (k,).

    Error bars are root mean squares. The mean error is less, by as much as that of the training functions.
    """
    residuals, bars = training_residuals(model), model.error_bars
    if residuals is None or not residuals.left_out or not isinstance(bars, OperatorErrorBars):
        return None
    g = residuals.scales[min(bars.bands.scale, len(residuals.scales) - 1)][:, 0]
    sizes = np.linalg.norm(residuals.values, axis=1) / g
    mean = float(np.mean(sizes) / (np.sqrt(np.mean(sizes**2)) or 1.0))
    return RestOfGrid(points, mean * errors)
