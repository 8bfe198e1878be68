"""Bands of whole functions: scores from fits and bands that know nothing of the function scored."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from elmonet import POD, SLFN, ELMDeepONet, InfiniteWidth, LeaveOneOutWarning, Linear, Ridge
from elmonet.fitting.residuals import (
    cross_validated,
    effective_number,
    masks_without,
    residuals_between_levels,
    training_residuals,
)

x = np.linspace(0, 1, 60)


def bumps(p):
    """Two numbers to a bump that moves and widens."""
    return np.exp(-((x - 0.3 - 0.4 * p[:, :1]) ** 2) / (2 * (0.1 + 0.2 * p[:, 1:]) ** 2)) * np.sin(4 * x)


def model_of(u, scale=1.0, alpha=1e-10):
    model = ELMDeepONet(Linear() + InfiniteWidth("rbf", scale), POD(), Ridge(alpha), scale_inputs=False)
    return model.fit(u, bumps(u), points=x)


@pytest.mark.numerics
def test_a_trial_is_a_refit_and_its_own_bands():
    """Residuals, scales and sigma of a trial from explicit fits without its functions."""
    u = np.random.default_rng(0).random((24, 2))
    model = model_of(u, alpha=1e-3)
    fitted = model._fitted()
    trials, growth = cross_validated(fitted, training_residuals(fitted))
    assert len(trials) == 10
    assert growth > 1
    kept = masks_without(10, None, 24)[3]
    without = clone(model).fit(u[kept], bumps(u[kept]), points=x)
    missed = bumps(u[~kept]) - without.predict(u[~kept])
    np.testing.assert_allclose(trials[3].residuals, missed, rtol=1e-6, atol=1e-10)
    sub = np.flatnonzero(kept)
    left_out = []
    for i in range(len(sub)):
        rest = np.delete(sub, i)
        one = clone(model).fit(u[rest], bumps(u[rest]), points=x)
        left_out.append(bumps(u[sub[i : i + 1]])[0] - one.predict(u[sub[i : i + 1]])[0])
    sigma = np.sqrt(np.mean(np.square(left_out), axis=0))
    np.testing.assert_allclose(trials[3].sigmas[0], sigma, rtol=1e-3, atol=1e-3 * sigma.max())


@pytest.mark.numerics
def test_left_out_residuals_of_one_fit_count_as_few():
    """The mean of squares varies as that of so many independent ones: simulated Gaussian processes."""
    rng = np.random.default_rng(0)
    u = rng.random((40, 2))
    model = model_of(u, scale=3.0, alpha=1e-9)
    fit = model.solution_.fit
    deviation = np.sqrt(fit.left_out_variance())
    P = fit.factor.left_out(np.diag(deviation), fit.alpha) / deviation  # correlations of left-out residuals
    drawn = np.linalg.cholesky((P + P.T) / 2 + 1e-9 * np.eye(40)) @ rng.normal(size=(40, 4000))
    squares = np.mean(drawn**2, axis=0)
    simulated = 2 * np.mean(squares) ** 2 / np.var(squares)
    assert effective_number(fit) == pytest.approx(simulated, rel=0.2)
    assert effective_number(fit) < 20


@pytest.mark.parametrize("alpha", [1e-12, 1e-6])
def test_whole_functions_are_covered_where_left_out_residuals_are_multiples_of_each_other(alpha):
    """With a smooth kernel, scores of left-out residuals were about one: a tenth of the functions held."""
    inside = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        u, new = rng.random((36, 2)), rng.random((100, 2))
        low, high = model_of(u, 0.5, alpha).interval(new, 0.9, of="function")
        inside.append(((low <= bumps(new)) & (bumps(new) <= high)).all(axis=1).mean())
    assert np.mean(inside) > 0.8


@pytest.mark.parametrize("shape", [(6, 6), (5, 10)])
def test_on_a_grid_of_inputs_bands_come_from_whole_levels(shape):
    """Leave-one-out errors on a grid are tiny, errors between its levels are not; a warning says so."""
    axes = [np.linspace(0, 1, n) for n in shape]
    u = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    new = np.random.default_rng(0).random((200, 2))

    def waves(p):
        return np.sin(8 * p[:, :1] + 3 * x) + np.cos(8 * p[:, 1:] - 2 * x)

    model = ELMDeepONet(Linear() + InfiniteWidth("rbf", 1.0), POD(), Ridge(1e-13), scale_inputs=False)
    model.fit(u, waves(u), points=x)
    assert np.sqrt(np.mean((model.predict(new) - waves(new)) ** 2)) > 0.1
    assert np.sqrt(np.mean(training_residuals(model._fitted()).values ** 2)) < 0.02
    with pytest.warns(LeaveOneOutWarning, match="grid"):
        low, high = model.interval(new, 0.9, of="function")
    inside = ((low <= waves(new)) & (waves(new) <= high)).all(axis=1).mean()
    assert inside > 0.85
    held = residuals_between_levels(model._fitted())
    assert len(held.functions) == shape[0] * shape[1] - 4  # the corners are never interpolated


def test_random_inputs_and_partial_grids_do_not_warn():
    rng = np.random.default_rng(0)
    whole = np.stack(np.meshgrid(*[np.linspace(0, 1, 9)] * 2), axis=-1).reshape(-1, 2)
    for u in (rng.random((36, 2)), whole[rng.permutation(81)[:40]]):
        model = model_of(u, 0.5, 1e-8)
        assert residuals_between_levels(model._fitted()) is None
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.interval(u[:3] + 0.01)


def test_a_map_that_needs_all_functions_is_said():
    from sklearn.decomposition import PCA

    rng = np.random.default_rng(0)
    u = rng.normal(size=(20, 30))
    model = ELMDeepONet(PCA(20), solver=Ridge(1e-3)).fit(u, u[:, :5] ** 2, points=np.arange(5.0))
    with pytest.warns(LeaveOneOutWarning, match="18 of 20"):
        low, high = model.interval(u)
    assert np.isfinite(high - low).all()


def test_many_modes_asked_for_are_fewer_in_a_trial():
    u = np.random.default_rng(0).random((20, 2))
    model = ELMDeepONet(Linear() + InfiniteWidth("rbf", 1.0), POD(20), Ridge(1e-4)).fit(u, bumps(u), points=x)
    low, high = model.interval(u, 0.9, of="function")
    assert (high > low).all()


def test_groups_stay_together_in_trials():
    rng = np.random.default_rng(0)
    u, groups = rng.random((60, 2)), np.arange(60) // 3
    model = ELMDeepONet(Linear() + InfiniteWidth("rbf", 1.0), POD(), Ridge(1e-4), scale_inputs=False)
    model.fit(u, bumps(u), points=x, groups=groups)
    for kept in masks_without(10, groups, 60):
        assert not set(groups[kept]) & set(groups[~kept])
    assert model._fitted().error_bars.independent == 20


def test_what_a_trunk_misses_is_no_rounding_of_ill_conditioned_fits():
    """A tiny ridge and few modes: left-out predictions are those of refits, not millions of times off."""
    rng = np.random.default_rng(0)
    a, x = rng.uniform(1, 3, (40, 1)), np.linspace(0, 1, 60)
    s = np.exp(-a * x) + 1e-3 * np.sin(40 * a * x)
    model = ELMDeepONet(SLFN(400, "tanh", 0.5), POD(4), Ridge(1e-20), random_state=0).fit(a, s, points=x)
    assert model.solution_.condition > 1e8
    found = np.asarray(model._fitted().validation().predicted)
    for i in range(0, 40, 8):
        kept = np.arange(40) != i
        other = ELMDeepONet(SLFN(400, "tanh", 0.5), POD(4), Ridge(1e-20), random_state=0)
        missed = other.fit(a[kept], s[kept], points=x).predict(a[i : i + 1])[0] - s[i]
        left_out = found[i] - s[i]
        assert 1 / 3 < np.linalg.norm(left_out) / np.linalg.norm(missed) < 3
