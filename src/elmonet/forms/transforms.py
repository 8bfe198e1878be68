"""Centring, scaling and logarithms, so that users never transform by hand."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from elmonet.errors import InputError
from elmonet.interpolation import interpolate

_BLOCK_ENTRIES = 1 << 21  # of a temporary array
_ROOM = 200  # power of two that values may reach: products of five of them have room in double precision
_USUAL = 0.9  # quantile over the sensors of an input: what is larger than nearly all has another unit
_ROUNDING = 100 * float(np.finfo(float).eps)  # part of the usual size that may be rounding of it
_LOST = 1e3  # ratio of the usual size and that of a sensor, up to which it has lost digits to larger values


@dataclass(frozen=True)
class Affine:
    """``(A - shift) / scale``, elementwise."""

    shift: np.ndarray
    scale: np.ndarray

    def __call__(self, A: np.ndarray) -> np.ndarray:
        """Return the transformed array, in the dtype of A."""
        return (A - self.shift.astype(A.dtype)) / self.scale.astype(A.dtype)


def standardise(X: np.ndarray, weights: np.ndarray | None = None, sizes: Any = None) -> Affine:
    """Return the scaling to mean 0 and standard deviation 1 at every sensor; constant sensors become 0.

    `weights` (N,) count the functions. `sizes` are the numbers of sensors of several inputs side by side.
    """
    sensors = X.reshape(len(X), -1).T
    largest = np.maximum(sensors.max(axis=1), -sensors.min(axis=1)).astype(np.float64)
    exponent = _exponents(largest, sizes)
    mean, deviation = np.empty(len(sensors)), np.empty(len(sensors))
    step = max(1, _BLOCK_ENTRIES // len(X))
    for start in range(0, len(sensors), step):
        some = slice(start, start + step)
        values = np.ldexp(sensors[some].astype(np.float64, copy=False), -exponent[some, None])
        mean[some] = np.average(values, axis=1, weights=weights)
        values -= mean[some, None]
        deviation[some] = np.sqrt(np.average(values * values, axis=1, weights=weights))
    deviation[is_rounding(deviation, X.dtype)] = 1
    shift, scale = (np.ldexp(A, exponent).reshape(X.shape[1:]) for A in (mean, deviation))
    return Affine(shift, scale)


def is_rounding(deviation: np.ndarray, dtype: Any) -> np.ndarray:
    """Return which standard deviations (m,) of values of order 1 are rounding, see `_exponents`."""
    return np.asarray(deviation <= 10 * np.finfo(dtype).eps)


def of_order_one(X: np.ndarray, sizes: Any = None) -> np.ndarray:
    """Return functions (N, m) with every sensor divided by a power of two, see `_exponents`."""
    rows = X.reshape(len(X), -1).astype(np.float64, copy=False)
    return np.ldexp(rows, -_exponents(np.maximum(rows.max(axis=0), -rows.min(axis=0)), sizes))


def extreme_exponents(X: np.ndarray, sizes: Any = None) -> np.ndarray | None:
    """Return powers of two (...) of values X (N, ...) beyond 1e60 or below 1e-60; None if there are none."""
    largest = np.maximum(X.max(axis=0), -X.min(axis=0)).astype(np.float64)
    exponents = _exponents(largest.ravel(), sizes).reshape(largest.shape)
    exponents[np.abs(exponents) <= _ROOM] = 0
    return exponents if exponents.any() else None


def _exponents(largest: np.ndarray, sizes: Any = None) -> np.ndarray:
    """Return the power of two (m,) that each sensor is compared with, from the largest |x| at each (m,).

    Differences that are rounding on that scale are none: boundary values of 1e-17 of a function are zeros.
    It is the usual size of the input that the sensor belongs to, not the largest: beside a density of 1e19,
    numbers of order 1 are none of its rounding. And values far above that rounding are compared with up to
    1000 times their own size: 3e-4 beside 3e9 is a number with digits of its own. Dividing by it leaves room
    for squares of 1e-200 and 1e200.
    """
    reference = largest.copy()
    ends = np.cumsum([0, *(sizes or [len(largest)])])
    for start, end in pairwise(ends):
        own = largest[start:end]
        if own.any():
            usual = np.quantile(own[own > 0], _USUAL, method="lower")
            compared = np.where(own > _ROUNDING * usual, np.minimum(usual, own * _LOST), usual)
            reference[start:end] = np.maximum(own, compared)
    return np.frexp(reference)[1]


class Moments:
    """Streaming mean and variance at every sensor (Chan, Golub, LeVeque 1983)."""

    def __init__(self) -> None:
        self.functions = 0
        self.largest: Any = 0.0  # of |X|
        self.mean: Any = 0.0
        self.squares: Any = 0.0  # of the deviations from the mean

    def add(self, X: np.ndarray) -> None:
        """Add functions X (n, ...)."""
        X = X.astype(np.float64, copy=False)
        other = Moments()
        other.functions, other.mean = len(X), X.mean(axis=0)
        other.squares = np.sum((X - other.mean) ** 2, axis=0)
        other.largest = np.maximum(X.max(axis=0), -X.min(axis=0))
        self.merge(other)

    def merge(self, other: Moments) -> None:
        """Add the functions of other moments."""
        total = self.functions + other.functions
        apart = other.mean - self.mean
        self.mean = self.mean + apart * (other.functions / total)
        self.squares = self.squares + other.squares + apart**2 * (self.functions * other.functions / total)
        self.functions, self.largest = total, np.maximum(self.largest, other.largest)

    def standardise(self, sizes: Any = None) -> Affine:
        """Return the scaling that `standardise` gives for all functions together."""
        deviation = np.sqrt(self.squares / self.functions)
        reference = np.ldexp(1.0, _exponents(self.largest.ravel(), sizes)).reshape(self.largest.shape)
        return Affine(
            self.mean, np.where(deviation <= 10 * np.finfo(np.float64).eps * reference, reference, deviation)
        )


def unit_box(points: np.ndarray) -> Affine:
    """Return the map of the bounding box of points to the unit cube; constant coordinates become 0."""
    low, high = points.min(axis=0), points.max(axis=0)
    return Affine(low, np.where(high > low, high - low, 1.0))


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


def log_outputs(y: np.ndarray, weights: np.ndarray | None = None) -> LogOutputs:
    """Return the `LogOutputs` fitted to training outputs y (N, M), counted by `weights` (N,)."""
    zero = (y == 0).all(axis=0)
    if not (y[:, ~zero] > 0).all():
        raise InputError(
            "log_outputs needs positive outputs, except at points where all outputs are zero; the smallest "
            f"value of y is {y.min():.4g}. Remove log_outputs."
        )
    with np.errstate(divide="ignore"):
        logarithms = np.log(y.astype(np.float64, copy=False))
    mean = np.average(logarithms, axis=0, weights=weights)
    centre = np.where(zero, 0.0, np.exp(mean))
    z = logarithms[:, ~zero] - mean[~zero]
    low, high = (float(z.min()), float(z.max())) if z.size else (0.0, 0.0)
    return LogOutputs(centre, low - (high - low) - 1, high + (high - low) + 1)
