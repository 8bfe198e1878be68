"""Numbers on a part of a grid: what error to expect at the rest of it.

Left-out errors are those of the points that are there, and new inputs are the others. How far these are from
the known ones, the posterior variance knows; on which line, a size of errors learned from the residuals.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from elmonet.fitting.residuals import training_residuals
from elmonet.summary import Fact, percent, plural
from elmonet.uncertainty.error_estimate import ErrorEstimate

if TYPE_CHECKING:
    from elmonet.fitting.fitted_operator import FittedOperator

_ROUNDING = 10.0  # times the variance at a training point that is rounding, at other points
_PART_OF_GRID = 0.2  # part of the points of a grid, from which on inputs are a part of it (coverage.py)


class RestOfGrid(NamedTuple):
    """The points that inputs on a part of a grid leave out, and the error to expect of each.

    points, errors : (k, p), (k,).
    left_out : (n,), errors of functions left out, in units of what is expected of each.
    """

    points: np.ndarray
    errors: np.ndarray
    left_out: np.ndarray

    @property
    def error(self) -> float:
        """The mean error."""
        return float(np.mean(self.errors))

    def estimate(
        self, of: ErrorEstimate, choice: float, independent: int, rate: float | None
    ) -> ErrorEstimate:
        """Return the estimate for the rest of the grid, if the error there is larger than that of `of`."""
        if of.error is None or of.kind is None or self.error <= of.error:
            return of
        growth = self.error / of.error if of.error else 1.0
        components = tuple((name, growth * own) for name, own in of.components)
        known: dict[str, Any] = {"independent": independent, "rate": rate, "choice": choice}
        found = ErrorEstimate.of(self.error * self.left_out, of.kind, stated=self.error, **known)
        quantiles = found.quantiles
        if quantiles is not None:
            median, high = np.quantile(np.outer(self.errors, self.left_out), [0.5, 0.95])
            quantiles = float(median), float(high)
        more: dict[str, Any] = {"quantiles": quantiles, "components": components, "optimism": of.optimism}
        return replace(found, left_out=of.error, **more)

    def fact(self, left_out: float | None) -> Fact:
        """Return the expected error there, beside that of functions `left_out` if it is stated instead."""
        mean, largest = (percent(float(error), 2) for error in (self.errors.mean(), self.errors.max()))
        where = ", ".join(f"{value:g}" for value in self.points[int(np.argmax(self.errors))])
        missing = plural(len(self.errors), "point")
        said = f"{mean} at the {missing} without a function, {largest} at ({where})"
        if left_out is not None:
            said += (
                f". It is stated, since it is larger than the {percent(left_out, 2)} of functions left out"
            )
        return Fact("Rest of the grid", said)


def missing_points(X: np.ndarray) -> np.ndarray | None:
    """Return the points (k, p) that inputs (n, p) on a part of a grid leave out; None for other inputs.

    >>> missing_points(np.array([[0, 0], [0, 1], [1, 0]])).tolist()
    [[1, 1]]
    """
    if X.ndim != 2:
        return None
    levels = [np.unique(column) for column in X.T]
    size = prod(len(own) for own in levels)
    if sum(len(own) > 1 for own in levels) < 2 or size > len(X) / _PART_OF_GRID:
        return None
    known = np.unique(X, axis=0)
    if not _PART_OF_GRID * size <= len(known) < size:
        return None
    grid = np.stack(np.meshgrid(*levels, indexing="ij"), axis=-1).reshape(-1, len(levels))
    every, count = np.unique(np.concatenate([grid, known]), axis=0, return_counts=True)
    return every[count == 1]


def rest_of_grid(model: FittedOperator, points: np.ndarray) -> RestOfGrid | None:
    """Return what to expect at points (k, p) of a grid; None if no function was left out.

    Left-out errors grow with the standard deviation given the other functions, and so do those of new ones;
    or with the size learned from residuals. Of these two, what expects more is taken.
    """
    residuals, training = training_residuals(model), model.training
    if training is None or residuals is None or residuals.variance is None or residuals.learned is None:
        return None
    errors = np.asarray(model.solution.errors, float)
    stated = model.estimate.left_out or model.estimate.error or 0.0
    errors = errors * (stated / (errors.mean() or 1.0))
    Z, row = model.seen(points), residuals.learned.row
    _, variance, more = residuals.variance.with_coefficients(model.operator, Z, row)
    known = residuals.variance.with_coefficients(model.operator, model.seen(training.X))[1]
    # At most 2 at the training points: more is rounding in units of the noise, which may be less.
    rounding = _ROUNDING * max(float(known.max()) - 2, 0.0)
    found, deviation = [], np.sqrt(np.maximum(variance - rounding, 1.0))
    sizes = deviation, residuals.learned(deviation, more[:, 0])
    for size, known in zip(sizes, residuals.scales[1:], strict=True):
        left_out = errors / known[:, 0]
        expected = size * (errors.mean() / known.mean())  # the mean of ratios would be that of the largest
        found.append(RestOfGrid(points, expected, left_out / (left_out.mean() or 1.0)))
    return max(found, key=lambda rest: rest.error)
