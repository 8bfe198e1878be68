"""One way to look at the data, shared by all candidates that look at it like this."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from elmonet._blas import product
from elmonet.auto.candidates import Candidate
from elmonet.features import POD, Linear
from elmonet.features.infinite_width import KERNELS, Products, kernel_features, kernel_matrix
from elmonet.metrics import function_norms, loo_errors, overall, reference_norms
from elmonet.scaling import log_inputs, log_outputs, standardise
from elmonet.solve import Ridge, Solution, left_out_predictions

__all__ = ["View"]


class View:
    """Inputs and outputs transformed, and what candidates share: made once, used by many.

    Modes of the outputs that hold less than `negligible` of them, all together, are left out.

    Attributes
    ----------
    X : (N, ...), the inputs as the branch sees them.
    modes : (M, r), `POD` of the outputs, orthonormal.
    coordinates : (r, N), the outputs in these modes.
    """

    def __init__(
        self,
        X: np.ndarray,
        y: np.ndarray,
        points: np.ndarray,
        transforms: dict[str, bool],
        negligible: float = 0.0,
        balance: np.ndarray | None = None,
    ):
        if transforms["log_inputs"]:
            X = log_inputs(X)
        self.X = standardise(X)(X) if transforms["scale_inputs"] else X
        if balance is not None and transforms["scale_inputs"]:
            self.X = self.X * balance
        self.y = y
        self.log_y = log_outputs(y) if transforms["log_outputs"] else None
        z = y if self.log_y is None else self.log_y(y, points)
        self.modes = POD().fit(points, z.T).modes_
        if self.modes.shape[1] < min(2, len(self.modes)):  # a solver takes outputs of length one for numbers
            self.modes = np.hstack([self.modes, np.zeros_like(self.modes)])
        self.coordinates = product(self.modes.T, z.T)
        energy = np.sum(self.coordinates**2, axis=1)
        tail = np.sqrt(np.cumsum(energy[::-1])[::-1])
        kept = max(2, int(np.count_nonzero(tail > negligible * tail[0])))
        self.modes, self.coordinates = self.modes[:, :kept], self.coordinates[:kept]
        # The error of a logarithm is relative already; see ELMDeepONet.
        self.reference = None if self.log_y is None else np.full(len(y), np.sqrt(y.shape[1]))

    @cached_property
    def spread(self) -> float:
        """The root-mean-square deviation of the inputs from their mean, the unit of the scales."""
        return float(np.sqrt(np.mean((self.X - self.X.mean(axis=0)) ** 2))) or 1.0

    @cached_property
    def products(self) -> Products:
        """Of all inputs with each other: every kernel at every scale follows from them."""
        flat = self.X.reshape(len(self.X), -1)
        return Products.of(flat, flat)

    @cached_property
    def linear(self) -> np.ndarray:
        """The features of a linear block."""
        return Linear().fit_transform(self.X)

    def features(self, candidate: Candidate, seed: int) -> np.ndarray:
        """The features B (p1, N) of a candidate."""
        if candidate.family not in KERNELS:
            return candidate.branch(self.X, self.spread, seed).fit_transform(self.X, self.y).T
        K = kernel_matrix(candidate.family, candidate.scale / self.spread, self.products)
        features, _ = kernel_features(K)
        return np.hstack([self.linear, features]).T if candidate.linear else features.T

    def solve(self, B: np.ndarray) -> tuple[Solution, np.ndarray]:
        """The solution for features B (p1, N), and the leave-one-out error of each function (N,)."""
        solution = Ridge("loo").solve(
            np.eye(len(self.coordinates)), B, self.coordinates, reference=self.reference
        )
        if self.log_y is None:
            return solution, np.asarray(solution.loo_errors)
        predicted = self.log_y.inverse(product(self.modes, self._left_out(B, solution.alpha)).T)
        return solution, loo_errors(
            function_norms(predicted - self.y), function_norms(self.y), self.y.shape[1]
        )

    def overall(self, errors: np.ndarray) -> float:
        """One number for the errors of all functions."""
        return float(overall(errors, self.y.shape[1]))

    def best_rank(self, B: np.ndarray, alpha: float) -> int:
        """How many modes to keep: those beyond are predicted worse than by zero."""
        missed = np.cumsum((self.coordinates - self._left_out(B, alpha)) ** 2, axis=0)
        energy = self.coordinates**2
        dropped = energy.sum(axis=0) - np.cumsum(energy, axis=0)
        norms = np.sqrt(energy.sum(axis=0))
        reference = reference_norms(norms) if self.reference is None else self.reference
        errors = np.mean(np.sqrt(missed + np.maximum(dropped, 0)) / reference, axis=1)
        return int(np.argmin(errors)) + 1

    def _left_out(self, B: np.ndarray, alpha: float) -> np.ndarray:
        """The coordinates (r, N) that are predicted for each function by the fit without it."""
        return left_out_predictions(np.eye(len(self.coordinates)), B, self.coordinates, alpha)
