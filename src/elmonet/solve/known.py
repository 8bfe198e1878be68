"""Where output functions are known: at common points but for gaps, or at scattered points.

Both give, for coefficients Y (N, r) of N functions in a basis of r functions, their known values (K,), and
the adjoint of that.
"""

from __future__ import annotations

from typing import Protocol, Self

import numpy as np

from elmonet._blas import product

__all__ = ["AtScatteredPoints", "Known", "WithGaps"]


class Known(Protocol):
    """Which values of N functions are known, and the basis there."""

    function: np.ndarray  # (K,), which function each known value belongs to, in ascending order
    width: int
    gram: float  # how far the known values of one function determine its coefficients: E[basis' basis] / I

    def values(self, Y: np.ndarray) -> np.ndarray:
        """The known values (K,) of functions with coefficients Y (N, r)."""

    def adjoint(self, values: np.ndarray) -> np.ndarray:
        """The adjoint of `values`: (K,) to (N, r)."""

    def only(self, functions: np.ndarray) -> Self:
        """The same for some of the functions (a mask), counted again from 0."""


class AtScatteredPoints:
    """Functions known at scattered points, each at its own.

    basis : (K, r), the basis at the point of each value; function : (K,), ascending; n : how many functions.
    """

    def __init__(self, basis: np.ndarray, function: np.ndarray, n: int):
        self.basis, self.function, self.n = np.ascontiguousarray(basis), function, n
        self.width = basis.shape[1]
        self.gram = 1.0  # by the scaling of the basis
        ends = np.searchsorted(function, np.arange(n + 1))
        self._own = [slice(a, b) for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]

    def values(self, Y: np.ndarray) -> np.ndarray:
        """The known values (K,) of functions with coefficients Y (N, r)."""
        out = np.empty(len(self.basis))
        for own, y in zip(self._own, Y, strict=True):
            np.dot(self.basis[own], y, out=out[own])
        return out

    def adjoint(self, values: np.ndarray) -> np.ndarray:
        """The adjoint of `values`: (K,) to (N, r)."""
        out = np.empty((self.n, self.width))
        for own, row in zip(self._own, out, strict=True):
            np.dot(values[own], self.basis[own], out=row)
        return out

    def only(self, functions: np.ndarray) -> Self:
        """The same for some of the functions (a mask), counted again from 0."""
        number = np.cumsum(functions) - 1
        kept = functions[self.function]
        return type(self)(self.basis[kept], number[self.function[kept]], int(functions.sum()))


class WithGaps:
    """Functions known at common points, but for gaps.

    basis : (M, r), orthonormal; known : (N, M), true where there is a value.
    """

    def __init__(self, basis: np.ndarray, known: np.ndarray):
        self.basis, self.known = basis, known
        self.width = basis.shape[1]
        self.gram = float(known.mean())
        self.function = np.repeat(np.arange(len(known)), known.sum(axis=1))

    def values(self, Y: np.ndarray) -> np.ndarray:
        """The known values (K,) of functions with coefficients Y (N, r)."""
        return product(Y, self.basis.T)[self.known]

    def adjoint(self, values: np.ndarray) -> np.ndarray:
        """The adjoint of `values`: (K,) to (N, r)."""
        filled = np.zeros(self.known.shape)
        filled[self.known] = values
        return product(filled, self.basis)

    def only(self, functions: np.ndarray) -> Self:
        """The same for some of the functions (a mask), counted again from 0."""
        return type(self)(self.basis, self.known[functions])
