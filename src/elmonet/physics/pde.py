"""An equation with its conditions, solved for many input functions in the span of a trunk."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any, NamedTuple, Self

import numpy as np

from elmonet.checks import coordinates, number
from elmonet.data.dataset import OperatorData
from elmonet.errors import InputError, NumericsWarning
from elmonet.physics.choice import choose
from elmonet.physics.discretise import Equation
from elmonet.physics.fields import ONE, Known, Names
from elmonet.physics.geometry import Box, Domain, check_points
from elmonet.physics.inference import Correction, Measurements, correct, find_constants
from elmonet.physics.march import Resolution, Solution, march
from elmonet.physics.result import Physics

__all__ = ["PDE", "Pairs"]

_UNMET, _SMALL = 0.2, 0.01  # so much of an equation is left over, though the error seems small
_POINTS = (200, 64, 16)  # in each coordinate, in one to three dimensions


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
            raise InputError(f"a PDE needs a Box or a Domain, such as Box(x=(0, 1)); got {domain!r}.")
        if not isinstance(conditions, Mapping):
            raise InputError(
                'conditions must be a dictionary, such as {"x=0": lambda s, u: s}, or {}; got '
                f"{conditions!r}."
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
        """Solutions for input functions: pairs to train on.

        Parameters
        ----------
        u : (N, m), input functions at the sensors; several inputs come as a dictionary.
        sensors : (m, d), where they are known; of several inputs, by name.
        points : (M, d), where solutions are wanted. None: a uniform grid, of 200 points on a line, 64 x 64 in
            a plane, 16 x 16 x 16 in space; of a `Domain`, its own.
        """
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
        """The same with an account of how it went.

        Parameters
        ----------
        u, sensors, points : as in `solve`.
        data : outputs of some functions, as an `OperatorData`, ``(u, s)`` or ``(u, s, points)``; what they
            say of the equation corrects all solutions.
        progress : a function that is called with the share that is done.
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
        _require_met(found.unmet, error)
        failed = np.flatnonzero(~found.converged)
        good = _require_some(found.converged)
        values = {name: own[good] for name, own in found.values(where).items()}
        if measured is not None:
            if not good[-len(measured.y) :].all():
                raise InputError(
                    "the equation did not converge for all inputs of the data. Remove those for which it "
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
        names = Names(self.domain.names, self.unknowns, known.names, self.constants)
        equation = Equation(self.domain, self.residual, self.conditions, names, self.trunk, self.start)
        error = np.nan
        if resolution is None:
            resolution, error = choose(equation, known, self.degree, self.slabs, self.tolerance)
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


def _require_met(unmet: float, error: float) -> None:
    """Conditions that contradict each other leave a residual, however rich the trunk is."""
    if unmet > _UNMET and error < _SMALL:
        warnings.warn(
            f"the equation is not met: {unmet:.0%} of its terms are left at half of the points, and more "
            "functions change little. Its conditions do not agree with each other or with the equation: "
            "perhaps there is one too many.",
            NumericsWarning,
            stacklevel=4,
        )


def _require_some(converged: np.ndarray) -> np.ndarray:
    """Which inputs converged, with a warning if not all did."""
    failed = np.flatnonzero(~converged)
    if len(failed) == len(converged):
        raise InputError(
            "the equation did not converge for any input: perhaps a sign is wrong, a condition is missing, "
            "or the solution ends before the end of the box."
        )
    if len(failed):
        warnings.warn(
            f"{len(failed)} of {len(converged)} inputs did not converge (the first: row {failed[0]}) and "
            "were removed.",
            NumericsWarning,
            stacklevel=4,
        )
    return converged


def _kept(u: Any, good: np.ndarray) -> Any:
    if isinstance(u, dict):
        return {name: np.asarray(own, float)[good] for name, own in u.items()}
    return np.atleast_2d(np.asarray(u, float))[good]
