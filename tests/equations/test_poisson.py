import numpy as np

from elmonet.equations import poisson
from elmonet.problems.chebyshev import chebyshev_nodes, interpolation_matrix


def test_a_manufactured_solution():
    # s = sin(2 pi x) y (1 - y) exp(y), and s_xx + s_yy by hand.
    x = chebyshev_nodes(48)
    a, b = np.sin(2 * np.pi * x), x * (1 - x) * np.exp(x)
    ddb = -(x**2 + 3 * x) * np.exp(x)
    u = -4 * np.pi**2 * np.outer(a, b) + np.outer(a, ddb)
    np.testing.assert_allclose(poisson.solve_poisson(u[None])[0], np.outer(a, b), rtol=0, atol=1e-11)


def test_a_source_that_does_not_vanish_in_the_corners():
    # s_xx + s_yy = 1: in x a parabola, in y hyperbolic cosines for each sine of the parabola.
    k = np.pi * np.arange(1, 400, 2)[:, None]
    x = poisson._AXIS
    # cosh(k (y - 1/2)) / cosh(k / 2), without overflow
    layers = (np.exp(-k * x) + np.exp(-k * (1 - x))) / (1 + np.exp(-k))
    parabola = x * (x - 1) / 2
    exact = parabola[:, None] + np.sin(k * x).T @ (4 / k**3 * layers)
    nodes = poisson._NODES
    s = poisson.solve_poisson(np.ones((1, nodes, nodes)))[0]
    to_points = interpolation_matrix(nodes, x)
    # The series has ended at 1e-9 where y is not near a wall, the worst being y = 1/50.
    inner = slice(2, -2)
    error = to_points @ s @ to_points.T - exact
    assert np.abs(error[inner, inner]).max() < 1e-9


def test_random_sources_agree_with_finite_differences():
    # Five points with sines: exact solutions of the discrete equations, error h^2, then Richardson.
    n, seed = 3, 8

    def finite_differences(cells):
        axis = np.linspace(0, 1, cells + 1)
        u = poisson._source(n, seed, axis)[:, 1:-1, 1:-1]
        k = np.arange(1, cells)
        S = np.sqrt(2 / cells) * np.sin(np.pi * np.outer(k, k) / cells)  # its own inverse
        e = -4 * cells**2 * np.sin(np.pi * k / (2 * cells)) ** 2
        return np.pad(S @ (S @ u @ S / (e[:, None] + e)) @ S, ((0, 0), (1, 1), (1, 1)))

    a, b, c = (finite_differences(49 * 2**k)[:, :: 2**k, :: 2**k] for k in range(1, 4))
    ab, bc = (4 * b - a) / 3, (4 * c - b) / 3
    by_differences = (16 * bc - ab) / 15
    s = poisson.reference(n, seed).reshape(n, 50, 50)
    assert np.abs(s).max() > 0.01
    np.testing.assert_allclose(s, by_differences, rtol=0, atol=1e-8)


def test_more_nodes_change_nothing(monkeypatch):
    s = poisson.reference(10, 2)
    monkeypatch.setattr(poisson, "_NODES", 150)
    np.testing.assert_allclose(poisson.reference(10, 2), s, rtol=0, atol=1e-9)


def test_inputs_belong_to_the_reference():
    u = poisson.inputs(4, 2)
    assert u.shape == (4, 625)
    nodes = chebyshev_nodes(96)
    to_sensors = interpolation_matrix(96, np.linspace(0, 1, 25))
    at_sensors = to_sensors @ poisson._source(4, 2, nodes) @ to_sensors.T
    np.testing.assert_allclose(at_sensors.reshape(4, -1), u, rtol=0, atol=1e-11)
    assert poisson.SENSORS.shape == (625, 2)
    assert poisson.POINTS.shape == (2500, 2)
