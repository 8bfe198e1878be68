"""Centring, scaling and logarithms, so that users never transform by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from elmonet.errors import InputError
from elmonet.interpolation import interpolate

_BLOCK_ENTRIES = 1 << 21  # of a temporary array


@dataclass(frozen=True)
class Affine:
    """``(A - shift) / scale``, elementwise."""

    shift: np.ndarray
    scale: np.ndarray

    def __call__(self, A: np.ndarray) -> np.ndarray:
        """Return the transformed array, in the dtype of A."""
        return (A - self.shift.astype(A.dtype)) / self.scale.astype(A.dtype)


def standardise(X: np.ndarray) -> Affine:
    """Return the scaling to mean 0 and standard deviation 1 at every sensor; constant sensors become 0."""
    # Divide by a power of two near max|X| first: squares of 1e-200 or 1e200 have no room.
    _, exponent = np.frexp(max(float(X.max()), -float(X.min())))
    sensors = X.reshape(len(X), -1).T
    mean, deviation = np.empty(len(sensors)), np.empty(len(sensors))
    step = max(1, _BLOCK_ENTRIES // len(X))
    for start in range(0, len(sensors), step):
        some = slice(start, start + step)
        values = np.ldexp(sensors[some].astype(np.float64, copy=False), -exponent)
        mean[some] = values.mean(axis=1)
        deviation[some] = values.std(axis=1)
    deviation[deviation <= 10 * np.finfo(X.dtype).eps] = 1
    shift, scale = (np.ldexp(A, exponent).reshape(X.shape[1:]) for A in (mean, deviation))
    return Affine(shift, scale)


class Moments:
    """Streaming mean and variance at every sensor (Chan, Golub, LeVeque 1983)."""

    def __init__(self) -> None:
        self.functions, self.largest = 0, 0.0
        self.mean: Any = 0.0
        self.squares: Any = 0.0  # of the deviations from the mean

    def add(self, X: np.ndarray) -> None:
        """Add functions X (n, ...)."""
        X = X.astype(np.float64, copy=False)
        other = Moments()
        other.functions, other.mean = len(X), X.mean(axis=0)
        other.squares = np.sum((X - other.mean) ** 2, axis=0)
        other.largest = max(float(X.max()), -float(X.min()))
        self.merge(other)

    def merge(self, other: Moments) -> None:
        """Add the functions of other moments."""
        total = self.functions + other.functions
        apart = other.mean - self.mean
        self.mean = self.mean + apart * (other.functions / total)
        self.squares = self.squares + other.squares + apart**2 * (self.functions * other.functions / total)
        self.functions, self.largest = total, max(self.largest, other.largest)

    def standardise(self) -> Affine:
        """Return the scaling that `standardise` gives for all functions together."""
        deviation = np.sqrt(self.squares / self.functions)
        _, exponent = np.frexp(self.largest)
        same = deviation <= 10 * np.finfo(np.float64).eps * np.ldexp(1.0, int(exponent))
        return Affine(self.mean, np.where(same, np.ldexp(1.0, int(exponent)), deviation))


def unit_box(points: np.ndarray) -> Affine:
    """Return the map of the bounding box of points to the unit cube; constant coordinates become 0."""
    low, high = points.min(axis=0), points.max(axis=0)
    return Affine(low, np.where(high > low, high - low, 1.0))


def log_inputs(X: np.ndarray) -> np.ndarray:
    """Return ``log X``; raise `InputError` unless every value is positive."""
    if not (X > 0).all():
        raise InputError(
            "this model takes logarithms of its inputs, which must all be positive; the smallest value of X "
            f"is {X.min():.4g}. Fit with log_inputs=False (also in AutoELMDeepONet), or add a constant to "
            "the inputs."
        )
    return np.log(X)


@dataclass(frozen=True)
class LogOutputs:
    """``z = log(s / centre)`` for positive outputs s, where `centre` (M,) is their geometric mean.

    Points at which every output is zero, as on a boundary, keep that value: `centre` is zero there, and z,
    which is smooth up to them if all outputs vanish alike, is extrapolated from the other points.
    `inverse` clips z to [`low`, `high`], so that no prediction overflows.
    """

    centre: np.ndarray
    low: float
    high: float

    def __call__(self, s: np.ndarray, points: np.ndarray) -> np.ndarray:
        """Return z (N, M) of outputs s (N, M) at points (M, d)."""
        inside = self.centre > 0
        z = np.zeros_like(s)
        z[:, inside] = np.log(s[:, inside] / self.centre[inside].astype(s.dtype))
        if 1 < np.count_nonzero(inside) < len(points):
            z[:, ~inside] = interpolate(points[inside], z[:, inside].T, points[~inside]).T
        return z

    def inverse(self, z: np.ndarray, centre: np.ndarray | None = None) -> np.ndarray:
        """Return outputs from z (N, M), at the training points or where `centre` (M,) was interpolated to."""
        centre = self.centre if centre is None else centre
        return centre.astype(z.dtype) * np.exp(np.clip(z, self.low, self.high))


def log_outputs(y: np.ndarray) -> LogOutputs:
    """Return the `LogOutputs` fitted to training outputs y (N, M)."""
    zero = (y == 0).all(axis=0)
    if not (y[:, ~zero] > 0).all():
        raise InputError(
            "log_outputs needs positive outputs, except at points where all outputs are zero; the smallest "
            f"value of y is {y.min():.4g}. Remove log_outputs."
        )
    with np.errstate(divide="ignore"):
        logarithms = np.log(y.astype(np.float64, copy=False))
    centre = np.where(zero, 0.0, np.exp(logarithms.mean(axis=0)))
    z = logarithms[:, ~zero] - logarithms[:, ~zero].mean(axis=0)
    low, high = (float(z.min()), float(z.max())) if z.size else (0.0, 0.0)
    return LogOutputs(centre, low - (high - low) - 1, high + (high - low) + 1)
