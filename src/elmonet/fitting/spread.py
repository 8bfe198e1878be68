"""How large the error of each function is, relative to others: posterior variance, and learned size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.optimize import nnls

from elmonet.features.base import features_times_and_rest
from elmonet.fitting.operator import Operator
from elmonet.solve.solution import Fit

_PROJECTIONS = 48  # random combinations of rows that estimate a variance
_MAX_POWER = 2.0  # of the learned size of errors
_SMALLEST_SIZE = 1e-6  # of the largest error: smaller ones count as this


@dataclass(frozen=True)
class PosteriorVariance:
    """The posterior variance of a function given the training functions, in units of the noise.

    A ridge with the penalty alpha is the mean of a Gaussian process: outputs are ``C b`` with standard normal
    C, and noise of the variance alpha. Given the training functions, a function with features b has the
    variance

        alpha (1 + b' (B B' + alpha)^-1 b + rest / alpha) ,

    noise included, where ``rest = k(x, x) - |b|^2`` is what the features of a kernel miss of a function
    outside the span of the training functions. It is large there, and without it bands would cover nothing.

    With ``R'R = (B B' + alpha)^-1`` the middle term is ``|R b|^2``, which takes p1^2 products. For a scale
    that is more than is needed: k random combinations of the rows, ``S R`` with normal S of variance 1/k,
    give it to ``sqrt(2 / k)`` of its size (Johnson and Lindenstrauss 1984), in one product together with C.

    Attributes
    ----------
    root : (k, p1), ``S R``.
    noise : alpha.
    largest : largest variance of a training function given the others; infinite if it is not known.
    """

    root: np.ndarray
    noise: float
    largest: float = np.inf

    @classmethod
    def of(cls, fit: Fit, p1: int) -> Self:
        """Return the variance for a solver's fit with p1 features."""
        few = np.random.default_rng(0).normal(size=(_PROJECTIONS, p1)) / np.sqrt(_PROJECTIONS)
        root = fit.root(np.eye(p1) if p1 <= _PROJECTIONS else few)
        return cls(np.ascontiguousarray(root), fit.noise)

    def with_coefficients(
        self, operator: Operator, Z: np.ndarray, *more: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the coefficients ``C b`` (n, r) of functions Z, their variances (n,), and ``more b``."""
        rows = [operator.C, self.root, *(row[None] for row in more)]
        every = np.concatenate(rows, dtype=operator.C.dtype)
        found, rest = features_times_and_rest(operator.branch, Z, every.T)
        r, k = len(operator.C), len(operator.C) + len(self.root)
        return np.ascontiguousarray(found[:, :r]), self._variance(found[:, r:k], rest), found[:, k:]

    def left_out(self, fit: Fit, operator: Operator, Z: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """Return the variances (n,) of the training functions Z, each given the others.

        ``1 / (1 - h_i)``, which is ``1 + h_i / (1 - h_i)``. Where h of new functions is estimated by random
        combinations, so is theirs, and both are alike. A function that counts w^2 times has w^2 times the
        leverage.
        """
        exact = fit.left_out_variance()
        size = 1.0 if weights is None else 1 / weights**2
        if self.misses_some(operator, Z):
            return 1 + (exact - 1) * size
        half = fit.halves(self.root)
        return 1 + np.einsum("ki,ki->i", half, half) * exact * size

    def novelty(self, operator: Operator, Z: np.ndarray) -> np.ndarray:
        """Return the standard deviation of each function (n,), relative to the largest in training."""
        return np.sqrt(self.with_coefficients(operator, Z)[1] / self.largest)

    def misses_some(self, operator: Operator, Z: np.ndarray) -> bool:
        """Return whether the features of new functions miss a part of them, as those of kernels do."""
        return features_times_and_rest(operator.branch, Z[:1], self.root.T)[1] is not None

    def arrays(self) -> dict[str, np.ndarray]:
        """Return all of it as named arrays, for a file."""
        return {"root": self.root, "numbers": np.array([self.noise, self.largest])}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Self:
        """Invert `arrays`."""
        return cls(arrays["root"], *arrays["numbers"].tolist())

    def _variance(self, half: np.ndarray, rest: Any) -> np.ndarray:
        inside = np.einsum("ij,ij->i", half, half, dtype=np.float64)
        return 1 + inside + (0.0 if rest is None else rest / max(self.noise, np.finfo(float).tiny))


@dataclass(frozen=True)
class LearnedSize:
    """The size of the error, learned from left-out residuals.

    The logarithm of a function's residual is regressed on the features, as one more output; then, by least
    squares, on its left-out prediction by that regression and on the logarithm of its standard deviation.

    Attributes
    ----------
    row : (p1,), coefficients of the first regression.
    numbers : powers of the standard deviation and of the first regression in the second one; smallest and
        largest size of functions left out, which bound all others.
    """

    row: np.ndarray
    numbers: np.ndarray

    @classmethod
    def of(
        cls, fit: Fit, residuals: np.ndarray, deviation: np.ndarray, weights: np.ndarray | None
    ) -> tuple[Self, np.ndarray]:
        """Return the size learned from residuals (n, R) and standard deviations (n,), and its values (n,)."""
        size = np.sqrt(np.mean(residuals**2, axis=1))
        log_size = np.log(np.maximum(size, _SMALLEST_SIZE * size.max() + np.finfo(float).tiny))
        log_size -= log_size.mean()
        w = np.ones(len(size)) if weights is None else weights
        row, left_out = fit.regressed(log_size * w)
        both = np.column_stack([np.log(deviation), left_out / w])
        # Not negative: a function's prediction by the mean of the others falls as that function rises.
        powers = np.minimum(nnls(both - both.mean(axis=0), log_size)[0], _MAX_POWER)
        sizes = np.exp(both @ powers)
        return cls(row, np.array([*powers, sizes.min(), sizes.max()])), sizes

    def __call__(self, deviation: np.ndarray, regressed: np.ndarray) -> np.ndarray:
        """Return the size of the error (n,), up to a factor."""
        a, b, least, most = self.numbers
        return np.exp(np.clip(a * np.log(deviation) + b * regressed, np.log(least), np.log(most)))
