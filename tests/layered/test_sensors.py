"""Where the inputs of a prediction are known: on the training grid, whatever points are asked for."""

import numpy as np
import pytest

from elmonet import AutoELMDeepONet, ELMDeepONet, InputError, LayeredELMDeepONet, load, problems, relative_l2

X = np.linspace(0, 1, 25)


def functions(n, x=X, seed=0):
    """Return random waves and a local function of them: known exactly at any points."""
    a = np.random.default_rng(seed).normal(size=(n, 3))
    u, slope = (sum(a[:, [k]] * f((k + 1) * np.pi * x) for k in range(3)) for f in (np.sin, np.cos))
    return u, u + 0.2 * slope


@pytest.fixture(scope="module")
def model():
    return LayeredELMDeepONet("nothing", layers=1, width=60, random_state=0).fit(*functions(60), points=X)


@pytest.fixture(scope="module", params=["1d", "2d"])
def case(request, model):
    """Return a model, new inputs, its points, and other orders and parts of them."""
    rng = np.random.default_rng(1)
    if request.param == "1d":
        return model, functions(5, seed=1)[0], X[:, None]
    u = rng.normal(size=(20, 8, 8)).cumsum(axis=1)
    axis = np.linspace(0, 1, 8)
    points = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2)
    order = rng.permutation(64)
    points, u = points[order], u.reshape(20, -1)[:, order]
    s = np.stack([u, 1e3 * u**2], axis=-1)
    fitted = LayeredELMDeepONet("nothing", layers=1, width=40, random_state=0).fit(u, s, points=points)
    return fitted, u[:5], points


@pytest.mark.parametrize("some", ["reversed", "shuffled", "all but one", "repeated", "one"])
def test_points_in_any_order_say_nothing_of_the_inputs(case, some):
    model, u, points = case
    n, rng = len(points), np.random.default_rng(0)
    at = {
        "reversed": np.arange(n)[::-1],
        "shuffled": rng.permutation(n),
        "all but one": np.arange(1, n)[::-1],
        "repeated": rng.integers(0, n, n),
        "one": np.array([3]),
    }[some]
    np.testing.assert_array_equal(model.predict(u, points=points[at]), model.predict(u)[:, at])
    for own, every in zip(model.interval(u, 0.5, points=points[at]), model.interval(u, 0.5), strict=True):
        np.testing.assert_array_equal(own, every[:, at])


def test_a_shifted_grid_of_as_many_points_is_interpolated(model):
    u, s = functions(5, seed=1)
    elsewhere = 0.02 + 0.96 * X
    truth = functions(5, elsewhere, seed=1)[1]
    assert relative_l2(model.predict(u, points=elsewhere), truth) < relative_l2(model.predict(u), s) + 0.01


def test_sensors_say_where_inputs_are_known(model, tmp_path):
    fine = np.linspace(0, 1, 49)
    u, s = functions(5, seed=1)
    at_fine = functions(5, fine, seed=1)
    # The same inputs in another order.
    np.testing.assert_array_equal(model.predict(u[:, ::-1], sensors=X[::-1]), model.predict(u))
    # As many values as in training, on another grid: the old meaning of points, now said by sensors.
    near = np.linspace(0.01, 0.99, 25)
    at_near, truth = functions(5, near, seed=1)
    assert relative_l2(model.predict(at_near, points=near, sensors=near), truth) < 0.05
    assert relative_l2(model.predict(at_near, sensors=near), s) < 0.05  # at the training points
    # Another resolution: the points of the prediction, or sensors.
    both = model.predict(at_fine[0], points=fine)
    np.testing.assert_array_equal(model.predict(at_fine[0], points=fine, sensors=fine), both)
    np.testing.assert_array_equal(model.predict(at_fine[0], sensors=fine), both[:, ::2])
    np.testing.assert_array_equal(
        model.predict(at_fine[0], points=X[::-1], sensors=fine), both[:, ::2][:, ::-1]
    )
    low, high = model.interval(at_fine[0], 0.5, sensors=fine)
    assert np.all(low < both[:, ::2])
    assert np.all(both[:, ::2] < high)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(at_fine[0], sensors=fine), both[:, ::2])


def test_sensors_that_do_not_fit_are_refused(model):
    u = functions(5)[0]
    with pytest.raises(InputError, match="25 points, but there are 24 sensors"):
        model.predict(u, sensors=X[:-1])
    with pytest.raises(InputError, match="domain"):
        model.predict(u, sensors=2 * X)
    with pytest.raises(InputError, match="give predict its points, or sensors"):
        model.predict(u[:, ::2])
    with pytest.raises(InputError, match="or sensors must say where"):
        model.predict(u[:, ::2], points=X[:4])


def test_sensors_of_every_model():
    """A model without layers takes its training sensors, in any order."""
    u, s = functions(30)
    for model in (ELMDeepONet(random_state=0), AutoELMDeepONet(random_state=0, layers=0)):
        model.fit(u, s, points=X, sensors=X)
        order = np.random.default_rng(0).permutation(len(X))
        np.testing.assert_array_equal(model.predict(u[:, order], sensors=X[order]), model.predict(u))
        for own, other in zip(model.interval(u[:, order], sensors=X[order]), model.interval(u), strict=True):
            np.testing.assert_array_equal(own, other)
        with pytest.raises(InputError, match="sensors differ"):
            model.predict(u, sensors=X / 2)
    with pytest.raises(InputError, match="were not given"):
        ELMDeepONet(random_state=0).fit(u, s, points=X).predict(u, sensors=X)


def test_layers_chosen_automatically_at_reversed_points():
    data = problems.burgers(n_train=60, n_test=20, n_points=33)
    model = AutoELMDeepONet(random_state=0, layers=1).fit(data.u_train, data.s_train, points=data.points)
    back = model.predict(data.u_test, points=data.points[::-1])
    np.testing.assert_array_equal(back, model.predict(data.u_test)[:, ::-1])
