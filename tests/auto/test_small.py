"""Expected errors and their intervals: few functions, noise, and training functions of a small span."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from elmonet import (
    AutoELMDeepONet,
    ELMDeepONet,
    ExtrapolationWarning,
    Linear,
    RankCollapseWarning,
    Ridge,
    load,
    problems,
    relative_l2,
)
from elmonet.auto.candidates import Candidate
from elmonet.auto.diagnostics import noise_facts, white_noise
from elmonet.auto.error_estimate import LearningCurve, errors_without_each, errors_without_half
from elmonet.auto.search import Search
from elmonet.forms.training import understand
from elmonet.summary import percent
from elmonet.uncertainty.error_estimate import ErrorEstimate, error_interval, restored_interval

# The interval -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "rate", "spread"), [(10, 1.0, 0.5), (10, 2.5, 0.8), (50, 2.0, 1.0)])
def test_the_interval_covers_under_its_own_assumptions(n, rate, spread):
    """Functions of unequal value for training and log-normal errors: 90 % of the intervals cover."""
    rng, covered = np.random.default_rng(0), []
    sigma = np.sqrt(np.log1p(spread**2))
    for _ in range(2000):
        worth = np.sum(rng.gamma(1 / 0.8**2, 0.8**2, n))  # mean 1, deviation 0.8 each
        true = (n / worth) ** rate
        errors = rng.lognormal(-(sigma**2) / 2, sigma, n)  # left out, they have the mean of an average set
        low, high = error_interval(errors, rate=rate)
        covered.append(low <= true <= high)
    assert 0.85 < np.mean(covered) < 0.97  # some is for a heavy tail


def test_the_interval_begins_without_the_optimism_of_the_choice():
    """What the choice hides is known from few errors: it may be nothing."""
    errors = np.random.default_rng(0).lognormal(size=40)
    low, high = error_interval(errors)
    mean = float(errors.mean())
    found = ErrorEstimate.of(errors, "leave-one-out", stated=1.5 * mean, optimism=0.5 * mean)
    assert found.interval == pytest.approx((low, 1.5 * high))


def test_the_interval_of_numbers_and_of_groups():
    errors = np.abs(np.random.default_rng(0).normal(size=400))
    low, high = error_interval(errors)
    assert low < np.mean(errors) < high
    fewer = error_interval(errors, independent=20)
    assert fewer[0] < low < high < fewer[1]
    # Eight held-out functions of fifty say less than fifty left-out ones.
    assert error_interval(errors[:8], independent=50)[1] > error_interval(errors[:50])[1]
    assert error_interval(errors[:1], independent=10)[1] < np.inf
    assert error_interval(errors[:9]) == (0.0, np.inf)
    assert error_interval(np.zeros(10)) == (0.0, 0.0)


def test_the_rate_of_a_learning_curve():
    assert LearningCurve(50, 0.08, 100, 0.02).rate == pytest.approx(2)
    assert LearningCurve(50, 0.02, 100, 0.08).rate == 0
    assert LearningCurve(5, 1.0, 10, 1e-12).rate == 4
    assert LearningCurve(5, 0.0, 10, 0.0).rate == 0


# Few functions ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def darcy():
    return problems.darcy(12, 200, n_sensors=8, n_points=10)


@pytest.fixture(scope="module")
def few(darcy):
    return AutoELMDeepONet(random_state=0, layers=0).fit(darcy.u_train, darcy.s_train, points=darcy.points)


def test_few_functions_are_not_too_optimistic(few, darcy):
    """Logarithms of outputs are centred: leave-one-out by one factorisation includes the mean."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExtrapolationWarning)  # twelve functions cover little
        true = relative_l2(few.predict(darcy.u_test), darcy.s_test)
    low, high = few.expected_error_interval_
    assert low < true < high
    assert 0.6 < few.expected_error_ / true < 1.6
    assert f"90 % interval:   {percent(low, 2)} to {percent(high, 2)}\n" in few.summary()


def test_functions_are_left_out_of_everything(darcy):
    u, s = darcy.u_train[:6], darcy.s_train[:6]
    training = understand(ELMDeepONet(), u, s, darcy.points)
    search = Search(training, seed=0, time_budget=None, n_jobs=1, progress=None)
    # Logarithms, standardised inputs.
    transform = next(
        i for i, t in enumerate(search.transforms) if all((t.logarithms, t.log_outputs, t.scale_inputs))
    )
    search._try([(transform, Candidate("none", linear=True))], len(training.X))
    found = errors_without_each(search, search.trials[0])
    for i in range(4):
        others = np.arange(6) != i
        model = ELMDeepONet(Linear(), log_inputs=True, log_outputs=True)
        model.fit(u[others], s[others], points=darcy.points)
        error = relative_l2(model.predict(u[[i]]), s[[i]])
        assert found[i] == pytest.approx(error, rel=1e-6)
    assert np.mean(found) > 2 * search.trials[0].error  # the estimate of one factorisation
    assert np.isfinite(errors_without_half(search, search.trials[0])).all()  # each is left out once


@pytest.mark.filterwarnings("ignore::elmonet.ExtrapolationWarning", "ignore::elmonet.LargeErrorWarning")
@pytest.mark.parametrize("seed", [0, 1])
def test_few_groups_are_left_out_by_refits(seed):
    """The error of one factorisation is smaller: scaling, trunk and alpha have seen the group."""
    d = problems.burgers_steps(n_train=6, n_test=1, n_steps=12, n_points=17, seed=seed)
    order = np.random.default_rng(seed).permutation(72)  # functions of a group need not be neighbours
    u, s, groups = d.u_train[order], d.s_train[order], np.repeat([7, 3, 5, 1, 9, 2], 12)[order]
    model = AutoELMDeepONet(random_state=0, layers=0).fit(u, s, points=d.points, groups=groups)
    errors = np.empty(72)
    for group in np.unique(groups):
        out = groups == group
        other = clone(model.best_model_).set_params(solver=Ridge("loo"))
        other.fit(u[~out], s[~out], points=d.points, groups=groups[~out])
        errors[out] = np.linalg.norm(other.predict(u[out]) - s[out], axis=1) / np.linalg.norm(s[out], axis=1)
    stated = model.expected_error_ - model._fitted().estimate.optimism
    assert stated == pytest.approx(errors.mean(), rel=0.02)
    assert model.best_model_.solution_.loo_errors.mean() < 0.97 * errors.mean()


@pytest.mark.filterwarnings("ignore::elmonet.ExtrapolationWarning")
def test_with_many_functions_groups_are_left_out_in_parts(darcy):
    u, s, groups = darcy.u_train[:12], darcy.s_train[:12], np.arange(12) // 2
    training = understand(ELMDeepONet(), u, s, darcy.points, groups=groups)
    search = Search(training, seed=0, time_budget=None, n_jobs=1, progress=None)
    search._try([(0, Candidate("none", linear=True))], 12)
    found = errors_without_each(search, search.trials[0], parts=3)
    part = (np.random.default_rng(0).permutation(6) % 3)[groups]
    for k in range(3):
        model = ELMDeepONet(Linear(), **search.transforms[0].settings(training.inputs)).fit(
            u[part != k], s[part != k], points=darcy.points, groups=groups[part != k]
        )
        errors = [relative_l2(model.predict(u[[i]]), s[[i]]) for i in np.flatnonzero(part == k)]
        np.testing.assert_allclose(found[part == k], errors, rtol=1e-6)


def test_too_few_functions_for_an_interval(tmp_path):
    data = problems.nonlinear_ode(4, 5)
    model = AutoELMDeepONet(random_state=0).fit(data.u_train, data.s_train, points=data.points)
    assert model.expected_error_interval_ == (0.0, np.inf)
    assert "not known with fewer than 10 functions" in model.summary()
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").expected_error_interval_ == (0.0, np.inf)


def test_the_interval_is_kept_in_the_file(few, tmp_path):
    few.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.expected_error_interval_ == few.expected_error_interval_
    assert restored_interval(None) is None  # of an older version


def test_an_ordinary_model_has_an_interval_too(tmp_path):
    data = problems.nonlinear_ode(60, 200)
    model = ELMDeepONet(random_state=0).fit(data.u_train, data.s_train, points=data.points)
    low, high = model.expected_error_interval_
    assert low < relative_l2(model.predict(data.u_test), data.s_test) < high
    assert f"90 % interval:   {percent(low, 2)} to {percent(high, 2)}\n" in model.summary()
    groups = np.arange(60) // 3
    grouped = ELMDeepONet(random_state=0).fit(data.u_train, data.s_train, points=data.points, groups=groups)
    wide = grouped.expected_error_interval_
    assert wide[1] / wide[0] > high / low
    grouped.save(tmp_path / "model")
    assert load(tmp_path / "model").expected_error_interval_ == wide
    assert ELMDeepONet().partial_fit(data.u_train, data.s_train, points=data.points).expected_error_interval_


# Noise ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("N", "M"), [(50, 100), (200, 60), (100, 101), (400, 40)])
@pytest.mark.parametrize("sigma", [1e-3, 1e-1])
def test_white_noise_is_found_below_a_few_modes(N, M, sigma):
    rng = np.random.default_rng(0)
    smooth = rng.normal(size=(N, 6)) @ (2.0 ** -np.arange(6)[:, None] * rng.normal(size=(6, M)))
    assert white_noise(smooth + sigma * rng.normal(size=(N, M))) == pytest.approx(sigma, rel=0.1)
    assert white_noise(smooth) is None


def test_rough_outputs_are_not_taken_for_noise():
    rng = np.random.default_rng(0)
    burgers = problems.burgers(200, 5, n_points=64)
    for y in (
        burgers.s_train,
        burgers.u_train,
        problems.darcy_two_valued(100, 5).s_train.reshape(100, -1),
        np.cumsum(rng.normal(size=(100, 80)), axis=1),
        rng.normal(size=(200, 1)),
        problems.nonlinear_ode(100, 5, n_points=10).s_train,
        np.ones((60, 60)),
    ):
        assert white_noise(y) is None


def test_noise_is_reported_where_it_is_relevant():
    assert noise_facts(None, 0.1) == ()
    assert noise_facts(0.01, 0.1) == ()  # not relevant
    assert noise_facts(0.1, 0.05) == ()  # it is predicted, so it is not noise
    assert noise_facts(0.03, 0.05)[0].said.endswith("about 4 %")
    assert "Nearly all" in noise_facts(0.1, 0.1)[0].said


def test_the_summary_says_what_is_noise():
    rng, data = np.random.default_rng(0), problems.nonlinear_ode(60, 200)
    noise = 0.02 * np.sqrt(np.mean(data.s_train**2))
    s = data.s_train + noise * rng.normal(size=data.s_train.shape)
    model = AutoELMDeepONet(random_state=0, layers=0).fit(data.u_train, s, points=data.points)
    assert "  Noise:           about" in model.summary()
    twice = AutoELMDeepONet(random_state=0, layers=0)
    u = np.repeat(data.u_train[:20], 2, axis=0)
    s = np.repeat(data.s_train[:20], 2, axis=0) + 10 * noise * rng.normal(size=(40, data.s_train.shape[1]))
    twice.fit(u, s, points=data.points)
    assert twice.repeats_.left == pytest.approx(twice.repeats_.spread / np.sqrt(2))
    assert "  Noise:           about" in twice.summary()


# Training functions of a small span -------------------------------------------------------------------------


def test_exact_on_a_few_modes_says_nothing_of_others():
    x, rng = np.linspace(0, 1, 40), np.random.default_rng(0)
    a = rng.normal(size=(60, 2))
    u = a @ np.stack([np.sin(3 * x), np.exp(x)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankCollapseWarning)
        model = AutoELMDeepONet(random_state=0, layers=0).fit(u, a[:, :1] * np.cos(x), points=x)
    text = " ".join(model.summary().split())
    assert "all training outputs are multiples of one function" in text
    assert "all training inputs are combinations of 2 functions" in text
    assert "not needed: the error is at the level of rounding" not in text


def test_an_exact_operator_needs_nothing_more():
    data = problems.antiderivative(80, 5)
    model = AutoELMDeepONet(random_state=0, layers=0).fit(data.u_train, data.s_train, points=data.points)
    assert "not needed: the error is at the level of rounding" in model.summary()
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(60, 3))  # three numbers fill their space: there are no other inputs
    outputs = numbers @ rng.normal(size=(3, 30))
    model = AutoELMDeepONet(random_state=0, layers=0).fit(numbers, outputs, points=np.arange(30))
    assert "not needed: the error is at the level of rounding" in model.summary()
