"""The fit to functions in memory, all known at the same points."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from elmonet._blas import product
from elmonet.features.base import checked_features, features_of, fit_features, fit_map
from elmonet.fitting.parts import solve
from elmonet.form.outputs import OutputForm
from elmonet.metrics import overall
from elmonet.operator import Operator
from elmonet.solve import LEFT_OUT, Solution

__all__ = ["fit_in_memory", "in_units_of_outputs", "log_sizes"]


def fit_in_memory(
    Z: np.ndarray,
    y: np.ndarray,
    outputs: OutputForm,
    branch: Any,
    trunk: Any,
    solver: Any,
    weights: np.ndarray | None = None,
    groups: np.ndarray | None = None,
) -> tuple[Operator, Solution]:
    """Learn the operator from inputs Z (N, ...) as the branch sees them to outputs y (N, M), rows.

    Branch and trunk are not fitted yet. `weights` (N,) are square roots: a column of B and G times w counts
    w^2 times. `groups` (N,): functions of the same number are left out together.
    """
    z = outputs.target(y).astype(Z.dtype, copy=False)
    P = outputs.seen(dtype=Z.dtype)
    B = checked_features(fit_features(branch, Z, z), branch, Z, "branch").T
    T = features_of(fit_map(trunk, P, z.T), P, "trunk")
    G = z.T
    if weights is not None:
        weights = weights.astype(Z.dtype)
        B, G = B * weights, G * weights
    sizes = None if outputs.logs is None else log_sizes(y, weights)
    solution = solve(solver, T, B, G, sizes=sizes, groups=groups)
    operator = Operator.of(branch, trunk, solution, T)
    if outputs.logs is not None:
        fitted = product(product(operator.basis, operator.C), B).T
        solution = in_units_of_outputs(solution, outputs, y, fitted, weights)
    return operator, solution


def log_sizes(y: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """To what errors of logarithms of outputs y (N, M) are relative, (N,).

    A small error e of a logarithm is a relative error e of the output, whatever the logarithm is: so it
    counts as it is.
    """
    return np.sqrt(y.shape[1]) * (np.ones(len(y)) if weights is None else weights)


def in_units_of_outputs(
    solution: Solution,
    outputs: OutputForm,
    y: np.ndarray,
    fitted: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> Solution:
    """A solution for logarithms, with its errors in units of the outputs y (N, M) themselves.

    `fitted` (N, M) are the logarithms that it gives for the training functions, for the residual.
    """
    weight = 1.0 if weights is None else weights[:, None]
    if fitted is not None:
        missed = np.linalg.norm(outputs.values(fitted / weight) - y) / (np.linalg.norm(y) or 1.0)
        solution = replace(solution, residual=float(missed))
    if solution.error_kind not in LEFT_OUT:
        return replace(solution, expected_error=None, error_kind=None, errors=None)
    errors = outputs.errors(solution.left_out().T / weight, y)
    return replace(solution, expected_error=float(overall(errors, y.shape[1])), errors=errors)
