"""Sums over functions, in which a fit forgets the data: ``B B'``, ``G B'``, and R of ``G' = Q R``.

They are additive: blocks of functions may come in any order, from anywhere, and sums of different data may be
merged. They hold the squares of singular values, so that directions below sqrt(eps) of the largest drown in
rounding; `TriangularSums` keeps these.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from scipy.linalg import eigh

from elmonet._blas import add_gram, product
from elmonet.solve.qr_update import qr_update
from elmonet.solve.reduced import Reduced
from elmonet.solve.span import project

__all__ = ["GramSums"]


class GramSums:
    """The sums of p1 features and q outputs of `functions` functions.

    Attributes
    ----------
    BBt : (p1, p1), the lower triangle of ``B B'``.
    GBt : (q, p1), ``G B'``.
    R : (q, q), the triangle of ``G' = Q R``; it keeps all digits, for the outputs' own modes.
    functions : how many were added.
    outside : the sum of squares of what of their outputs is not in G, because the trunk does not reach it.
    """

    method = "gram"

    def __init__(self, p1: int, q: int):
        self.BBt = np.zeros((p1, p1), order="F")
        self.GBt = np.zeros((q, p1))
        self.R = np.zeros((q, q), order="F")
        self.functions, self.outside = 0, 0.0

    def add(self, B: np.ndarray, G: np.ndarray, outside: np.ndarray | None = None) -> None:
        """Take in functions with features B (p1, n), outputs G (q, n) and norms (n,) of the rest of them."""
        add_gram(self.BBt, B)
        product(G, B.T, self.GBt, add=True)
        self.R = qr_update(self.R, np.array(G.T, order="F"))
        self.functions += B.shape[1]
        self.outside += 0.0 if outside is None else float(outside @ outside)

    def merge(self, other: GramSums) -> None:
        """Take in the functions of other sums."""
        self.BBt += other.BBt
        self.GBt += other.GBt
        self.R = qr_update(self.R, other.R.copy(order="F"), triangular=True)
        self.functions += other.functions
        self.outside += other.outside

    def arrays(self) -> dict[str, np.ndarray]:
        """All that there is, for a file or a journey."""
        numbers = {"functions": np.array(self.functions), "outside": np.array(self.outside)}
        return {"BBt": self.BBt, "GBt": self.GBt, "R": self.R} | numbers

    @classmethod
    def of(cls, arrays: dict[str, np.ndarray]) -> Self:
        """The inverse of `arrays`."""
        sums = cls.__new__(cls)
        sums.BBt, sums.R = (np.asfortranarray(arrays[name]) for name in ("BBt", "R"))
        sums.GBt, sums.functions = np.ascontiguousarray(arrays["GBt"]), arrays["functions"].item()
        sums.outside = float(arrays["outside"].item()) if "outside" in arrays else 0.0
        return sums

    def projected(self, Q: np.ndarray) -> GramSums:
        """The sums of ``Q'G``, for Q (q, r) orthonormal; what of G is outside of Q is added to `outside`."""
        QtR, norms = project(np.ascontiguousarray(Q), self.R.T, np.linalg.norm(self.R, axis=1))
        outside = np.array(self.outside + norms @ norms)
        return GramSums.of(self.arrays() | {"GBt": product(Q.T, self.GBt), "R": QtR.T, "outside": outside})

    def outputs(self) -> np.ndarray:
        """A matrix (q, k) with the left singular vectors and singular values of G."""
        return self.R.T

    def total(self) -> float:
        """``||G||^2``."""
        return float(np.sum(self.R**2))

    def reduced(self) -> Reduced:
        """From the eigenvalues of ``B B' = U S^2 U'``: ``G V = G B' U / S``, where S is not rounding."""
        values, U = eigh(self.BBt, lower=True, driver="evd", check_finite=False)
        s, U = np.sqrt(np.maximum(values[::-1], 0)), np.ascontiguousarray(U[:, ::-1])
        eps = float(np.finfo(float).eps)
        cutoff = float(np.sqrt(len(U) * eps))
        GV = product(self.GBt, U) * np.where(s > cutoff * s[0], 1 / np.maximum(s, np.finfo(float).tiny), 0)
        # A difference of squares: it cannot be told from its rounding, and no less than that is reported.
        beyond = max(self.total() - float(np.sum(GV**2)), eps * self.total())
        return Reduced(s, U, GV, beyond, self.functions, cutoff, self.method)
