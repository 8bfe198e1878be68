"""Choose how finely to solve an equation, and estimate the remaining error."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import comb
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from elmonet.checks import positive_integer
from elmonet.errors import InputError, TimeBudgetWarning, warn
from elmonet.metrics import function_norms, reference_norms
from elmonet.physics.discretise import Equation
from elmonet.physics.fields import InputFields
from elmonet.physics.geometry import Domain
from elmonet.physics.march import Resolution, SpectralSolution, UnderdeterminedError, march

_DEGREES = (6, 9, 13, 18, 24, 32, 40, 50, 64, 90, 128, 180, 256, 360)  # tried on the whole domain
_SLABS = ((28, 10, 4), (40, 8, 8), (56, 8, 12), (80, 7, 20), (110, 6, 30))  # degrees in space, in time; slabs
_CHEAP_DEGREE = 90  # without a shared factorisation, higher ones are for functions that need them
_USUAL_DEGREE = 12  # where the user gives slabs alone
_MAX_COEFFICIENTS_SHARED = 4000  # of a function, with one factorisation for all functions
_MAX_COEFFICIENTS = 800  # of a function, without
_MAX_SLAB_WORK = 2.5e9  # functions x slabs x coefficients^2: about two minutes
_TRIAL_FUNCTIONS = 8  # inputs for which resolutions are tried
_SENSOR_FUNCTIONS = 24  # inputs for which the interpolation error between sensors is estimated
FEWEST_FOR_RATE = 12  # sensors on an axis, below which two coarser splines do not tell how errors fall
_CHOICE_SHARE = 0.3  # of the time there is, for trials of resolutions
_CONVERGED = 1e-9  # relative change of solutions that is none
_ZERO_UNKNOWN = 1e-8  # relative to the largest unknown: one that is rounding
_DIVERGING = 10.0  # stop when the change grows by this factor: the points do not support more functions,
_VISIBLE = 1e-3  # or it is rounding that grows, if the change is below this
_SLOWEST_RATE = 0.6  # a change that shrinks less from one resolution to the next says little of the error
_UNMET = 0.5  # residual relative to its terms: above, the equation does not hold,
_REMAINING = 0.5  # nor if more than this share of the residual remains at the next resolution,
_SETTLED = 0.01  # and solutions change by less than this share of it,
_ROUNDING = 1e-6  # unless the relative residual is below this: then it may be rounding


class Choice(NamedTuple):
    """A resolution, the relative error of its solutions, and the relative residual that remains.

    `unmet` is 0 where the residual vanishes with refinement, as it does if there is a solution.
    """

    resolution: Resolution
    error: float
    unmet: float = 0.0


def choose(
    equation: Equation, inputs: InputFields, degree: Any, slabs: Any, tolerance: float, until: float = np.inf
) -> Choice:
    """Return a resolution and its relative error, of the solver and of inputs between their sensors.

    Use the user's degree and slabs if given; else refine until `tolerance`, or beyond where that is cheap;
    in a part of the time until `until`.
    """
    trials = perf_counter() + _CHOICE_SHARE * (until - perf_counter())
    few = _spread(inputs, _TRIAL_FUNCTIONS)
    if degree is not None or slabs is not None:
        chosen = _given(equation, few, degree, slabs)
    else:
        chosen = _refined(equation, few, inputs.count, tolerance, trials)
    between = _interpolation_error(equation, _spread(inputs, _SENSOR_FUNCTIONS), chosen.resolution)
    return chosen._replace(error=float(np.hypot(chosen.error, between)))


def _spread(inputs: InputFields, n: int) -> InputFields:
    """Return at most n of the inputs, spread over all."""
    return inputs.subset(np.unique(np.linspace(0, inputs.count - 1, n).astype(int)))


def _refined(equation: Equation, few: InputFields, n: int, tolerance: float, until: float) -> Choice:
    """Return the first resolution beyond which the solutions of a few functions do not change."""
    candidates = _candidates(equation, few, n)
    last = march(equation, few, candidates[0])
    best = Choice(candidates[0], np.inf)
    least, most_converged, last_change = np.inf, 0, np.inf
    took = 0.0
    for resolution, finer in pairwise(candidates):
        begin = perf_counter()
        if least < np.inf and begin + took * _work(finer) / _work(resolution) > until:
            break
        try:
            solution = march(equation, few, finer)
        except UnderdeterminedError:
            high = isinstance(equation.domain, Domain) or max(finer.degrees) > _CHEAP_DEGREE
            if not (high and most_converged):
                raise
            break  # coarser ones were determined: points, or rounding, do not support more functions
        took = perf_counter() - begin
        change = _change(last, solution, equation.probe)
        count = int((last.converged & solution.converged).sum())
        current = _assessed(resolution, change, last_change, last, solution)
        distance = max(change, current.error) if current.unmet > _UNMET else change
        diverging = distance > _DIVERGING * least
        # On a box, points grow with the degree: a change that grows begins to resolve what was not seen.
        surprising = diverging and change > _VISIBLE and not equation.nearly_dependent
        if count > most_converged or (count == most_converged and (distance < least or surprising)):
            best, least, most_converged = current, distance, count
        cheap = finer.slabs == 1 and (solution.shared or max(finer.degrees) <= _CHEAP_DEGREE)
        limit = _CONVERGED if cheap else tolerance
        if least <= limit or (diverging and not surprising):
            break
        last, last_change = solution, change
    return best


def _work(resolution: Resolution) -> float:
    """Return how seconds grow with the resolution: at most by the cube of the coefficients."""
    return resolution.slabs * float(np.prod(np.asarray(resolution.degrees) + 1.0)) ** 3


def inputs_in_time(
    equation: Equation, inputs: InputFields, resolution: Resolution, until: float, kept: int = 0
) -> np.ndarray:
    """Return the inputs, as indices, that can be solved in time: all, or some spread over all.

    A few and four times as many are solved, for the seconds of each. At least as many as that are returned,
    and the last `kept`.
    """
    n = inputs.count
    every, few = np.arange(n), _TRIAL_FUNCTIONS
    if until == np.inf or n <= 8 * few:
        return every
    seconds = []
    for count in (few, 4 * few):
        begin = perf_counter()
        march(equation, _spread(inputs, count), resolution)
        seconds.append(perf_counter() - begin)
    each = max((seconds[1] - seconds[0]) / (3 * few), 0.0)
    left = until - perf_counter() - seconds[0]
    possible = n if each * n <= left else max(int(left / each) if left > 0 else 0, 4 * few)
    if possible >= n - kept:
        return every
    own = np.unique(np.linspace(0, n - kept - 1, possible).astype(int))
    warn(
        f"there was time to solve the equation for {len(own) + kept} of {n} inputs. Give a longer "
        "time_budget to use all.",
        TimeBudgetWarning,
    )
    return np.concatenate([own, every[n - kept :]])


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


def _given(equation: Equation, few: InputFields, degree: Any, slabs: Any) -> Choice:
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
        refined = march(equation, few, finer)
    except UnderdeterminedError:  # the points do not support a finer one: bound by the coarser one's error
        return Choice(chosen, before)
    return _assessed(chosen, _change(solution, refined, equation.probe), before, solution, refined)


def _assessed(
    resolution: Resolution, change: float, before: float, coarse: SpectralSolution, fine: SpectralSolution
) -> Choice:
    """Return the error of `coarse`, which changes by `change` when refined to `fine`, after one by `before`.

    If each refinement leaves the share q of the error e, the next changes solutions by (1 - q) e.

    That holds if there is a solution, and it is resolved. Otherwise refinement may change little, but the
    equation does not hold: its residual remains. The terms on both sides of an equation cancel, so that a
    residual of the share r of all terms is 2 r of each side, and solutions are wrong by about as much.
    """
    if not np.isfinite(change):
        return Choice(resolution, np.inf)
    error = change / (1 - min(change / before, _SLOWEST_RATE)) if before > 0 else change
    r = min(coarse.relative_residual, fine.relative_residual)
    remains = r > _REMAINING * coarse.relative_residual and error < _SETTLED * r
    unmet = r if r > _ROUNDING and (r > _UNMET or remains) else 0.0
    return Choice(resolution, max(error, 2 * unmet), unmet)


def _interpolation_error(equation: Equation, few: InputFields, chosen: Resolution) -> float:
    """Return the error of interpolation between the sensors, as a change of the solutions.

    A coarser interpolant changes a solution by d, the next coarser one by e. If the error is x, q x and q^2 x
    with the coarsest, the coarser and the usual one, then e = (1 - q^2) x and d = (q - q^2) x: with r = d / e
    that is q = r / (1 - r), and the usual one has the error q^2 x = d r / (1 - 2 r). Where little is gained
    (r > 1/3), and with a few sensors, whose r is small by chance, it is stated as d.
    """
    if not few.has_sensors:
        return 0.0
    n = few.count
    solution = march(equation, few.with_coarser_interpolants(), chosen)
    usual, lower, lowest = (solution.subset(rows) for rows in np.arange(3 * n).reshape(3, n))
    d, e = _changes(lower, usual, equation.probe), _changes(lowest, usual, equation.probe)
    known = np.isfinite(d) & np.isfinite(e)
    d, e = d[known], e[known]
    believed = (e > 3 * d) & (few.fewest_sensors >= FEWEST_FOR_RATE)
    gained = np.divide(d, e - 2 * d, out=np.ones_like(d), where=believed)
    return float(np.mean(d * gained)) if len(d) else 0.0


def _change(coarse: SpectralSolution, fine: SpectralSolution, points: np.ndarray) -> float:
    """Return the mean of `_changes` over the inputs that converged in both solutions, inf if none did."""
    changes = _changes(coarse, fine, points)
    converged = np.isfinite(changes)
    return float(np.mean(changes[converged])) if converged.any() else np.inf


def _changes(coarse: SpectralSolution, fine: SpectralSolution, points: np.ndarray) -> np.ndarray:
    """Return the relative L2 difference for each input, inf for those that did not converge in both.

    Each unknown is scaled by its size, so that all count alike, except one that is only rounding.
    """
    converged = coarse.converged & fine.converged
    changes = np.full(len(converged), np.inf)
    if not converged.any():
        return changes
    values = coarse.values(points), fine.values(points)
    sizes = {name: float(np.sqrt(np.mean(field[converged] ** 2))) for name, field in values[1].items()}
    largest = max(sizes.values()) or 1.0
    units = {name: max(size, _ZERO_UNKNOWN * largest) for name, size in sizes.items()}
    a, b = (np.concatenate([each[n][converged] / units[n] for n in units], axis=1) for each in values)
    changes[converged] = function_norms(a - b) / reference_norms(function_norms(b))
    return changes
