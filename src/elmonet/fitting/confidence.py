"""How wrong the predictions of a fit may be: bands, and a variance that tells easy functions from hard."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from elmonet.bands import Bands
from elmonet.form.outputs import OutputForm
from elmonet.interpolation import interpolate
from elmonet.operator import Operator
from elmonet.solve.solution import Fit
from elmonet.variance import Variance

__all__ = ["Confidence", "Learned"]

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
