"""Numbers on a part of a grid: the error to expect at the points without a function."""

import warnings

import numpy as np
import pytest

from elmonet import ELMDeepONet, InfiniteWidth, LargeErrorWarning, load
from elmonet.fitting.grids import missing_points

LEVELS = np.linspace(0, 1, 7)
GRID = np.stack(np.meshgrid(LEVELS, LEVELS, indexing="ij"), -1).reshape(-1, 2)
x = np.linspace(0, 1, 60)


def outputs(designs):
    """One line of the grid behaves unlike the others."""
    a, b = designs.T[:, :, None]
    return 2 + np.sin((1 + a) * x) + b * x**2 + (b == 1) * 0.3 * np.sin(6 * a + 3 * x)


def test_missing_points():
    kept = np.random.default_rng(0).permutation(49)
    missing = missing_points(GRID[kept[:34]])
    np.testing.assert_array_equal(missing, GRID[np.sort(kept[34:])])
    with_constant = np.column_stack([GRID[kept[:34]], np.ones(34)])
    np.testing.assert_array_equal(missing_points(with_constant)[:, :2], missing)
    third = GRID[kept[:16]]  # without one level of the second number
    levels = np.flatnonzero(np.isin(GRID[:, 1], third[:, 1]))
    np.testing.assert_array_equal(missing_points(third), GRID[np.setdiff1d(levels, kept[:16])])
    diagonal = np.column_stack([LEVELS, LEVELS[::-1]])
    for others in (GRID, diagonal, np.random.default_rng(0).random((34, 2)), LEVELS[:, None]):
        assert missing_points(others) is None
    assert missing_points(np.zeros((4, 3, 3))) is None


@pytest.mark.numerics
@pytest.mark.parametrize("seed", [0, 1, 3])
def test_the_error_at_the_rest_of_a_grid(seed, tmp_path):
    designs = np.random.default_rng(seed).permutation(GRID)
    model = ELMDeepONet(InfiniteWidth("matern52", 0.5)).fit(designs[:34], outputs(designs[:34]), points=x)
    rest = model._fitted().rest_of_grid
    truth = outputs(rest.points)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LargeErrorWarning)
        missed = model.predict(rest.points) - truth
    errors = np.linalg.norm(missed, axis=1) / np.linalg.norm(truth, axis=1)
    assert 0.5 < rest.errors.mean() / errors.mean() < 2
    worst = rest.points[np.argmax(rest.errors)]
    assert worst[1] == 1
    model.save(tmp_path / "m.elmonet")
    for one in (model, load(tmp_path / "m.elmonet")):
        text = " ".join(one.summary().split())
        assert "Rest of the grid: " in text
        assert f"at ({worst[0]:g}, 1)" in text
