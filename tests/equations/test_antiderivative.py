import numpy as np
from scipy.integrate import quad

from elmonet.equations import antiderivative
from elmonet.problems.gaussian import gaussian_field


def test_it_is_the_integral_of_the_random_function():
    s = antiderivative.reference(2, 5)
    for i in (0, 1, 40, 99):
        end = antiderivative.POINTS[i, 0]
        for row in range(2):

            def u(x, row=row):
                return gaussian_field(np.array([0.0, x, 1.0]), 2, 0.2, 5)[row, 1]

            assert abs(s[row, i] - quad(u, 0, end, epsabs=1e-12)[0]) < 1e-11


def test_its_slope_is_the_input():
    u, s = antiderivative.inputs(20, 1), antiderivative.reference(20, 1)
    h = 1 / 99
    slope = (s[:, :-4] - 8 * s[:, 1:-3] + 8 * s[:, 3:-1] - s[:, 4:]) / (12 * h)
    np.testing.assert_allclose(slope, u[:, 2:-2], rtol=0, atol=1e-3)
    assert not s[:, 0].any()


def test_more_nodes_change_nothing(monkeypatch):
    s = antiderivative.reference(20, 1)
    monkeypatch.setattr(antiderivative, "_NODES", 100)
    np.testing.assert_allclose(antiderivative.reference(20, 1), s, rtol=0, atol=1e-13)
