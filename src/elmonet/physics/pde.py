"""An equation with its conditions, solved for many input functions in the span of a trunk."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from elmonet.checks import Functions, coordinates, number
from elmonet.data.dataset import OperatorData
from elmonet.errors import InputError, NumericsWarning
from elmonet.physics.choice import FEWEST_FOR_RATE, Choice, choose, inputs_in_time
from elmonet.physics.discretise import Equation
from elmonet.physics.fields import UNNAMED, InputFields, Symbols
from elmonet.physics.geometry import Box, Domain, check_points
from elmonet.physics.inference import Correction, Measurements, correct, find_constants
from elmonet.physics.march import Resolution, SpectralSolution, march
from elmonet.progress import Progress
from elmonet.summary import Fact, in_lines, percent, plural

_DEFAULT_POINTS = (200, 64, 16)  # points in each coordinate of a box, in one to three dimensions
_UNMET_RESIDUAL = 0.01  # relative to its terms, that remains at every resolution: warn
_SMOOTH_BETWEEN = "the stated error holds for inputs that are smooth between them"
_LISTED_ROWS = 5  # of inputs that did not converge


class PDE:
    """An equation and its conditions, for a given input function u.

    Parameters
    ----------
    domain : where it holds: a `Box`, or a `Domain`.
    residual : a function of s and u, and of coordinates and constants by name if it needs them, that is zero
        for a solution: ``lambda s, u: s.t - 0.01 * s.xx - u``. NumPy functions in it must be analytic, and
        computed for each function and point alone. Several equations: return a tuple.
    conditions : residuals by face, ``{"t=0": lambda s, u: s}``, or by part of a `Domain`'s boundary. They may
        take the outward normal by the names ``nx``, ``ny``.
    input_axes : the coordinates that u depends on; None: all. Several inputs: a dictionary, with () for a
        number: ``{"k": ("x",), "speed": ()}`` gives ``u.k`` and ``u.speed``.
    unknowns : the names of several unknowns, as ``("v", "w", "p")`` for ``s.v.xx``; None: one, s itself.
    constants : numbers that residuals take by name: ``{"k": 0.01}``.
    find : the names of constants to fit to data given beside the equation, starting from `constants`.
    degree : of the polynomials, one for all coordinates or one for each; None: raised until solutions no
        longer change.
    slabs : the number of slabs in time that are solved one after the other; None: chosen.
    trunk : a function of the degree that returns a trunk to solve in, as
        ``lambda n: Legendre((n, n)).zero_on_boundary()``, which meets conditions exactly; None: polynomials,
        and Fourier modes along periodic coordinates.
    start : a function of the coordinates, the initial guess of Newton's method; None: zero.
    tolerance : slabs, and degrees above 90 without one factorisation for all inputs, are refined until the
        relative change of solutions is below this; others until solutions no longer change.

    Raises
    ------
    InputError : if names or types of these arguments do not fit together.

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
        self.unknowns = UNNAMED if unknowns is None else tuple(unknowns)
        self.constants = {name: number(v, name, minimum=-np.inf) for name, v in (constants or {}).items()}
        _check_constants(self.constants, domain)
        self.find = (find,) if isinstance(find, str) else tuple(find)
        if set(self.find) - set(self.constants):
            raise InputError(f"find must name constants, {', '.join(self.constants) or 'none'}; got {find}.")
        self.degree, self.slabs, self.trunk, self.start = degree, slabs, trunk, start
        self.tolerance = number(tolerance, "tolerance", strict=True)
        axes = self.input_axes.values() if isinstance(self.input_axes, dict) else [self.input_axes]
        if any(set(letters) - set(domain.names) for letters in axes):
            raise InputError(f"input_axes must be coordinates of {domain!r}, got {self.input_axes}.")
        if len(set(self.unknowns)) < len(self.unknowns):
            raise InputError(f"unknowns must have different names, got {self.unknowns}.")

    def with_constants(self, **constants: float) -> Self:
        """Return the same equation with other values of some constants.

        Parameters
        ----------
        constants : the new values by name.

        Returns
        -------
        pde : a new equation; this one does not change.
        """
        changed = copy(self)
        changed.constants = self.constants | constants
        _check_constants(changed.constants, self.domain)
        return changed

    def solve(self, u: Functions, sensors: ArrayLike, points: ArrayLike | None = None) -> OperatorData:
        """Solve the equation for input functions, to get pairs for training.

        Parameters
        ----------
        u : (N, m), input functions at the sensors; several inputs as a dictionary.
        sensors : (m, d), where they are known; of several inputs, by name.
        points : (M, d), where solutions are wanted. None: a uniform grid, of 200 points on a line, 64 x 64 in
            a plane, 16 x 16 x 16 in space; of a `Domain`, its own points.

        Returns
        -------
        data : training pairs, without the inputs that did not converge.

        Raises
        ------
        InputError : if arguments do not fit the equation, conditions are missing, or no input converges.
        """
        pairs = self.solved(u, sensors, points)
        s, components = pairs.s, None
        if isinstance(s, dict):
            s, components = np.stack(list(s.values()), axis=-1), tuple(s)
        u = pairs.u
        if isinstance(u, dict):
            u = {name: values[:, None] if values.ndim == 1 else values for name, values in u.items()}
        return OperatorData(u, s, None, None, pairs.sensors, pairs.points, "pde", components)

    def solved(
        self,
        u: Functions,
        sensors: ArrayLike,
        points: ArrayLike | None = None,
        *,
        data: OperatorData | None = None,
        progress: Progress | None = None,
        until: float = np.inf,
    ) -> SolvedPairs:
        """Solve the equation as `solve` does, use data beside it, and tell how it went.

        Estimators recognise an equation by this method.

        Parameters
        ----------
        u, sensors, points : as in `solve`.
        data : measured outputs of some functions, as an `OperatorData`, ``(u, s)`` or ``(u, s, points)``;
            they fit the constants in `find` and correct all solutions.
        progress : a function that is called with the completed share.
        until : time of `time.perf_counter` at which this should end: where there is no time for all inputs,
            fewer are solved, with a warning. Those of `data` stay.

        Returns
        -------
        pairs : the inputs that converged, followed by those of `data`; solutions, points, sensors, and a
            result with the resolution and the error.

        Raises
        ------
        InputError : as `solve`, or if the equation does not converge for all inputs of the data.
        """
        begun = perf_counter()
        points = coordinates(
            self._default_points() if points is None else points, dimension=len(self.domain.names)
        )
        check_points(self.domain, points)
        pde, constants, measured, correction = self, {}, None, None
        if data is not None:
            measured = Measurements.from_data(data, points, self.unknowns)
            constants = self._find_constants(measured, sensors)
            pde = self.with_constants(**{name: value for name, (value, _) in constants.items()})
            u = measured.append_inputs(u)
        inputs = InputFields(u, sensors, self.input_axes, self.domain)
        kept = 0 if measured is None else len(measured.y)
        solution, (resolution, error, unmet), rows = pde._solution(inputs, progress, until=until, kept=kept)
        _warn_unmet(unmet)
        few = inputs.fewest_sensors if inputs.has_sensors else FEWEST_FOR_RATE
        _warn_few_sensors(few)
        converged = solution.converged
        _check_converged(converged)
        values = {name: field[converged] for name, field in solution.values(points).items()}
        if measured is not None:
            if not converged[-len(measured.y) :].all():
                raise InputError(
                    "the equation did not converge for all inputs of the data. Remove those for which it "
                    "has no solution."
                )
            values, correction = _correct(measured, values, measured.predicted(solution.values)[converged])
            error = float(np.hypot(error, correction.error))
        result = PhysicsResult(
            resolution=resolution,
            functions=solution.width,
            linear=solution.linear,
            shared=solution.shared,
            residuals=solution.residuals,
            steps=solution.steps,
            failed=rows[~converged],
            error=error,
            seconds=perf_counter() - begun,
            constants=constants,
            correction=correction,
            unmet=unmet,
            few_sensors=few if few < FEWEST_FOR_RATE else 0,
        )
        s = values[""] if self.unknowns == UNNAMED else values
        if isinstance(u, dict):
            u = {name: np.asarray(values, float)[rows][converged] for name, values in u.items()}
        else:
            u = np.atleast_2d(np.asarray(u, float))[rows][converged]
        return SolvedPairs(u, s, points, inputs.sensors, result)

    def _solution(
        self,
        inputs: InputFields,
        progress: Any = None,
        resolution: Resolution | None = None,
        *,
        until: float = np.inf,
        kept: int = 0,
    ) -> tuple[SpectralSolution, Choice, np.ndarray]:
        """Return solutions, their resolution with its error (NaN if it is given), and the inputs solved."""
        symbols = Symbols(self.domain.names, self.unknowns, inputs.names, self.constants)
        equation = Equation(self.domain, self.residual, self.conditions, symbols, self.trunk, self.start)
        if resolution is None:
            chosen = choose(equation, inputs, self.degree, self.slabs, self.tolerance, until)
        else:
            chosen = Choice(resolution, np.nan)
        rows = inputs_in_time(equation, inputs, chosen.resolution, until, kept)
        if len(rows) < inputs.count:
            inputs = inputs.subset(rows)
        return march(equation, inputs, chosen.resolution, progress), chosen, rows

    def _find_constants(self, measured: Measurements, sensors: Any) -> dict[str, tuple[float, float]]:
        """Fit the constants in `find` to the measurements; return each with its standard error."""
        if not self.find:
            return {}
        inputs = InputFields(measured.u, sensors, self.input_axes, self.domain)
        resolution = self._solution(inputs)[1].resolution
        return find_constants(
            measured,
            {name: self.constants[name] for name in self.find},
            lambda constants: (
                self.with_constants(**constants)._solution(inputs, resolution=resolution)[0].values
            ),
        )

    def _default_points(self) -> np.ndarray:
        if isinstance(self.domain, Domain):
            return self.domain.points
        return self.domain.grid(_DEFAULT_POINTS[len(self.domain.names) - 1])


@dataclass(frozen=True)
class PhysicsResult:
    """How an equation was solved, and the error of its solutions.

    Attributes
    ----------
    resolution : degrees of the polynomials (or Fourier modes) in each coordinate, and slabs in time.
    functions : the number of basis functions for each unknown, in a slab.
    linear : whether the equation is linear in s; shared : with the same operator for all inputs.
    residuals : (N,), root mean squares of the residual, in its own units. A residual is not an error.
    steps : (N,), of Newton's method.
    failed : the rows of inputs that did not converge; they are left out.
    error : the relative error of the solutions, estimated with a finer trunk on a few inputs, and for values
        between the sensors; where the equation does not hold, at least twice `unmet`.
    seconds : wall time.
    constants : those found from data, each with its standard error.
    correction : how data beside the equation corrected the solutions; None without data.
    unmet : the residual relative to its terms that remains with a finer trunk, because conditions contradict
        each other or layers are too thin; 0 if it vanishes, as it should.
    few_sensors : the number of sensors on an axis, if there are so few that nothing tells inputs from rougher
        ones with the same values; otherwise 0.
    """

    resolution: Resolution
    functions: int
    linear: bool
    shared: bool
    residuals: np.ndarray
    steps: np.ndarray
    failed: np.ndarray
    error: float
    seconds: float
    constants: dict[str, tuple[float, float]] = field(default_factory=dict)
    correction: Correction | None = None
    unmet: float = 0.0
    few_sensors: int = 0

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The lines of a summary."""
        kind = "linear" if self.linear else "nonlinear"
        kind += ", one factorisation for all inputs" if self.shared else ""
        steps = int(self.steps.max(initial=0))
        source = ", and from the data" if self.correction else ""
        facts = [
            Fact("Kind", kind),
            Fact("Solved", f"{len(self.steps)} inputs in {self.seconds:.1f} s, at most {steps} Newton steps"),
            Fact("Trunk", f"{plural(self.functions, 'function')}, {self.resolution}"),
            Fact("Solver error", f"{percent(self.error, 2)}, from a finer trunk on a few inputs{source}"),
        ]
        if self.few_sensors:
            facts.append(
                Fact(
                    "Sensors",
                    f"only {self.few_sensors} on an axis: {_SMOOTH_BETWEEN}, which nothing can show",
                )
            )
        if self.unmet > _UNMET_RESIDUAL:
            facts.append(
                Fact("Residual", f"{percent(self.unmet, 2)} of the terms remain: the equation does not hold")
            )
        if len(self.failed):
            rows = ", ".join(map(str, self.failed[:_LISTED_ROWS]))
            facts.append(Fact("Removed", f"{len(self.failed)} inputs that did not converge: rows {rows}"))
        if self.constants:
            each = (f"{name} = {v:.4g} (standard error {e:.2g})" for name, (v, e) in self.constants.items())
            facts.append(Fact("Estimated", ", ".join(each)))
        return (*facts, *(self.correction.facts if self.correction else ()))

    def __str__(self) -> str:
        return in_lines(self.facts)


class SolvedPairs(NamedTuple):
    """Inputs that converged, their solutions, points and sensors, and how the equation was solved."""

    u: Any
    s: Any
    points: np.ndarray
    sensors: Any
    result: PhysicsResult


def _check_constants(constants: Mapping[str, float], domain: Box | Domain) -> None:
    """Raise `InputError` if a constant has the name of something else that residuals take."""
    taken = {"s", "u", *domain.names, *(f"n{letter}" for letter in domain.names)}
    clash = [name for name in constants if name in taken]
    if clash:
        raise InputError(
            f"constants must not be named as s, u, coordinates or normals are ({', '.join(sorted(taken))}), "
            f"which residuals take by name too; got {', '.join(clash)}. Choose another name."
        )


def _correct(
    measured: Measurements, values: dict[str, np.ndarray], predicted: np.ndarray
) -> tuple[dict[str, np.ndarray], Correction]:
    """Correct solutions by the measurements, each unknown in units of its own size."""
    sizes = {name: float(np.sqrt(np.mean(field**2))) or 1.0 for name, field in values.items()}
    stacked = np.concatenate([field / sizes[name] for name, field in values.items()], axis=1)
    stacked, correction = correct(measured, stacked, predicted)
    parts = np.split(stacked, len(values), axis=1)
    return {n: field * sizes[n] for n, field in zip(values, parts, strict=True)}, correction


def _warn_few_sensors(count: int) -> None:
    """Warn of inputs that cannot be told from rougher ones with the same values at their sensors."""
    if count < FEWEST_FOR_RATE:
        warnings.warn(
            f"input functions are known at {plural(count, 'sensor')} on an axis: {_SMOOTH_BETWEEN}. Rougher "
            "ones may have the same values there, as sin(4 pi x) is zero at 3 and at 5 sensors on [0, 1]. "
            f"Give at least {FEWEST_FOR_RATE} sensors on each axis or, if inputs are numbers, name them: "
            "input_axes={'a': ()}.",
            NumericsWarning,
            stacklevel=4,
        )


def _warn_unmet(unmet: float) -> None:
    """Warn of a residual that remains however fine the resolution is."""
    if unmet > _UNMET_RESIDUAL:
        warnings.warn(
            f"the equation does not hold: its residual is {percent(unmet, 2)} of its terms at half of the "
            "points, and remains with a finer resolution. Either its conditions do not agree with each other "
            "or with the equation (perhaps there is one too many), or its solutions have layers that are "
            "too thin for the finest resolution tried: then give a higher degree=, or a smaller box.",
            NumericsWarning,
            stacklevel=4,
        )


def _check_converged(converged: np.ndarray) -> None:
    """Warn if some inputs did not converge; raise if none did."""
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
