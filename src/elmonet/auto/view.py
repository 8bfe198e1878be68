"""One way to look at the data, shared by all candidates that look at it like this."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from elmonet._blas import product
from elmonet.features import POD
from elmonet.metrics import reference_norms, relative_l2
from elmonet.scaling import log_inputs, log_outputs, standardise
from elmonet.solve import Ridge, Solution, left_out_predictions

__all__ = ["View"]


class View:
    """Inputs and outputs transformed, and the outputs' own modes: made once, used by many candidates.

    Attributes
    ----------
    X : (N, ...), the inputs as the branch sees them.
    modes : (M, r), `POD` of the outputs, orthonormal.
    coordinates : (r, N), the outputs in these modes.
    """

    def __init__(self, X: np.ndarray, y: np.ndarray, points: np.ndarray, transforms: dict[str, bool]):
        if transforms["log_inputs"]:
            X = log_inputs(X)
        self.X = standardise(X)(X) if transforms["scale_inputs"] else X
        self.y = y
        self.log_y = log_outputs(y) if transforms["log_outputs"] else None
        z = y if self.log_y is None else self.log_y(y, points)
        self.modes = POD().fit(points, z.T).modes_
        self.coordinates = product(self.modes.T, z.T)
        # The error of a logarithm is relative already; see ELMDeepONet.
        self.reference = None if self.log_y is None else np.full(len(y), np.sqrt(y.shape[1]))

    @cached_property
    def spread(self) -> float:
        """The root-mean-square deviation of the inputs from their mean, the unit of the scales."""
        return float(np.sqrt(np.mean((self.X - self.X.mean(axis=0)) ** 2))) or 1.0

    def solve(self, branch: Any) -> tuple[Solution, np.ndarray]:
        """The solution for the features of a branch, and B (p1, N)."""
        B = branch.fit_transform(self.X, self.y).T
        identity = np.eye(len(self.coordinates))
        return Ridge("loo").solve(identity, B, self.coordinates, reference=self.reference), B

    def error(self, solution: Solution, B: np.ndarray) -> float:
        """The leave-one-out error in the units of the outputs."""
        if self.log_y is None:
            return solution.loo_error
        predicted = self.left_out(solution, B)
        return relative_l2(self.log_y.inverse(product(self.modes, predicted).T), self.y)

    def left_out(self, solution: Solution, B: np.ndarray) -> np.ndarray:
        """The coordinates (r, N) that are predicted for each function by the fit without it."""
        return left_out_predictions(np.eye(len(self.coordinates)), B, self.coordinates, solution.alpha)

    def best_rank(self, solution: Solution, B: np.ndarray) -> int:
        """How many modes to keep: those beyond are predicted worse than by zero."""
        missed = np.cumsum((self.coordinates - self.left_out(solution, B)) ** 2, axis=0)
        energy = self.coordinates**2
        dropped = energy.sum(axis=0) - np.cumsum(energy, axis=0)
        norms = np.sqrt(energy.sum(axis=0))
        reference = reference_norms(norms) if self.reference is None else self.reference
        errors = np.mean(np.sqrt(missed + np.maximum(dropped, 0)) / reference, axis=1)
        return int(np.argmin(errors)) + 1
