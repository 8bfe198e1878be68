"""Which functions belong together: said, steps of trajectories, near repeats."""

import numpy as np
import pytest

from elmonet import AutoELMDeepONet, ELMDeepONet, InputError, LayeredELMDeepONet, problems, relative_l2
from elmonet.forms.groups import find_groups, given_groups

RNG = np.random.default_rng(0)


def test_labels_of_any_kind():
    numbers = given_groups(["b", "a", "b"], 3).numbers
    assert numbers[0] == numbers[2] != numbers[1]
    assert given_groups([3.5, 1, 2], 3) is None  # nobody belongs together
    with pytest.raises(InputError, match="one label for each of the 3 functions"):
        given_groups([1, 2], 3)


def test_steps_of_a_trajectory_belong_together():
    steps = RNG.standard_normal((10, 6, 12))  # 10 trajectories of 5 steps, at 12 points
    u, s = steps[:, :-1].reshape(50, 12), steps[:, 1:].reshape(50, 12)
    mixed = RNG.permutation(50)
    found = find_groups(u[mixed], s[mixed])
    numbers = found.numbers[np.argsort(mixed)].reshape(10, 5)
    assert (numbers == numbers[:, :1]).all()
    assert len(set(numbers[:, 0])) == 10
    assert "trajectory" in found.reason
    assert find_groups(u[:, ::-1], s) is None
    assert find_groups(u, u) is None  # the identity is no trajectory


def test_near_repeats_belong_together():
    u = RNG.standard_normal((100, 30))
    again = np.concatenate([u, u[:20] + 1e-6 * RNG.standard_normal((20, 30)), u[:3]])
    numbers = find_groups(again, again[:, :5]).numbers
    np.testing.assert_array_equal(numbers[100:120], numbers[:20])
    np.testing.assert_array_equal(numbers[120:], numbers[:3])
    assert len(set(numbers)) == 100


def test_a_dense_family_of_functions_is_not_repeated():
    x, a = np.linspace(0, 1, 20), np.linspace(0, 1, 20_000)[:, None]
    assert find_groups(np.sin(x + a), a) is None


def test_repeats_with_a_jitter_do_not_promise_too_much():
    data = problems.nonlinear_ode(n_train=60, n_test=200)
    rng = np.random.default_rng(1)
    u = np.repeat(data.u_train, 3, axis=0)
    u, s = u + 1e-6 * rng.standard_normal(u.shape), np.repeat(data.s_train, 3, axis=0)
    for model in (ELMDeepONet(random_state=0), AutoELMDeepONet(random_state=0, time_budget=1)):
        model.fit(u, s, points=data.points)
        error = relative_l2(model.predict(data.u_test), data.s_test)
        assert 0.5 < model.expected_error_ / error < 2
        assert model.error_kind_ == "leave-group-out"
        assert "nearly repeats" in model.summary()


def test_snapshots_of_trajectories_do_not_promise_too_much():
    data = problems.burgers_steps(n_train=20, n_test=10, n_steps=6, n_points=17)
    model = AutoELMDeepONet(random_state=0, layers=0, time_budget=2)
    model.fit(data.u_train, data.s_train, points=data.points)
    error = relative_l2(model.predict(data.u_test), data.s_test)
    assert 0.5 < model.expected_error_ / error < 2
    assert "trajectory" in model.summary()


@pytest.mark.parametrize("kind", [ELMDeepONet, AutoELMDeepONet, LayeredELMDeepONet])
def test_groups_that_are_said(kind):
    data = problems.nonlinear_ode(n_train=40, n_test=5)
    model = kind(random_state=0)
    if kind is not ELMDeepONet:
        model.set_params(time_budget=0.5)
    model.fit(data.u_train, data.s_train, points=data.points, groups=np.arange(40) // 4)
    if kind is ELMDeepONet:
        assert model.error_kind_ == "leave-group-out"
    with pytest.raises(InputError, match="groups"):
        model.fit(data.u_train, data.s_train, points=data.points, groups=[1, 2, 3])


def test_groups_with_gaps_are_refused():
    data = problems.nonlinear_ode(n_train=40, n_test=5)
    with pytest.raises(InputError, match="groups are for outputs without gaps"):
        ELMDeepONet(missing="ignore").fit(
            data.u_train, data.s_train, points=data.points, groups=np.arange(40) // 4
        )
