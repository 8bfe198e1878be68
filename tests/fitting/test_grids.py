"""Numbers on a part of a grid: the error to expect at the points without a function."""

import warnings

import numpy as np
import pytest

from elmonet import AutoELMDeepONet, ELMDeepONet, InfiniteWidth, LargeErrorWarning, load, relative_l2
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


@pytest.mark.numerics
def test_errors_grow_with_the_posterior_deviation():
    """Against a Gaussian process with dense matrices, for outputs whose errors are alike on all lines."""
    designs = GRID[np.argsort(GRID.sum(axis=1), kind="stable")]
    known, y = designs[:34], outputs(designs[:34]) * 0.0 + np.sin(3 * designs[:34, :1] + x)
    model = ELMDeepONet(InfiniteWidth("matern52", 0.5)).fit(known, y, points=x)
    fitted, alpha = model._fitted(), model.solution_.alpha

    def kernel(A, B):
        A, B = (fitted.seen(points) for points in (A, B))
        r = np.sqrt(5) * 0.5 * np.sqrt(np.maximum(((A[:, None] - B) ** 2).mean(axis=2), 0))
        return (1 + r + r * r / 3) * np.exp(-r)

    rest, K = fitted.rest_of_grid, kernel(known, known) + alpha * np.eye(34)
    k = kernel(rest.points, known)
    missing = np.sqrt(1 + alpha - np.einsum("ij,ji->i", k, np.linalg.solve(K, k.T)))
    left_out = 1 / np.sqrt(np.diag(np.linalg.inv(K)))
    expected = model.solution_.loo_errors.mean() * missing / left_out.mean()
    assert (rest.errors > 0.7 * expected).all()
    if np.mean(rest.errors) < 1.3 * np.mean(expected):  # the deviation, up to its random combinations
        np.testing.assert_allclose(rest.errors, expected, rtol=0.3)


def decaying_wave(u):
    a, b = u.T[:, :, None]
    return 1.5 + np.exp(-(1 + 3 * a) * x) * np.sin(2 + (2 + 4 * b) * x)


def growth(u):
    a, b = u.T[:, :, None]
    return 1 + np.exp(3 * a * b) * x * (1 - x) + 0.3 * a


def front(u):
    a, b = u.T[:, :, None]
    return 1.2 + np.tanh((x - 0.3 - 0.4 * a) / (0.08 + 0.2 * b))


@pytest.mark.numerics
def test_the_stated_error_is_that_of_the_rest_of_the_grid():
    """Designs of a corner, or ends of lines, are missing: leaving out one of the others says little."""
    designs, factors, covered = GRID + 0.05, [], []
    for make in (decaying_wave, growth, front):
        for far in (GRID.sum(axis=1), np.abs(GRID[:, 1] - 0.5)):
            order = np.argsort(far + 0.1 * np.random.default_rng(0).random(49))
            train, rest = designs[order[:33]], designs[order[33:]]
            model = AutoELMDeepONet(layers=0, random_state=0).fit(train, make(train), points=x)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                truth, predicted = make(rest), model.predict(rest)
                low, high = model.interval(rest, 0.9)
            true, stated = relative_l2(predicted, truth), model.expected_error_
            left_out = model._fitted().estimate.left_out or stated
            factors.append((true / stated, true / left_out))
            covered.append(np.mean((truth >= low) & (truth <= high)))
            least, most = model.expected_error_interval_
            assert least < stated < most
            assert model.error_quantiles_[0] < model.error_quantiles_[1]
            text = " ".join(model.summary().split())
            assert ("It is stated, since it is larger than" in text) == (left_out < stated)
            assert model.loo_error_ == stated
    stated, left_out = np.exp(np.median(np.abs(np.log(factors)), axis=0))
    assert left_out > 3 * stated
    assert np.mean(covered) > 0.5


def test_a_deviation_that_is_rounding_is_none():
    """All is known but rounding: features miss 1e-15 of a new function, with an alpha of 1e-31."""
    designs = GRID[np.sort(np.random.default_rng(3).permutation(49)[:34])]
    rest = np.array([point for point in GRID if not (designs == point).all(axis=1).any()])

    def make(u):
        return np.exp(2 * u[:, :1] - 3 * u[:, 1:] * x)

    model = AutoELMDeepONet(layers=0, random_state=0).fit(designs, make(designs), points=x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        true = relative_l2(model.predict(rest), make(rest))
    assert true < 1e-5
    assert model.expected_error_ < 1e-4


def test_random_designs_state_the_error_of_functions_left_out():
    designs = np.random.default_rng(0).random((33, 2))
    model = AutoELMDeepONet(layers=0, random_state=0).fit(designs, growth(designs), points=x)
    assert model._fitted().estimate.left_out is None
    assert "Rest of the grid" not in model.summary()
