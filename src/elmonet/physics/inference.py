"""What measurements say of an equation: constants, and a correction for all functions."""

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
from elmonet.physics.fields import ONE
from elmonet.summary import Fact, percent

__all__ = ["Correction", "Measurements", "correct", "find_constants"]

Values = Callable[[np.ndarray], dict[str, np.ndarray]]  # points to each unknown there


@dataclass(frozen=True)
class Measurements:
    """Values y (n, L) of n functions: of some unknowns, each at the points, one after the other.

    Where a value is missing there is NaN. Each unknown is in units of its own size.
    """

    u: Any
    y: np.ndarray
    points: np.ndarray
    unknowns: tuple[str, ...]
    sizes: np.ndarray

    @classmethod
    def of(cls, data: Any, points: np.ndarray, unknowns: tuple[str, ...]) -> Measurements:
        """From an `OperatorData`, or from ``(u, s)`` or ``(u, s, points)``, at `points` if none came."""
        if isinstance(data, OperatorData):
            s = data.s_train
            if data.components is not None:
                s = dict(zip(data.components, np.moveaxis(s, -1, 0), strict=True))
            data = (data.u_train, s, points if data.points is None else data.points)
        if not isinstance(data, (tuple, list)) or len(data) not in (2, 3):
            raise InputError(
                "data must be an OperatorData, (u, s) or (u, s, points): input functions, what was measured "
                f"of their outputs, and where; got {type(data).__name__}."
            )
        u, s, where = data if len(data) == 3 else (*data, points)
        where = coordinates(where, dimension=points.shape[1])
        parts = s if isinstance(s, dict) else {"": s}
        if set(parts) - set(unknowns):
            raise InputError(
                f"data must hold values of {', '.join(unknowns) if unknowns != ONE else 's'}; got "
                f"{', '.join(map(str, parts))}."
            )
        n = len(next(iter(u.values()))) if isinstance(u, dict) else len(np.atleast_2d(u))
        columns, sizes = [], []
        for name, own in parts.items():
            values = np.atleast_2d(np.asarray(own, float))
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
        return cls(u, np.concatenate(columns, axis=1), where, tuple(parts), np.array(sizes))

    def seen(self, values: Values) -> np.ndarray:
        """What solutions would give here (N, L), in the same units."""
        every = values(self.points)
        return np.concatenate(
            [every[name] / size for name, size in zip(self.unknowns, self.sizes, strict=True)], axis=1
        )

    def with_inputs(self, u: Any) -> Any:
        """Input functions u and, after them, those of the measurements."""
        if isinstance(u, dict):
            return {name: np.concatenate([np.asarray(u[name]), np.asarray(self.u[name])]) for name in u}
        return np.concatenate([np.atleast_2d(u), np.atleast_2d(self.u)])


_STEP = 1e-4  # of a constant, to see what it changes
_DONE = 1e-8


def find_constants(
    measured: Measurements, start: dict[str, float], solve: Callable[[dict[str, float]], Values]
) -> dict[str, tuple[float, float]]:
    """The constants, each with its standard error, for which solutions are closest to the measurements.

    ``solve(constants)`` solves the equation for the inputs of the measurements.
    """
    names = list(start)
    first = np.array([start[name] for name in names])
    scale = np.where(first != 0, np.abs(first), 1.0)
    known = ~np.isnan(measured.y)

    def missed(theta: np.ndarray) -> np.ndarray:
        seen = measured.seen(solve(dict(zip(names, (theta * scale).tolist(), strict=True))))
        return (seen - measured.y)[known]

    found = least_squares(missed, first / scale, diff_step=_STEP, xtol=_DONE, ftol=_DONE, max_nfev=50)
    if not np.isfinite(found.x).all() or np.linalg.matrix_rank(found.jac) < len(names):
        raise InputError(
            f"the data do not tell {', '.join(names)}: solutions do not change with it, or two of them "
            "change solutions in the same way. Find fewer constants."
        )
    freedom = max(1, known.sum() - len(names))
    covariance = np.linalg.inv(found.jac.T @ found.jac) * (2 * found.cost / freedom)
    errors = np.sqrt(np.diag(covariance)) * scale
    values = found.x * scale
    return {n: (float(v), float(e)) for n, v, e in zip(names, values, errors, strict=True)}


_MODES = 24  # at most
_ENERGY = 1e-10  # of all modes: what is below is left out
_RIDGES = np.logspace(-9, 3, 25)  # relative to the size of the features


@dataclass(frozen=True)
class Correction:
    """What measurements said of solutions.

    Attributes
    ----------
    before, after : relative errors against the measurements, without their noise: of the equation alone, and
        of functions that are left out, with the correction.
    noise : its size, relative to the measurements.
    used : whether the correction was made.
    """

    before: float
    after: float
    noise: float
    used: bool

    @property
    def error(self) -> float:
        """That of the solutions as they are used."""
        return self.after if self.used else self.before

    @property
    def facts(self) -> tuple[Fact, ...]:
        """What a summary says of it."""
        used = "" if self.used else ". That is no gain: the equation is used as it is"
        return (
            Fact("Data noise", percent(self.noise, 2)),
            Fact("Equation alone", f"misses the data by {percent(self.before, 2)}, without their noise"),
            Fact("With correction", f"{percent(self.after, 2)} on functions left out{used}"),
        )


def correct(measured: Measurements, solutions: np.ndarray, seen: np.ndarray) -> tuple[np.ndarray, Correction]:
    """Solutions (N, L) with the correction, and an account.

    The last n of N functions are those that were measured. `seen` (N, K): all solutions where measurements
    are.
    """
    n = len(measured.y)
    missed = measured.y - seen[-n:]
    known = ~np.isnan(missed)
    both = np.concatenate([solutions, seen], axis=1)
    U, sizes, Vt = svd(both, full_matrices=False, overwrite_a=True, check_finite=False)
    count = int(np.count_nonzero(sizes**2 > _ENERGY * np.sum(sizes**2)))
    most = min(_MODES, count, int(known.sum(axis=1).min()) // 2)
    z = np.column_stack([np.full(len(U), sizes[0] / np.sqrt(len(U))), U[:, :most] * sizes[:most]])
    # Orthonormal where the measurements are: there, each mode is predicted for itself.
    orthonormal, R = np.linalg.qr(Vt[:most, solutions.shape[1] :].T)
    there = orthonormal.T
    d = np.array([np.linalg.lstsq(there[:, k].T, own[k])[0] for own, k in zip(missed, known, strict=True)])
    rest = np.where(known, missed - d @ there, 0.0)
    freedom = known.sum() - n * most
    variance = float(np.sum(rest**2) / freedom) if freedom > 0 else 0.0
    W, left_out = _ridges(z[-n:], d)
    before, after = missed, missed - left_out @ there
    used = bool(np.nansum(after**2) < np.nansum(before**2))
    size = float(np.sqrt(np.nanmean(measured.y**2))) or 1.0
    errors = [_without_noise(own, measured.y, variance) for own in (before, after)]
    if used:
        modes = solve_triangular(R, Vt[:most, : solutions.shape[1]], trans="T")
        solutions = solutions + product(product(z, W), modes)
    return solutions, Correction(errors[0], errors[1], float(np.sqrt(variance)) / size, used)


def _without_noise(missed: np.ndarray, y: np.ndarray, variance: float) -> float:
    """The root mean square of relative errors (n, L), less what noise adds to it.

    That is known up to its own standard deviation, ``variance sqrt(2 / L)`` for L values: no error below that
    can be told from noise.
    """
    counts, sizes = np.count_nonzero(~np.isnan(missed), axis=1), np.nansum(y**2, axis=1)
    squares = (np.nansum(missed**2, axis=1) - variance * counts) / sizes
    hidden = variance * np.sqrt(2 * np.sum(counts / sizes**2)) / len(counts)
    return float(np.sqrt(max(0.0, float(np.mean(squares))) + hidden))


def _ridges(z: np.ndarray, d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """W (q, m) that predicts each column of d (n, m) from z (n, q), and predictions of rows left out (n, m).

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
