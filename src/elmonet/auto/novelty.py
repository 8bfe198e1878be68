"""How far an input is from the training functions."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from elmonet._blas import gram, product

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

    def _leverage(self, X: np.ndarray) -> np.ndarray:
        inside = product(X, self.V)
        outside = np.maximum(np.einsum("ij,ij->i", X, X) - np.einsum("ij,ij->i", inside, inside), 0)
        return inside**2 @ (1 / (self.values + self.noise)) + outside / self.noise
