"""The paper's estimator: two pseudoinverses."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.base import BaseEstimator

from elmonet._check import InterpolationThresholdWarning, number
from elmonet.solve.in_memory import InMemory
from elmonet.solve.problem import Problem
from elmonet.solve.solution import Solution
from elmonet.solve.spectral import Spectral
from elmonet.solve.spectrum import Spectrum

__all__ = ["Pinv"]

_NEAR = (0.8, 1.25)  # p1 / N between these is near the interpolation threshold


class Pinv(BaseEstimator):
    """The solution of least norm, ``W = pinv(T) G pinv(B)``, as in the paper.

    It exists for tall, wide, square and rank-deficient T and B. The error peaks where the width p1 is
    near the number of functions N ("double descent"): a named warning says so, and `Ridge` cures it.

    Leave-one-out is the limit of the ridge's as alpha vanishes. Where that cannot be told from rounding
    (functions are interpolated, and B is nearly deficient), it is that at the least alpha where it can.

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

    keeps_precision = True  # features and coefficients stay in the precision of the data

    def __init__(self, rcond: float | None = None):
        self.rcond = rcond

    def solve(
        self,
        T: np.ndarray,
        B: np.ndarray,
        G: np.ndarray,
        sizes: np.ndarray | None = None,
        groups: np.ndarray | None = None,
    ) -> Solution:
        """Find W (p2, p1) from T (M, p2), B (p1, N) and G (M, N); `sizes`, `groups` as in `Ridge.solve`."""
        rcond = None if self.rcond is None else number(self.rcond, "rcond")
        return self.solve_problem(Problem.of(T, B, G, sizes, groups, rcond=rcond))

    def solve_problem(self, problem: Problem) -> Solution:
        """The same, for a `Problem`: the matrices of the problem, checked once."""
        if problem.is_zero():
            return problem.zero_solution()
        spectrum = Spectrum.from_svd(problem.B, self.rcond)
        path = InMemory(problem, np.ones((1, 1), problem.B.dtype), by="loo")
        path.limit(Spectral(spectrum, problem.groups), np.zeros(1))
        solution = path.solution()
        _warn_near_threshold(problem.B.shape, solution.loo_error)
        return solution


def _warn_near_threshold(shape: tuple[int, ...], loo_error: float) -> None:
    p1, N = shape
    if _NEAR[0] <= p1 / N <= _NEAR[1]:
        warnings.warn(
            f"the branch has p1 = {p1} features for N = {N} functions, and there is no ridge. Near p1 = N "
            f"this is at its worst (leave-one-out error here: {loo_error:.1%}). Use "
            f'solver=Ridge("loo"), or a branch much wider or narrower than {N}.',
            InterpolationThresholdWarning,
            stacklevel=4,
        )
