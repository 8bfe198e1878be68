"""What measurements say of an equation: where it is wrong, for all functions.

Let Phi be the modes of the equation's solutions, and z_i the coefficients of solution i in them. A
measurement tells what its solution misses, d_i = Phi^+ (y_i - s_i): noise that is no combination of modes is
gone. What is missed depends on the function, and the rows ``Phi W z_i = y_i - s_i`` stand for all measured
functions together: the library's own problem, T W B = G, with T = Phi and B = (z_i). It is solved by ridge
regression, with a ridge for each mode, chosen by exact leave-one-out; a mode that no ridge predicts is left
as it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular, svd

from elmonet._blas import product
from elmonet.physics.measurements import Measurements
from elmonet.summaries import Fact, percent

__all__ = ["Correction", "correct"]

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
