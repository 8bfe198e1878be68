"""Leave-one-out in a second pass over functions that were summed up."""

from __future__ import annotations

import numpy as np

from elmonet._blas import product
from elmonet.metrics import reference_norms
from elmonet.solve.factor import PRIMAL_ROUNDING, Factor, trusted

__all__ = ["LeftOut"]

_EPS = float(np.finfo(np.float64).eps)


class LeftOut:
    """Leave-one-out errors at a few alphas, gathered in a second pass over the functions.

    factor, alphas : of `solve_sums`; points : at how many the outputs are known.
    """

    def __init__(self, factor: Factor, alphas: np.ndarray, points: int):
        self.factor, self.alphas, self.points = factor, alphas, points
        self.coefficients = [factor.coefficients(None, float(alpha)) for alpha in alphas]

    def totals(self, B: np.ndarray, G: np.ndarray, outside: np.ndarray, norms: np.ndarray) -> np.ndarray:
        """Sums over some functions: the errors at every alpha, and how many functions; (alphas + 1,).

        For functions with features B (p1, n) and outputs G (q, n) in the basis of the trunk. `outside` (n,)
        are the norms of what the trunk misses (`Span.project`), `norms` (n,) those of the whole outputs. For
        outputs at a single point, errors and norms are squared, and the sum of the latter stands for the
        number. An alpha at which rounding hides a function's ``1 - h`` has the error Inf.
        """
        sizes = norms if self.points == 1 else reference_norms(norms)
        found = np.empty((len(self.alphas), B.shape[1]))
        for row, alpha, C in zip(found, self.alphas, self.coefficients, strict=True):
            E = G - product(C, B)
            one_minus_h = np.maximum(1 - self.factor.leverage(B, float(alpha)), _EPS)
            missed = np.hypot(np.sqrt(np.einsum("ki,ki->i", E, E)) / one_minus_h, outside)
            doubt = self._rounding(B, float(alpha)) / one_minus_h
            row[:] = np.where(trusted(doubt, missed / np.where(sizes > 0, sizes, 1)), missed, np.inf)
        if self.points == 1:
            return np.append(np.sum(found**2, axis=1), np.sum(norms**2))
        return np.append(np.sum(found / sizes, axis=1), len(norms))

    def best(self, totals: np.ndarray) -> tuple[float, float | None]:
        """The alpha of least error and that error, from the totals of all functions.

        If rounding hides the errors at every alpha: the middle one, and None.
        """
        errors = totals[:-1] / (totals[-1] or 1.0)
        first = int(np.argmin(errors))
        if not np.isfinite(errors[first]):
            return float(self.alphas[len(self.alphas) // 2]), None
        error = float(errors[first])
        return float(self.alphas[first]), float(np.sqrt(error)) if self.points == 1 else error

    def _rounding(self, B: np.ndarray, alpha: float) -> np.ndarray:
        """Of h: a Gram matrix is wrong by ``eps s_max^2``, a triangle by ``eps`` in each ``u_k' b``."""
        if self.factor.method == "gram":
            return np.full(B.shape[1], PRIMAL_ROUNDING * self.factor.largest / alpha)
        return _EPS * np.sqrt(np.einsum("ki,ki->i", B, B) / alpha)
