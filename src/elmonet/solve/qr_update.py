"""The triangular factor of a matrix that grows by rows."""

from __future__ import annotations

import numpy as np
from scipy.linalg import get_lapack_funcs

from elmonet._blas import is_beside_others

__all__ = ["qr_update"]

_BLOCK = 64  # columns that LAPACK factorises together


def qr_update(R: np.ndarray, rows: np.ndarray, triangular: bool = False) -> np.ndarray:
    """The R of ``qr([R; rows])``, R (k, k) upper triangular and rows (n, k), upper triangular too if so said.

    Both are overwritten if Fortran-ordered.
    """
    if not rows.size:
        return R
    if is_beside_others():  # NumPy's lets go of the interpreter's lock
        return np.asfortranarray(np.linalg.qr(np.vstack([R, rows]), mode="r"))
    (tpqrt,) = get_lapack_funcs(("tpqrt",), (R,))
    step = min(_BLOCK, len(R))
    R, *_ = tpqrt(len(rows) if triangular else 0, step, R, rows, overwrite_a=True, overwrite_b=True)
    return R
