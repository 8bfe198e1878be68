"""``min ||T W B - G||`` made ready to solve, and its answer made ready to return."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Self

import numpy as np

from elmonet._blas import product
from elmonet._check import InputError, RankCollapseWarning
from elmonet.metrics import overall, relative_errors
from elmonet.solve.cholesky import AtOneAlpha
from elmonet.solve.factor import Factor
from elmonet.solve.scale import safely_scaled
from elmonet.solve.solution import Solution
from elmonet.solve.span import Span

__all__ = ["Problem", "lifted"]

_COLLAPSED = 0.1  # a rank below this part of what the shape allows deserves a word


_FOR_NUMBERS = 10.0 ** np.arange(-9, 0, 2)  # of s_max^2: alphas to try for numbers


@dataclass
class _Kept:
    """The factor of a fit, and what it takes to ask it again."""

    factor: Factor | None
    QtG: np.ndarray
    alpha: Any
    basis: np.ndarray
    unit: float  # by which G was multiplied
    B: np.ndarray  # the features, times
    unit_B: float

    def left_out(self) -> np.ndarray:
        """What the fit without function i predicts for it: (M, N), in the units of the caller."""
        inside, missed = self.coefficients_left_out()
        return product(self.basis, inside - missed)

    def coefficients_left_out(self) -> tuple[np.ndarray, np.ndarray]:
        """The outputs in the trunk's basis (r, N), and what of them is missed of functions left out."""
        if self.factor is None:  # nothing was fitted
            return self.QtG / self.unit, self.QtG / self.unit
        return self.QtG / self.unit, self.factor.left_out(self.QtG, self.alpha) / self.unit

    def left_out_variance(self) -> np.ndarray:
        """``1 / (1 - h_i)`` (N,), see `Factor`; one where nothing was fitted."""
        if self.factor is None:
            return np.ones(self.QtG.shape[1])
        return self.factor.left_out_variance(self.alpha)

    def root(self, S: np.ndarray) -> np.ndarray:
        """``S R`` (k, p1) with ``R'R = (B B' + alpha)^-1``, in the units of the caller; see `Factor`."""
        if self.factor is None:
            return np.zeros_like(S)
        return self.factor.root(S, self._one_alpha()) * self.unit_B

    def halves(self, root: np.ndarray) -> np.ndarray:
        """``S R B`` (k, N) of the training functions, for ``S R``."""
        return product(root, self.B) / self.unit_B

    def regressed(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Numbers t (N,) as a linear function of the features: (p1,), and what it says of each left out (N,).

        Its alpha is that of the least squared error of functions left out.
        """
        if self.factor is None:
            return np.zeros(len(self.B)), np.zeros(len(t))
        G = t[None]
        alphas = self.factor.largest * _FOR_NUMBERS
        if isinstance(self.factor, AtOneAlpha):
            alphas = np.array([self.factor.alpha])
        missed = self.factor.sweep(G, alphas, np.ones((1, 1))).left_out
        alpha = float(alphas[np.argmin(np.einsum("ai,ai->a", missed, missed))])
        row = self.factor.coefficients(G, alpha)[0] * self.unit_B
        return row, t - self.factor.left_out(G, alpha)[0]

    @property
    def noise(self) -> float:
        """The alpha at which functions are left out, in the units of the caller."""
        return self._one_alpha() / self.unit_B / self.unit_B

    def _one_alpha(self) -> float:
        """The alpha, or of one for each row the geometric mean."""
        return float(np.exp(np.mean(np.log(self.alpha))))


class Problem:
    """The one-sided problem ``min ||C B - Q'G||`` that Q, a basis of the trunk's span, leaves.

    Attributes
    ----------
    span : the trunk's `Span`.
    B : (p1, N), times the power of two `b` if its size is extreme.
    QtG : (r, N), the outputs in the basis Q, times the power of two `g` likewise.
    outside : (N,), the norms of what of the outputs lies outside the trunk's span.
    sizes : (N,), to which errors are relative: by default the norms of the outputs.
    groups : (N,), numbers; functions of the same number are left out together. None: each by itself.
    """

    def __init__(
        self,
        span: Span,
        B: np.ndarray,
        QtG: np.ndarray,
        outside: np.ndarray,
        sizes: np.ndarray | None = None,
        g: float = 1.0,
        groups: np.ndarray | None = None,
    ):
        self.started, self.groups = perf_counter(), groups
        self.span, self.QtG, self.outside, self.g = span, QtG, outside, g
        self.B, self.b = safely_scaled(B, "B, the branch's features,")
        self.norms = np.hypot(np.sqrt(np.einsum("ij,ij->j", QtG, QtG)), outside)
        self.sizes = self.norms if sizes is None else sizes * g

    @classmethod
    def of(
        cls,
        T: np.ndarray,
        B: np.ndarray,
        G: np.ndarray,
        sizes: np.ndarray | None,
        groups: np.ndarray | None = None,
        *,
        dtype: Any = None,
        rcond: float | None = None,
    ) -> Self:
        """From T (M, p2), B (p1, N) and G (M, N), in the precision `dtype` or their own."""
        started = perf_counter()
        T, B, G = (np.asarray(A) for A in (T, B, G))
        if not (T.ndim == B.ndim == G.ndim == 2 and G.shape == (T.shape[0], B.shape[1]) and G.size):
            raise InputError(
                "T (M, p2), B (p1, N) and G (M, N) must be matrices that fit each other; got "
                f"T {T.shape}, B {B.shape}, G {G.shape}."
            )
        working = np.result_type(T, B, G, np.float32) if dtype is None else dtype
        T, B, G = (A.astype(working, copy=False) for A in (T, B, G))
        G, g = safely_scaled(G, "G, the outputs,")
        span = Span(T, rcond)
        problem = cls(span, B, *span.project(G, np.sqrt(np.einsum("ij,ij->i", G.T, G.T))), sizes, g, groups)
        problem.started = started
        return problem

    def solution(
        self,
        C: np.ndarray,
        factor: Factor | None,
        *,
        alpha: float,
        squared: float,
        left_out: np.ndarray,
        left_out_at: Any,
        **account: Any,
    ) -> Solution:
        """The `Solution` for coefficients C (r, p1), in the units of the caller.

        `squared` is ``||C B - Q'G||^2`` and `left_out` (N,) the norms of the leave-one-out residuals
        within the trunk's span, at the alpha `left_out_at`; what lies outside the span is added here.
        """
        # B was multiplied by b and G by g: (C/g*b) B = Q'G / g.
        with np.errstate(over="ignore"):
            matrices = lifted(self.span, C * (self.b / self.g) if self.b != self.g else C)
        if factor is not None:
            account |= {
                "cutoff": factor.cutoff,
                "condition": factor.condition(alpha),
                "method": factor.method,
            }
        rank_B = 0 if factor is None else factor.rank
        self._warn_of_collapse(rank_B)
        total = float(np.linalg.norm(self.norms))
        missed = np.hypot(np.sqrt(squared), np.linalg.norm(self.outside))
        errors = self.errors(left_out)
        return Solution(
            **matrices,
            rank_T=self.span.rank,
            rank_B=rank_B,
            residual=float(missed / total) if total else 0.0,
            alpha=float(self.alpha_outside(alpha)),
            expected_error=float(overall(errors, self.span.shape[0])),
            error_kind="leave-one-out" if self.groups is None else "leave-group-out",
            errors=errors,
            seconds=perf_counter() - self.started,
            fit=_Kept(factor, self.QtG, left_out_at, self.span.Q, self.g, self.B, self.b),
            **account,
        )

    def errors(self, left_out: np.ndarray) -> np.ndarray:
        """The relative leave-one-out error of each function, (..., N), from the norms within the span."""
        return relative_errors(np.hypot(left_out, self.outside), self.sizes, self.span.shape[0])

    def alpha_inside(self, alpha: Any) -> Any:
        """An alpha of the caller's, for the B that was multiplied by b."""
        return alpha * self.b * self.b

    def alpha_outside(self, alpha: Any) -> Any:
        """The inverse of `alpha_inside`, at most the largest number there is."""
        with np.errstate(over="ignore"):
            return np.minimum(alpha / self.b / self.b, np.finfo(np.float64).max)

    def zero_solution(self) -> Solution:
        """W = 0, the only sensible answer where T or B is zero."""
        return self.solution(
            np.zeros((self.span.rank, len(self.B)), self.B.dtype),
            None,
            alpha=0.0,
            squared=float(np.sum(self.QtG**2)),
            left_out=np.linalg.norm(self.QtG, axis=0),
            left_out_at=0.0,
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


def lifted(span: Span, C: np.ndarray) -> dict[str, Any]:
    """The matrices of a `Solution`: W (made when it is asked for), C, lift and basis."""
    lift = span.lifting
    with np.errstate(over="ignore"):
        largest = np.abs(C).max(initial=0.0) * (
            1.0 if lift is None else len(C) * np.abs(lift).max(initial=0.0)
        )
    if not np.isfinite(largest):
        raise InputError(
            "W overflows: the outputs are too large for the inputs. Give both in units in which they are "
            "about one."
        )
    return {"W": None, "C": C, "lift": lift, "basis": span.Q}
