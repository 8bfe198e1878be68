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
