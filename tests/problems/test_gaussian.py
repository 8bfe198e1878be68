import numpy as np
import pytest
from numpy.polynomial import chebyshev

from elmonet.errors import InputError
from elmonet.problems import gaussian, gaussian_field


def kernel(points, length_scale):
    difference = points[:, None] - points[None]
    return np.exp(-(difference**2).sum(axis=-1) / (2 * length_scale**2))


@pytest.mark.parametrize("length_scale", [0.02, 0.1, 0.25, 1.0, 30.0])
@pytest.mark.parametrize(("low", "high"), [(0, 1), (-3, -2.5), (4, 4)])
def test_modes_factorise_the_kernel_to_rounding(low, high, length_scale):
    x = np.sort(np.append(np.random.default_rng(0).uniform(low, high, 60), [low, high]))
    F = gaussian.axis_modes(x, length_scale)
    assert np.abs(F @ F.T - kernel(x[:, None], length_scale)).max() < 5e-14


def test_modes_are_few():
    x = np.linspace(0, 1, 500)
    assert gaussian.axis_modes(x, 0.1).shape[1] <= 35
    assert gaussian.axis_modes(x, 0.25).shape[1] <= 20


def test_sample_covariance_is_the_kernel():
    points = np.random.default_rng(1).uniform(size=(8, 2))
    n = 40_000
    g = gaussian_field(points, n, 0.4, seed=3)
    assert np.abs(g.mean(axis=0)).max() < 5 / np.sqrt(n)
    assert np.abs(g.T @ g / n - kernel(points, 0.4)).max() < 6 / np.sqrt(n)


def test_grid_has_the_covariance_of_scattered_points():
    axes = (np.linspace(0, 1, 5), np.linspace(0, 2, 4), np.array([0.3, 0.4]))
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    F = np.ones((1, 1))
    for axis in axes:
        F = np.kron(F, gaussian.axis_modes(axis, 0.5))
    assert np.abs(F @ F.T - kernel(points, 0.5)).max() < 1e-13


def test_grid_and_scattered_points_show_the_same_functions():
    axes = (np.linspace(0, 1, 7), np.linspace(-1, 1, 6))
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    on_grid = gaussian_field(axes, 4, 0.3, seed=2)
    assert on_grid.shape == (4, 7, 6)
    np.testing.assert_allclose(gaussian_field(points, 4, 0.3, seed=2), on_grid.reshape(4, -1), atol=1e-13)


def test_functions_do_not_depend_on_where_they_are_sampled():
    coarse = gaussian_field(np.linspace(0, 1, 11), 5, 0.1, seed=7)
    fine = gaussian_field(np.linspace(0, 1, 101), 5, 0.1, seed=7)
    np.testing.assert_allclose(fine[:, ::10], coarse, atol=1e-13)


def test_functions_are_smooth_to_rounding():
    n = 96
    x = 0.5 - 0.5 * np.cos(np.pi * np.arange(n) / (n - 1))
    g = gaussian_field(x, 200, 0.1)
    coefficients = np.linalg.solve(chebyshev.chebvander(2 * x - 1, n - 1), g.T)
    assert np.abs(coefficients[:20]).max() > 0.1
    assert np.abs(coefficients[75:]).max() < 1e-13


def test_first_functions_stay_when_there_are_more():
    axes = (np.linspace(0, 1, 9), np.linspace(0, 1, 8))
    few, many = gaussian_field(axes, 3, 0.2), gaussian_field(axes, 11, 0.2)
    np.testing.assert_allclose(many[:3], few, atol=1e-13)


def test_seed_may_be_a_generator_and_continues_its_stream():
    x = np.linspace(0, 1, 20)
    rng = np.random.default_rng(5)
    blocks = np.vstack([gaussian_field(x, 2, 0.1, rng), gaussian_field(x, 3, 0.1, rng)])
    np.testing.assert_allclose(blocks, gaussian_field(x, 5, 0.1, seed=5), atol=1e-13)
    assert np.array_equal(gaussian_field(x, 5, 0.1, seed=5), gaussian_field(x, 5, 0.1, seed=5))
    assert np.abs(gaussian_field(x, 5, 0.1, seed=6) - blocks).max() > 0.1


def test_signs_of_singular_vectors_do_not_matter(monkeypatch):
    x = np.linspace(0, 1, 20)
    expected = gaussian_field(x, 4, 0.1)
    svd = np.linalg.svd

    def flipped(matrix, **options):
        U, sigma, Vt = svd(matrix, **options)
        signs = np.random.default_rng(0).choice([-1.0, 1.0], len(sigma))
        return U * signs, sigma, Vt * signs[:, None]

    monkeypatch.setattr(np.linalg, "svd", flipped)
    assert np.array_equal(gaussian_field(x, 4, 0.1), expected)


@pytest.mark.parametrize(
    ("points", "arguments", "message"),
    [
        (np.linspace(0, 1, 5), {"n": 0}, "n must be a whole number of at least 1, got 0"),
        (np.linspace(0, 1, 5), {"length_scale": 0}, "length_scale must be .* above 0, got 0"),
        (np.linspace(0, 1, 5), {"length_scale": 1e-4}, r"length of the domain, got 0\.0001"),
        (np.linspace(0, 1, 5), {"seed": -1}, "seed must be a whole number of at least 0"),
        (np.array([0.0, np.nan]), {}, "points must be .* finite"),
        (np.zeros((2, 3, 4)), {}, "tuple of 1-D axes"),
        (np.array(1.0), {}, "points must be an array"),
        (np.array([]), {}, "not empty"),
        ((), {}, "points must be an array"),
        ([0.1, 0.2], {}, "points must be an array"),
        ((np.ones(3), np.ones((2, 2))), {}, "tuple of 1-D axes"),
    ],
)
def test_wrong_input_raises(points, arguments, message):
    with pytest.raises(InputError, match=message):
        gaussian_field(points, **({"n": 2, "length_scale": 0.1} | arguments))
