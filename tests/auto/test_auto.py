"""The automatic choice: known answers, honesty, and what a scikit-learn user expects."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge as LinearRidge

from elmonet import (
    AutoELMDeepONet,
    ELMDeepONet,
    ExtrapolationWarning,
    InputError,
    Linear,
    NotFittedError,
    Ridge,
    load,
    problems,
    relative_l2,
)
from elmonet.auto.candidates import Candidate, Transform, branches, transforms
from elmonet.auto.diagnostics import merge_repeats
from elmonet.auto.search import Search
from elmonet.auto.transformed_data import TransformedData
from elmonet.data import Scattered
from elmonet.forms.training import understand
from elmonet.summary import percent


def training(X, y, points):
    return understand(ELMDeepONet(), X, y, points)


@pytest.fixture(scope="module")
def ode():
    return problems.nonlinear_ode(n_train=120, n_test=120)


@pytest.fixture(scope="module")
def fitted(ode):
    return AutoELMDeepONet(random_state=0).fit(ode.u_train, ode.s_train, points=ode.points)


def test_it_finds_what_to_do_and_says_what_to_expect(fitted, ode):
    error = relative_l2(fitted.predict(ode.u_test), ode.s_test)
    default = ELMDeepONet(random_state=0).fit(ode.u_train, ode.s_train, points=ode.points)
    assert error < relative_l2(default.predict(ode.u_test), ode.s_test)
    assert fitted.loo_error_ == pytest.approx(error, rel=0.3)
    assert fitted.predict(ode.u_test, points=[[0.5]]).shape == (120, 1)


def test_linear_operators_come_out_as_with_lstsq():
    data = problems.antiderivative(n_train=150, n_test=50)
    model = AutoELMDeepONet(random_state=0).fit(data.u_train, data.s_train, points=data.points)
    lstsq = np.linalg.lstsq(data.u_train, data.s_train, rcond=None)[0]
    reached = relative_l2(data.u_test @ lstsq, data.s_test)
    assert relative_l2(model.predict(data.u_test), data.s_test) < max(10 * reached, 1e-14)


def test_constant_outputs():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 8)), np.tile(np.linspace(1, 2, 8), (30, 1))
    model = AutoELMDeepONet(random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict(rng.normal(size=(3, 8)) / 3), y[:3], rtol=1e-6)


def test_logarithms_are_found():
    rng = np.random.default_rng(0)
    u = np.exp(rng.normal(size=(120, 6)))
    s = np.exp(np.log(u) @ rng.normal(size=(6, 20)) / 3)
    model = AutoELMDeepONet(random_state=0).fit(u[:80], s[:80], points=np.arange(20))
    assert model.leaderboard_[0]["log_inputs"]
    assert model.leaderboard_[0]["log_outputs"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExtrapolationWarning)
        assert relative_l2(model.predict(u[80:]), s[80:]) < 1e-9


def test_the_trial_is_what_the_model_gives(ode):
    """A candidate is judged by the leave-one-out error that the ordinary model with it reports."""
    transform = Transform(log_outputs=False, scale_inputs=True)
    data = TransformedData(training(ode.u_train, ode.s_train, ode.points), transform)
    for candidate in (Candidate("rbf", 0.3, True), Candidate("tanh", 0.3, True, 500), Candidate("relu", 1.0)):
        errors = data.evaluate(candidate, seed=0).errors
        branch = candidate.branch(data.spread, seed=0)
        model = ELMDeepONet(branch, solver=Ridge("loo")).fit(ode.u_train, ode.s_train, points=ode.points)
        np.testing.assert_allclose(errors, model.solution_.loo_errors, rtol=0.02)
        assert np.mean(errors) == pytest.approx(model.solution_.loo_error, rel=1e-3)


def test_noise_modes_are_dropped():
    rng = np.random.default_rng(0)
    u = rng.normal(size=(100, 3))
    shapes = np.linalg.qr(rng.normal(size=(30, 3)))[0].T
    s = u @ shapes + 0.05 * rng.normal(size=(100, 30))
    model = AutoELMDeepONet(random_state=0).fit(u, s, points=np.arange(30))
    assert 3 <= model.best_model_.trunk_.width_ < 15


def test_leaderboard_and_summary(fitted):
    first = fitted.leaderboard_[0]
    assert set(first) >= {"branch", "error", "seconds", "functions", "log_inputs"}
    assert first["error"] == min(row["error"] for row in fitted.leaderboard_ if row["functions"] == 120)
    text = fitted.summary()
    assert first["branch"] in text
    assert text.startswith("Accuracy\n  Expected error:")
    assert percent(fitted.expected_error_) in text.splitlines()[1]
    assert max(map(len, text.splitlines())) <= 80


def test_repeated_functions_do_not_fool_it(ode):
    u, s = (np.repeat(A[:40], 3, axis=0) for A in (ode.u_train, ode.s_train))
    model = AutoELMDeepONet(random_state=0).fit(u, s, points=ode.points)
    error = relative_l2(model.predict(ode.u_test), ode.s_test)
    assert model.repeats_.count == 80
    assert model.expected_error_ > error / 3
    assert "80 inputs repeat others" in " ".join(model.summary().split())


def test_merging_repeats():
    X = np.array([[2.0, 1.0], [0.0, 1.0], [2.0, 1.0], [-0.0, 1.0], [5.0, 5.0]])
    y = np.array([[1.0], [2.0], [3.0], [2.0], [7.0]])
    merged, repeats = merge_repeats(training(X, y, [0.0]))
    np.testing.assert_array_equal(merged.X, [[2, 1], [0, 1], [5, 5]])
    np.testing.assert_array_equal(merged.y, [[2], [2], [7]])
    assert repeats.count == 2
    # Deviations 1 and 1 of the first pair, none of the second; two degrees of freedom.
    assert repeats.spread == pytest.approx(np.sqrt(1.0 / np.mean([1, 4, 9, 4, 49])))


def test_inputs_unlike_the_training_are_announced(fitted, ode, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted.predict(ode.u_test)
    with pytest.warns(ExtrapolationWarning, match="3 of 3 inputs"):
        fitted.predict(20 * ode.u_test[:3])
    rough = np.random.default_rng(0).normal(size=(3, 100))
    with pytest.warns(ExtrapolationWarning, match="are unlike the training functions"):
        fitted.predict(rough)
    assert fitted.novelty(ode.u_train).max() <= 1.0
    fitted.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.novelty(rough), fitted.novelty(rough))
    with pytest.warns(ExtrapolationWarning, match="3 of 3 inputs"):
        loaded.predict(rough)
    in_blocks = ELMDeepONet(Linear()).partial_fit(ode.u_train, ode.s_train, points=ode.points)
    with pytest.raises(InputError, match="remember_inputs"):
        in_blocks.novelty(rough)


@pytest.mark.parametrize("n", [2, 3, 5, 12])
def test_very_few_functions(ode, n):
    model = AutoELMDeepONet(random_state=0).fit(ode.u_train[:n], ode.s_train[:n], points=ode.points)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExtrapolationWarning)
        assert np.isfinite(model.predict(ode.u_test)).all()
    assert np.isfinite(model.expected_error_)  # of a step in time, or of whole functions
    assert "More functions:  would help most." in model.global_model_.summary()


def test_the_same_seed_gives_the_same_model(fitted, ode):
    again = clone(fitted).fit(ode.u_train, ode.s_train, points=ode.points)
    np.testing.assert_array_equal(again.predict(ode.u_test), fitted.predict(ode.u_test))
    threads = clone(fitted).set_params(n_jobs=2).fit(ode.u_train, ode.s_train, points=ode.points)
    assert threads.leaderboard_[0]["branch"] == fitted.leaderboard_[0]["branch"]


def test_saved_and_loaded(fitted, ode, tmp_path):
    fitted.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(ode.u_test), fitted.predict(ode.u_test))


def test_a_budget_that_ends_before_all_functions_were_tried():
    """What is best so far is still fitted to all functions, so that its error is that of all."""
    data = problems.antiderivative(n_train=1000, n_test=5)
    model = AutoELMDeepONet(time_budget=1e-9, layers=0, random_state=0)
    model.fit(data.u_train, data.s_train, points=data.points)
    assert [trial["functions"] for trial in model.leaderboard_] == [1000, 300]
    assert model.expected_error_ == pytest.approx(model.best_model_.solution_.loo_error, rel=0.5)


def test_a_budget_ends_the_search(ode):
    model = AutoELMDeepONet(time_budget=1e-9, random_state=0)
    model.fit(ode.u_train, ode.s_train, points=ode.points)
    assert len(model.leaderboard_) == 1
    assert np.isfinite(model.predict(ode.u_test)).all()


def test_progress(ode):
    seen = []
    AutoELMDeepONet(random_state=0, progress=lambda *told: seen.append(told)).fit(
        ode.u_train[:30], ode.s_train[:30], points=ode.points
    )
    assert seen[0][0] == "testing transforms"
    assert seen[-1] == ("done", 1.0, 1.0)
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)


def test_rounds_grow_to_all_functions(ode):
    u, s = (np.tile(A, (5, 1)) for A in (ode.u_train, ode.s_train))
    search = Search(
        training(u * np.linspace(1, 2, 600)[:, None], s, ode.points),
        seed=0,
        time_budget=None,
        n_jobs=1,
        progress=None,
    )
    search.run()
    assert {trial.functions for trial in search.trials} == {300, 600}


def test_ways_to_look_follow_from_the_data():
    X, y = np.ones((4, 3)), np.ones((4, 2))

    def ways(X, y, **settings):
        found = transforms(training(X, y, [0.0, 1.0]), **settings)
        return {bool(way.logarithms) for way in found}, {way.log_outputs for way in found}

    assert ways(X, y)[0] == {False}  # nothing varies
    assert ways(X * [[1], [2], [3], [4]], y)[0] == {False, True}
    assert ways(X, -y)[1] == {False}
    assert ways(X, y * [0, 1])[1] == {False, True}
    assert ways(X * [[1], [2], [3], [4]], y, log_inputs=False, log_outputs=True) == ({False}, {True})
    assert {c.family for c in branches((16, 16))} - {c.family for c in branches((16,))} == {
        "cnn",
        "patch5",
        "patch7",
        "smooth0.48",
        "smooth0.96",
    }


def test_better_than_linear_ridge_where_it_is_not_linear(fitted, ode):
    linear = LinearRidge(1e-6).fit(ode.u_train, ode.s_train).predict(ode.u_test)
    assert relative_l2(fitted.predict(ode.u_test), ode.s_test) < 0.1 * relative_l2(linear, ode.s_test)


@pytest.mark.parametrize("points", [1, 4])
def test_the_choice_does_not_flatter(points):
    """Few functions and many candidates: the least of many errors is too small, `loo_error_` is not."""
    naive, told, true = [], [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        u = rng.normal(size=(12 + 200, 3))
        s = np.tanh(u @ rng.normal(size=(3, points))) + 0.7 * rng.normal(size=(212, points)) + 6
        model = AutoELMDeepONet(random_state=seed).fit(u[:12], s[:12], points=np.arange(points))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExtrapolationWarning)
            true.append(relative_l2(model.predict(u[12:]), s[12:]))
        naive.append(model.best_model_.solution_.loo_error)
        told.append(model.loo_error_)
    assert np.mean(naive) < np.mean(told) < 1.1 * np.mean(true)
    assert np.mean(told) == pytest.approx(np.mean(true), rel=0.2)


def test_summary_advises_on_functions_and_sensors(fitted, ode):
    said = " ".join(fitted.summary().split())
    assert "From 60 to 120 functions the error fell" in said
    assert "every second" in said
    rng = np.random.default_rng(0)
    u = rng.normal(size=(80, 10))  # sensors that know nothing of each other
    model = AutoELMDeepONet(layers=0, random_state=0).fit(u, u + 0.1 * np.sin(u), points=np.arange(10))
    assert "More sensors:    may help" in model.summary()


def test_numbers_as_outputs_in_every_way():
    """With one point the errors of logarithms and of plain outputs are measured alike."""
    rng = np.random.default_rng(0)
    u = rng.uniform(1, 2, size=(60, 4))
    s = np.exp(u.sum(axis=1))[:, None]
    both = [TransformedData(training(u, s, [0.0]), Transform(log, True)) for log in (False, True)]
    candidate = Candidate("none", linear=True)
    plain, logarithms = (data.evaluate(candidate, 0) for data in both)
    C, B, alpha = np.hstack([u, np.ones((60, 1))]), plain.features, plain.solution.alpha
    for log, found in ((False, plain.errors), (True, logarithms.errors)):
        by_hand = []
        for i in range(60):
            rest = np.arange(60) != i
            if log:
                value = np.exp(C[i] @ np.linalg.lstsq(C[rest], np.log(s[rest, 0]), rcond=None)[0])
            else:
                gram = B[rest].T @ B[rest] + alpha * np.eye(B.shape[1])
                value = B[i] @ np.linalg.solve(gram, B[rest].T @ s[rest, 0])
            by_hand.append(abs(value - s[i, 0]) / s[i, 0])
        np.testing.assert_allclose(found, by_hand, rtol=1e-6, atol=1e-8)


def test_wrong_input(ode):
    with pytest.raises(NotFittedError):
        AutoELMDeepONet().predict(ode.u_test)
    for settings, message in (({"time_budget": -1}, "time_budget"), ({"n_jobs": 0}, "n_jobs")):
        with pytest.raises(InputError, match=message):
            AutoELMDeepONet(**settings).fit(ode.u_train, ode.s_train, points=ode.points)
    with pytest.raises(InputError, match="points is missing"):
        AutoELMDeepONet().fit(ode.u_train, ode.s_train[:, :7])


def test_every_shape_goes_through_the_search():
    """Components, grids, several inputs and gaps: back as they came, and about as good as they should be."""
    rng = np.random.default_rng(0)
    x = np.linspace(0, 1, 20)
    a, k = rng.normal(size=(80, 3)), rng.uniform(0.5, 2, 80)
    u = a @ np.sin(np.outer(np.arange(1, 4), x))
    s = u.cumsum(axis=1) / k[:, None] / 20
    train, test = slice(60), slice(60, None)

    def halves(array):
        return {"f": u[array], "k": k[array]}

    fitted = AutoELMDeepONet(random_state=0).fit(halves(train), {"s": s[train], "squared": s[train] ** 2}, x)
    predicted = fitted.predict(halves(test))
    for name, truth, most in (("s", s[test], 0.1), ("squared", s[test] ** 2, 0.5)):
        assert np.linalg.norm(predicted[name] - truth) < most * np.linalg.norm(truth)
    grid = np.stack(np.meshgrid(x[:4], x[:5], indexing="ij"), axis=-1)
    on_grid = AutoELMDeepONet(random_state=0).fit(u[train], u[train].reshape(60, 4, 5), grid)
    np.testing.assert_allclose(on_grid.predict(u[test]), u[test].reshape(20, 4, 5), atol=1e-8)
    gaps = np.where(rng.random((60, 20)) < 0.2, np.nan, u[train].cumsum(axis=1))
    with_gaps = AutoELMDeepONet(time_budget=1, random_state=0, missing="ignore").fit(u[train], gaps, x)
    assert relative_l2(with_gaps.predict(u[test]), u[test].cumsum(axis=1)) < 1e-3
    both = AutoELMDeepONet(time_budget=1, random_state=0, missing="ignore").fit(
        u[train], {"a": gaps, "b": s[train]}, x
    )
    assert list(both.predict(u[test])) == ["a", "b"]
    index = np.repeat(np.arange(60), 8)
    places = rng.random(480)
    values = np.array([np.interp(y, x, u[i]) for i, y in zip(index, places, strict=True)])
    scattered = AutoELMDeepONet(time_budget=1, random_state=0).fit(u[train], Scattered(index, places, values))
    assert relative_l2(scattered.predict(u[test], x[1:-1]), u[test, 1:-1]) < 0.05
    assert "at scattered points" in " ".join(scattered.summary().split())
