import numpy as np
import pytest

from elmonet.equations import laplace


def flower(theta):
    r = 1 + 0.2 * np.cos(3 * theta)
    return r * np.exp(1j * theta)


def as_complex(points):
    return points[:, 0] + 1j * points[:, 1]


@pytest.mark.parametrize("degree", [0, 1, 2, 5, 12])
def test_harmonic_polynomials(degree):
    theta = 2 * np.pi * np.arange(256) / 256
    u = np.stack([(flower(theta) ** degree).real, (flower(theta) ** degree).imag])
    z = as_complex(laplace.POINTS) ** degree
    s = laplace.solve_laplace(u, laplace.POINTS)
    np.testing.assert_allclose(s, [z.real, z.imag], rtol=0, atol=1e-11 * np.abs(u).max())


@pytest.mark.parametrize("pole", [1.5, -1.2 + 0.3j])
def test_a_logarithm_with_its_pole_outside(pole):
    theta = 2 * np.pi * np.arange(256) / 256
    s = laplace.solve_laplace(np.log(np.abs(flower(theta) - pole))[None], laplace.POINTS)
    exact = np.log(np.abs(as_complex(laplace.POINTS) - pole))
    np.testing.assert_allclose(s[0], exact, rtol=0, atol=1e-10)


def test_random_boundary_values_by_fundamental_solutions():
    # A second method: logarithms with poles on a curve outside, fitted to the boundary values.
    theta = 2 * np.pi * np.arange(800) / 800
    poles = 1.25 * flower(2 * np.pi * np.arange(300) / 300)
    A = np.log(np.abs(flower(theta)[:, None] - poles))
    A = np.hstack([A, np.ones((800, 1))])
    u = laplace._boundary_values(10, 4, theta)
    weights = np.linalg.lstsq(A, u.T, rcond=1e-15)[0]
    assert np.abs(A @ weights - u.T).max() < 1e-8
    far = np.log(np.abs(as_complex(laplace.POINTS)[:, None] - poles))
    by_logarithms = far @ weights[:-1] + weights[-1]
    # By the maximum principle the error inside is at most that on the boundary.
    np.testing.assert_allclose(laplace.reference(10, 4), by_logarithms.T, rtol=0, atol=1e-8)


def test_more_nodes_change_nothing(monkeypatch):
    s = laplace.reference(20, 3)
    monkeypatch.setattr(laplace, "_NODES", 400)
    monkeypatch.setattr(laplace, "_FINE", 8192)
    np.testing.assert_allclose(laplace.reference(20, 3), s, rtol=0, atol=1e-11)


def test_inputs_are_the_boundary_values_at_the_sensors():
    u = laplace.inputs(5000, 1)
    assert u.shape == (5000, 120)
    theta = np.angle(as_complex(laplace.SENSORS))
    np.testing.assert_allclose(laplace._boundary_values(5000, 1, theta), u, rtol=0, atol=1e-12)
    # The covariance is that of the field on a line, wrapped around the circle.
    distance = 2 * np.pi * np.arange(60) / 120 + 2 * np.pi * np.arange(-3, 4)[:, None]
    covariance = np.exp(-(distance**2) / (2 * 0.5**2)).sum(axis=0)
    found = (u[:, :1] * u[:, :60]).mean(axis=0)
    np.testing.assert_allclose(found, covariance / covariance[0], rtol=0, atol=0.06)


def test_points_are_inside_and_normals_point_out():
    for points, distance in ((laplace.POINTS, 0.01), (laplace.INSIDE, 0.0)):
        z = as_complex(points)
        assert (np.abs(z) < np.abs(flower(np.angle(z))) - distance).all()
    assert 2300 < len(laplace.POINTS) < 2700
    assert len(laplace.INSIDE) == 24 * 120
    z, normals = as_complex(laplace.BOUNDARY), as_complex(laplace.NORMALS)
    np.testing.assert_allclose(np.abs(normals), 1, atol=1e-14)
    tangents = flower(np.angle(z) + 1e-6) - flower(np.angle(z) - 1e-6)
    np.testing.assert_allclose((normals * tangents.conj()).real, 0, atol=1e-11)
    outside = z + 0.01 * normals
    assert (np.abs(outside) > np.abs(flower(np.angle(outside)))).all()
