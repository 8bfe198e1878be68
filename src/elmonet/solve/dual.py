"""The ridge path in the dual: one reduction of ``B'B`` to tridiagonal form serves every alpha.

With Householder's ``B'B = Q D Q'``, Q orthogonal and D tridiagonal, ``B'B + a`` is tridiagonal in the
same basis for every a (Eldén, BIT 17, 1977). That is half the work of an eigendecomposition, and is done
in place. Each alpha then needs

    A = (B'B + a)^-1 G' = Q (D + a)^-1 (Q'G')      and      c = diag((B'B + a)^-1) ,

because the residuals of the fit are ``a A`` and the leave-one-out residuals are ``A_i / c_i``, without
cancellation. With ``D + a = L S^2 L'``, L unit lower bidiagonal, c holds the squared row norms of
``Z = Q L'^-1 S^-1``, whose columns follow from each other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigvalsh_tridiagonal, get_lapack_funcs

from elmonet.linalg import gram, product
from elmonet.solve.factor import Factor, Sweep
from elmonet.solve.problem import default_cutoff

_RIGHT_HAND_SIDES = 128  # that are multiplied by Q at a time


class Tridiagonal(Factor):
    """A `Factor`: ``B'B = Q D Q'`` with D tridiagonal, for B (p1, N) with 1 < N <= p1."""

    method = "tridiagonal"
    _last_diagonals: Any = ((), None)

    def __init__(self, B: np.ndarray):
        self.B = B
        self.Q, self.diagonal, self.subdiagonal = _tridiagonalised(gram(B.T))
        values = eigvalsh_tridiagonal(self.diagonal, self.subdiagonal, check_finite=False)
        self.largest, self.smallest = float(values[-1]), max(float(values[0]), 0.0)
        self.cutoff = float(np.sqrt(default_cutoff(B)))
        self.rank = int(np.count_nonzero(values > self.cutoff**2 * self.largest))

    def sweep(self, G: np.ndarray, alphas: np.ndarray, penalty: np.ndarray) -> Sweep:
        """Leave out every function, at every alpha; `penalty` is (1, 1)."""
        GQ, alphas = self.projected(G), alphas * penalty.item()
        c = self._diagonals_of_inverse(alphas)
        norms = np.empty_like(c)  # of the rows of A
        step = max(1, _RIGHT_HAND_SIDES // max(len(GQ), 1))
        for start in range(0, len(alphas), step):
            some = alphas[start : start + step]
            solved = np.concatenate([self._solve(GQ, a) for a in some])
            A = product(solved, self.Q.T).reshape(len(some), *GQ.shape)
            norms[start : start + step] = np.sqrt(np.einsum("aki,aki->ai", A, A))
        squared = alphas**2 * np.einsum("ai,ai->a", norms, norms)
        doubt = float(np.finfo(G.dtype).eps) * self.largest / alphas
        return Sweep(squared, squared / (alphas * c.mean(axis=1)) ** 2, doubt, norms / c)

    def coefficients(self, G: np.ndarray, alpha: Any) -> np.ndarray:
        """Return ``C = A' B'`` (r, p1)."""
        return product(self._solved(G, alpha), self.B.T)

    def left_out(self, G: np.ndarray, alpha: Any) -> np.ndarray:
        """Return ``A_i / c_i`` (r, N)."""
        return self._solved(G, alpha) / self._diagonals_of_inverse(np.reshape(alpha, 1))

    def left_out_variance(self, alpha: Any) -> np.ndarray:
        """Return ``1 / (alpha c_i)`` (N,)."""
        alpha = np.reshape(alpha, 1)
        return 1 / (alpha * self._diagonals_of_inverse(alpha)[0])

    def root(self, S: np.ndarray, alpha: float) -> np.ndarray:
        """Return the same as `AtOneAlpha.root`, with ``B'B + alpha = (Q L) (Q L)'`` and L bidiagonal."""
        S2, subdiagonal = self._factor(alpha)
        pivots = np.sqrt(S2)
        L = np.stack([pivots, np.append(subdiagonal * pivots[:-1], 0.0)])  # as LAPACK stores a banded matrix
        shifted = L + np.sqrt(alpha) * np.array([[1.0], [0.0]])
        (tbtrs,) = get_lapack_funcs(("tbtrs",), (L,))
        inside, _ = tbtrs(shifted, product(product(S, self.B), self.Q).T, uplo="L")
        inside, _ = tbtrs(L, inside, uplo="L", trans="T")
        return (S - product(product(inside.T, self.Q.T), self.B.T)) / np.sqrt(alpha)

    def _project(self, G: np.ndarray) -> np.ndarray:
        """Return ``G Q`` (r, N)."""
        return product(G, self.Q)

    def _solved(self, G: np.ndarray, alpha: Any) -> np.ndarray:
        """Return A' (r, N)."""
        return product(self._solve(self.projected(G), np.asarray(alpha).item()), self.Q.T)

    def _factor(self, alpha: float) -> tuple[np.ndarray, np.ndarray]:
        """Factor ``D + alpha = L S^2 L'``: return S^2 (N,) and the subdiagonal of L (N - 1,)."""
        (pttrf,) = get_lapack_funcs(("pttrf",), (self.diagonal,))
        S2, subdiagonal, failed = pttrf(self.diagonal + alpha, self.subdiagonal)
        if failed:  # cannot happen for an alpha above the rounding of B'B
            raise np.linalg.LinAlgError("B'B + alpha is not positive")
        return S2, subdiagonal

    def _solve(self, GQ: np.ndarray, alpha: float) -> np.ndarray:
        """Apply ``(D + alpha)^-1`` to the rows of GQ."""
        (pttrs,) = get_lapack_funcs(("pttrs",), (self.diagonal,))
        solved, _ = pttrs(*self._factor(alpha), GQ.T)
        return solved.T

    def _diagonals_of_inverse(self, alphas: np.ndarray) -> np.ndarray:
        """Return ``diag((B'B + a)^-1)`` for every a: (alphas, N); cached for the last alphas."""
        cached, found = self._last_diagonals
        if not np.isin(alphas, cached).all():
            cached, found = self._last_diagonals = alphas.copy(), self._new_diagonals(alphas)
        same = np.array_equal(cached, alphas)
        return found if same else found[[int(np.argmax(cached == a)) for a in alphas]]

    def _new_diagonals(self, alphas: np.ndarray) -> np.ndarray:
        factors = [self._factor(a) for a in alphas]
        S = np.sqrt([S2 for S2, _ in factors])  # (alphas, N)
        L = np.array([subdiagonal for _, subdiagonal in factors])
        # From Z S L' = Q, column by column: Z_j = (Q_j - L_{j,j-1} S_{j-1} Z_{j-1}) / S_j.
        ahead = 1 / S
        behind = -L * S[:, :-1] / S[:, 1:]
        Z, term = ahead[:, :1] * self.Q[:, 0], np.empty((len(alphas), len(self.Q)))
        total = Z**2
        for j in range(1, len(self.Q)):
            Z *= behind[:, j - 1 : j]
            Z += np.multiply(ahead[:, j : j + 1], self.Q[:, j], out=term)
            total += np.multiply(Z, Z, out=term)
        return total


def _tridiagonalised(K: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return Q, the diagonal and the subdiagonal, from the lower triangle of K, which is overwritten."""
    sytrd, sytrd_lwork, orgqr = get_lapack_funcs(("sytrd", "sytrd_lwork", "orgqr"), (K,))
    n = len(K)
    lwork, _ = sytrd_lwork(n, lower=True)
    K, diagonal, subdiagonal, tau, _ = sytrd(K, lower=True, lwork=int(lwork), overwrite_a=True)
    # sytrd leaves reflector i, which acts on rows i + 1 ..., in column i; orgqr expects it one column to the
    # right.
    for j in range(n - 1, 0, -1):
        K[:, j] = K[:, j - 1]
    Q, _, _ = orgqr(K, np.concatenate([[0.0], tau]), lwork=64 * n, overwrite_a=True)
    return Q, diagonal, subdiagonal
