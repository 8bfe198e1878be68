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
from elmonet.fitting.fitted_operator import FittedOperator
from elmonet.fitting.incomplete import degrees, fit_scattered, fit_with_gaps
from elmonet.fitting.operator import Operator
from elmonet.fitting.prepare import FitSettings, Prepared, solve
from elmonet.forms.outputs import ScatteredForm
from elmonet.forms.training import Training
from elmonet.linalg import product
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


def fit_training(
    settings: FitSettings, training: Training, reused: Reused | None = None, until: float = np.inf
) -> FittedOperator:
    """Fit training data in memory, whatever its form: complete, with gaps, or scattered.

    `until` is as in `fit_with_gaps` and `fit_scattered`.
    """
    reused = Reused(settings.prepare(training)) if reused is None else reused
    inputs, outputs, branch, trunk, solver = reused.prepared
    # Some solvers keep the precision of the data; what is learned is otherwise in double precision.
    dtype = outputs.dtype if getattr(solver, "keeps_precision", False) else np.float64
    Z, y, w = inputs.seen(training.X, dtype), training.y, training.weights
    more: dict[str, Any] = {
        "training": training,
        "method": settings.error_bars,
        "again": partial(fit_training, settings),
        "with_branch": partial(_with_branch, settings),
    }
    if not isinstance(outputs, ScatteredForm) and not training.has_gaps:
        if training.groups is not None:
            groups = len(np.unique(training.groups.numbers))
            more |= {"grouping": training.groups.reason, "groups": groups}
        operator, solution = _fit_complete(reused, training, Z)
        more["refit"] = partial(_refit, settings, branch, trunk, _at_alpha(solver, solution.alpha))
        return FittedOperator.of(inputs, outputs, solution, operator=operator, **more)
    alpha, Z = _alpha(solver), Z.astype(np.float64, copy=False)
    if isinstance(outputs, ScatteredForm):
        index, places, values = outputs.flattened(y)
        trunks = [trunk] if trunk is not None else _polynomials(outputs, len(values) / len(Z))
        found = fit_scattered(Z, index, outputs.scaled(places), values, branch, trunks, alpha, w, until)
    else:
        found = fit_with_gaps(Z, outputs.target(y), outputs.seen(), branch, trunk, alpha, w, until)
    solution, T = found.solution, features_of(found.trunk, outputs.seen(), "trunk")
    if outputs.centre is not None:  # errors of a variation, in units of the outputs
        size = np.sqrt(np.nansum((outputs.target(y) * outputs.centre.scale) ** 2) / np.nansum(y**2))
        error, residual = (float(e * size) for e in (solution.expected_error or 0, solution.residual or 0))
        solution = replace(solution, expected_error=error, residual=residual)
    if isinstance(outputs, ScatteredForm):
        # The basis is that at the scattered points, but the form keeps the corners of their box.
        solution = replace(solution, basis=T if solution.lift is None else product(T, solution.lift))
    operator = Operator.of(found.branch, found.trunk, solution, T)
    more["refit"] = partial(_refit, settings, operator.branch, operator.trunk, Ridge(solution.alpha))
    return FittedOperator.of(inputs, outputs, solution, operator=operator, **more)


def _with_branch(settings: FitSettings, branch: Any, training: Training) -> FittedOperator:
    """Fit training data with another branch."""
    return fit_training(replace(settings, branch=branch), training)


def _refit(settings: FitSettings, branch: Any, trunk: Any, solver: Any, training: Training) -> FittedOperator:
    """Fit other training data with the parts that were chosen from all."""
    branch, trunk = clone(branch, safe=False), clone(trunk, safe=False)
    settings_of = trunk.get_params() if hasattr(trunk, "get_params") else {}
    ranks = {n: rank for n, rank in settings_of.items() if n.split("__")[-1] == "rank" and rank is not None}
    if ranks:  # fewer functions have fewer modes
        trunk.set_params(**{name: min(rank, len(training.X)) for name, rank in ranks.items()})
    parts = {"branch": branch, "trunk": trunk, "solver": solver}
    return fit_training(settings, training, Reused(settings.prepare(training)._replace(**parts)))


def _fit_complete(reused: Reused, training: Training, Z: np.ndarray) -> tuple[Operator, Solution]:
    """Fit the operator from inputs Z (N, ...), as the branch sees them, to outputs without gaps.

    Weights are square roots: a column of B and G times w counts w^2 times.
    """
    (_, outputs, branch, trunk, solver), features, factors = reused
    y, weights, G = training.y, training.weights, outputs.target(training.y).astype(Z.dtype, copy=False).T
    P = outputs.seen(dtype=Z.dtype)
    features = fit_features(branch, Z, G.T) if features is None else features
    B = checked_features(features, branch, Z, "branch").T
    if weights is not None:
        weights = weights.astype(Z.dtype)
        B, G = B * weights, G * weights
    T = features_of(fit_map(trunk, P, G), P, "trunk")  # it learns through G G' only
    counts = None if weights is None else weights**2
    sizes = outputs.reference(y, counts)
    sizes = sizes if sizes is None or weights is None else sizes * weights
    groups = None if training.groups is None else training.groups.numbers
    solution = solve(solver, T, B, G, sizes=sizes, groups=groups, factors=factors, roots=weights)
    operator = Operator.of(branch, trunk, solution, T)
    transformed = outputs.logs is not None or outputs.centre is not None
    if transformed:
        fitted = product(operator.basis, product(operator.C, B)).T
        weight = 1.0 if weights is None else weights[:, None]
        missed = weight * (outputs.values(fitted / weight) - y)
        residual = np.linalg.norm(missed) / (np.linalg.norm(weight * y) or 1.0)
        solution = replace(solution, residual=float(residual))
        if solution.error_kind not in LEFT_OUT:
            solution = replace(solution, expected_error=None, error_kind=None, errors=None)
    if solution.error_kind in LEFT_OUT and (transformed or outputs.weighs):
        left_out = solution.left_out().T
        left_out = left_out if weights is None else left_out / weights[:, None]
        errors, each = outputs.errors(left_out, y), outputs.component_errors(left_out, y, counts)
        expected = float(np.average(errors, weights=counts))
        solution = replace(solution, expected_error=expected, errors=errors, component_errors=each)
    return operator, solution


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
