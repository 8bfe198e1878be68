import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.interpolate import make_interp_spline

from elmonet.errors import InputError
from elmonet.problems import antiderivative, nonlinear_ode


def test_shapes_and_coordinates():
    data = antiderivative(7, 5, n_sensors=30, n_points=40)
    assert data.u_train.shape == (7, 30)
    assert data.s_test.shape == (5, 40)
    assert data.s_train.dtype == np.float64
    np.testing.assert_allclose(data.sensors[:, 0], np.linspace(0, 1, 30))
    np.testing.assert_allclose(data.points[:, 0], np.linspace(0, 1, 40))
    assert not data.s_train[:, 0].any()


def test_antiderivative_against_an_integrated_spline():
    data = antiderivative(20, 1, n_sensors=1001, n_points=101)
    spline = make_interp_spline(data.sensors[:, 0], data.u_train, k=7, axis=1)
    exact = spline.antiderivative()(data.points[:, 0])
    np.testing.assert_allclose(data.s_train, exact, rtol=0, atol=1e-12)


def test_nonlinear_ode_against_a_time_stepper():
    data = nonlinear_ode(8, 1, n_sensors=1001, n_points=101)
    spline = make_interp_spline(data.sensors[:, 0], data.u_train, k=7, axis=1)
    run = solve_ivp(
        lambda x, s: -0.1 * s**2 + spline(x),
        (0, 1),
        np.zeros(8),
        method="DOP853",
        t_eval=data.points[:, 0],
        rtol=1e-12,
        atol=1e-13,
    )
    np.testing.assert_allclose(data.s_train, run.y, rtol=0, atol=1e-11)


@pytest.mark.parametrize("seed", [0, 1])
def test_linear_least_squares_learns_the_antiderivative_to_rounding(seed):
    data = antiderivative(seed=seed)
    W = np.linalg.lstsq(data.u_train, data.s_train, rcond=None)[0]
    error = np.linalg.norm(data.u_test @ W - data.s_test, axis=1)
    assert (error / np.linalg.norm(data.s_test, axis=1)).max() < 1e-13


def test_both_problems_share_their_inputs_and_nearly_their_outputs():
    linear, nonlinear = antiderivative(10, 10), nonlinear_ode(10, 10)
    assert np.array_equal(linear.u_train, nonlinear.u_train)
    difference = np.abs(linear.s_train - nonlinear.s_train).max()
    assert 1e-3 < difference < 0.3


@pytest.mark.parametrize("problem", [antiderivative, nonlinear_ode])
def test_functions_do_not_depend_on_the_sampling(problem):
    coarse = problem(4, 3, n_sensors=11, n_points=21)
    fine = problem(4, 30, n_sensors=101, n_points=201)
    np.testing.assert_allclose(fine.u_train[:, ::10], coarse.u_train, atol=1e-13)
    np.testing.assert_allclose(fine.s_train[:, ::10], coarse.s_train, atol=1e-13)


@pytest.mark.parametrize("problem", [antiderivative, nonlinear_ode])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_train": 0}, "n_train must be a whole number"),
        ({"n_test": 2.5}, "n_test must be a whole number .* got 2.5"),
        ({"seed": None}, "seed must be a whole number"),
        ({"n_sensors": 1}, "n_sensors must be a whole number of at least 2"),
        ({"n_points": 0}, "n_points must be a whole number of at least 2"),
        ({"length_scale": 0.0}, "length_scale must be a finite number of at least"),
        ({"length_scale": float("nan")}, "length_scale must be a finite number"),
        ({"length_scale": 1e-9}, "length_scale must be a finite number of at least"),
    ],
)
def test_wrong_input_raises(problem, arguments, message):
    with pytest.raises(InputError, match=message):
        problem(**arguments)
