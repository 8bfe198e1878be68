"""Layers beside the global models: used where they gain, and only there."""

import numpy as np
import pytest
from scipy.stats import ttest_rel

from elmonet import AutoELMDeepONet, InputError, LayeredELMDeepONet, load, problems, relative_l2
from elmonet.auto import error_estimate
from elmonet.auto.layers import _are_better, compare_with_layers
from elmonet.forms.training import understand
from elmonet.layered.chain import held_out_of
from elmonet.summary import percent


@pytest.fixture(scope="module")
def burgers():
    return problems.burgers(n_train=120, n_test=60, n_points=65)


@pytest.fixture(scope="module")
def layered(burgers):
    data = burgers
    said = []
    model = AutoELMDeepONet(random_state=0, progress=lambda what, done, total: said.append(what))
    model.fit(data.u_train, data.s_train, points=data.points)
    model.said = said
    return model


def test_fronts_are_learned_by_layers(burgers, layered):
    data, model = burgers, layered
    assert isinstance(model.best_model_, LayeredELMDeepONet)
    error = relative_l2(model.predict(data.u_test), data.s_test)
    assert error < 0.5 * relative_l2(model.global_model_.predict(data.u_test), data.s_test)
    assert error == pytest.approx(model.expected_error_, rel=0.5)
    assert model.error_kind_ == "held out"
    assert model.score(data.u_test, data.s_test) > 0.99
    assert "layers" in model.leaderboard_[0]["branch"]
    assert model.leaderboard_[0]["error"] == model.expected_error_
    assert any("layer 2" in what for what in model.said)
    with pytest.raises(AttributeError, match="expected_error_"):
        model.loo_error_  # noqa: B018
    summary = model.summary()
    assert summary.count("Expected error") == 1
    assert summary.index("Expected error") < summary.index("Model:           layers")
    assert summary.index("Model:           layers") < summary.index("Layer 1")
    assert percent(model.expected_error_) in summary.splitlines()[1]


def test_a_saved_choice_of_layers(burgers, layered, tmp_path):
    layered.save(tmp_path / "model.elm")
    again = load(tmp_path / "model.elm")
    np.testing.assert_array_equal(again.predict(burgers.u_test), layered.predict(burgers.u_test))
    assert again.summary() == layered.summary()
    assert again.expected_error_ == layered.expected_error_
    np.testing.assert_array_equal(again.novelty(burgers.u_test), layered.novelty(burgers.u_test))


def test_both_are_compared_on_the_same_functions(burgers, layered):
    data, best = burgers, layered.global_model_
    training = understand(AutoELMDeepONet(), data.u_train, data.s_train, data.points)
    compared = compare_with_layers(
        training, None, best, layers=1, seed=0, deadline=np.inf, tell=lambda what, done, total: None
    )
    unseen = held_out_of(len(data.u_train), 0)
    left_out = best.solution_.left_out().T
    assert compared.before == pytest.approx(relative_l2(left_out[unseen], data.s_train[unseen]), rel=0.02)
    assert len(compared.model.layers_) == 1


def test_smooth_operators_keep_their_global_model():
    data = problems.nonlinear_ode(n_train=60, n_test=10)
    model = AutoELMDeepONet(random_state=0).fit(data.u_train, data.s_train, points=data.points)
    assert model.best_model_ is model.global_model_
    assert "not used" in model.summary()
    never = AutoELMDeepONet(random_state=0, layers=0).fit(data.u_train, data.s_train, points=data.points)
    assert "ayers" not in never.summary()
    np.testing.assert_array_equal(never.predict(data.u_test), model.predict(data.u_test))


def test_the_number_of_layers_can_be_said(burgers):
    data = burgers
    model = AutoELMDeepONet(random_state=0, layers=1, time_budget=2.0)
    model.fit(data.u_train, data.s_train, points=data.points)
    assert len(model.best_model_.layers_) == 1


def test_steps_are_compared_on_whole_trajectories():
    data = problems.burgers_steps(n_train=6, n_test=2, n_steps=8, n_points=33)
    model = AutoELMDeepONet(random_state=0).fit(data.u_train, data.s_train, points=data.points)
    error = relative_l2(model.predict(data.u_test), data.s_test)
    assert isinstance(model.best_model_, LayeredELMDeepONet)
    assert error < 3 * model.expected_error_


def test_refits_wait_until_layers_have_lost(monkeypatch):
    calls, refit = [], error_estimate.errors_without_each
    monkeypatch.setattr(error_estimate, "errors_without_each", lambda *a: calls.append(a) or refit(*a))
    data = problems.burgers_steps(n_train=6, n_test=2, n_steps=8, n_points=33)
    model = AutoELMDeepONet(random_state=0).fit(data.u_train, data.s_train, points=data.points)
    assert isinstance(model.best_model_, LayeredELMDeepONet)
    assert not calls
    data = problems.antiderivative(n_train=30, n_test=5)
    model = AutoELMDeepONet(random_state=0).fit(data.u_train, data.s_train, points=data.points)
    assert model.best_model_ is model.global_model_
    assert len(calls) == 1
    never = AutoELMDeepONet(random_state=0, layers=0).fit(data.u_train, data.s_train, points=data.points)
    assert model.expected_error_ == never.expected_error_
    assert model.expected_error_interval_ == never.expected_error_interval_


def test_layers_on_other_data_are_refused():
    data = problems.nonlinear_ode(n_train=40, n_test=5)
    with pytest.raises(InputError, match="on one grid"):
        AutoELMDeepONet(layers=2, time_budget=0.1).fit(data.u_train[:, :50], data.s_train, points=data.points)
    s = data.s_train.copy()
    s[0, 0] = np.nan
    with pytest.raises(InputError, match="gaps"):
        AutoELMDeepONet(layers=2, missing="ignore").fit(data.u_train, s, points=data.points)
    with pytest.raises(InputError, match="layers"):
        AutoELMDeepONet(layers=-1).fit(data.u_train, data.s_train, points=data.points)
    # Inputs elsewhere: layers are not tried, and nobody is told.
    model = AutoELMDeepONet(time_budget=0.1).fit(data.u_train[:, :50], data.s_train, points=data.points)
    assert "ayers" not in model.summary()


def test_rollout_by_layers(burgers, layered):
    states = layered.rollout(burgers.u_test[:2], 2)
    np.testing.assert_array_equal(states[:, 0], layered.predict(burgers.u_test[:2]))


def test_layers_have_to_be_better_by_more_than_chance():
    rng = np.random.default_rng(0)
    for n, gain in ((6, 0.05), (6, 0.5), (60, 0.05), (60, 0.3), (600, 0.05)):
        before = rng.uniform(0.5, 1.5, n)
        errors = before * (1 - gain) * np.exp(0.3 * rng.normal(size=n))
        chance = ttest_rel(before, errors, alternative="greater").pvalue
        assert _are_better(errors, before, None) == (errors.mean() <= 0.98 * before.mean() and chance <= 0.05)
        # Copies teach nothing: ten of each function are one group.
        copies = np.repeat(errors, 10), np.repeat(before, 10), np.repeat(np.arange(n), 10)
        assert _are_better(*copies) == _are_better(errors, before, None)
    assert not _are_better(np.array([0.1]), np.array([1.0]), None)


def test_six_functions_do_not_decide():
    """Layers gain 5 % on six held-out functions, and lose 9 % on new ones."""
    data = problems.nonlinear_ode(n_train=40, n_test=100)
    model = AutoELMDeepONet(random_state=0).fit(data.u_train, data.s_train, points=data.points)
    assert model.best_model_ is model.global_model_
