"""What ridge regression at one alpha leaves of outputs: ``I - H`` with ``H = B'(B B' + a)^-1 B``."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from elmonet._blas import gram, product
from elmonet.solve.cholesky import Cholesky
from elmonet.solve.held_out import resolved
from elmonet.solve.spectrum import Spectrum

__all__ = ["Dual", "Features", "Shrinkage"]

_DUAL = 2  # up to so many functions a feature, matrices (N, N) are cheap


class Shrinkage(Protocol):
    """``I - H`` (n, n) for n functions, of which P (n, r) are outputs."""

    method: str
    condition: float

    def shrunk(self, P: np.ndarray) -> np.ndarray:
        """``(I - H) P`` (n, r)."""

    def among(self, functions: np.ndarray) -> np.ndarray:
        """The rows and columns of ``I - H`` that belong to some functions, Fortran-ordered."""

    def coefficients(self, P: np.ndarray) -> np.ndarray:
        """``(B B' + alpha)^-1 B P`` (p1, r)."""

    def predicted(self, P: np.ndarray, others: np.ndarray) -> np.ndarray:
        """What the fit of P predicts for other functions, a mask of all that there are."""


class Features:
    """B (p1, N) and its Gram matrix: ``B'B`` (the dual) or, if functions are many, ``B B'`` (the primal)."""

    def __init__(self, B: np.ndarray):
        p1, N = B.shape
        self.B, self.dual = B, p1 * _DUAL >= N
        self.gram = _symmetric(gram(B.T if self.dual else B))
        # The norm is at least s_max^2, and not much more.
        self.largest = float(np.linalg.norm(self.gram)) or 1.0

        self._spectra: dict[bytes, Spectrum] = {}

    def at(self, alpha: float, kept: np.ndarray | None = None) -> Shrinkage:
        """With this alpha, for the functions that are kept (a mask), or for all."""
        kept = np.ones(self.B.shape[1], bool) if kept is None else kept
        if not resolved(alpha, self.largest):
            key = kept.tobytes()
            if key not in self._spectra:
                self._spectra[key] = Spectrum.from_svd(self.B[:, kept])
            return _Spectral(self, alpha, self._spectra[key])
        return Dual(self, alpha, np.flatnonzero(kept)) if self.dual else _Primal(self, alpha, kept)


class Dual:
    """``I - H = alpha (K + alpha)^-1`` with ``K = B'B``, without cancellation."""

    method = "cholesky"

    def __init__(self, features: Features, alpha: float, kept: np.ndarray):
        self.features, self.alpha, self.kept = features, alpha, kept
        self._cholesky = Cholesky(self.gram(slice(None), slice(None)), alpha)
        self.condition = self._cholesky.condition
        self._inverse: np.ndarray | None = None

    def gram(self, rows: np.ndarray | slice, columns: np.ndarray | slice) -> np.ndarray:
        """A part of K, a copy, Fortran-ordered."""
        return _part(self.features.gram, self.kept[rows], self.kept[columns])

    def shrunk(self, P: np.ndarray) -> np.ndarray:
        """``(I - H) P`` (n, r)."""
        return self._cholesky.solve(self.alpha * P)

    def among(self, functions: np.ndarray) -> np.ndarray:
        """The rows and columns of ``I - H`` that belong to some functions, Fortran-ordered."""
        if self._inverse is None:
            self._inverse = self._cholesky.inverse()
        return self.alpha * _part(self._inverse, functions, functions)

    def coefficients(self, P: np.ndarray) -> np.ndarray:
        """``B (K + alpha)^-1 P`` (p1, r)."""
        return product(self.features.B[:, self.kept], self._cholesky.solve(P))

    def predicted(self, P: np.ndarray, others: np.ndarray) -> np.ndarray:
        """What the fit of P predicts for other functions, a mask of all that there are."""
        between = _part(self.features.gram, np.flatnonzero(others), self.kept)
        return product(between, self._cholesky.solve(P))


class _Primal:
    """``I - H`` from the Cholesky factor L of ``B B' + alpha``, with ``H = R'R`` and ``R = L^-1 B``."""

    method = "cholesky"

    def __init__(self, features: Features, alpha: float, kept: np.ndarray):
        self.features = features
        self.B = features.B if kept.all() else features.B[:, kept]
        self._cholesky = Cholesky(features.gram.copy(order="F") if kept.all() else gram(self.B), alpha)
        self.condition = self._cholesky.condition

    def shrunk(self, P: np.ndarray) -> np.ndarray:
        """``(I - H) P`` (n, r)."""
        return P - product(self.B.T, self.coefficients(P))

    def among(self, functions: np.ndarray) -> np.ndarray:
        """The rows and columns of ``I - H`` that belong to some functions, Fortran-ordered."""
        return np.asfortranarray(
            np.eye(len(functions)) - _symmetric(gram(self._cholesky.half(self.B[:, functions]).T))
        )

    def coefficients(self, P: np.ndarray) -> np.ndarray:
        """``(B B' + alpha)^-1 B P`` (p1, r)."""
        return self._cholesky.solve(product(self.B, P))

    def predicted(self, P: np.ndarray, others: np.ndarray) -> np.ndarray:
        """What the fit of P predicts for other functions, a mask of all that there are."""
        return product(self.features.B[:, others].T, self.coefficients(P))


class _Spectral:
    """``I - H = (I - V V') + V diag(alpha / (s^2 + alpha)) V'``: what a Gram matrix does not resolve."""

    method = "svd"

    def __init__(self, features: Features, alpha: float, spectrum: Spectrum):
        self.features, self.alpha, self.spectrum = features, alpha, spectrum
        self.condition = spectrum.condition(alpha)
        self._left = alpha / (spectrum.values + alpha)

    def shrunk(self, P: np.ndarray) -> np.ndarray:
        """``(I - H) P`` (n, r)."""
        V = self.spectrum.V
        inside = product(V.T, P)
        left = product(V, self._left[:, None] * inside)
        return left if V.shape[0] == V.shape[1] else left + (P - product(V, inside))

    def among(self, functions: np.ndarray) -> np.ndarray:
        """The rows and columns of ``I - H`` that belong to some functions, Fortran-ordered."""
        V, square = self.spectrum.V[functions], len(set(self.spectrum.V.shape)) == 1
        left = _symmetric(gram(V * np.sqrt(self._left)))
        return np.asfortranarray(left if square else left + (np.eye(len(V)) - _symmetric(gram(V))))

    def coefficients(self, P: np.ndarray) -> np.ndarray:
        """``U diag(s / (s^2 + alpha)) V' P`` (p1, r)."""
        return self.spectrum.coefficients(product(P.T, self.spectrum.V), self.alpha).T

    def predicted(self, P: np.ndarray, others: np.ndarray) -> np.ndarray:
        """What the fit of P predicts for other functions, a mask of all that there are."""
        return product(self.features.B[:, others].T, self.coefficients(P))


def _symmetric(lower: np.ndarray) -> np.ndarray:
    """Of a lower triangle with zeros above it; C-ordered."""
    whole = np.add(lower, lower.T, order="C")
    np.fill_diagonal(whole, lower.diagonal())
    return whole


def _part(symmetric: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """A copy of a part of a C-ordered matrix, Fortran-ordered."""
    return symmetric.take(columns, axis=0).take(rows, axis=1).T
