"""``min ||T W B - G||`` prepared for a solver: safe scaling, the trunk's span, and the `Solution`."""

from __future__ import annotations

import warnings
from time import perf_counter
from typing import Any, Self

import numpy as np
from scipy.linalg import qr, svd

from elmonet.errors import InputError, RankCollapseWarning
from elmonet.linalg import gram, product, squared_norm
from elmonet.metrics import output_sizes, reference_norms
from elmonet.solve.factor import Factor
from elmonet.solve.solution import Fit, Solution

_BLOCK = 1 << 21  # entries of a temporary block (16 MiB in float64)
_CANCELLED = 1e-6  # a difference of squares below this part of the squares has lost too many digits
_EXTREME = 2.0**256  # squares of numbers beyond this, or below its inverse, may leave double precision
_COLLAPSED = 0.1  # warn of a rank below this part of what the shape allows


class Problem:
    """The one-sided problem ``min ||C B - Q'G||`` that remains for Q, a basis of the trunk's span.

    Attributes
    ----------
    span : the trunk's `Span`.
    B : (p1, N), times the power of two `b` if its size is extreme.
    QtG : (r, N), the outputs in the basis Q, times the power of two `g` likewise.
    outside : (N,), norms of the part of the outputs outside the trunk's span.
    sizes : (N,), the reference of relative errors; by default as in `relative_l2`.
    groups : (N,), integers; functions of the same group are left out together. None: one at a time.
    roots : (N,), the square roots of weights by which columns of B and G were multiplied. None: ones.
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
        roots: np.ndarray | None = None,
    ):
        self.started, self.groups, self.roots = perf_counter(), groups, roots
        self.span, self.QtG, self.outside, self.g = span, QtG, outside, g
        self.B, self.b = safely_scaled(B, "B, the branch's features,")
        self.norms = np.hypot(np.sqrt(np.einsum("ij,ij->j", QtG, QtG)), outside)
        if sizes is not None:
            self.sizes = sizes * g
            return
        own: Any = 1.0 if roots is None else roots  # sizes of the functions themselves, then of the columns
        numbers = span.shape[0] == len(QtG) == 1  # outputs at a single point
        found = (
            output_sizes((QtG / own).T, self._weights())
            if numbers
            else reference_norms(self.norms / own, self._weights())
        )
        self.sizes = found * own

    @classmethod
    def of(
        cls,
        T: np.ndarray,
        B: np.ndarray,
        G: np.ndarray,
        sizes: np.ndarray | None,
        groups: np.ndarray | None = None,
        roots: np.ndarray | None = None,
        *,
        dtype: Any = None,
        rcond: float | None = None,
    ) -> Self:
        """Return the problem for T (M, p2), B (p1, N) and G (M, N), in the precision `dtype` or their own."""
        started = perf_counter()
        T, B, G = (np.asarray(A) for A in (T, B, G))
        if not (T.ndim == B.ndim == G.ndim == 2 and G.shape == (T.shape[0], B.shape[1]) and G.size):
            raise InputError(
                "T (M, p2), B (p1, N) and G (M, N) must be matrices of matching shapes; got "
                f"T {T.shape}, B {B.shape}, G {G.shape}."
            )
        working = np.result_type(T, B, G, np.float32) if dtype is None else dtype
        T, B, G = (A.astype(working, copy=False) for A in (T, B, G))
        G, g = safely_scaled(G, "G, the outputs,")
        span = Span(T, rcond)
        inside = span.project(G, np.sqrt(np.einsum("ij,ij->i", G.T, G.T)))
        problem = cls(span, B, *inside, sizes, g, groups, roots)
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
        **record: Any,
    ) -> Solution:
        """Return the `Solution` for coefficients C (r, p1), in the units of the caller.

        `squared` is ``||C B - Q'G||^2`` and `left_out` (N,) the norms of the leave-one-out residuals
        within the trunk's span, at the alpha `left_out_at`; the part outside the span is added here.
        """
        # B was multiplied by b and G by g: (C/g*b) B = Q'G / g.
        with np.errstate(over="ignore"):
            matrices = lifted(self.span, C * (self.b / self.g) if self.b != self.g else C)
        if factor is not None:
            record |= {"cutoff": factor.cutoff, "condition": factor.condition(alpha), "method": factor.method}
        rank_B = 0 if factor is None else factor.rank
        self._warn_of_rank_collapse(rank_B)
        total = float(np.linalg.norm(self.norms))
        residual = np.hypot(np.sqrt(squared), np.linalg.norm(self.outside))
        errors = self.errors(left_out)
        return Solution(
            **matrices,
            rank_T=self.span.rank,
            rank_B=rank_B,
            residual=float(residual / total) if total else 0.0,
            alpha=float(self.alpha_outside(alpha)),
            expected_error=float(self.overall(errors)),
            error_kind="leave-one-out" if self.groups is None else "leave-group-out",
            errors=errors,
            seconds=perf_counter() - self.started,
            fit=Fit(factor, self.QtG, left_out_at, self.span.Q, self.g, self.B, self.b),
            **record,
        )

    def errors(self, left_out: np.ndarray) -> np.ndarray:
        """Return relative leave-one-out errors (..., N), from the norms of the residuals within the span."""
        return np.asarray(np.hypot(left_out, self.outside) / self.sizes)

    def overall(self, errors: np.ndarray) -> Any:
        """Return the mean of `errors` (..., N); a function of weight 2 counts twice."""
        return np.average(errors, axis=-1, weights=self._weights())

    def _weights(self) -> np.ndarray | None:
        return None if self.roots is None else self.roots**2

    def alpha_inside(self, alpha: Any) -> Any:
        """Convert an alpha of the caller to the B that was multiplied by b."""
        return alpha * self.b * self.b

    def alpha_outside(self, alpha: Any) -> Any:
        """Invert `alpha_inside`, up to the largest finite number."""
        with np.errstate(over="ignore"):
            return np.minimum(alpha / self.b / self.b, np.finfo(np.float64).max)

    def zero_solution(self) -> Solution:
        """Return W = 0, the solution of least norm if T or B is zero."""
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
        """Return whether T or B is zero."""
        return self.span.rank == 0 or not self.B.any()

    def _warn_of_rank_collapse(self, rank_B: int | None) -> None:
        for rank, shape, what in (
            (self.span.rank, self.span.shape, "trunk"),
            (rank_B, self.B.shape, "branch"),
        ):
            if rank is not None and rank < _COLLAPSED * min(shape):
                warnings.warn(
                    f"the {what}'s features have rank {rank}, of {min(shape)} that their shape "
                    f"{shape} allows: most of them are redundant. Look for repeated or constant data, or "
                    "choose another scale, activation or basis.",
                    RankCollapseWarning,
                    stacklevel=4,
                )


class Span:
    """The column space of T, with ``T = Q diag(s) Vt`` cut off at the numerical rank r.

    For every W, ``T W = Q C`` with ``C = diag(s) Vt W``, so that

        ||T W B - G||^2 = ||C B - Q'G||^2 + ||(I - Q Q')G||^2 ,

    and the last term does not depend on W. The W of least norm with ``T W = Q C`` is
    ``Vt' diag(1/s) C``, see `lift`.

    Parameters
    ----------
    T : (M, p2)
    rcond : relative cut-off of the singular values; None: `default_cutoff`.
    """

    def __init__(self, T: np.ndarray, rcond: float | None = None):
        T, self._scale = safely_scaled(T, "T, the trunk's features,")
        self.cutoff = default_cutoff(T) if rcond is None else rcond
        if rcond is None and _orthonormal(T):
            self.Q, self.s, self.Vt = T, np.ones(T.shape[1], T.dtype), None
        else:
            Q, s, Vt = _svd(T)
            kept = s > self.cutoff * s[0]
            self.Q, self.s, self.Vt = Q[:, kept], s[kept], Vt[kept]
        self.shape, self.rank = T.shape, self.Q.shape[1]

    def project(self, G: np.ndarray, norms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return ``Q'G`` (r, N) and the norm of each column of ``G - Q Q'G`` (N,), given those of G."""
        return project(self.Q, G, norms)

    @property
    def lifting(self) -> np.ndarray | None:
        """The matrix ``Vt' diag(1/s)`` (p2, r) of `lift`; None if it is the identity.

        ``t(y)' lifting`` are the functions of the basis Q between the points. Where s_k is small they are
        accurate only to ``eps s_0 / s_k`` of their size. Dropping them would lose all of that size, which is
        more as long as s_k is above the cut-off. But multiply in this order, ``(t(y)' lifting) (C b)``: the
        product ``lifting C``, which is W, is huge, and rounds to ``eps ||W||``.
        """
        return None if self.Vt is None else self.Vt.T * (self._scale / self.s)

    def lift(self, C: np.ndarray) -> np.ndarray:
        """Return the W (p2, p1) of least norm with ``T W = Q C``."""
        lifting = self.lifting
        return C if lifting is None else product(lifting, C)

    def penalty(self) -> np.ndarray:
        """Return the weights (r, 1) with which rows of C enter ``||W||^2``: ``1 / s_k^2`` for row k."""
        return (self._scale / self.s[:, None]) ** 2


def project(Q: np.ndarray, G: np.ndarray, norms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ``Q'G`` and the column norms of ``G - Q Q'G``, given those of G, for Q (M, r) orthonormal."""
    QtG = product(Q.T, G)
    if Q.shape[1] == len(G):
        return QtG, np.zeros_like(norms)
    # Pythagoras, except where the difference of squares cancels: there, take the difference itself.
    squared = norms**2 - np.einsum("ij,ij->j", QtG, QtG)
    outside = np.sqrt(np.maximum(squared, 0))
    nearly_inside = np.flatnonzero(squared < _CANCELLED * norms**2)
    step = max(1, _BLOCK // len(G))
    for start in range(0, len(nearly_inside), step):
        some = nearly_inside[start : start + step]
        R = G[:, some].T - product(QtG[:, some].T, Q.T)
        outside[some] = np.sqrt(np.einsum("ij,ij->i", R, R))
    return QtG, outside


def lifted(span: Span, C: np.ndarray) -> dict[str, Any]:
    """Return the matrices of a `Solution`: W (computed on first access), C, lift and basis."""
    lift = span.lifting
    with np.errstate(over="ignore"):
        largest = np.abs(C).max(initial=0.0) * (
            1.0 if lift is None else len(C) * np.abs(lift).max(initial=0.0)
        )
    if not np.isfinite(largest):
        raise InputError(
            "W becomes infinite: the outputs are too large for the inputs. Choose units in which both are of "
            "order one."
        )
    return {"W": None, "C": C, "lift": lift, "basis": span.Q}


def safely_scaled(A: np.ndarray, name: str) -> tuple[np.ndarray, float]:
    """Return ``(c A, c)``, with c = 1 unless sums of squares of A could overflow or underflow.

    c is a power of two, so that scaling is exact. Raises `InputError` for NaN or Inf.
    """
    # Room for sums of 2^64 squares on either side of 1; the norm alone decides as a rule.
    limit = 2.0 ** (np.finfo(A.dtype).maxexp // 2 - 32)
    if A.size and limit**-2 < squared_norm(A) < limit**2:
        return A, 1.0
    largest = float(max(A.max(), -A.min())) if A.size else 0.0
    if not np.isfinite(largest):
        raise InputError(
            f"{name} holds NaN or Inf. All values must be finite: check the inputs, and the scale of the "
            "feature map."
        )
    if largest == 0 or 1 / limit < largest < limit:
        return A, 1.0
    exponent = int(np.frexp(largest)[1])
    return np.ldexp(A, -exponent), 2.0**-exponent


def power_of_two(values: np.ndarray) -> float:
    """Return g such that values times g, NaN ignored, are of order one; 1 unless their size is extreme.

    For sums of squares over functions that are not all there yet: scaling by g is exact.
    """
    largest = float(np.nanmax(np.abs(values), initial=0.0))
    if largest == 0 or _EXTREME**-1 < largest < _EXTREME:
        return 1.0
    return 2.0 ** -int(np.frexp(largest)[1])


def default_cutoff(A: np.ndarray) -> float:
    """Return ``max(A.shape) * eps``: singular values below this times the largest are rounding."""
    return max(A.shape) * float(np.finfo(A.dtype).eps)


def _svd(T: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if T.shape[0] < 2 * T.shape[1]:
        return svd(T, full_matrices=False, check_finite=False)
    Q, R = qr(T, mode="economic", check_finite=False)  # tall: the SVD of the small factor suffices
    U, s, Vt = svd(R, full_matrices=False, check_finite=False)
    return product(Q, U), s, Vt


def _orthonormal(T: np.ndarray) -> bool:
    """Return whether ``T'T = I`` to rounding: much cheaper than an SVD."""
    if T.shape[1] > T.shape[0]:
        return False
    TtT = gram(T.T)
    np.fill_diagonal(TtT, TtT.diagonal() - 1)
    return bool(np.abs(TtT).max() <= 4 * default_cutoff(T))
