"""Exact leave-one-function-out errors for every alpha, from one factorisation of B.

With ``B = U S V'`` the ridge fit of ``min ||C B - G||^2 + a ||C||^2`` is ``C B = G V F V'`` with the
filter ``F = S^2 / (S^2 + a)``. Its residuals E and leverages h are

    E     = G - G V F V'   = (G - G V V') + (G V) (I - F) V'
    1 - h = 1 - diag(V F V') = (1 - rows of V squared) + (V o V) diag(I - F)

and fitting again without function i would miss it by ``e_i / (1 - h_i)`` exactly. The first terms
vanish where V is complete, and ``I - F = a / (S^2 + a)`` has no cancellation, so the quotient is
accurate even where the fit interpolates and both its parts are tiny.

Penalising W instead of C gives row k of C its own ``a / s_k^2`` (s_k the trunk's singular values).
The rows stay independent of each other, so that all of the above holds row by row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from elmonet._blas import product

if TYPE_CHECKING:
    from elmonet.solve.spectrum import Spectrum

__all__ = ["Sweep", "left_out_residuals", "sweep"]

_BLOCK = 1 << 21  # entries of a temporary block


@dataclass
class Sweep:
    """For each alpha: norms of the leave-one-out residuals, squared residuals, and GCV scores."""

    left_out: np.ndarray  # (alphas, N): || e_i / (1 - h_i) ||
    squared: np.ndarray  # (alphas,): ||E||^2
    gcv: np.ndarray  # (alphas,): ||E||^2 / mean(1 - h)^2


def sweep(
    spectrum: Spectrum, G: np.ndarray, GV: np.ndarray, alphas: np.ndarray, penalty: np.ndarray
) -> Sweep:
    """Leave every function out, at every alpha.

    Parameters
    ----------
    G : (r, N), the outputs in the orthonormal basis of the trunk; `GV` is ``spectrum.project(G)``.
    alphas : (A,), positive.
    penalty : (1, 1), or (r, 1) if each row of C has its own factor on alpha.
    """
    N = G.shape[1]
    left_out = np.empty((len(alphas), N), G.dtype)
    squared, freedom = np.zeros(len(alphas)), np.zeros(len(alphas))
    shrinkages = [_shrinkage(spectrum, a * penalty) for a in alphas]
    step = max(64, _BLOCK // max(G.shape))
    for start in range(0, N, step):
        functions = slice(start, start + step)
        V = spectrum.right(functions)
        V2 = V**2
        outside, one_minus = _unreached(spectrum, G[:, functions], GV, V, V2)
        for j, shrink in enumerate(shrinkages):
            E = product(GV * shrink, V.T) + outside
            one_minus_h = product(shrink, V2.T) + one_minus
            squared[j] += np.einsum("ij,ij->", E, E)
            freedom[j] += one_minus_h.mean(axis=0).sum()
            E /= one_minus_h
            left_out[j, functions] = np.sqrt(np.einsum("ij,ij->j", E, E))
    return Sweep(left_out, squared, squared / (freedom / N) ** 2)


def left_out_residuals(spectrum: Spectrum, G: np.ndarray, alpha: float) -> np.ndarray:
    """By what each function is missed (r, N) if it is left out, at one alpha: ``e_i / (1 - h_i)``."""
    GV = spectrum.project(G)
    V = spectrum.right(slice(None))
    V2 = V**2
    outside, one_minus = _unreached(spectrum, G, GV, V, V2)
    shrink = _shrinkage(spectrum, np.full((1, 1), alpha))
    return (product(GV * shrink, V.T) + outside) / (product(shrink, V2.T) + one_minus)


def _shrinkage(spectrum: Spectrum, alpha: np.ndarray) -> np.ndarray:
    return (alpha / (spectrum.values + alpha)).astype(spectrum.values.dtype, copy=False)


def _unreached(
    spectrum: Spectrum, G: np.ndarray, GV: np.ndarray, V: np.ndarray, V2: np.ndarray
) -> tuple[np.ndarray | float, np.ndarray | float]:
    """What of the functions lies outside the span of V: ``G - G V V'`` and ``1 - sum V^2``."""
    if spectrum.complete:
        return 0.0, 0.0
    return G - product(GV, V.T), np.maximum(1 - V2.sum(axis=1), 0)
