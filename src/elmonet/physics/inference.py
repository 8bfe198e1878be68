"""What measurements say of an equation: its constants, and a correction of its solutions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular, svd
from scipy.optimize import least_squares

from elmonet.checks import coordinates
from elmonet.data.dataset import OperatorData
from elmonet.errors import InputError
from elmonet.linalg import product
from elmonet.physics.fields import UNNAMED
from elmonet.summary import Fact, percent

Values = Callable[[np.ndarray], dict[str, np.ndarray]]  # maps points (M, d) to each unknown there, (N, M)

_DIFFERENCE_STEP = 1e-4  # relative step of a constant for finite differences
_FIT_TOLERANCE = 1e-8  # relative change of constants, or of the sum of squares, that ends their fit
_MAX_EVALUATIONS = 50  # of the fit of constants
_MAX_MODES = 24  # of the solutions, in which residuals are corrected
_NEGLIGIBLE_ENERGY = 1e-10  # of a mode, relative to the energy of all
_RIDGES = np.logspace(-9, 3, 25)  # relative to the squared size of the features


@dataclass(frozen=True)
class Measurements:
    """Measured values y (n, L) of n functions: of some unknowns, each at the points, one after the other.

    Missing values are NaN. Each unknown is in units of its own size.
    """

    u: Any
    y: np.ndarray
    points: np.ndarray
    unknowns: tuple[str, ...]
    sizes: np.ndarray

    @classmethod
    def from_data(cls, data: Any, points: np.ndarray, unknowns: tuple[str, ...]) -> Measurements:
        """Read an `OperatorData`, ``(u, s)`` or ``(u, s, points)``; `points` is used if none are given."""
        if isinstance(data, OperatorData):
            s = data.s_train
            if data.components is not None:
                s = dict(zip(data.components, np.moveaxis(s, -1, 0), strict=True))
            data = (data.u_train, s, points if data.points is None else data.points)
        if not isinstance(data, (tuple, list)) or len(data) not in (2, 3):
            raise InputError(
                "data must be an OperatorData, (u, s) or (u, s, points): input functions, measured values "
                f"of their outputs, and where; got {type(data).__name__}."
            )
        u, s, where = data if len(data) == 3 else (*data, points)
        where = coordinates(where, dimension=points.shape[1])
        components = s if isinstance(s, dict) else {"": s}
        if set(components) - set(unknowns):
            raise InputError(
                f"data must hold values of {', '.join(unknowns) if unknowns != UNNAMED else 's'}; got "
                f"{', '.join(map(str, components))}."
            )
        n = len(next(iter(u.values()))) if isinstance(u, dict) else len(np.atleast_2d(u))
        columns, sizes = [], []
        for name, component in components.items():
            values = np.atleast_2d(np.asarray(component, float))
            values = values.reshape(len(values), -1)
            if values.shape != (n, len(where)) or np.isinf(values).any():
                raise InputError(
                    f"data must hold finite values, or NaN where one is missing, of {n} functions at "
                    f"{len(where)} points; got {values.shape}{' for ' + name if name else ''}. Give their "
                    "points: data=(u, s, points)."
                )
            if not np.nansum(values**2, axis=1).all():
                raise InputError("data must hold values other than zero of each of its functions.")
            sizes.append(float(np.sqrt(np.nanmean(values**2))) or 1.0)
            columns.append(values / sizes[-1])
        return cls(u, np.concatenate(columns, axis=1), where, tuple(components), np.array(sizes))

    def predicted(self, values: Values) -> np.ndarray:
        """Return solutions at the measured points (N, L), in the units of y."""
        every = values(self.points)
        each = zip(self.unknowns, self.sizes, strict=True)
        return np.concatenate([every[name] / size for name, size in each], axis=1)

    def append_inputs(self, u: Any) -> Any:
        """Return the input functions u, followed by those of the measurements."""
        if isinstance(u, dict):
            return {name: np.concatenate([np.asarray(u[name]), np.asarray(self.u[name])]) for name in u}
        return np.concatenate([np.atleast_2d(u), np.atleast_2d(self.u)])


def find_constants(
    measured: Measurements, start: dict[str, float], solve: Callable[[dict[str, float]], Values]
) -> dict[str, tuple[float, float]]:
    """Fit constants to the measurements by least squares; return each with its standard error.

    ``solve(constants)`` solves the equation for the inputs of the measurements.
    """
    names = list(start)
    first = np.array([start[name] for name in names])
    scale = np.where(first != 0, np.abs(first), 1.0)
    known = ~np.isnan(measured.y)

    def residuals(theta: np.ndarray) -> np.ndarray:
        predicted = measured.predicted(solve(dict(zip(names, (theta * scale).tolist(), strict=True))))
        return (predicted - measured.y)[known]

    fit = least_squares(
        residuals,
        first / scale,
        diff_step=_DIFFERENCE_STEP,
        xtol=_FIT_TOLERANCE,
        ftol=_FIT_TOLERANCE,
        max_nfev=_MAX_EVALUATIONS,
    )
    if not np.isfinite(fit.x).all() or np.linalg.matrix_rank(fit.jac) < len(names):
        raise InputError(
            f"the data do not determine {', '.join(names)}: solutions do not depend on it, or two constants "
            "change solutions in the same way. Find fewer constants."
        )
    freedom = max(1, known.sum() - len(names))
    covariance = np.linalg.inv(fit.jac.T @ fit.jac) * (2 * fit.cost / freedom)
    errors = np.sqrt(np.diag(covariance)) * scale
    values = fit.x * scale
    return {n: (float(v), float(e)) for n, v, e in zip(names, values, errors, strict=True)}


@dataclass(frozen=True)
class Correction:
    """How measurements corrected the solutions of an equation.

    Attributes
    ----------
    before : relative error of the equation alone against the measurements, without their noise.
    after : that of the corrected solutions, on functions left out.
    noise : its size, relative to the measurements.
    used : whether the correction was applied.
    """

    before: float
    after: float
    noise: float
    used: bool

    @property
    def error(self) -> float:
        """The relative error of the solutions as they are used."""
        return self.after if self.used else self.before

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The lines of a summary."""
        unused = "" if self.used else ". That is no gain, so the equation is used alone"
        return (
            Fact("Data noise", percent(self.noise, 2)),
            Fact("Equation alone", f"{percent(self.before, 2)} error against the data, without their noise"),
            Fact("With correction", f"{percent(self.after, 2)} error on functions left out{unused}"),
        )


def correct(
    measured: Measurements, solutions: np.ndarray, predicted: np.ndarray
) -> tuple[np.ndarray, Correction]:
    """Return corrected solutions (N, L), and the record of the correction.

    Let Phi be the modes of the equation's solutions, and z_i the coefficients of solution i in them. A
    measurement tells the residual of its solution, d_i = Phi^+ (y_i - s_i), without the noise outside of the
    modes. The residual depends on the function, and the rows ``Phi W z_i = y_i - s_i`` stand for all measured
    functions together: the library's own problem, T W B = G, with T = Phi and B = (z_i). It is solved by
    ridge regression, with a ridge for each mode, chosen by exact leave-one-out; a mode that no ridge predicts
    is left as it is.

    The last n of the N functions are those that were measured. `predicted` (N, K): all solutions at the
    measured points.
    """
    n = len(measured.y)
    residuals = measured.y - predicted[-n:]
    known = ~np.isnan(residuals)
    both = np.concatenate([solutions, predicted], axis=1)
    U, sizes, Vt = svd(both, full_matrices=False, overwrite_a=True, check_finite=False)
    count = int(np.count_nonzero(sizes**2 > _NEGLIGIBLE_ENERGY * np.sum(sizes**2)))
    m = min(_MAX_MODES, count, int(known.sum(axis=1).min()) // 2)
    z = np.column_stack([np.full(len(U), sizes[0] / np.sqrt(len(U))), U[:, :m] * sizes[:m]])
    # Modes are orthonormal at the measured points, so that each is predicted independently.
    orthonormal, R = np.linalg.qr(Vt[:m, solutions.shape[1] :].T)
    modes = orthonormal.T
    each = zip(residuals, known, strict=True)
    d = np.array([np.linalg.lstsq(modes[:, observed].T, r[observed])[0] for r, observed in each])
    rest = np.where(known, residuals - d @ modes, 0.0)
    freedom = known.sum() - n * m
    variance = float(np.sum(rest**2) / freedom) if freedom > 0 else 0.0
    W, left_out = _ridge(z[-n:], d)
    corrected = residuals - left_out @ modes
    used = bool(np.nansum(corrected**2) < np.nansum(residuals**2))
    size = float(np.sqrt(np.nanmean(measured.y**2))) or 1.0
    before, after = (_noise_free_error(errors, measured.y, variance) for errors in (residuals, corrected))
    if used:
        at_points = solve_triangular(R, Vt[:m, : solutions.shape[1]], trans="T")
        solutions = solutions + product(product(z, W), at_points)
    return solutions, Correction(before, after, float(np.sqrt(variance)) / size, used)


def _noise_free_error(residuals: np.ndarray, y: np.ndarray, variance: float) -> float:
    """Return the root mean square of relative errors (n, L), without the contribution of noise.

    That is known up to its own standard deviation, ``variance sqrt(2 / L)`` for L values: errors below that
    cannot be told from noise.
    """
    counts, sizes = np.count_nonzero(~np.isnan(residuals), axis=1), np.nansum(y**2, axis=1)
    squares = (np.nansum(residuals**2, axis=1) - variance * counts) / sizes
    hidden = variance * np.sqrt(2 * np.sum(counts / sizes**2)) / len(counts)
    return float(np.sqrt(max(0.0, float(np.mean(squares))) + hidden))


def _ridge(z: np.ndarray, d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return W (q, m) that predicts each column of d (n, m) from z (n, q), and left-out predictions (n, m).

    With ``z = U S V'``, the hat matrix is ``H = U S^2 / (S^2 + a) U'``, and a row that is left out is
    predicted as ``d - (d - H d) / (1 - diag H)``.
    """
    U, s, Vt = svd(z, full_matrices=False)
    best = np.sum(d**2, axis=0)  # without a correction
    W, left_out = np.zeros((z.shape[1], d.shape[1])), np.zeros_like(d)
    if len(z) < 3:
        return W, left_out
    for ridge in _RIDGES * s[0] ** 2:
        shrunk = s**2 / (s**2 + ridge)
        rest = d - (U * shrunk) @ (U.T @ d)
        one_less = 1 - np.einsum("ij,j,ij->i", U, shrunk, U)[:, None]
        predicted = d - rest / np.maximum(one_less, 1e-12)
        error = np.sum((d - predicted) ** 2, axis=0)
        better = error < best
        best[better] = error[better]
        left_out[:, better] = predicted[:, better]
        W[:, better] = (Vt.T * (shrunk / s)) @ (U.T @ d[:, better])
    return W, left_out
