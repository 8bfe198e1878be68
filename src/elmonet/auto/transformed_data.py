"""Transformed data on which candidates are evaluated; what candidates share is computed once."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from elmonet.auto.candidates import Candidate, Transform
from elmonet.errors import NumericsWarning
from elmonet.estimators.deeponet import ELMDeepONet
from elmonet.features import POD, InfiniteWidth, Linear
from elmonet.features.base import fit_features, fit_map
from elmonet.features.kernels import KERNELS, Products, kernel_features, kernel_matrix
from elmonet.fitting.in_memory import Reused
from elmonet.fitting.prepare import Prepared, branch_and_trunk
from elmonet.forms.training import Training
from elmonet.linalg import product
from elmonet.metrics import function_norms, output_sizes, reference_norms
from elmonet.solve import Ridge, Solution
from elmonet.solve.factor import Factor


@dataclass(frozen=True)
class Evaluation:
    """A candidate solved on transformed data, with all that a fit of a model to these data can reuse.

    Attributes
    ----------
    features : (N, p1).
    branch : returns the fitted branch.
    factors : factors of the features.
    solution : the solution.
    errors : (N,), the relative leave-one-out errors by which candidates are compared.
    stated : (N,), the same as errors are stated: components count by their size, not alike.
    """

    features: np.ndarray
    branch: Callable[[], Any]
    factors: dict[str, Factor]
    solution: Solution
    errors: np.ndarray
    stated: np.ndarray


class TransformedData:
    """Transformed inputs and outputs, and what all candidates share: computed once, on first use.

    Parameters
    ----------
    training : the functions.
    transform : how the data are transformed.
    negligible : the last modes of the outputs are left out if they hold less than this part of them.

    Attributes
    ----------
    Z : (N, ...), the inputs as the branch sees them.
    y : (N, M), the outputs.
    """

    def __init__(self, training: Training, transform: Transform, negligible: float = 0.0):
        self.training, self.transform, self.negligible = training, transform, negligible
        n, scale = training.counts, transform.scale_inputs
        self.inputs = training.inputs.prepared(
            training.X, n, parts=transform.parts, metric=transform.metric, scale=scale
        )
        self.Z, self.y = self.inputs.seen(training.X), training.y
        self.outputs = training.outputs.prepared(self.y, n, logarithms=transform.log_outputs, scale=scale)
        self.sizes = self.outputs.reference(self.y)
        self.groups = None if training.groups is None else training.groups.numbers

    @cached_property
    def spread(self) -> float:
        """The root-mean-square deviation of the inputs from their mean, the unit of the scales."""
        return spread_of(self.Z)

    @cached_property
    def _products(self) -> Products:
        """Mean products of all pairs of inputs, from which every kernel follows at every scale."""
        flat = self.Z.reshape(len(self.Z), -1)
        return Products.of(flat, flat)

    @cached_property
    def _linear(self) -> np.ndarray:
        """The features of a linear block."""
        return fit_features(Linear(), self.Z)

    @cached_property
    def modes(self) -> tuple[np.ndarray, np.ndarray]:
        """Orthonormal modes (M, r) of the outputs (`POD`), and the outputs in these modes (r, N)."""
        z = self.outputs.target(self.y)
        modes = fit_map(POD(), self.outputs.seen(), z.T).modes_
        if modes.shape[1] < min(2, len(modes)):  # a solver takes outputs of length one for numbers
            modes = np.hstack([modes, np.zeros_like(modes)])
        coordinates = product(modes.T, z.T)
        energy = np.sum(coordinates**2, axis=1)
        tail = np.sqrt(np.cumsum(energy[::-1])[::-1])
        rank = max(2, int(np.count_nonzero(tail > self.negligible * tail[0])))
        return modes[:, :rank], coordinates[:rank]

    @cached_property
    def _units(self) -> tuple[np.ndarray, np.ndarray]:
        """R (r, r) with ``||R e||`` the norm of modes times e as errors are stated; sizes (N,) in it."""
        scale = 1.0 if self.outputs.centre is None else self.outputs.centre.scale
        _, R = np.linalg.qr(self.outputs.in_units(self.modes[0].T * scale).T)
        return R, output_sizes(self.outputs.in_units(self.y))

    def evaluate(self, candidate: Candidate, seed: int, svd: bool = False) -> Evaluation:
        """Solve for a candidate; alpha is chosen by leave-one-out, `svd` as in `Ridge.solve`."""
        features, branch = self._features(candidate, seed)
        modes, coordinates = self.modes
        factors: dict[str, Factor] = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NumericsWarning)
            T, B = np.eye(len(coordinates)), features.T
            solution = Ridge("loo").solve(
                T, B, coordinates, self.sizes, self.groups, factors, svd=svd, rough=True
            )
        errors = stated = np.asarray(solution.errors)
        if self.outputs.logs is not None:
            errors = stated = self.outputs.errors(product(modes, solution.left_out()).T, self.y)
        elif self.outputs.weighs:
            residuals = product(self._units[0], coordinates - solution.left_out()).T
            stated = function_norms(residuals) / self._units[1]
            errors = errors if self.outputs.components else stated
        return Evaluation(features, branch, factors, solution, errors, stated)

    def _features(self, candidate: Candidate, seed: int) -> tuple[np.ndarray, Callable[[], Any]]:
        """Return the features (N, p1) of a candidate, and a function that returns the fitted branch."""
        branch = candidate.branch(self.spread, seed)
        if candidate.family not in KERNELS:
            return fit_features(branch, self.Z, self.y), lambda: branch
        scale = candidate.scale / self.spread
        features, pivots = kernel_features(kernel_matrix(candidate.family, scale, self._products))
        features = np.hstack([self._linear, features]) if candidate.linear else features

        def fitted() -> Any:
            # What `fit` would learn: the training functions that are pivots, and their Cholesky factor.
            kernel = InfiniteWidth(candidate.family, scale)
            centres = np.ascontiguousarray(self.Z[pivots])
            factor = np.tril(features[pivots, features.shape[1] - len(pivots) :])
            shape, dtype = self.Z.shape[1:], self.Z.dtype
            kernel.restore(shape, dtype, {"centres_": centres, "factor_": factor})
            if candidate.linear:
                branch.restore(shape, dtype, {"members_": [fit_map(Linear(), self.Z), kernel]})
            return branch if candidate.linear else kernel

        return features, fitted

    def best_rank(self, solution: Solution) -> int | None:
        """Return how many modes to keep: the others are predicted worse than by zero. None: all."""
        coordinates = self.modes[1]
        residuals = np.cumsum((coordinates - solution.left_out()) ** 2, axis=0)
        energy = coordinates**2
        tail = np.cumsum(energy[::-1], axis=0)[::-1]  # a sum, not a difference: no digits are lost
        dropped = np.vstack([tail[1:], np.zeros_like(tail[:1])])
        norms = np.sqrt(energy.sum(axis=0))
        sizes = reference_norms(norms) if self.sizes is None else self.sizes
        errors = np.mean(np.sqrt(residuals + dropped) / sizes, axis=1)
        best = int(np.argmin(errors)) + 1
        return None if best == len(errors) else best

    def model(
        self,
        candidate: Candidate,
        seed: int,
        *,
        rank: int | None = None,
        missing: str = "raise",
        evaluation: Evaluation | None = None,
    ) -> ELMDeepONet:
        """Fit a model with this candidate as branch; features and factors of its evaluation are reused."""
        branch, solver = candidate.branch(self.spread, seed), Ridge("loo")
        trunk = POD(None if self.outputs.components else rank)
        settings: dict[str, Any] = {"missing": missing, "random_state": seed}
        settings |= self.transform.settings(self.training.inputs)
        model = ELMDeepONet(branch, trunk, solver, **settings)
        parts = branch_and_trunk(branch, trunk, self.training.inputs, self.training.outputs, seed)
        prepared = Prepared(self.inputs, self.outputs, *parts, solver)
        if evaluation is None:
            return model._fit_training(self.training, Reused(prepared))
        prepared = prepared._replace(branch=evaluation.branch())
        return model._fit_training(self.training, Reused(prepared, evaluation.features, evaluation.factors))


def spread_of(Z: np.ndarray) -> float:
    """Return the root-mean-square deviation of inputs from their mean; 1 if all are equal."""
    return float(np.sqrt(np.mean((Z - Z.mean(axis=0)) ** 2))) or 1.0


def errors_of(model: ELMDeepONet, training: Training, functions: np.ndarray) -> np.ndarray:
    """Return the relative errors of a model on some functions of a training set, by a mask (N,)."""
    in_units, y = training.outputs.in_units, training.y
    residuals = model._fitted().at_training_points(training.X[functions]) - y[functions]
    return function_norms(in_units(residuals)) / output_sizes(in_units(y))[functions]
