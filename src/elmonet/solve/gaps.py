"""Least squares for C where outputs at common points have gaps, solved exactly."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from time import perf_counter

import numpy as np
from scipy.linalg import LinAlgError, eigh

from elmonet.linalg import gram, product
from elmonet.metrics import output_sizes
from elmonet.solve.cholesky import Cholesky, symmetric
from elmonet.solve.observations import DECADES, AlphaChoice, UnalignedFit, folds, resolved
from elmonet.solve.spectral import Spectrum

_MAX_FUNCTIONS_PER_FEATURE = 2  # up to this ratio N / p1, matrices (N, N) are cheap: use the dual
_MAX_JOINT_GAPS = 2000  # missing values that are solved for in one system
_ONE_FOLD_FUNCTIONS = 200  # from this many functions on, one fold is enough to compare alphas
_START_POWER = -DECADES // 2  # power of ten, relative to s_max^2, of the alpha where the search starts
_ZERO_ROW = 1e-10  # a row of an orthonormal matrix with a smaller norm is zero
_PROGRESS = 0.98  # stop a search if the error is above this times the last
_MIN_PIVOT = 1e-6  # squared pivot of a block of I - H, below which rounding may be seen in what it determines
# Eigenvalue of I - Q Q' among missing values, below which its eigenvector is a direction.
_SMALL_OUTSIDE = 0.5
_FALLING = 0.9  # the error is falling if it is below this times the error at larger alphas


class Gaps:
    """``min sum_observed (q_j' C b_i - y_ij)^2 + alpha ||C||^2`` over C (r, p1).

    Parameters
    ----------
    Q : (M, r), orthonormal.
    observed : (N, M), true where there is a value.
    features : of the input functions.
    y : (N, M), anything where there is no value.
    roots : (N,), square roots of weights by which features and y were multiplied; None: ones. A held-out
        function of weight 2 counts twice.
    until : time, of `perf_counter`, after which `TimeoutError` is raised: where functions with gaps nearly
        determine each other, each point takes an SVD.
    """

    def __init__(
        self,
        Q: np.ndarray,
        observed: np.ndarray,
        features: FeatureGram,
        y: np.ndarray,
        roots: np.ndarray | None = None,
        until: float = np.inf,
    ):
        self.Q, self.observed, self.features, self.until = Q, observed, features, until
        self.y, self.roots = np.where(observed, y, 0.0), np.ones(len(y)) if roots is None else roots

    def choose(
        self, alpha: float | None = None, near: float | None = None, rough: bool = False
    ) -> AlphaChoice:
        """Choose the alpha of least held-out error, starting `near` one; or assess the given alpha.

        A rough choice is within a factor of 100 or so.
        """
        parts, largest = folds(len(self.y)), self.features.largest
        compared = parts[:1] if rough or len(self.y) >= _ONE_FOLD_FUNCTIONS else parts
        tried: dict[float, list[np.ndarray]] = {}

        def error(alpha: float, parts: list[np.ndarray]) -> float:
            found = tried.setdefault(alpha, [])
            found += [self._errors(fitted, alpha) for fitted in parts[len(found) :]]
            errors, weights = np.hstack(found)
            # 1 if nothing is known of functions that are held out.
            return float(np.average(errors, weights=weights)) if errors.size else 1.0

        if alpha is None:
            begin = _START_POWER if near is None else int(min(0, np.rint(np.log10(near / largest))))
            steps = [1] if near is not None else [2] if rough else [2, 1]
            alpha = largest * 10.0 ** _lowest(
                lambda power: error(largest * 10.0**power, compared), begin, steps
            )
        path = {a: error(a, compared) for a in sorted({*tried, alpha})}
        least = error(alpha, compared if rough else parts)
        return AlphaChoice(alpha, least, np.array(list(path)), np.array(list(path.values())))

    def fit(self, choice: AlphaChoice) -> UnalignedFit:
        """Fit all functions with the chosen alpha."""
        shrinkage = self.features.at(choice.alpha)
        C = shrinkage.coefficients(product(self._filled(shrinkage, slice(None)), self.Q)).T
        residuals = product(product(self.Q, C), self.features.B).T - self.y
        residual = np.linalg.norm(residuals[self.observed]) / (np.linalg.norm(self.y) or 1.0)
        return UnalignedFit(C, float(residual), shrinkage.condition, shrinkage.method)

    def _errors(self, fitted: np.ndarray, alpha: float) -> np.ndarray:
        """Return relative errors of the held-out functions at their observed points, and weights: (2, n)."""
        shrinkage = self.features.at(alpha, fitted)
        Y = product(self._filled(shrinkage, fitted), self.Q)
        predicted = product(shrinkage.predicted(Y, ~fitted), self.Q.T)
        observed, y, roots = self.observed[~fitted], self.y[~fitted], self.roots[~fitted]
        some = observed.any(axis=1)
        if not some.any():
            return np.empty((2, 0))
        own, weights = roots[some, None], roots[some] ** 2
        residuals = np.linalg.norm((np.where(observed, predicted, 0.0) - y)[some] / own, axis=1)
        return np.stack([residuals / output_sizes(y[some] / own, weights), weights])

    def _filled(self, shrinkage: Shrinkage, functions: np.ndarray | slice) -> np.ndarray:
        """Return the outputs of some functions, with the gaps filled."""
        y, observed = self.y[functions], self.observed[functions]
        if observed.all():
            return y
        if is_complete(self.Q):  # I - Q Q' is zero, and must not be its rounding, as I - H may be smaller
            return _fill_by_point(self.Q, shrinkage, y, observed, self.until)
        return _fill_together(self.Q, shrinkage, y, observed)


def solved_directly(Q: np.ndarray, observed: np.ndarray, features: FeatureGram, alpha: float | None) -> bool:
    """Return whether `Gaps` can solve the problem in reasonable time."""
    few = observed.size - int(observed.sum()) <= _MAX_JOINT_GAPS
    return alpha != 0 and (few or (features.dual and is_complete(Q)))


def is_complete(Q: np.ndarray) -> bool:
    """Return whether an orthonormal Q (M, r) spans all functions on the points where it is not zero."""
    return int(np.count_nonzero(_nonzero(Q))) == Q.shape[1]


def _fill_together(Q: np.ndarray, shrinkage: Shrinkage, y: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Solve ``A_mm x = -A_mo y`` for all missing values m, given the observed values o, in one system.

    In A, entry (i j, k l) is [i = k] (I - Q Q')_jl + (I - H)_ik (Q Q')_jl. With hardly any ridge I - H is
    tiny, and decides where a function has too few values for its r coefficients. So the missing values of
    each function are taken along directions that are eigenvectors of its I - Q Q' where that is small.
    """
    i, j = np.nonzero(~observed)
    functions, row = np.unique(i, return_inverse=True)
    A = shrinkage.among(functions)[np.ix_(row, row)] * product(Q[j], Q[j].T)
    inside = product(y, Q)
    right = np.einsum("kr,kr->k", shrinkage.shrunk(inside)[i], Q[j])
    turns = [(np.flatnonzero(row == k), *_directions(Q, observed[f], y[f])) for k, f in enumerate(functions)]
    for own, T, _, _ in turns:
        A[own], right[own] = product(T.T, A[own]), T.T @ right[own]
    for own, T, outside, values in turns:
        A[:, own] = product(A[:, own], T)
        A[np.ix_(own, own)] += outside
        right[own] += values
    diagonal = np.diag(A)
    size = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    x = size * _solved(np.asfortranarray(A * size * size[:, None]), -(right * size)[:, None])[:, 0]
    filled = y.copy()
    for (own, T, _, _), f in zip(turns, functions, strict=True):
        filled[f, ~observed[f]] = T @ x[own]
    return filled


def _directions(
    Q: np.ndarray, observed: np.ndarray, y: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return directions T of a function's missing values, ``T'(I - Q Q')_mm T`` and ``T'(I - Q Q')_mo y``.

    With the singular values s and vectors U, V of the observed rows of Q, the columns of ``Q_m V`` are
    orthogonal, with squared norms 1 - s^2, and eigenvectors of the former to s^2: exact where that is tiny.
    """
    seen, missing = Q[observed], Q[~observed]
    known = np.append(y[observed], np.zeros(max(0, Q.shape[1] - len(seen))))
    U, s, Vt = np.linalg.svd(np.pad(seen, [(0, len(known) - len(seen)), (0, 0)]), full_matrices=False)
    small = s**2 < _SMALL_OUTSIDE
    U, s, Vt = U[:, small], s[small], Vt[small]
    T, R = np.linalg.qr(product(missing, Vt.T), mode="complete")
    T[:, : len(s)] *= np.sign(np.diag(R))
    rest = product(T[:, len(s) :].T, missing)
    outside = np.diag(np.append(s**2, np.ones(len(rest))))
    outside[len(s) :, len(s) :] -= product(rest, rest.T)
    values = np.append(np.sqrt(1 - s**2) * s * (known @ U), rest @ (y[observed] @ seen))
    return T, outside, -values


def _fill_by_point(
    Q: np.ndarray, shrinkage: Shrinkage, y: np.ndarray, observed: np.ndarray, until: float
) -> np.ndarray:
    """Fill each point by itself, points with the same gaps together; predictions are zero where Q is."""
    filled = y.copy()
    points = np.flatnonzero(_nonzero(Q) & ~observed.all(axis=0))
    patterns, which = np.unique(observed[:, points], axis=1, return_inverse=True)
    shrunk = shrinkage.shrunk(y[:, points])
    for number, pattern in enumerate(patterns.T):
        if perf_counter() > until:
            raise TimeoutError("filling gaps takes longer than the time that is left")
        own = np.flatnonzero(which.ravel() == number)
        present, missing = np.flatnonzero(pattern), np.flatnonzero(~pattern)
        if not present.size:
            continue  # nothing is known there, as the only function that has a value is held out: zero
        factor = None
        if len(missing) <= len(present) or not isinstance(shrinkage, _DualShrinkage):
            factor = _factorised(shrinkage.among(missing))
        if factor is not None:
            x = factor.solve(-shrunk[np.ix_(missing, own)])
        else:
            x = shrinkage.without(missing, present, y[np.ix_(present, points[own])])
        filled[np.ix_(missing, points[own])] = x
    return filled


def _factorised(A: np.ndarray) -> Cholesky | None:
    """Factorise a block A of ``I - H``; None if rounding is too large a part of its smallest eigenvalue.

    Rounding is relative to the largest entry of ``I - H``, at most one, which may be in another block.
    """
    try:
        factor = Cholesky(A, 0.0)
    except LinAlgError:
        return None
    return factor if factor.smallest_pivot**2 > _MIN_PIVOT else None


def _nonzero(Q: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", Q, Q) > _ZERO_ROW**2


def _solved(A: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return ``A^-1 right`` for A positive definite to rounding, Fortran-ordered.

    If rounding makes it indefinite, what its smallest eigenvalues would determine stays zero.
    """
    try:
        return Cholesky(A.copy(order="F"), 0.0).solve(right)
    except LinAlgError:
        values, V = eigh(A, lower=True, check_finite=False)
        kept = values > len(A) * float(np.finfo(A.dtype).eps) * values[-1]
        return product(V[:, kept] / values[kept], product(V[:, kept].T, right))


def _lowest(error: Callable[[int], float], begin: int, steps: list[int]) -> int:
    """Return the power of ten with the least error: go downhill from `begin`, by each step in turn."""
    tried = {begin: error(begin)}

    def worthwhile(power: int, before: int) -> bool:
        if power in tried or not -2 * DECADES <= power <= 0:
            return False
        if power >= -DECADES or min(tried) < -DECADES:
            return True
        # Alphas that a Gram matrix does not resolve need an SVD: try them only if the error is falling.
        above = [tried[k] for k in tried if k > before]
        return bool(above) and tried[before] < _FALLING * min(above)

    for step in steps:
        for move in (-step, step) if begin > -DECADES else (step, -step):
            at = min(tried, key=tried.__getitem__)
            while worthwhile(at + move, at):
                tried[at + move] = error(at + move)
                if tried[at + move] > _PROGRESS * tried[at]:
                    break
                at += move
    return min(tried, key=tried.__getitem__)


class FeatureGram:
    """B (p1, N) and its Gram matrix: ``B'B`` (the dual) or, for many functions, ``B B'`` (the primal)."""

    def __init__(self, B: np.ndarray):
        p1, N = B.shape
        self.B, self.dual = B, p1 * _MAX_FUNCTIONS_PER_FEATURE >= N
        self.gram = symmetric(gram(B.T if self.dual else B))
        # The norm is at least s_max^2, and not much more.
        self.largest = float(np.linalg.norm(self.gram)) or 1.0
        self._spectra: dict[bytes, Spectrum] = {}

    def at(self, alpha: float, fitted: np.ndarray | None = None) -> Shrinkage:
        """Return the shrinkage at this alpha, for the fitted functions (a mask; None: all)."""
        fitted = np.ones(self.B.shape[1], bool) if fitted is None else fitted
        if not resolved(alpha, self.largest):
            key = fitted.tobytes()
            if key not in self._spectra:
                self._spectra[key] = Spectrum.from_svd(self.B[:, fitted])
            return _SpectralShrinkage(self, alpha, self._spectra[key])
        return (
            _DualShrinkage(self, alpha, np.flatnonzero(fitted))
            if self.dual
            else _PrimalShrinkage(self, alpha, fitted)
        )


class Shrinkage:
    """``I - H`` (n, n) for n fitted functions, whose outputs are P (n, r)."""

    method: str
    condition: float
    features: FeatureGram

    @abstractmethod
    def shrunk(self, P: np.ndarray) -> np.ndarray:
        """Return ``(I - H) P`` (n, r)."""

    @abstractmethod
    def among(self, functions: np.ndarray) -> np.ndarray:
        """Return the rows and columns of ``I - H`` of some functions, Fortran-ordered."""

    @abstractmethod
    def coefficients(self, P: np.ndarray) -> np.ndarray:
        """Return ``(B B' + alpha)^-1 B P`` (p1, r)."""

    @abstractmethod
    def without(self, missing: np.ndarray, present: np.ndarray, P: np.ndarray) -> np.ndarray:
        """Predict the missing of the fitted functions by a fit of P (k, r) to those present alone."""

    def predicted(self, P: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Predict other functions (a mask of all functions) by the fit of P."""
        return product(self.features.B[:, others].T, self.coefficients(P))


class _DualShrinkage(Shrinkage):
    """``I - H = alpha (K + alpha)^-1`` with ``K = B'B``, without cancellation."""

    method = "cholesky"

    def __init__(self, features: FeatureGram, alpha: float, fitted: np.ndarray):
        self.features, self.alpha, self.fitted = features, alpha, fitted
        self._cholesky = Cholesky(self.gram(slice(None), slice(None)), alpha)
        self.condition = self._cholesky.condition
        self._inverse: np.ndarray | None = None

    def gram(self, rows: np.ndarray | slice, columns: np.ndarray | slice) -> np.ndarray:
        """Return a copy of a block of K, Fortran-ordered."""
        return _block(self.features.gram, self.fitted[rows], self.fitted[columns])

    def shrunk(self, P: np.ndarray) -> np.ndarray:
        return self._cholesky.solve(self.alpha * P)

    def among(self, functions: np.ndarray) -> np.ndarray:
        if self._inverse is None:
            self._inverse = self._cholesky.inverse()
        return self.alpha * _block(self._inverse, functions, functions)

    def coefficients(self, P: np.ndarray) -> np.ndarray:
        """Return ``B (K + alpha)^-1 P`` (p1, r)."""
        return product(self.features.B[:, self.fitted], self._cholesky.solve(P))

    def without(self, missing: np.ndarray, present: np.ndarray, P: np.ndarray) -> np.ndarray:
        weights = Cholesky(self.gram(present, present), self.alpha).solve(P)
        return product(self.gram(missing, present), weights)

    def predicted(self, P: np.ndarray, others: np.ndarray) -> np.ndarray:
        between = _block(self.features.gram, np.flatnonzero(others), self.fitted)
        return product(between, self._cholesky.solve(P))


class _PrimalShrinkage(Shrinkage):
    """``I - H`` from the Cholesky factor L of ``B B' + alpha``, with ``H = R'R`` and ``R = L^-1 B``."""

    method = "cholesky"

    def __init__(self, features: FeatureGram, alpha: float, fitted: np.ndarray):
        self.features, self.alpha = features, alpha
        self.B = features.B if fitted.all() else features.B[:, fitted]
        self._cholesky = Cholesky(features.gram.copy(order="F") if fitted.all() else gram(self.B), alpha)
        self.condition = self._cholesky.condition

    def shrunk(self, P: np.ndarray) -> np.ndarray:
        return P - product(self.B.T, self.coefficients(P))

    def among(self, functions: np.ndarray) -> np.ndarray:
        return np.asfortranarray(
            np.eye(len(functions)) - symmetric(gram(self._cholesky.half(self.B[:, functions]).T))
        )

    def coefficients(self, P: np.ndarray) -> np.ndarray:
        return self._cholesky.solve(product(self.B, P))

    def without(self, missing: np.ndarray, present: np.ndarray, P: np.ndarray) -> np.ndarray:
        B = self.B[:, present]
        weights = Cholesky(np.asfortranarray(gram(B)), self.alpha).solve(product(B, P))
        return product(self.B[:, missing].T, weights)


class _SpectralShrinkage(Shrinkage):
    """``I - H = (I - V V') + V diag(alpha / (s^2 + alpha)) V'``, for alphas that no Gram matrix resolves."""

    method = "svd"

    def __init__(self, features: FeatureGram, alpha: float, spectrum: Spectrum):
        self.features, self.alpha, self.spectrum = features, alpha, spectrum
        self.condition = spectrum.condition(alpha)
        self._left = alpha / (spectrum.values + alpha)

    def shrunk(self, P: np.ndarray) -> np.ndarray:
        V = self.spectrum.V
        inside = product(V.T, P)
        left = product(V, self._left[:, None] * inside)
        return left if V.shape[0] == V.shape[1] else left + (P - product(V, inside))

    def among(self, functions: np.ndarray) -> np.ndarray:
        V, square = self.spectrum.V[functions], len(set(self.spectrum.V.shape)) == 1
        left = symmetric(gram(V * np.sqrt(self._left)))
        return np.asfortranarray(left if square else left + (np.eye(len(V)) - symmetric(gram(V))))

    def coefficients(self, P: np.ndarray) -> np.ndarray:
        """Return ``U diag(s / (s^2 + alpha)) V' P`` (p1, r)."""
        return self.spectrum.coefficients(product(P.T, self.spectrum.V), self.alpha).T

    def without(self, missing: np.ndarray, present: np.ndarray, P: np.ndarray) -> np.ndarray:
        B = self.spectrum.B
        fewer = Spectrum.from_svd(B[:, present])
        return product(B[:, missing].T, fewer.coefficients(product(P.T, fewer.V), self.alpha).T)


def _block(matrix: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return a copy of a block of a symmetric C-ordered matrix, Fortran-ordered."""
    return matrix.take(columns, axis=0).take(rows, axis=1).T
