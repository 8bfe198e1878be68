"""What is left of the data once all functions are summed up: a ridge at any alpha, and its GCV score.

With ``B = U S V'``, of which V (N, k) is never formed, the fit of ``min ||C B - G||^2 + a ||C||^2`` is

    C = G V S / (S^2 + a) U' ,      ||C B - G||^2 = ||G - G V V'||^2 + ||G V a / (S^2 + a)||^2 ,

and the score is ``||C B - G||^2 / (1 - mean h)^2``, the sum of the leverages h being ``sum S^2 / (S^2 + a)``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elmonet._blas import product

__all__ = ["Reduced"]


@dataclass(frozen=True)
class Reduced:
    """The spectrum of B and the outputs in it.

    Attributes
    ----------
    values : (k,), squared singular values of B, descending, those above `cutoff` of the largest.
    U : (p1, k), left singular vectors.
    GV : (q, k), the outputs in the right ones.
    outside : squared norm of what of the outputs lies outside them.
    functions : N.
    method : "gram" or "tsqr".
    """

    values: np.ndarray
    U: np.ndarray
    GV: np.ndarray
    outside: float
    functions: int
    cutoff: float
    method: str

    @property
    def rank(self) -> int:
        """Of B."""
        return len(self.values)

    def coefficients(self, alpha: float) -> np.ndarray:
        """C (q, p1)."""
        return product(self.GV * (np.sqrt(self.values) / (self.values + alpha)), self.U.T)

    def squared_residual(self, alphas: np.ndarray) -> np.ndarray:
        """``||C B - G||^2`` for each alpha."""
        shrink = alphas[:, None] / (self.values + alphas[:, None])
        return self.outside + shrink**2 @ np.sum(self.GV**2, axis=0)

    def gcv(self, alphas: np.ndarray) -> np.ndarray:
        """The generalised cross-validation score for each alpha."""
        shrink = alphas[:, None] / (self.values + alphas[:, None])
        freedom = (self.functions - self.rank + shrink.sum(axis=1)) / self.functions
        return self.squared_residual(alphas) / np.maximum(freedom, np.finfo(float).eps) ** 2

    def condition(self, alpha: float) -> float:
        """``sqrt((s_max^2 + alpha) / (s_min^2 + alpha))``."""
        return float(np.sqrt((self.values[0] + alpha) / (self.values[-1] + alpha)))

    def finest(self) -> float:
        """The least alpha that means anything."""
        return float(self.cutoff**2 * self.values[0])
