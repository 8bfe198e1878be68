"""How finely to solve an equation, and what error is left."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from elmonet.checks import positive_integer
from elmonet.errors import InputError
from elmonet.metrics import relative_l2
from elmonet.physics.discretise import Equation
from elmonet.physics.fields import Known
from elmonet.physics.geometry import Domain
from elmonet.physics.march import Open, Resolution, Solution, march, resolutions

__all__ = ["choose"]

_FEW = 8  # input functions that a resolution is chosen by
_FEWER = 3  # that the error of inputs is estimated by
_SETTLED = 1e-9  # of the solution: a change that is none
_NONE = 1e-8  # of the largest unknown: one that is zero
_WORSE = 10.0  # a change that grows so much: the points do not bear more
_SLOWEST = 0.6  # a change that shrinks less from one resolution to the next says little of the error


def choose(
    equation: Equation, known: Known, degree: Any, slabs: Any, tolerance: float
) -> tuple[Resolution, float]:
    """A resolution, and the error with it: of the solutions, and of inputs between their sensors.

    The user's degree and slabs if there are; else until `tolerance`, or beyond where that is cheap.
    """
    few = known.of(np.unique(np.linspace(0, known.count - 1, _FEW).astype(int)))
    if degree is not None or slabs is not None:
        chosen, error = _given(equation, few, degree, slabs)
    else:
        chosen, error = _raised(equation, few, known.count, tolerance)
    return chosen, float(np.hypot(error, _error_of_inputs(equation, known, chosen)))


def _raised(equation: Equation, few: Known, n: int, tolerance: float) -> tuple[Resolution, float]:
    """The first beyond which the solutions of few functions do not change."""
    domain = equation.domain
    d, rows = len(domain.names), len(domain.points) if isinstance(domain, Domain) else None
    shared = march(equation, few, Resolution((4,) * d)).shared
    unknowns = len(equation.names.unknowns)
    every = resolutions(d, n=n, unknowns=unknowns, shared=shared, march=equation.axis, rows=rows)
    last = march(equation, few, every[0])
    best, error, least, most, before = every[0], np.inf, np.inf, 0, np.inf
    for resolution, more in pairwise(every):
        try:
            values = march(equation, few, more)
        except Open:
            if rows is None or not most:
                raise
            break  # fewer functions were determined: the domain's points do not bear more
        change, count = _change(last, values, equation.probe), int((last.converged & values.converged).sum())
        if count > most or (count == most and change < least):
            best, least, most, error = resolution, change, count, _error(change, before)
        if least <= (_SETTLED if more.slabs == 1 else tolerance) or change > _WORSE * least:
            break
        last, before = values, change
    return best, error


def _given(equation: Equation, few: Known, degree: Any, slabs: Any) -> tuple[Resolution, float]:
    """The user's resolution, and its error against a richer one."""
    d = len(equation.domain.names)
    degree = 12 if degree is None else degree
    degrees = tuple(degree) if isinstance(degree, (tuple, list)) else (degree,) * d
    if len(degrees) != d:
        raise InputError(f"degree must hold one number for each of {d} coordinates, got {degree}.")
    chosen = Resolution(
        tuple(positive_integer(n, "degree") for n in degrees),
        positive_integer(1 if slabs is None else slabs, "slabs"),
    )
    less, more = (
        replace(chosen, degrees=tuple(max(1, n + sign * max(3, n // 3)) for n in chosen.degrees))
        for sign in (-1, 1)
    )
    own = march(equation, few, chosen)
    before = _change(march(equation, few, less), own, equation.probe)
    try:
        return chosen, _error(_change(own, march(equation, few, more), equation.probe), before)
    except Open:  # the points do not bear more: it is no worse than a poorer one
        return chosen, before


def _error(change: float, before: float) -> float:
    """The error of solutions that a richer resolution changes so much, and this one by `before`.

    If each resolution leaves the share q of the error, of this one's error e the next takes (1 - q) e.
    """
    if not np.isfinite(change):
        return np.inf
    return change / (1 - min(change / before, _SLOWEST)) if before > 0 else change


def _error_of_inputs(equation: Equation, known: Known, chosen: Resolution) -> float:
    """What splines through the sensors miss of u, as a change of the solutions.

    Splines of two degrees less change them by d, of four less by e. If each two degrees gain the same, d / e,
    those that are used miss d * d / e; d where nothing is gained. Without a grid there are none.
    """
    if not known.between_sensors:
        return 0.0
    n = min(known.count, _FEWER)
    few = known.of(np.linspace(0, known.count - 1, n).astype(int))
    found = march(equation, few.in_three_degrees(), chosen)
    own, lower, lowest = (found.of(rows) for rows in np.arange(3 * n).reshape(3, n))
    d, e = _change(lower, own, equation.probe), _change(lowest, own, equation.probe)
    return d * min(1.0, d / e) if 0 < d < np.inf and e > 0 else 0.0


def _change(own: Solution, richer: Solution, points: np.ndarray) -> float:
    """How far solutions are from richer ones, relative to these, for inputs that converged in both.

    Each unknown counts in units of its size, so that they count alike; but not one that is only rounding.
    """
    good = own.converged & richer.converged
    if not good.any():
        return np.inf
    here, there = own.values(points), richer.values(points)
    sizes = {name: float(np.sqrt(np.mean(values[good] ** 2))) for name, values in there.items()}
    largest = max(sizes.values()) or 1.0
    units = {name: max(size, _NONE * largest) for name, size in sizes.items()}
    stacked = (np.concatenate([each[n][good] / units[n] for n in units], axis=1) for each in (here, there))
    return relative_l2(*stacked)
