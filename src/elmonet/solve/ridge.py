"""Ridge regression for W, with alpha given or chosen by leave-one-out or GCV."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from elmonet._check import InputError, choice, number, positive_integer
from elmonet.solve.in_memory import InMemory
from elmonet.solve.pinv import Pinv
from elmonet.solve.problem import Problem
from elmonet.solve.solution import Solution

__all__ = ["Ridge"]

_N_ALPHAS = 20


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
        sides of B are above 2500: that takes minutes, and a warning says so. Alphas at which leave-one-out
        cannot be told from rounding are left out; where one is given, functions are left out at the least
        alpha at which it can.
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
        self,
        T: np.ndarray,
        B: np.ndarray,
        G: np.ndarray,
        sizes: np.ndarray | None = None,
        groups: np.ndarray | None = None,
    ) -> Solution:
        """Find W (p2, p1) from T (M, p2), B (p1, N) and G (M, N), in double precision whatever came.

        Errors are relative to the norms of the columns of G, or to `sizes` (N,). Functions with the same
        number in `groups` (N,) are left out together.
        """
        self.checked()
        return self.solve_problem(Problem.of(T, B, G, sizes, groups, dtype=np.float64))

    def solve_problem(self, problem: Problem) -> Solution:
        """The same, for a `Problem`: the matrices of the problem, checked once."""
        alpha, candidates = self.checked()
        if alpha == 0:
            return Pinv().solve_problem(problem)
        if problem.is_zero():
            return problem.zero_solution()
        penalty = problem.span.penalty() if self.penalty == "W" else np.ones((1, 1))
        path = InMemory(problem, penalty, by=self.alpha if alpha is None else "loo")
        if isinstance(candidates, int):
            path.choose(candidates)
        else:
            path.given(problem.alpha_inside(np.array([alpha]) if alpha is not None else candidates))
        return path.solution(report=alpha is None)

    def checked(self) -> tuple[float | None, Any]:
        """The given alpha or None, and the given candidates or how many to make."""
        choice(self.penalty, "penalty", ("C", "W"))
        choice(self.sums, "sums", ("auto", "gram", "tsqr"))
        if not isinstance(self.alpha, str):
            if self.alphas is not None:
                raise InputError(
                    f"alphas has no effect with alpha={self.alpha!r}. Remove alphas, or choose "
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
