import numpy as np
import pytest
from scipy.integrate import solve_ivp

from elmonet.equations import advection
from elmonet.problems.chebyshev import chebyshev_nodes, interpolation_matrix

X = np.linspace(0, 1, 21)


def test_a_speed_with_travel_times_in_closed_form():
    # u = 1 + x: tau = log(1 + x), and its inverse is exp - 1.
    t = np.linspace(0, 1, 31)
    ahead = np.log1p(X)[:, None] - t
    exact = np.where(ahead > 0, np.sin(np.pi * np.expm1(ahead)), np.sin(-np.pi * ahead / 2))
    s = advection.solve_advection(1 + chebyshev_nodes(64)[None], X, t)[0]
    np.testing.assert_allclose(s, exact, rtol=0, atol=1e-12)


def test_inputs_are_speeds_of_at_least_1():
    u = advection.inputs(30, seed=3)
    assert u.shape == (30, 100)
    assert u.min() > 1 - 1e-12
    assert np.abs(u.min(axis=1) - 1).max() < 0.05  # the minimum is near a sensor
    np.testing.assert_allclose(advection.inputs(50, seed=3)[:30], u, rtol=0, atol=1e-12)


def test_random_speeds_agree_with_characteristics_followed_back_in_time():
    n = 4
    s = advection.reference(n, seed=5).reshape(n, 100, 100)[:, ::11, 33]
    u, size = advection._speed(n, seed=5), advection._NODES
    at_sensors = u @ interpolation_matrix(size, advection.SENSORS).T
    np.testing.assert_allclose(at_sensors, advection.inputs(n, seed=5), rtol=0, atol=1e-13)
    time = 33 / 99

    def reached_the_wall(t, y):
        return y[0]

    reached_the_wall.terminal = True
    for row in range(n):

        def speed(t, y, values=u[row]):
            return -(interpolation_matrix(size, np.clip(y, -0.1, 1)) @ values)

        for i, x in enumerate(np.linspace(0, 1, 100)[::11]):
            if x == 0:
                expected = np.sin(np.pi * time / 2)
            else:
                run = solve_ivp(speed, (0, time), [x], events=reached_the_wall, rtol=1e-11, atol=1e-12)
                came_in = run.t_events[0]
                expected = (
                    np.sin(np.pi * (time - came_in[0]) / 2) if len(came_in) else np.sin(np.pi * run.y[0, -1])
                )
            assert abs(s[row, i] - expected) < 1e-8


def test_finer_quadrature_and_spline_change_nothing(monkeypatch):
    s = advection.reference(40, seed=7)
    monkeypatch.setattr(advection, "_NODES", 400)
    fine = np.linspace(0, 1, 16001)
    monkeypatch.setattr(advection, "_FINE", fine)
    u = advection._speed(40, 7)
    u += 1 - (u @ interpolation_matrix(400, np.linspace(0, 1, 4001)).T).min(axis=1, keepdims=True)
    finer = advection.solve_advection(u, advection._AXIS, advection._AXIS).reshape(40, -1)
    assert np.abs(s - finer).max() < 1e-9


@pytest.mark.parametrize("name", ["POINTS", "SENSORS"])
def test_points_cover_the_square(name):
    points = getattr(advection, name)
    assert points.min() == 0
    assert points.max() == 1
    assert len(points) in (100, 10_000)
