"""What is left of the data once all functions are summed up: a ridge at any alpha, and its GCV score.

With ``B = U S V'``, of which V (N, p1) is never formed, the fit of ``min ||C B - G||^2 + a ||C||^2`` is

    C = G V S / (S^2 + a) U' ,      ||C B - G||^2 = ||G - G V V'||^2 + ||G V a / (S^2 + a)||^2 ,

and the score is ``||C B - G||^2 / (1 - mean h)^2``, the sum of the leverages h being ``sum S^2 / (S^2 + a)``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from elmonet._blas import product
from elmonet.solve.factor import PRIMAL_ROUNDING, Factor, Sweep

__all__ = ["Reduced"]

_EPS = float(np.finfo(np.float64).eps)


class Reduced(Factor):
    """A `Factor` of sums: it has the outputs in it, and no functions to leave out but those it is shown.

    Attributes
    ----------
    s : (p1,), the singular values of B, descending.
    U : (p1, p1), left singular vectors.
    GV : (q, p1), the outputs in the right ones.
    beyond : ``||G - G V V'||^2``.
    functions : N.
    cutoff : singular values below this part of the largest are rounding.
    method : "tsqr", or "gram", which knows nothing below the cut-off.
    """

    rank: int

    def __init__(
        self,
        s: np.ndarray,
        U: np.ndarray,
        GV: np.ndarray,
        beyond: float,
        functions: int,
        cutoff: float,
        method: str,
    ):
        self.s, self.values, self.U, self.GV = s, s**2, U, GV
        self.beyond, self.functions, self.cutoff, self.method = beyond, functions, cutoff, method
        self.largest = float(self.values[0])
        self.rank = int(np.count_nonzero(s > cutoff * s[0]))

    def condition(self, alpha: float) -> float:
        """``sqrt((s_max^2 + alpha) / (s_min^2 + alpha))``, s_min being above the cut-off if alpha is zero."""
        smallest = float(self.values[-1] if alpha > 0 else self.values[max(self.rank, 1) - 1])
        return float(np.sqrt((self.largest + alpha) / (smallest + alpha))) if self.largest else 1.0

    def coefficients(self, G: Any, alpha: Any) -> np.ndarray:
        """C (q, p1) for the outputs that were summed up; `G` is not needed."""
        return product(self.GV * (self.s * self._filter(alpha)), self.U.T)

    def leverage(self, B: np.ndarray, alpha: float) -> np.ndarray:
        """``sum_k (u_k' b)^2 / (s_k^2 + alpha)``."""
        Z = product(self.U.T, B)
        return np.einsum("ki,ki->i", Z, Z * self._filter(alpha)[:, None])

    def root(self, S: np.ndarray, alpha: float) -> np.ndarray:
        """``S U (S^2 + alpha)^-1/2 U'``."""
        return product(product(S, self.U) * np.sqrt(self._filter(alpha)), self.U.T)

    def sweep(self, G: Any, alphas: np.ndarray, penalty: np.ndarray) -> Sweep:
        """The squared residual and the GCV score at each alpha."""
        filters = np.array([self._filter(a) for a in alphas])
        shrink = np.where(filters > 0, alphas[:, None] * filters, 1)
        squared = self.beyond + shrink**2 @ np.sum(self.GV**2, axis=0)
        freedom = (self.functions - len(self.s) + shrink.sum(axis=1)) / self.functions
        least = np.where(alphas > 0, alphas, self.values[max(self.rank, 1) - 1] or 1.0)
        freedom, parts = np.maximum(freedom, _EPS), self.largest / least
        doubt = PRIMAL_ROUNDING * parts if self.method == "gram" else _EPS * np.sqrt(parts / self.functions)
        return Sweep(squared, squared / freedom**2, doubt / freedom)

    def _filter(self, alpha: Any) -> np.ndarray:
        """``1 / (s_k^2 + alpha)``, and 0 where that is rounding."""
        floor = self.cutoff**2 * self.largest if self.method == "gram" or alpha == 0 else 0.0
        shifted = self.values + alpha
        return np.where(shifted > floor, 1 / np.where(shifted > floor, shifted, 1), 0)
