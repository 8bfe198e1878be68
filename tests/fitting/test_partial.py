"""Fits in batches: the same as the fit in memory, whatever the batches."""

import numpy as np
import pytest
from sklearn.base import clone

from elmonet import (
    POD,
    SLFN,
    ELMDeepONet,
    InfiniteWidth,
    InputError,
    Linear,
    Pinv,
    Ridge,
    Sinusoid,
    load,
    problems,
)

pytestmark = pytest.mark.numerics

TIGHT = {"gram": 1e-8, "tsqr": 1e-10}


@pytest.fixture(scope="module")
def data():
    return problems.nonlinear_ode(n_train=400, n_test=30)


def model(solver, trunk=None, **settings):
    branch = Linear() + SLFN(60, "tanh", 0.5)
    return ELMDeepONet(branch, trunk, solver, scale_inputs=False, random_state=0, **settings)


def in_batches(model, u, s, points, size, order=None):
    order = np.arange(len(u)) if order is None else order
    for start in range(0, len(u), size):
        rows = order[start : start + size]
        model.partial_fit(u[rows], s[rows], points=points if start == 0 else None)
    return model


def difference(a, b, u, points=None):
    first, second = a.predict(u, points), b.predict(u, points)
    return np.linalg.norm(first - second) / np.linalg.norm(second)


@pytest.mark.parametrize("sums", ["gram", "tsqr"])
@pytest.mark.parametrize("size", [1, 37, 400])
@pytest.mark.parametrize("alpha", [1e-4, "gcv"])
def test_batches_of_any_size_in_any_order(data, sums, size, alpha):
    rng = np.random.default_rng(size)
    s = data.s_train + (0.01 * rng.normal(size=data.s_train.shape) if alpha == "gcv" else 0)
    whole = model(Ridge(alpha)).fit(data.u_train, s, points=data.points)
    batches = in_batches(
        model(Ridge(alpha, sums=sums)), data.u_train, s, data.points, size, rng.permutation(400)
    )
    assert difference(batches, whole, data.u_test) < TIGHT[sums]
    assert difference(batches, whole, data.u_test, [[0.33]]) < 10 * TIGHT[sums]
    assert batches.solution_.method == sums
    assert batches.solution_.residual == pytest.approx(whole.solution_.residual, rel=1e-4)


@pytest.mark.parametrize("trunk", [Sinusoid(20), POD(rank=5)])
def test_other_trunks(data, trunk):
    whole = model(Ridge(1e-3), trunk).fit(data.u_train, data.s_train, points=data.points)
    batches = in_batches(model(Ridge(1e-3), trunk), data.u_train, data.s_train, data.points, 90)
    assert difference(batches, whole, data.u_test) < 1e-8
    assert batches.solution_.residual == pytest.approx(whole.solution_.residual, rel=1e-6)


def test_the_pseudoinverse(data):
    whole = model(Pinv()).fit(data.u_train, data.s_train, points=data.points)
    batches = in_batches(model(Pinv()), data.u_train, data.s_train, data.points, 64)
    assert difference(batches, whole, data.u_test) < 1e-8


def test_how_to_sum_is_decided_by_the_data(data):
    rng = np.random.default_rng(0)
    noisy = data.s_train + 0.01 * rng.normal(size=data.s_train.shape)
    assert in_batches(model(None), data.u_train, noisy, data.points, 50).solution_.method == "gram"
    smooth = in_batches(model(None), data.u_train, data.u_train.cumsum(axis=1), data.points, 50)
    assert smooth.solution_.method == "tsqr"
    assert smooth.solution_.residual < 1e-10


def test_predicts_after_every_batch(data):
    growing = model(Ridge("gcv"))
    errors = []
    for start in range(0, 400, 100):
        rows = slice(start, start + 100)
        growing.partial_fit(data.u_train[rows], data.s_train[rows], points=data.points)
        missed = growing.predict(data.u_test) - data.s_test
        errors.append(np.linalg.norm(missed) / np.linalg.norm(data.s_test))
    assert errors[-1] < errors[0]
    assert growing.solution_.error_kind == "gcv"
    assert growing.solution_.expected_error == pytest.approx(errors[-1], rel=0.5)


def test_alpha_is_chosen_anew_once_there_are_more_functions(data):
    noisy = data.s_train + 0.01 * np.random.default_rng(0).normal(size=data.s_train.shape)
    growing = model(Ridge("gcv", sums="gram")).partial_fit(
        data.u_train[:300], noisy[:300], points=data.points
    )
    chosen = growing.solution_.alpha
    growing.partial_fit(data.u_train[300:320], noisy[300:320])
    assert growing.solution_.alpha == chosen
    assert growing.solution_.path is None
    whole = model(Ridge(chosen)).fit(data.u_train[:320], noisy[:320], points=data.points)
    assert difference(growing, whole, data.u_test) < 1e-8
    growing.partial_fit(data.u_train[320:], noisy[320:])
    assert growing.solution_.path is not None


def test_merged_models(data):
    halves = [
        in_batches(model(Ridge(1e-4)), data.u_train[rows], data.s_train[rows], data.points, 64)
        for rows in (slice(0, 150), slice(150, 400))
    ]
    whole = model(Ridge(1e-4)).fit(data.u_train, data.s_train, points=data.points)
    assert difference(halves[0].merge(halves[1]), whole, data.u_test) < 1e-8


def test_what_cannot_be_merged(data):
    part = in_batches(model(Ridge(1e-4)), data.u_train, data.s_train, data.points, 200)
    other = clone(part).set_params(random_state=1)
    in_batches(other, data.u_train, data.s_train, data.points, 200)
    with pytest.raises(InputError, match="differ in features"):
        part.merge(other)
    with pytest.raises(InputError, match="keeps no sums"):
        part.merge(model(Ridge(1e-4)).fit(data.u_train, data.s_train, points=data.points))


def test_fit_begins_anew(data):
    grown = in_batches(model(Ridge(1e-4)), data.u_train, data.s_train, data.points, 200)
    fresh = model(Ridge(1e-4)).fit(data.u_train[:50], data.s_train[:50], points=data.points)
    grown.fit(data.u_train[:50], data.s_train[:50], points=data.points)
    np.testing.assert_array_equal(grown.predict(data.u_test), fresh.predict(data.u_test))


def test_saved_and_loaded(data, tmp_path):
    part = in_batches(model(None), data.u_train, data.s_train, data.points, 200)
    part.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(data.u_test), part.predict(data.u_test))


@pytest.mark.parametrize("trunk", [None, Sinusoid(20)])
def test_goes_on_after_loading(data, trunk, tmp_path):
    first = in_batches(model(Ridge(1e-4), trunk), data.u_train[:200], data.s_train[:200], data.points, 50)
    first.save(tmp_path / "model", sums=True)
    loaded = load(tmp_path / "model").partial_fit(data.u_train[200:], data.s_train[200:])
    whole = model(Ridge(1e-4), trunk).fit(data.u_train, data.s_train, points=data.points)
    assert difference(loaded, whole, data.u_test) < 1e-8
    other = in_batches(model(Ridge(1e-4), trunk), data.u_train[200:], data.s_train[200:], data.points, 50)
    assert difference(load(tmp_path / "model").merge(other), whole, data.u_test) < 1e-8
    with pytest.raises(InputError, match="keeps no sums"):
        whole.save(tmp_path / "model", sums=True)


def test_numbers_as_outputs(data):
    part = model(Ridge(1e-4)).partial_fit(data.u_train, data.s_train[:, -1])
    whole = model(Ridge(1e-4)).fit(data.u_train, data.s_train[:, -1])
    assert part.predict(data.u_test).shape == (30,)
    np.testing.assert_allclose(part.predict(data.u_test), whole.predict(data.u_test), atol=1e-9)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"branch": InfiniteWidth()}, "cannot be fitted in blocks"),
        ({"branch": Linear() + InfiniteWidth()}, "cannot be fitted in blocks"),
        ({"log_outputs": True}, "give the logarithms"),
        ({"solver": Ridge(penalty="W")}, 'penalty="C"'),
        ({"solver": Ridge(sums="qr")}, "sums must be one of"),
    ],
)
def test_what_needs_all_functions_at_once(data, settings, message):
    with pytest.raises(InputError, match=message):
        ELMDeepONet(**settings).partial_fit(data.u_train, data.s_train, points=data.points).predict(
            data.u_test
        )


def test_other_points_than_before(data):
    part = model(Ridge(1e-4)).partial_fit(data.u_train, data.s_train, points=data.points)
    with pytest.raises(InputError, match="points differ"):
        part.partial_fit(data.u_train, data.s_train, points=data.points + 0.1)
    with pytest.raises(InputError, match="expecting 100 features"):
        part.partial_fit(data.u_train[:, :50], data.s_train)
    with pytest.raises(InputError, match=r"outputs of the shape \(100,\)"):
        part.partial_fit(data.u_train, data.s_train[:, :50])
