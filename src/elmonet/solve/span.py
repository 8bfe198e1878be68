"""The trunk's span: an orthonormal basis that makes the two-sided problem one-sided."""

from __future__ import annotations

import numpy as np
from scipy.linalg import qr, svd

from elmonet._blas import gram, product
from elmonet.solve.scale import safely_scaled

__all__ = ["Span", "default_cutoff", "project"]

_BLOCK = 1 << 21  # entries of a temporary block
_CANCELS = 1e-6  # a difference of squares this small, of the squares, has lost too many digits


def default_cutoff(A: np.ndarray) -> float:
    """``max(A.shape) * eps``: singular values below this times the largest are rounding."""
    return max(A.shape) * float(np.finfo(A.dtype).eps)


class Span:
    """The column space of T, with ``T = Q diag(s) Vt`` cut off at the numerical rank r.

    For every W, ``T W = Q C`` with ``C = diag(s) Vt W``, so that

        ||T W B - G||^2 = ||C B - Q'G||^2 + ||(I - Q Q')G||^2 ,

    and the last term does not depend on W. The W of least norm with ``T W = Q C`` is
    ``Vt' diag(1/s) C``, see `lift`.

    Parameters
    ----------
    T : (M, p2)
    rcond : relative cut-off of the singular values; `default_cutoff` if None.
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
        known to ``eps s_0 / s_k`` of their size only. To leave them out would lose all of that size, which is
        more as long as s_k is above the cut-off. But multiply in this order, ``(t(y)' lifting) (C b)``: the
        product ``lifting C``, which is W, is huge, and rounds to ``eps ||W||``.
        """
        return None if self.Vt is None else self.Vt.T * (self._scale / self.s)

    def lift(self, C: np.ndarray) -> np.ndarray:
        """The W (p2, p1) of least norm with ``T W = Q C``."""
        lifting = self.lifting
        return C if lifting is None else product(lifting, C)

    def penalty(self) -> np.ndarray:
        """Row k of C carries ``||W||^2`` with the weight ``1 / s_k^2``; (r, 1)."""
        return (self._scale / self.s[:, None]) ** 2


def project(Q: np.ndarray, G: np.ndarray, norms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``Q'G`` for Q (M, r) orthonormal, and the norms of the columns of ``G - Q Q'G``, given those of G."""
    QtG = product(Q.T, G)
    if Q.shape[1] == len(G):
        return QtG, np.zeros_like(norms)
    # Pythagoras, except where the difference would cancel: there, take the difference itself.
    squared = norms**2 - np.einsum("ij,ij->j", QtG, QtG)
    outside = np.sqrt(np.maximum(squared, 0))
    nearly_inside = np.flatnonzero(squared < _CANCELS * norms**2)
    step = max(1, _BLOCK // len(G))
    for start in range(0, len(nearly_inside), step):
        some = nearly_inside[start : start + step]
        R = G[:, some].T - product(QtG[:, some].T, Q.T)
        outside[some] = np.sqrt(np.einsum("ij,ij->i", R, R))
    return QtG, outside


def _svd(T: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if T.shape[0] < 2 * T.shape[1]:
        return svd(T, full_matrices=False, check_finite=False)
    Q, R = qr(T, mode="economic", check_finite=False)  # tall: the SVD of the small factor is enough
    U, s, Vt = svd(R, full_matrices=False, check_finite=False)
    return product(Q, U), s, Vt


def _orthonormal(T: np.ndarray) -> bool:
    """Whether ``T'T = I`` to rounding, which is much cheaper to see than an SVD."""
    if T.shape[1] > T.shape[0]:
        return False
    TtT = gram(T.T)
    np.fill_diagonal(TtT, TtT.diagonal() - 1)
    return bool(np.abs(TtT).max() <= 4 * default_cutoff(T))
