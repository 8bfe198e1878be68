"""One way to look at the data, shared by all candidates that look at it like this."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from elmonet._blas import product
from elmonet.auto.candidates import Candidate
from elmonet.features import POD, Linear
from elmonet.features.base import fit_features, fit_map
from elmonet.features.infinite_width import KERNELS, Products, kernel_features, kernel_matrix
from elmonet.fitting.in_memory import log_sizes
from elmonet.form.training import Training
from elmonet.metrics import overall, reference_norms
from elmonet.solve import Ridge, Solution

__all__ = ["View"]


class View:
    """Inputs and outputs transformed, and what candidates share: made once, used by many.

    Modes of the outputs that hold less than `negligible` of them, all together, are left out.

    Attributes
    ----------
    Z : (N, ...), the inputs as the branch sees them.
    modes : (M, r), `POD` of the outputs, orthonormal.
    coordinates : (r, N), the outputs in these modes.
    """

    def __init__(self, training: Training, way: dict[str, bool], negligible: float = 0.0):
        inputs = training.inputs.prepared(training.X, logarithms=way["log_inputs"], scale=way["scale_inputs"])
        self.Z, self.y = inputs.seen(training.X), training.y
        self.outputs = training.outputs.prepared(self.y, logarithms=way["log_outputs"], scale=True)
        z = self.outputs.target(self.y)
        modes = fit_map(POD(), self.outputs.seen(), z.T).modes_
        if modes.shape[1] < min(2, len(modes)):  # a solver takes outputs of length one for numbers
            modes = np.hstack([modes, np.zeros_like(modes)])
        coordinates = product(modes.T, z.T)
        energy = np.sum(coordinates**2, axis=1)
        tail = np.sqrt(np.cumsum(energy[::-1])[::-1])
        kept = max(2, int(np.count_nonzero(tail > negligible * tail[0])))
        self.modes, self.coordinates = modes[:, :kept], coordinates[:kept]
        self.sizes = None if self.outputs.logs is None else log_sizes(self.y)
        self.groups = None if training.groups is None else training.groups.numbers

    @cached_property
    def spread(self) -> float:
        """The root-mean-square deviation of the inputs from their mean, the unit of the scales."""
        return float(np.sqrt(np.mean((self.Z - self.Z.mean(axis=0)) ** 2))) or 1.0

    @cached_property
    def products(self) -> Products:
        """Of all inputs with each other: every kernel at every scale follows from them."""
        flat = self.Z.reshape(len(self.Z), -1)
        return Products.of(flat, flat)

    @cached_property
    def linear(self) -> np.ndarray:
        """The features of a linear block."""
        return fit_features(Linear(), self.Z)

    def features(self, candidate: Candidate, seed: int) -> np.ndarray:
        """The features B (p1, N) of a candidate."""
        if candidate.family not in KERNELS:
            return fit_features(candidate.branch(self.Z, self.spread, seed), self.Z, self.y).T
        K = kernel_matrix(candidate.family, candidate.scale / self.spread, self.products)
        features, _ = kernel_features(K)
        return np.hstack([self.linear, features]).T if candidate.linear else features.T

    def solve(self, B: np.ndarray, alpha: float | str = "loo") -> tuple[Solution, np.ndarray]:
        """The solution for features B (p1, N), and the leave-one-out error of each function (N,)."""
        known = {"sizes": self.sizes, "groups": self.groups}
        solution = Ridge(alpha).solve(np.eye(len(self.coordinates)), B, self.coordinates, **known)
        if self.outputs.logs is None:
            return solution, np.asarray(solution.errors)
        return solution, self.outputs.errors(product(self.modes, solution.left_out()).T, self.y)

    def overall(self, errors: np.ndarray) -> float:
        """One number for the errors of all functions."""
        return float(overall(errors, self.y.shape[1]))

    def best_rank(self, B: np.ndarray, alpha: float) -> int | None:
        """How many modes to keep: those beyond are predicted worse than by zero. None: all there are."""
        left_out = self.solve(B, alpha)[0].left_out()
        missed = np.cumsum((self.coordinates - left_out) ** 2, axis=0)
        energy = self.coordinates**2
        tail = np.cumsum(energy[::-1], axis=0)[::-1]  # a sum, not a difference: no digits are lost
        dropped = np.vstack([tail[1:], np.zeros_like(tail[:1])])
        norms = np.sqrt(energy.sum(axis=0))
        sizes = reference_norms(norms) if self.sizes is None else self.sizes
        errors = np.mean(np.sqrt(missed + dropped) / sizes, axis=1)
        best = int(np.argmin(errors)) + 1
        return None if best == len(errors) else best
