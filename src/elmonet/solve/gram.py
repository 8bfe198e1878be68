"""Sums over functions, in which a fit forgets the data: ``B B'``, ``G B'``, and R of ``G' = Q R``.

They are additive: blocks of functions may come in any order, from anywhere, and sums of different data may be
merged. They hold the squares of singular values, so that directions below sqrt(eps) of the largest drown in
rounding; `TriangularSums` keeps these.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from scipy.linalg import eigh, get_lapack_funcs

from elmonet._blas import add_gram, product
from elmonet.solve.qr_update import qr_update
from elmonet.solve.reduced import Reduced

__all__ = ["GramSums"]


class GramSums:
    """The sums of p1 features and q outputs of `functions` functions.

    Attributes
    ----------
    BBt : (p1, p1), the lower triangle of ``B B'``.
    GBt : (q, p1), ``G B'``.
    R : (q, q), the triangle of ``G' = Q R``; it keeps all digits, for the outputs' own modes.
    functions : how many were added.
    """

    method = "gram"

    def __init__(self, p1: int, q: int):
        self.BBt = np.zeros((p1, p1), order="F")
        self.GBt = np.zeros((q, p1))
        self.R = np.zeros((q, q), order="F")
        self.functions = 0

    def add(self, B: np.ndarray, G: np.ndarray) -> None:
        """Take in the functions with features B (p1, n) and outputs G (q, n)."""
        add_gram(self.BBt, B)
        product(G, B.T, self.GBt, add=True)
        self.R = qr_update(self.R, np.array(G.T, order="F"))
        self.functions += B.shape[1]

    def merge(self, other: GramSums) -> None:
        """Take in the functions of other sums."""
        self.BBt += other.BBt
        self.GBt += other.GBt
        self.R = qr_update(self.R, other.R.copy(order="F"), triangular=True)
        self.functions += other.functions

    def arrays(self) -> dict[str, np.ndarray]:
        """All that there is, for a file or a journey."""
        return {
            "BBt": self.BBt,
            "GBt": self.GBt,
            "R": self.R,
            "functions": np.array(self.functions),
        }

    @classmethod
    def of(cls, arrays: dict[str, np.ndarray]) -> Self:
        """The inverse of `arrays`."""
        sums = cls.__new__(cls)
        sums.BBt, sums.R = (np.asfortranarray(arrays[name]) for name in ("BBt", "R"))
        sums.GBt, sums.functions = np.ascontiguousarray(arrays["GBt"]), arrays["functions"].item()
        return sums

    def projected(self, Q: np.ndarray) -> GramSums:
        """The sums of ``Q'G``, for Q (q, r) orthonormal."""
        return GramSums.of(
            self.arrays() | {"GBt": product(Q.T, self.GBt), "R": product(self.R, np.ascontiguousarray(Q))}
        )

    def outputs(self) -> np.ndarray:
        """A matrix (q, k) with the left singular vectors and singular values of G."""
        return self.R.T

    def at(self, alpha: float) -> tuple[np.ndarray, float, float, float] | None:
        """At one alpha, by Cholesky: C, ``||C B - G||^2``, ``1 - mean h``, condition; None if singular."""
        potrf, potrs, potri = get_lapack_funcs(("potrf", "potrs", "potri"), (self.BBt,))
        diagonal = self.BBt.diagonal() + alpha
        shifted = self.BBt.copy(order="F")
        np.fill_diagonal(shifted, diagonal)
        L, failed = potrf(shifted, lower=True, overwrite_a=True, clean=False)
        if failed:
            return None
        condition = float(np.sqrt(diagonal.sum()) / np.abs(L.diagonal()).min())
        C = potrs(L, self.GBt.T, lower=True)[0].T
        # At the minimum ||C B - G||^2 + alpha ||C||^2 = ||G||^2 - <C, G B'>.
        squared = float(np.sum(self.R**2) - np.sum(C * self.GBt) - alpha * np.sum(C**2))
        trace = float(np.trace(potri(L, lower=True, overwrite_c=True)[0]))
        freedom = (self.functions - len(diagonal) + alpha * trace) / self.functions
        return C, max(squared, 0.0), max(freedom, np.finfo(float).eps), condition

    def reduced(self) -> Reduced:
        """From the eigenvalues of ``B B' = U S^2 U'``: ``G V = G B' U / S``."""
        values, U = eigh(self.BBt, lower=True, driver="evd")
        values, U = np.maximum(values[::-1], 0), U[:, ::-1]
        cutoff = float(np.sqrt(len(U) * np.finfo(float).eps))
        kept = np.sqrt(values) > cutoff * np.sqrt(values[0])
        U, values = U[:, kept], values[kept]
        GV = product(self.GBt, np.ascontiguousarray(U)) / np.sqrt(values)
        outside = max(float(np.sum(self.R**2)) - float(np.sum(GV**2)), 0.0)
        return Reduced(values, U, GV, outside, self.functions, cutoff, self.method)
