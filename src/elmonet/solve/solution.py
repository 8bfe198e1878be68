"""What every solve returns: the matrix W and how it was found."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

__all__ = ["Solution"]


@dataclass(frozen=True, repr=False)
class Solution:
    """The learned matrix of ``min ||T W B - G||`` and an account of the solve.

    Attributes
    ----------
    W : (p2, p1), the learned matrix.
    rank_T, rank_B : numerical ranks; `rank_B` is None where a Cholesky factor was enough, because
        that does not reveal a rank.
    cutoff : singular values of B below ``cutoff`` times the largest were set to zero; 0 if none.
    condition : of the system solved, as a ratio of singular values
        ``sqrt((s_max^2 + alpha) / (s_min^2 + alpha))``; an estimate after Cholesky.
    residual : ``||T W B - G|| / ||G||`` on the training data.
    alpha : the ridge parameter; 0 for a pseudoinverse.
    loo_error : leave-one-function-out error, the mean over functions of the relative 2-norm.
    loo_errors : (N,), that of each function: which are predicted worst by the others?
    seconds : wall time of the solve.
    method : which factorisation gave the answer: "cholesky", "tridiagonal", "eigh" or "svd".
    alphas, path : the candidates for alpha and the criterion at each, if there was a choice.
    """

    W: np.ndarray
    rank_T: int
    rank_B: int | None
    cutoff: float
    condition: float
    residual: float
    alpha: float
    loo_error: float
    seconds: float
    method: str
    loo_errors: np.ndarray | None = None
    alphas: np.ndarray | None = None
    path: np.ndarray | None = None

    def __repr__(self) -> str:
        shown = [f.name for f in fields(self) if f.name not in ("W", "loo_errors", "alphas", "path")]
        values = ((name, getattr(self, name)) for name in shown)
        parts = [f"{name}={v:.4g}" if isinstance(v, float) else f"{name}={v}" for name, v in values]
        return f"Solution({', '.join(parts)})"
