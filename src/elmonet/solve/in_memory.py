"""The path of alpha with all functions in memory."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.linalg import LinAlgError

from elmonet._blas import squared_norm
from elmonet._check import NumericsWarning
from elmonet.metrics import overall
from elmonet.solve.cholesky import AtOneAlpha
from elmonet.solve.factor import Factor, Sweep, gram_rounding
from elmonet.solve.path import FINEST, AlphaPath
from elmonet.solve.primal import Primal
from elmonet.solve.problem import Problem
from elmonet.solve.solution import Solution
from elmonet.solve.span import default_cutoff
from elmonet.solve.spectral import Spectral
from elmonet.solve.spectrum import Spectrum
from elmonet.solve.tridiagonal import Tridiagonal

__all__ = ["InMemory"]

_LARGE = 2500  # beyond this smaller side of B, an SVD takes minutes


class InMemory(AlphaPath):
    """For a `Problem`, `by` "loo" or "gcv"; `penalty` (1 or r, 1) is a factor on alpha for each row of C."""

    def __init__(self, problem: Problem, penalty: np.ndarray, by: str):
        super().__init__(problem.B.shape, penalty)
        self.problem, self.by = problem, by

    def given(self, alphas: np.ndarray) -> None:
        """Evaluate these, by the cheapest factorisation that resolves them all."""
        B, least = self.problem.B, float(alphas[0] * self.weight)
        try:
            if len(alphas) == 1 and self.penalty.size == 1 and self.problem.groups is None:
                self.evaluate(AtOneAlpha(B, least), alphas)
                return
            if least > gram_rounding(self.shape) * squared_norm(B):
                self.evaluate(self.coarse(), alphas)
                return
        except LinAlgError:  # the Gram matrix is not enough
            pass
        spectrum = Spectrum.from_svd(B, 0.0)
        if least < FINEST / 4 * spectrum.largest:  # zero, as far as one can tell
            spectrum = spectrum.truncated(default_cutoff(B))
        self.limit(Spectral(spectrum, self.problem.groups), alphas)

    def limit(self, factor: Spectral, alphas: np.ndarray) -> None:
        """Evaluate alphas that may be zero or nearly so; functions are left out at the least possible."""
        self.evaluate(factor, np.maximum(alphas, factor.vanishing() / self.weight), factor.trusted())
        self.alphas = alphas

    def coarse(self) -> Factor:
        """Tridiagonal, or of eigenvalues."""
        B, groups = self.problem.B, self.problem.groups
        p1, N = B.shape
        if p1 < N:
            return Primal(B, groups)
        # Groups, and rows with an alpha each, need eigenvalues; else the tridiagonal form is cheaper.
        if N > 1 and len(self.penalty) == 1 and groups is None:
            return Tridiagonal(B)
        return Spectral(Spectrum.from_gram(B), groups)

    def fine(self, least: float) -> Factor | None:
        """The SVD of B, unless it would take minutes."""
        if min(self.shape) > _LARGE:
            warnings.warn(
                f"the error may fall further below alpha = {self.problem.alpha_outside(least):.2g}, the "
                f"smallest that the Gram matrix of B can show, but the SVD of B {self.shape} for this takes "
                "minutes. If the error is too large, ask for the SVD with alphas=, or take a narrower "
                "branch.",
                NumericsWarning,
                stacklevel=6,
            )
            return None
        return Spectral(Spectrum.from_svd(self.problem.B, 0.0), self.problem.groups)

    def sweep(self, factor: Factor, alphas: np.ndarray) -> Sweep:
        """Leave every function out."""
        return factor.sweep(self.problem.QtG, alphas, self.penalty)

    def measured(self, swept: Sweep) -> tuple[np.ndarray, np.ndarray]:
        """Leave-one-out errors or GCV scores, and leave-one-out errors."""
        error = overall(self.problem.errors(swept.left_out), self.problem.span.shape[0])
        return swept.gcv if self.by == "gcv" else error, error

    def solution(self, report: bool = False) -> Solution:
        """The solution at the best alpha; with the path, if it is to be reported."""
        best = self.best()
        alpha = float(self.alphas[best])
        return self.problem.solution(
            self.factor.coefficients(self.problem.QtG, alpha * self.penalty),
            self.factor,
            alpha=alpha,
            squared=float(self.swept.squared[best]),
            left_out=self.swept.left_out[best],
            left_out_at=self.left_out_at[best] * self.penalty,
            alphas=self.problem.alpha_outside(self.alphas) if report else None,
            path=self.criterion if report else None,
        )
