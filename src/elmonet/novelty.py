"""How far an input is from the training functions."""

from __future__ import annotations

import warnings
from typing import Self

import numpy as np
from scipy.linalg import eigh

from elmonet._blas import gram, product
from elmonet._check import ExtrapolationWarning

__all__ = ["Novelty"]

_MARGIN = 2.0  # times beyond the strangest training function
_NOISE = 1e-6  # part of the inputs' variance that counts as noise


class Novelty:
    """Leverage: how much of a function the others do not explain, compared with the training functions.

    With the training inputs X (N, m), centred, and ``C = X'X + d`` (d a small part of its trace), a new
    function x has the leverage ``x' C^-1 x``; a training function that is left out has ``h / (1 - h)``, with
    h its own. The novelty is the root of the ratio to the largest of these.
    """

    def __init__(self, X: np.ndarray):
        X = X.reshape(len(X), -1).astype(np.float64, copy=False)
        self.mean = X.mean(axis=0)
        X = X - self.mean
        # X = U S V': from the smaller Gram matrix.
        wide = X.shape[1] > X.shape[0]
        values, vectors = eigh(gram(X if wide else X.T), lower=True)
        self.noise = max(_NOISE * float(values.sum()), np.finfo(float).tiny)
        kept = values > self.noise
        self.values = values[kept]
        self.V = product(X.T, vectors[:, kept]) / np.sqrt(self.values) if wide else vectors[:, kept]
        h = np.minimum(self._leverage(X), 1 - 1e-12)
        self.largest = float(np.max(h / (1 - h))) or 1.0

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """The novelty of each function (N,)."""
        X = X.reshape(len(X), -1).astype(np.float64, copy=False) - self.mean
        return np.sqrt(self._leverage(X) / self.largest)

    def strange(self, X: np.ndarray) -> np.ndarray:
        """Which functions lie well beyond the training functions."""
        return self(X) > _MARGIN

    def warn(self, X: np.ndarray) -> None:
        """Warn if functions lie well beyond the training functions."""
        strange = self.strange(X)
        if strange.any():
            warnings.warn(
                f"{int(strange.sum())} of {len(X)} inputs (the first: row {int(np.argmax(strange))}) lie "
                "outside what the training functions cover: the leave-one-out error does not speak for them. "
                "Train on functions like these.",
                ExtrapolationWarning,
                stacklevel=3,
            )

    def arrays(self) -> dict[str, np.ndarray]:
        """All that there is, for a file."""
        return {
            "mean": self.mean,
            "values": self.values,
            "V": self.V,
            "numbers": np.array([self.noise, self.largest]),
        }

    @classmethod
    def of(cls, arrays: dict[str, np.ndarray]) -> Self:
        """The inverse of `arrays`."""
        novelty = cls.__new__(cls)
        novelty.mean, novelty.values, novelty.V = (arrays[name] for name in ("mean", "values", "V"))
        novelty.noise, novelty.largest = (float(value) for value in arrays["numbers"])
        return novelty

    def _leverage(self, X: np.ndarray) -> np.ndarray:
        inside = product(X, self.V)
        outside = np.maximum(np.einsum("ij,ij->i", X, X) - np.einsum("ij,ij->i", inside, inside), 0)
        return inside**2 @ (1 / (self.values + self.noise)) + outside / self.noise
