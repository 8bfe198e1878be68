"""How wrong the predictions of a fit may be: bands, and a variance that tells easy functions from hard."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import nnls

from elmonet.features.base import features_times_and_rest
from elmonet.fitting.operator import Operator
from elmonet.forms.outputs import OutputForm
from elmonet.interpolation import interpolate
from elmonet.solve.solution import Fit
from elmonet.uncertainty.bands import Bands

__all__ = ["Confidence", "Learned", "Variance"]

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


_STEEPEST = 2.0  # power that is believed
_LEAST = 1e-6  # of the largest error: smaller ones count as this


@dataclass(frozen=True)
class Learned:
    """The size of the error, learned from functions left out.

    The logarithm of what was missed of function i is regressed on the features, as one more output; then, by
    least squares, on what that says of it left out and on the logarithm of its standard deviation.

    Attributes
    ----------
    row : (p1,), the first regression.
    numbers : the powers of the standard deviation and of the first regression in the second; the smallest
        and the largest size of functions left out, beyond which no other is stated.
    """

    row: np.ndarray
    numbers: np.ndarray

    @classmethod
    def of(
        cls, fit: Fit, missed: np.ndarray, deviation: np.ndarray, weights: np.ndarray | None
    ) -> tuple[Learned, np.ndarray]:
        """From what was missed (n, R) and standard deviations (n,); and the size of each left out (n,)."""
        size = np.sqrt(np.mean(missed**2, axis=1))
        log_size = np.log(np.maximum(size, _LEAST * size.max() + np.finfo(float).tiny))
        log_size -= log_size.mean()
        w = np.ones(len(size)) if weights is None else weights
        row, left_out = fit.regressed(log_size * w)
        both = np.column_stack([np.log(deviation), left_out / w])
        # Not negative: what a mean of the others says of a function falls as that function rises.
        powers = np.minimum(nnls(both - both.mean(axis=0), log_size)[0], _STEEPEST)
        sizes = np.exp(both @ powers)
        return cls(row, np.array([*powers, sizes.min(), sizes.max()])), sizes

    def __call__(self, deviation: np.ndarray, regressed: np.ndarray) -> np.ndarray:
        """The size of the error (n,), up to a factor."""
        a, b, least, most = self.numbers
        return np.exp(np.clip(a * np.log(deviation) + b * regressed, np.log(least), np.log(most)))


@dataclass(frozen=True)
class Confidence:
    """Bands of a fitted operator.

    Attributes
    ----------
    bands : its scales g are one, the standard deviation, and what was learned.
    variance : of a new function; None: bands are equally wide for all functions.
    learned : the size of the error, if it was learned.
    """

    bands: Bands
    variance: Variance | None = None
    learned: Learned | None = None

    def with_coefficients(self, operator: Operator, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The coefficients (n, r) of functions Z, and the scale g of each (n,)."""
        if self.variance is None or self.bands.scale == 0:
            return operator.coefficients(Z), np.ones(len(Z))
        if self.learned is None or self.bands.scale == 1:
            coefficients, variance, _ = self.variance.with_coefficients(operator, Z)
            return coefficients, np.sqrt(variance)
        coefficients, variance, more = self.variance.with_coefficients(operator, Z, self.learned.row)
        return coefficients, self.learned(np.sqrt(variance), more[:, 0])

    def sigma_at(self, outputs: OutputForm, points: np.ndarray | None) -> np.ndarray:
        """The scale of each place: of the training points, or of others (M, d); components in turn."""
        sigma = self.bands.sigma
        if points is None:
            return sigma
        if outputs.scattered:  # one for each component
            return np.repeat(sigma, len(points))
        each = sigma.reshape(max(1, outputs.components), -1)
        between = interpolate(outputs.points, each.T, points).T
        return np.clip(between, each.min(axis=1, keepdims=True), each.max(axis=1, keepdims=True)).ravel()

    def arrays(self) -> dict[str, np.ndarray]:
        """All of it as arrays, for a file."""
        kept = {f"bands.{name}": array for name, array in self.bands.arrays().items()}
        if self.variance is not None:
            kept |= {f"variance.{name}": array for name, array in self.variance.arrays().items()}
        if self.learned is not None:
            kept |= {"learned.row": self.learned.row, "learned.numbers": self.learned.numbers}
        return kept

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Confidence | None:
        """The inverse of `arrays`; None if there is nothing of it."""
        bands, variance, learned = (
            {name.removeprefix(part): a for name, a in arrays.items() if name.startswith(part)}
            for part in ("bands.", "variance.", "learned.")
        )
        if not bands:
            return None
        return cls(
            Bands.from_arrays(bands),
            Variance.from_arrays(variance) if variance else None,
            Learned(**learned) if learned else None,
        )
