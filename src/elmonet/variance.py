"""How little the training functions say of a new one: its posterior variance, in bounded time and room.

A ridge with the penalty alpha is the mean of a Gaussian process: outputs are ``C b`` with standard normal C,
and noise of the variance alpha. Given the training functions, a function with features b has the variance

    alpha (1 + b' (B B' + alpha)^-1 b + rest / alpha) ,

noise included, where ``rest = k(x, x) - |b|^2`` is what the features of a kernel miss of a function outside
the span of the training functions. It is large there, and without it bands would cover nothing.

With ``R'R = (B B' + alpha)^-1`` the middle term is ``|R b|^2``, which takes p1^2 products. For a scale that
is more than is needed: k random combinations of the rows, ``S R`` with normal S of variance 1/k, give it to
``sqrt(2 / k)`` of its size (Johnson and Lindenstrauss 1984), in one product together with C.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from elmonet.features.base import features_times_and_rest
from elmonet.operator import Operator
from elmonet.solve.solution import Fit

__all__ = ["Variance"]

_ROWS = 48  # random combinations


@dataclass(frozen=True)
class Variance:
    """The variance of a function given the training functions, in units of the noise.

    Attributes
    ----------
    root : (k, p1), ``S R``.
    noise : alpha.
    largest : of the training functions, each given the others; Inf: not known.
    """

    root: np.ndarray
    noise: float
    largest: float = np.inf

    @classmethod
    def of(cls, fit: Fit, p1: int) -> Variance:
        """From what a solver keeps of a fit with p1 features."""
        few = np.random.default_rng(0).normal(size=(_ROWS, p1)) / np.sqrt(_ROWS)
        root = fit.root(np.eye(p1) if p1 <= _ROWS else few)
        return cls(np.ascontiguousarray(root), fit.noise)

    def with_coefficients(
        self, operator: Operator, Z: np.ndarray, *more: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The coefficients ``C b`` (n, r) of functions Z, their variances (n,), and ``more b``."""
        rows = [operator.C, self.root, *(row[None] for row in more)]
        every = np.concatenate(rows, dtype=operator.C.dtype)
        found, rest = features_times_and_rest(operator.branch, Z, every.T)
        r, k = len(operator.C), len(operator.C) + len(self.root)
        return np.ascontiguousarray(found[:, :r]), self._variance(found[:, r:k], rest), found[:, k:]

    def left_out(self, fit: Fit, operator: Operator, Z: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """Those of the training functions Z (n, ...), each given the others.

        ``1 / (1 - h_i)``, which is ``1 + h_i / (1 - h_i)``. Where h of new functions is known by random
        combinations, so is theirs: then both are alike. A function that counts w^2 times has w^2 times the
        leverage.
        """
        exact = fit.left_out_variance()
        size = 1.0 if weights is None else 1 / weights**2
        if self.misses_some(operator, Z):
            return 1 + (exact - 1) * size
        half = fit.halves(self.root)
        return 1 + np.einsum("ki,ki->i", half, half) * exact * size

    def novelty(self, operator: Operator, Z: np.ndarray) -> np.ndarray:
        """The standard deviation of each function (n,), in units of the largest of a training function."""
        return np.sqrt(self.with_coefficients(operator, Z)[1] / self.largest)

    def misses_some(self, operator: Operator, Z: np.ndarray) -> bool:
        """Whether the features of new functions miss a part of them, as those of kernels do."""
        return features_times_and_rest(operator.branch, Z[:1], self.root.T)[1] is not None

    def arrays(self) -> dict[str, np.ndarray]:
        """All of it as arrays, for a file."""
        return {"root": self.root, "numbers": np.array([self.noise, self.largest])}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Variance:
        """The inverse of `arrays`."""
        return cls(arrays["root"], *arrays["numbers"].tolist())

    def _variance(self, half: np.ndarray, rest: Any) -> np.ndarray:
        inside = np.einsum("ij,ij->i", half, half, dtype=np.float64)
        return 1 + inside + (0.0 if rest is None else rest / max(self.noise, np.finfo(float).tiny))
