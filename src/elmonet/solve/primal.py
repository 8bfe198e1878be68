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
from elmonet.solve.factor import PRIMAL_ROUNDING, Factor, Sweep
from elmonet.solve.span import default_cutoff

__all__ = ["Primal"]

_BLOCK = 1 << 21  # entries of a temporary block


class Primal(Factor):
    """A `Factor` for B (p1, N) with p1 < N, at alphas above the rounding of its Gram matrix."""

    method = "eigh"

    def __init__(self, B: np.ndarray):
        values, U = eigh(gram(B), lower=True, driver="evd", overwrite_a=True, check_finite=False)
        self.B, self.values, self.U = B, np.maximum(values[::-1], 0), np.ascontiguousarray(U[:, ::-1])
        self.largest, self.smallest = float(self.values[0]), float(self.values[-1])
        self.cutoff = float(np.sqrt(default_cutoff(B)))
        self.rank = int(np.count_nonzero(self.values > self.cutoff**2 * self.largest))

    def coefficients(self, G: np.ndarray, alpha: Any) -> np.ndarray:
        """C (r, p1)."""
        return product(self.projected(G) / (self.values + alpha), self.U.T)

    def left_out(self, G: np.ndarray, alpha: Any) -> np.ndarray:
        """``e_i / (1 - h_i)`` (r, N)."""
        filters = [1 / (self.values + np.reshape(alpha, (-1, 1)))]
        return np.hstack([E / one_minus_h for _, _, E, one_minus_h in self._residuals(G, filters)])

    def sweep(self, G: np.ndarray, alphas: np.ndarray, penalty: np.ndarray) -> Sweep:
        """Leave every function out, at every alpha."""
        left_out = np.empty((len(alphas), G.shape[1]))
        squared, freedom, least = np.zeros(len(alphas)), np.zeros(len(alphas)), np.ones(len(alphas))
        filters = [1 / (self.values + a * penalty) for a in alphas]
        for functions, j, E, one_minus_h in self._residuals(G, filters):
            squared[j] += np.einsum("ij,ij->", E, E)
            freedom[j] += one_minus_h.mean(axis=0).sum()
            least[j] = min(least[j], one_minus_h.min())
            E /= one_minus_h
            left_out[j, functions] = np.sqrt(np.einsum("ij,ij->j", E, E))
        doubt = PRIMAL_ROUNDING * self.largest / (alphas * penalty.min()) / least
        return Sweep(squared, squared / (freedom / G.shape[1]) ** 2, doubt, left_out)

    def leverage(self, B: np.ndarray, alpha: float) -> np.ndarray:
        """``sum_k (u_k' b)^2 / (s_k^2 + alpha)``."""
        Z = product(self.U.T, B)
        return np.einsum("ki,ki->i", Z, Z / (self.values[:, None] + alpha))

    def _project(self, G: np.ndarray) -> np.ndarray:
        """``G B' U`` (r, p1)."""
        return product(product(G, self.B.T), self.U)

    def _residuals(self, G: np.ndarray, filters: list[np.ndarray]) -> Iterator[Any]:
        """Some functions at a time and for each filter: which, the filter's number, E (r, n) and 1 - h."""
        GBU, step = self.projected(G), max(64, _BLOCK // max(G.shape))
        for start in range(0, G.shape[1], step):
            functions = slice(start, start + step)
            Z = product(self.U.T, self.B[:, functions])
            Z2 = Z**2
            for j, f in enumerate(filters):
                one_minus_h = np.maximum(1 - product(f, Z2), np.finfo(np.float64).eps)
                yield functions, j, G[:, functions] - product(GBU * f, Z), one_minus_h
