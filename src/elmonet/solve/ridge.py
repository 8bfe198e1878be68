"""The solvers: `Ridge`, with alpha given or chosen, and `Pinv`, the paper's two pseudoinverses."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import LinAlgError

from elmonet.checks import choice, number, positive_integer
from elmonet.errors import InputError, InterpolationThresholdWarning, NumericsWarning
from elmonet.linalg import squared_norm
from elmonet.solve.cholesky import AtOneAlpha
from elmonet.solve.dual import Tridiagonal
from elmonet.solve.factor import Factor, Sweep, gram_rounding
from elmonet.solve.path import FINEST, AlphaPath
from elmonet.solve.problem import Problem, default_cutoff
from elmonet.solve.solution import Solution, Solver
from elmonet.solve.spectral import Primal, Spectral, Spectrum

_N_ALPHAS = 20  # default number of candidates for alpha
_MAX_SVD_SIDE = 2500  # beyond this smaller side of B, an SVD takes minutes
_NEAR_THRESHOLD = (0.8, 1.25)  # p1 / N between these is near the interpolation threshold


class Ridge(Solver):
    """Ridge regression, with exact leave-one-function-out errors.

    With Q an orthonormal basis of the trunk's span and ``T W = Q C``,

        min_C  ||Q C B - G||^2 + alpha ||C||^2 ,      W = pinv(T) Q C .

    The penalty is on C, the coefficients of the functions ``Q C B``, so that it does not depend on
    how the trunk represents its span: a trunk whose functions are repeated, rescaled or nearly dependent
    gives the same predictions. ``penalty="W"`` penalises ``alpha ||W||^2`` instead, which shrinks the
    directions in which the trunk is small more than the others (by ``1/s_k^2``, the trunk's singular
    values); if the trunk is orthonormal (`POD`), the two agree. Leave-one-out is exact for both.

    Parameters
    ----------
    alpha : a number >= 0, or "loo" (least leave-one-function-out error, the mean over functions of
        the relative 2-norm) or "gcv" (least generalised cross-validation score). 0 is equivalent to `Pinv`.
    alphas : the candidates for "loo" and "gcv": their number (20), or an array. By default they cover all
        that double precision resolves: down to the rounding of the Gram matrix of B and, if the error still
        falls there, further down with an SVD of B itself, unless both sides of B are above 2500: that takes
        minutes, and a warning says so. Alphas at which leave-one-out errors are lost in rounding are
        skipped; where one is given, functions are left out at the least alpha at which they are not.
    penalty : "C" or "W".
    sums : for fits in blocks: "gram" accumulates ``B B'``, "tsqr" a QR factor, which keeps directions below
        sqrt(eps) of the largest and takes a few times as long; "auto" starts with "tsqr" and switches to
        "gram" if the functions so far show that it is accurate enough.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> T, B, W = rng.normal(size=(20, 3)), rng.normal(size=(4, 50)), rng.normal(size=(3, 4))
    >>> solution = Ridge("loo").solve(T, B, T @ W @ B)
    >>> bool(np.allclose(solution.W, W)), solution.loo_error < 1e-12
    (True, True)
    """

    def __init__(
        self,
        alpha: float | str = "loo",
        *,
        alphas: ArrayLike | None = None,
        penalty: str = "C",
        sums: str = "auto",
    ):
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
        factors: dict[str, Factor] | None = None,
        roots: np.ndarray | None = None,
        svd: bool = False,
        rough: bool = False,
    ) -> Solution:
        """Solve for W, in double precision.

        Parameters
        ----------
        T : (M, p2), trunk features at the points.
        B : (p1, N), branch features of the functions.
        G : (M, N), outputs.
        sizes : (N,), the reference of relative errors. None: the norms of the columns of G.
        groups : (N,), integers; functions of the same group are left out together. None: one at a time.
        factors : factors of the same B from an earlier solve, to reuse; an empty dictionary collects them.
            An SVD among them serves all alphas.
        roots : (N,), if functions have weights: their square roots, by which the columns of B and G, and
            `sizes`, are already multiplied. A function of weight 2 is left out as a whole, both of it, and
            its error counts twice; "gcv" takes it for one.
        svd : begin with an SVD of B, where it is known that small alphas are needed, and alpha is chosen.
        rough : of the alphas that need an SVD, evaluate every third, then those around the best: the path of
            the solution holds only these.

        Returns
        -------
        solution : `Solution`.
        """
        self.checked()
        problem = Problem.of(T, B, G, sizes, groups, roots, dtype=np.float64)
        return self.solve_problem(problem, factors, svd, rough)

    def solve_problem(
        self,
        problem: Problem,
        factors: dict[str, Factor] | None = None,
        svd: bool = False,
        rough: bool = False,
    ) -> Solution:
        """Return the `Solution` of a problem whose matrices have been checked; the others as in `solve`."""
        alpha, candidates = self.checked()
        if alpha == 0:
            return Pinv().solve_problem(problem)
        if problem.is_zero():
            return problem.zero_solution()
        penalty = problem.span.penalty() if self.penalty == "W" else np.ones((1, 1))
        path = _InMemoryPath(
            problem, penalty, by=str(self.alpha) if alpha is None else "loo", factors=factors
        )
        if isinstance(candidates, int):
            if svd and min(problem.B.shape) <= _MAX_SVD_SIDE:
                path.fine(0.0)
            path.choose(candidates, rough)
        else:
            path.given(problem.alpha_inside(np.array([alpha]) if alpha is not None else candidates))
        return path.solution(report=alpha is None)

    def checked(self) -> tuple[float | None, Any]:
        """Check the settings; return alpha or None, and the given candidates or their number."""
        choice(self.penalty, "penalty", ("C", "W"))
        choice(self.sums, "sums", ("auto", "gram", "tsqr"))
        if not isinstance(self.alpha, str):
            if self.alphas is not None:
                raise InputError(
                    f"alphas has no effect with alpha={self.alpha!r}. Remove alphas, or set "
                    'alpha="loo" or alpha="gcv" to choose among them.'
                )
            return number(self.alpha, 'alpha (a number, "loo" or "gcv")'), None
        choice(self.alpha, "alpha (if not a number)", ("loo", "gcv"))
        if self.alphas is None or np.ndim(self.alphas) == 0:
            count = _N_ALPHAS if self.alphas is None else self.alphas
            return None, positive_integer(count, "alphas", 2)
        given = np.unique([number(a, "each of alphas", strict=True) for a in np.ravel(self.alphas).tolist()])
        if given.size == 0:
            raise InputError("alphas must hold at least one number, got an empty list.")
        return None, given


class Pinv(Solver):
    """The solution of least norm, ``W = pinv(T) G pinv(B)``, as in the paper.

    It exists for tall, wide, square and rank-deficient T and B. The error peaks where the width p1 is
    near the number of functions N ("double descent"): a named warning says so, and `Ridge` avoids it.

    Leave-one-out errors are the limit of the ridge's as alpha vanishes. Where that limit is lost in rounding
    (functions are interpolated, and B is nearly deficient), they are those at the least alpha where it is
    not.

    Parameters
    ----------
    rcond : singular values below ``rcond`` times the largest count as zero, in T and in B. None:
        ``max(shape) * eps`` of each, the rule of ``torch.linalg.pinv``, in the precision of the data:
        with float32 matrices this is the recipe as printed.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> T, B, G = rng.normal(size=(20, 3)), rng.normal(size=(4, 50)), rng.normal(size=(20, 50))
    >>> W = Pinv().solve(T, B, G).W
    >>> bool(np.allclose(W, np.linalg.pinv(T) @ G @ np.linalg.pinv(B)))
    True
    """

    keeps_precision = True

    def __init__(self, rcond: float | None = None):
        self.rcond = rcond

    def solve(
        self,
        T: np.ndarray,
        B: np.ndarray,
        G: np.ndarray,
        sizes: np.ndarray | None = None,
        groups: np.ndarray | None = None,
        roots: np.ndarray | None = None,
    ) -> Solution:
        """Solve for W, in the precision of the matrices.

        Parameters
        ----------
        T, B, G, sizes, groups, roots : as in `Ridge.solve`.

        Returns
        -------
        solution : `Solution`.
        """
        rcond = None if self.rcond is None else number(self.rcond, "rcond")
        return self.solve_problem(Problem.of(T, B, G, sizes, groups, roots, rcond=rcond))

    def solve_problem(self, problem: Problem) -> Solution:
        """Return the `Solution` of a problem whose matrices have been checked."""
        if problem.is_zero():
            return problem.zero_solution()
        spectrum = Spectrum.from_svd(problem.B, self.rcond)
        path = _InMemoryPath(problem, np.ones((1, 1), problem.B.dtype), by="loo")
        path.limit(Spectral(spectrum, problem.groups), np.zeros(1))
        solution = path.solution()
        p1, N = problem.B.shape
        if _NEAR_THRESHOLD[0] <= p1 / N <= _NEAR_THRESHOLD[1]:
            warnings.warn(
                f"the branch has p1 = {p1} features for N = {N} functions, without regularisation. The error "
                f'is largest near p1 = N (leave-one-out: {solution.loo_error:.1%}). Use solver=Ridge("loo"), '
                f"or a branch much wider or narrower than {N}.",
                InterpolationThresholdWarning,
                stacklevel=3,
            )
        return solution


class _InMemoryPath(AlphaPath):
    """The path of a `Problem`, `by` "loo" or "gcv"; `penalty` (1 or r, 1) multiplies alpha per row of C.

    `factors` of the same B from an earlier solve are reused, and new ones are added to it.
    """

    def __init__(
        self, problem: Problem, penalty: np.ndarray, by: str, factors: dict[str, Factor] | None = None
    ):
        super().__init__(problem.B.shape, penalty)
        self.problem, self.by, self.factors = problem, by, {} if factors is None else factors

    def given(self, alphas: np.ndarray) -> None:
        """Evaluate these alphas, by the cheapest factorisation that resolves them all."""
        B, least = self.problem.B, float(alphas[0] * self.weight)
        try:
            if len(alphas) == 1 and self.penalty.size == 1 and self.problem.groups is None:
                self.evaluate(AtOneAlpha(B, least), alphas)
                return
            if least > gram_rounding(self.shape) * squared_norm(B):
                self.evaluate(self.coarse(), alphas)
                return
        except LinAlgError:  # the Gram matrix does not resolve these alphas
            pass
        spectrum = Spectrum.from_svd(B, 0.0)
        if least < FINEST / 4 * spectrum.largest:  # numerically zero
            spectrum = spectrum.truncated(default_cutoff(B))
        self.limit(Spectral(spectrum, self.problem.groups), alphas)

    def limit(self, factor: Spectral, alphas: np.ndarray) -> None:
        """Evaluate alphas that may be zero or nearly so; leave functions out at the least trusted alpha."""
        self.evaluate(
            factor, np.maximum(alphas, factor.vanishing_alpha() / self.weight), factor.least_trusted_alpha()
        )
        self.alphas = alphas

    def coarse(self) -> Factor:
        """Reduce the Gram matrix to tridiagonal form, or compute its eigenvalues."""
        B, groups = self.problem.B, self.problem.groups
        p1, N = B.shape
        if "coarse" in self.factors:
            pass
        elif p1 < N:
            self.factors["coarse"] = Primal(B, groups)
        # Groups, and rows with an alpha each, need eigenvalues; else the tridiagonal form is cheaper.
        elif N > 1 and len(self.penalty) == 1 and groups is None:
            self.factors["coarse"] = Tridiagonal(B)
        else:
            self.factors["coarse"] = Spectral(Spectrum.from_gram(B), groups)
        return self.factors["coarse"]

    def fine(self, least: float) -> Factor | None:
        """Compute the SVD of B, unless it would take minutes."""
        if "fine" in self.factors:
            return self.factors["fine"]
        if min(self.shape) > _MAX_SVD_SIDE:
            warnings.warn(
                f"the error may fall further below alpha = {self.problem.alpha_outside(least):.2g}, the "
                f"smallest that the Gram matrix of B resolves, but the SVD of B {self.shape} takes minutes. "
                "If the error is too large, request the SVD with alphas=, or use a narrower branch.",
                NumericsWarning,
                stacklevel=6,
            )
            return None
        self.factors["fine"] = Spectral(Spectrum.from_svd(self.problem.B, 0.0), self.problem.groups)
        return self.factors["fine"]

    def known_fine(self) -> Factor | None:
        return self.factors.get("fine")

    def sweep(self, factor: Factor, alphas: np.ndarray) -> Sweep:
        return factor.sweep(self.problem.QtG, alphas, self.penalty)

    def measured(self, scores: Sweep) -> tuple[np.ndarray, np.ndarray]:
        """Return leave-one-out errors or GCV scores, and leave-one-out errors."""
        error = self.problem.overall(self.problem.errors(scores.left_out))
        return scores.gcv if self.by == "gcv" else error, error

    def solution(self, report: bool = False) -> Solution:
        """Return the solution at the best alpha; `report` includes the path."""
        best = self.best()
        alpha = float(self.alphas[best])
        return self.problem.solution(
            self.factor.coefficients(self.problem.QtG, alpha * self.penalty),
            self.factor,
            alpha=alpha,
            squared=float(self.scores.squared[best]),
            left_out=self.scores.left_out[best],
            left_out_at=self.left_out_at[best] * self.penalty,
            alphas=self.problem.alpha_outside(self.alphas) if report else None,
            path=self.criterion if report else None,
        )
