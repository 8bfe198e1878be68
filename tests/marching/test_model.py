"""MarchingELMDeepONet on systems whose answers are known."""

import warnings

import numpy as np
import pytest
from scipy.signal import lfilter

from elmonet import (
    AutoELMDeepONet,
    ExtrapolationWarning,
    InputError,
    MarchingELMDeepONet,
    load,
    problems,
    relative_l2,
)
from elmonet.marching.bands import MarchingErrorBars, Profile
from elmonet.uncertainty.bands import Bands

pytestmark = pytest.mark.filterwarnings("ignore::elmonet.errors.FewFunctionsWarning")


def respond(u, start=0.0, cubic=0.05):
    """Return s(k) = 0.9 s(k-1) - cubic s(k-1)^3 + 0.2 u(k), from `start` before the record."""
    s, last = np.empty_like(u), start
    for k in range(u.shape[-1]):
        last = 0.9 * last - cubic * last**3 + 0.2 * u[..., k]
        s[..., k] = last
    return s


def forcing(n, T, seed=0):
    rng = np.random.default_rng(seed)
    return np.cumsum(rng.normal(size=(n, T)), axis=1) * 0.3 + rng.normal(size=(n, T))


def records(n=12, T=80, seed=0):
    u = np.tanh(forcing(n, T, seed))
    return u, respond(u)


@pytest.fixture(scope="module")
def fitted():
    u, s = records()
    return MarchingELMDeepONet(memory=(1, 1), random_state=0).fit(u, s)


@pytest.fixture(scope="module")
def lists():
    """Records of different lengths."""
    lengths = [30, 80, 55, 41, 67, 90, 33, 77, 48, 60, 85]
    u = [np.tanh(forcing(1, T, 100 + T)[0]) for T in lengths]
    return u, [respond(one) for one in u]


def test_a_nonlinear_system_is_found_and_runs_freely_for_any_length(fitted):
    u, s = records(4, 300, seed=1)
    assert fitted.step_ == "with feedback: the last output and the present input, cubic"
    np.testing.assert_allclose(fitted.predict(u), s, rtol=0, atol=1e-6)
    assert fitted.expected_error_ < 1e-6


def test_amplification_of_a_linear_system_is_known():
    u, _ = records()
    model = MarchingELMDeepONet(memory=(1, 1), random_state=0).fit(u, respond(u, cubic=0.0))
    assert model.amplification_ == pytest.approx(np.log(0.9), rel=1e-3)
    assert "halve every 6.6 steps" in model.summary()


def test_records_in_a_list(lists, tmp_path):
    u, s = lists
    model = MarchingELMDeepONet(memory=(1, 1), random_state=0).fit(u, s)
    found = model.predict(u)
    assert isinstance(found, list)
    for one, other in zip(found, s, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-6)
    low, high = model.interval(u, 0.8)
    assert all(a.shape == b.shape == c.shape for a, b, c in zip(low, high, s, strict=True))
    assert model.score(u, s) > 0.999999
    assert model.is_training_function(u).all()
    assert not model.is_training_function([one[:-1] for one in u]).any()
    new = [np.tanh(forcing(1, T, T)[0]) for T in (50, 75)]
    assert str(model.calibration(new, [respond(one) for one in new]))
    model.save(tmp_path / "model")
    for one, other in zip(load(tmp_path / "model").predict(u), found, strict=True):
        np.testing.assert_array_equal(one, other)
    array = model.predict(np.stack([u[0], u[0]]))
    np.testing.assert_allclose(array[1], found[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("weights", [False, True])
def test_random_features_are_drawn_again_or_kept(tmp_path, weights):
    u, s = records(12, 60)
    model = MarchingELMDeepONet(memory=(2, 2), random_state=3).fit(u, s + 0.3 * np.abs(s))
    step = model._fitted().step
    assert step.settings.kind == "tanh"
    model.save(tmp_path / "model", weights=weights)
    again = load(tmp_path / "model")
    assert (again._fitted().step.stored is not None) == weights
    np.testing.assert_array_equal(again.predict(u), model.predict(u))


def test_calibration_warns_of_training_records(lists):
    u, s = lists
    model = MarchingELMDeepONet(memory=(1, 1), random_state=0).fit(u, s)
    with pytest.warns(match="training functions"):
        model.calibration(u, s)


def test_auto_takes_lists_of_records(lists):
    u, s = lists
    model = AutoELMDeepONet(random_state=0).fit(u, s)
    assert type(model.best_model_) is MarchingELMDeepONet
    assert relative_l2(model.predict(u)[0], s[0]) < 1e-4
    assert model.leaderboard_[0]["error"] < 1e-4
    with pytest.raises(InputError, match="layers"):
        AutoELMDeepONet(layers=1).fit(u, s)


def noisy_antiderivatives():
    """Antiderivatives with errors of 1 %: a step sees them again and again."""
    data = problems.antiderivative(150, 1)
    noise = 0.01 * data.s_train.std() * np.random.default_rng(0).normal(size=data.s_train.shape)
    return data.u_train, data.s_train + noise


def antiderivatives_of_rough_functions():
    """Antiderivatives of Brownian paths of which one value in ten is known: no model knows the others."""
    rng = np.random.default_rng(0)
    u = np.cumsum(rng.normal(size=(150, 1000)), axis=1) / 30
    return u[:, ::10], np.cumsum(u, axis=1)[:, ::10] / 1000


@pytest.mark.parametrize("functions", [noisy_antiderivatives, antiderivatives_of_rough_functions])
def test_auto_searches_no_step_where_two_looks_show_no_gain(monkeypatch, functions):
    """Both are causal, but a step is no better than whole functions, or by less than a tenth."""
    from elmonet.marching.choice import StepSearch

    def fail(self):
        raise AssertionError("a whole search costs more than all else")

    monkeypatch.setattr(StepSearch, "run", fail)
    u, s = functions()
    model = AutoELMDeepONet(random_state=0).fit(u, s, points=np.linspace(0, 1, u.shape[1]))
    assert "Step in time:    not used: the error of a free run is" in model.summary()


def test_auto_says_that_outputs_depend_on_later_inputs():
    u, _ = records(30, 80)
    later = np.concatenate([u[:, 5:], np.zeros((30, 5))], axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = AutoELMDeepONet(random_state=0).fit(u, later, points=np.arange(80.0))
    words = " ".join(model.summary().split())
    assert "not used: outputs depend on later inputs, and the error of a free run" in words


def test_one_record():
    u, s = records(1, 600)
    model = MarchingELMDeepONet(memory=(1, 1), random_state=0).fit(u[0], s[0])
    new, truth = records(1, 200, seed=3)
    found = model.predict(new[0])
    assert found.shape == (200,)
    np.testing.assert_allclose(found, truth[0], rtol=0, atol=1e-4)
    assert "stretches" in model.summary()


def test_known_values_begin_a_run():
    """Records that begin anywhere: from known values they are exact, from rest only later."""
    rng = np.random.default_rng(4)
    u = np.tanh(forcing(14, 80))
    s = np.stack([respond(one, start) for one, start in zip(u, rng.normal(size=14), strict=True)])
    model = MarchingELMDeepONet(memory=(1, 1), random_state=0).fit(u[:12], s[:12])
    found = model.predict(u[12:], start=s[12:, :1])
    np.testing.assert_array_equal(found[:, 0], s[12:, 0])
    np.testing.assert_allclose(found, s[12:], rtol=0, atol=1e-5)
    np.testing.assert_allclose(model.predict(u[12:], start=s[12:, :5]), s[12:], rtol=0, atol=1e-5)
    from_rest = np.abs(model.predict(u[12:]) - s[12:])
    assert from_rest[:, 0].max() > 1e-2
    assert from_rest[:, -1].max() < 1e-3
    known, unknown = (model.interval(u[12:], 0.8, start=own) for own in (s[12:, :1], None))
    assert (known[1] - known[0])[:, 1:10].mean() < 0.1 * (unknown[1] - unknown[0])[:, 1:10].mean()
    assert "not from rest" in model.summary()
    for start in (np.zeros((2, 81)), np.zeros((3, 2))):
        with pytest.raises(InputError, match="start must hold the first"):
            model.predict(u[12:], start=start)
    with pytest.raises(InputError, match=r"records \(N, T\) of any length T"):
        model.predict(np.zeros((2, 80, 3)))


def test_parameters_and_channels_and_components():
    rng = np.random.default_rng(0)
    a, b, k = np.tanh(forcing(12, 60)), np.tanh(forcing(12, 60, 1)), rng.uniform(0.5, 1.0, 12)
    s = np.zeros((12, 60, 2))
    last = np.zeros((12, 2))
    for j in range(60):
        change = np.stack([a[:, j] - last[:, 1], k * b[:, j] + 0.3 * last[:, 0]], axis=1)
        last = 0.8 * last + 0.2 * change
        s[:, j] = last
    X = {"a": a, "b": b, "k": k}
    model = MarchingELMDeepONet(memory=(1, 1), random_state=0).fit(X, s, np.arange(60.0))
    assert relative_l2(model.predict(X), s) < 1e-6
    stacked = np.stack([a, b], axis=-1)
    one = MarchingELMDeepONet(memory=(1, 1), random_state=0).fit(stacked, s, np.arange(60.0))
    assert one.predict(stacked[:, :30]).shape == (12, 30, 2)
    in_lists = {"a": list(a), "b": list(b), "k": k}
    listed = MarchingELMDeepONet(memory=(1, 1), random_state=0).fit(in_lists, list(s))
    np.testing.assert_allclose(listed.predict(in_lists)[3], s[3], rtol=0, atol=1e-5)


def test_a_coarser_step_of_noisy_oversampled_records():
    """Between two samples the outputs move less than their noise; over four of them they do not."""
    data = problems.duffing(12, 5, seed=6, n_steps=400, noise=0.03)
    models = [MarchingELMDeepONet(memory=m, random_state=0) for m in ((4, 4), (4, 4, 4))]
    errors = [
        relative_l2(model.fit(data.u_train, data.s_train, data.points).predict(data.u_test), data.s_test)
        for model in models
    ]
    assert "4 time steps apart" in models[1].step_
    assert errors[1] < 0.04 < 0.2 < errors[0]


def test_a_coarser_step_is_chosen(tmp_path):
    data = problems.duffing(10, 5, seed=7, n_steps=160, noise=0.03)
    model = MarchingELMDeepONet(feedback=True, random_state=0).fit(data.u_train, data.s_train, data.points)
    assert "time steps apart" in model.step_
    assert "steps apart" in model.leaderboard_[0]["branch"]
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(data.u_test), model.predict(data.u_test))
    assert relative_l2(model.predict(data.u_test), data.s_test) < 0.06


def test_known_values_begin_each_run_of_a_coarser_step():
    rng = np.random.default_rng(4)
    u = np.repeat(rng.normal(size=(14, 1)), 80, axis=1)
    s = np.stack([respond(one, start, 0) for one, start in zip(u, rng.normal(size=14), strict=True)])
    model = MarchingELMDeepONet(memory=(1, 1, 2), random_state=0).fit(u[:12], s[:12])
    np.testing.assert_allclose(model.predict(u[12:], start=s[12:, :2]), s[12:], rtol=0, atol=1e-5)


def test_delayed_outputs_without_feedback_are_a_filter():
    """A finite impulse response, measured with noise: found without feedback, to its coefficients."""
    rng = np.random.default_rng(2)
    u = rng.normal(size=(12, 200))
    response = np.array([0.0, 0.0, 1.0, 0.5, -0.3])
    s = np.stack([np.convolve(one, response)[:200] for one in u])
    noisy = s + 0.3 * rng.normal(size=s.shape)
    model = MarchingELMDeepONet(random_state=0, time_budget=20).fit(u, noisy)
    assert "without feedback" in model.step_
    new = rng.normal(size=(3, 200))
    truth = np.stack([np.convolve(one, response)[:200] for one in new])
    assert relative_l2(model.predict(new), truth) < 0.1


def test_runs_beyond_the_training_records_are_named_with_their_time(fitted):
    u, _ = records(3, 80, seed=1)
    u[1, 40:] *= 6
    with pytest.warns(ExtrapolationWarning, match=r"1 of 3 inputs \(the first: row 1, from time 0\.5\d*\)"):
        low, high = fitted.interval(u, 0.8)
    width = high - low
    assert np.isfinite(width).all()
    assert width[1, -1] > 10 * width[1, 20]
    assert (np.diff(width[1, 45:]) > 0).all()
    assert fitted.novelty(u)[1] > 2 > 1.2 > fitted.novelty(u)[[0, 2]].max()


def test_a_swapped_record_is_a_suspect():
    u, s = records(14, 80)
    s[5] = respond(np.tanh(forcing(1, 80, 99)))[0]
    model = MarchingELMDeepONet(memory=(1, 1), random_state=0).fit(u, s)
    assert model.suspects().functions[0] == 5
    assert "Suspects" in model.summary()


def test_outputs_that_depend_on_later_inputs_are_told():
    u = np.random.default_rng(0).normal(size=(12, 200))
    later = np.concatenate([u[:, 5:], np.zeros((12, 5))], axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MarchingELMDeepONet(memory=(2, 2), random_state=0).fit(u, later)
    assert "depend on later inputs" in model.summary()


def test_left_out_errors_are_those_of_refits():
    """Each record left out, by a fit to the others with the same features."""
    u, s = records(12, 60)
    s = s + 0.01 * np.random.default_rng(0).normal(size=s.shape)
    model = MarchingELMDeepONet(memory=(1, 1), random_state=0).fit(u, s)
    found = model._fitted()
    held, step = found.held_out, found.step
    from elmonet.marching.choice import FOLDS
    from elmonet.marching.records import Records, cut, fold_numbers

    own = Records(list(u[..., None]), list(s[..., None]), np.empty((12, 0)), np.arange(12), 1.0, 0.0)
    folds = fold_numbers(own, cut(own), FOLDS)
    past = np.concatenate([np.zeros((12, 1)), s[:, :-1]], axis=1)
    Z = np.stack([past, u], axis=-1).reshape(-1, 2)
    Z = ((Z - step.mean) / step.deviation).T
    B = step.features(np.ascontiguousarray(Z)).reshape(step.count, 12, 60)
    weights = 1 / np.linalg.norm(s, axis=1, keepdims=True)  # errors are relative to the record's size
    weights *= np.sqrt(np.mean(s**2) * s.shape[1])

    def run_without(left_out, i):
        rest = ~np.isin(folds, left_out)
        A = (B * weights)[:, rest].reshape(step.count, -1)
        y = (weights * (s - past))[rest].ravel()
        norms = np.linalg.norm(A, axis=1)
        A = A / norms[:, None]
        C = np.linalg.solve(A @ A.T + found.alpha * np.eye(len(A)), A @ y) / norms
        run, last = [], 0.0
        for k in range(60):
            z = (np.array([last, u[i, k]]) - step.mean) / step.deviation
            last = last + step.features(z[:, None])[:, 0] @ C
            run.append(last)
        return np.array(run)

    for i in range(12):
        run = run_without([folds[i]], i)
        np.testing.assert_allclose(held.predicted[i, :, 0], run, rtol=0, atol=1e-6)
        assert held.errors[i] == pytest.approx(np.linalg.norm(run - s[i]) / np.linalg.norm(s[i]), rel=1e-4)
        others = [run_without([folds[i], k], i) for k in range(FOLDS) if k != folds[i]]
        distance = np.sqrt(np.mean((np.array(others) - run) ** 2, axis=0))
        np.testing.assert_allclose(held.distance[i, :, 0], distance, rtol=0.01, atol=1e-6)


def smoothed(u):
    """Return s(k) = 0.9 s(k-1) + 0.2 u(k), from rest."""
    return lfilter([0.2], [1, -0.9], u)


def test_records_of_200_to_5000_steps():
    rng = np.random.default_rng(0)
    u = [rng.normal(size=end) for end in np.linspace(200, 5000, 12).astype(int)]
    model = MarchingELMDeepONet(memory=(1, 1), random_state=0).fit(u, [smoothed(one) for one in u])
    new = rng.normal(size=8000)
    np.testing.assert_allclose(model.predict([new])[0], smoothed(new), rtol=0, atol=1e-6)


def test_one_long_record():
    """Whether it begins at rest is told by its beginning, not by the stretches that a search sees."""
    u = np.random.default_rng(0).normal(size=200_000)
    s = smoothed(u)
    model = MarchingELMDeepONet(memory=(1, 1), random_state=0).fit(u, s)
    assert model.expected_error_ < 1e-6
    np.testing.assert_allclose(model.predict(u[:5000]), s[:5000], rtol=0, atol=1e-6)
    run = model.predict(u[50_000:55_000], start=s[50_000:50_001])
    np.testing.assert_allclose(run, s[50_000:55_000], rtol=0, atol=1e-6)


def test_a_long_record_that_does_not_begin_at_rest():
    """A run from its beginning is told the first values; without these, only the mean is known."""
    u = np.random.default_rng(0).normal(size=100_100)
    s = smoothed(u)[100:] + 5
    model = MarchingELMDeepONet(memory=(1, 1), random_state=0).fit(u[100:], s)
    assert "not from rest" in model.summary()
    run = model.predict(u[100:5100], start=s[:1])
    np.testing.assert_allclose(run, s[:5000], rtol=0, atol=1e-6)


def test_records_on_disk_are_read_in_blocks(tmp_path):
    zarr = pytest.importorskip("zarr")
    u, s = records(1, 3000)
    group = zarr.open_group(tmp_path / "records.zarr", mode="w")
    for name, values in (("u", u[0]), ("s", s[0])):
        group.create_array(name, shape=(3000,), chunks=(500,), dtype="f8")[:] = values
    model = MarchingELMDeepONet(memory=(1, 1), random_state=0).fit(group["u"], group["s"])
    new, truth = records(1, 200, seed=3)
    np.testing.assert_allclose(model.predict(new), truth, rtol=0, atol=1e-4)


def test_many_steps_in_blocks_are_one_fit(monkeypatch):
    """Sums in blocks give the coefficients of one fit to all steps."""
    from elmonet.marching import choice, fit

    u, s = records(1, 9000)
    whole = MarchingELMDeepONet(memory=(1, 1), random_state=0).fit(u[0], s[0])
    monkeypatch.setattr(choice, "SEARCH_STEPS", 8000)
    monkeypatch.setattr(fit, "_MANY_STEPS", 5000)
    monkeypatch.setattr(fit, "_BLOCK_STEPS", 700)
    blocks = MarchingELMDeepONet(memory=(1, 1), random_state=0).fit(u[0], s[0])
    assert "in blocks" in blocks.summary()
    new, _ = records(2, 200, seed=3)
    np.testing.assert_allclose(blocks.predict(new), whole.predict(new), rtol=0, atol=1e-4)


def test_a_fit_to_a_part_of_very_many_steps_says_so(monkeypatch):
    """F coefficients from n steps make an error of a step sqrt(1 + F / n) times that of all others."""
    from elmonet.marching import choice, fit

    u, s = records(1, 9000)
    monkeypatch.setattr(choice, "SEARCH_STEPS", 8000)
    monkeypatch.setattr(fit, "_MANY_STEPS", 5000)
    monkeypatch.setattr(fit, "_BLOCK_STEPS", 750)
    monkeypatch.setattr(fit, "_MOST_WORK", 4 * 750 * 10.0**2)  # four blocks with the ten features
    model = MarchingELMDeepONet(memory=(1, 1), random_state=0).fit(u[0], s[0])
    features = model._fitted().step.count
    assert features == 10
    said = " ".join(model.summary().split())
    gain = np.sqrt(1 + features / 3000) / np.sqrt(1 + features / 9000) - 1
    assert "3000 of 9000 were fitted, in blocks spread over the records: all would lower" in said
    assert f"by a further {100 * gain:.1g} %" in said
    new, truth = records(1, 200, seed=3)
    np.testing.assert_allclose(model.predict(new), truth, rtol=0, atol=1e-4)


@pytest.mark.parametrize(
    ("u", "s", "points", "message"),
    [
        (np.zeros((3, 50)), np.zeros((3, 50)), np.arange(50.0) ** 2, "uniform time steps"),
        (np.zeros((3, 40)), np.zeros((3, 50)), np.arange(50.0), "same times"),
        (
            [np.zeros(40), np.zeros(50)],
            [np.zeros(40), np.zeros(50)],
            [np.arange(40), 2 * np.arange(50)],
            "same time step",
        ),
        ([np.zeros(4), np.zeros(5)], [np.zeros(4), np.zeros(6)], None, "record 1 has 5 inputs and 6 outputs"),
    ],
)
def test_what_is_no_record_is_refused(u, s, points, message):
    with pytest.raises(InputError, match=message):
        MarchingELMDeepONet().fit(u, s, points)


def test_settings_are_checked():
    u, s = records(4, 60)
    for settings, message in (
        ({"memory": (1, 2, 3, 4)}, "pair"),
        ({"memory": (0, 2, 2)}, "at least one output"),
        ({"feedback": "yes"}, "feedback"),
        ({"memory": (0, 2), "feedback": True}, "at least one output"),
        ({"memory": 0}, "whole number"),
        ({"memory": (4, 4, 20)}, "reaches back over 80 steps"),
    ):
        with pytest.raises(InputError, match=message):
            MarchingELMDeepONet(**settings).fit(u, s)
    with pytest.raises(InputError, match="records in time"):
        AutoELMDeepONet(layers=0, random_state=0).fit(u[:, :30], s[:, :30]).predict(u[:, :30], start=s[:, :2])


def test_bands_hold():
    data = problems.tanks(12, 40, n_steps=200, noise=0.02)
    model = MarchingELMDeepONet(memory=(2, 2), random_state=0).fit(data.u_train, data.s_train)
    rng = np.random.default_rng(0)
    size = np.sqrt(np.mean((data.s_test - data.s_test[:, :1]) ** 2, axis=1, keepdims=True))
    measured = data.s_test + 0.02 * size * rng.normal(size=data.s_test.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExtrapolationWarning)
        low, high = model.interval(data.u_test, 0.9)
    assert 0.8 < np.mean((low <= measured) & (measured <= high)) < 0.98


def test_the_stated_error_is_that_of_records_the_choice_has_not_seen():
    """Each candidate is lucky with one record: chosen without it, that luck is gone."""
    from elmonet.marching.choice import StepCandidate, StepSearch
    from elmonet.marching.records import Records, find_rest
    from elmonet.marching.step import Settings

    u, s = records(10, 80)
    own = Records(list(u[..., None]), list(s[..., None]), np.empty((10, 0)), np.arange(10), 1.0, 0.0)
    search = StepSearch(find_rest(own, 60_000))
    for errors in 0.1 - 0.05 * np.eye(10):
        search.candidates.append(StepCandidate(Settings(1, 1), 1e-8, errors, 3, 0.0))
    assert search.best().error == pytest.approx(0.095)
    assert search.optimism() == pytest.approx((0.1 / 0.095, 2**0.1))
    failing = search.candidates[0]._replace(errors=np.r_[10.0, np.full(9, 0.04)])  # best without record 0
    search.candidates = search.candidates[:1]
    assert search.optimism() == (1.0, 1.0)
    search.candidates.append(failing)
    assert search.best() is search.candidates[0]
    assert search.optimism()[0] == pytest.approx(0.1 / 0.095)  # 0.1, the largest error of the best, not 10


def grown(n=20, T=400):
    """Return sizes (n, T, 1) that grow from 1e-8, each at its own rate."""
    rates = np.linspace(0.01, 0.045, n)[:, None]
    return 1e-8 * np.exp(rates * np.arange(T))[..., None]


def test_bands_follow_each_record_where_errors_grow_over_decades():
    """Errors are known multiples of the distance: bands exceed a level when they do."""
    sizes = grown()
    residuals = sizes * np.random.default_rng(0).uniform(2, 8, (20, 1, 1))
    profile = Profile.of(residuals, sizes, np.arange(20))
    assert profile.bands.scale == 1
    lost = sizes[:, -1, 0] > 1e-4
    when = [(own[lost, :, 0] > 1e-4).argmax(axis=1) for own in (np.abs(residuals), profile.spread(sizes))]
    assert lost.sum() == 12
    np.testing.assert_allclose(when[1], when[0], rtol=0.2)


def test_bands_of_noise_do_not_follow_the_distance():
    residuals = 1e-2 * np.random.default_rng(0).normal(size=(20, 400, 1))
    profile = Profile.of(residuals, 1e-3 * grown(), np.arange(20))
    np.testing.assert_allclose(profile.spread(1e-3 * grown()), 1e-2, rtol=0.3)


@pytest.mark.parametrize("coverage", [0.5, 0.75, 0.9])
def test_bands_of_whole_records_hold_as_many_as_asked(coverage):
    """For scores that are uniform on [0, 1], a new one is within q with the probability q."""
    rng, held = np.random.default_rng(0), []
    for _ in range(4000):
        scores = np.sort(rng.uniform(size=10))
        bars = MarchingErrorBars(Profile(Bands(np.ones(1), scores, scores, 10), np.ones((1, 1)), 0.0))
        held.append(bars.factor(coverage, "function"))
    assert np.mean(held) == pytest.approx(coverage, abs=0.01)  # 0.10 / sqrt(4000) by chance
    with pytest.raises(InputError, match="at least 19 independent"):
        bars.factor(0.95, "function")
