"""The fit to functions in memory: complete, with gaps, or scattered."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from elmonet.errors import InputError
from elmonet.features import Legendre, PerComponent
from elmonet.features.base import checked_features, features_of, fit_features, fit_map
from elmonet.fitting.fitted import Fitted
from elmonet.fitting.incomplete import degrees, fit_scattered, fit_with_gaps
from elmonet.fitting.operator import Operator
from elmonet.fitting.prepare import Prepared, solve
from elmonet.forms.outputs import OutputForm
from elmonet.forms.training import Training
from elmonet.linalg import product
from elmonet.metrics import overall
from elmonet.solve import LEFT_OUT, Pinv, Ridge, Solution

__all__ = ["fit_in_memory", "fit_training", "in_units_of_outputs", "log_sizes"]


def fit_in_memory(
    Z: np.ndarray,
    y: np.ndarray,
    outputs: OutputForm,
    branch: Any,
    trunk: Any,
    solver: Any,
    weights: np.ndarray | None = None,
    groups: np.ndarray | None = None,
    features: np.ndarray | None = None,
) -> tuple[Operator, Solution]:
    """Learn the operator from inputs Z (N, ...) as the branch sees them to outputs y (N, M), rows.

    Branch and trunk are not fitted yet; a branch that is comes with its `features` (N, p1) of Z. `weights`
    (N,) are square roots: a column of B and G times w counts w^2 times. `groups` (N,): functions of the same
    number are left out together.
    """
    z = outputs.target(y).astype(Z.dtype, copy=False)
    P = outputs.seen(dtype=Z.dtype)
    features = fit_features(branch, Z, z) if features is None else features
    B = checked_features(features, branch, Z, "branch").T
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


def fit_training(prepared: Prepared, training: Training, features: np.ndarray | None = None) -> Fitted:
    """Fit an operator to these functions; `features` (N, p1) are those of a branch that is fitted."""
    inputs, outputs, branch, trunk, solver = prepared
    # Some solvers keep the precision of the data; what is learned is otherwise in double precision.
    dtype = outputs.dtype if getattr(solver, "keeps_precision", False) else np.float64
    Z, y, w = inputs.seen(training.X, dtype), training.y, training.weights
    groups = None if training.groups is None else training.groups.numbers
    if not outputs.scattered and not training.has_gaps:
        word = "" if training.groups is None else training.groups.told
        operator, solution = fit_in_memory(Z, y, outputs, branch, trunk, solver, w, groups, features)
        count = None if groups is None else len(np.unique(groups))
        return Fitted(inputs, outputs, operator, solution, word, count)
    alpha, Z = _alpha(solver), Z.astype(np.float64, copy=False)
    if outputs.scattered:
        index, places, values = outputs.scattered_rows(y)
        P = places if outputs.box is None else outputs.box(places)
        trunks = [trunk] if trunk is not None else _polynomials(outputs, len(values) / len(Z))
        found = fit_scattered(Z, index, P, values, branch, trunks, alpha, w)
    else:
        found = fit_with_gaps(Z, y, outputs.seen(), branch, trunk, alpha, w)
    solution, T = found.solution, features_of(found.trunk, outputs.seen(), "trunk")
    if outputs.scattered:
        # The basis is that at the scattered points, but the form keeps the corners of their box.
        solution = replace(solution, basis=T if solution.lift is None else product(T, solution.lift))
    operator = Operator.of(found.branch, found.trunk, solution, T)
    return Fitted(inputs, outputs, operator, solution)


def _polynomials(outputs: Any, known: float) -> Iterator[Any]:
    """Trunks of growing degree, if so many values of a function are known."""
    for degree in degrees(outputs.points.shape[1], known):
        yield PerComponent(Legendre(degree)) if outputs.components else Legendre(degree)


def _alpha(solver: Any) -> float | None:
    """The alpha that a solver is given, or None if it is to be chosen."""
    if isinstance(solver, Pinv):
        return 0.0
    if not isinstance(solver, Ridge) or solver.penalty != "C" or solver.alphas is not None:
        raise InputError(
            f"outputs with gaps or at scattered points need Ridge() or Ridge(alpha), got {solver!r}."
        )
    return solver.checked()[0]
