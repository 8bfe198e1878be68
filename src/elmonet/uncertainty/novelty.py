"""What a model remembers of its training functions: which they were, and how far others are from them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from hashlib import blake2b
from typing import Self

import numpy as np
from scipy.linalg import eigh

from elmonet.errors import ExtrapolationWarning, InputError
from elmonet.linalg import gram, product

__all__ = ["Memory", "Novelty", "fingerprints_of", "warn_of_strange"]

_MOST = 100_000  # functions whose fingerprints are kept
_MOST_INPUTS = 5_000  # functions whose inputs are kept
_MARGIN = 1.5  # times the novelty of the most unusual training function, above which there is a warning
_WIDE_MARGIN, _FEW = 2.0, 20  # the same, where so few training functions show little of what is usual
_NOISE = 1e-6  # part of the inputs' variance that counts as noise


@dataclass(frozen=True)
class Memory:
    """What is kept of training functions.

    Attributes
    ----------
    fingerprints : (N,), one number for each function, sorted; None if nothing is kept.
    measure : how far others are from them; None if that was not asked for.
    inputs : (N, ...), the functions themselves, as rows; of more than 5000, as many, evenly spaced. None if
        they are not kept.
    """

    fingerprints: np.ndarray | None = None
    measure: Novelty | None = None
    inputs: np.ndarray | None = None

    @classmethod
    def of(cls, rows: np.ndarray, Z: np.ndarray | None = None) -> Memory:
        """Of training functions, as rows, and, to measure the novelty of others, as the branch sees them."""
        known = np.sort(fingerprints_of(rows)) if len(rows) <= _MOST else None
        some = np.linspace(0, len(rows) - 1, min(len(rows), _MOST_INPUTS)).astype(int)
        kept = rows if len(some) == len(rows) else rows[some]
        return cls(known, None if Z is None else Novelty(Z), kept)

    def has(self, rows: np.ndarray) -> np.ndarray:
        """Which functions (n,) are training functions, to the last bit."""
        if self.fingerprints is None:
            return np.zeros(len(rows), bool)
        return np.isin(fingerprints_of(rows), self.fingerprints)

    def novelty(self, Z: np.ndarray) -> np.ndarray:
        """How far each function (n,), as the branch sees it, is from the training functions."""
        if self.measure is None:
            raise InputError(
                "this model does not remember its training inputs: call remember_inputs(X) first."
            )
        return self.measure(Z)

    def warn(self, Z: np.ndarray) -> None:
        """Warn if functions lie well beyond the training functions."""
        if self.measure is not None:
            self.measure.warn(Z)

    def arrays(self) -> dict[str, np.ndarray]:
        """All of it as arrays, for a file."""
        kept = {} if self.measure is None else self.measure.arrays()
        named = {f"novelty.{name}": array for name, array in kept.items()}
        own = {"fingerprints": self.fingerprints, "training_inputs": self.inputs}
        return named | {name: array for name, array in own.items() if array is not None}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Memory:
        """The inverse of `arrays`."""
        kept = {n.removeprefix("novelty."): a for n, a in arrays.items() if n.startswith("novelty.")}
        measure = Novelty.from_arrays(kept) if kept else None
        return cls(arrays.get("fingerprints"), measure, arrays.get("training_inputs"))


def fingerprints_of(rows: np.ndarray) -> np.ndarray:
    """A number of 64 bits for each row."""
    # Row by row, because a copy of all would count at the peak of a fit; -0.0 becomes 0.0.
    digests = (blake2b(np.add(row, 0.0, dtype=np.float64), digest_size=8).digest() for row in rows)
    return np.array([int.from_bytes(digest) for digest in digests], np.uint64)


def warn_of_strange(strange: np.ndarray, stacklevel: int) -> None:
    """Warn if some functions (n,) lie well beyond the training functions."""
    if strange.any():
        warnings.warn(
            f"{int(strange.sum())} of {len(strange)} inputs (the first: row {int(np.argmax(strange))}) are "
            "not like the training functions: the expected error does not hold for them. Train on "
            "functions like these.",
            ExtrapolationWarning,
            stacklevel=stacklevel,
        )


class Novelty:
    """Leverage: how much of a function the others do not explain, compared with the training functions.

    With the training inputs X (N, m), centred, and ``C = X'X + d`` (d a small part of its trace), a new
    function x has the leverage ``h = 1/N + x' C^-1 x``, the first term being that of the mean. A training
    function that is left out has ``h / (1 - h)``, with h its own. The novelty is the root of the ratio to the
    largest of these.
    """

    def __init__(self, X: np.ndarray):
        X = X.reshape(len(X), -1).astype(np.float64, copy=False)
        self.mean, self.of_mean = X.mean(axis=0), 1 / len(X)
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
        return self(X) > (_MARGIN if self.of_mean <= 1 / _FEW else _WIDE_MARGIN)

    def warn(self, X: np.ndarray) -> None:
        """Warn if functions lie well beyond the training functions."""
        warn_of_strange(self.strange(X), stacklevel=5)

    def arrays(self) -> dict[str, np.ndarray]:
        """All of it as arrays, for a file."""
        return {
            "mean": self.mean,
            "values": self.values,
            "V": self.V,
            "numbers": np.array([self.noise, self.largest, self.of_mean]),
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Self:
        """The inverse of `arrays`."""
        novelty = cls.__new__(cls)
        novelty.mean, novelty.values, novelty.V = (arrays[name] for name in ("mean", "values", "V"))
        numbers = arrays["numbers"].tolist()
        novelty.noise, novelty.largest, novelty.of_mean = (*numbers, 0.0)[:3]  # 0.1 knew nothing of the last
        return novelty

    def _leverage(self, X: np.ndarray) -> np.ndarray:
        inside = product(X, self.V)
        outside = np.maximum(np.einsum("ij,ij->i", X, X) - np.einsum("ij,ij->i", inside, inside), 0)
        return self.of_mean + inside**2 @ (1 / (self.values + self.noise)) + outside / self.noise
