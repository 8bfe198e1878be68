"""Least squares for C where output functions are not all known at the same points, by iteration."""

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

__all__ = [
    "DECADES",
    "AtScatteredPoints",
    "Choice",
    "Known",
    "Unaligned",
    "UnalignedFit",
    "WithGaps",
    "folds",
    "resolved",
]

DECADES = 12  # of alpha, from s_max^2 down: what a Gram matrix of B resolves

_FOLDS = 5  # a fold holds out one function in so many
_ENOUGH = 100  # functions held out, in as many folds as that takes


@dataclass(frozen=True)
class Choice:
    """An alpha, the mean relative error on functions held out, and the path to it, ascending in alpha.

    `guess` is what an iteration at this alpha may begin with; None where there is no iteration.
    """

    alpha: float
    error: float
    alphas: np.ndarray
    path: np.ndarray
    guess: np.ndarray | None = None


@dataclass(frozen=True)
class UnalignedFit:
    """Coefficients C (r, p1) in the basis, an account as in `Solution`, and the steps of an iteration."""

    C: np.ndarray
    residual: float
    condition: float
    method: str
    rank_B: int | None = None
    cutoff: float = 0.0
    steps: int = 0


def folds(n: int) -> list[np.ndarray]:
    """Masks (n,) of the functions that are kept, while the others are held out."""
    order = np.random.default_rng(0).permutation(n)
    count = min(_FOLDS, n)
    masks = []
    for fold in range(min(count, -(-_ENOUGH * _FOLDS // n)) if n > 1 else 0):
        kept = np.ones(n, bool)
        kept[order[fold::count]] = False
        masks.append(kept)
    return masks


def resolved(alpha: float | None, largest: float) -> bool:
    """Whether a Gram matrix, given its largest eigenvalue, is good enough for alpha (None: to be chosen)."""
    return alpha is None or alpha >= 10.0**-DECADES * largest


class Known(Protocol):
    """Which values of N functions are known, and the basis there."""

    function: np.ndarray  # (K,), which function each known value belongs to, in ascending order
    width: int
    gram: float  # how far the known values of one function determine its coefficients: E[basis' basis] / I

    def values(self, Y: np.ndarray) -> np.ndarray:
        """The known values (K,) of functions with coefficients Y (N, r)."""

    def adjoint(self, values: np.ndarray) -> np.ndarray:
        """The adjoint of `values`: (K,) to (N, r)."""

    def only(self, functions: np.ndarray) -> Self:
        """The same for some of the functions (a mask), counted again from 0."""


class AtScatteredPoints:
    """Functions known at scattered points, each at its own.

    basis : (K, r), the basis at the point of each value; function : (K,), ascending; n : how many functions.
    """

    def __init__(self, basis: np.ndarray, function: np.ndarray, n: int):
        self.basis, self.function, self.n = np.ascontiguousarray(basis), function, n
        self.width = basis.shape[1]
        self.gram = 1.0  # by the scaling of the basis
        ends = np.searchsorted(function, np.arange(n + 1))
        self._own = [slice(a, b) for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]

    def values(self, Y: np.ndarray) -> np.ndarray:
        """The known values (K,) of functions with coefficients Y (N, r)."""
        out = np.empty(len(self.basis))
        for own, y in zip(self._own, Y, strict=True):
            np.dot(self.basis[own], y, out=out[own])
        return out

    def adjoint(self, values: np.ndarray) -> np.ndarray:
        """The adjoint of `values`: (K,) to (N, r)."""
        out = np.empty((self.n, self.width))
        for own, row in zip(self._own, out, strict=True):
            np.dot(values[own], self.basis[own], out=row)
        return out

    def only(self, functions: np.ndarray) -> Self:
        """The same for some of the functions (a mask), counted again from 0."""
        number = np.cumsum(functions) - 1
        kept = functions[self.function]
        return type(self)(self.basis[kept], number[self.function[kept]], int(functions.sum()))


class WithGaps:
    """Functions known at common points, but for gaps.

    basis : (M, r), orthonormal; known : (N, M), true where there is a value.
    """

    def __init__(self, basis: np.ndarray, known: np.ndarray):
        self.basis, self.known = basis, known
        self.width = basis.shape[1]
        self.gram = float(known.mean())
        self.function = np.repeat(np.arange(len(known)), known.sum(axis=1))

    def values(self, Y: np.ndarray) -> np.ndarray:
        """The known values (K,) of functions with coefficients Y (N, r)."""
        return product(Y, self.basis.T)[self.known]

    def adjoint(self, values: np.ndarray) -> np.ndarray:
        """The adjoint of `values`: (K,) to (N, r)."""
        filled = np.zeros(self.known.shape)
        filled[self.known] = values
        return product(filled, self.basis)

    def only(self, functions: np.ndarray) -> Self:
        """The same for some of the functions (a mask), counted again from 0."""
        return type(self)(self.basis, self.known[functions])


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
