"""Exact derivatives of feature maps, by arithmetic with truncated Taylor series in several variables.

A jet holds the Taylor coefficients of functions around each of n points, up to the order K_j in coordinate j:

    f(x + e) = sum_k f_k e^k ,      k = (k_1, ..., k_d) with k_j <= K_j ,      d^k f = k_1! ... k_d! f_k .

The coordinates are jets with the coefficient 1 of their own e_j. All derivatives of a map that consists of
sums, products and smooth functions of one variable follow: products of jets are products of polynomials, and
a function g of a jet f_0 + h is its Taylor series at the value f_0, which ends because h has no value:

    g(f_0 + h) = sum_m g^(m)(f_0) / m! h^m .
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product as indices
from math import factorial, prod
from typing import Any, Self

import numpy as np
from scipy.special import expit, ndtr

from elmonet.errors import InputError
from elmonet.linalg import product


class Jet:
    """Taylor coefficients (K_1 + 1, ..., K_d + 1, *shape) of an array of functions."""

    def __init__(self, coefficients: np.ndarray, orders: tuple[int, ...]):
        self.coefficients, self.orders = coefficients, orders

    @classmethod
    def coordinates(cls, X: np.ndarray, orders: tuple[int, ...]) -> Self:
        """Return the jets of the coordinates at points X (n, d)."""
        X = X.astype(np.float64, copy=False)
        found = np.zeros((*(order + 1 for order in orders), *X.shape))
        found[(0,) * len(orders)] = X
        for j, order in enumerate(orders):
            if order > 0:
                found[tuple(int(i == j) for i in range(len(orders)))][:, j] = 1
        return cls(found, orders)

    @property
    def value(self) -> np.ndarray:
        """The values of the functions."""
        return self.coefficients[(0,) * len(self.orders)]

    def derivative(self) -> np.ndarray:
        """Return the derivative of the highest orders."""
        return self.coefficients[self.orders] * prod(factorial(order) for order in self.orders)

    def __add__(self, other: Any) -> Jet:
        if isinstance(other, Jet):
            return Jet(self.coefficients + other.coefficients, self.orders)
        found = self.coefficients.copy()
        found[(0,) * len(self.orders)] += other
        return Jet(found, self.orders)

    def __mul__(self, other: Any) -> Jet:
        if not isinstance(other, Jet):
            return Jet(self.coefficients * other, self.orders)
        shape = np.broadcast_shapes(self.value.shape, other.value.shape)
        found = np.zeros((*(order + 1 for order in self.orders), *shape))
        for k in indices(*(range(order + 1) for order in self.orders)):
            for i in indices(*(range(top + 1) for top in k)):
                found[k] += self.coefficients[i] * other.coefficients[tuple(np.subtract(k, i))]
        return Jet(found, self.orders)

    def times_matrix(self, A: np.ndarray) -> Jet:
        """Multiply functions (n, m) by A (m, w)."""
        rows = self.coefficients.reshape(-1, self.value.shape[1])
        found = product(rows, A).reshape(*(order + 1 for order in self.orders), -1, A.shape[1])
        return Jet(found, self.orders)

    def through(self, taylor: Callable[[np.ndarray, int], np.ndarray]) -> Jet:
        """Apply a function of one variable; ``taylor(z, m)`` is its m-th derivative at z over ``m!``."""
        most = sum(self.orders)
        rest = Jet(self.coefficients.copy(), self.orders)
        rest.coefficients[(0,) * len(self.orders)] = 0
        found = Jet(np.zeros_like(self.coefficients), self.orders) + taylor(self.value, most)
        for m in range(most - 1, -1, -1):  # Horner
            found = found * rest + taylor(self.value, m)
        return found

    def part(self, index: Any) -> Jet:
        """Return some of the functions, selected by an index of the array."""
        return Jet(self.coefficients[(..., *index)], self.orders)


def _by_polynomials(first: np.polynomial.Polynomial, values: Any) -> Callable[[np.ndarray, int], np.ndarray]:
    """Return the Taylor function of a t with ``t' = first(t)``: every derivative is a polynomial in t."""

    def taylor(z: np.ndarray, m: int) -> np.ndarray:
        p = np.polynomial.Polynomial([0.0, 1.0])
        for _ in range(m):
            p = p.deriv() * first
        return p(values(z)) / factorial(m)

    return taylor


_sigmoid = _by_polynomials(np.polynomial.Polynomial([0.0, 1.0, -1.0]), expit)


def _normal(z: np.ndarray, m: int) -> np.ndarray:
    """Return the m-th derivative of the normal distribution function, ``(-1)^(m-1) He_(m-1)(z) phi(z)``."""
    if m == 0:
        return ndtr(z)
    hermite = np.polynomial.hermite_e.hermeval(z, [0.0] * (m - 1) + [1.0])
    return (-1) ** (m - 1) * hermite * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)


def _gelu(z: np.ndarray, m: int) -> np.ndarray:
    own = z * _normal(z, m)
    return (own if m == 0 else own + m * _normal(z, m - 1)) / factorial(m)


def _relu(z: np.ndarray, m: int) -> np.ndarray:
    if m > 1:
        raise InputError(
            "relu has no second derivative: use a smooth activation, such as tanh, sin, cos or softplus."
        )
    return np.maximum(z, 0) if m == 0 else (z > 0).astype(np.float64)


TAYLOR: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "relu": _relu,
    "tanh": _by_polynomials(np.polynomial.Polynomial([1.0, 0.0, -1.0]), np.tanh),
    "sin": lambda z, m: np.sin(z + m * np.pi / 2) / factorial(m),
    "cos": lambda z, m: np.cos(z + m * np.pi / 2) / factorial(m),
    "gelu": _gelu,
    "sigmoid": _sigmoid,
    "softplus": lambda z, m: np.logaddexp(z, 0) if m == 0 else _sigmoid(z, m - 1) / m,
}
