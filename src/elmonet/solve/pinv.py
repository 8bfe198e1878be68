"""The paper's estimator: two pseudoinverses."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.base import BaseEstimator

from elmonet._check import InterpolationThresholdWarning, number
from elmonet.solve.problem import Problem
from elmonet.solve.solution import Solution
from elmonet.solve.spectrum import Spectrum

__all__ = ["Pinv"]

_NEAR = (0.8, 1.25)  # p1 / N between these is near the interpolation threshold


class Pinv(BaseEstimator):
    """The solution of least norm, ``W = pinv(T) G pinv(B)``, as in the paper.

    It exists for tall, wide, square and rank-deficient T and B. The error peaks where the width p1 is
    near the number of functions N ("double descent"): a named warning says so, and `Ridge` cures it.

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

    def __init__(self, rcond: float | None = None):
        self.rcond = rcond

    def solve(
        self, T: np.ndarray, B: np.ndarray, G: np.ndarray, reference: np.ndarray | None = None
    ) -> Solution:
        """Find W (p2, p1) from T (M, p2), B (p1, N) and G (M, N); `reference` as in `Ridge.solve`."""
        rcond = None if self.rcond is None else number(self.rcond, "rcond")
        problem = Problem(T, B, G, rcond=rcond, reference=reference)
        if problem.is_zero():
            return problem.zero_solution()
        spectrum = Spectrum.from_svd(problem.B, rcond)
        GV = spectrum.project(problem.QtG)
        # Leave-one-out as the limit of the ridge's: an alpha far below every value that was kept.
        vanishing = 100 * np.finfo(GV.dtype).eps * float(spectrum.values[-1])
        swept = spectrum.sweep(problem.QtG, GV, np.array([vanishing]), np.ones((1, 1), GV.dtype))
        solution = problem.solution(
            spectrum.coefficients(GV, 0),
            alpha=0.0,
            squared=float(swept.squared[0]),
            left_out=swept.left_out[0],
            rank_B=spectrum.rank,
            cutoff=spectrum.cutoff,
            condition=spectrum.condition(0.0),
            method="svd",
        )
        _warn_near_threshold(problem.B.shape, solution.loo_error)
        return solution


def _warn_near_threshold(shape: tuple[int, ...], loo_error: float) -> None:
    p1, N = shape
    if _NEAR[0] <= p1 / N <= _NEAR[1]:
        warnings.warn(
            f"the branch has p1 = {p1} features for N = {N} functions and nothing regularises the fit. "
            f"Near p1 = N it is at its worst (leave-one-out error here: {loo_error:.1%}). Use "
            f'solver=Ridge("loo"), or a branch much wider or narrower than {N}.',
            InterpolationThresholdWarning,
            stacklevel=3,
        )
