"""An equation with its conditions, solved for many input functions in the span of a trunk."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from time import perf_counter
from typing import Any, NamedTuple, Self

import numpy as np

from elmonet._check import InputError, NumericsWarning, coordinates, number, positive_integer
from elmonet.data.operator_data import OperatorData
from elmonet.interpolation import grid_points
from elmonet.metrics import relative_l2
from elmonet.physics.basis import Basis
from elmonet.physics.box import Box, check_points
from elmonet.physics.constants import find_constants
from elmonet.physics.correction import Correction, correct
from elmonet.physics.domain import Domain
from elmonet.physics.fields import ONE, Names
from elmonet.physics.known import Known
from elmonet.physics.march import Equation, Open, Solution, march
from elmonet.physics.measurements import Measurements
from elmonet.physics.report import Physics
from elmonet.physics.resolution import Resolution, resolutions
from elmonet.physics.rows import Rows

__all__ = ["PDE", "Pairs"]

_FEWER = 3  # that the error of inputs is estimated by
_FEW = 8  # input functions that a resolution is chosen by
_SETTLED = 1e-9  # of the solution: a change that is none
_NONE = 1e-8  # of the largest unknown: one that is zero
_WORSE = 10.0  # a change that grows so much: the points do not bear more
_POINTS = (100, 30, 12)  # in each coordinate, in one to three dimensions


class Pairs(NamedTuple):
    """Inputs that converged, their solutions at points, sensors, and an account."""

    u: Any
    s: Any
    points: np.ndarray
    sensors: Any
    account: Physics


class PDE:
    """An equation with its conditions, whose input function u is given.

    Parameters
    ----------
    domain : where it holds: a `Box`, or a `Domain`.
    residual : of s and u, and of coordinates and constants by name if it needs them, zero for a solution:
        ``lambda s, u: s.t - 0.01 * s.xx - u``. Of NumPy's functions, only analytic ones. Several equations: a
        tuple of them.
    conditions : residuals by face, ``{"t=0": lambda s, u: s}``, or by part of a `Domain`'s boundary; with the
        outward normal as ``nx``, ``ny`` if they ask for it.
    input_axes : the coordinates that u depends on; None: all. Several inputs: a dictionary, with () for a
        number: ``{"k": ("x",), "speed": ()}`` is ``u.k`` and ``u.speed``.
    unknowns : the names of several unknowns, as ``("v", "w", "p")`` for ``s.v.xx``; None: one, s itself.
    constants : numbers that residuals take by name: ``{"k": 0.01}``.
    find : the names of constants that data beside the equation shall find; `constants` is where to begin.
    degree : of the polynomials, one for all coordinates or one for each; None: raised until solutions no
        longer change.
    slabs : how many pieces in time follow each other; None: chosen.
    trunk : a function of the degree that gives a trunk to solve in, as
        ``lambda n: Legendre((n, n)).zero_on_boundary()``, which meets conditions exactly; None: polynomials,
        and waves along periodic coordinates.
    start : a function of the coordinates, where Newton's method begins; None: zero.
    tolerance : slabs in time are tried until solutions change by less than that, relative to their size.

    Examples
    --------
    >>> pde = PDE(Box(x=(0, 1)), lambda s, u: s.x - u, {"x=0": lambda s, u: s})
    >>> x = np.linspace(0, 1, 20)
    >>> data = pde.solve(np.cos(x)[None], sensors=x, points=x)
    >>> bool(np.allclose(data.s_train, np.sin(x)))
    True
    """

    def __init__(
        self,
        domain: Box | Domain,
        residual: Callable[..., Any],
        conditions: Mapping[str, Callable[..., Any]],
        input_axes: tuple[str, ...] | dict[str, tuple[str, ...]] | None = None,
        *,
        unknowns: tuple[str, ...] | None = None,
        constants: Mapping[str, float] | None = None,
        find: tuple[str, ...] = (),
        degree: int | tuple[int, ...] | None = None,
        slabs: int | None = None,
        trunk: Callable[[int], Any] | None = None,
        start: Callable[..., Any] | None = None,
        tolerance: float = 1e-4,
    ):
        if not isinstance(domain, (Box, Domain)):
            raise InputError(f"a PDE holds in a Box or a Domain, as Box(x=(0, 1)); got {domain!r}.")
        if not isinstance(conditions, Mapping):
            raise InputError(
                f'conditions are a dictionary, as {{"x=0": lambda s, u: s}}, or {{}}; got {conditions!r}.'
            )
        self.domain, self.residual, self.conditions = domain, residual, dict(conditions)
        self.input_axes = domain.names if input_axes is None else input_axes
        self.unknowns = ONE if unknowns is None else tuple(unknowns)
        self.constants = {name: number(v, name, minimum=-np.inf) for name, v in (constants or {}).items()}
        self.find = (find,) if isinstance(find, str) else tuple(find)
        if set(self.find) - set(self.constants):
            raise InputError(f"find must name constants, {', '.join(self.constants) or 'none'}; got {find}.")
        self.degree, self.slabs, self.trunk, self.start = degree, slabs, trunk, start
        self.tolerance = number(tolerance, "tolerance", strict=True)
        axes = self.input_axes.values() if isinstance(self.input_axes, dict) else [self.input_axes]
        if any(set(own) - set(domain.names) for own in axes):
            raise InputError(f"input_axes must be coordinates of {domain!r}, got {self.input_axes}.")
        if len(set(self.unknowns)) < len(self.unknowns):
            raise InputError(f"unknowns must have different names, got {self.unknowns}.")

    def with_constants(self, **constants: float) -> Self:
        """The same equation with other constants."""
        own = dict(self.__dict__)
        new = object.__new__(type(self))
        new.__dict__ = own | {"constants": self.constants | constants}
        return new

    def solve(self, u: Any, sensors: Any, points: Any = None) -> OperatorData:
        """Solutions at points (M, d) for input functions u (N, m) at sensors: pairs to train on."""
        found = self.solved(u, sensors, points)
        s, components = found.s, None
        if isinstance(s, dict):
            s, components = np.stack(list(s.values()), axis=-1), tuple(s)
        u = found.u
        if isinstance(u, dict):
            u = {name: own[:, None] if own.ndim == 1 else own for name, own in u.items()}
        return OperatorData(u, s, None, None, found.sensors, found.points, "pde", components)

    def solved(
        self, u: Any, sensors: Any, points: Any = None, *, data: Any = None, progress: Any = None
    ) -> Pairs:
        """The same with an account; `progress` is called with the share that is done.

        `points` None: a uniform grid, of 100 points on a line, 30 x 30 in a plane, 12 x 12 x 12 in space; of
        a `Domain`, its own. `data`: outputs of some functions, as an `OperatorData`, ``(u, s)`` or
        ``(u, s, points)``; what they say of the equation corrects all solutions.
        """
        begun = perf_counter()
        where = self._usual_points() if points is None else points
        where = coordinates(where, dimension=len(self.domain.names))
        check_points(self.domain, where)
        measured = None if data is None else Measurements.of(data, where, self.unknowns)
        constants, correction = {}, None
        if measured is not None:
            constants = self._constants_found(measured, sensors)
            self = self.with_constants(**{name: value for name, (value, _) in constants.items()})
            u = measured.with_inputs(u)
        known = Known(u, sensors, self.input_axes, self.domain)
        found, resolution, error = self._solution(known, progress)
        failed = np.flatnonzero(~found.converged)
        good = _require_some(found.converged)
        values = {name: own[good] for name, own in found.values(where).items()}
        if measured is not None:
            if not good[-len(measured.y) :].all():
                raise InputError(
                    "the equation did not converge for all inputs of the data. Leave out those for which it "
                    "has no solution."
                )
            values, correction = self._corrected(measured, values, measured.seen(found.values)[good])
            error = float(np.hypot(error, correction.error))
        account = Physics(
            resolution,
            found.width,
            found.linear,
            found.shared,
            found.residuals,
            found.steps,
            failed,
            error,
            perf_counter() - begun,
            constants,
            correction,
        )
        s = values[""] if self.unknowns == ONE else values
        return Pairs(_kept(u, good), s, where, known.sensors, account)

    def _solution(
        self, known: Known, progress: Any = None, resolution: Resolution | None = None
    ) -> tuple[Solution, Resolution, float]:
        """Solutions as functions, the resolution and its error; if one is given, nothing is chosen."""
        equation, error = self._equation(known), np.nan
        if resolution is None:
            resolution, error = self._choose(equation, known)
        return march(equation, known, resolution, progress), resolution, error

    def _constants_found(self, measured: Measurements, sensors: Any) -> dict[str, tuple[float, float]]:
        """The constants to find, as the measurements say, with standard errors."""
        if not self.find:
            return {}
        known = Known(measured.u, sensors, self.input_axes, self.domain)
        _, resolution, _ = self._solution(known)
        return find_constants(
            measured,
            {name: self.constants[name] for name in self.find},
            lambda own: self.with_constants(**own)._solution(known, resolution=resolution)[0].values,
        )

    def _corrected(
        self, measured: Measurements, values: dict[str, np.ndarray], seen: np.ndarray
    ) -> tuple[dict[str, np.ndarray], Correction]:
        """Solutions with what the measurements say of them, each unknown in units of its own size."""
        sizes = {name: float(np.sqrt(np.mean(own**2))) or 1.0 for name, own in values.items()}
        stacked = np.concatenate([own / sizes[name] for name, own in values.items()], axis=1)
        stacked, correction = correct(measured, stacked, seen)
        parts = np.split(stacked, len(values), axis=1)
        return {n: own * sizes[n] for n, own in zip(values, parts, strict=True)}, correction

    def _usual_points(self) -> np.ndarray:
        if isinstance(self.domain, Domain):
            return self.domain.points
        return self.domain.grid(_POINTS[len(self.domain.names) - 1])

    def _equation(self, known: Known) -> Equation:
        names = Names(self.domain.names, self.unknowns, known.names, self.constants)
        return Equation(
            self.domain,
            self.residual,
            self.conditions,
            names,
            self._basis,
            self._axis(names),
            self.start,
            isinstance(self.domain, Domain) or self.trunk is not None,
        )

    def _basis(self, domain: Any, degrees: tuple[int, ...]) -> Any:
        if self.trunk is not None:
            return self.trunk(max(degrees)).fit(grid_points(domain.corners.T))
        return Basis(domain.around, degrees, domain.periodic, total=isinstance(domain, Domain))

    def _axis(self, names: Names) -> int | None:
        """The coordinate along which an equation begins at one end and goes on to the other, if any."""
        if isinstance(self.domain, Domain) or self.trunk is not None:
            return None
        low: set[int] = set()
        high: set[int] = set()
        for name in self.conditions:
            for j, value in self.domain.fixed(name).items():
                (low if value == self.domain.low[j] else high).add(j)
        smallest = Rows(self.residual, self.domain.inside((1,) * len(self.domain.names)), names, _Nothing())
        begins = [j for j in sorted(low - high) if max(smallest.orders_in(j).values()) > 0]
        named_t = [j for j in begins if self.domain.names[j] == "t"]
        return next(iter(named_t or begins), None)

    def _choose(self, equation: Equation, known: Known) -> tuple[Resolution, float]:
        """A resolution, and the error with it: of the solutions, and of inputs between their sensors."""
        chosen, error = self._resolution(equation, known)
        return chosen, float(np.hypot(error, self._error_of_inputs(equation, known, chosen)))

    def _error_of_inputs(self, equation: Equation, known: Known, chosen: Resolution) -> float:
        """What splines through the sensors miss of u, as a change of the solutions.

        Splines of two degrees less change them by d, of four less by e. If each two degrees gain the same,
        d / e, those that are used miss d * d / e; d where nothing is gained. Without a grid there are none.
        """
        if not known.between_sensors:
            return 0.0
        n, probe = min(known.count, _FEWER), self._probe()
        few = known.of(np.linspace(0, known.count - 1, n).astype(int))
        found = march(equation, few.in_three_degrees(), chosen)
        own, lower, lowest = (found.of(rows) for rows in np.arange(3 * n).reshape(3, n))
        d, e = _change(lower, own, probe), _change(lowest, own, probe)
        return d * min(1.0, d / e) if 0 < d < np.inf and e > 0 else 0.0

    def _resolution(self, equation: Equation, known: Known) -> tuple[Resolution, float]:
        """The first beyond which the solutions of few functions do not change, and by what they still do."""
        few = known.of(np.unique(np.linspace(0, known.count - 1, _FEW).astype(int)))
        d, probe = len(self.domain.names), self._probe()
        if self.degree is not None or self.slabs is not None:
            return self._given(equation, few, probe)
        rows = len(self.domain.points) if isinstance(self.domain, Domain) else None
        first = march(equation, few, Resolution((4,) * d))
        every = resolutions(
            d,
            n=known.count,
            unknowns=len(self.unknowns),
            shared=first.shared,
            march=equation.axis,
            rows=rows,
        )
        last = march(equation, few, every[0])
        best, least, most = every[0], np.inf, 0
        for resolution, more in pairwise(every):
            try:
                values = march(equation, few, more)
            except Open:
                if rows is None or not most:
                    raise
                break  # fewer functions were determined: the domain's points do not bear more
            change, count = _change(last, values, probe), int((last.converged & values.converged).sum())
            if count > most or (count == most and change < least):
                best, least, most = resolution, change, count
            if least <= (_SETTLED if more.slabs == 1 else self.tolerance) or change > _WORSE * least:
                break
            last = values
        return best, least

    def _given(self, equation: Equation, few: Known, probe: np.ndarray) -> tuple[Resolution, float]:
        """The user's resolution, and its error against a richer one."""
        d = len(self.domain.names)
        degree = 12 if self.degree is None else self.degree
        degrees = tuple(degree) if isinstance(degree, (tuple, list)) else (degree,) * d
        if len(degrees) != d:
            raise InputError(f"degree must hold one number for each of {d} coordinates, got {degree}.")
        chosen = Resolution(
            tuple(positive_integer(n, "degree") for n in degrees),
            positive_integer(1 if self.slabs is None else self.slabs, "slabs"),
        )
        more = replace(chosen, degrees=tuple(n + max(3, n // 3) for n in chosen.degrees))
        own = march(equation, few, chosen)
        try:
            return chosen, _change(own, march(equation, few, more), probe)
        except Open:  # the points do not bear more: it is no worse than a poorer one
            less = replace(chosen, degrees=tuple(max(1, n - max(3, n // 3)) for n in chosen.degrees))
            return chosen, _change(march(equation, few, less), own, probe)

    def _probe(self) -> np.ndarray:
        if isinstance(self.domain, Domain):
            return self.domain.points
        return self.domain.inside((20,) * len(self.domain.names)).points


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


class _Nothing:
    """A basis without functions: to see what a residual asks for."""

    width_ = 0

    def derivative(self, points: np.ndarray, orders: tuple[int, ...]) -> np.ndarray:
        return np.zeros((len(points), 0))


def _require_some(converged: np.ndarray) -> np.ndarray:
    """Which inputs converged, with a warning if not all did."""
    failed = np.flatnonzero(~converged)
    if len(failed) == len(converged):
        raise InputError(
            "the equation did not converge for any input: look for a wrong sign, for a condition that is "
            "missing, or for a solution that does not exist up to the end of the box."
        )
    if len(failed):
        warnings.warn(
            f"{len(failed)} of {len(converged)} inputs did not converge (the first: row {failed[0]}); these "
            "are left out.",
            NumericsWarning,
            stacklevel=4,
        )
    return converged


def _kept(u: Any, good: np.ndarray) -> Any:
    if isinstance(u, dict):
        return {name: np.asarray(own, float)[good] for name, own in u.items()}
    return np.atleast_2d(np.asarray(u, float))[good]
