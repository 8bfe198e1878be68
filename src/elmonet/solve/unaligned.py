"""The least-squares problem for C if output functions are not all known at the same points, by iteration.

Then it does not fall apart into one problem for each coefficient, but it is still linear in C. It is solved
matrix-free by LSMR (Fong and Saunders 2011), with a preconditioner that is exact if all functions are known
at the same points, and close if the points are many or at random. Where it applies, `Gaps` needs no
iteration.
"""

from __future__ import annotations

import warnings

import numpy as np
from scipy.sparse.linalg import LinearOperator, lsmr
from threadpoolctl import threadpool_limits

from elmonet._blas import beside_others, product
from elmonet._check import NumericsWarning
from elmonet.metrics import reference_norms
from elmonet.solve.held_out import DECADES, Choice, UnalignedFit, folds
from elmonet.solve.known import Known
from elmonet.solve.spectrum import Spectrum

__all__ = ["Unaligned"]

_COARSE, _FINE = 1e-5, 1e-9  # tolerances of LSMR, while alpha is sought and at the end
_BELOW = 1e-4  # of the error on functions held out: the tolerance at the end, if it is within these
_FEW_STEPS, _STEPS = 300, 2000  # of LSMR at most, while alpha is sought and at the end
_PROGRESS = 0.98  # of the least error so far; what gains less is no progress
_CHEAP = 1e-6  # of s_max^2; down to this alpha, LSMR takes few steps
_ABOVE = 10  # times the alpha near which the best one is expected: there the search begins


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
        self._rank = max(1, spectrum.rank)
        self.F = spectrum.V[:, : self._rank] * spectrum.s[: self._rank]
        self._squares = spectrum.values[: self._rank]

    def choose(self, alpha: float | None = None, near: float | None = None, rough: bool = False) -> Choice:
        """The alpha of least error on functions held out, sought `near` one; or the given one with its error.

        From large alphas down, while the error falls: each answer is where the next iteration begins. A rough
        choice holds fewer functions out.
        """
        parts = folds(len(self.F))[: 1 if rough else None]
        guesses: list[np.ndarray | None] = [None] * len(parts)
        top = self.spectrum.largest
        start = top if near is None else min(top, max(_ABOVE * near, _CHEAP * top))
        candidates = start * np.logspace(0, -DECADES, DECADES + 1) if alpha is None else [alpha]
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
        return Choice(alphas[best], errors[best], np.array(alphas[::-1]), np.array(errors[::-1]), guess)

    def fit(self, choice: Choice) -> UnalignedFit:
        """All functions, with the alpha that was chosen: much more exact than the error on others."""
        everything = np.ones(len(self.F), bool)
        tolerance = np.clip(_BELOW * choice.error, _FINE, _COARSE)
        Z, steps, reached = self._solve(everything, choice.alpha, choice.guess, tolerance, _STEPS)
        if not reached:
            warnings.warn(
                f"LSMR stopped after {steps} steps before it was accurate enough: W is not exact. Take a "
                "larger alpha, fewer trunk functions, or more points for each function.",
                NumericsWarning,
                stacklevel=3,
            )
        missed = np.linalg.norm(self._misses(everything, Z))
        # C = Z U', with nothing in the directions beyond the rank, where the divisor is 1 lest it be 0.
        beyond = len(self.spectrum.s) - self._rank
        padded = np.pad(Z * self.spectrum.s[: self._rank], ((0, 0), (0, beyond)))
        return UnalignedFit(
            C=self.spectrum.coefficients(padded, np.repeat([0.0, 1.0], [self._rank, beyond])),
            residual=float(missed / (np.linalg.norm(self.values) or 1.0)),
            condition=self.spectrum.condition(choice.alpha),
            method="lsmr",
            rank_B=self.spectrum.rank,
            cutoff=self.spectrum.cutoff,
            steps=steps,
        )

    def guess(self, C: np.ndarray) -> np.ndarray:
        """What an iteration may begin with, if coefficients C (r, p1) are near the answer."""
        return product(product(C, self.spectrum.B), self.F) / self._squares

    def _solve(
        self, functions: np.ndarray, alpha: float, guess: np.ndarray | None, tolerance: float, most: int
    ) -> tuple[np.ndarray, int, bool]:
        """Coefficients Z (r, rank) of the features F, with some of the functions (a mask)."""
        known = self.known if functions.all() else self.known.only(functions)
        values = self.values[functions[self.known.function]]
        r, rank = known.width, self._rank
        # Z = X / scale: were all points common, the matrix below would have orthonormal columns.
        scale = np.sqrt(known.gram * self._squares + alpha)
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
