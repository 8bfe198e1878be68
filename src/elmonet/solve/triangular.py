"""Streaming QR (TSQR): sums over functions that keep every digit.

With ``[B' G'] = Q R``, the triangular R (p1 + q, p1 + q) holds all that a fit needs of the data. More
functions are more rows, ``qr([R; rows])``; two factors merge as ``qr([R1; R2])`` (Demmel, Grigori, Hoemmen,
Langou 2012). While there are no more functions than R has rows, their own rows ``[B' G']`` are kept in it
as they came: that costs nothing, and a fit of few functions is then the ordinary one.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from scipy.linalg import svd

from elmonet._blas import gram, product
from elmonet.solve.gram import GramSums
from elmonet.solve.qr_update import qr_update
from elmonet.solve.reduced import Reduced
from elmonet.solve.span import project

__all__ = ["TriangularSums"]


class TriangularSums:
    """The triangle R of p1 features and q outputs of `functions` functions, or these functions themselves.

    Attributes
    ----------
    R : (p1 + q, p1 + q), the triangle; or, if `raw`, a row for each function, and zeros below.
    beyond : (p1 + q,), if `raw`: norms of what of each output is not in G, as the trunk does not reach it.
    outside : the sum of the squares of these, over all functions.
    """

    method = "tsqr"

    def __init__(self, p1: int, q: int):
        self.p1, self.functions, self.outside = p1, 0, 0.0
        self.R, self.beyond, self.raw = np.zeros((p1 + q, p1 + q), order="F"), np.zeros(p1 + q), True

    def add(self, B: np.ndarray, G: np.ndarray, outside: np.ndarray | None = None) -> None:
        """Take in functions with features B (p1, n), outputs G (q, n) and norms (n,) of the rest of these."""
        rows = np.empty((B.shape[1], len(self.R)), order="F")
        rows[:, : self.p1], rows[:, self.p1 :] = B.T, G.T
        self._take(rows, np.zeros(len(rows)) if outside is None else outside)

    def merge(self, other: TriangularSums) -> None:
        """Take in the functions of other sums."""
        if other.raw:
            self._take(other.R[: other.functions].copy(order="F"), other.beyond[: other.functions])
            return
        self._settle()
        self.R = qr_update(self.R, other.R.copy(order="F"), triangular=True)
        self.functions += other.functions
        self.outside += other.outside

    @property
    def rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """B (p1, N), G (q, N) and the norms of what is outside (N,), as long as they are kept."""
        if not self.raw:
            return None
        rows = np.asfortranarray(self.R[: self.functions])
        return rows[:, : self.p1].T, rows[:, self.p1 :].T, self.beyond[: self.functions]

    def arrays(self) -> dict[str, np.ndarray]:
        """All that there is, for a file or a journey."""
        arrays = {"R": self.R, "p1": np.array(self.p1), "functions": np.array(self.functions)}
        return arrays | {"outside": np.array(self.outside)} | ({"beyond": self.beyond} if self.raw else {})

    @classmethod
    def of(cls, arrays: dict[str, np.ndarray]) -> Self:
        """The inverse of `arrays`."""
        sums = cls(arrays["p1"].item(), 0)
        sums.R, sums.functions = np.asfortranarray(arrays["R"]), arrays["functions"].item()
        sums.outside = float(arrays["outside"].item()) if "outside" in arrays else 0.0
        sums.raw, sums.beyond = "beyond" in arrays, arrays.get("beyond", sums.beyond)
        return sums

    def gram(self) -> GramSums:
        """The sums that forget the small directions, but cost less to go on with."""
        R1, R2 = self.R[:, : self.p1], self.R[:, self.p1 :]
        sums = GramSums(self.p1, R2.shape[1])
        sums.BBt, sums.GBt = gram(R1.T), product(R2.T, R1)
        sums.R = qr_update(sums.R, np.array(R2, order="F"))
        sums.functions, sums.outside = self.functions, self.outside
        return sums

    def projected(self, Q: np.ndarray) -> TriangularSums:
        """The sums of ``Q'G``, for Q (q, r) orthonormal; what of G is outside of Q is added to `outside`.

        R is no longer triangular in its last columns.
        """
        G = self.R[:, self.p1 :].T
        QtG, norms = project(np.ascontiguousarray(Q), G, np.linalg.norm(G, axis=0))
        arrays = self.arrays() | {"R": np.hstack([self.R[:, : self.p1], QtG.T])}
        arrays["outside"] = np.array(self.outside + norms @ norms)
        return TriangularSums.of(arrays | ({"beyond": np.hypot(self.beyond, norms)} if self.raw else {}))

    def outputs(self) -> np.ndarray:
        """A matrix (q, k) with the left singular vectors and singular values of G."""
        return self.R[: self.functions if self.raw else None, self.p1 :].T

    def total(self) -> float:
        """``||G||^2``."""
        return float(np.sum(self.R[:, self.p1 :] ** 2))

    def reduced(self) -> Reduced:
        """With ``R = [[R1, R2], [0, R3]]`` and ``R1 = Y S U'``: ``B = U S V'`` with ``G V = R2' Y``."""
        R = qr_update(np.zeros_like(self.R), self.R.copy(order="F")) if self.raw else self.R
        R1, R2 = R[: self.p1, : self.p1], R[: self.p1, self.p1 :]
        Y, s, Ut = svd(R1, check_finite=False)
        beyond = float(np.sum(R[self.p1 :, self.p1 :] ** 2))
        cutoff = len(R1) * float(np.finfo(float).eps)
        return Reduced(s, Ut.T, product(R2.T, Y), beyond, self.functions, cutoff, self.method)

    def _take(self, rows: np.ndarray, norms: np.ndarray) -> None:
        here = slice(self.functions, self.functions + len(rows))
        if self.raw and here.stop <= len(self.R):
            self.R[here], self.beyond[here] = rows, norms
        else:
            self._settle()
            self.R = qr_update(self.R, rows)
        self.functions += len(rows)
        self.outside += float(norms @ norms)

    def _settle(self) -> None:
        """From the functions themselves to the triangle."""
        if self.raw:
            rows = self.R[: self.functions].copy(order="F")
            self.R, self.raw = qr_update(np.zeros_like(self.R), rows), False
