"""An equation with its conditions, solved for many input functions in the span of a trunk."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any

import numpy as np
from scipy.interpolate import make_interp_spline

from elmonet._blas import product
from elmonet._check import InputError, NumericsWarning, coordinates, finite
from elmonet.data.operator_data import OperatorData
from elmonet.features import Legendre
from elmonet.interpolation import grid_points, interpolate
from elmonet.metrics import relative_l2
from elmonet.physics.box import Box
from elmonet.physics.newton import Solved, solve
from elmonet.physics.report import Physics
from elmonet.physics.rows import Rows

__all__ = ["PDE"]

_DEGREES = (6, 9, 13, 18, 24, 32, 48)  # in each coordinate
_MOST = 700  # functions of a trunk
_FEW = 8  # input functions that a degree is chosen by
_SETTLED = 1e-10  # of the solution: a change that is none
_POINTS = (100, 30, 12)  # in each coordinate, in one to three dimensions
_OVER = 3  # points more than polynomials, in each coordinate
_SPLINE = 9  # degree of the splines between the sensors of a line


class PDE:
    """An equation on a box, with conditions on its faces, whose input function u is given.

    Parameters
    ----------
    box : where it holds.
    residual : of s and u, and of coordinates by name if it needs them, zero for a solution:
        ``lambda s, u: s.t - 0.01 * s.xx - u``. Of NumPy's functions, only analytic ones.
    conditions : residuals by face: ``{"t=0": lambda s, u: s}``.
    input_axes : the coordinates that u depends on; None: all.
    degree : of the polynomials in each coordinate; None: raised until solutions no longer change.

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
        box: Box,
        residual: Callable[..., Any],
        conditions: Mapping[str, Callable[..., Any]],
        input_axes: tuple[str, ...] | None = None,
        degree: int | None = None,
    ):
        self.box, self.residual, self.conditions = box, residual, dict(conditions)
        self.input_axes = box.names if input_axes is None else tuple(input_axes)
        self.degree = degree
        if set(self.input_axes) - set(box.names):
            raise InputError(f"input_axes must be coordinates of {box!r}, got {self.input_axes}.")

    def solve(self, u: Any, sensors: Any, points: Any) -> OperatorData:
        """Solutions at points (M, d) for input functions u (N, m) at sensors: pairs to train on."""
        u, values, where, known, _ = self.solved(u, sensors, points)
        return OperatorData(u, values, None, None, known, where, "pde")

    def solved(
        self, u: Any, sensors: Any, points: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, Physics]:
        """Inputs that converged, their solutions, points, sensors, and an account.

        `points` None: a uniform grid, of 100 points on a line, 30 x 30 in a plane, 12 x 12 x 12 in space.
        """
        begun = perf_counter()
        points = self._usual_points() if points is None else points
        if sensors is None:
            raise InputError("say where the input functions are known: sensors=(m,), or (m, d).")
        u = np.atleast_2d(np.asarray(u, float))
        finite(u, "u")
        where = coordinates(points, dimension=len(self.box.names))
        known = coordinates(sensors, dimension=len(self.input_axes))
        if len(known) != u.shape[1]:
            raise InputError(
                f"sensors must have one row for each of the {u.shape[1]} values of an input function; got "
                f"{len(known)}."
            )
        few = u[np.linspace(0, len(u) - 1, min(_FEW, len(u))).astype(int)]
        degree, error = self._degree(few, known)
        trunk, found, residuals = self._solved(u, known, degree)
        good = found.converged
        if not good.any():
            raise InputError(
                "the equation did not converge for any input: look for a wrong sign, for a condition that is "
                "missing, or for a solution that does not exist up to the end of the box."
            )
        failed = np.flatnonzero(~good)
        if len(failed):
            warnings.warn(
                f"{len(failed)} of {len(u)} inputs did not converge (the first: row {failed[0]}); these are "
                "left out.",
                NumericsWarning,
                stacklevel=3,
            )
        values = product(found.c[good], trunk.transform(where).T)
        account = Physics(
            degree,
            trunk.width_,
            found.linear,
            found.shared,
            residuals,
            found.steps,
            failed,
            error,
            perf_counter() - begun,
        )
        return u[good], values, where, known, account

    def _usual_points(self) -> np.ndarray:
        count = _POINTS[len(self.box.names) - 1]
        ends = zip(self.box.low, self.box.high, strict=True)
        return grid_points([np.linspace(low, high, count) for low, high in ends])

    def _degree(self, u: np.ndarray, sensors: np.ndarray) -> tuple[int, float]:
        """The first beyond which the solutions of few functions do not change, and by what they still do."""
        probe = self.box.inside((20,) * len(self.box.names))
        given = () if self.degree is None else (self.degree, self.degree + 3)
        degrees = [n for n in given or _DEGREES if given or (n + 1) ** len(self.box.names) <= _MOST]
        last, change = None, np.inf
        for i, degree in enumerate(degrees):
            trunk, found, _ = self._solved(u, sensors, degree)
            values = product(found.c, trunk.transform(probe).T)
            if last is not None:
                change = relative_l2(last, values)
                if change <= _SETTLED or given:
                    return degrees[i - 1], change
            last = values
        return degrees[-1], change

    def _solved(self, u: np.ndarray, sensors: np.ndarray, degree: int) -> tuple[Legendre, Solved, np.ndarray]:
        d = len(self.box.names)
        trunk = Legendre((degree,) * d).fit(self.box.corners)
        counts = (degree + 1 + _OVER,) * d
        blocks = [Rows(self.residual, self.box, self.box.inside(counts), trunk)]
        for face, condition in self.conditions.items():
            blocks.append(Rows(condition, self.box, self.box.on_face(face, counts), trunk))
        inputs = [self._inputs(u, sensors, block.points) for block in blocks]
        found = solve(blocks, inputs, trunk.width_)
        if found.rank < trunk.width_:
            raise InputError(
                f"the equation and its conditions leave {trunk.width_ - found.rank} of {trunk.width_} "
                "unknowns open: conditions are missing. Give one for each face that needs one."
            )
        residual = blocks[0].values(found.c, inputs[0])
        return trunk, found, np.sqrt(np.mean(residual**2, axis=1))

    def _inputs(self, u: np.ndarray, sensors: np.ndarray, points: np.ndarray) -> np.ndarray:
        """The input functions (N, M) at points of the box."""
        where = points[:, [self.box.names.index(name) for name in self.input_axes]]
        if sensors.shape[1] > 1:
            return interpolate(sensors, u.T, where).T
        order = np.argsort(sensors[:, 0])
        spline = make_interp_spline(sensors[order, 0], u[:, order].T, k=min(_SPLINE, len(sensors) - 1 | 1))
        return spline(where[:, 0]).T
