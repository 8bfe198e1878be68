"""Grids, their periodicity, and windows at any resolution, on functions known in closed form."""

import numpy as np
import pytest

from elmonet import InputError
from elmonet.interpolation import grid_points
from elmonet.layered.grid import find_grid, find_periodic
from elmonet.layered.windows import Windows, box_of_offsets, resampled

pytestmark = pytest.mark.numerics


def waves(x, coefficients):
    """Sums of the first harmonics of the unit interval, (n, M)."""
    k = 2 * np.pi * np.arange(1, coefficients.shape[1] // 2 + 1)
    half = coefficients.shape[1] // 2
    return coefficients[:, :half] @ np.cos(np.outer(k, x)) + coefficients[:, half:] @ np.sin(np.outer(k, x))


@pytest.fixture
def coefficients():
    return np.random.default_rng(0).standard_normal((20, 8))


@pytest.mark.parametrize("ends", [True, False])
def test_periodic_fields_are_found(coefficients, ends):
    x = np.linspace(0, 1, 40, endpoint=ends)
    fields = waves(x, coefficients)[:, None]
    grid = find_periodic(find_grid(x[:, None])[0], fields, None)
    assert grid.periodic == (True,)
    assert grid.repeats == (ends,)
    assert grid.shape == (39 if ends else 40,)
    np.testing.assert_allclose(grid.with_repeats(grid.without_repeats(fields)), fields, atol=1e-12)


def test_fields_that_vanish_at_both_ends_are_not_periodic(coefficients):
    x = np.linspace(0, 1, 40)
    fields = (coefficients @ np.sin(np.pi * np.outer(np.arange(1, 9), x)))[:, None]
    assert find_periodic(find_grid(x[:, None])[0], fields, None).periodic == (False,)


def test_each_axis_is_judged_by_itself(coefficients):
    x = np.linspace(0, 1, 24, endpoint=False)
    fields = waves(x, coefficients)[:, None, :, None] * np.exp(x)
    grid = find_grid(grid_points([x, x]))[0]
    assert find_periodic(grid, fields, None).periodic == (True, False)
    assert find_periodic(grid, fields, True).periodic == (True, True)


def seen_through(windows, fields, offsets, odd, everywhere):
    """Windows (K, n, M) at all points: as such, or as a list of points."""
    rows = None if everywhere else np.arange(windows.grid.size)
    out = np.empty((len(offsets), len(fields), windows.grid.size))
    return windows.gather(windows.extrapolated(fields, odd), offsets, rows, out)


@pytest.mark.parametrize("everywhere", [True, False])
@pytest.mark.parametrize("n", [32, 64, 48, 45])
def test_windows_of_periodic_fields_on_any_resolution(coefficients, n, everywhere):
    x, own = np.linspace(0, 1, 32, endpoint=False), np.linspace(0, 1, n, endpoint=False)
    training = find_periodic(find_grid(x[:, None])[0], waves(x, coefficients)[:, None], True)
    grid, _ = training.of_same_domain(own[:, None])
    offsets = box_of_offsets((3,), (2,))
    windows, fields = Windows(grid, training, (6,)), waves(own, coefficients)
    seen = seen_through(windows, fields, offsets, False, everywhere)
    for k, offset in enumerate(offsets[:, 0]):
        np.testing.assert_allclose(seen[k], waves(own + offset / 32, coefficients), atol=1e-11)


@pytest.mark.parametrize("everywhere", [True, False])
@pytest.mark.parametrize("n", [21, 41, 33])
def test_windows_continue_straight_lines_across_borders(n, everywhere):
    # 1 + 2 x + 3 y is its own odd reflection at every border, and its own spline.
    training, _ = find_grid(grid_points([np.linspace(0, 1, 11)] * 2))
    axes = [np.linspace(0, 1, n)] * 2
    grid, _ = training.of_same_domain(grid_points(axes))
    x, y = np.meshgrid(*axes, indexing="ij")
    offsets = box_of_offsets((2, 1), (1, 1))
    windows = Windows(grid, training, (2, 1))
    seen = seen_through(windows, (1 + 2 * x + 3 * y)[None], offsets, True, everywhere)
    wanted = 1 + 2 * (x.reshape(-1, 1) + offsets[:, 0] / 10) + 3 * (y.reshape(-1, 1) + offsets[:, 1] / 10)
    np.testing.assert_allclose(seen[:, 0].T, wanted, atol=1e-12)


def test_fields_at_the_points_of_another_grid(coefficients):
    fine, coarse = (np.linspace(0, 1, n, endpoint=False) for n in (48, 20))
    training = find_periodic(find_grid(coarse[:, None])[0], waves(coarse, coefficients)[:, None], True)
    grid, _ = training.of_same_domain(fine[:, None])
    found = resampled(waves(fine, coefficients), grid, training)
    np.testing.assert_allclose(found, waves(coarse, coefficients), atol=1e-11)


@pytest.mark.parametrize(
    ("points", "word"),
    [
        (np.random.default_rng(0).uniform(size=(30, 2)), "do not form"),
        (np.linspace(0, 1, 20)[:, None] ** 2, "uniform"),
    ],
)
def test_points_without_a_uniform_grid_are_refused(points, word):
    with pytest.raises(InputError, match=word):
        find_grid(points)


def test_another_domain_is_refused():
    training, _ = find_grid(np.linspace(0, 1, 20)[:, None])
    with pytest.raises(InputError, match="domain"):
        training.of_same_domain(np.linspace(0, 2, 40)[:, None])


@pytest.mark.parametrize("reach", [1, 3, 4, 7])
@pytest.mark.parametrize(("periodic", "odd"), [(True, False), (False, False), (False, True)])
def test_fields_are_extrapolated_as_by_pad(coefficients, reach, periodic, odd):
    x = np.linspace(0, 1, 5, endpoint=not periodic)  # also further than the domain is wide
    grid = find_periodic(find_grid(x[:, None])[0], waves(x, coefficients)[:, None], periodic)
    fields = waves(x, coefficients)
    options = {"mode": "reflect", "reflect_type": "odd"} if odd else {"mode": "wrap" if periodic else "edge"}
    found = Windows(grid, grid, (reach,)).extrapolated(fields, odd)
    np.testing.assert_allclose(found, np.pad(fields, ((0, 0), (reach, reach)), **options), rtol=0, atol=1e-13)
