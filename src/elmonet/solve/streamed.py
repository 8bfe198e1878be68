"""Ridge regression from sums over functions, and leave-one-out errors by a second pass over the functions.

Many features make the spectrum of their Gram sums expensive. Then `validated_ridge` chooses alpha by
functions that are not in the sums, with a Cholesky factor for each alpha.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError

from elmonet.errors import InputError
from elmonet.linalg import product
from elmonet.metrics import reference_norms
from elmonet.solve.cholesky import Cholesky, largest_eigenvalue
from elmonet.solve.factor import (
    PRIMAL_ROUNDING,
    Factor,
    LeftOut,
    Sweep,
    by_groups,
    gram_rounding,
    trusted,
)
from elmonet.solve.path import AlphaPath
from elmonet.solve.problem import Problem, Span, lifted
from elmonet.solve.ridge import Pinv, Ridge
from elmonet.solve.solution import Solution
from elmonet.solve.sums import GramSums, TriangularSums

Sums = GramSums | TriangularSums
_N_COMPARED = 5  # alphas around the best by GCV that leave-one-out compares
_EPS = float(np.finfo(np.float64).eps)
_FIRST_ALPHA = 1e-8  # where the search for alpha by validation begins, relative to the mean of diag(B B')
_ALPHA_STEPS = (100.0, 10.0, 10.0**0.5)  # factors from one alpha to the next, coarse to fine
_LARGER = 3.0  # factor to the next alpha, where one is too small for the rounding of the sums
_BETTER = 0.999  # an alpha is better if it reduces the error below this part


def solve_sums(
    sums: Sums,
    span: Span,
    solver: Any,
    *,
    alpha: float | None = None,
    groups: np.ndarray | None = None,
    g: float = 1.0,
) -> tuple[Solution, Factor, np.ndarray]:
    """Return the solution for sums of the outputs in the trunk's basis, its factor, and alphas to compare.

    As long as the sums hold the functions themselves, this is the ordinary fit with exact leave-one-out.
    Otherwise ``Ridge("loo")`` chooses by GCV, the expected error is "gcv", and a second pass with
    `StreamedLeaveOneOut` is needed. `alpha` overrides the solver's. `groups` (N,) are the groups of the
    functions, in the order in which the sums got them; `g` is the number by which outputs were multiplied.
    """
    started = perf_counter()
    given, candidates = _settings(solver)
    rows = sums.rows if isinstance(sums, TriangularSums) and sums.functions else None
    if rows is not None:
        chosen = solver if alpha is None else Ridge(alpha)
        solution = chosen.solve_problem(Problem(span, *rows, g=g, groups=groups))
        assert solution.fit is not None
        factor: Any = solution.fit.factor  # None if nothing was fitted; not needed then
        return solution, factor, np.array([solution.alpha])
    alpha = given if alpha is None else alpha
    path = _StreamedPath(sums)
    if alpha is None:
        if isinstance(candidates, int):
            path.choose(candidates)
        else:
            path.evaluate(path.coarse(), candidates, least_trusted=0.0)
    else:
        path.at(alpha)
    best = path.best()
    found = float(path.alphas[best])
    solution = Solution(
        **lifted(span, path.factor.coefficients(None, found) / g),
        rank_T=span.rank,
        rank_B=path.factor.rank,
        cutoff=path.factor.cutoff,
        condition=path.factor.condition(found),
        residual=path.relative(float(path.scores.squared[best])),
        alpha=found,
        expected_error=path.relative(float(path.scores.gcv[best])),
        error_kind="gcv",
        seconds=perf_counter() - started,
        method=sums.method,
        alphas=path.alphas if alpha is None else None,
        path=path.criterion if alpha is None else None,
    )
    around = found * np.geomspace(0.1, 10, _N_COMPARED) if alpha is None else np.array([found])
    return solution, path.factor, around


def _settings(solver: Any) -> tuple[float | None, Any]:
    if isinstance(solver, Pinv):
        return 0.0, None
    if not isinstance(solver, Ridge) or solver.penalty != "C":
        raise InputError(
            f'a fit in blocks needs Ridge(...) with penalty="C", or Pinv(); got {solver!r}. Other solvers '
            "need all functions in memory."
        )
    return solver.checked()


def worth_a_triangle(sums: TriangularSums, solver: Any) -> bool:
    """Return whether the functions so far need an alpha that is lost in the rounding of Gram sums."""
    given, candidates = _settings(solver)
    path = _StreamedPath(sums)
    floor = gram_rounding(path.shape) * path.coarse().largest
    if given is not None:
        return given < floor
    if isinstance(candidates, np.ndarray):
        return bool(candidates[0] < floor)
    path.choose(candidates)
    return bool(path.alphas[path.best()] < floor)


class _StreamedPath(AlphaPath):
    """The path of GCV scores; a triangle resolves all alphas, Gram sums those above their rounding."""

    def __init__(self, sums: Sums):
        p1 = len(sums.BBt) if isinstance(sums, GramSums) else sums.p1
        super().__init__((p1, 0), np.ones((1, 1)))
        self.sums, self.outside, self.total = sums, sums.outside, sums.total() + sums.outside
        self._reduced: Factor | None = None

    def at(self, alpha: float) -> None:
        """Evaluate one alpha, by Cholesky if possible."""
        if isinstance(self.sums, GramSums):
            try:
                return self.evaluate(_GramAtOneAlpha(self.sums, alpha), np.array([alpha]))
            except LinAlgError:
                pass
        self.evaluate(self.coarse(), np.array([alpha]), least_trusted=0.0)

    def coarse(self) -> Factor:
        """Reduce the sums to their spectrum, once."""
        if self._reduced is None:
            self._reduced = self.sums.reduced()
        return self._reduced

    def fine(self, least: float) -> Factor | None:
        """Return the same spectrum, if it resolves more than a Gram matrix does."""
        return None if isinstance(self.sums, GramSums) else self.coarse()

    def hides_directions(self, factor: Any) -> bool:
        """Return whether there are directions between the rounding of a Gram matrix and that of B."""
        resolved = np.count_nonzero(factor.values > gram_rounding(self.shape) * factor.largest)
        return bool(resolved < factor.rank)

    def sweep(self, factor: Factor, alphas: np.ndarray) -> Sweep:
        return factor.sweep(None, alphas, self.penalty)

    def measured(self, scores: Sweep) -> tuple[np.ndarray, np.ndarray]:
        """Return GCV scores, and the same as relative errors."""
        return scores.gcv, np.sqrt((scores.gcv + self.outside) / (self.total or 1.0))

    def relative(self, squared: float) -> float:
        """Convert squared residuals within the span to a relative error."""
        return float(np.sqrt((squared + self.outside) / self.total)) if self.total else 0.0


class _GramAtOneAlpha(Factor):
    """Gram sums at one alpha; raises `LinAlgError` if alpha is lost in their rounding."""

    method = "gram"

    def __init__(self, sums: GramSums, alpha: float):
        self.sums, self.largest = sums, largest_eigenvalue(sums.BBt)
        if alpha < gram_rounding((len(sums.BBt),)) * self.largest or not self.largest:
            raise LinAlgError("alpha is below the rounding of the Gram sums")
        self.cholesky = Cholesky(sums.BBt.copy(order="F"), alpha)

    def condition(self, alpha: float) -> float:
        return self.cholesky.condition

    def coefficients(self, G: Any, alpha: Any) -> np.ndarray:
        return self.cholesky.solve(self.sums.GBt.T).T

    def sweep(self, G: Any, alphas: np.ndarray, penalty: np.ndarray) -> Sweep:
        """Return the squared residual and the GCV score at the one alpha."""
        alpha, C, N = float(alphas[0]), self.coefficients(None, alphas), self.sums.functions
        CC, total = float(np.sum(C**2)), self.sums.total()
        # At the minimum 2 <C, G B'> - ||C B||^2 = <C, G B'> + alpha ||C||^2.
        fitted = float(np.sum(C * self.sums.GBt)) + alpha * CC
        # The difference of squares is known to rounding only: report no less than that.
        rounding = np.finfo(float).eps * np.sqrt(total) * (np.sqrt(total) + np.sqrt(self.largest * CC))
        squared = np.atleast_1d(max(total - fitted, rounding))
        trace = float(self.cholesky.diagonal_of_inverse().sum())
        freedom = (N - C.shape[1] + alpha * trace) / N
        return Sweep(squared, squared / max(freedom, np.finfo(float).eps) ** 2, np.zeros(1))

    def rotated(self, B: np.ndarray) -> np.ndarray:
        return self.cholesky.half(B)

    def half(self, rotated: np.ndarray, alpha: float) -> np.ndarray:
        return rotated


class StreamedLeaveOneOut:
    """Leave-one-out errors at a few alphas, accumulated in a second pass over the functions.

    factor, alphas : from `solve_sums`; points : the number of output points.
    """

    def __init__(self, factor: Any, alphas: np.ndarray, points: int):
        self.factor, self.alphas, self.points = factor, alphas, points
        self.coefficients = [factor.coefficients(None, float(alpha)) for alpha in alphas]

    def totals(
        self,
        B: np.ndarray,
        G: np.ndarray,
        outside: np.ndarray,
        norms: np.ndarray,
        groups: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return sums over some functions (alphas + 1,): of their errors at every alpha, and their number.

        The functions have features B (p1, n) and outputs G (q, n) in the basis of the trunk; `outside` (n,)
        are the norms of the outputs outside the trunk's span (`Span.project`), `norms` (n,) those of the full
        outputs. Functions with the same number in `groups` (n,) are left out together: these are all of the
        group. An alpha at which rounding hides a function's ``1 - h`` has the error Inf. For outputs at a
        single point follow, for `best`: the sums of residuals at every alpha, the sum of squared outputs, and
        how many outputs have either sign.
        """
        n, sizes = B.shape[1], reference_norms(norms)
        found, rotated = np.empty((len(self.alphas), n)), self.factor.rotated(B)
        blocks: Any = [(slice(None), False)] if groups is None else list(by_groups(groups, n))
        for row, alpha, C in zip(found, self.alphas, self.coefficients, strict=True):
            E, Z = G - product(C, B), self.factor.half(rotated, float(alpha))
            for own, together in blocks:
                Zo = Z[:, own]
                if together:
                    left = LeftOut.together(E[:, own], (np.eye(Zo.shape[1]) - product(Zo.T, Zo))[None])
                    rest: Any = left.least
                else:
                    rest = np.maximum(1 - np.einsum("ki,ki->i", Zo, Zo), _EPS)
                    left = LeftOut.one_at_a_time(E[:, own], rest[None])
                norm = np.sqrt(np.einsum("ki,ki->i", left.residuals, left.residuals))
                residuals = np.hypot(norm, outside[own])
                doubt = self._rounding(B[:, own], float(alpha), together) / rest
                row[own] = np.where(trusted(doubt, residuals / sizes[own]), residuals, np.inf)
        totals = np.append(np.sum(found / sizes, axis=1), len(norms))
        if self.points > 1:
            return totals
        signs = [np.count_nonzero(G > 0), np.count_nonzero(G < 0)]
        return np.concatenate([totals, np.sum(found, axis=1), [np.sum(norms**2)], signs])

    def best(self, totals: np.ndarray) -> tuple[float, float | None]:
        """Return the alpha of least error and that error, from the totals of all functions.

        If rounding hides the errors at every alpha, return the middle one and None.
        """
        A = len(self.alphas)
        n = totals[A] or 1.0
        errors = totals[:A] / n
        if self.points == 1 and min(totals[-2:]) > 0:  # numbers of both signs, as in `output_sizes`
            errors = totals[A + 1 : 2 * A + 1] / n / np.sqrt(totals[2 * A + 1] / n)
        first = int(np.argmin(errors))
        if not np.isfinite(errors[first]):
            return float(self.alphas[len(self.alphas) // 2]), None
        return float(self.alphas[first]), float(errors[first])

    def _rounding(self, B: np.ndarray, alpha: float, together: bool) -> np.ndarray:
        """Return the rounding of h: ``eps s_max^2`` in a Gram matrix, or ``eps`` in each ``u_k' b``."""
        if alpha == 0:
            return np.full(B.shape[1], np.inf)
        if self.factor.method == "gram":
            return np.full(B.shape[1], PRIMAL_ROUNDING * self.factor.largest / alpha)
        squares = np.einsum("ki,ki->i", B, B)
        return _EPS * np.sqrt((np.full_like(squares, squares.sum()) if together else squares) / alpha)


@dataclass(frozen=True)
class ValidatedRidge:
    """Ridge coefficients from Gram sums at the alpha of least validation error.

    Attributes
    ----------
    alpha : the ridge parameter.
    relative : the same, relative to the mean of ``diag(B B')``.
    C : (q, p1), the coefficients.
    error : the validation error.
    tried : the validation errors of all alphas tried, by alpha.
    """

    alpha: float
    relative: float
    C: np.ndarray
    error: float
    tried: dict[float, float]


def validated_ridge(
    sums: GramSums,
    error: Callable[[np.ndarray], float],
    begin: float | None = None,
    *,
    coarse: bool = False,
) -> ValidatedRidge:
    """Choose alpha by the error of functions that are not in the sums.

    The error is not computed from the sums, so that it is true whatever their rounding: entries of ``B B'``
    have independent errors of some eps times its diagonal, which disturb the result only for an alpha of
    ``sqrt(p1) eps`` times that, far less than `gram_rounding` allows for. A Cholesky factor that fails marks
    the end.

    Parameters
    ----------
    sums : Gram sums of p1 features and q outputs.
    error : returns the validation error of coefficients C (q, p1).
    begin : alpha to begin with, relative to the mean of ``diag(B B')``; the nearer to the best, the fewer
        factorisations are needed.
    coarse : compare powers of ten only, enough to compare features.

    Raises
    ------
    LinAlgError : if no alpha can be used: the features are zero or not finite.
    """
    unit = float(sums.BBt.diagonal().mean()) or 1.0
    found: dict[float, float] = {}
    best: tuple[float, float, Any] = (np.inf, 0.0, None)

    def evaluate(relative: float) -> float:
        nonlocal best
        key = float(f"{relative:.3g}")
        if key not in found:
            try:
                C = ridge_at(sums, key * unit)[1]
                found[key] = error(C)
            except LinAlgError:
                return found.setdefault(key, np.inf)
            if found[key] < best[0]:
                best = found[key], key, C
        return found[key]

    first = _FIRST_ALPHA if begin is None else begin
    while not np.isfinite(evaluate(first)) and first < 1e3:
        first *= _ALPHA_STEPS[0]
    here = first
    for step in _ALPHA_STEPS[begin is not None : 2 if coarse else 3]:
        for factor in (step, 1 / step):
            while _EPS**2 < here * factor < 1 / _EPS and evaluate(here * factor) < _BETTER * evaluate(here):
                here *= factor
    least, relative, C = best
    if C is None:
        raise LinAlgError("no ridge parameter makes the Gram sums positive: are all features zero?")
    return ValidatedRidge(relative * unit, relative, C, least, {a * unit: e for a, e in found.items()})


def ridge_from(sums: GramSums, alpha: float) -> tuple[float, Cholesky, np.ndarray]:
    """Return alpha, factor and coefficients as `ridge_at`, with the least of alpha, 3 alpha, ... that works.

    An alpha that is just large enough for some sums may be too small once more functions are added to them.
    """
    while True:
        try:
            return alpha, *ridge_at(sums, alpha)
        except LinAlgError:
            if alpha > float(sums.BBt.diagonal().sum()):
                raise
            alpha *= _LARGER


def ridge_at(sums: GramSums, alpha: float) -> tuple[Cholesky, np.ndarray]:
    """Return the Cholesky factor of ``B B' + alpha`` and the coefficients C (q, p1)."""
    factor = Cholesky(sums.BBt.copy(order="F"), alpha)
    return factor, factor.solve(sums.GBt.T).T
