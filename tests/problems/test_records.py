"""Records in time against SciPy's integrator at tight tolerances, and their documented properties."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from elmonet import InputError, problems
from elmonet.problems.records import respond


def bouc_wen_rate(t, y, u):
    x, v, q = y
    w, z, r, d = 2 * np.pi, 0.05, 0.5, 0.25
    return [
        v,
        -u(t) - 2 * z * w * v - w * w * (r * x + (1 - r) * d * q),
        (v - 0.5 * abs(v) * q**3 - 0.5 * v * abs(q) ** 3) / d,
    ]


def duffing_rate(t, y, u):
    return [y[1], u(t) - 0.3 * y[1] - y[0] - y[0] ** 3]


def tanks_rate(t, y, u):
    upper, lower = 0.06 * np.sqrt(y)
    return [0.05 * u(t) - upper, upper - lower]


@pytest.mark.parametrize(
    ("make", "rate", "start", "observed", "dt", "tolerance"),
    [
        (problems.bouc_wen, bouc_wen_rate, [0, 0, 0], 0, 0.02, 1e-5),
        (problems.duffing, duffing_rate, [0, 0], 0, 0.1, 1e-6),
        (problems.tanks, tanks_rate, [4.0, 4.0], 1, 4.0, 1e-8),
    ],
)
def test_records_are_solutions(make, rate, start, observed, dt, tolerance):
    data = make(1, 1, n_steps=300)
    t = dt * np.arange(300)
    np.testing.assert_allclose(data.points[:, 0], t)
    u = data.u_train[0]
    expected, y = [start], np.array(start, float)
    for k in range(299):  # from sample to sample, where the forcing is linear

        def forcing(tau, k=k):
            return u[k] + (u[k + 1] - u[k]) * (tau - t[k]) / dt

        y = solve_ivp(rate, t[k : k + 2], y, "DOP853", args=(forcing,), rtol=1e-12, atol=1e-14).y[:, -1]
        expected.append(y)
    expected = np.array(expected)[:, observed]
    size = np.abs(expected - expected[0]).max()
    np.testing.assert_allclose(data.s_train[0], expected, rtol=0, atol=tolerance * size)


def test_the_integrator_is_of_fourth_order():
    u = np.ones((1, 6))

    def error(substeps):
        y = respond(lambda y, u: u - y**2, np.zeros(1), u, 0.2, substeps)
        return abs(y[0, -1, 0] - np.tanh(1.0))

    assert 12 < error(2) / error(4) < 20


def test_noise_is_on_training_outputs_alone():
    clean, noisy = problems.duffing(2, 2, n_steps=400), problems.duffing(2, 2, n_steps=400, noise=0.1)
    np.testing.assert_array_equal(clean.u_train, noisy.u_train)
    np.testing.assert_array_equal(clean.s_test, noisy.s_test)
    missed = noisy.s_train - clean.s_train
    assert np.sqrt(np.mean(missed**2) / np.mean(clean.s_train**2)) == pytest.approx(0.1, rel=0.1)


def test_two_wells_are_chaotic():
    """Runs that differ by 1e-8 at first separate by a factor of more than 1000."""

    def rate(y, u):
        return np.stack([y[1], u - 0.3 * y[1] + y[0] - y[0] ** 3])

    u = problems.duffing(1, 1, n_steps=1000, stiffness=-1).u_train
    one, other = (respond(rate, np.array([x, 0.0]), u, 0.1)[0, :, 0] for x in (0.0, 1e-8))
    assert np.abs(one - other).max() > 1e-5


def test_a_step_that_is_too_large_is_refused():
    with pytest.raises(InputError, match="without limit"), np.errstate(over="ignore", invalid="ignore"):
        problems.duffing(1, 1, n_steps=50, dt=30.0)
