import numpy as np
import pytest
from scipy.fft import dst

from elmonet.errors import InputError
from elmonet.problems import inverse_source


def test_shapes_and_boundary_values():
    data = inverse_source(6, 4, n_sensors=21, n_points=31)
    assert data.u_train.shape == (6, 21)
    assert data.s_test.shape == (4, 31)
    assert not data.u_train[:, [0, -1]].any()
    assert np.abs(data.s_train[:, 0]).max() > 0.1


def test_linear_data_against_a_sine_transform():
    # Without reaction, the sine coefficients of u(1, .) are those of s times a known factor. A
    # source that does not vanish at the ends has a slow series: subtract the line through them.
    data = inverse_source(10, 1, reaction=0.0, n_sensors=4001, n_points=4001)
    x, D = data.points[:, 0], 0.01
    left, right = data.s_train[:, :1], data.s_train[:, -1:]
    line = left + (right - left) * x
    n = np.arange(1, 4000)
    factor = -np.expm1(-D * (n * np.pi) ** 2) / (D * (n * np.pi) ** 2)
    of_line = 2 * (left - right * (-1.0) ** n) / (n * np.pi)
    of_rest = dst((data.s_train - line)[:, 1:-1], type=1, axis=1) / 4000
    at = slice(0, None, 400)
    u = (factor * (of_rest + of_line)) @ np.sin(np.pi * np.outer(n, x[at]))
    np.testing.assert_allclose(data.u_train[:, at], u, rtol=0, atol=2e-7)


def test_noise_is_relative_and_leaves_the_functions_alone():
    clean, noisy = inverse_source(200, 100), inverse_source(200, 100, noise=0.05)
    assert np.array_equal(clean.s_train, noisy.s_train)
    assert np.array_equal(clean.s_test, noisy.s_test)
    for u, v in ((clean.u_train, noisy.u_train), (clean.u_test, noisy.u_test)):
        rms = np.sqrt((u**2).mean(axis=1, keepdims=True))
        scaled = (v - u) / (0.05 * rms)
        assert abs(scaled.std() - 1) < 0.02
        assert abs(scaled.mean()) < 0.05
        assert np.abs(np.sqrt((scaled**2).mean(axis=1)) - 1).max() < 0.4
    twice = inverse_source(200, 100, noise=0.1)
    np.testing.assert_allclose(
        twice.u_test - clean.u_test, 2 * (noisy.u_test - clean.u_test), rtol=0, atol=1e-12
    )


def test_training_functions_do_not_depend_on_the_number_of_test_functions():
    a, b = inverse_source(5, 3, noise=0.01), inverse_source(5, 8, noise=0.01)
    assert np.array_equal(a.u_train, b.u_train)
    assert np.array_equal(a.s_train, b.s_train)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_train": 0}, "n_train must be a whole number"),
        ({"noise": -0.1}, "noise must be a finite number of at least 0, got -0.1"),
        ({"n_sensors": "all"}, "n_sensors must be a whole number"),
        ({"n_points": 1}, "n_points must be a whole number of at least 2"),
        ({"length_scale": -1}, "length_scale must be a finite number"),
        ({"diffusion": 0.0}, "diffusion must be a finite number of at least 1e-05"),
        ({"reaction": -1.0}, "reaction must be a finite number of at least 0"),
        ({"reaction": 5.0, "n_train": 50}, "grows without limit before t = 1"),
    ],
)
def test_wrong_input_raises(arguments, message):
    with pytest.raises(InputError, match=message):
        inverse_source(**({"n_test": 1} | arguments))
