"""Logarithms of inputs and outputs: operators that become linear, zero boundaries, errors of the outputs."""

import numpy as np
import pytest

from elmonet import (
    SLFN,
    ELMDeepONet,
    ExtrapolationWarning,
    InputError,
    Linear,
    Ridge,
    load,
    problems,
    relative_l2,
)

pytestmark = pytest.mark.numerics

rng = np.random.default_rng(0)
x = np.linspace(0, 1, 40)
SHAPES = np.stack([np.sin(np.pi * x), np.cos(2 * x), x])
u = np.exp(rng.normal(size=(60, 3)))  # positive numbers that vary by factors
s = np.exp(np.log(u) @ SHAPES)  # products of their powers: linear between logarithms


def fit(u, s, branch=None, **settings):
    return ELMDeepONet(Linear() if branch is None else branch, points=x, **settings).fit(u, s)


def test_products_of_powers_become_linear():
    model = fit(u[:40], s[:40], log_inputs=True, log_outputs=True)
    assert relative_l2(model.predict(u[40:]), s[40:]) < 1e-9
    assert model.solution_.loo_error < 1e-9
    assert fit(u[:40], s[:40]).solution_.loo_error > 0.1


def test_logarithms_come_before_scaling():
    """A model that takes logarithms is the model of the logarithms."""
    rng = np.random.default_rng(0)
    u, s = np.exp(2 * rng.normal(size=(30, 4))), rng.normal(size=(30, 3))
    own = ELMDeepONet(Linear(), solver=Ridge(5.0), log_inputs=True).fit(u[:20], s[:20], points=[0, 1, 2])
    other = ELMDeepONet(Linear(), solver=Ridge(5.0)).fit(np.log(u[:20]), s[:20], points=[0, 1, 2])
    np.testing.assert_allclose(own.predict(u[:20]), other.predict(np.log(u[:20])), rtol=1e-9)


def test_outputs_that_vanish_on_the_boundary_stay_zero_there():
    bump = x * (1 - x)
    model = fit(u[:40], s[:40] * bump, log_inputs=True, log_outputs=True)
    predicted = model.predict(u[40:])
    assert not predicted[:, [0, -1]].any()
    assert relative_l2(predicted, s[40:] * bump) < 1e-9
    between = (x[1:] + x[:-1]) / 2
    truth = np.exp(np.log(u[40:]) @ [np.sin(np.pi * between), np.cos(2 * between), between])
    elsewhere = model.predict(u[40:], points=between)
    assert relative_l2(elsewhere, truth * between * (1 - between)) < 1e-4
    assert (elsewhere >= 0).all()


@pytest.mark.parametrize("solver", [Ridge("loo"), Ridge(1e-2)])
def test_leave_one_out_is_in_the_units_of_the_outputs(solver):
    branch = SLFN(30, "tanh", random_state=0)
    model = fit(u, s, branch, log_outputs=True, scale_inputs=False, solver=solver)
    alpha = model.solution_.alpha
    errors = []
    for i in range(len(u)):
        rest = np.arange(len(u)) != i
        z = np.log(s[rest] / np.exp(np.log(s).mean(axis=0)))  # the same centre for all
        refit = fit(u[rest], z, branch, scale_inputs=False, solver=Ridge(alpha))
        predicted = np.exp(np.log(s).mean(axis=0) + refit.predict(u[i : i + 1]))
        errors.append(relative_l2(predicted, s[i : i + 1]))
    assert model.solution_.loo_error == pytest.approx(np.mean(errors), rel=0.02)
    fitted = model.predict(u)
    residual = np.linalg.norm(fitted - s) / np.linalg.norm(s)
    assert model.solution_.residual == pytest.approx(residual, rel=1e-6)


def test_darcy_gains_by_both():
    data = problems.darcy(n_train=150, n_test=50)
    errors = []
    for settings in ({}, {"log_inputs": True}, {"log_inputs": True, "log_outputs": True}):
        model = ELMDeepONet(Linear() + SLFN(500, "tanh", 0.5), random_state=0, **settings)
        model.fit(data.u_train, data.s_train, points=data.points)
        errors.append(relative_l2(model.predict(data.u_test), data.s_test))
        assert model.solution_.loo_error == pytest.approx(errors[-1], rel=0.3)
    assert errors[2] < errors[1] < errors[0] / 2


def test_saved_and_loaded(tmp_path):
    model = fit(u, s, log_inputs=True, log_outputs=True)
    model.save(tmp_path / "model")
    other = load(tmp_path / "model")
    np.testing.assert_array_equal(other.predict(u), model.predict(u))
    np.testing.assert_array_equal(other.predict(u, points=[0.33]), model.predict(u, points=[0.33]))
    assert other.log_inputs
    assert other.log_outputs


def test_nothing_overflows():
    model = fit(u, s, log_outputs=True)
    with pytest.warns(ExtrapolationWarning):
        assert np.isfinite(model.predict(1e12 * u)).all()
    single = fit(u.astype(np.float32), s.astype(np.float32), log_outputs=True)
    assert single.predict(u.astype(np.float32)).dtype == np.float32


def test_numbers_as_outputs():
    model = ELMDeepONet(Linear(), log_inputs=True, log_outputs=True).fit(u, s[:, -1])
    assert model.predict(u).shape == (60,)
    np.testing.assert_allclose(model.predict(u), s[:, -1], rtol=1e-8)


@pytest.mark.parametrize(
    ("arguments", "settings", "message"),
    [
        ((-u, s), {"log_inputs": True}, "logarithms of its inputs, which must all be positive"),
        ((u, s - 1), {"log_outputs": True}, "log_outputs needs positive outputs"),
        ((u, s * (u[:, :1] > 1)), {"log_outputs": True}, "points where all outputs are zero"),
    ],
)
def test_what_has_no_logarithm(arguments, settings, message):
    with pytest.raises(InputError, match=message):
        fit(*arguments, **settings)


def test_new_inputs_without_a_logarithm():
    model = fit(u, s, log_inputs=True)
    with pytest.raises(InputError, match="smallest value of X is 0"):
        model.predict(0 * u)
