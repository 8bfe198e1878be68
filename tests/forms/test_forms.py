"""What users give, understood once: grids, functions in columns, each array checked once."""

import warnings

import numpy as np
import pytest

from elmonet import (
    CNN,
    POD,
    SLFN,
    AutoELMDeepONet,
    ELMDeepONet,
    FunctionsInColumnsWarning,
    InputError,
    Linear,
    problems,
)
from elmonet.forms.training import understand


def field_data(n=40, side=6, seed=0):
    rng = np.random.default_rng(seed)
    images = rng.normal(size=(n, side, side))
    axis = np.linspace(0, 1, side)
    points = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    return images, points


@pytest.mark.parametrize("given", ["points", "sensors", "shuffled", "columns first"])
def test_fields_given_flat_are_seen_as_fields(given):
    images, points = field_data()
    flat = images.reshape(40, -1)
    expected = ELMDeepONet(CNN(50, hidden=8), random_state=0).fit(images, 2 * images, points=points)
    model = ELMDeepONet(CNN(50, hidden=8), random_state=0)
    order = np.arange(36)
    if given == "points":
        model.fit(flat, 2 * flat, points=points)
    elif given == "sensors":
        model.fit(flat, 2 * flat, points=points, sensors=points)
    else:
        order = np.random.default_rng(0).permutation(36)
        if given == "columns first":
            order = np.arange(36).reshape(6, 6).T.ravel()
        model.fit(flat[:, order], 2 * flat, points=points, sensors=points[order])
    predicted = model.predict(flat[:, order])
    np.testing.assert_allclose(predicted.reshape(40, 6, 6), expected.predict(images), rtol=1e-9, atol=1e-12)
    assert "36 values on a grid of 6 x 6 sensors" in model.summary()


def test_auto_uses_the_grid_of_flat_fields():
    images, points = field_data(30)
    model = AutoELMDeepONet(random_state=0).fit(images.reshape(30, -1), images.reshape(30, -1) ** 2, points)
    assert any("cnn" in row["branch"] for row in model.leaderboard_)
    assert "grid of 6 x 6 sensors" in model.summary()


def test_sensors_are_the_points_of_outputs_of_the_same_shape():
    u = np.random.default_rng(0).normal(size=(20, 7))
    where = np.geomspace(1, 2, 7)
    model = ELMDeepONet(Linear()).fit(u, u, sensors=where)
    np.testing.assert_array_equal(model.points_[:, 0], where)
    with pytest.raises(InputError, match="one row for each of the 7 values"):
        ELMDeepONet(Linear()).fit(u, u, sensors=where[:5])
    with pytest.raises(InputError, match=r"functions are columns, give X\.T and y\.T"):
        ELMDeepONet(Linear()).fit(u, u, sensors=np.arange(20))


def test_functions_in_columns_are_noticed():
    data = problems.antiderivative(n_train=100, n_test=1)  # as many functions as points
    u, s = data.u_train, data.s_train
    with pytest.warns(FunctionsInColumnsWarning, match=r"fit\(X\.T, y\.T"):
        ELMDeepONet(Linear()).fit(u.T, s.T, points=data.points)
    with pytest.warns(FunctionsInColumnsWarning):
        ELMDeepONet(Linear()).fit(u[:80].T, s[:80].T)  # no points: nothing else tells
    with pytest.raises(InputError, match=r"as many points as rows of y.*X\.T and y\.T"):
        ELMDeepONet(Linear()).fit(u[:80].T, s[:80].T, points=data.points)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ELMDeepONet(Linear()).fit(u, s, points=data.points)
        ELMDeepONet(Linear()).fit(u[:80], s[:80])
        noise = np.random.default_rng(0).normal(size=(50, 50))
        ELMDeepONet(Linear()).fit(noise, noise)


def test_every_array_is_checked_once(monkeypatch):
    """Whatever the branch: X, y and the points are looked at for NaN once each, and validated once."""
    import sklearn.utils.validation

    from elmonet import checks as _check

    data = problems.nonlinear_ode(n_train=40, n_test=5)
    seen, validated = [], []
    finite, validate = _check.finite, sklearn.utils.validation.validate_data

    def counted_finite(array, name, *args, **kwargs):
        seen.append(name)
        return finite(array, name, *args, **kwargs)

    def counted_validate(estimator, X, **kwargs):
        validated.append(type(estimator).__name__)
        return validate(estimator, X, **kwargs)

    monkeypatch.setattr(_check, "finite", counted_finite)
    monkeypatch.setattr(sklearn.utils.validation, "validate_data", counted_validate)
    for fit in (
        lambda: ELMDeepONet(Linear() + SLFN(20), POD()).fit(data.u_train, data.s_train, points=data.points),
        lambda: ELMDeepONet(Linear() + SLFN(20)).partial_fit(data.u_train, data.s_train, points=data.points),
        lambda: AutoELMDeepONet(time_budget=0.1).fit(data.u_train, data.s_train, points=data.points),
    ):
        seen.clear()
        validated.clear()
        fit()
        assert sorted(seen) == ["X", "points", "y"]
        assert len(validated) == 1


def test_a_form_is_frozen_and_goes_both_ways():
    y = np.random.default_rng(0).normal(size=(5, 4, 3))
    training = understand(ELMDeepONet(), np.ones((5, 2)), y, np.arange(4.0))
    with pytest.raises(AttributeError):
        training.outputs.axis = 0
    np.testing.assert_allclose(training.outputs.unpacked(training.y), y)
    np.testing.assert_allclose(np.sqrt(np.mean(training.y.reshape(5, 3, 4) ** 2, axis=(0, 2))), 1)
