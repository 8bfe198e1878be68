"""Affine maps, elementwise functions, and operations that move values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit, ndtr

from elmonet.description.operations.base import Arrays, Operation
from elmonet.linalg import product


@dataclass(frozen=True, eq=False, kw_only=True)
class AffineMap(Operation):
    """``A x + b`` for matrix A (k, m) and shift b (k,) or None; x holds `rows` vectors one after another."""

    matrix: np.ndarray
    shift: np.ndarray | None = None
    rows: int = 1

    def value(self, xs: Arrays) -> np.ndarray:
        """Return the result."""
        y = self._times(xs[0], self.matrix.T)
        return y if self.shift is None else _plus(y.reshape(-1, len(self.shift)), self.shift).reshape(y.shape)

    def tangent(self, memo: Any, dxs: Arrays) -> np.ndarray:
        """Return ``A dx``."""
        return self._times(dxs[0], self.matrix.T)

    def adjoint(self, memo: Any, g: np.ndarray) -> list[np.ndarray]:
        """Return ``A' g``."""
        return [self._times(g, self.matrix)]

    def _times(self, x: np.ndarray, A: np.ndarray) -> np.ndarray:
        rows = np.ascontiguousarray(x).reshape(len(x) * self.rows, -1)
        return product(rows, A).reshape(len(x), -1)


@dataclass(frozen=True, eq=False, kw_only=True)
class Scale(Operation):
    """``(x - before) * factor + after``, elementwise; all (size / rows,), or None for nothing.

    x holds `rows` vectors one after another, which are treated alike.
    """

    factor: np.ndarray
    before: np.ndarray | None = None
    after: np.ndarray | None = None
    rows: int = 1

    def value(self, xs: Arrays) -> np.ndarray:
        """Return the result."""
        x = xs[0].reshape(-1, len(self.factor))
        y = (x if self.before is None else x - self.before) * self.factor
        return (y if self.after is None else _plus(y, self.after)).reshape(xs[0].shape)

    def tangent(self, memo: Any, dxs: Arrays) -> np.ndarray:
        """Return ``factor dx``."""
        return (dxs[0].reshape(-1, len(self.factor)) * self.factor).reshape(dxs[0].shape)

    def adjoint(self, memo: Any, g: np.ndarray) -> list[np.ndarray]:
        """Return ``factor g``."""
        return [self.tangent(memo, [g])]


def _softplus(z: np.ndarray) -> np.ndarray:
    return np.log1p(np.exp(-np.abs(z))) + np.maximum(z, 0)


Function = Callable[[np.ndarray], np.ndarray]
# Name, function of z, and its derivative from z and the function's value y.
FUNCTIONS: dict[str, tuple[Function, Callable[[np.ndarray, np.ndarray], np.ndarray]]] = {
    "relu": (lambda z: np.maximum(z, 0), lambda z, y: (z > 0).astype(float)),
    "tanh": (np.tanh, lambda z, y: 1 - y * y),
    "sin": (np.sin, lambda z, y: np.cos(z)),
    "cos": (np.cos, lambda z, y: -np.sin(z)),
    "gelu": (lambda z: z * ndtr(z), lambda z, y: ndtr(z) + z * np.exp(-z * z / 2) / np.sqrt(2 * np.pi)),
    "sigmoid": (expit, lambda z, y: y * (1 - y)),
    "softplus": (_softplus, lambda z, y: expit(z)),
    "exp": (np.exp, lambda z, y: y),
    "log": (np.log, lambda z, y: 1 / z),
}


@dataclass(frozen=True, eq=False, kw_only=True)
class Elementwise(Operation):
    """One of `FUNCTIONS`, at each value."""

    function: str

    def value(self, xs: Arrays) -> np.ndarray:
        """Return the result."""
        return FUNCTIONS[self.function][0](xs[0])

    def linearised(self, xs: Arrays) -> tuple[np.ndarray, Any]:
        """Return the result and the derivative."""
        y = FUNCTIONS[self.function][0](xs[0])
        return y, FUNCTIONS[self.function][1](xs[0], y)

    def tangent(self, memo: Any, dxs: Arrays) -> np.ndarray:
        """Return the derivative times dx."""
        return memo * dxs[0]

    def adjoint(self, memo: Any, g: np.ndarray) -> list[np.ndarray]:
        """Return the derivative times g."""
        return [memo * g]


@dataclass(frozen=True, eq=False, kw_only=True)
class Gather(Operation):
    """``x[index]``, with zeros where the index is -1; `width` is the length of x."""

    index: np.ndarray
    width: int

    @cached_property
    def _has_zeros(self) -> bool:
        return bool((self.index < 0).any())

    @cached_property
    def _back(self) -> csr_array:
        """The transposed matrix (width, size), in rows."""
        kept = np.flatnonzero(self.index >= 0)
        ones = np.ones(len(kept))
        return csr_array((ones, (self.index[kept], kept)), (self.width, len(self.index)))

    @cached_property
    def _inverse(self) -> np.ndarray | None:
        """Where each value goes, if none is taken twice; -1 for those that are not taken."""
        kept = np.flatnonzero(self.index >= 0)
        if len(np.unique(self.index[kept])) < len(kept):
            return None
        found = np.full(self.width, -1)
        found[self.index[kept]] = kept
        return found

    def value(self, xs: Arrays) -> np.ndarray:
        """Return the result."""
        return _taken(xs[0], self.index, self._has_zeros)

    def tangent(self, memo: Any, dxs: Arrays) -> np.ndarray:
        """Return ``dx[index]``."""
        return self.value(dxs)

    def adjoint(self, memo: Any, g: np.ndarray) -> list[np.ndarray]:
        """Return the sums of g over equal indices."""
        if self._inverse is not None:
            return [_taken(g, self._inverse, bool((self._inverse < 0).any()))]
        return [np.ascontiguousarray((self._back @ g.T).T)]


def _taken(x: np.ndarray, index: np.ndarray, zeros: bool) -> np.ndarray:
    if x.shape[1] == 0:  # all are zeros
        return np.zeros((len(x), len(index)))
    y = x.take(index, axis=1)
    if zeros:
        y[:, index < 0] = 0
    return y


@dataclass(frozen=True, eq=False, kw_only=True)
class Concatenate(Operation):
    """The sources one after another; `sizes` are their lengths."""

    sizes: tuple[int, ...]

    def value(self, xs: Arrays) -> np.ndarray:
        """Return the result."""
        return np.hstack(list(xs))

    def tangent(self, memo: Any, dxs: Arrays) -> np.ndarray:
        """Return the changes one after another."""
        return np.hstack(list(dxs))

    def adjoint(self, memo: Any, g: np.ndarray) -> list[np.ndarray]:
        """Return the parts of g."""
        return np.split(g, np.cumsum(self.sizes)[:-1], axis=1)


@dataclass(frozen=True, eq=False, kw_only=True)
class Sum(Operation):
    """The sum of the sources."""

    def value(self, xs: Arrays) -> np.ndarray:
        """Return the result."""
        return np.asarray(sum(xs[1:], xs[0]))

    def tangent(self, memo: Any, dxs: Arrays) -> np.ndarray:
        """Return the sum of the changes."""
        return np.asarray(sum(dxs[1:], dxs[0]))

    def adjoint(self, memo: Any, g: np.ndarray) -> list[np.ndarray]:
        """Return g for each source."""
        return [g] * len(self.sources)


@dataclass(frozen=True, eq=False, kw_only=True)
class Product(Operation):
    """The product of two sources, elementwise."""

    def value(self, xs: Arrays) -> np.ndarray:
        """Return the result."""
        return xs[0] * xs[1]

    def tangent(self, memo: Any, dxs: Arrays) -> np.ndarray:
        """Return ``dx y + x dy``."""
        return dxs[0] * memo[1] + memo[0] * dxs[1]

    def adjoint(self, memo: Any, g: np.ndarray) -> list[np.ndarray]:
        """Return ``g y`` and ``g x``."""
        return [g * memo[1], g * memo[0]]


@dataclass(frozen=True, eq=False, kw_only=True)
class Constant(Operation):
    """The same values (size,) for every case; takes the input for its number of cases."""

    values: np.ndarray

    def value(self, xs: Arrays) -> np.ndarray:
        """Return the result."""
        return np.broadcast_to(self.values, (len(xs[0]), self.size))

    def linearised(self, xs: Arrays) -> tuple[np.ndarray, Any]:
        """Return the result and the size of the source."""
        return self.value(xs), xs[0].shape[1]

    def tangent(self, memo: Any, dxs: Arrays) -> np.ndarray:
        """Return zeros."""
        return np.zeros((len(dxs[0]), self.size))

    def adjoint(self, memo: Any, g: np.ndarray) -> list[np.ndarray]:
        """Return zeros."""
        return [np.zeros((len(g), memo))]


@dataclass(frozen=True, eq=False, kw_only=True)
class Clip(Operation):
    """The values, or the limits `low`, `high` (size,) where they are beyond."""

    low: np.ndarray
    high: np.ndarray

    def value(self, xs: Arrays) -> np.ndarray:
        """Return the result."""
        return np.minimum(np.maximum(xs[0], self.low), self.high)

    def linearised(self, xs: Arrays) -> tuple[np.ndarray, Any]:
        """Return the result, and 1 where values are within the limits."""
        return self.value(xs), ((xs[0] >= self.low) & (xs[0] <= self.high)).astype(float)

    def tangent(self, memo: Any, dxs: Arrays) -> np.ndarray:
        """Return the changes within the limits."""
        return memo * dxs[0]

    def adjoint(self, memo: Any, g: np.ndarray) -> list[np.ndarray]:
        """Return g within the limits."""
        return [memo * g]


TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, eq=False, kw_only=True)
class Amplitude(Operation):
    """``x / a`` and ``log a`` with ``a = max |x|``, at least the smallest positive number."""

    def value(self, xs: Arrays) -> np.ndarray:
        """Return the result."""
        a = np.maximum(np.abs(xs[0]).max(axis=1, keepdims=True), TINY)
        return np.hstack([xs[0] / a, np.log(a)])

    def linearised(self, xs: Arrays) -> tuple[np.ndarray, Any]:
        """Return the result, and where the largest value is."""
        at = np.abs(xs[0]).argmax(axis=1)
        return self.value(xs), (xs[0], at)

    def tangent(self, memo: Any, dxs: Arrays) -> np.ndarray:
        """Return the change of shape and logarithm."""
        x, at = memo
        a, sign = self._largest(x, at)
        da = (sign * dxs[0][np.arange(len(x)), at])[:, None]
        return np.hstack([(dxs[0] - x * (da / a)) / a, da / a])

    def adjoint(self, memo: Any, g: np.ndarray) -> list[np.ndarray]:
        """Return the gradient by x."""
        x, at = memo
        a, sign = self._largest(x, at)
        found = g[:, :-1] / a
        found[np.arange(len(x)), at] += sign * (
            g[:, -1] / a[:, 0] - np.einsum("ij,ij->i", g[:, :-1], x / a) / a[:, 0]
        )
        return [found]

    @staticmethod
    def _largest(x: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        top = x[np.arange(len(x)), at]
        return np.maximum(np.abs(top), TINY)[:, None], np.sign(top)


def _plus(y: np.ndarray, shift: np.ndarray) -> np.ndarray:
    y += shift
    return y
