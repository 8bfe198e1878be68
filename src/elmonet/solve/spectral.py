"""Ridge at every alpha from the spectrum of B: eigenvalues of a Gram matrix, or singular values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, eigh, get_lapack_funcs, qr, svd

from elmonet.linalg import gram, product, solve_upper
from elmonet.solve.factor import (
    MAX_DOUBT,
    PRIMAL_ROUNDING,
    LeaveOutFactor,
    LeftOut,
    condition,
    interpolation_threshold,
)
from elmonet.solve.problem import default_cutoff


class Spectrum:
    """``B = U diag(s) V'`` with k directions, and ``values = s^2``.

    Use `from_gram` (an eigendecomposition of the smaller of ``B'B`` and ``B B'``: fast, but blind to
    singular values below sqrt(eps) times the largest) or `from_svd` (sees them down to eps).
    """

    def __init__(
        self,
        B: np.ndarray,
        values: np.ndarray,
        U: Any,
        V: Any,
        cutoff: float,
        method: str,
        reflectors: Any = None,
    ):
        self.B, self.values, self._U, self._V = B, values, U, V
        self.s = np.sqrt(values)
        self.cutoff, self.method = cutoff, method
        self.largest = float(values[0])
        self.rank = int(np.count_nonzero(self.s > (cutoff or default_cutoff(B)) * self.s[0]))
        self._reflectors = reflectors  # Q of B = Q R, if U is that of R

    @classmethod
    def from_gram(cls, B: np.ndarray) -> Spectrum:
        """Use all eigenvalues of ``B'B`` (N, N), or those of ``B B'`` (p1, p1) above the cut-off."""
        p1, N = B.shape
        dual = p1 >= N
        values, vectors = eigh(
            gram(B.T if dual else B), lower=True, driver="evd", overwrite_a=True, check_finite=False
        )
        values, vectors = np.maximum(values[::-1], 0), vectors[:, ::-1]
        cutoff = float(np.sqrt(default_cutoff(B)))
        if dual:
            return cls(B, values, None, vectors, cutoff, "eigh")
        kept = np.sqrt(values) > cutoff * np.sqrt(values[0])
        kept[0] = True
        return cls(B, values[kept], vectors[:, kept], None, cutoff, "eigh")

    @classmethod
    def from_svd(cls, B: np.ndarray, rcond: float | None = None) -> Spectrum:
        """Use the singular values of B itself, without those below `rcond`; 0 keeps all."""
        cutoff = default_cutoff(B) if rcond is None else rcond
        tall = B.shape[0] > B.shape[1]
        # If B is tall, B = Q R, and Q stays a product of reflectors: it multiplies few vectors.
        reflectors, R = qr(B, mode="raw", check_finite=False) if tall else (None, B)
        try:
            U, s, Vt = svd(R, full_matrices=False, check_finite=False)
        except LinAlgError:  # divide and conquer very rarely fails where QR iterations do not
            U, s, Vt = svd(R, full_matrices=False, check_finite=False, lapack_driver="gesvd")
        return cls(B, s**2, U, Vt.T, 0.0, "svd", reflectors).truncated(cutoff)

    def truncated(self, cutoff: float) -> Spectrum:
        """Return this SVD without the singular values below `cutoff` times the largest."""
        kept = self.s >= cutoff * self.s[0]
        U, V = self._U[:, kept], self._V[:, kept]
        return Spectrum(self.B, self.values[kept], U, V, cutoff, self.method, self._reflectors)

    @property
    def V(self) -> np.ndarray:
        """The right singular vectors (N, k)."""
        return product(self.B.T, self._U) / self._divisor() if self._V is None else self._V

    @property
    def U(self) -> np.ndarray:
        """The left singular vectors (p1, k)."""
        if self._U is None:
            return product(self.B, self._V) / self._divisor()
        return self._U if self._reflectors is None else _reflected(self._U.T, *self._reflectors).T

    def coefficients(self, GV: np.ndarray, alpha: Any) -> np.ndarray:
        """Return ``C = G V S / (S^2 + alpha) U'`` (r, p1) for GV (r, k); one alpha, or one per row (r, 1)."""
        Z = GV / (self.values + alpha)
        if self._U is None:
            return product(product(Z, self._V.T), self.B.T)  # diag(s) U' = V'B'
        C = product(Z * self.s, self._U.T)
        return C if self._reflectors is None else _reflected(C, *self._reflectors)

    def root(self, S: np.ndarray, alpha: float) -> np.ndarray:
        """Return ``S ((s^2 + alpha)^-1/2 U U' + (I - U U') / sqrt(alpha))`` for S (k, p1)."""
        shrunk = np.sqrt(alpha / (self.values + alpha))  # relative to the part outside of U
        if self._U is None:
            # U s = B V, and (shrunk - 1) / s^2 written without a difference.
            drop = -1 / (self.values + alpha) / (1 + shrunk)
            inside = product(product(product(S, self.B), self._V) * drop, self._V.T)
            return (S + product(inside, self.B.T)) / np.sqrt(alpha)
        U = self.U
        inside = product(S, U)
        if U.shape[0] == U.shape[1]:
            return product(inside / np.sqrt(self.values + alpha), U.T)
        return (S + product(inside * (shrunk - 1), U.T)) / np.sqrt(alpha)

    def condition(self, alpha: float) -> float:
        """Return ``sqrt((s_max^2 + alpha) / (s_min^2 + alpha))``."""
        return condition(self.largest, float(self.values[-1 if alpha > 0 else self.rank - 1]), alpha)

    def _divisor(self) -> np.ndarray:
        return np.where(self.s > 0, self.s, 1)


def _reflected(C: np.ndarray, reflectors: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """Return ``C Q'`` (r, p1) for C (r, N), with Q (p1, N) as LAPACK's geqrf stores it."""
    (ormqr,) = get_lapack_funcs(("ormqr",), (C, reflectors))
    padded = np.zeros((len(reflectors), len(C)), C.dtype, order="F")
    padded[: C.shape[1]] = C.T
    product_with_Q, _, _ = ormqr("L", "N", reflectors, tau, padded, 64 * len(C), overwrite_c=True)
    return product_with_Q.T


class Primal(LeaveOutFactor):
    """The eigenvalues of ``B B'``, for p1 < N and alphas above the rounding of that Gram matrix."""

    method = "eigh"

    def __init__(self, B: np.ndarray, groups: np.ndarray | None = None):
        self.functions, self.groups = B.shape[1], groups
        values, U = eigh(gram(B), lower=True, driver="evd", overwrite_a=True, check_finite=False)
        self.B, self.values, self.U = B, np.maximum(values[::-1], 0), np.ascontiguousarray(U[:, ::-1])
        self.largest, self.smallest = float(self.values[0]), float(self.values[-1])
        self.cutoff = float(np.sqrt(default_cutoff(B)))
        self.rank = int(np.count_nonzero(self.values > self.cutoff**2 * self.largest))

    def coefficients(self, G: np.ndarray, alpha: Any) -> np.ndarray:
        """Return C (r, p1)."""
        return product(self.projected(G) / (self.values + alpha), self.U.T)

    def root(self, S: np.ndarray, alpha: float) -> np.ndarray:
        """Return ``S U (S^2 + alpha)^-1/2 U'``."""
        return product(product(S, self.U) / np.sqrt(self.values + alpha), self.U.T)

    def _project(self, G: np.ndarray) -> np.ndarray:
        """Return ``G B' U`` (r, p1)."""
        return product(product(G, self.B.T), self.U)

    def _filter(self, alpha: np.ndarray) -> np.ndarray:
        return 1 / (self.values + alpha)

    def _leave_out(
        self, G: np.ndarray, functions: Any, filters: list[np.ndarray], together: bool
    ) -> Iterator[LeftOut]:
        GBU, Z, eps = self.projected(G), product(self.U.T, self.B[:, functions]), np.finfo(np.float64).eps
        Z2 = Z**2
        for f in filters:
            E = G[:, functions] - product(GBU * f, Z)
            if together:
                H = np.stack([product(Z.T * row, Z) for row in f])
                yield LeftOut.together(E, np.eye(Z.shape[1]) - H)
            else:
                yield LeftOut.one_at_a_time(E, np.maximum(1 - product(f, Z2), eps))

    def _doubt(self, alphas: np.ndarray, least: np.ndarray) -> np.ndarray:
        return PRIMAL_ROUNDING * self.largest / alphas / np.maximum(least, np.finfo(np.float64).eps)


class Spectral(LeaveOutFactor):
    """A `Spectrum` with its V, from an SVD or from ``B'B``, as a factor."""

    def __init__(self, spectrum: Spectrum, groups: np.ndarray | None = None):
        self.functions, self.groups = spectrum.B.shape[1], groups
        self.spectrum = spectrum
        self.method, self.rank, self.cutoff = spectrum.method, spectrum.rank, spectrum.cutoff
        self.largest, self.smallest = spectrum.largest, float(spectrum.values[-1])

    def least_trusted_alpha(self) -> float:
        """Return the least alpha with leave-one-out residuals accurate to `MAX_DOUBT` for any data."""
        eps = float(np.finfo(self.spectrum.values.dtype).eps)
        return max(max(self.spectrum.B.shape) / MAX_DOUBT, MAX_DOUBT**-2) * eps**2 * self.largest

    def vanishing_alpha(self) -> float:
        """Return an alpha far below all values, for the limit of a pseudoinverse."""
        return 100 * float(np.finfo(self.spectrum.values.dtype).eps) * self.smallest

    def coefficients(self, G: np.ndarray, alpha: Any) -> np.ndarray:
        """Return ``C = G V S / (S^2 + alpha) U'``."""
        return self.spectrum.coefficients(self.projected(G), alpha)

    def root(self, S: np.ndarray, alpha: float) -> np.ndarray:
        """Return ``S ((S^2 + alpha)^-1/2 U U' + (I - U U') / sqrt(alpha))``."""
        return self.spectrum.root(S, alpha)

    def _project(self, G: np.ndarray) -> np.ndarray:
        """Return ``G V`` (r, k)."""
        return product(G, self.spectrum.V)

    def _filter(self, alpha: np.ndarray) -> np.ndarray:
        values = self.spectrum.values
        return (alpha / (values + alpha)).astype(values.dtype, copy=False)

    def _leave_out(
        self, G: np.ndarray, functions: Any, filters: list[np.ndarray], together: bool
    ) -> Iterator[LeftOut]:
        if together:
            yield from self._leave_group_out(G, functions, filters)
            return
        # Contiguous, so that BLAS does not copy it for every filter.
        GV, V = self.projected(G), np.ascontiguousarray(self.spectrum.V[functions])
        Gw, w2 = self._beyond(G, functions)
        V2 = V**2
        for shrink in filters:
            yield LeftOut.one_at_a_time(product(GV * shrink, V.T) + Gw, product(shrink, V2.T) + w2)

    def _leave_group_out(
        self, G: np.ndarray, functions: np.ndarray, filters: list[np.ndarray]
    ) -> Iterator[LeftOut]:
        """Leave a group g out without forming ``I - H_gg``, whose small eigenvalues would be rounding.

        With D the filter and ``w = Q R`` the part of the group's unit vectors outside the span of V,

            I - H_gg = M'M ,   E_g = F M ,   M = [sqrt(D) V_g'; R] ,   F = [G V sqrt(D), G Q] ,

        so that the residuals ``E_g (I - H_gg)^-1`` solve ``min ||M x - F'||``. The condition of M is at most
        ``sqrt(1 + s_max^2 / alpha)``, the root of that of ``I - H_gg``. See `_graded_least_squares`.
        """
        GV, V = self.projected(G), self.spectrum.V[functions]
        Q, R = self._outside_together(functions)
        GQ = product(G, Q)
        for shrink in filters:
            root = np.sqrt(shrink)
            F = np.hstack([GV * root, GQ])
            rows = [slice(None)] if len(root) == 1 else [slice(k, k + 1) for k in range(len(root))]
            Ms = [np.vstack([row[:, None] * V.T, R]) for row in root]
            solved = [_graded_least_squares(M, F[own].T) for M, own in zip(Ms, rows, strict=True)]
            yield LeftOut(
                E=np.vstack([product(F[own], M) for M, own in zip(Ms, rows, strict=True)]),
                residuals=np.hstack([x for x, _, _ in solved]).T,
                variance=np.stack([variance for _, variance, _ in solved]),
                freedom=float(np.mean([np.einsum("ij,ij->", M, M) for M in Ms])),
                least=min(least for _, _, least in solved),
            )

    def _beyond(self, G: np.ndarray, functions: Any) -> tuple[Any, Any]:
        """Return ``G w`` and ``||w||^2`` of some functions, with w the part of e_i outside the span of V."""
        V = self.spectrum.V
        if V.shape[0] == V.shape[1]:
            return 0.0, 0.0
        own = V[functions]
        Gw, w2 = G[:, functions] - product(self.projected(G), own.T), 1 - np.einsum("ij,ij->i", own, own)
        near = np.flatnonzero(w2 < interpolation_threshold(V.dtype))
        if near.size:
            w = self._outside(np.arange(len(V))[functions][near])
            Gw[:, near], w2[near] = product(G, w), np.einsum("ij,ij->j", w, w)
        return Gw, w2

    def _outside_together(self, functions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return Q (N, k) and R (k, n) of ``w = Q R``, for some functions whose w may be dependent."""
        V = self.spectrum.V
        if V.shape[0] == V.shape[1]:
            return np.empty((len(V), 0), V.dtype), np.empty((0, len(functions)), V.dtype)
        Q, R, pivots = qr(self._outside(functions), mode="economic", pivoting=True, check_finite=False)
        # w has the rounding of its largest columns: a smaller pivot is zero, and its column of Q arbitrary.
        rank = int(np.count_nonzero(np.abs(R.diagonal()) > 4 * default_cutoff(V)))
        rank = min(rank, V.shape[0] - V.shape[1])
        Q = Q[:, :rank] - product(V, product(V.T, Q[:, :rank]))
        return Q, R[:rank, np.argsort(pivots)]

    def _outside(self, functions: np.ndarray) -> np.ndarray:
        """Return w (N, n) of some functions."""
        V = self.spectrum.V
        w = product(V, -V[functions].T)
        w[functions, np.arange(len(functions))] += 1
        w -= product(V, product(V.T, w))  # orthogonalise twice: once is not enough where w is small
        return w

    def _doubt(self, alphas: np.ndarray, least: np.ndarray) -> np.ndarray:
        eps = float(np.finfo(self.spectrum.values.dtype).eps)
        if self.method == "eigh":
            return eps * self.largest / alphas
        noise = eps**2 * self.largest
        free = least > interpolation_threshold(self.spectrum.values.dtype)
        leak = np.maximum(max(self.spectrum.B.shape) * noise / alphas, np.sqrt(noise / alphas))
        return np.where(free, np.sqrt(noise / (self.smallest + alphas) / self.spectrum.B.shape[1]), leak)


def _graded_least_squares(M: np.ndarray, F: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the x of ``min ||M x - F||``, ``diag((M'M)^-1)``, and about the least eigenvalue of M'M.

    Rows of M may differ in size by many orders of magnitude. Householder's QR with pivots is stable row by
    row if the largest rows come first (Cox and Higham, 1998); an SVD is not.
    """
    order = np.argsort(-np.abs(M).max(axis=1), kind="stable")
    Q, R, pivots = qr(M[order], mode="economic", pivoting=True, check_finite=False)
    diagonal = R.diagonal()
    lost = np.flatnonzero(np.abs(diagonal) < np.finfo(R.dtype).eps * abs(diagonal[0]))
    R[lost, lost] = np.finfo(R.dtype).eps * max(abs(diagonal[0]), np.finfo(R.dtype).tiny)
    solved = solve_upper(R, np.hstack([product(Q.T, F[order]), np.eye(len(R))]))
    x, variance = np.empty_like(solved[:, : F.shape[1]]), np.empty(len(R), R.dtype)
    x[pivots], inverse = solved[:, : F.shape[1]], solved[:, F.shape[1] :]
    variance[pivots] = np.einsum("ij,ij->i", inverse, inverse)
    return x, variance, float(np.abs(R.diagonal()).min() ** 2)
