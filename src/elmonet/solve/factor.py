"""What a factorisation of B can be asked, and how far its answers can be trusted.

The ridge fit of ``min ||C B - G||^2 + a ||C||^2`` has residuals E and leverages ``h_i = b_i' (B B' + a)^-1 b_i``, and
fitting again without function i would miss it by ``e_i / (1 - h_i)`` exactly. Where the fit interpolates, both
are tiny, and a factorisation knows them only as well as rounding lets it. The smallest alphas are those at
which this goes wrong first, so every factorisation estimates its own `Sweep.doubt`:

- From a Gram matrix in the dual, ``1 - h_i = a [(B'B + a)^-1]_ii`` has a relative error of ``eps s_max^2 / a``.
- From a Gram matrix in the primal, ``1 - h_i`` is a difference: an absolute error of ``eps s_max^2 / a``.
- From an SVD, singular vectors leak by ``eps s_max / s_k`` into directions in which B vanishes. There nothing
  is shrunk, so that ``1 - h_i`` of order ``a / s_k^2`` has a spurious ``eps^2 s_max^2 / s_k^2``: a relative error
  of ``eps^2 s_max^2 / a``. And where s_k^2 is near a, residuals have one of ``eps s_max / sqrt(a)``. If no function
  is interpolated there is no such limit; then the rounding of B is no more than a few noisy features, and
  leave-one-out sees them for what they are.

The constants were found by N refits in extended precision; tests/solve/test_trust.py repeats that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

__all__ = ["PRIMAL_ROUNDING", "Factor", "Sweep", "gram_rounding", "interpolated", "trusted"]

PRIMAL_ROUNDING = 0.25 * float(np.finfo(np.float64).eps)  # times s_max^2 / a: of 1 - h, from B B'
_MEASURED = 1e-3  # part of an error that rounding may hide
_NEGLIGIBLE, _HALF = (
    1e-9,
    0.5,
)  # or else no more than this of the functions, if it is at most half of the error


@dataclass
class Sweep:
    """For each alpha: squared residuals, GCV scores, how far these can be trusted, and left-out residuals."""

    squared: np.ndarray  # (alphas,): ||E||^2
    gcv: np.ndarray  # (alphas,): ||E||^2 / mean(1 - h)^2
    doubt: np.ndarray  # (alphas,): the part of a left-out residual that may be rounding
    left_out: np.ndarray | None = (
        None  # (alphas, N): ||e_i / (1 - h_i)||; None if the functions are not at hand
    )


class Factor(Protocol):
    """A factorisation of B (p1, N), made once and kept."""

    method: str
    rank: int | None
    cutoff: float
    largest: float  # s_max^2

    def condition(self, alpha: float) -> float:
        """``sqrt((s_max^2 + alpha) / (s_min^2 + alpha))``."""

    def coefficients(self, G: np.ndarray, alpha: Any) -> np.ndarray:
        """C (r, p1) for outputs G (r, N); one alpha, or one for each row (r, 1)."""

    def left_out(self, G: np.ndarray, alpha: Any) -> np.ndarray:
        """By what each function is missed if it is left out, ``e_i / (1 - h_i)``: (r, N)."""

    def sweep(self, G: np.ndarray, alphas: np.ndarray, penalty: np.ndarray) -> Sweep:
        """Leave every function out at every alpha (A,); `penalty` (1, 1) or (r, 1) multiplies it row by row."""

    def leverage(self, B: np.ndarray, alpha: float) -> np.ndarray:
        """``b' (B B' + alpha)^-1 b`` of other features b, the columns of a matrix (p1, n): (n,)."""


def gram_rounding(shape: tuple[int, ...]) -> float:
    """The part of ``s_max^2`` below which an alpha drowns in the rounding of the Gram matrix of B.

    Its entries are sums of n products (n the larger side of B), with errors of up to ``n eps s_max^2``. An
    alpha above that moves the answer more than they do. Small n get a margin, which costs them nothing.
    """
    return max(*shape, 4096) * float(np.finfo(np.float64).eps)


def interpolated(dtype: Any) -> float:
    """A ``1 - h_i`` below this belongs to a function that is interpolated, or nearly so: ``64 sqrt(eps)``."""
    return 64 * float(np.sqrt(np.finfo(dtype).eps))


def trusted(doubt: np.ndarray, error: np.ndarray) -> np.ndarray:
    """Whether a relative error is known, if the part `doubt` of it may be rounding."""
    return (doubt <= _MEASURED) | ((doubt <= _HALF) & (doubt * error <= _NEGLIGIBLE))
