"""What is left of the data once all functions are summed up: a ridge at any alpha, and its GCV score.

With ``B B' = U S^2 U'`` the fit of ``min ||C B - G||^2 + a ||C||^2`` and its leverages are

    C = G B' U / (S^2 + a) U' ,      h_i = ||(S^2 + a)^-1/2 U' b_i||^2 ,      sum_i h_i = sum_k s_k^2 / (s_k^2 + a) .

The sum of squared residuals is ``||G - G V V'||^2 + ||G V a / (S^2 + a)||^2`` if ``G V = G B' U / S`` is known to all digits
(streaming QR). Gram sums know it as ``||G||^2 - 2 <C, G B'> + ||C B||^2``: a difference of squares, which cannot be told
from ``eps ||G|| (||G|| + s_max ||C||)``, so that no less than this is reported.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from elmonet._blas import product
from elmonet.solve.factor import Sweep

__all__ = ["Reduced", "difference_of_squares"]

_EPS = float(np.finfo(np.float64).eps)


class Reduced:
    """A `Factor` of sums: it has the outputs in it, and no functions to leave out but those it is shown.

    Attributes
    ----------
    values : (p1,), squared singular values of B, descending.
    U : (p1, p1), left singular vectors.
    GBU : (q, p1), ``G B' U``.
    total : ``||G||^2``.
    energy, beyond : (p1,), the squared norms of the columns of ``G V``, and ``||G - G V V'||^2``; energy is None if
        only Gram sums are known.
    functions : N.
    cutoff : singular values below this part of the largest are rounding.
    method : "gram" or "tsqr".
    """

    def __init__(
        self,
        values: np.ndarray,
        U: np.ndarray,
        GBU: np.ndarray,
        *,
        total: float,
        functions: int,
        cutoff: float,
        method: str,
        energy: np.ndarray | None = None,
        beyond: float = 0.0,
    ):
        self.values, self.U, self.GBU = np.maximum(values, 0), U, GBU
        self.total, self.functions, self.energy, self.beyond = total, functions, energy, beyond
        self.cutoff, self.method, self.largest = cutoff, method, float(self.values[0])
        self.rank = int(np.count_nonzero(self.values > cutoff**2 * self.largest))

    def condition(self, alpha: float) -> float:
        """``sqrt((s_max^2 + alpha) / (s_min^2 + alpha))``."""
        smallest = float(self.values[-1] if alpha > 0 else self.values[max(self.rank, 1) - 1])
        return float(np.sqrt((self.largest + alpha) / (smallest + alpha))) if self.largest else 1.0

    def coefficients(self, G: Any, alpha: float) -> np.ndarray:
        """C (q, p1) for the outputs that were summed up; `G` is not needed."""
        return product(self.GBU * self._filter(alpha), self.U.T)

    def leverage(self, B: np.ndarray, alpha: float) -> np.ndarray:
        """``sum_k (u_k' b)^2 / (s_k^2 + alpha)``."""
        Z = product(self.U.T, B)
        return np.einsum("ki,ki,k->i", Z, Z, self._filter(alpha), optimize=True)

    def left_out(self, G: np.ndarray, alpha: Any) -> np.ndarray:
        """Not to be had from sums."""
        raise NotImplementedError("sums over functions cannot leave one out; see LeftOut")

    def sweep(self, G: Any, alphas: np.ndarray, penalty: np.ndarray) -> Sweep:
        """The squared residual and the GCV score at each alpha."""
        alphas = alphas * penalty.item()
        filters = np.array([self._filter(a) for a in alphas])
        shrink = 1 - self.values * filters
        if self.energy is None:
            # C = GBU filter U': ||C||^2, and 2 <C, G B'> - ||C B||^2
            weight = np.sum(self.GBU**2, axis=0)
            fitted = (2 * filters - self.values * filters**2) @ weight
            squared = difference_of_squares(self.total, fitted, filters**2 @ weight, self.largest)
        else:
            shrink = np.where(filters > 0, alphas[:, None] * filters, 1)
            squared = self.beyond + shrink**2 @ self.energy
        freedom = (self.functions - len(self.values) + shrink.sum(axis=1)) / self.functions
        freedom = np.maximum(freedom, _EPS)
        return Sweep(squared, squared / freedom**2, np.zeros(len(alphas)))

    def _filter(self, alpha: float) -> np.ndarray:
        """``1 / (s_k^2 + alpha)``, and 0 where all of that is rounding."""
        floor = self.cutoff**2 * self.largest if self.energy is None or alpha == 0 else 0.0
        shifted = self.values + alpha
        return np.where(shifted > floor, 1 / np.where(shifted > floor, shifted, 1), 0)


def difference_of_squares(total: float, fitted: Any, CC: Any, largest: float) -> Any:
    """``||G||^2 - fitted``, and no less than what rounding makes of it, with CC = ``||C||^2``."""
    return np.maximum(total - fitted, _EPS * np.sqrt(total) * (np.sqrt(total) + np.sqrt(largest * CC)))
