"""Sums over functions, from which a fit in blocks is solved: Gram matrices, or a streaming QR (TSQR)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.linalg import eigh, get_lapack_funcs, svd

from elmonet.linalg import add_gram, gram, is_beside_others, product
from elmonet.solve.factor import PRIMAL_ROUNDING, Factor, Sweep, condition
from elmonet.solve.problem import project

_LAPACK_BLOCK = 64  # columns that tpqrt factorises together
_EPS = float(np.finfo(np.float64).eps)


def qr_update(R: np.ndarray, rows: np.ndarray, triangular: bool = False) -> np.ndarray:
    """Return the R of ``qr([R; rows])`` for R (k, k) upper triangular and rows (n, k), full or `triangular`.

    Both are overwritten if Fortran-ordered.
    """
    if not rows.size:
        return R
    if is_beside_others():  # NumPy's QR releases the interpreter lock
        return np.asfortranarray(np.linalg.qr(np.vstack([R, rows]), mode="r"))
    (tpqrt,) = get_lapack_funcs(("tpqrt",), (R,))
    step = min(_LAPACK_BLOCK, len(R))
    R, *_ = tpqrt(len(rows) if triangular else 0, step, R, rows, overwrite_a=True, overwrite_b=True)
    return R


class Reduced(Factor):
    """The spectrum of sums: it includes the outputs, and holds no functions that could be left out.

    Attributes
    ----------
    s : (p1,), the singular values of B, descending.
    U : (p1, p1), left singular vectors.
    GV : (q, p1), the outputs in the basis of right singular vectors.
    beyond : ``||G - G V V'||^2``.
    functions : N.
    cutoff : singular values below this part of the largest are rounding.
    method : "tsqr", or "gram", which resolves nothing below the cut-off.
    """

    rank: int

    def __init__(
        self,
        s: np.ndarray,
        U: np.ndarray,
        GV: np.ndarray,
        beyond: float,
        functions: int,
        cutoff: float,
        method: str,
    ):
        self.s, self.values, self.U, self.GV = s, s**2, U, GV
        self.beyond, self.functions, self.cutoff, self.method = beyond, functions, cutoff, method
        self.largest = float(self.values[0])
        self.rank = int(np.count_nonzero(s > cutoff * s[0]))

    def condition(self, alpha: float) -> float:
        """Return ``sqrt((s_max^2 + alpha) / (s_min^2 + alpha))``, s_min above the cut-off if alpha is 0."""
        return condition(self.largest, float(self.values[-1 if alpha > 0 else max(self.rank, 1) - 1]), alpha)

    def coefficients(self, G: Any, alpha: Any) -> np.ndarray:
        """Return C (q, p1) for the outputs in the sums; `G` is ignored."""
        return product(self.GV * (self.s * self._filter(alpha)), self.U.T)

    def rotated(self, B: np.ndarray) -> np.ndarray:
        """Return what `half` needs of features B (p1, n), for any alpha: ``U'B``."""
        return product(self.U.T, B)

    def half(self, rotated: np.ndarray, alpha: float) -> np.ndarray:
        """Return Z (p1, n) with ``Z'Z = H = B' (B B' + alpha)^-1 B`` of some features, see `rotated`."""
        return rotated * np.sqrt(self._filter(alpha))[:, None]

    def root(self, S: np.ndarray, alpha: float) -> np.ndarray:
        """Return ``S U (S^2 + alpha)^-1/2 U'``."""
        return product(product(S, self.U) * np.sqrt(self._filter(alpha)), self.U.T)

    def sweep(self, G: Any, alphas: np.ndarray, penalty: np.ndarray) -> Sweep:
        """Return the squared residual and the GCV score at each alpha."""
        filters = np.array([self._filter(a) for a in alphas])
        shrink = np.where(filters > 0, alphas[:, None] * filters, 1)
        squared = self.beyond + shrink**2 @ np.sum(self.GV**2, axis=0)
        freedom = (self.functions - len(self.s) + shrink.sum(axis=1)) / self.functions
        least = np.where(alphas > 0, alphas, self.values[max(self.rank, 1) - 1] or 1.0)
        freedom, parts = np.maximum(freedom, _EPS), self.largest / least
        doubt = PRIMAL_ROUNDING * parts if self.method == "gram" else _EPS * np.sqrt(parts / self.functions)
        return Sweep(squared, squared / freedom**2, doubt / freedom)

    def _filter(self, alpha: Any) -> np.ndarray:
        """Return ``1 / (s_k^2 + alpha)``, and 0 where that is rounding."""
        floor = self.cutoff**2 * self.largest if self.method == "gram" or alpha == 0 else 0.0
        shifted = self.values + alpha
        return np.where(shifted > floor, 1 / np.where(shifted > floor, shifted, 1), 0)


class GramSums:
    """Gram sums of p1 features and q outputs.

    Attributes
    ----------
    BBt : (p1, p1), the lower triangle of ``B B'``.
    GBt : (q, p1), ``G B'``.
    R : (q, q), the triangle of ``G' = Q R``; it keeps all digits, for the outputs' own modes.
    functions : the number of functions added.
    outside : the sum of squares of the part of the outputs outside the trunk's span, which is not in G.
    """

    method = "gram"

    def __init__(self, p1: int, q: int):
        self.BBt = np.zeros((p1, p1), order="F")
        self.GBt = np.zeros((q, p1))
        self.R = np.zeros((q, q), order="F")
        self.functions, self.outside = 0, 0.0

    def add(self, B: np.ndarray, G: np.ndarray, outside: np.ndarray | None = None) -> None:
        """Add functions with features B (p1, n), outputs G (q, n) and norms (n,) outside the trunk's span."""
        add_gram(self.BBt, B)
        product(G, B.T, self.GBt, add=True)
        self.R = qr_update(self.R, np.array(G.T, order="F"))
        self.functions += B.shape[1]
        self.outside += 0.0 if outside is None else float(outside @ outside)

    def merge(self, other: GramSums) -> None:
        """Add the functions of other sums."""
        self.BBt += other.BBt
        self.GBt += other.GBt
        self.R = qr_update(self.R, other.R.copy(order="F"), triangular=True)
        self.functions += other.functions
        self.outside += other.outside

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the state as arrays, for a file or another process."""
        numbers = {"functions": np.array(self.functions), "outside": np.array(self.outside)}
        return {"BBt": self.BBt, "GBt": self.GBt, "R": self.R} | numbers

    @classmethod
    def of(cls, arrays: dict[str, np.ndarray]) -> Self:
        """Return the sums with this state; the inverse of `arrays`."""
        sums = cls.__new__(cls)
        sums.BBt, sums.R = (np.asfortranarray(arrays[name]) for name in ("BBt", "R"))
        sums.GBt, sums.functions = np.ascontiguousarray(arrays["GBt"]), arrays["functions"].item()
        sums.outside = float(arrays["outside"].item()) if "outside" in arrays else 0.0
        return sums

    def projected(self, Q: np.ndarray) -> GramSums:
        """Return the sums of ``Q'G``, for Q (q, r) orthonormal; the rest of G is added to `outside`."""
        QtR, norms = project(np.ascontiguousarray(Q), self.R.T, np.linalg.norm(self.R, axis=1))
        outside = np.array(self.outside + norms @ norms)
        return GramSums.of(self.arrays() | {"GBt": product(Q.T, self.GBt), "R": QtR.T, "outside": outside})

    def outputs(self) -> np.ndarray:
        """Return a matrix (q, k) with the left singular vectors and singular values of G."""
        return self.R.T

    def total(self) -> float:
        """Return ``||G||^2``."""
        return float(np.sum(self.R**2))

    def reduced(self) -> Reduced:
        """Reduce by eigenvalues, ``B B' = U S^2 U'``: ``G V = G B' U / S``, where S is not rounding."""
        values, U = eigh(self.BBt, lower=True, driver="evd", check_finite=False)
        s, U = np.sqrt(np.maximum(values[::-1], 0)), np.ascontiguousarray(U[:, ::-1])
        cutoff = float(np.sqrt(len(U) * _EPS))
        GV = product(self.GBt, U) * np.where(s > cutoff * s[0], 1 / np.maximum(s, np.finfo(float).tiny), 0)
        # The difference of squares is known to rounding only: report no less than that.
        beyond = max(self.total() - float(np.sum(GV**2)), _EPS * self.total())
        return Reduced(s, U, GV, beyond, self.functions, cutoff, self.method)


class TriangularSums:
    """The QR triangle R of p1 features and q outputs, or, as long as they are few, the functions themselves.

    Attributes
    ----------
    R : (p1 + q, p1 + q), the triangle; or, if `raw`, a row for each function, and zeros below.
    beyond : (p1 + q,), if `raw`: the norm of each output outside the trunk's span, which is not in G.
    functions : the number of functions added.
    outside : the sum of squares of the part of the outputs outside the trunk's span, over all functions.
    """

    method = "tsqr"

    def __init__(self, p1: int, q: int):
        self.p1, self.functions, self.outside = p1, 0, 0.0
        self.R, self.beyond, self.raw = np.zeros((p1 + q, p1 + q), order="F"), np.zeros(p1 + q), True

    def add(self, B: np.ndarray, G: np.ndarray, outside: np.ndarray | None = None) -> None:
        """Add functions with features B (p1, n), outputs G (q, n) and norms (n,) outside the trunk's span."""
        rows = np.empty((B.shape[1], len(self.R)), order="F")
        rows[:, : self.p1], rows[:, self.p1 :] = B.T, G.T
        self._append(rows, np.zeros(len(rows)) if outside is None else outside)

    def merge(self, other: TriangularSums) -> None:
        """Add the functions of other sums."""
        if other.raw:
            self._append(other.R[: other.functions].copy(order="F"), other.beyond[: other.functions])
            return
        self._triangularise()
        self.R = qr_update(self.R, other.R.copy(order="F"), triangular=True)
        self.functions += other.functions
        self.outside += other.outside

    @property
    def rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """B (p1, N), G (q, N) and the norms outside the trunk's span (N,); None once they are a triangle."""
        if not self.raw:
            return None
        rows = np.asfortranarray(self.R[: self.functions])
        return rows[:, : self.p1].T, rows[:, self.p1 :].T, self.beyond[: self.functions]

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the state as arrays, for a file or another process."""
        arrays = {"R": self.R, "p1": np.array(self.p1), "functions": np.array(self.functions)}
        return arrays | {"outside": np.array(self.outside)} | ({"beyond": self.beyond} if self.raw else {})

    @classmethod
    def of(cls, arrays: dict[str, np.ndarray]) -> Self:
        """Return the sums with this state; the inverse of `arrays`."""
        sums = cls(arrays["p1"].item(), 0)
        sums.R, sums.functions = np.asfortranarray(arrays["R"]), arrays["functions"].item()
        sums.outside = float(arrays["outside"].item()) if "outside" in arrays else 0.0
        sums.raw, sums.beyond = "beyond" in arrays, arrays.get("beyond", sums.beyond)
        return sums

    def gram(self) -> GramSums:
        """Return these as Gram sums, which lose the small directions but cost less to continue."""
        R1, R2 = self.R[:, : self.p1], self.R[:, self.p1 :]
        sums = GramSums(self.p1, R2.shape[1])
        sums.BBt, sums.GBt = gram(R1.T), product(R2.T, R1)
        sums.R = qr_update(sums.R, np.array(R2, order="F"))
        sums.functions, sums.outside = self.functions, self.outside
        return sums

    def projected(self, Q: np.ndarray) -> TriangularSums:
        """Return the sums of ``Q'G``, for Q (q, r) orthonormal; the rest of G is added to `outside`.

        The last columns of R are no longer triangular.
        """
        G = self.R[:, self.p1 :].T
        QtG, norms = project(np.ascontiguousarray(Q), G, np.linalg.norm(G, axis=0))
        arrays = self.arrays() | {"R": np.hstack([self.R[:, : self.p1], QtG.T])}
        arrays["outside"] = np.array(self.outside + norms @ norms)
        return TriangularSums.of(arrays | ({"beyond": np.hypot(self.beyond, norms)} if self.raw else {}))

    def outputs(self) -> np.ndarray:
        """Return a matrix (q, k) with the left singular vectors and singular values of G."""
        return self.R[: self.functions if self.raw else None, self.p1 :].T

    def total(self) -> float:
        """Return ``||G||^2``."""
        return float(np.sum(self.R[:, self.p1 :] ** 2))

    def reduced(self) -> Reduced:
        """Reduce by an SVD: with ``R = [[R1, R2], [0, R3]]`` and ``R1 = Y S U'``, ``G V = R2' Y``."""
        R = qr_update(np.zeros_like(self.R), self.R.copy(order="F")) if self.raw else self.R
        R1, R2 = R[: self.p1, : self.p1], R[: self.p1, self.p1 :]
        Y, s, Ut = svd(R1, check_finite=False)
        beyond = float(np.sum(R[self.p1 :, self.p1 :] ** 2))
        cutoff = len(R1) * _EPS
        return Reduced(s, Ut.T, product(R2.T, Y), beyond, self.functions, cutoff, self.method)

    def _append(self, rows: np.ndarray, norms: np.ndarray) -> None:
        here = slice(self.functions, self.functions + len(rows))
        if self.raw and here.stop <= len(self.R):
            self.R[here], self.beyond[here] = rows, norms
        else:
            self._triangularise()
            self.R = qr_update(self.R, rows)
        self.functions += len(rows)
        self.outside += float(norms @ norms)

    def _triangularise(self) -> None:
        """Replace the functions by their triangle."""
        if self.raw:
            rows = self.R[: self.functions].copy(order="F")
            self.R, self.raw = qr_update(np.zeros_like(self.R), rows), False
