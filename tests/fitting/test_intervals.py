"""Intervals of fitted models: against real refits and exact Gaussian processes, in every form of data."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from elmonet import (
    POD,
    AutoELMDeepONet,
    ELMDeepONet,
    InfiniteWidth,
    InputError,
    LayeredELMDeepONet,
    Legendre,
    Linear,
    Pinv,
    Ridge,
    Scattered,
    Solution,
    load,
    problems,
)
from elmonet.features.kernels import Products, kernel_matrix


@pytest.fixture(scope="module")
def ode():
    return problems.nonlinear_ode(n_train=150, n_test=200, seed=1)


@pytest.fixture(scope="module")
def fitted(ode):
    return ELMDeepONet(InfiniteWidth("matern52", 0.3), random_state=0).fit(
        ode.u_train, ode.s_train, points=ode.points
    )


def inside(band, truth):
    return (band[0] <= truth) & (truth <= band[1])


@pytest.mark.numerics
def test_bands_hold_and_adapt(ode, fitted):
    found = fitted.calibration(ode.u_test, ode.s_test)
    assert found.functions[list(found.asked).index(0.9)] == pytest.approx(0.9, abs=0.06)
    assert found.points[list(found.asked).index(0.95)] == pytest.approx(0.95, abs=0.03)
    assert found.correlation > 0.5
    for of, expected in (("points", 0.9), ("function", 0.9)):
        held = inside(fitted.interval(ode.u_test, 0.9, of), ode.s_test)
        held = held if of == "points" else held.all(axis=1)
        assert held.mean() == pytest.approx(expected, abs=0.06)
    assert "90 %" in str(found)


@pytest.mark.numerics
def test_what_was_missed_is_what_refits_miss(ode):
    """The scale of each place from real fits without each function, at the same alpha."""
    u, s = ode.u_train[:25], ode.s_train[:25]
    trunk = Legendre(6)
    model = ELMDeepONet(Linear(), trunk, Ridge(0.1), scale_inputs=False).fit(u, s, points=ode.points)
    missed = []
    for i in range(25):
        rest = np.arange(25) != i
        without = clone(model).fit(u[rest], s[rest], points=ode.points)
        missed.append(s[i] - without.predict(u[[i]])[0])
    bands = model._fitted().error_bars.bands
    b = np.column_stack([np.ones(25), u])
    noise = model.solution_.alpha
    variance = [
        1 + b[i] @ np.linalg.solve(b[rest].T @ b[rest] + noise * np.eye(b.shape[1]), b[i])
        for i, rest in enumerate(~np.eye(25, dtype=bool))
    ]
    g = np.ones(25) if bands.scale == 0 else np.sqrt(variance)
    if bands.scale == 1:  # p1 is above what is kept exactly: the variance is known to sqrt(2 / 48)
        np.testing.assert_allclose(bands.sigma, np.sqrt(np.mean((np.array(missed).T / g) ** 2, 1)), rtol=0.2)
    else:
        np.testing.assert_allclose(bands.sigma, np.sqrt(np.mean(np.array(missed) ** 2, axis=0)), rtol=1e-6)


@pytest.mark.numerics
@pytest.mark.parametrize("kernel", ["matern52", "rbf", "relu"])
def test_variance_of_a_kernel_is_that_of_the_gaussian_process(kernel):
    """``k(x, x) - k' (K + a)^-1 k``, also far from the training functions: nothing is lost."""
    rng = np.random.default_rng(0)
    u, new = rng.normal(size=(40, 5)), 3 * rng.normal(size=(7, 5))
    model = ELMDeepONet(InfiniteWidth(kernel, 0.7), POD(), Ridge(1e-3), scale_inputs=False)
    model.fit(u, rng.normal(size=(40, 6)), points=np.arange(6.0))
    confidence = model._fitted().error_bars
    _, found, _ = confidence.variance.with_coefficients(model.operator_, new)

    def k(a, b):
        return kernel_matrix(kernel, 0.7, Products.of(a, b))

    a = confidence.variance.noise
    K = k(u, u) + a * np.eye(40)
    truth = np.diag(k(new, new)) - np.einsum("ij,ji->i", k(new, u), np.linalg.solve(K, k(u, new)))
    np.testing.assert_allclose(found, 1 + truth / a, rtol=1e-6)


@pytest.mark.numerics
def test_random_combinations_give_the_variance(ode):
    """48 of them, to sqrt(2 / 48) of its size, whatever the function."""
    model = ELMDeepONet(random_state=0).fit(ode.u_train, ode.s_train, points=ode.points)
    variance, fit = model._fitted().error_bars.variance, model.solution_.fit
    Z = model.inputs_.seen(ode.u_test)
    b = model.branch_.transform(Z)
    exact = 1 + np.sum((fit.root(np.eye(b.shape[1])) @ b.T) ** 2, axis=0)
    _, found, _ = variance.with_coefficients(model.operator_, Z)
    assert np.std(found / exact) < 0.3
    assert np.mean(found / exact) == pytest.approx(1, abs=0.2)


@pytest.mark.numerics
def test_bands_are_close_to_jackknife_plus(ode):
    """The bands put left-out errors around one prediction, jackknife+ around each left-out prediction."""
    u, s = ode.u_train[:60], ode.s_train[:60]
    model = ELMDeepONet(Linear(), Legendre(8), Ridge(0.1), scale_inputs=False)
    model.fit(u, s, points=ode.points)
    low, high = [], []
    for i in range(60):
        rest = np.arange(60) != i
        without = clone(model).fit(u[rest], s[rest], points=ode.points)
        missed = np.abs(s[i] - without.predict(u[[i]])[0])
        there = without.predict(ode.u_test[:20])
        low.append(there - missed)
        high.append(there + missed)
    k = int(np.ceil(0.9 * 61)) - 1
    plus = np.sort(low, axis=0)[60 - 1 - k], np.sort(high, axis=0)[k]
    ours = model.interval(ode.u_test[:20], 0.9)
    width = np.mean(plus[1] - plus[0])
    assert np.mean(ours[1] - ours[0]) == pytest.approx(width, rel=0.2)
    assert np.mean(np.abs(ours[0] - plus[0])) < 0.2 * width


def test_logarithms_keep_bands_positive():
    rng = np.random.default_rng(0)
    u = rng.normal(size=(120, 3))
    x = np.linspace(0, 1, 15)
    s = np.exp(u[:, :1] * np.sin(3 * x) + u[:, 1:2] * x + 0.3 * rng.normal(size=(120, 15)))
    model = ELMDeepONet(Linear(), log_outputs=True).fit(u[:80], s[:80], points=x)
    low, high = model.interval(u[80:], 0.9)
    assert (low > 0).all()
    assert inside((low, high), s[80:]).mean() == pytest.approx(0.9, abs=0.06)
    mean, std = model.predict(u[80:], return_std=True)
    np.testing.assert_allclose(high - mean, mean**2 / low - mean, rtol=1e-9)  # symmetric in logarithms
    assert np.sqrt(np.mean(((s[80:] - mean) / std) ** 2)) == pytest.approx(1, abs=0.3)
    assert model.calibration(u[80:], s[80:]).correlation is not None


def test_components_and_new_points(ode):
    s = {"one": ode.s_train, "two": 1e3 * ode.s_train**2}
    model = ELMDeepONet(random_state=0).fit(ode.u_train, s, points=ode.points)
    low, high = model.interval(ode.u_test, 0.9)
    truth = {"one": ode.s_test, "two": 1e3 * ode.s_test**2}
    for name in s:
        assert inside((low[name], high[name]), truth[name]).mean() == pytest.approx(0.9, abs=0.05)
    between = (ode.points[1:] + ode.points[:-1]) / 2
    low, high = model.interval(ode.u_test, 0.9, points=between)
    middle = (ode.s_test[:, 1:] + ode.s_test[:, :-1]) / 2
    assert inside((low["one"], high["one"]), middle).mean() > 0.7  # the truth between points is known roughly


def test_scattered_outputs_and_gaps(ode):
    rng = np.random.default_rng(0)
    some = rng.permutation(100)[:70]
    where = [np.sort(rng.permutation(100)[:40]) for _ in ode.s_train]
    model = ELMDeepONet(Linear(), Legendre(8), Ridge(1e-2)).fit(
        ode.u_train,
        [s[own] for s, own in zip(ode.s_train, where, strict=True)],
        [ode.points[own] for own in where],
    )
    low, high = model.interval(ode.u_test, 0.9, points=ode.points)
    assert inside((low, high), ode.s_test).mean() == pytest.approx(0.9, abs=0.06)
    own = [ode.points[:3], *[ode.points[:5]] * 4]
    low, high = model.interval(ode.u_test[:5], 0.9, points=own)
    assert [len(part) for part in low] == [3, 5, 5, 5, 5]
    places = Scattered([0, 1], ode.points[:2])
    assert model.interval(ode.u_test[:2], 0.9, points=places)[0].shape == (2,)
    with pytest.raises(InputError, match="common points"):
        model.calibration(ode.u_test, ode.s_test)
    s = ode.s_train.copy()
    s[rng.random(s.shape) < 0.2] = np.nan
    model = ELMDeepONet(Linear(), Legendre(8), missing="ignore").fit(ode.u_train, s, points=ode.points)
    assert inside(model.interval(ode.u_test[some], 0.9), ode.s_test[some]).mean() == pytest.approx(
        0.9, abs=0.06
    )


def test_weights_and_groups(ode):
    weight = np.random.default_rng(0).uniform(0.1, 2, 150)
    model = ELMDeepONet(Linear(), solver=Ridge(1e-2)).fit(
        ode.u_train, ode.s_train, points=ode.points, sample_weight=weight
    )
    assert inside(model.interval(ode.u_test, 0.9), ode.s_test).mean() == pytest.approx(0.9, abs=0.06)
    model = ELMDeepONet(Linear()).fit(ode.u_train, ode.s_train, points=ode.points, groups=np.arange(150) // 3)
    assert model._fitted().error_bars.bands.independent == 50
    assert inside(model.interval(ode.u_test, 0.9), ode.s_test).mean() == pytest.approx(0.9, abs=0.06)


def test_one_prediction_and_bands_agree(ode, fitted):
    mean, std = fitted.predict(ode.u_test[:3], return_std=True)
    np.testing.assert_allclose(mean, fitted.predict(ode.u_test[:3]), rtol=1e-9, atol=1e-12)
    low, high = fitted.interval(ode.u_test[:3])
    np.testing.assert_allclose((low + high) / 2, mean, rtol=1e-9, atol=1e-12)
    assert np.ptp((high - low) / std) < 1e-6 * np.max((high - low) / std)


def test_files_copies_and_what_has_no_bands(ode, fitted, tmp_path):
    band = fitted.interval(ode.u_test)
    fitted.save(tmp_path / "with.elmonet")
    fitted.save(tmp_path / "without.elmonet", bands=False)
    assert (tmp_path / "without.elmonet").stat().st_size < (tmp_path / "with.elmonet").stat().st_size
    for again in (load(tmp_path / "with.elmonet"), pickle.loads(pickle.dumps(fitted))):
        np.testing.assert_array_equal(again.interval(ode.u_test), band)
    without = load(tmp_path / "without.elmonet")
    with pytest.raises(InputError, match="calibrate"):
        without.interval(ode.u_test)
    without.calibrate(ode.u_test[:100], ode.s_test[:100])
    held = inside(without.interval(ode.u_test[100:], 0.9), ode.s_test[100:])
    assert held.mean() == pytest.approx(0.9, abs=0.06)
    with pytest.raises(InputError, match="at the training points"):
        fitted.calibration(ode.u_test, ode.s_test[:, :50])


def test_sums_and_solvers_without_left_out_functions(ode):
    class Own:
        def solve(self, T, B, G):
            return Solution(Ridge(1e-3).solve(T, B, G).W)

    blocks = ELMDeepONet(Linear()).partial_fit(ode.u_train, ode.s_train, points=ode.points)
    own = ELMDeepONet(Linear(), solver=Own()).fit(ode.u_train, ode.s_train, points=ode.points)
    for model in (blocks, own):
        with pytest.raises(InputError, match="calibrate"):
            model.interval(ode.u_test)
        model.calibrate(ode.u_test[:100], ode.s_test[:100])
        held = inside(model.interval(ode.u_test[100:], 0.9), ode.s_test[100:])
        assert held.mean() == pytest.approx(0.9, abs=0.06)
    exact = ELMDeepONet(Linear(), solver=Pinv()).fit(ode.u_train[:, ::5], ode.s_train, points=ode.points)
    assert inside(exact.interval(ode.u_test[:, ::5], 0.9), ode.s_test).mean() == pytest.approx(0.9, abs=0.06)


def test_a_new_fit_forgets_the_bands(ode):
    model = ELMDeepONet(Linear()).fit(ode.u_train, ode.s_train, points=ode.points)
    first = model.interval(ode.u_test[:2])
    model.fit(ode.u_train, 10 * ode.s_train, points=ode.points)
    np.testing.assert_allclose(model.interval(ode.u_test[:2])[1], 10 * first[1], rtol=1e-6)


def test_layers_have_bands_that_follow_their_last_update(tmp_path):
    data = problems.burgers(n_train=160, n_test=60, n_points=32, seed=0)
    model = LayeredELMDeepONet("nothing", layers=2, width=200, random_state=0)
    model.fit(data.u_train, data.s_train, points=data.points)
    found = model.calibration(data.u_test, data.s_test)
    assert found.points[list(found.asked).index(0.9)] == pytest.approx(0.9, abs=0.08)
    assert found.correlation > 0.4
    band = model.interval(data.u_test, 0.9)
    mean, std = model.predict(data.u_test, return_std=True)
    assert mean.shape == std.shape == band[0].shape
    fine = np.linspace(data.points[0], data.points[-1], 63)
    low, high = model.interval(data.u_test, 0.9, points=fine)
    np.testing.assert_allclose((high - low)[:, ::2], band[1] - band[0], rtol=0.2)
    model.save(tmp_path / "layers.elmonet")
    np.testing.assert_array_equal(load(tmp_path / "layers.elmonet").interval(data.u_test, 0.9), band)
    model.save(tmp_path / "small.elmonet", bands=False)
    without = load(tmp_path / "small.elmonet")
    with pytest.raises(InputError, match="without them"):
        without.interval(data.u_test)
    without.calibrate(data.u_test[:30], data.s_test[:30])
    held = inside(without.interval(data.u_test[30:], 0.8), data.s_test[30:])
    assert held.mean() == pytest.approx(0.8, abs=0.15)
    with pytest.raises(InputError, match="at least two"):
        without.calibrate(data.u_test[:1], data.s_test[:1])


def test_automatic_choice_widens_bands_by_what_its_choice_hides(ode):
    model = AutoELMDeepONet(layers=0, random_state=0).fit(
        ode.u_train[:60], ode.s_train[:60], points=ode.points
    )
    widen = model._fitted().error_bars.bands.widen
    assert widen == pytest.approx(model.expected_error_ / model.best_model_.solution_.loo_error)
    assert widen >= 1
    found = model.calibration(ode.u_test, ode.s_test)
    assert found.points[list(found.asked).index(0.9)] > 0.8
    assert model.interval(ode.u_test)[0].shape == model.predict(ode.u_test, return_std=True)[1].shape


def test_a_single_function_or_group_has_no_bands(ode, tmp_path):
    for groups, n in ((None, 1), (np.zeros(5), 5)):
        model = ELMDeepONet(Linear(), Legendre(3), Ridge(0.1)).fit(
            ode.u_train[:n], ode.s_train[:n], points=ode.points, groups=groups
        )
        model.save(tmp_path / "few.elmonet")
        with pytest.raises(InputError, match="too few functions"):
            model.interval(ode.u_test)


@pytest.mark.parametrize("seed", range(5))
def test_nothing_is_learned_where_there_is_nothing_to_learn(seed):
    """Errors that no input tells: the mean of the others falls as a function rises, which is no rule."""
    rng = np.random.default_rng(seed)
    u, noise = rng.normal(size=(80, 5)), rng.normal(size=(80, 6)) * rng.lognormal(size=(80, 1))
    model = ELMDeepONet(InfiniteWidth("rbf", 0.05), POD(), scale_inputs=False)
    model.fit(u, u[:, :1] + 0.1 * noise, points=np.arange(6.0))
    learned = model._fitted().error_bars.learned
    assert (learned.numbers[:2] >= 0).all()
    new = rng.normal(size=(300, 5))
    low, high = model.interval(new, 0.9)
    assert np.ptp(high - low, axis=0).max() < 5 * np.mean(high - low)


def test_merged_functions_make_old_bands_invalid(ode):
    one, other = (
        ELMDeepONet(Linear(), scale_inputs=False).partial_fit(u, s, points=ode.points)
        for u, s in zip(np.split(ode.u_train, 2), np.split(ode.s_train, 2), strict=True)
    )
    one.calibrate(ode.u_test, ode.s_test).merge(other)
    with pytest.raises(InputError, match="calibrate"):
        one.interval(ode.u_test)
