import numpy as np
import pytest

from elmonet.errors import InputError
from elmonet.problems.chebyshev import chebyshev_nodes, integrate, solve_riccati

X = chebyshev_nodes(82)
K = np.array([[0.5], [3.0], [20.0]])


def test_integral_of_cosines():
    np.testing.assert_allclose(integrate(np.cos(K * X)), np.sin(K * X) / K, rtol=0, atol=1e-14)


def test_riccati_with_a_manufactured_solution():
    s = np.sin(K * X) * np.exp(X)
    slope = (K * np.cos(K * X) + np.sin(K * X)) * np.exp(X)
    np.testing.assert_allclose(solve_riccati(slope + 0.1 * s**2), s, rtol=0, atol=1e-13)


def test_riccati_with_a_constant_input_is_a_hyperbolic_tangent():
    c = np.array([[0.3], [5.0]])  # s' = c - 0.1 s^2
    exact = np.sqrt(10 * c) * np.tanh(np.sqrt(0.1 * c) * X)
    np.testing.assert_allclose(solve_riccati(c + 0 * X), exact, rtol=0, atol=1e-13)


def test_riccati_reaches_close_to_a_blow_up():
    exact = -np.sqrt(50.0) * np.tan(np.sqrt(0.5) * X)  # c = -5; it blows up at x = 2.2
    np.testing.assert_allclose(solve_riccati(-5 + 0 * X[None]), exact[None], rtol=1e-12)


@pytest.mark.parametrize("c", [-30.0, -26.0])  # both blow up before x = 1
def test_riccati_that_does_not_converge_raises(c):
    with pytest.raises(InputError, match=r"Picard.*as large as.*smaller inputs"):
        solve_riccati(np.full((1, 82), c))


def test_all_zero_input_gives_zero():
    assert not solve_riccati(np.zeros((2, 10))).any()
