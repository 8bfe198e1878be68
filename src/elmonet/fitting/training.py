"""The fit to training functions in memory, whatever their form: complete, with gaps, or scattered."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from elmonet._blas import product
from elmonet._check import InputError
from elmonet.features import Legendre, PerComponent
from elmonet.features.base import features_of
from elmonet.fitting.fitted import Fitted
from elmonet.fitting.in_memory import fit_in_memory
from elmonet.fitting.prepare import Prepared
from elmonet.fitting.unaligned import degrees, fit_scattered, fit_with_gaps
from elmonet.form.training import Training
from elmonet.operator import Operator
from elmonet.solve import Pinv, Ridge

__all__ = ["fit_training"]


def fit_training(prepared: Prepared, training: Training) -> Fitted:
    """The operator that these functions teach, with the forms and an account."""
    inputs, outputs, branch, trunk, solver = prepared
    # Some solvers keep the precision of the data; what is learned is otherwise in double precision.
    dtype = outputs.dtype if getattr(solver, "keeps_precision", False) else np.float64
    Z, y, w = inputs.seen(training.X, dtype), training.y, training.weights
    groups = None if training.groups is None else training.groups.numbers
    if not outputs.scattered and not training.has_gaps:
        word = "" if training.groups is None else training.groups.told
        operator, solution = fit_in_memory(Z, y, outputs, branch, trunk, solver, w, groups)
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
