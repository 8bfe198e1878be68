"""Streaming QR (TSQR): sums over functions that keep every digit.

With ``[B' G'] = Q R``, the triangular R (p1 + q, p1 + q) holds all that a fit needs of the data. More
functions are more rows, ``qr([R; rows])``; two factors merge as ``qr([R1; R2])`` (Demmel, Grigori, Hoemmen,
Langou 2012).
"""

from __future__ import annotations

from typing import Self

import numpy as np
from scipy.linalg import svd

from elmonet._blas import gram, product
from elmonet.solve.gram import GramSums
from elmonet.solve.qr_update import qr_update
from elmonet.solve.reduced import Reduced

__all__ = ["TriangularSums"]


class TriangularSums:
    """The triangle R of p1 features and q outputs of `functions` functions."""

    method = "tsqr"

    def __init__(self, p1: int, q: int):
        self.p1 = p1
        self.R = np.zeros((p1 + q, p1 + q), order="F")
        self.functions = 0

    def add(self, B: np.ndarray, G: np.ndarray) -> None:
        """Take in the functions with features B (p1, n) and outputs G (q, n)."""
        rows = np.empty((B.shape[1], len(self.R)), order="F")
        rows[:, : self.p1], rows[:, self.p1 :] = B.T, G.T
        self.R = qr_update(self.R, rows)
        self.functions += B.shape[1]

    def merge(self, other: TriangularSums) -> None:
        """Take in the functions of other sums."""
        self.R = qr_update(self.R, other.R.copy(order="F"), triangular=True)
        self.functions += other.functions

    def arrays(self) -> dict[str, np.ndarray]:
        """All that there is, for a file or a journey."""
        return {"R": self.R, "p1": np.array(self.p1), "functions": np.array(self.functions)}

    @classmethod
    def of(cls, arrays: dict[str, np.ndarray]) -> Self:
        """The inverse of `arrays`."""
        sums = cls.__new__(cls)
        sums.R, sums.p1 = np.asfortranarray(arrays["R"]), arrays["p1"].item()
        sums.functions = arrays["functions"].item()
        return sums

    def gram(self) -> GramSums:
        """The sums that forget the small directions, but cost less to go on with."""
        R1, R2 = self.R[:, : self.p1], self.R[:, self.p1 :]
        sums = GramSums(self.p1, R2.shape[1])
        sums.BBt, sums.GBt = gram(R1.T), product(R2.T, R1)
        sums.R = qr_update(sums.R, np.array(R2, order="F"))
        sums.functions = self.functions
        return sums

    def projected(self, Q: np.ndarray) -> TriangularSums:
        """The sums of ``Q'G``, for Q (q, r) orthonormal; R is no longer triangular in its last columns."""
        features, outputs = self.R[:, : self.p1], product(self.R[:, self.p1 :], np.ascontiguousarray(Q))
        return TriangularSums.of(self.arrays() | {"R": np.hstack([features, outputs])})

    def outputs(self) -> np.ndarray:
        """A matrix (q, k) with the left singular vectors and singular values of G."""
        return self.R[:, self.p1 :].T

    def reduced(self) -> Reduced:
        """With ``R = [[R1, R2], [0, R3]]`` and ``R1 = Y S U'``: ``B = U S V'`` with ``G V = R2' Y``."""
        R1, R2 = self.R[: self.p1, : self.p1], self.R[: self.p1, self.p1 :]
        Y, s, Ut = svd(R1)
        cutoff = len(R1) * float(np.finfo(float).eps)
        kept = s > cutoff * s[0]
        GV = product(R2.T, Y)
        outside = float(np.sum(self.R[self.p1 :, self.p1 :] ** 2) + np.sum(GV[:, ~kept] ** 2))
        return Reduced(s[kept] ** 2, Ut[kept].T, GV[:, kept], outside, self.functions, cutoff, self.method)
