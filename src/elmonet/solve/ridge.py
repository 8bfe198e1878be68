"""Ridge regression for W, with alpha given or chosen by leave-one-out or GCV."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.linalg import get_blas_funcs
from sklearn.base import BaseEstimator

from elmonet._blas import gram, squared_norm
from elmonet._check import InputError, NumericsWarning, choice, number, positive_integer
from elmonet.solve.cholesky import CholeskyFit, cholesky_fit
from elmonet.solve.pinv import Pinv
from elmonet.solve.problem import Problem
from elmonet.solve.solution import Solution
from elmonet.solve.span import default_cutoff
from elmonet.solve.spectrum import Spectrum
from elmonet.solve.tridiagonal import Tridiagonal

__all__ = ["Ridge", "fit_at", "gram_rounding", "largest_eigenvalue", "may_fall_further"]

_N_ALPHAS = 20
_LARGE = 2500  # beyond this smaller side of B, an SVD takes minutes
_POWERS = 8  # steps of a power iteration
_STILL_FALLING = 0.9  # a criterion that falls to less than this from one alpha to the next
_FLAT = 1.1  # a criterion within this factor of its least value
_RISING = 1.0005  # a criterion that rises by more than this to the next smaller alpha


class Ridge(BaseEstimator):
    """Least squares with a penalty, and exact leave-one-function-out errors.

    With Q an orthonormal basis of the trunk's span and ``T W = Q C``,

        min_C  ||Q C B - G||^2 + alpha ||C||^2 ,      W = pinv(T) Q C .

    The penalty is on C, the coefficients of the functions ``Q C B``, so that it does not depend on
    how the trunk happens to represent its span: a trunk whose functions are repeated, rescaled or
    nearly dependent gives the same predictions. ``penalty="W"`` penalises ``alpha ||W||^2`` instead,
    which shrinks the directions in which the trunk is small more than the others (by ``1/s_k^2``, the
    trunk's singular values); if the trunk is orthonormal (`POD`), the two agree. Leave-one-out is
    exact for both.

    Parameters
    ----------
    alpha : a number >= 0, or "loo" (least leave-one-function-out error, the mean over functions of
        the relative 2-norm) or "gcv" (least generalised cross-validation score). With 0 the answer is
        that of `Pinv`.
    alphas : the candidates for "loo" and "gcv": how many (20), or an array of them. By default they
        cover all that double precision can tell apart: down to where the Gram matrix of B is
        rounding, and, if the error still falls there, further down with an SVD of B itself, unless both
        sides of B are above 2500: that takes minutes, and a warning says so.
    penalty : "C" or "W".
    sums : for fits in blocks: "gram" adds up ``B B'``, "tsqr" a QR factor, which keeps directions below
        sqrt(eps) of the largest and takes a few times as long; "auto" begins with the second and goes on with
        the first if the functions so far show that it is accurate enough.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> T, B, W = rng.normal(size=(20, 3)), rng.normal(size=(4, 50)), rng.normal(size=(3, 4))
    >>> solution = Ridge("loo").solve(T, B, T @ W @ B)
    >>> bool(np.allclose(solution.W, W)), solution.loo_error < 1e-12
    (True, True)
    """

    def __init__(self, alpha: Any = "loo", *, alphas: Any = None, penalty: str = "C", sums: str = "auto"):
        self.alpha = alpha
        self.alphas = alphas
        self.penalty = penalty
        self.sums = sums

    def solve(
        self, T: np.ndarray, B: np.ndarray, G: np.ndarray, reference: np.ndarray | None = None
    ) -> Solution:
        """Find W (p2, p1) from T (M, p2), B (p1, N) and G (M, N).

        Leave-one-out errors are relative to the norms of the columns of G, or to `reference` (N,).
        """
        alpha, candidates = self.checked()
        if alpha == 0:
            return Pinv().solve(T, B, G, reference)
        # In double precision whatever came: a Gram matrix halves the digits that B has.
        problem = Problem(T, B, G, dtype=np.float64, reference=reference)
        if problem.is_zero():
            return problem.zero_solution()
        if alpha is not None:
            inside = problem.alpha_inside(alpha)
            solution = _at_one_alpha(problem, inside) if self.penalty == "C" else None
            if solution is not None:
                return solution
            candidates = np.array([alpha])
        if isinstance(candidates, np.ndarray):
            candidates = problem.alpha_inside(candidates)
        path = _Path(problem, self.penalty, by=self.alpha if alpha is None else "loo")
        path.follow(candidates)
        return path.solution(report=alpha is None)

    def checked(self) -> tuple[float | None, Any]:
        """The given alpha or None, and the given candidates or how many to make."""
        choice(self.penalty, "penalty", ("C", "W"))
        choice(self.sums, "sums", ("auto", "gram", "tsqr"))
        if not isinstance(self.alpha, str):
            if self.alphas is not None:
                raise InputError(
                    f"alphas has no effect with alpha={self.alpha!r}. Leave alphas out, or choose "
                    'among them with alpha="loo" or alpha="gcv".'
                )
            return number(self.alpha, 'alpha (a number, "loo" or "gcv")'), None
        choice(self.alpha, "alpha (if not a number)", ("loo", "gcv"))
        if self.alphas is None or np.ndim(self.alphas) == 0:
            count = _N_ALPHAS if self.alphas is None else self.alphas
            return None, positive_integer(count, "alphas", 2)
        given = np.unique([number(a, "each of alphas", strict=True) for a in self.alphas])
        if given.size == 0:
            raise InputError("alphas must hold at least one number, got an empty list.")
        return None, given


def _at_one_alpha(problem: Problem, alpha: float) -> Solution | None:
    fit = fit_at(problem, alpha)
    if fit is None:
        return None
    return problem.solution(
        fit.C,
        alpha=alpha,
        squared=fit.squared,
        left_out=np.sqrt(np.einsum("ij,ij->j", fit.left_out, fit.left_out)),
        rank_B=None,
        cutoff=0.0,
        condition=fit.condition,
        method="cholesky",
    )


def fit_at(problem: Problem, alpha: float) -> CholeskyFit | None:
    """By Cholesky, unless alpha drowns in the rounding of the Gram matrix."""
    B = problem.B
    smaller = gram(B.T if B.shape[1] <= B.shape[0] else B)
    if alpha < gram_rounding(B) * largest_eigenvalue(smaller):
        return None
    return cholesky_fit(B, problem.QtG, smaller, alpha)


def may_fall_further(criterion: np.ndarray, unseen: bool) -> bool:
    """Whether alphas below the rounding of the Gram matrix are worth an SVD, from the criterion above it.

    They are if the criterion still falls there; and, unless noise makes it rise, if there are directions
    which the Gram matrix cannot see, because it may fall once these come in.
    """
    first, second, least = criterion[0], criterion[1], criterion.min()
    flat = first <= _FLAT * least and first <= _RISING * second
    return bool(first < _STILL_FALLING * second or (unseen and flat))


def largest_eigenvalue(gram: np.ndarray) -> float:
    """Of a matrix whose lower triangle is given; from below, within some percent, by power iteration."""
    (symv,) = get_blas_funcs(("symv",), (gram,))
    v = np.ones(len(gram))
    largest = 0.0
    for _ in range(_POWERS):
        v = symv(1.0, gram, v, lower=True)
        largest = float(np.linalg.norm(v))
        v /= largest or 1.0
    return max(largest, float(gram.diagonal().max()))


def gram_rounding(B: np.ndarray) -> float:
    """The part of ``s_max^2`` below which an alpha drowns in the rounding of the Gram matrix.

    Its entries are sums of n products (n the larger side of B), with errors of up to ``n eps s_max^2``. An
    alpha above that moves the answer more than they do. Small n get a margin, which costs them nothing.
    """
    return max(*B.shape, 4096) * float(np.finfo(B.dtype).eps)


class _Path:
    """The criterion along the candidates for alpha, from one factorisation of B.

    The Gram matrix of B is cheap, but an alpha below `gram_rounding` needs the SVD of B itself.
    """

    def __init__(self, problem: Problem, penalty: str, by: str):
        self.problem, self.by = problem, by
        self.penalty = problem.span.penalty() if penalty == "W" else np.ones((1, 1))

    def follow(self, candidates: np.ndarray | int) -> None:
        """Evaluate the candidates; if a number is given, find where they should lie."""
        B = self.problem.B
        # Parts of s_max^2: what a Gram matrix resolves, and what an SVD of B does.
        rounding, finest = gram_rounding(B), default_cutoff(B) ** 2
        least = float(self.penalty.min())
        if isinstance(candidates, np.ndarray):
            top = squared_norm(B) / least
            factor = self._of_gram() if candidates[0] > rounding * top else Spectrum.from_svd(B)
            self._evaluate(factor, np.maximum(candidates, finest * top))  # what is less is zero
            return
        factor = self._of_gram()
        top = factor.largest / least
        alphas = np.geomspace(rounding * top, top, candidates)
        self._evaluate(factor, alphas)
        if not may_fall_further(self.criterion, unseen=self.factor.rank < min(B.shape)):
            return
        if min(B.shape) > _LARGE:
            warnings.warn(
                f"the error may fall further below alpha = {self.problem.alpha_outside(alphas[0]):.2g}, the "
                f"least that the Gram matrix of B resolves, but the SVD of B {B.shape} that this needs takes "
                "minutes. If the error is too large, ask for it with alphas=, or take a narrower branch.",
                NumericsWarning,
                stacklevel=4,
            )
        else:
            lower = np.geomspace(finest * top, rounding * top, candidates)
            self._evaluate(Spectrum.from_svd(B), np.concatenate([lower[:-1], alphas]))

    def _of_gram(self) -> Spectrum | Tridiagonal:
        p1, N = self.problem.B.shape
        # Rows with an alpha each need eigenvalues; else the tridiagonal form is cheaper.
        if 1 < N <= p1 and len(self.penalty) == 1:
            return Tridiagonal(self.problem.B)
        return Spectrum.from_gram(self.problem.B)

    def _evaluate(self, factor: Spectrum | Tridiagonal, alphas: np.ndarray) -> None:
        self.factor, self.alphas = factor, alphas
        self.projected = factor.project(self.problem.QtG)
        self.swept = factor.sweep(self.problem.QtG, self.projected, alphas, self.penalty)
        if self.by == "gcv":
            self.criterion = self.swept.gcv
        else:
            self.criterion = np.array([self.problem.loo_error(e) for e in self.swept.left_out])

    def solution(self, report: bool) -> Solution:
        """The solution at the best alpha; with the path, if it is to be reported."""
        best = int(np.argmin(self.criterion))
        alpha = float(self.alphas[best])
        return self.problem.solution(
            self.factor.coefficients(self.projected, alpha * self.penalty),
            alpha=alpha,
            squared=float(self.swept.squared[best]),
            left_out=self.swept.left_out[best],
            rank_B=self.factor.rank,
            cutoff=self.factor.cutoff,
            condition=self.factor.condition(alpha),
            method=self.factor.method,
            alphas=self.problem.alpha_outside(self.alphas) if report else None,
            path=self.criterion if report else None,
        )
