"""`calibrate` and `calibration`: training functions, repeats and groups among the functions given as new."""

import numpy as np
import pytest

from elmonet import ELMDeepONet, InputError, LayeredELMDeepONet, Linear, SeenFunctionsWarning, problems


@pytest.fixture(scope="module")
def ode():
    return problems.nonlinear_ode(n_train=60, n_test=120, n_sensors=30, n_points=25)


def model_of(ode):
    return ELMDeepONet(Linear(), random_state=0).fit(ode.u_train, ode.s_train, points=ode.points)


def test_training_functions_are_warned_of(ode):
    model = model_of(ode)
    with pytest.warns(SeenFunctionsWarning, match=r"60 of 60 functions \(the first: row 0\) are training"):
        model.calibrate(ode.u_train, ode.s_train)
    mixed = (
        np.concatenate([ode.u_test[:50], ode.u_train[:2]]),
        np.concatenate([ode.s_test[:50], ode.s_train[:2]]),
    )
    with pytest.warns(SeenFunctionsWarning, match="2 of 52"):
        model.calibration(*mixed)


def test_repeats_count_once(ode):
    model, rows = model_of(ode), np.repeat(np.arange(3), 20)
    with pytest.warns(SeenFunctionsWarning, match="these 60 functions count as 3"):
        model.calibrate(ode.u_test[rows], ode.s_test[rows])
    assert model._fitted().error_bars.independent == 3
    with pytest.raises(InputError, match="at least 9 independent functions; there are 3"):
        model.interval(ode.u_test)
    one = np.zeros(20, int)
    with pytest.warns(SeenFunctionsWarning), pytest.raises(InputError, match="at least two groups"):
        model.calibrate(ode.u_test[one], ode.s_test[one])


def test_groups_are_left_out_of_each_others_scale(ode):
    """Twelve functions, each five times with other noise: as wide as the twelve alone, up to the noise."""
    rng = np.random.default_rng(0)
    rows = np.repeat(np.arange(12), 5)
    u, s = ode.u_test[rows], ode.s_test[rows]
    u = u + 0.01 * rng.normal(size=u.shape)
    model = model_of(ode).calibrate(u, s, groups=rows)
    assert model._fitted().error_bars.independent == 12
    alone = model_of(ode).calibrate(ode.u_test[:12], ode.s_test[:12])
    widths = [np.mean(np.subtract(*m.interval(ode.u_test[20:], 0.8)[::-1])) for m in (model, alone)]
    assert widths[0] == pytest.approx(widths[1], rel=0.5)
    with pytest.raises(InputError, match="one label for each"):
        model.calibrate(u, s, groups=rows[:3])


def test_new_functions_are_not_warned_of(ode):
    model = model_of(ode).calibrate(ode.u_test[:60], ode.s_test[:60])
    assert model._fitted().error_bars.independent == 60
    model.calibration(ode.u_test[60:], ode.s_test[60:])


def test_layers_take_groups():
    data = problems.burgers(n_train=60, n_test=24, n_points=16, seed=0)
    model = LayeredELMDeepONet("nothing", layers=1, width=50, random_state=0)
    model.fit(data.u_train, data.s_train, points=data.points)
    model.calibrate(data.u_test, data.s_test, groups=np.arange(24) // 2)
    assert model._fitted().error_bars.independent == 12
