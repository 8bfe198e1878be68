"""What a report shows of functions that the fit has not seen: against refits, and against the data."""

import numpy as np
import pytest

from elmonet import (
    SLFN,
    ELMDeepONet,
    FewFunctionsWarning,
    LayeredELMDeepONet,
    Legendre,
    Ridge,
    Scattered,
    problems,
    relative_l2,
)
from elmonet.reporting.data import report_data
from elmonet.uncertainty.bands import Bands
from elmonet.uncertainty.calibration import calibration_by_halves, calibration_of

pytestmark = pytest.mark.numerics


@pytest.fixture(scope="module")
def data():
    return problems.antiderivative(n_train=24, n_test=6, n_sensors=20, n_points=15, length_scale=0.4, seed=2)


def fitted(rows, u, s, points, **settings):
    model = ELMDeepONet(
        SLFN(30, "tanh"), Legendre(6), Ridge(1e-4), scale_inputs=False, random_state=0, **settings
    )
    return model.fit(u[rows], s[rows] if isinstance(s, np.ndarray) else s, points=points)


@pytest.mark.parametrize("components", [False, True])
def test_functions_left_out_are_those_of_refits(data, components):
    u, s = data.u_train, data.s_train
    s = np.stack([s, 100 * s**2], axis=-1) if components else s
    every = np.arange(len(u))
    found = report_data(fitted(every, u, s, data.points)).shown
    # Components are in units of their size over all functions, which a refit would find anew.
    refits = [fitted(every != i, u, s, data.points).predict(u[i : i + 1])[0] for i in every]
    order = np.argsort(found.errors)
    for name, at in (("best", order[0]), ("median", order[12]), ("worst", order[-1])):
        for k, shown in enumerate(found.examples[name]):
            truth = s[at, :, k] if components else s[at]
            np.testing.assert_allclose(shown.truth, truth, rtol=1e-12)
            np.testing.assert_array_equal(shown.points, data.points)
            assert (shown.low < shown.high).all()
            if not components:
                np.testing.assert_allclose(shown.predicted, refits[at], atol=1e-9)
    if not components:
        errors = [relative_l2(p[None], t[None]) for p, t in zip(refits, s, strict=True)]
        np.testing.assert_allclose(found.errors, errors, rtol=1e-6)
        typical = np.sqrt(np.mean((np.array(refits) - s) ** 2, axis=0))
        np.testing.assert_allclose(found.typical[:, 0], typical, rtol=1e-6)


def test_scattered_functions_are_shown_at_their_own_points(data):
    rng = np.random.default_rng(0)
    index, places = np.repeat(np.arange(24), 12), rng.random((288, 1))
    x = data.points[:, 0]
    values = np.array([np.interp(y, x, data.s_train[i]) for i, y in zip(index, places[:, 0], strict=True)])
    both = Scattered(index, places, np.column_stack([values, 3 * values]))
    model = ELMDeepONet(SLFN(30), Legendre(3), Ridge(1e-3), random_state=0).fit(data.u_train, both)
    found = report_data(model).shown
    order = np.argsort(found.errors)
    for name, at in (("best", order[0]), ("worst", order[-1])):
        own = index == found.functions[at]
        for k, shown in enumerate(found.examples[name]):
            np.testing.assert_array_equal(shown.points, places[own])
            np.testing.assert_allclose(shown.truth, (1, 3)[k] * values[own], rtol=1e-12)
        missed = [(shown.predicted - shown.truth) / (1, 3)[k] for k, shown in enumerate(found.examples[name])]
        truth = np.tile(values[own], 2)
        assert found.errors[at] == pytest.approx(np.linalg.norm(missed) / np.linalg.norm(truth))


def test_gaps_are_not_drawn(data):
    s = data.s_train.copy()
    gap = np.random.default_rng(1).random(s.shape) < 0.2
    s[gap] = np.nan
    found = report_data(fitted(np.arange(24), data.u_train, s, data.points, missing="ignore")).shown
    row = found.functions[np.argmax(found.errors)]
    (shown,) = found.examples["worst"]
    np.testing.assert_array_equal(shown.points, data.points[~gap[row]])
    np.testing.assert_allclose(shown.truth, s[row][~gap[row]])


def test_functions_held_out_of_layers_are_predicted_as_new_ones(data):
    u = data.u_train[:, :15]
    model = LayeredELMDeepONet("nothing", layers=1, width=30, random_state=0)
    model.fit(u, data.s_train, points=data.points)
    found = report_data(model).shown
    assert np.mean(found.errors) == pytest.approx(model.expected_error_, rel=1e-9)
    row = found.functions[np.argmin(found.errors)]
    (shown,) = found.examples["best"]
    np.testing.assert_allclose(shown.truth, data.s_train[row], rtol=1e-10)
    np.testing.assert_allclose(shown.predicted, model.predict(u[row : row + 1])[0], rtol=1e-10)
    with pytest.warns(FewFunctionsWarning, match="rest on 4 independent functions"):
        low, high = model.interval(u[row : row + 1], len(found.errors) / (len(found.errors) + 1), "function")
    np.testing.assert_allclose(shown.low, low[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(shown.high, high[0], rtol=1e-9, atol=1e-12)


def test_bands_of_one_half_hold_on_the_other():
    missed = np.random.default_rng(3).normal(size=(400, 7)) * np.arange(1, 8)

    def tried(half, other):
        bands = Bands.of(missed[half], [np.ones((1, 1))])
        return calibration_of(bands, missed[other], np.tile(bands.sigma, (len(other), 1)), 1.0, 1.0)

    found = calibration_by_halves(tried, 400, None)
    chance = 3 * np.sqrt(found.asked * (1 - found.asked) / 400)
    assert (np.abs(found.functions - found.asked) < chance).all()
    assert (np.abs(found.points - found.asked) < chance).all()
    assert len(found.true) == 400
    assert calibration_by_halves(tried, 9, None) is None
    assert calibration_by_halves(tried, 400, np.arange(400) % 9) is None


def test_values_that_are_not_known_do_not_count():
    rng = np.random.default_rng(4)
    missed = rng.normal(size=(30, 5))
    missed[rng.random(missed.shape) < 0.3] = np.nan
    missed[:, 0] = 0.1
    bands = Bands.of(rng.normal(size=(60, 5)), [np.ones((1, 1))])
    found = calibration_of(bands, missed, np.ones((30, 5)), 1.0, 1.0)
    for asked, points, functions in zip(found.asked, found.points, found.functions, strict=True):
        single, whole = (bands.factor(asked, of) for of in ("points", "function"))
        values = [abs(v) <= single for row in missed for v in row if v == v]
        assert points == pytest.approx(sum(values) / len(values))
        inside = [all(abs(v) <= whole for v in row if v == v) for row in missed]
        assert functions == pytest.approx(sum(inside) / 30)
