"""The spectrum of B: its singular values and vectors, from a Gram matrix or from B itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, eigh, get_lapack_funcs, qr, svd

from elmonet._blas import gram, product
from elmonet.solve.span import default_cutoff

__all__ = ["Spectrum"]


class Spectrum:
    """``B = U diag(s) V'`` with k directions, and ``values = s^2``.

    Use `from_gram` (an eigendecomposition of the smaller of ``B'B`` and ``B B'``: fast, but blind to
    singular values below sqrt(eps) times the largest) or `from_svd` (sees them down to eps).
    """

    def __init__(self, B: np.ndarray, values: np.ndarray, U: Any, V: Any, cutoff: float, method: str):
        self.B, self.values, self._U, self._V = B, values, U, V
        self.s = np.sqrt(values)
        self.cutoff, self.method = cutoff, method
        self.largest = float(values[0])
        self.rank = int(np.count_nonzero(self.s > (cutoff or default_cutoff(B)) * self.s[0]))
        self._reflectors: Any = None  # Q of B = Q R, if U is that of R

    @classmethod
    def from_gram(cls, B: np.ndarray) -> Spectrum:
        """From all eigenvalues of ``B'B`` (N, N), or from those of ``B B'`` (p1, p1) above the cut-off."""
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
        """From the singular values of B itself, without those below `rcond`; 0 keeps all."""
        cutoff = default_cutoff(B) if rcond is None else rcond
        tall = B.shape[0] > B.shape[1]
        # If B is tall, B = Q R, and Q stays a product of reflectors: few vectors are ever multiplied by it.
        reflectors, R = qr(B, mode="raw", check_finite=False) if tall else (None, B)
        try:
            U, s, Vt = svd(R, full_matrices=False, check_finite=False)
        except LinAlgError:  # divide and conquer very rarely fails where QR iterations do not
            U, s, Vt = svd(R, full_matrices=False, check_finite=False, lapack_driver="gesvd")
        spectrum = cls(B, s**2, U, Vt.T, 0.0, "svd")
        spectrum._reflectors = reflectors
        return spectrum.truncated(cutoff)

    def truncated(self, cutoff: float) -> Spectrum:
        """Of an SVD, without the singular values below `cutoff` times the largest."""
        kept = self.s >= cutoff * self.s[0]
        spectrum = Spectrum(
            self.B, self.values[kept], self._U[:, kept], self._V[:, kept], cutoff, self.method
        )
        spectrum._reflectors = self._reflectors
        return spectrum

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
        """``C = G V S / (S^2 + alpha) U'`` (r, p1) for `GV` (r, k); one alpha, or one for each row (r, 1)."""
        Z = GV / (self.values + alpha)
        if self._U is None:
            return product(product(Z, self._V.T), self.B.T)  # diag(s) U' = V'B'
        C = product(Z * self.s, self._U.T)
        return C if self._reflectors is None else _reflected(C, *self._reflectors)

    def root(self, S: np.ndarray, alpha: float) -> np.ndarray:
        """``S ((s^2 + alpha)^-1/2 U U' + (I - U U') / sqrt(alpha))`` for S (k, p1)."""
        shrunk = np.sqrt(alpha / (self.values + alpha))  # compared with what is outside of U
        if self._U is None:
            # U s = B V, and (shrunk - 1) / s^2 without a difference.
            drop = -1 / (self.values + alpha) / (1 + shrunk)
            inside = product(product(product(S, self.B), self._V) * drop, self._V.T)
            return (S + product(inside, self.B.T)) / np.sqrt(alpha)
        U = self.U
        inside = product(S, U)
        if U.shape[0] == U.shape[1]:
            return product(inside / np.sqrt(self.values + alpha), U.T)
        return (S + product(inside * (shrunk - 1), U.T)) / np.sqrt(alpha)

    def condition(self, alpha: float) -> float:
        """``sqrt((s_max^2 + alpha) / (s_min^2 + alpha))``."""
        if self.largest == 0:
            return 1.0
        smallest = float(self.values[-1] if alpha > 0 else self.values[self.rank - 1])
        return float(np.sqrt((self.largest + alpha) / (smallest + alpha)))

    def _divisor(self) -> np.ndarray:
        return np.where(self.s > 0, self.s, 1)


def _reflected(C: np.ndarray, reflectors: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """``C Q'`` (r, p1) for C (r, N), with Q (p1, N) as LAPACK's geqrf leaves it."""
    (ormqr,) = get_lapack_funcs(("ormqr",), (C, reflectors))
    padded = np.zeros((len(reflectors), len(C)), C.dtype, order="F")
    padded[: C.shape[1]] = C.T
    product_with_Q, _, _ = ormqr("L", "N", reflectors, tau, padded, 64 * len(C), overwrite_c=True)
    return product_with_Q.T
