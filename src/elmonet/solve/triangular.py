"""Streaming QR (TSQR): sums over functions that keep every digit.

With ``[B' G'] = Q R``, the triangular R (p1 + q, p1 + q) holds all that a fit needs of the data. More
functions are more rows, ``qr([R; rows])``; two factors merge as ``qr([R1; R2])`` (Demmel, Grigori, Hoemmen,
Langou 2012). As long as there are no more functions than rows in R, their own rows ``[B' G']`` are kept as they came:
that costs nothing, and a fit of few functions is then the ordinary one.
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

    `outside` is the sum of squares of what of their outputs is not in G, because the trunk does not reach it.
    """

    method = "tsqr"

    def __init__(self, p1: int, q: int):
        self.p1, self.width = p1, p1 + q
        self.functions, self.outside = 0, 0.0
        self._rows: list[np.ndarray] | None = []  # of functions as they came, until there are too many
        self._beyond: list[np.ndarray] = []  # the norms of what is outside, of each of them
        self._R = np.zeros((0, self.width), order="F")

    def add(self, B: np.ndarray, G: np.ndarray, outside: np.ndarray | None = None) -> None:
        """Take in functions with features B (p1, n) and outputs G (q, n); `outside` (n,): norms of the rest."""
        rows = np.empty((B.shape[1], self.width), order="F")
        rows[:, : self.p1], rows[:, self.p1 :] = B.T, G.T
        self._take([rows], [np.zeros(len(rows)) if outside is None else outside])

    def merge(self, other: TriangularSums) -> None:
        """Take in the functions of other sums."""
        if other._rows is not None:
            self._take(other._rows, other._beyond)
            return
        self._settle()
        self._R = qr_update(self._R, other._R.copy(order="F"), triangular=True)
        self.functions += other.functions
        self.outside += other.outside

    @property
    def rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """B (p1, N), G (q, N) and the norms of what is outside (N,), as long as they are kept."""
        if self._rows is None:
            return None
        R = self.R
        return R[:, : self.p1].T, R[:, self.p1 :].T, np.concatenate([np.zeros(0), *self._beyond])

    @property
    def R(self) -> np.ndarray:
        """The triangle (p1 + q, p1 + q), or the rows (N, p1 + q) of the functions as they came."""
        if self._rows:
            self._rows = [np.asfortranarray(np.vstack(self._rows)) if len(self._rows) > 1 else self._rows[0]]
            return self._rows[0]
        return self._R

    def arrays(self) -> dict[str, np.ndarray]:
        """All that there is, for a file or a journey."""
        arrays = {"R": self.R, "p1": np.array(self.p1), "functions": np.array(self.functions)}
        if self._rows is not None:
            return arrays | {"beyond": np.concatenate([np.zeros(0), *self._beyond])}
        return arrays | {"outside": np.array(self.outside)}

    @classmethod
    def of(cls, arrays: dict[str, np.ndarray]) -> Self:
        """The inverse of `arrays`."""
        p1, R = arrays["p1"].item(), np.asfortranarray(arrays["R"])
        sums = cls(p1, R.shape[1] - p1)
        if "beyond" in arrays:
            sums._take([R], [arrays["beyond"]])
            return sums
        sums._rows, sums._R, sums.functions = None, R, arrays["functions"].item()
        sums.outside = float(arrays["outside"].item()) if "outside" in arrays else 0.0
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
        """The sums of ``Q'G``, for Q (q, r) orthonormal; R is no longer triangular in its last columns.

        What of G is outside of Q is added to `outside`.
        """
        G = self.R[:, self.p1 :].T
        QtG, norms = project(np.ascontiguousarray(Q), G, np.linalg.norm(G, axis=0))
        arrays = self.arrays() | {"R": np.hstack([self.R[:, : self.p1], QtG.T])}
        if "beyond" in arrays:
            return TriangularSums.of(arrays | {"beyond": np.hypot(arrays["beyond"], norms)})
        return TriangularSums.of(arrays | {"outside": np.array(self.outside + norms @ norms)})

    def outputs(self) -> np.ndarray:
        """A matrix (q, k) with the left singular vectors and singular values of G."""
        return self.R[:, self.p1 :].T

    def total(self) -> float:
        """``||G||^2``."""
        return float(np.sum(self.R[:, self.p1 :] ** 2))

    def reduced(self) -> Reduced:
        """With ``R = [[R1, R2], [0, R3]]`` and ``R1 = Y S U'``: ``B = U S V'`` with ``G V = R2' Y``."""
        R = self.R if self._rows is None else self._triangle()
        R1, R2 = R[: self.p1, : self.p1], R[: self.p1, self.p1 :]
        Y, s, Ut = svd(R1, check_finite=False)
        beyond = float(np.sum(R[self.p1 :, self.p1 :] ** 2))
        cutoff = len(R1) * float(np.finfo(float).eps)
        return Reduced(s, Ut.T, product(R2.T, Y), beyond, self.functions, cutoff, self.method)

    def _take(self, rows: list[np.ndarray], beyond: list[np.ndarray]) -> None:
        for block, norms in zip(rows, beyond, strict=True):
            self.functions += len(block)
            self.outside += float(norms @ norms)
            if self._rows is not None and self.functions <= self.width:
                self._rows.append(block)
                self._beyond.append(norms)
            else:
                self._settle()
                self._R = qr_update(self._R, block.copy(order="F"))

    def _settle(self) -> None:
        """From the functions themselves to the triangle."""
        if self._rows is not None:
            self._R, self._rows, self._beyond = self._triangle(), None, []

    def _triangle(self) -> np.ndarray:
        R = np.zeros((self.width, self.width), order="F")
        return qr_update(R, self.R.copy(order="F"))
