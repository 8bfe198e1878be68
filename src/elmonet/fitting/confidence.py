"""How wrong the predictions of a fit may be: bands, and a variance that tells easy functions from hard."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elmonet.bands import Bands
from elmonet.form.outputs import OutputForm
from elmonet.interpolation import interpolate
from elmonet.operator import Operator
from elmonet.variance import Variance

__all__ = ["Confidence"]


@dataclass(frozen=True)
class Confidence:
    """Bands of a fitted operator.

    Attributes
    ----------
    bands : its scales g are one, and the root of the variance.
    variance : of a new function; None: bands are equally wide for all functions.
    """

    bands: Bands
    variance: Variance | None = None

    def with_coefficients(self, operator: Operator, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The coefficients (n, r) of functions Z, and the scale g of each (n,)."""
        if self.variance is None or self.bands.scale == 0:
            return operator.coefficients(Z), np.ones(len(Z))
        coefficients, variance = self.variance.with_coefficients(operator, Z)
        return coefficients, np.sqrt(variance)

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
        more = {} if self.variance is None else self.variance.arrays()
        return kept | {f"variance.{name}": array for name, array in more.items()}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Confidence | None:
        """The inverse of `arrays`; None if there is nothing of it."""
        bands, variance = (
            {name.removeprefix(part): a for name, a in arrays.items() if name.startswith(part)}
            for part in ("bands.", "variance.")
        )
        if not bands:
            return None
        return cls(Bands.from_arrays(bands), Variance.from_arrays(variance) if variance else None)
