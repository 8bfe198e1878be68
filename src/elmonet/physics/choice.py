"""Choose how finely to solve an equation, and estimate the remaining error."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import comb
from typing import Any

import numpy as np

from elmonet.checks import positive_integer
from elmonet.errors import InputError
from elmonet.metrics import relative_l2
from elmonet.physics.discretise import Equation
from elmonet.physics.fields import InputFields
from elmonet.physics.geometry import Domain
from elmonet.physics.march import Resolution, SpectralSolution, UnderdeterminedError, march

_DEGREES = (6, 9, 13, 18, 24, 32, 40, 50, 64, 90)  # tried on the whole domain
_SLABS = ((28, 10, 4), (40, 8, 8), (56, 8, 12), (80, 7, 20), (110, 6, 30))  # degrees in space, in time; slabs
_USUAL_DEGREE = 12  # where the user gives slabs alone
_MAX_COEFFICIENTS_SHARED = 4000  # of a function, with one factorisation for all functions
_MAX_COEFFICIENTS = 800  # of a function, without
_MAX_SLAB_WORK = 2.5e9  # functions x slabs x coefficients^2: about two minutes
_TRIAL_FUNCTIONS = 8  # inputs for which resolutions are tried
_SPLINE_FUNCTIONS = 3  # inputs for which the interpolation error between sensors is estimated
_CONVERGED = 1e-9  # relative change of solutions that is none
_ZERO_UNKNOWN = 1e-8  # relative to the largest unknown: one that is rounding
_DIVERGING = 10.0  # stop when the change grows by this factor: the points do not support more functions
_SLOWEST_RATE = 0.6  # a change that shrinks less from one resolution to the next says little of the error


def choose(
    equation: Equation, inputs: InputFields, degree: Any, slabs: Any, tolerance: float
) -> tuple[Resolution, float]:
    """Return a resolution and its relative error, of the solver and of inputs between their sensors.

    Use the user's degree and slabs if given; else refine until `tolerance`, or beyond where that is cheap.
    """
    few = inputs.subset(np.unique(np.linspace(0, inputs.count - 1, _TRIAL_FUNCTIONS).astype(int)))
    if degree is not None or slabs is not None:
        chosen, error = _given(equation, few, degree, slabs)
    else:
        chosen, error = _refined(equation, few, inputs.count, tolerance)
    return chosen, float(np.hypot(error, _interpolation_error(equation, inputs, chosen)))


def _refined(equation: Equation, few: InputFields, n: int, tolerance: float) -> tuple[Resolution, float]:
    """Return the first resolution beyond which the solutions of a few functions do not change."""
    candidates = _candidates(equation, few, n)
    last = march(equation, few, candidates[0])
    best, error = candidates[0], np.inf
    least_change, most_converged, last_change = np.inf, 0, np.inf
    for resolution, finer in pairwise(candidates):
        try:
            solution = march(equation, few, finer)
        except UnderdeterminedError:
            if not isinstance(equation.domain, Domain) or not most_converged:
                raise
            break  # coarser ones were determined: the domain's points do not support more functions
        change = _change(last, solution, equation.probe)
        count = int((last.converged & solution.converged).sum())
        if count > most_converged or (count == most_converged and change < least_change):
            best, error = resolution, _error(change, last_change)
            least_change, most_converged = change, count
        limit = _CONVERGED if finer.slabs == 1 else tolerance
        if least_change <= limit or change > _DIVERGING * least_change:
            break
        last, last_change = solution, change
    return best, error


def _candidates(equation: Equation, few: InputFields, n: int) -> list[Resolution]:
    """Return the resolutions to try for n functions; the last only tells the error of the one before.

    Slabs come last, and only where functions do not share one factorisation. On a `Domain`, polynomials go
    up to a total degree, and there are at least twice as many points.
    """
    domain, unknowns, axis = equation.domain, len(equation.symbols.unknowns), equation.marching_axis
    d, scattered = len(domain.names), isinstance(domain, Domain)
    shared = march(equation, few, Resolution((4,) * d)).shared
    limit = (_MAX_COEFFICIENTS_SHARED if shared else _MAX_COEFFICIENTS) / unknowns
    limit = min(limit, len(domain.points) / 2 if scattered else np.inf)
    single: list[Resolution] = []
    slabs: list[Resolution] = []
    beyond: list[Resolution] = []
    for degree in _DEGREES:
        width = comb(degree + d, d) if scattered else (degree + 1) ** d
        (single if width <= limit else beyond).append(Resolution((degree,) * d))
    for space, time, count in _SLABS if axis is not None and d == 2 and not shared else ():
        degrees = np.full(d, space)
        degrees[axis] = time
        size = float(np.prod(degrees + 1))
        affordable = size <= limit and n * count * (size * unknowns) ** 2 <= _MAX_SLAB_WORK
        (slabs if affordable else beyond).append(Resolution(tuple(degrees.tolist()), count))
    beyond = [candidate for candidate in beyond if (candidate.slabs > 1) == bool(slabs)]
    return single + slabs + beyond[:1]


def _given(equation: Equation, few: InputFields, degree: Any, slabs: Any) -> tuple[Resolution, float]:
    """Return the user's resolution, and its error against a finer one."""
    d = len(equation.domain.names)
    degree = _USUAL_DEGREE if degree is None else degree
    degrees = tuple(degree) if isinstance(degree, (tuple, list)) else (degree,) * d
    if len(degrees) != d:
        raise InputError(f"degree must hold one number for each of {d} coordinates, got {degree}.")
    chosen = Resolution(
        tuple(positive_integer(n, "degree") for n in degrees),
        positive_integer(1 if slabs is None else slabs, "slabs"),
    )
    coarser, finer = (
        replace(chosen, degrees=tuple(max(1, n + sign * max(3, n // 3)) for n in chosen.degrees))
        for sign in (-1, 1)
    )
    solution = march(equation, few, chosen)
    before = _change(march(equation, few, coarser), solution, equation.probe)
    try:
        return chosen, _error(_change(solution, march(equation, few, finer), equation.probe), before)
    except UnderdeterminedError:  # the points do not support a finer one: bound by the coarser one's error
        return chosen, before


def _error(change: float, before: float) -> float:
    """Return the error of solutions that change by `change` when refined, after a change by `before`.

    If each refinement leaves the share q of the error e, the next changes solutions by (1 - q) e.
    """
    if not np.isfinite(change):
        return np.inf
    return change / (1 - min(change / before, _SLOWEST_RATE)) if before > 0 else change


def _interpolation_error(equation: Equation, inputs: InputFields, chosen: Resolution) -> float:
    """Return the error of splines through the sensors, as a change of the solutions.

    Splines of two degrees less change solutions by d, of four less by e. If each two degrees gain the same
    factor d / e, the splines in use have the error d * d / e; d where nothing is gained. Scattered sensors
    have no splines, and no estimate.
    """
    if not inputs.has_sensors:
        return 0.0
    n = min(inputs.count, _SPLINE_FUNCTIONS)
    few = inputs.subset(np.linspace(0, inputs.count - 1, n).astype(int))
    solution = march(equation, few.with_lower_degrees(), chosen)
    usual, lower, lowest = (solution.subset(rows) for rows in np.arange(3 * n).reshape(3, n))
    d, e = _change(lower, usual, equation.probe), _change(lowest, usual, equation.probe)
    return d * min(1.0, d / e) if 0 < d < np.inf and e > 0 else 0.0


def _change(coarse: SpectralSolution, fine: SpectralSolution, points: np.ndarray) -> float:
    """Return the mean relative L2 difference for inputs that converged in both solutions.

    Each unknown is scaled by its size, so that all count alike, except one that is only rounding.
    """
    converged = coarse.converged & fine.converged
    if not converged.any():
        return np.inf
    values = coarse.values(points), fine.values(points)
    sizes = {name: float(np.sqrt(np.mean(field[converged] ** 2))) for name, field in values[1].items()}
    largest = max(sizes.values()) or 1.0
    units = {name: max(size, _ZERO_UNKNOWN * largest) for name, size in sizes.items()}
    scaled = (np.concatenate([each[n][converged] / units[n] for n in units], axis=1) for each in values)
    return relative_l2(*scaled)
