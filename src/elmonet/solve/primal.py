"""Every alpha from the eigenvalues of ``B B'``: fewer features than functions.

With ``B B' = U S^2 U'`` and ``Z = U'B`` the fit and its leverages are

    C = G Z' / (S^2 + a) U' ,      E = G - G Z' / (S^2 + a) Z ,      h_i = ||(S^2 + a)^-1/2 z_i||^2 .
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.linalg import eigh

from elmonet._blas import gram, product
from elmonet.solve.factor import PRIMAL_ROUNDING
from elmonet.solve.span import default_cutoff
from elmonet.solve.swept import Swept

__all__ = ["Primal"]


class Primal(Swept):
    """A `Swept` factor for B (p1, N) with p1 < N, at alphas above the rounding of its Gram matrix."""

    method = "eigh"

    def __init__(self, B: np.ndarray, groups: np.ndarray | None = None):
        self.functions, self.groups = B.shape[1], groups
        values, U = eigh(gram(B), lower=True, driver="evd", overwrite_a=True, check_finite=False)
        self.B, self.values, self.U = B, np.maximum(values[::-1], 0), np.ascontiguousarray(U[:, ::-1])
        self.largest, self.smallest = float(self.values[0]), float(self.values[-1])
        self.cutoff = float(np.sqrt(default_cutoff(B)))
        self.rank = int(np.count_nonzero(self.values > self.cutoff**2 * self.largest))

    def coefficients(self, G: np.ndarray, alpha: Any) -> np.ndarray:
        """C (r, p1)."""
        return product(self.projected(G) / (self.values + alpha), self.U.T)

    def leverage(self, B: np.ndarray, alpha: float) -> np.ndarray:
        """``sum_k (u_k' b)^2 / (s_k^2 + alpha)``."""
        Z = product(self.U.T, B)
        return np.einsum("ki,ki->i", Z, Z / (self.values[:, None] + alpha))

    def root(self, S: np.ndarray, alpha: float) -> np.ndarray:
        """``S U (S^2 + alpha)^-1/2 U'``."""
        return product(product(S, self.U) / np.sqrt(self.values + alpha), self.U.T)

    def _project(self, G: np.ndarray) -> np.ndarray:
        """``G B' U`` (r, p1)."""
        return product(product(G, self.B.T), self.U)

    def _filter(self, alpha: np.ndarray) -> np.ndarray:
        return 1 / (self.values + alpha)

    def _residuals(
        self, G: np.ndarray, functions: Any, filters: list[np.ndarray], together: bool
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        GBU, Z, eps = self.projected(G), product(self.U.T, self.B[:, functions]), np.finfo(np.float64).eps
        Z2 = Z**2
        for f in filters:
            E = G[:, functions] - product(GBU * f, Z)
            if together:
                yield E, (1 + eps) * np.eye(Z.shape[1]) - np.stack([product(Z.T * row, Z) for row in f])
            else:
                yield E, np.maximum(1 - product(f, Z2), eps)

    def _doubt(self, alphas: np.ndarray, least: np.ndarray) -> np.ndarray:
        return PRIMAL_ROUNDING * self.largest / alphas / np.maximum(least, np.finfo(np.float64).eps)
