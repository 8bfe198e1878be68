"""Guard against overflow: matrices of extreme size are multiplied by a power of two."""

from __future__ import annotations

import numpy as np

from elmonet._blas import squared_norm
from elmonet._check import InputError

__all__ = ["safely_scaled"]


def safely_scaled(A: np.ndarray, name: str) -> tuple[np.ndarray, float]:
    """Return ``(c A, c)``, with c = 1 unless sums of squares of A could overflow or underflow.

    c is a power of two, so that scaling is exact. Raises `InputError` for NaN or Inf.
    """
    # Room for sums of 2^64 squares on either side of 1; one look at the norm is enough as a rule.
    limit = 2.0 ** (np.finfo(A.dtype).maxexp // 2 - 32)
    if A.size and limit**-2 < squared_norm(A) < limit**2:
        return A, 1.0
    largest = float(max(A.max(), -A.min())) if A.size else 0.0
    if not np.isfinite(largest):
        raise InputError(
            f"{name} holds NaN or Inf. All values must be finite: look at the inputs, and at the scale of "
            "the feature map that made it."
        )
    if largest == 0 or 1 / limit < largest < limit:
        return A, 1.0
    exponent = int(np.frexp(largest)[1])
    return np.ldexp(A, -exponent), 2.0**-exponent
