"""Every alpha from the singular values of B, without cancellation.

With ``B = U S V'`` the ridge fit is ``C B = G V F V'`` with the filter ``F = S^2 / (S^2 + a)``. Its residuals
and leverages are

    E     = G - G V F V'     = G w + (G V) (I - F) V'            w_i = (I - V V') e_i
    1 - h = 1 - diag(V F V') = ||w||^2 + (V o V) diag(I - F)

where w is zero if V is complete, and ``I - F = a / (S^2 + a)`` has no cancellation, so that the quotient is
accurate even where the fit interpolates and both its parts are tiny. ``||w_i||^2 = 1 - sum_k v_ik^2`` is
taken as that difference, and from w itself where it would cancel.

Penalising W instead of C gives row k of C its own ``a / s_k^2`` (s_k the trunk's singular values).
The rows stay independent of each other, so that all of the above holds row by row.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from elmonet._blas import product
from elmonet.solve.factor import interpolated
from elmonet.solve.span import project
from elmonet.solve.spectrum import Spectrum
from elmonet.solve.swept import Swept

__all__ = ["Spectral"]

_MEASURED = 1e-3  # the doubt at `trusted`


class Spectral(Swept):
    """A `Swept` factor made of a `Spectrum` whose V is at hand: of an SVD, or of ``B'B``."""

    def __init__(self, spectrum: Spectrum, groups: np.ndarray | None = None):
        self.functions, self.groups = spectrum.B.shape[1], groups
        self.spectrum = spectrum
        self.method, self.rank, self.cutoff = spectrum.method, spectrum.rank, spectrum.cutoff
        self.largest, self.smallest = spectrum.largest, float(spectrum.values[-1])

    def trusted(self) -> float:
        """The least alpha at which left-out residuals are accurate to a thousandth whatever the data."""
        eps = float(np.finfo(self.spectrum.values.dtype).eps)
        return max(max(self.spectrum.B.shape) / _MEASURED, _MEASURED**-2) * eps**2 * self.largest

    def vanishing(self) -> float:
        """An alpha far below all values that were kept, for the limit of a pseudoinverse."""
        return 100 * float(np.finfo(self.spectrum.values.dtype).eps) * self.smallest

    def coefficients(self, G: np.ndarray, alpha: Any) -> np.ndarray:
        """``C = G V S / (S^2 + alpha) U'``."""
        return self.spectrum.coefficients(self.projected(G), alpha)

    def leverage(self, B: np.ndarray, alpha: float) -> np.ndarray:
        """``sum_k (u_k' b)^2 / (s_k^2 + alpha)``, and what of b is outside of U counts with ``1 / alpha``."""
        Z, outside = project(self.spectrum.U, B, np.linalg.norm(B, axis=0))
        return np.einsum("ki,ki->i", Z, Z / (self.spectrum.values[:, None] + alpha)) + outside**2 / alpha

    def root(self, S: np.ndarray, alpha: float) -> np.ndarray:
        """``S ((S^2 + alpha)^-1/2 U U' + (I - U U') / sqrt(alpha))``."""
        return self.spectrum.root(S, alpha)

    def _project(self, G: np.ndarray) -> np.ndarray:
        """``G V`` (r, k)."""
        return product(G, self.spectrum.V)

    def _filter(self, alpha: np.ndarray) -> np.ndarray:
        values = self.spectrum.values
        return (alpha / (values + alpha)).astype(values.dtype, copy=False)

    def _residuals(
        self, G: np.ndarray, functions: Any, filters: list[np.ndarray], together: bool
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        GV, V = self.projected(G), self.spectrum.V[functions]
        if together:
            w = self._outside(functions)
            Gw, ww = product(G, w), product(w.T, w)
            for shrink in filters:
                inside = np.stack([product(V * row, V.T) for row in shrink])
                yield product(GV * shrink, V.T) + Gw, inside + ww
            return
        Gw, w2 = self._beyond(G, functions)
        V2 = V**2
        for shrink in filters:
            yield product(GV * shrink, V.T) + Gw, product(shrink, V2.T) + w2

    def _beyond(self, G: np.ndarray, functions: Any) -> tuple[Any, Any]:
        """``G w`` and ``||w||^2`` of some functions, w being what of e_i lies outside the span of V."""
        V = self.spectrum.V
        if V.shape[0] == V.shape[1]:
            return 0.0, 0.0
        own = V[functions]
        Gw, w2 = G[:, functions] - product(self.projected(G), own.T), 1 - np.einsum("ij,ij->i", own, own)
        near = np.flatnonzero(w2 < interpolated(V.dtype))
        if near.size:
            w = self._outside(np.arange(len(V))[functions][near])
            Gw[:, near], w2[near] = product(G, w), np.einsum("ij,ij->j", w, w)
        return Gw, w2

    def _outside(self, functions: np.ndarray) -> np.ndarray:
        """w (N, n) of some functions."""
        V = self.spectrum.V
        w = product(V, -V[functions].T)
        w[functions, np.arange(len(functions))] += 1
        w -= product(V, product(V.T, w))  # once is not enough where w is small
        return w

    def _doubt(self, alphas: np.ndarray, least: np.ndarray) -> np.ndarray:
        eps = float(np.finfo(self.spectrum.values.dtype).eps)
        if self.method == "eigh":
            return eps * self.largest / alphas
        noise = eps**2 * self.largest
        free = least > interpolated(self.spectrum.values.dtype)
        leak = np.maximum(max(self.spectrum.B.shape) * noise / alphas, np.sqrt(noise / alphas))
        return np.where(free, np.sqrt(noise / (self.smallest + alphas) / self.spectrum.B.shape[1]), leak)
