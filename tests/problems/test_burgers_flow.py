import numpy as np
import pytest

from elmonet.errors import InputError
from elmonet.problems import burgers, burgers_steps, solve_burgers
from elmonet.problems.burgers_flow import random_waves

pytestmark = pytest.mark.numerics


def test_shapes_coordinates_and_both_ends():
    data = burgers(6, 4, n_points=33)
    assert data.u_train.shape == data.s_train.shape == (6, 33)
    assert data.s_test.shape == (4, 33)
    assert data.s_train.dtype == np.float64
    np.testing.assert_allclose(data.sensors[:, 0], np.linspace(0, 1, 33))
    assert np.array_equal(data.points, data.sensors)
    for values in (data.u_train, data.s_train):
        assert np.array_equal(values[:, 0], values[:, -1])


def test_waves_have_the_spectrum_of_the_field():
    c = random_waves(4000, np.random.default_rng(0))
    k = np.arange(1, 513)
    # The covariance has the eigenvalue 625 / ((2 pi k)^2 + 25)^2, twice, for sqrt(2) cos and sqrt(2) sin;
    # c_k = (a - i b) / 2 with a and b of twice that variance.
    expected = 625 / ((2 * np.pi * k) ** 2 + 25) ** 2
    assert not c[:, 0].any()
    np.testing.assert_allclose((np.abs(c[:, 1:]) ** 2).mean(axis=0), expected, rtol=0.1)
    assert np.abs((c[:, 1:] ** 2).mean(axis=0) / expected).max() < 0.1  # cosine and sine: equal, uncorrelated


def test_inputs_have_the_covariance_of_the_field():
    # 625 (-d^2/dx^2 + 25)^-2 on a circle: the sum over the waves has a closed form, with a = 5,
    # r the distance and C(r) = sum_k 1250 cos(2 pi k r) / ((2 pi k)^2 + a^2)^2
    #      = 625 ((1 + a / 2 coth(a / 2)) cosh(a v) - a v sinh(a v)) / (4 a^3 sinh(a / 2)) - 1, v = 1/2 - r.
    u = burgers(4000, 1, n_points=9).u_train
    a, v = 5.0, 0.5 - np.arange(5) / 8
    first = (1 + a / 2 / np.tanh(a / 2)) * np.cosh(a * v)
    expected = 625 * (first - a * v * np.sinh(a * v)) / (4 * a**3 * np.sinh(a / 2)) - 1
    found = [(u * np.roll(u[:, :-1], -j, axis=1)[:, [*range(8), 0]]).mean() for j in range(5)]
    np.testing.assert_allclose(found, expected, atol=0.02)


def test_outputs_are_the_solution_from_finely_sampled_inputs():
    data = burgers(2, 1, n_points=1027, viscosity=0.2, final_time=0.5)  # enough points for all 512 waves
    u = solve_burgers(data.u_train, [0.5], viscosity=0.2)[:, 0]
    np.testing.assert_allclose(u, data.s_train, rtol=0, atol=1e-12)
    other = burgers(2, 1, n_points=1027)
    assert np.array_equal(other.u_train, data.u_train)
    assert np.abs(other.s_train - data.s_train).max() > 0.01


def test_functions_depend_neither_on_the_points_nor_on_the_other_part():
    coarse, fine = burgers(4, 3, n_points=17), burgers(4, 8, n_points=129)
    np.testing.assert_allclose(fine.u_train[:, ::8], coarse.u_train, rtol=0, atol=1e-13)
    np.testing.assert_allclose(fine.s_train[:, ::8], coarse.s_train, rtol=0, atol=1e-13)
    np.testing.assert_allclose(fine.s_test[:3, ::8], coarse.s_test, rtol=0, atol=1e-13)
    assert not np.allclose(burgers(4, 3, seed=1, n_points=17).u_train, coarse.u_train)


def test_steps_are_whole_trajectories():
    data = burgers_steps(4, 3, n_steps=5, dt=0.2, n_points=65)
    assert data.u_train.shape == (20, 65)
    u, s = (values.reshape(3, 5, 65) for values in (data.u_test, data.s_test))
    assert np.array_equal(u[:, 1:], s[:, :-1])  # the next step starts where this one ended
    whole = burgers(4, 3, n_points=65)
    np.testing.assert_allclose(u[:, 0], whole.u_test, rtol=0, atol=1e-14)
    np.testing.assert_allclose(s[:, -1], whole.s_test, rtol=0, atol=1e-13)
    np.testing.assert_allclose(data.s_train[4::5], whole.s_train, rtol=0, atol=1e-13)


@pytest.mark.parametrize(
    ("problem", "arguments", "message"),
    [
        (burgers, {"n_train": 0}, "n_train must be a whole number"),
        (burgers, {"n_points": 2}, "n_points must be a whole number of at least 3"),
        (burgers, {"viscosity": -0.1}, "viscosity must be a finite number above 0, got -0.1"),
        (burgers, {"viscosity": 1e-4}, "nodes are not enough"),
        (burgers, {"final_time": 0}, "final_time must be a finite number above 0"),
        (burgers_steps, {"n_steps": 0}, "n_steps must be a whole number of at least 1"),
        (burgers_steps, {"dt": 0.0}, "dt must be a finite number above 0"),
    ],
)
def test_wrong_input_raises(problem, arguments, message):
    with pytest.raises(InputError, match=message):
        problem(**({"n_train": 3, "n_test": 2} | arguments))
