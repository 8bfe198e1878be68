"""Least squares for C where outputs at common points have gaps, solved exactly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from scipy.linalg import LinAlgError

from elmonet.linalg import gram, product
from elmonet.metrics import overall, relative_errors
from elmonet.solve.cholesky import Cholesky
from elmonet.solve.observations import DECADES, Choice, UnalignedFit, folds, resolved
from elmonet.solve.spectral import Spectrum

__all__ = ["Dual", "Features", "Gaps", "Shrinkage", "is_complete", "solved_directly"]

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


_FEW = 2000  # missing values that are solved for together
_ENOUGH = 200  # functions, beyond which one fold is enough to compare alphas
_LEAST, _MIDDLE = (
    -DECADES,
    -DECADES // 2,
)  # powers of ten of s_max^2: the least alpha; where the search begins
_ZERO = 1e-10  # a row of an orthonormal matrix that is smaller than this is zero
_PROGRESS = 0.98  # of the error; what gains less is no progress
_FALLING = 0.9  # of the error; what gains more may gain more yet


def is_complete(Q: np.ndarray) -> bool:
    """Whether an orthonormal Q (M, r) spans all functions on the points where it is not zero."""
    return int(np.count_nonzero(_nonzero(Q))) == Q.shape[1]


def solved_directly(Q: np.ndarray, known: np.ndarray, features: Features, alpha: float | None) -> bool:
    """Whether `Gaps` can solve the problem in reasonable time."""
    few = known.size - int(known.sum()) <= _FEW
    return alpha != 0 and (few or (features.dual and is_complete(Q)))


class Gaps:
    """``min sum_known (q_j' C b_i - y_ij)^2 + alpha ||C||^2`` over C (r, p1).

    Parameters
    ----------
    Q : (M, r), orthonormal.
    known : (N, M), true where there is a value.
    features : of the input functions.
    y : (N, M), anything where there is no value.
    """

    def __init__(self, Q: np.ndarray, known: np.ndarray, features: Features, y: np.ndarray):
        self.Q, self.known, self.features = Q, known, features
        self.y = np.where(known, y, 0.0)

    def choose(self, alpha: float | None = None, near: float | None = None, rough: bool = False) -> Choice:
        """The alpha of least error on functions held out, sought `near` one; or the given one with its error.

        A rough choice is within a factor of 100 or so.
        """
        parts, largest = folds(len(self.y)), self.features.largest
        compared = parts[:1] if rough or len(self.y) >= _ENOUGH else parts
        tried: dict[float, list[np.ndarray]] = {}

        def error(alpha: float, parts: list[np.ndarray]) -> float:
            found = tried.setdefault(alpha, [])
            found += [self._errors(kept, alpha) for kept in parts[len(found) :]]
            return float(overall(np.concatenate(found), self.y.shape[1]))

        if alpha is None:
            begin = _MIDDLE if near is None else int(min(0, np.rint(np.log10(near / largest))))
            steps = [1] if near is not None else [2] if rough else [2, 1]
            alpha = largest * 10.0 ** _lowest(
                lambda power: error(largest * 10.0**power, compared), begin, steps
            )
        path = {a: error(a, compared) for a in sorted({*tried, alpha})}
        least = error(alpha, compared if rough else parts)
        return Choice(alpha, least, np.array(list(path)), np.array(list(path.values())))

    def fit(self, choice: Choice) -> UnalignedFit:
        """All functions, with the alpha that was chosen."""
        shrinkage = self.features.at(choice.alpha)
        C = shrinkage.coefficients(product(self._filled(shrinkage, slice(None)), self.Q)).T
        missed = product(product(self.Q, C), self.features.B).T - self.y
        residual = np.linalg.norm(missed[self.known]) / (np.linalg.norm(self.y) or 1.0)
        return UnalignedFit(C, float(residual), shrinkage.condition, shrinkage.method)

    def _errors(self, kept: np.ndarray, alpha: float) -> np.ndarray:
        """The relative errors of the functions that are held out, at their known points."""
        shrinkage = self.features.at(alpha, kept)
        Y = product(self._filled(shrinkage, kept), self.Q)
        predicted = product(shrinkage.predicted(Y, ~kept), self.Q.T)
        known, y = self.known[~kept], self.y[~kept]
        some = known.any(axis=1)
        missed, norms = (np.linalg.norm(A[some], axis=1) for A in (np.where(known, predicted, 0.0) - y, y))
        return relative_errors(missed, norms, y.shape[1])

    def _filled(self, shrinkage: Shrinkage, functions: np.ndarray | slice) -> np.ndarray:
        """The outputs of some functions, with the gaps filled."""
        y, known = self.y[functions], self.known[functions]
        if known.all():
            return y
        if known.size - int(known.sum()) <= _FEW:
            return _fill_together(self.Q, shrinkage, y, known)
        return _fill_by_point(self.Q, shrinkage, y, known)


def _fill_together(Q: np.ndarray, shrinkage: Shrinkage, y: np.ndarray, known: np.ndarray) -> np.ndarray:
    """``A_mm x = -A_mk y``, all missing values in one system."""
    i, j = np.nonzero(~known)
    functions, i_there = np.unique(i, return_inverse=True)
    # In A, entry (i j, k l) is [i = k] (I - Q Q')_jl + (I - H)_ik (Q Q')_jl.
    QQt = product(Q[j], Q[j].T)
    A = shrinkage.among(functions)[np.ix_(i_there, i_there)] * QQt
    A += (i[:, None] == i) * ((j[:, None] == j) - QQt)
    inside = product(y, Q)
    outside = y - product(inside, Q.T)
    Ay = outside[i, j] + np.einsum("kr,kr->k", shrinkage.shrunk(inside)[i], Q[j])
    filled = y.copy()
    filled[i, j] = _solved(np.asfortranarray(A), -Ay[:, None])[:, 0]
    return filled


def _fill_by_point(Q: np.ndarray, shrinkage: Shrinkage, y: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Every point by itself, those with the same gaps together; where Q is zero, so is what it predicts."""
    filled = y.copy()
    points = np.flatnonzero(_nonzero(Q) & ~known.all(axis=0))
    patterns, which = np.unique(known[:, points], axis=1, return_inverse=True)
    shrunk = shrinkage.shrunk(y[:, points])
    for number, pattern in enumerate(patterns.T):
        own = np.flatnonzero(which.ravel() == number)
        here, there = np.flatnonzero(pattern), np.flatnonzero(~pattern)
        if len(there) <= len(here) or not isinstance(shrinkage, Dual):
            x = _solved(shrinkage.among(there), -shrunk[np.ix_(there, own)])
        else:
            weights = Cholesky(shrinkage.gram(here, here), shrinkage.alpha).solve(
                y[np.ix_(here, points[own])]
            )
            x = product(shrinkage.gram(there, here), weights)
        filled[np.ix_(there, points[own])] = x
    return filled


def _nonzero(Q: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", Q, Q) > _ZERO**2


def _solved(A: np.ndarray, right: np.ndarray) -> np.ndarray:
    """``A^-1 right`` for A positive definite to rounding, Fortran-ordered."""
    try:
        return Cholesky(A.copy(order="F"), 0.0).solve(right)
    except LinAlgError:
        return Cholesky(A, len(A) * float(np.finfo(A.dtype).eps) * float(A.diagonal().max())).solve(right)


def _lowest(error: Callable[[int], float], begin: int, steps: list[int]) -> int:
    """The power of ten with the least error: downhill from `begin`, by each step in turn."""
    tried = {begin: error(begin)}

    def worth(power: int, before: int) -> bool:
        if power in tried or not -2 * DECADES <= power <= 0:
            return False
        if power >= -DECADES or min(tried) < -DECADES:
            return True
        # What a Gram matrix does not resolve needs an SVD, and that a reason.
        above = [tried[k] for k in tried if k > before]
        return bool(above) and tried[before] < _FALLING * min(above)

    for step in steps:
        for way in (-step, step) if begin > -DECADES else (step, -step):
            at = min(tried, key=tried.__getitem__)
            while worth(at + way, at):
                tried[at + way] = error(at + way)
                if tried[at + way] > _PROGRESS * tried[at]:
                    break
                at += way
    return min(tried, key=tried.__getitem__)
