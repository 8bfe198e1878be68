"""``min ||T W B - G||`` made ready to solve, and its answer made ready to return."""

from __future__ import annotations

import warnings
from time import perf_counter
from typing import Any

import numpy as np

from elmonet._check import InputError, RankCollapseWarning
from elmonet.metrics import loo_errors, overall
from elmonet.solve.scale import safely_scaled
from elmonet.solve.solution import Solution
from elmonet.solve.span import Span

__all__ = ["Problem"]

_COLLAPSED = 0.1  # a rank below this part of what the shape allows deserves a word


class Problem:
    """The one-sided problem ``min ||C B - Q'G||`` that Q, a basis of the trunk's span, leaves.

    Attributes
    ----------
    span : the trunk's `Span`.
    B : (p1, N), times the power of two `b` if its size is extreme.
    QtG : (r, N), the outputs in the basis Q.
    reference : (N,), to which leave-one-out errors are relative: by default the norms of the outputs.
    """

    def __init__(
        self,
        T: np.ndarray,
        B: np.ndarray,
        G: np.ndarray,
        *,
        dtype: Any = None,
        rcond: float | None = None,
        reference: np.ndarray | None = None,
    ):
        self.started = perf_counter()
        T, B, G = (np.asarray(A) for A in (T, B, G))
        if not (T.ndim == B.ndim == G.ndim == 2 and G.shape == (T.shape[0], B.shape[1]) and G.size):
            raise InputError(
                "T (M, p2), B (p1, N) and G (M, N) must be matrices that fit each other; got "
                f"T {T.shape}, B {B.shape}, G {G.shape}."
            )
        self.dtype = np.result_type(T, B, G, np.float32)
        working = self.dtype if dtype is None else dtype
        T, B, G = (A.astype(working, copy=False) for A in (T, B, G))
        self.B, self.b = safely_scaled(B, "B, the branch's features,")
        G, self.g = safely_scaled(G, "G, the outputs,")
        self.span = Span(T, rcond)
        self.norms = np.sqrt(np.einsum("ij,ij->i", G.T, G.T))
        self.QtG, self.outside = self.span.project(G, self.norms)
        self.reference = self.norms if reference is None else reference * self.g

    def solution(
        self,
        C: np.ndarray,
        *,
        alpha: float,
        squared: float,
        left_out: np.ndarray,
        rank_B: int | None,
        **account: Any,
    ) -> Solution:
        """The `Solution` for coefficients C (r, p1), in the units of the caller.

        `squared` is ``||C B - Q'G||^2`` and `left_out` (N,) the norms of the leave-one-out residuals
        within the trunk's span; what lies outside it is added here.
        """
        # B was multiplied by b and G by g: (C/g*b) B = Q'G / g.
        with np.errstate(over="ignore"):
            W = self.span.lift(C) * (self.b / self.g)
        if not np.isfinite(W).all():
            raise InputError(
                "W overflows: the outputs are too large for the inputs. Give both in units in which "
                "they are of order one."
            )
        self._warn_of_collapse(rank_B)
        total = float(np.linalg.norm(self.norms))
        missed = np.hypot(np.sqrt(squared), np.linalg.norm(self.outside))
        return Solution(
            W=W.astype(self.dtype, copy=False),
            rank_T=self.span.rank,
            rank_B=rank_B,
            residual=float(missed / total) if total else 0.0,
            alpha=float(self.alpha_outside(alpha)),
            loo_error=self.loo_error(left_out),
            loo_errors=self.loo_errors(left_out),
            seconds=perf_counter() - self.started,
            **account,
        )

    def alpha_inside(self, alpha: Any) -> Any:
        """An alpha of the caller's, for the B that was multiplied by b."""
        return alpha * self.b * self.b

    def alpha_outside(self, alpha: Any) -> Any:
        """The inverse of `alpha_inside`, at most the largest number there is."""
        with np.errstate(over="ignore"):
            return np.minimum(alpha / self.b / self.b, np.finfo(np.float64).max)

    def loo_error(self, left_out: np.ndarray) -> float:
        """Mean over functions of the relative leave-one-out error."""
        return float(overall(self.loo_errors(left_out), self.span.shape[0]))

    def loo_errors(self, left_out: np.ndarray) -> np.ndarray:
        """The relative leave-one-out error of each function (N,)."""
        return loo_errors(np.hypot(left_out, self.outside), self.reference, self.span.shape[0])

    def zero_solution(self) -> Solution:
        """W = 0, the only sensible answer where T or B is zero."""
        return self.solution(
            np.zeros((self.span.rank, len(self.B)), self.B.dtype),
            alpha=0.0,
            squared=float(np.sum(self.QtG**2)),
            left_out=np.linalg.norm(self.QtG, axis=0),
            rank_B=0,
            cutoff=0.0,
            condition=1.0,
            method="none",
        )

    def is_zero(self) -> bool:
        """Whether T or B holds nothing but zeros."""
        return self.span.rank == 0 or not self.B.any()

    def _warn_of_collapse(self, rank_B: int | None) -> None:
        for rank, shape, what in (
            (self.span.rank, self.span.shape, "trunk"),
            (rank_B, self.B.shape, "branch"),
        ):
            if rank is not None and rank < _COLLAPSED * min(shape):
                warnings.warn(
                    f"the {what}'s features have rank {rank}, of {min(shape)} that their shape "
                    f"{shape} allows: most of them repeat each other. Look for repeated or constant "
                    "data, or choose another scale, activation or basis.",
                    RankCollapseWarning,
                    stacklevel=4,
                )
