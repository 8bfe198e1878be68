"""Ridge regression from sums over functions; alpha given, by GCV, or by leave-one-out in a second pass."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from elmonet._blas import product
from elmonet._check import InputError
from elmonet.metrics import reference_norms
from elmonet.solve.gram import GramSums
from elmonet.solve.pinv import Pinv
from elmonet.solve.reduced import Reduced
from elmonet.solve.ridge import Ridge, largest_eigenvalue, may_fall_further
from elmonet.solve.solution import Solution
from elmonet.solve.span import Span
from elmonet.solve.triangular import TriangularSums

__all__ = ["LeftOut", "Sums", "solve_summed", "worth_a_triangle"]

Sums = GramSums | TriangularSums
_ROUNDING = 4096 * float(np.finfo(float).eps)  # of s_max^2, as in `gram_rounding`
_TRIED = 5  # alphas around the best by GCV that leave-one-out compares


class LeftOut:
    """Leave-one-out errors at a few alphas, gathered in a second pass over the functions."""

    def __init__(self, reduced: Reduced, alphas: np.ndarray, points: int):
        self.reduced, self.alphas, self.points = reduced, alphas, points

    def totals(self, B: np.ndarray, G: np.ndarray, outside: np.ndarray, norms: np.ndarray) -> np.ndarray:
        """Sums over some functions: the errors at every alpha, and how many functions; (alphas + 1,).

        For functions with features B (p1, n) and outputs G (q, n) in the basis of the trunk. `outside` (n,)
        are the norms of what the trunk misses, `norms` (n,) those of the whole outputs. For outputs at a
        single point, errors and norms are squared, and the sum of the latter stands for the number.
        """
        r = self.reduced
        Z = product(r.U.T, B)
        found = np.empty((len(self.alphas), B.shape[1]))
        for row, alpha in zip(found, self.alphas, strict=True):
            E = G - product(r.GV * (np.sqrt(r.values) / (r.values + alpha)), Z)
            one_minus_h = 1 - np.einsum("ki,k,ki->i", Z, 1 / (r.values + alpha), Z, optimize=True)
            missed = np.sqrt(np.einsum("ki,ki->i", E, E)) / np.maximum(one_minus_h, np.finfo(float).eps)
            row[:] = np.hypot(missed, outside)
        if self.points == 1:
            return np.append(np.sum(found**2, axis=1), np.sum(norms**2))
        return np.append(np.sum(found / reference_norms(norms), axis=1), len(norms))

    def best(self, totals: np.ndarray) -> tuple[float, float]:
        """The alpha of least error and that error, from the totals of all functions."""
        errors = totals[:-1] / (totals[-1] or 1.0)
        first = int(np.argmin(errors))
        error = float(errors[first])
        return float(self.alphas[first]), float(np.sqrt(error)) if self.points == 1 else error


def solve_summed(
    sums: Sums, span: Span, solver: Any, total: float, alpha: float | None = None
) -> tuple[Solution, Reduced | None, np.ndarray]:
    """The solution for sums of the outputs in the trunk's basis, the reduced problem, and alphas to compare.

    Parameters
    ----------
    sums : of features and of the outputs' coordinates in ``span.Q``.
    solver : `Ridge` or `Pinv`. ``Ridge("loo")`` chooses by GCV here.
    total : squared norm of all outputs, at all points.
    alpha : overrules the solver's.
    """
    started = perf_counter()
    given, candidates = _settings(solver)
    alpha = given if alpha is None else alpha
    quick = None if alpha is None else _at_one_alpha(sums, alpha)
    reduced, alphas, path = None, None, None
    account: dict[str, Any]
    if quick is not None and alpha is not None:
        C, squared, freedom, condition = quick
        inside = float(np.sum(sums.R**2))
        score = squared / freedom**2
        account = {"rank_B": None, "cutoff": 0.0, "condition": condition, "method": sums.method}
    else:
        reduced = sums.reduced()
        if alpha is None:
            alphas, path = _path(reduced, candidates)
            alpha = float(alphas[int(np.argmin(path))])
        C = reduced.coefficients(alpha)
        squared = float(reduced.squared_residual(np.array([alpha]))[0])
        inside = reduced.outside + float(np.sum(reduced.GV**2))
        score = float(reduced.gcv(np.array([max(alpha, reduced.finest())]))[0])
        account = {"rank_B": reduced.rank, "cutoff": reduced.cutoff, "condition": reduced.condition(alpha)}
        account["method"] = reduced.method
    W = span.lift(C)
    if not np.isfinite(W).all():
        raise InputError("W is not finite: give inputs and outputs in units in which they are of order one.")
    outside = max(total - inside, 0.0)
    solution = Solution(
        W=W,
        rank_T=span.rank,
        residual=float(np.sqrt((squared + outside) / total)) if total else 0.0,
        alpha=alpha,
        loo_error=float(np.sqrt((score + outside) / total)) if total else 0.0,
        seconds=perf_counter() - started,
        alphas=alphas,
        path=path,
        **account,
    )
    around = alpha * np.geomspace(0.1, 10, _TRIED)
    return solution, reduced, around


def _at_one_alpha(sums: Sums, alpha: float) -> tuple[np.ndarray, float, float, float] | None:
    """By Cholesky, unless alpha drowns in the rounding of the sums."""
    if not isinstance(sums, GramSums) or alpha < _ROUNDING * largest_eigenvalue(sums.BBt):
        return None
    return sums.at(alpha)


def worth_a_triangle(sums: TriangularSums, solver: Any) -> bool:
    """Whether the functions so far want an alpha that drowns in the rounding of Gram sums."""
    given, candidates = _settings(solver)
    reduced = sums.reduced()
    floor = _ROUNDING * float(reduced.values[0])
    if given is not None:
        return given < floor
    if isinstance(candidates, np.ndarray):
        return bool(candidates[0] < floor)
    alphas, path = _path(reduced, candidates)
    return bool(alphas[int(np.argmin(path))] < floor)


def _settings(solver: Any) -> tuple[float | None, Any]:
    if isinstance(solver, Pinv):
        return 0.0, None
    if not isinstance(solver, Ridge) or solver.penalty != "C":
        raise InputError(
            f'a fit in blocks needs Ridge(...) with penalty="C", or Pinv(); got {solver!r}. Others need all '
            "functions in memory."
        )
    return solver.checked()


def _path(reduced: Reduced, candidates: Any) -> tuple[np.ndarray, np.ndarray]:
    """The candidates for alpha and their GCV scores."""
    if isinstance(candidates, np.ndarray):
        return candidates, reduced.gcv(candidates)
    top = float(reduced.values[0])
    alphas = np.geomspace(_ROUNDING * top, top, candidates)
    path = reduced.gcv(alphas)
    seen = int(np.count_nonzero(reduced.values > _ROUNDING * top))
    if reduced.method == "tsqr" and may_fall_further(path, unseen=seen < reduced.rank):
        lower = np.geomspace(reduced.finest(), _ROUNDING * top, candidates)
        alphas = np.concatenate([lower[:-1], alphas])
        path = reduced.gcv(alphas)
    return alphas, path
