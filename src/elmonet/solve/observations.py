"""Least squares for C where output functions are not all observed at the same points, by iteration (LSMR)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from scipy.sparse.linalg import LinearOperator, lsmr
from threadpoolctl import threadpool_limits

from elmonet.errors import NumericsWarning
from elmonet.linalg import beside_others, product
from elmonet.metrics import reference_norms
from elmonet.solve.spectral import Spectrum

DECADES = 12  # powers of ten of alpha, from s_max^2 down, that a Gram matrix of B resolves

_FOLDS = 5  # a fold holds out one function in five
_MIN_HELD_OUT = 100  # functions to hold out in all, in as many folds as that takes
_COARSE_TOLERANCE, _FINE_TOLERANCE = 1e-5, 1e-9  # of LSMR, during the search for alpha and at the end
_TOLERANCE_PER_ERROR = 1e-4  # the final tolerance is this part of the held-out error, within these two
_MAX_SEARCH_STEPS, _MAX_STEPS = 300, 2000  # of LSMR, during the search for alpha and at the end
_PROGRESS = 0.98  # stop the search if the error is above this times the least so far
_CHEAP_ALPHA = 1e-6  # relative to s_max^2: down to this alpha, LSMR takes few steps
_START_ABOVE = 10  # the search starts at this times the expected alpha
_MAX_DENSE = 1_000_000  # entries of a matrix whose pseudoinverse is taken at once
_LEAST_NORM_ROUNDING = 10  # cut-off of singular values, in units of rounding


@dataclass(frozen=True)
class AlphaChoice:
    """A chosen alpha, its mean relative held-out error, and the search path, ascending in alpha.

    `guess` is a starting point for an iteration at this alpha; None where there is no iteration.
    """

    alpha: float
    error: float
    alphas: np.ndarray
    path: np.ndarray
    guess: np.ndarray | None = None


@dataclass(frozen=True)
class UnalignedFit:
    """Coefficients C (r, p1) in the basis, a record as in `Solution`, and the number of iterations."""

    C: np.ndarray
    residual: float
    condition: float
    method: str
    rank_B: int | None = None
    cutoff: float = 0.0
    steps: int = 0


def folds(n: int) -> list[np.ndarray]:
    """Return masks (n,) of the functions to fit, one per fold; the others are held out."""
    order = np.random.default_rng(0).permutation(n)
    count = min(_FOLDS, n)
    masks = []
    for fold in range(min(count, -(-_MIN_HELD_OUT * _FOLDS // n)) if n > 1 else 0):
        fitted = np.ones(n, bool)
        fitted[order[fold::count]] = False
        masks.append(fitted)
    return masks


def resolved(alpha: float | None, largest: float) -> bool:
    """Return whether a Gram matrix with this largest eigenvalue resolves alpha (None: to be chosen)."""
    return alpha is None or alpha >= 10.0**-DECADES * largest


class Observations(Protocol):
    """Where N functions are observed, and the basis there."""

    function: np.ndarray  # (K,), the function that each value belongs to, ascending
    width: int  # r
    gram: float  # how far the values of one function determine its coefficients: E[basis' basis] / I

    def values(self, Y: np.ndarray) -> np.ndarray:
        """Return the observed values (K,) of functions with coefficients Y (N, r)."""

    def adjoint(self, values: np.ndarray) -> np.ndarray:
        """Apply the adjoint of `values`: (K,) to (N, r)."""

    def only(self, functions: np.ndarray) -> Self:
        """Return the observations of some functions (a mask), renumbered from 0."""

    def basis_at_values(self) -> np.ndarray:
        """Return the basis (K, r) at the point of each value."""


class AtScatteredPoints:
    """Observations of each function at points of its own.

    basis : (K, r), the basis at the point of each value; function : (K,), ascending; n : number of functions.
    """

    def __init__(self, basis: np.ndarray, function: np.ndarray, n: int):
        self.basis, self.function, self.n = np.ascontiguousarray(basis), function, n
        self.width = basis.shape[1]
        self.gram = 1.0  # by the scaling of the basis
        ends = np.searchsorted(function, np.arange(n + 1))
        self._own = [slice(a, b) for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]

    def values(self, Y: np.ndarray) -> np.ndarray:
        """Return the observed values (K,) of functions with coefficients Y (N, r)."""
        out = np.empty(len(self.basis))
        for own, y in zip(self._own, Y, strict=True):
            np.dot(self.basis[own], y, out=out[own])
        return out

    def adjoint(self, values: np.ndarray) -> np.ndarray:
        """Apply the adjoint of `values`: (K,) to (N, r)."""
        out = np.empty((self.n, self.width))
        for own, row in zip(self._own, out, strict=True):
            np.dot(values[own], self.basis[own], out=row)
        return out

    def only(self, functions: np.ndarray) -> Self:
        """Return the observations of some functions (a mask), renumbered from 0."""
        number = np.cumsum(functions) - 1
        kept = functions[self.function]
        return type(self)(self.basis[kept], number[self.function[kept]], int(functions.sum()))

    def basis_at_values(self) -> np.ndarray:
        """Return the basis (K, r) at the point of each value."""
        return self.basis


class WithGaps:
    """Observations at common points, except for gaps.

    basis : (M, r), orthonormal; observed : (N, M), true where there is a value.
    """

    def __init__(self, basis: np.ndarray, observed: np.ndarray):
        self.basis, self.observed = basis, observed
        self.width = basis.shape[1]
        self.gram = float(observed.mean())
        self.function = np.repeat(np.arange(len(observed)), observed.sum(axis=1))

    def values(self, Y: np.ndarray) -> np.ndarray:
        """Return the observed values (K,) of functions with coefficients Y (N, r)."""
        return product(Y, self.basis.T)[self.observed]

    def adjoint(self, values: np.ndarray) -> np.ndarray:
        """Apply the adjoint of `values`: (K,) to (N, r)."""
        filled = np.zeros(self.observed.shape)
        filled[self.observed] = values
        return product(filled, self.basis)

    def only(self, functions: np.ndarray) -> Self:
        """Return the observations of some functions (a mask), renumbered from 0."""
        return type(self)(self.basis, self.observed[functions])

    def basis_at_values(self) -> np.ndarray:
        """Return the basis (K, r) at the point of each value."""
        return self.basis[np.nonzero(self.observed)[1]]


class Unaligned:
    """``min sum_k (basis_k' C b_i(k) - value_k)^2 + alpha ||C||^2`` over C (r, p1).

    Parameters
    ----------
    observations : where the functions are observed.
    spectrum : of B (p1, N), the features of the input functions.
    values : (K,), the observed values.
    roots : (N,), square roots of weights by which features and values were multiplied; None: ones. A held-out
        function of weight 2 counts twice.
    """

    def __init__(
        self,
        observations: Observations,
        spectrum: Spectrum,
        values: np.ndarray,
        roots: np.ndarray | None = None,
    ):
        self.observations, self.spectrum, self.values = observations, spectrum, values
        self.roots = np.ones(spectrum.B.shape[1]) if roots is None else roots
        # B' = F U' with F (N, rank): a column of F is as large as B is in that direction.
        self._rank = max(1, spectrum.rank)
        self.F = spectrum.V[:, : self._rank] * spectrum.s[: self._rank]
        self._squares = spectrum.values[: self._rank]

    def choose(
        self, alpha: float | None = None, near: float | None = None, rough: bool = False
    ) -> AlphaChoice:
        """Choose the alpha of least held-out error, starting `near` one; or assess the given alpha.

        The search goes from large alphas down while the error falls, and each answer starts the next
        iteration. A rough choice holds out fewer functions.
        """
        parts = folds(len(self.F))[: 1 if rough else None]
        guesses: list[np.ndarray | None] = [None] * len(parts)
        top = self.spectrum.largest
        start = top if near is None else min(top, max(_START_ABOVE * near, _CHEAP_ALPHA * top))
        candidates = start * np.logspace(0, -DECADES, DECADES + 1) if alpha is None else [alpha]
        alphas: list[float] = []
        errors: list[float] = []
        for candidate in candidates:
            held_out, converged = [], True
            for i, fitted in enumerate(parts):
                Z, _, reached = self._solve(
                    fitted, candidate, guesses[i], _COARSE_TOLERANCE, _MAX_SEARCH_STEPS
                )
                guesses[i], converged = Z, converged and reached
                held_out.append(self._errors(~fitted, Z))
            found, weights = np.hstack(held_out)
            error = (
                float(np.average(found, weights=weights)) if found.size else 1.0
            )  # nothing is known of them
            if not errors or error < min(errors):
                guess = guesses[0]
            slow = bool(errors) and error > _PROGRESS * min(errors)
            alphas.append(float(candidate))
            errors.append(error)
            if (slow and candidate <= _CHEAP_ALPHA * top) or not converged:
                break  # a smaller alpha would not help, or would take too long
        best = int(np.argmin(errors))
        return AlphaChoice(alphas[best], errors[best], np.array(alphas[::-1]), np.array(errors[::-1]), guess)

    def fit(self, choice: AlphaChoice) -> UnalignedFit:
        """Fit all functions with the chosen alpha, to a tolerance far below the held-out error."""
        everything = np.ones(len(self.F), bool)
        tolerance = np.clip(_TOLERANCE_PER_ERROR * choice.error, _FINE_TOLERANCE, _COARSE_TOLERANCE)
        Z, steps, reached = self._solve(everything, choice.alpha, choice.guess, tolerance, _MAX_STEPS)
        if not reached:
            warnings.warn(
                f"LSMR stopped after {steps} steps without convergence: W is not exact. Use a larger alpha, "
                "fewer trunk functions, or more points per function.",
                NumericsWarning,
                stacklevel=3,
            )
        residual = np.linalg.norm(self._residuals(everything, Z))
        # C = Z U', zero in the directions beyond the rank, where the divisor is set to 1 to avoid 0 / 0.
        beyond = len(self.spectrum.s) - self._rank
        padded = np.pad(Z * self.spectrum.s[: self._rank], ((0, 0), (0, beyond)))
        return UnalignedFit(
            C=self.spectrum.coefficients(padded, np.repeat([0.0, 1.0], [self._rank, beyond])),
            residual=float(residual / (np.linalg.norm(self.values) or 1.0)),
            condition=self.spectrum.condition(choice.alpha),
            method="lsmr" if steps else "svd",
            rank_B=self.spectrum.rank,
            cutoff=self.spectrum.cutoff,
            steps=steps,
        )

    def guess(self, C: np.ndarray) -> np.ndarray:
        """Return the starting point of an iteration from coefficients C (r, p1) near the answer."""
        return product(product(C, self.spectrum.B), self.F) / self._squares

    def _solve(
        self, functions: np.ndarray, alpha: float, guess: np.ndarray | None, tolerance: float, max_steps: int
    ) -> tuple[np.ndarray, int, bool]:
        """Fit some functions (a mask); return coefficients Z (r, rank) of F, steps, and convergence."""
        observations, values = self._of(functions)
        r, rank = observations.width, self._rank
        if not values.size:
            return np.zeros((r, rank)), 0, True
        if alpha == 0 and values.size * r * rank <= _MAX_DENSE:
            return self._least_norm(observations, self.F[functions], values), 0, True
        # Precondition by Z = X / scale: if all points were common, the columns below would be orthonormal.
        scale = np.sqrt(observations.gram * self._squares + alpha)
        if alpha == 0 and values.size < r * rank:  # of many solutions the one of least norm, not of least X
            scale, guess = np.ones(rank), None
        F, damping = self.F[functions] / scale, np.sqrt(alpha) / scale

        def forward(x: np.ndarray) -> np.ndarray:
            X = x.reshape(r, rank)
            return np.concatenate([observations.values(product(F, X.T)), (X * damping).ravel()])

        def backward(y: np.ndarray) -> np.ndarray:
            data, penalty = y[: len(values)], y[len(values) :].reshape(r, rank)
            return (product(observations.adjoint(data).T, F) + penalty * damping).ravel()

        rows = len(values) + r * rank
        A = LinearOperator((rows, r * rank), matvec=forward, rmatvec=backward, dtype=np.float64)
        target = np.concatenate([values, np.zeros(r * rank)])
        x0 = None if guess is None else (guess * scale).ravel()
        # Most products are small: threads would wait for each other. And use one BLAS, NumPy's, for them all.
        with threadpool_limits(1), beside_others():
            x, stopped, steps, *_ = lsmr(A, target, atol=tolerance, btol=tolerance, maxiter=max_steps, x0=x0)
        return x.reshape(r, rank) / scale, int(steps), stopped != 7

    @staticmethod
    def _least_norm(observations: Observations, F: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return the solution Z (r, rank) without a penalty, of several that of least norm."""
        rows = observations.basis_at_values()[:, :, None] * F[observations.function, None]
        A = rows.reshape(len(values), -1)
        cut = _LEAST_NORM_ROUNDING * max(A.shape) * np.finfo(float).eps
        return np.linalg.lstsq(A, values, rcond=cut)[0].reshape(rows.shape[1:])

    def _errors(self, functions: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """Return the relative errors of some functions (a mask) that have values, and weights (2, n)."""
        function = self.observations.function
        number = (np.cumsum(functions) - 1)[function[functions[function]]]
        residuals, norms = (
            np.sqrt(np.bincount(number, v**2, minlength=int(functions.sum())))
            for v in (self._residuals(functions, Z), self.values[functions[function]])
        )
        observed = np.bincount(number, minlength=int(functions.sum())) > 0
        roots = self.roots[functions][observed]
        residuals, norms = residuals[observed] / roots, norms[observed] / roots
        return np.stack([residuals / reference_norms(norms, roots**2), roots**2])

    def _residuals(self, functions: np.ndarray, Z: np.ndarray) -> np.ndarray:
        observations, values = self._of(functions)
        return observations.values(product(self.F[functions], Z.T)) - values

    def _of(self, functions: np.ndarray) -> tuple[Observations, np.ndarray]:
        """Return the observations of some functions (a mask), and their values."""
        some = self.observations if functions.all() else self.observations.only(functions)
        return some, self.values[functions[self.observations.function]]
