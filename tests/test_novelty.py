"""Which inputs are unlike the training functions: these left out, and wrong alarms counted."""

import numpy as np
import pytest

from elmonet import AutoELMDeepONet, problems
from elmonet.uncertainty.novelty import Novelty


@pytest.mark.numerics
@pytest.mark.parametrize("N", [12, 40])
def test_training_functions_are_compared_as_if_they_were_new(N):
    """The largest leverage of a training function is that among the others, without their mean."""
    X = np.random.default_rng(0).normal(size=(N, 20)) * np.linspace(1, 3, 20)
    novelty = Novelty(X)
    found = []
    for i in range(N):
        rest = np.delete(X, i, axis=0)
        centred = rest - rest.mean(axis=0)
        x = X[i] - rest.mean(axis=0)
        C = centred.T @ centred + novelty.noise * np.eye(20)
        found.append(1 / (N - 1) + x @ np.linalg.solve(C, x))
    assert novelty.largest == pytest.approx(max(found), rel=1e-6)


@pytest.mark.parametrize("N", [20, 50, 100, 400])
@pytest.mark.parametrize("sensors", [16, 128])
def test_few_wrong_alarms_however_many_sensors(N, sensors):
    """Burgers inputs have more directions than there are functions: all new ones used to be strange."""
    wrong = []
    for seed in range(3):
        u = problems.burgers(N, 300, seed, n_points=sensors)
        wrong.append(Novelty(u.u_train).outside(u.u_test).mean())
    assert np.mean(wrong) <= 0.01


def test_functions_of_another_kind_are_flagged():
    data = problems.nonlinear_ode(300, 300, seed=4)
    model = AutoELMDeepONet(layers=0, random_state=0).fit(data.u_train, data.s_train, points=data.points)
    assert np.mean(model.novelty(data.u_test) > 1.5) <= 0.01
    rough = problems.nonlinear_ode(10, 100, seed=5, length_scale=0.05).u_test
    assert np.mean(model.novelty(rough) > 1.5) == 1
    assert np.mean(model.novelty(3 * data.u_test) > 1.5) > 0.9
    assert np.mean(model.novelty(2 * data.u_test) > 1.5) > 0.4
    smooth = problems.nonlinear_ode(10, 100, seed=5, length_scale=0.3).u_test
    assert np.mean(model.novelty(smooth) > 1.5) <= 0.02  # and these are predicted as well as ordinary ones


def fields(n, seed):
    x, rng = np.linspace(0, 1, 40), np.random.default_rng(seed)
    return rng.normal(size=(n, 6)) @ np.array([np.cos(j * np.pi * x) / (j + 1) for j in range(6)])


@pytest.mark.parametrize("seed", range(3))
def test_values_beyond_all_training_values_are_novel(seed):
    """Trained on positive functions: negative ones have the leverage of usual ones, 0.34 at most."""
    positive = np.abs(fields(200, seed)) + 0.1
    novelty = Novelty(positive)
    negative = novelty(-np.abs(fields(100, seed + 50)) - 0.1)
    assert negative.min() > 0.8
    assert np.mean(negative > 1.5) > 0.85
    assert np.median(novelty(fields(100, seed + 50))) > 0.6
    assert novelty.outside(np.abs(fields(300, seed + 90)) + 0.1).mean() <= 0.01
    again = Novelty.from_arrays(novelty.arrays())
    np.testing.assert_array_equal(again(fields(5, 1)), novelty(fields(5, 1)))
    old = {name: a for name, a in novelty.arrays().items() if name not in ("range", "beyond")}
    assert Novelty.from_arrays(old)(fields(5, 1)).max() < 1  # files of 0.2 hold no ranges


@pytest.mark.parametrize("N", [10, 20, 100])
def test_ranges_raise_few_alarms_in_any_units(N):
    """Uniform, normal and heavy-tailed numbers: hardly more than by leverage alone; units do not matter."""
    rng = np.random.default_rng(0)
    draws = (rng.random, rng.standard_normal, lambda size: rng.standard_t(3, size))
    for draw in draws:
        wrong = []
        for _ in range(20):
            X, new = draw((N, 4)), draw((200, 4))
            novelty = Novelty(X)
            found = novelty.outside(new)
            np.testing.assert_array_equal(Novelty(1e6 * X + 1e8).outside(1e6 * new + 1e8), found)
            novelty.beyond = np.empty(0)
            wrong.append(found.mean() - novelty.outside(new).mean())
        assert np.mean(wrong) < 0.01
    assert Novelty(rng.random((N, 4)))(np.array([[0.5, 0.5, 0.5, 3.0]])) > 1.5
