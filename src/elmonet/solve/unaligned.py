"""The least-squares problem for W if output functions are not all known at the same points.

Then it does not fall apart into one problem for each coefficient, but it is still linear in W. It is solved
matrix-free by LSMR (Fong and Saunders 2011), with a preconditioner that is exact if all functions are known
at the same points, and close if the points are many or at random.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import LinearOperator, lsmr
from threadpoolctl import threadpool_limits

from elmonet._blas import beside_others, product
from elmonet._check import NumericsWarning
from elmonet.metrics import reference_norms
from elmonet.solve.known import Known
from elmonet.solve.spectrum import Spectrum

__all__ = ["Choice", "Unaligned", "UnalignedFit"]

_DECADES = 12  # of alpha, from s_max^2 down
_COARSE, _FINE = 1e-5, 1e-9  # tolerances of LSMR, while alpha is sought and at the end
_BELOW = 1e-4  # of the error on functions held out: the tolerance at the end, if it is within these
_FEW_STEPS, _STEPS = 300, 2000  # of LSMR at most, while alpha is sought and at the end
_PROGRESS = 0.98  # of the least error so far; what is above is none
_CHEAP = 1e-6  # of s_max^2; down to this alpha, LSMR takes few steps
_FOLDS, _MANY = 5, 500  # with many functions, one part in so many held out is enough to compare


@dataclass(frozen=True)
class Choice:
    """An alpha, the error on functions held out, the path to it, and coefficients to begin with."""

    alpha: float
    error: float
    alphas: np.ndarray
    path: np.ndarray
    guess: np.ndarray


@dataclass(frozen=True)
class UnalignedFit:
    """Coefficients C (r, p1) in the basis, and an account."""

    C: np.ndarray
    residual: float
    steps: int


class Unaligned:
    """``min sum_k (basis_k' C b_i(k) - value_k)^2 + alpha ||C||^2`` over C (r, p1).

    Parameters
    ----------
    known : where the functions are known.
    spectrum : of B (p1, N), the features of the input functions.
    values : (K,), in the order of `known`.
    """

    def __init__(self, known: Known, spectrum: Spectrum, values: np.ndarray):
        self.known, self.spectrum, self.values = known, spectrum, values
        # B' = F U' with F (N, rank): a column of F is as large as B is in that direction.
        self.F = spectrum.V * spectrum.s
        self.N = len(self.F)

    def choose(self, alpha: float | None = None, start: float = 1.0) -> Choice:
        """The alpha of least error on functions held out; or the given one, with that error.

        From `start` times ``s_max^2`` down, while the error falls.
        """
        parts = list(self._folds())
        guesses: list[np.ndarray | None] = [None] * len(parts)
        top = self.spectrum.largest
        candidates = top * start * np.logspace(0, -_DECADES, _DECADES + 1) if alpha is None else [alpha]
        alphas: list[float] = []
        errors: list[float] = []
        for candidate in candidates:
            held_out, soon = [], True
            for i, kept in enumerate(parts):
                Z, _, reached = self._solve(kept, candidate, guesses[i], _COARSE, _FEW_STEPS)
                guesses[i], soon = Z, soon and reached
                held_out.append(self._errors(~kept, Z))
            error = float(np.mean(np.concatenate(held_out)))
            if not errors or error < min(errors):
                guess = guesses[0]
            slow = bool(errors) and error > _PROGRESS * min(errors)
            alphas.append(float(candidate))
            errors.append(error)
            if (slow and candidate <= _CHEAP * top) or not soon:
                break  # a smaller alpha would not help, or take too long
        best = int(np.argmin(errors))
        assert guess is not None
        return Choice(alphas[best], errors[best], np.array(alphas[::-1]), np.array(errors[::-1]), guess)

    def fit(self, alpha: float, guess: np.ndarray | None = None, error: float = 0.0) -> UnalignedFit:
        """With this alpha; guess and error are what `choose` gives: W need not be much more exact."""
        everything = np.ones(self.N, bool)
        Z, steps, reached = self._solve(everything, alpha, guess, np.clip(_BELOW * error, _FINE, _COARSE))
        if not reached:
            warnings.warn(
                f"LSMR stopped after {steps} steps before it reached its tolerance: W is not exact. A larger "
                "alpha, fewer trunk functions or more points for each function help.",
                NumericsWarning,
                stacklevel=3,
            )
        missed = np.linalg.norm(self._misses(everything, Z))
        C = self.spectrum.coefficients(Z * self.spectrum.s, 0.0)
        return UnalignedFit(C, float(missed / (np.linalg.norm(self.values) or 1.0)), steps)

    def _folds(self) -> Iterator[np.ndarray]:
        """Masks of the functions that are kept, while the others are held out."""
        order = np.random.default_rng(0).permutation(self.N)
        folds = min(_FOLDS, self.N)
        for fold in range(1 if self.N >= _MANY else folds):
            kept = np.ones(self.N, bool)
            kept[order[fold::folds]] = False
            if kept.any():
                yield kept

    def _solve(
        self,
        functions: np.ndarray,
        alpha: float,
        guess: np.ndarray | None,
        tolerance: float,
        most: int = _STEPS,
    ) -> tuple[np.ndarray, int, bool]:
        """Coefficients Z (r, rank) of the features F, with some of the functions (a mask)."""
        known = self.known if functions.all() else self.known.only(functions)
        values = self.values[functions[self.known.function]]
        r, rank = known.width, self.F.shape[1]
        # Z = X / scale: were all points common, the matrix below would have orthonormal columns.
        scale = np.sqrt(known.gram * self.spectrum.values + alpha)
        F, damping = self.F[functions] / scale, np.sqrt(alpha) / scale

        def forward(x: np.ndarray) -> np.ndarray:
            X = x.reshape(r, rank)
            return np.concatenate([known.values(product(F, X.T)), (X * damping).ravel()])

        def backward(y: np.ndarray) -> np.ndarray:
            data, penalty = y[: len(values)], y[len(values) :].reshape(r, rank)
            return (product(known.adjoint(data).T, F) + penalty * damping).ravel()

        rows = len(values) + r * rank
        A = LinearOperator((rows, r * rank), matvec=forward, rmatvec=backward, dtype=np.float64)
        target = np.concatenate([values, np.zeros(r * rank)])
        x0 = None if guess is None else (guess * scale).ravel()
        # Most products are small: threads would wait for each other. And one BLAS, NumPy's, for all of them.
        with threadpool_limits(1), beside_others():
            x, stopped, steps, *_ = lsmr(A, target, atol=tolerance, btol=tolerance, maxiter=most, x0=x0)
        return x.reshape(r, rank) / scale, int(steps), stopped != 7

    def _errors(self, functions: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """The relative error of each of some functions (a mask)."""
        number = (np.cumsum(functions) - 1)[self.known.function[functions[self.known.function]]]
        values = self.values[functions[self.known.function]]
        missed, norms = (
            np.sqrt(np.bincount(number, v**2, minlength=int(functions.sum())))
            for v in (self._misses(functions, Z), values)
        )
        known = np.bincount(number, minlength=int(functions.sum())) > 0
        return missed[known] / reference_norms(norms[known])

    def _misses(self, functions: np.ndarray, Z: np.ndarray) -> np.ndarray:
        known = self.known if functions.all() else self.known.only(functions)
        return known.values(product(self.F[functions], Z.T)) - self.values[functions[self.known.function]]
