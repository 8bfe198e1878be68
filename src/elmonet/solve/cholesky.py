"""Ridge at one given alpha, by a Cholesky factor of the smaller Gram matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, get_blas_funcs, get_lapack_funcs

from elmonet.linalg import gram, product
from elmonet.solve.factor import PRIMAL_ROUNDING, Factor, Sweep, gram_rounding

_BLOCK = 1 << 21  # entries of a temporary block (16 MiB in float64)
_COPIED_COLUMNS = 32  # columns of a triangle that are transposed together, for the cache
_POWER_STEPS = 8  # steps of the power iteration for the largest eigenvalue


class Cholesky:
    """``K + alpha = L L'`` for K (n, n), given by its lower triangle, Fortran-ordered, and overwritten.

    Raises `LinAlgError` if K is too singular for this alpha.
    """

    def __init__(self, K: np.ndarray, alpha: float):
        (potrf,) = get_lapack_funcs(("potrf",), (K,))
        diagonal = K.diagonal() + alpha
        np.fill_diagonal(K, diagonal)
        self._L, failed = potrf(K, lower=True, overwrite_a=True, clean=False)
        if failed:
            raise LinAlgError("K + alpha is not positive")
        self._lower = True
        self.smallest_pivot = float(np.abs(self._L.diagonal()).min())
        self.condition = float(np.sqrt(diagonal.sum()) / self.smallest_pivot)  # an estimate

    def _lapack(self, name: str) -> Any:
        """Return a function of LAPACK; one that is kept could not be pickled."""
        return get_lapack_funcs((name,), (self._L,))[0]

    @property
    def factor(self) -> np.ndarray:
        """L, with zeros above the diagonal; before `diagonal_of_inverse`."""
        return np.tril(self._L)

    def solve(self, X: np.ndarray) -> np.ndarray:
        """Return ``(K + alpha)^-1 X``."""
        return self._lapack("potrs")(self._L, X, lower=self._lower)[0]

    def half(self, X: np.ndarray, *, transposed: bool = False, shift: float = 0.0) -> np.ndarray:
        """Return ``(L + shift)^-1 X``, or the same with L' in place of L."""
        pivots = self._L.diagonal().copy()
        np.fill_diagonal(self._L, pivots + shift)
        found = self._lapack("trtrs")(self._L, X, lower=self._lower, trans=self._lower == transposed)[0]
        np.fill_diagonal(self._L, pivots)
        return found

    def diagonal_of_inverse(self) -> np.ndarray:
        """Return ``diag((K + alpha)^-1)``: entry i is ``||L^-1 e_i||^2``. L' moves to the upper triangle."""
        L, n = self._L, len(self._L)
        pivots = L.diagonal().copy()
        blocks = [slice(start, start + _COPIED_COLUMNS) for start in range(0, n, _COPIED_COLUMNS)]
        for own in blocks:
            L[own, own] = np.tril(L[own, own]) + np.tril(L[own, own], -1).T
            L[own, own.stop :] = L[own.stop :, own].T
        inverse, _ = self._lapack("trtri")(L, lower=True, overwrite_c=True)
        columns = (np.tril(inverse[own.start :, own]) for own in blocks)
        found = np.concatenate([np.einsum("ki,ki->i", column, column) for column in columns])
        np.fill_diagonal(inverse, pivots)
        self._L, self._lower = inverse, False
        return found

    def inverse(self) -> np.ndarray:
        """Return ``(K + alpha)^-1`` (n, n), both triangles, C-ordered."""
        (potri,) = get_lapack_funcs(("potri",), (self._L,))
        found, _ = potri(self._L, lower=self._lower)
        return symmetric(np.tril(found) if self._lower else np.triu(found))


def symmetric(triangle: np.ndarray) -> np.ndarray:
    """Return the symmetric matrix of a triangle with zeros on the other side, C-ordered."""
    full = np.add(triangle, triangle.T, order="C")
    np.fill_diagonal(full, triangle.diagonal())
    return full


class AtOneAlpha(Factor):
    """A `Factor` for one alpha: ``B'B + alpha`` (the dual) if N <= p1, else ``B B' + alpha`` (the primal).

    In the dual, ``C = A' B'`` with ``(B'B + alpha) A = G'``. Then ``G' - (C B)' = alpha A``, and the
    leave-one-out residual of function i is ``A_i / [(B'B + alpha)^-1]_ii``. In the primal,
    ``(B B' + alpha) C' = B G'``.

    Raises `LinAlgError` if alpha is too small for a Gram matrix.
    """

    method = "cholesky"
    alpha: float

    def __init__(self, B: np.ndarray, alpha: float):
        self.B, self.alpha, self.dual = B, alpha, B.shape[1] <= B.shape[0]
        K = gram(B.T if self.dual else B)
        self.largest = largest_eigenvalue(K)
        if alpha < gram_rounding(B.shape) * self.largest:
            raise LinAlgError("alpha is below the rounding of the Gram matrix")
        self.cholesky = Cholesky(K, alpha)
        self._inverse: np.ndarray | None = None

    def condition(self, alpha: float) -> float:
        """Return an estimate."""
        return self.cholesky.condition

    def coefficients(self, G: np.ndarray, alpha: Any) -> np.ndarray:
        """Return C (r, p1)."""
        solved = self.projected(G)
        return product(solved.T, self.B.T) if self.dual else solved.T

    def left_out(self, G: np.ndarray, alpha: Any) -> np.ndarray:
        """Return ``e_i / (1 - h_i)`` (r, N)."""
        if self.dual:
            return self.projected(G).T / self._diagonal()
        return np.hstack([E / one_minus_h for E, one_minus_h in self._primal_residuals(G)])

    def left_out_variance(self, alpha: Any) -> np.ndarray:
        """Return ``1 / (1 - h_i)`` (N,)."""
        if self.dual:
            return 1 / (self.alpha * self._diagonal())
        nothing = np.empty((0, self.B.shape[1]))
        return 1 / np.concatenate([one_minus_h for _, one_minus_h in self._primal_residuals(nothing)])

    def sweep(self, G: np.ndarray, alphas: np.ndarray, penalty: np.ndarray) -> Sweep:
        """Leave out every function, at the one alpha."""
        relative = self.largest / self.alpha
        if self.dual:
            A, c = self.projected(G), self._diagonal()
            norms, one_minus_h = np.sqrt(np.einsum("ij,ij->i", A, A)) * self.alpha, c * self.alpha
            doubt = float(np.finfo(G.dtype).eps) * relative
        else:
            parts = [(np.sqrt(np.einsum("ki,ki->i", E, E)), h) for E, h in self._primal_residuals(G)]
            norms, one_minus_h = (np.concatenate(part) for part in zip(*parts, strict=True))
            doubt = PRIMAL_ROUNDING * relative / float(one_minus_h.min())
        squared = float(norms @ norms)
        score = squared / float(one_minus_h.mean()) ** 2
        return Sweep(np.array([squared]), np.array([score]), np.array([doubt]), (norms / one_minus_h)[None])

    def root(self, S: np.ndarray, alpha: float) -> np.ndarray:
        """Return ``S L^-1``; in the dual ``(S - S B (L + sqrt(alpha))'^-1 L^-1 B') / sqrt(alpha)``.

        The latter is the update of a square root (Andrews, AIAA J. 6, 1968). It does not cancel, unlike
        ``(B B' + alpha)^-1 = (I - B (B'B + alpha)^-1 B') / alpha``.
        """
        if not self.dual:
            return self.cholesky.half(S.T, transposed=True).T
        inside = self.cholesky.half(product(S, self.B).T, shift=float(np.sqrt(alpha)))
        inside = self.cholesky.half(inside, transposed=True)
        return (S - product(inside.T, self.B.T)) / np.sqrt(alpha)

    def _project(self, G: np.ndarray) -> np.ndarray:
        """Return A (N, r) or C' (p1, r)."""
        return self.cholesky.solve(G.T if self.dual else product(G, self.B.T).T)

    def _diagonal(self) -> np.ndarray:
        if self._inverse is None:
            self._inverse = self.cholesky.diagonal_of_inverse()
        return self._inverse

    def _primal_residuals(self, G: np.ndarray) -> Any:
        """Yield E and 1 - h, some functions at a time."""
        C, step = self.projected(G).T, max(64, _BLOCK // len(self.B))
        eps = float(np.finfo(G.dtype).eps)
        for start in range(0, G.shape[1], step):
            B = self.B[:, start : start + step]
            h = np.einsum("ki,ki->i", *[self.cholesky.half(B)] * 2)
            yield G[:, start : start + step] - product(C, B), np.maximum(1 - h, eps)


def largest_eigenvalue(K: np.ndarray) -> float:
    """Return a lower estimate, to some percent, for K given by its lower triangle; by power iteration."""
    (symv,) = get_blas_funcs(("symv",), (K,))
    v = np.ones(len(K))
    largest = 0.0
    for _ in range(_POWER_STEPS):
        v = symv(1.0, K, v, lower=True)
        largest = float(np.linalg.norm(v))
        v /= largest or 1.0
    return max(largest, float(K.diagonal().max()))
