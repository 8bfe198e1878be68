"""Factorisations of the Jacobian of one function, which serve others that are like it."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lstsq, qr, solve_triangular, svd
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dpotrs, dtrcon

from elmonet._blas import product

__all__ = ["Factor", "Truncated"]

_OPEN = 1e-11  # of the largest pivot: a coefficient that nothing determines
_DEPENDENT = 1e-8  # of the largest singular value: functions of a domain that depend on the others
_SEEN = 1e-4  # of the largest: a function that is not zero
_REFINED = 5
_ENOUGH = 1e-6  # of the gradient: what refinement may leave of it


class Factor:
    """A matrix A (R, p) with its columns at length one, as Q R.

    `open` is 0 if R is well enough conditioned; otherwise pivots tell how many columns are left open.
    """

    def __init__(self, A: np.ndarray):
        self._lengths = _lengths(A)
        A = A / self._lengths
        self._Q, self._R = qr(A, mode="economic", check_finite=False)
        self.open = 0
        if len(A) < A.shape[1] or dtrcon(self._R)[0] < _OPEN:
            R = qr(A, mode="r", pivoting=True, check_finite=False)[0]
            pivots = np.abs(np.diagonal(R))
            self.open = A.shape[1] - int(np.count_nonzero(pivots > _OPEN * pivots.max(initial=0.0)))

    def least_squares(self, F: np.ndarray) -> np.ndarray:
        """For rows F (N, R), the rows c (N, p) that minimise |A c - f|."""
        return self.scaled(product(F, self._Q))

    def of_another(self, J: np.ndarray, f: np.ndarray) -> np.ndarray:
        """The c (p,) that minimises |J c - f| for another matrix J (R, p) of the same functions."""
        return _least_squares(J, f)

    def scaled(self, y: np.ndarray) -> np.ndarray:
        """Rows y (n, p) to coefficients: R^-1 y."""
        return solve_triangular(self._R, y.T, check_finite=False).T / self._lengths

    def scaled_transposed(self, g: np.ndarray) -> np.ndarray:
        """The transpose of `scaled`."""
        return solve_triangular(self._R, (g / self._lengths).T, trans="T", check_finite=False).T


class Truncated:
    """A matrix A (R, p) of nearly dependent functions with values T (M, p), by its largest singular values.

    Its columns are taken at length one. Coefficients stay small: functions are tame between the points too.
    What is left out should be functions that are almost zero; those that are not are open, nothing determines
    them.
    """

    def __init__(self, A: np.ndarray, T: np.ndarray):
        self._lengths = _lengths(A)
        U, s, Vt = svd(A / self._lengths, full_matrices=False, overwrite_a=True, check_finite=False)
        kept = s > _DEPENDENT * s.max(initial=0.0)
        sizes = np.linalg.norm(product(T / self._lengths, Vt.T), axis=0)
        self.open = int(np.count_nonzero(sizes[~kept] > _SEEN * sizes.max(initial=0.0)))
        self._U, self._to_c = U[:, kept], (Vt[kept] / s[kept, None]) / self._lengths

    def least_squares(self, F: np.ndarray) -> np.ndarray:
        """For rows F (N, R), the rows c (N, p) that minimise |A c - f|."""
        return self.scaled(product(F, self._U))

    def of_another(self, J: np.ndarray, f: np.ndarray) -> np.ndarray:
        """The c (p,) that minimises |J c - f| for another matrix J (R, p), in the same directions."""
        return self.scaled(_least_squares(product(J, self._to_c.T), f)[None])[0]

    def scaled(self, y: np.ndarray) -> np.ndarray:
        """Rows y (n, r) to coefficients."""
        return product(y, self._to_c)

    def scaled_transposed(self, g: np.ndarray) -> np.ndarray:
        """The transpose of `scaled`."""
        return product(g, self._to_c.T)


def _least_squares(J: np.ndarray, f: np.ndarray) -> np.ndarray:
    """The c (p,) that minimises |J c - f|: normal equations, refined with the residuals of J itself.

    Where their condition is too large for that, by a factorisation of J.
    """
    lengths = _lengths(J)
    A = np.asfortranarray(J / lengths)
    L, failed = dpotrf(dsyrk(1.0, A, trans=1, lower=1), lower=1, overwrite_a=1)
    c, last = np.zeros(A.shape[1]), np.inf
    for _ in range(0 if failed else _REFINED):
        g = A.T @ (f - A @ c)
        size = float(np.linalg.norm(g))
        if not size < 0.1 * last:
            break
        c, last = c + dpotrs(L, g, lower=1)[0], size
    if not last <= _ENOUGH * np.linalg.norm(f):
        c = lstsq(A, f, lapack_driver="gelsy", check_finite=False)[0]
    return c / lengths


def _lengths(A: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(A, axis=0)
    return np.where(lengths > 0, lengths, 1.0)
