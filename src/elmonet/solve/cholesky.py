"""Ridge at one given alpha: a Cholesky factor of the smaller Gram matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import get_lapack_funcs

from elmonet._blas import product

__all__ = ["CholeskyFit", "cholesky_fit"]

_BLOCK = 1 << 21  # entries of a temporary block


@dataclass
class CholeskyFit:
    """C (r, p1), the residuals' squared norm, the leave-one-out residuals (r, N), and the condition."""

    C: np.ndarray
    squared: float
    left_out: np.ndarray
    condition: float


def cholesky_fit(B: np.ndarray, G: np.ndarray, gram: np.ndarray, alpha: float) -> CholeskyFit | None:
    """Solve ``min ||C B - G||^2 + alpha ||C||^2``, or return None if the Gram matrix is too singular.

    Parameters
    ----------
    B : (p1, N)
    G : (r, N)
    gram : the lower triangle of ``B'B`` if N <= p1, else of ``B B'``, Fortran-ordered; overwritten.
    alpha : positive.
    """
    potrf, potrs = get_lapack_funcs(("potrf", "potrs"), (gram,))
    diagonal = gram.diagonal() + alpha
    np.fill_diagonal(gram, diagonal)
    L, failed = potrf(gram, lower=True, overwrite_a=True, clean=False)
    if failed:
        return None
    pivots = np.abs(L.diagonal())
    condition = float(np.sqrt(diagonal.sum()) / pivots.min())
    if B.shape[1] <= B.shape[0]:
        # The dual: C = A' B' with (B'B + alpha) A = G'. Then G' - (C B)' = alpha A, and fitting
        # without function i misses it by A_i / [(B'B + alpha)^-1]_ii.
        A, _ = potrs(L, G.T, lower=True)
        squared = alpha**2 * float(np.einsum("ij,ij->", A, A))
        C = product(A.T, B.T)
        A /= _diagonal_of_inverse(L)[:, None]
        return CholeskyFit(C, squared, A.T, condition)
    # The primal: (B B' + alpha) C' = B G'.
    Ct, _ = potrs(L, product(G, B.T).T, lower=True)
    squared, left_out = _primal_residuals(B, G, Ct.T, L)
    return CholeskyFit(Ct.T, squared, left_out, condition)


def _diagonal_of_inverse(L: np.ndarray) -> np.ndarray:
    """``diag((L L')^-1)``: entry i is ``||L^-1 e_i||^2``. Overwrites L."""
    (trtri,) = get_lapack_funcs(("trtri",), (L,))
    columns, _ = trtri(L, lower=True, overwrite_c=True)
    return np.einsum("ki,ki->i", columns, columns)


def _primal_residuals(B: np.ndarray, G: np.ndarray, C: np.ndarray, L: np.ndarray) -> tuple[float, np.ndarray]:
    """``||G - C B||^2`` and ``e_i / (1 - h_i)``, with ``h_i = ||L^-1 b_i||^2``."""
    (trtrs,) = get_lapack_funcs(("trtrs",), (L,))
    squared, left_out = 0.0, np.empty(G.shape, B.dtype)
    step = max(64, _BLOCK // len(B))
    for start in range(0, B.shape[1], step):
        functions = slice(start, start + step)
        E = G[:, functions] - product(C, B[:, functions])
        R, _ = trtrs(L, B[:, functions], lower=True)
        one_minus_h = 1 - np.einsum("ki,ki->i", R, R)
        squared += float(np.einsum("ki,ki->", E, E))
        left_out[:, functions] = E / np.maximum(one_minus_h, np.finfo(L.dtype).eps)
    return squared, left_out
