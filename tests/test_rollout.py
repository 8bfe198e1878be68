"""Rollouts of every kind of model, against exact time steps."""

import numpy as np
import pytest

from elmonet import AutoELMDeepONet, ELMDeepONet, LayeredELMDeepONet, MarchingELMDeepONet
from elmonet.errors import ExtrapolationWarning, InputError
from elmonet.features import Linear
from elmonet.solve import Ridge

M, N, STEPS = 24, 60, 4
x = np.arange(M) / M
K = np.arange(1, 4)
WAVES = np.concatenate([np.sin(2 * np.pi * np.outer(K, x)), np.cos(2 * np.pi * np.outer(K, x))])


def fields(n, seed):
    return np.random.default_rng(seed).normal(size=(n, len(WAVES))) @ WAVES


def linear():
    return ELMDeepONet(branch=Linear(), solver=Ridge(1e-14))


def layered():
    return LayeredELMDeepONet("nothing", layers=1, width=20, random_state=0)


def auto():
    return AutoELMDeepONet(random_state=0, time_budget=5, layers=0)


def moved(a, k=1):
    """Two waves that run in opposite directions: exact states after k steps."""
    return np.stack([np.roll(a[:, 0], k, -1), np.roll(a[:, 1], -2 * k, -1)], axis=1)


def pairs(n, seed, size=1.0):
    return np.stack([size * fields(n, seed), 3 + size * fields(n, seed + 1)], axis=1)


@pytest.fixture(scope="module")
def a():
    return pairs(N, 0)


@pytest.mark.parametrize("make", [linear, layered, auto])
def test_components_first_in_and_last_out(make, a):
    model = make().fit(a, np.moveaxis(moved(a), 1, -1), points=x)
    new = pairs(3, 5, 0.5)
    found = model.rollout(new, STEPS)
    assert found.shape == (3, STEPS, 2, M)
    for k in range(STEPS):
        np.testing.assert_allclose(found[:, k], moved(new, k + 1), atol=1e-6)


def test_components_last_on_both_sides(a):
    model = linear().fit(np.moveaxis(a, 1, -1), np.moveaxis(moved(a), 1, -1), points=x)
    found = model.rollout(np.moveaxis(a[:3], 1, -1), STEPS)
    np.testing.assert_allclose(np.moveaxis(found[:, -1], -1, 1), moved(a[:3], STEPS), atol=1e-8)


@pytest.mark.parametrize("make", [linear, layered, auto])
def test_outputs_by_name_are_the_state_and_other_inputs_the_forcing(make, a):
    """The order of names does not matter, nor does that of the dictionary of states."""
    f = 0.3 * fields(N, 8)
    new = moved(a)
    inputs = {"f": f, "b": a[:, 1], "a": a[:, 0]}
    model = make().fit(inputs, {"a": new[:, 0] + f, "b": new[:, 1]}, points=x)
    start, force = pairs(3, 9, 0.5), 0.1 * fields(3, 18)
    found = model.rollout({"a": start[:, 0], "b": start[:, 1]}, STEPS, forcing={"f": force})
    truth = start
    for k in range(STEPS):
        truth = moved(truth) + np.stack([force, 0 * force], axis=1)
        np.testing.assert_allclose(found["a"][:, k], truth[:, 0], atol=1e-6)
        np.testing.assert_allclose(found["b"][:, k], truth[:, 1], atol=1e-6)


def test_points_in_another_order_than_the_sensors():
    u, order = fields(N, 0), np.random.default_rng(1).permutation(M)
    model = linear().fit(u, np.roll(u, 1, -1)[:, order], sensors=x, points=x[order])
    found = model.rollout(u[:2], STEPS)
    np.testing.assert_allclose(found[:, -1], np.roll(u[:2], STEPS, -1), atol=1e-9)
    elsewhere = linear().fit(u, np.roll(u, 1, -1), sensors=x, points=x + 0.5 / M)
    with pytest.raises(InputError, match="points differ from the sensors"):
        elsewhere.rollout(u[:2], STEPS)


def test_a_saved_model_goes_on_like_before(tmp_path, a):
    from elmonet import load

    u = a[:, 0]
    model = auto().fit(u, np.roll(u, 1, -1), points=x)
    states = model.rollout(u[:2], STEPS)
    np.testing.assert_allclose(states[:, 0], model.predict(u[:2]), atol=1e-13)
    model.save(tmp_path / "step.elmonet")
    np.testing.assert_allclose(load(tmp_path / "step.elmonet").rollout(u[:2], STEPS), states, atol=1e-13)


def test_fields_on_a_grid_with_a_channel_of_one():
    u = fields(N, 0).reshape(N, 4, 6)
    model = linear().fit(u[:, None], 0.5 * u, points=np.stack(np.mgrid[0:4, 0:6], axis=-1))
    found = model.rollout(u[:2, None], 3)
    assert found.shape == (2, 3, 1, 4, 6)
    np.testing.assert_allclose(found[:, -1, 0], u[:2] / 8, atol=1e-9)


@pytest.mark.parametrize("make", [linear, layered, auto])
def test_several_past_states(make):
    """A wave equation by leapfrog: the next state from the last two, and one more that does not matter."""
    modes = 0.4 * np.random.default_rng(0).normal(size=(3, N, len(WAVES)))
    curvature = 0.2 * np.tile(K**2, 2) / 9

    def after(last, before):
        return (2 - curvature) * last - before

    model = make().fit(np.moveaxis(modes, 0, 1) @ WAVES, after(modes[2], modes[1]) @ WAVES, points=x)
    states = [0.1 * modes[2, :3], 0.1 * modes[1, :3]]
    start = np.stack([0 * states[0], *states], axis=1) @ WAVES
    found = model.rollout(start, 8)
    assert found.shape == (3, 8, M)
    for k in range(8):
        states.append(after(states[-1], states[-2]))
        np.testing.assert_allclose(found[:, k], states[-1] @ WAVES, atol=1e-6)


def test_values_that_overflow_end_a_rollout(tmp_path):
    """A loaded model without training inputs does not know what is unlike them."""
    from elmonet import load

    u = fields(N, 0)
    linear().fit(u, 1e30 * u, points=x).save(tmp_path / "step.elmonet", inputs=False, bands=False)
    with pytest.warns(ExtrapolationWarning, match=r"2 of 2 functions .* after"):
        found = load(tmp_path / "step.elmonet").rollout(u[:2], 20)
    assert np.isfinite(found[:, 0]).all()
    assert np.isnan(found[:, -1]).all()


def test_models_that_are_no_time_step_are_refused(a):
    u = fields(N, 0)
    cases = [
        (linear().fit(u, u[:, :12], points=x[:12]), "outputs are like its inputs"),
        (linear().fit(u, np.stack([u, u], -1), points=x), "2 components at 24 points"),
        (linear().fit({"a": u, "f": u}, {"a": u, "b": u}, points=x), "an input for each output"),
    ]
    for model, message in cases:
        with pytest.raises(InputError, match=message):
            model.rollout(u[:2], 2)
    grid = np.stack(np.mgrid[0:4, 0:6], axis=-1)
    transposed = linear().fit(u.reshape(N, 6, 4), u.reshape(N, 4, 6), points=grid)
    with pytest.raises(InputError, match="outputs are like its inputs"):
        transposed.rollout(u[:2].reshape(2, 6, 4), 2)


def test_wrong_initial_states_are_refused(a):
    new = moved(a)
    model = linear().fit({"a": a[:, 0], "b": a[:, 1]}, {"a": new[:, 0], "b": new[:, 1]}, points=x)
    with pytest.raises(InputError, match="dictionary with a, b; got ndarray"):
        model.rollout(a[:2, 0], 2)
    with pytest.raises(InputError, match=r"initial state 'b' must have the shape \(N, 24\); got \(2, 23\)"):
        model.rollout({"a": a[:2, 0], "b": a[:2, 1, 1:]}, 2)
    with pytest.raises(InputError, match="no input but the state"):
        model.rollout({"a": a[:2, 0], "b": a[:2, 1]}, 2, forcing={"f": a[:2, 0]})


def test_records_in_time_are_predicted_step_by_step_already():
    u = np.random.default_rng(0).normal(size=(6, 40))
    model = MarchingELMDeepONet(random_state=0).fit(u, np.cumsum(u, axis=1))
    with pytest.raises(InputError, match="call predict"):
        model.rollout(u, 5)
