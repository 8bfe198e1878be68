"""Centring and scaling of inputs, so that users never normalise by hand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Affine", "standardise", "unit_box"]

_BLOCK = 1 << 21  # entries of a temporary block


@dataclass(frozen=True)
class Affine:
    """``(A - shift) / scale``, elementwise."""

    shift: np.ndarray
    scale: np.ndarray

    def __call__(self, A: np.ndarray) -> np.ndarray:
        """Apply it, in the floating-point type of A."""
        return (A - self.shift.astype(A.dtype)) / self.scale.astype(A.dtype)


def standardise(X: np.ndarray) -> Affine:
    """Mean 0 and standard deviation 1 at every sensor; sensors that never change become 0."""
    # Divide by a power of two near max|X| first: squares of 1e-200 or 1e200 have no room.
    _, exponent = np.frexp(max(float(X.max()), -float(X.min())))
    sensors = X.reshape(len(X), -1).T
    mean, deviation = np.empty(len(sensors)), np.empty(len(sensors))
    step = max(1, _BLOCK // len(X))
    for start in range(0, len(sensors), step):
        some = slice(start, start + step)
        values = np.ldexp(sensors[some].astype(np.float64, copy=False), -exponent)
        mean[some] = values.mean(axis=1)
        deviation[some] = values.std(axis=1)
    deviation[deviation <= 10 * np.finfo(X.dtype).eps] = 1
    shift, scale = (np.ldexp(A, exponent).reshape(X.shape[1:]) for A in (mean, deviation))
    return Affine(shift, scale)


def unit_box(points: np.ndarray) -> Affine:
    """The bounding box of the points becomes the unit cube; coordinates that never change become 0."""
    low, high = points.min(axis=0), points.max(axis=0)
    return Affine(low, np.where(high > low, high - low, 1.0))
