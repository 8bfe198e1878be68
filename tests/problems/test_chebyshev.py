import numpy as np
import pytest
from scipy.special import jv

from elmonet.problems import gaussian_field
from elmonet.problems.chebyshev import (
    chebyshev_nodes,
    integration_matrix,
    interpolation_matrix,
    resolution,
    second_derivative_matrix,
)


def test_nodes_run_from_0_to_1():
    x = chebyshev_nodes(9)
    assert x[0] == 0
    assert x[-1] == 1
    np.testing.assert_allclose(x, (1 - np.cos(np.pi * np.arange(9) / 8)) / 2, atol=1e-15)


@pytest.mark.parametrize("n", [4, 5, 12])
def test_polynomials_are_exact(n):
    p = np.polynomial.Polynomial(np.random.default_rng(n).normal(size=n))
    x, y = chebyshev_nodes(n), np.linspace(0, 1, 33)
    np.testing.assert_allclose(interpolation_matrix(n, y) @ p(x), p(y), atol=1e-13)
    np.testing.assert_allclose(integration_matrix(n) @ p(x), p.integ()(x), atol=1e-13)
    np.testing.assert_allclose(second_derivative_matrix(n) @ p(x), p.deriv(2)(x), atol=1e-9)


def test_interpolation_at_a_node_is_that_nodes_value():
    x = chebyshev_nodes(20)
    assert np.array_equal(interpolation_matrix(20, x), np.eye(20))


def test_integral_starts_at_exactly_zero():
    assert not integration_matrix(30)[0].any()


def test_second_derivative_keeps_ten_digits_with_64_nodes():
    x = chebyshev_nodes(64)
    error = second_derivative_matrix(64) @ np.sin(10 * x) + 100 * np.sin(10 * x)
    assert np.abs(error[1:-1]).max() < 1e-7


@pytest.mark.parametrize("length_scale", [0.02, 0.05, 0.1, 0.2, 1.0])
def test_resolution_carries_a_gaussian_field_to_rounding(length_scale):
    n, y = resolution(length_scale), np.linspace(0, 1, 301)
    at_nodes = gaussian_field(chebyshev_nodes(n), 100, length_scale)
    exact = gaussian_field(y, 100, length_scale)
    assert np.abs(at_nodes @ interpolation_matrix(n, y).T - exact).max() < 1e-13
    # One Fourier mode of that field is a series of Bessel functions, which has ended at n.
    assert np.exp(-(8.4**2) / 4) * jv(n, 8.4 / (2 * length_scale)) < 1e-15
