"""What a factorisation of B can be asked, and how far its answers can be trusted.

The ridge fit of ``min ||C B - G||^2 + a ||C||^2`` has residuals E and leverages
``h_i = b_i' (B B' + a)^-1 b_i``, and fitting again without function i would miss it by ``e_i / (1 - h_i)``
exactly. Where the fit interpolates, both are tiny, and a factorisation knows them only as well as rounding
lets it. That goes wrong at the smallest alphas first. So every factorisation estimates what part of a
left-out residual may be rounding, `Sweep.doubt`:

- From ``B'B``, the dual, ``1 - h_i = a [(B'B + a)^-1]_ii`` has a relative error of ``eps s_max^2 / a``.
- From ``B B'``, the primal, ``1 - h_i`` is a difference and has an absolute error of ``eps s_max^2 / a``.
- From an SVD, singular vectors leak by ``eps s_max / s_k`` into directions in which B vanishes. There nothing
  is shrunk, so that ``1 - h_i`` of order ``a / s_k^2`` has a spurious ``eps^2 s_max^2 / s_k^2``: a relative
  error of ``eps^2 s_max^2 / a``. And where s_k^2 is near a, residuals have one of ``eps s_max / sqrt(a)``.
  If no function is interpolated, only the second is left, and spread over all N functions: the rounding of B
  is then no more than a few noisy features, and leave-one-out sees them for what they are.

The constants were found by N refits in extended precision; tests/solve/test_trust.py repeats that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["PRIMAL_ROUNDING", "Factor", "Sweep", "gram_rounding", "interpolated", "trusted"]

PRIMAL_ROUNDING = 0.25 * float(np.finfo(np.float64).eps)  # times s_max^2 / a: of 1 - h, from B B'
_MEASURED = 1e-3  # part of an error that rounding may hide
_NEGLIGIBLE = 1e-9  # or no more than this of the functions,
_HALF = 0.5  # if that is at most this part of the error


@dataclass
class Sweep:
    """For each alpha: squared residuals, GCV scores, how far these can be trusted, and left-out residuals."""

    squared: np.ndarray  # (alphas,): ||E||^2
    gcv: np.ndarray  # (alphas,): ||E||^2 / mean(1 - h)^2
    doubt: np.ndarray  # (alphas,): the part of a left-out residual that may be rounding
    left_out: Any = None  # (alphas, N): ||e_i / (1 - h_i)||, if the functions are at hand

    def at(self, kept: np.ndarray) -> Sweep:
        """The same for some of the alphas (a mask)."""
        some: Any = [None if values is None else values[kept] for values in vars(self).values()]
        return Sweep(*some)


class Factor:
    """A factorisation of B (p1, N), made once and kept, with what all of them share.

    Attributes
    ----------
    method : its name in `Solution`.
    rank, cutoff : of B, if that is known, and the part of s_max below which singular values are lost.
    largest, smallest : ``s_max^2`` and ``s_min^2``.
    """

    method: str
    rank: int | None = None
    cutoff: float = 0.0
    largest: float
    smallest: float = 0.0
    _last: Any = (None, None)

    def condition(self, alpha: float) -> float:
        """``sqrt((s_max^2 + alpha) / (s_min^2 + alpha))``."""
        return float(np.sqrt((self.largest + alpha) / (self.smallest + alpha))) if self.largest else 1.0

    def coefficients(self, G: Any, alpha: Any) -> np.ndarray:
        """C (r, p1) for outputs G (r, N); one alpha, or one for each row (r, 1)."""
        raise NotImplementedError

    def left_out(self, G: np.ndarray, alpha: Any) -> np.ndarray:
        """By what each function is missed if it is left out, ``e_i / (1 - h_i)``: (r, N)."""
        raise NotImplementedError("sums over functions cannot leave one out; see LeftOut")

    def left_out_variance(self, alpha: Any) -> np.ndarray:
        """``1 / (1 - h_i)``, or for groups the diagonal of ``(I - H_gg)^-1``: (N,).

        If outputs are ``C b`` with standard normal C, and noise of the variance alpha, then this times alpha
        is the variance of function i, with its noise, given the others.
        """
        raise NotImplementedError("sums over functions cannot leave one out; see LeftOut")

    def sweep(self, G: Any, alphas: np.ndarray, penalty: np.ndarray) -> Sweep:
        """Leave every function out at every alpha; `penalty`, (1, 1) or (r, 1), is a factor for each row."""
        raise NotImplementedError

    def leverage(self, B: np.ndarray, alpha: float) -> np.ndarray:
        """``b' (B B' + alpha)^-1 b`` of other features b, the columns of a matrix (p1, n): (n,)."""
        raise NotImplementedError

    def root(self, S: np.ndarray, alpha: float) -> np.ndarray:
        """``S R`` (k, p1) for S (k, p1), with an R of which ``R'R = (B B' + alpha)^-1``."""
        raise NotImplementedError

    def projected(self, G: np.ndarray) -> np.ndarray:
        """The outputs as this factorisation sees them; those of the last G are kept."""
        if self._last[0] is not G:
            self._last = G, self._project(G)
        return self._last[1]

    def _project(self, G: np.ndarray) -> np.ndarray:
        raise NotImplementedError


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
