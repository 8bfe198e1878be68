import numpy as np
import pytest

from elmonet.forms.transforms import standardise, unit_box


@pytest.mark.parametrize("size", [1.0, 1e-300, 1e-150, 1e150, 1e300])
def test_standardise(size):
    X = size * (np.random.default_rng(0).normal(size=(50, 3, 4)) * [1, 2, 3, 0] + 5)
    Z = standardise(X)(X)
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-13)
    np.testing.assert_allclose(Z[..., :3].std(axis=0), 1)
    np.testing.assert_allclose(Z[..., 3], 0, atol=1e-13)  # a sensor that never changes


def test_single_function_and_zeros():
    for X in (np.ones((1, 4)), np.zeros((3, 4))):
        assert not standardise(X)(X).any()


def test_units_may_differ_by_much():
    X = np.random.default_rng(0).normal(size=(50, 2)) * [1e9, 1e-3]
    np.testing.assert_allclose(standardise(X)(X).std(axis=0), 1)


def test_unit_box():
    points = np.array([[2.0, 7.0], [4.0, 7.0], [3.0, 7.0]])
    np.testing.assert_array_equal(unit_box(points)(points), [[0, 0], [1, 0], [0.5, 0]])
    grid = np.linspace(0, 1, 100)[:, None]
    np.testing.assert_array_equal(unit_box(grid)(grid), grid)
