"""Polynomials on [0, 1] by their values at Chebyshev points, and initial value problems solved with them."""

from __future__ import annotations

import math

import numpy as np
from numpy.polynomial import chebyshev

from elmonet.errors import InputError


def resolution(length_scale: float) -> int:
    """Return the number of nodes that resolves a Gaussian field on [0, 1] down to rounding.

    >>> resolution(0.1)
    82
    """
    return max(64, 32 + math.ceil(5 / length_scale))


def chebyshev_nodes(n: int) -> np.ndarray:
    """Return the `n` Chebyshev points x_j = sin^2(pi j / (2 (n - 1))), ends included, ascending.

    >>> chebyshev_nodes(3).round(15)
    array([0. , 0.5, 1. ])
    """
    return np.sin(np.pi * np.arange(n) / (2 * (n - 1))) ** 2


def interpolation_matrix(n: int, x: np.ndarray) -> np.ndarray:
    """Return the (len(x), n) matrix that evaluates the interpolating polynomial at `x`.

    Barycentric formula: p(x) = sum_j w_j p_j / (x - x_j) / sum_j w_j / (x - x_j). At a node, the value of
    that node is returned exactly.

    >>> (interpolation_matrix(3, np.array([0.0, 0.25])) @ chebyshev_nodes(3) ** 2).round(12)
    array([0. , 0.0625])
    """
    difference = x[:, None] - chebyshev_nodes(n)
    at_node = difference == 0
    terms = _weights(n) / np.where(at_node, 1.0, difference)
    matrix = terms / terms.sum(axis=1, keepdims=True)
    return np.where(at_node.any(axis=1, keepdims=True), at_node, matrix)


def integration_matrix(n: int) -> np.ndarray:
    """Return the (n, n) matrix S with (S p)_i = integral of p from 0 to x_i.

    >>> (integration_matrix(3) @ chebyshev_nodes(3)).round(12)  # the integral of x is x^2 / 2
    array([0.   , 0.125, 0.5  ])
    """
    xi = -np.cos(np.pi * np.arange(n) / (n - 1))
    ends = np.ones(n)
    ends[[0, -1]] = 0.5
    # Values to Chebyshev coefficients: c_k = 2 / (n - 1) e_k sum_j e_j T_k(xi_j) p_j.
    to_coefficients = 2 / (n - 1) * ends[:, None] * chebyshev.chebvander(xi, n - 1).T * ends
    antiderivative = chebyshev.chebint(to_coefficients, lbnd=-1, axis=0)
    matrix = chebyshev.chebvander(xi, n) @ antiderivative / 2  # dx = d xi / 2
    matrix[0] = 0.0
    return matrix


def second_derivative_matrix(n: int) -> np.ndarray:
    """Return the (n, n) matrix of the second derivative at the nodes.

    >>> (second_derivative_matrix(4) @ chebyshev_nodes(4) ** 2).round(12)
    array([2., 2., 2., 2.])
    """
    angle = np.pi * np.arange(n) / (2 * (n - 1))
    # x_i - x_j without cancellation
    difference = np.sin(angle[:, None] + angle) * np.sin(angle[:, None] - angle)
    np.fill_diagonal(difference, 1.0)
    w = _weights(n)
    first = w / w[:, None] / difference  # D_ij = (w_j / w_i) / (x_i - x_j)
    np.fill_diagonal(first, 0.0)
    np.fill_diagonal(first, -first.sum(axis=1))
    second = 2 * first * (np.diag(first)[:, None] - 1 / difference)
    np.fill_diagonal(second, 0.0)
    np.fill_diagonal(second, -second.sum(axis=1))  # the derivative of a constant is 0
    return second


def _weights(n: int) -> np.ndarray:
    """Return the barycentric weights of the nodes, 1/2, -1, 1, ..., +-1/2."""
    w = (-1.0) ** np.arange(n)
    w[[0, -1]] /= 2
    return w


def integrate(u: np.ndarray) -> np.ndarray:
    """Integrate rows of `u` (N, n), values at `chebyshev_nodes(n)`, from 0: s = u S^T, (N, n).

    >>> x = chebyshev_nodes(20)
    >>> np.allclose(integrate(np.cos(x)[None]), np.sin(x), rtol=0, atol=1e-14)
    True
    """
    return u @ integration_matrix(u.shape[1]).T


def solve_riccati(u: np.ndarray, sweeps: int = 200) -> np.ndarray:
    """Solve s' = -0.1 s^2 + u, s(0) = 0 for rows of `u` (N, n) at `chebyshev_nodes(n)`: (N, n).

    Picard iteration, s <- integral of (-0.1 s^2 + u), until the change is rounding.

    >>> x = chebyshev_nodes(20)
    >>> s = solve_riccati((1 + 0.1 * x**2)[None])  # the solution is s = x
    >>> np.allclose(s, x, rtol=0, atol=1e-14)
    True
    """
    S = integration_matrix(u.shape[1])
    linear = s = u @ S.T
    for _ in range(sweeps):
        previous, s = s, linear - 0.1 * (s * s) @ S.T
        size = np.abs(s).max()
        if not size < 1e6:
            break
        if np.abs(s - previous).max() <= 5e-15 * size:
            return s
    raise InputError(
        f"Picard iteration finds no solution of s' = -0.1 s^2 + u on [0, 1] in {sweeps} steps, for inputs as "
        f"large as {np.abs(u).max():.3g}. Use smaller inputs u."
    )
