"""Fits to functions in memory: complete, with gaps, or scattered."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from elmonet.errors import InputError
from elmonet.features import Legendre, PerComponent
from elmonet.features.base import checked_features, features_of, fit_features, fit_map
from elmonet.fitting.fitted import FittedOperator
from elmonet.fitting.incomplete import degrees, fit_scattered, fit_with_gaps
from elmonet.fitting.operator import Operator
from elmonet.fitting.prepare import FitSettings, Prepared, solve
from elmonet.forms.outputs import OutputForm, ScatteredForm
from elmonet.forms.training import Training
from elmonet.linalg import product
from elmonet.metrics import overall
from elmonet.solve import LEFT_OUT, Pinv, Ridge, Solution
from elmonet.solve.factor import Factor


class Reused(NamedTuple):
    """What an earlier solve for the same functions leaves to reuse.

    prepared : forms and parts, the branch fitted.
    features : (N, p1), features of the branch.
    factors : factors of these features.
    """

    prepared: Prepared
    features: np.ndarray | None = None
    factors: dict[str, Factor] | None = None


def fit_training(settings: FitSettings, training: Training, reused: Reused | None = None) -> FittedOperator:
    """Fit training data in memory, whatever its form: complete, with gaps, or scattered."""
    reused = Reused(settings.prepare(training)) if reused is None else reused
    return _fit_prepared(reused, training, settings)


def _fit_prepared(reused: Reused, training: Training, settings: FitSettings) -> FittedOperator:
    prepared, features, factors = reused
    inputs, outputs, branch, trunk, solver = prepared
    # Some solvers keep the precision of the data; what is learned is otherwise in double precision.
    dtype = outputs.dtype if getattr(solver, "keeps_precision", False) else np.float64
    Z, y, w = inputs.seen(training.X, dtype), training.y, training.weights
    more: dict[str, Any] = {"training": training, "method": settings.error_bars}
    if not isinstance(outputs, ScatteredForm) and not training.has_gaps:
        groups = None
        if training.groups is not None:
            groups = training.groups.numbers
            more |= {"grouping": training.groups.reason, "groups": len(np.unique(groups))}
        operator, solution = fit_in_memory(Z, y, outputs, branch, trunk, solver, w, groups, features, factors)
        more["refit"] = partial(_refit, settings, branch, trunk, _at_alpha(solver, solution.alpha))
        return FittedOperator.of(inputs, outputs, solution, operator=operator, **more)
    alpha, Z = _alpha(solver), Z.astype(np.float64, copy=False)
    if isinstance(outputs, ScatteredForm):
        index, places, values = outputs.flattened(y)
        trunks = [trunk] if trunk is not None else _polynomials(outputs, len(values) / len(Z))
        found = fit_scattered(Z, index, outputs.scaled(places), values, branch, trunks, alpha, w)
    else:
        found = fit_with_gaps(Z, y, outputs.seen(), branch, trunk, alpha, w)
    solution, T = found.solution, features_of(found.trunk, outputs.seen(), "trunk")
    if isinstance(outputs, ScatteredForm):
        # The basis is that at the scattered points, but the form keeps the corners of their box.
        solution = replace(solution, basis=T if solution.lift is None else product(T, solution.lift))
    operator = Operator.of(found.branch, found.trunk, solution, T)
    more["refit"] = partial(_refit, settings, operator.branch, operator.trunk, Ridge(solution.alpha))
    return FittedOperator.of(inputs, outputs, solution, operator=operator, **more)


def _refit(settings: FitSettings, branch: Any, trunk: Any, solver: Any, training: Training) -> FittedOperator:
    """Fit other training data with the parts that were chosen from all."""
    branch, trunk = clone(branch, safe=False), clone(trunk, safe=False)
    settings_of = trunk.get_params() if hasattr(trunk, "get_params") else {}
    ranks = {n: rank for n, rank in settings_of.items() if n.split("__")[-1] == "rank" and rank is not None}
    if ranks:  # fewer functions have fewer modes
        trunk.set_params(**{name: min(rank, len(training.X)) for name, rank in ranks.items()})
    parts = {"branch": branch, "trunk": trunk, "solver": solver}
    return _fit_prepared(Reused(settings.prepare(training)._replace(**parts)), training, settings)


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
    factors: dict[str, Factor] | None = None,
) -> tuple[Operator, Solution]:
    """Fit the operator from inputs Z (N, ...), as the branch sees them, to output rows y (N, M).

    Branch and trunk are not fitted yet; a fitted branch comes with its `features` (N, p1) of Z, perhaps with
    their `factors`. `weights` (N,) are square roots: a column of B and G times w counts
    w^2 times. Functions with the same number in `groups` (N,) are left out together.
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
    solution = solve(solver, T, B, G, sizes=sizes, groups=groups, factors=factors)
    operator = Operator.of(branch, trunk, solution, T)
    if outputs.logs is not None:
        fitted = product(product(operator.basis, operator.C), B).T
        solution = in_units_of_outputs(solution, outputs, y, fitted, weights)
    return operator, solution


def log_sizes(y: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Return the norms (N,) that errors of logarithms of outputs y (N, M) are relative to.

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
    """Return a solution for logarithms with its errors in units of the outputs y (N, M) themselves.

    `fitted` (N, M) are its logarithms for the training functions, for the residual.
    """
    weight = 1.0 if weights is None else weights[:, None]
    if fitted is not None:
        residual = np.linalg.norm(outputs.values(fitted / weight) - y) / (np.linalg.norm(y) or 1.0)
        solution = replace(solution, residual=float(residual))
    if solution.error_kind not in LEFT_OUT:
        return replace(solution, expected_error=None, error_kind=None, errors=None)
    errors = outputs.errors(solution.left_out().T / weight, y)
    return replace(solution, expected_error=float(overall(errors, y.shape[1])), errors=errors)


def _polynomials(outputs: Any, known: float) -> Iterator[Any]:
    """Yield trunks of growing degree, for functions with so many known values."""
    for degree in degrees(outputs.points.shape[1], known):
        yield PerComponent(Legendre(degree)) if outputs.components else Legendre(degree)


def _at_alpha(solver: Any, alpha: float) -> Any:
    """Return the solver with the alpha that it chose."""
    return Ridge(alpha, penalty=solver.penalty) if isinstance(solver, Ridge) else solver


def _alpha(solver: Any) -> float | None:
    """Return the alpha given to a solver, or None if it is to be chosen."""
    if isinstance(solver, Pinv):
        return 0.0
    if not isinstance(solver, Ridge) or solver.penalty != "C" or solver.alphas is not None:
        raise InputError(
            f"outputs with gaps or at scattered points need Ridge() or Ridge(alpha), got {solver!r}."
        )
    return solver.checked()[0]
