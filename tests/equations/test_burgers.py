import numpy as np
from scipy.integrate import solve_ivp

from elmonet.equations import burgers
from elmonet.problems.burgers_flow import cole_hopf, random_waves


def test_random_initial_values_agree_with_fourier_series_and_scipys_time_steps():
    n, seed, size = 1, 4, 400
    c = random_waves(n, np.random.default_rng(seed), power=4)
    k = np.arange(size // 2 + 1)
    s = burgers.reference(n, seed).reshape(n, 101, 101)
    for row in range(n):
        # The waves beyond 200, which are left out here, have a standard deviation of 2e-9 together.
        start = np.fft.irfft(c[row, : len(k)], size, norm="forward")
        np.testing.assert_allclose(start[::4], burgers.inputs(n, seed)[row, :-1], rtol=0, atol=1e-8)

        def rate(t, v):
            waves = np.fft.rfft(v)
            square = np.fft.rfft(v * v) * (k < size / 3)
            return np.fft.irfft(-1j * np.pi * k * square - 0.01 * (2 * np.pi * k) ** 2 * waves, size)

        run = solve_ivp(rate, (0, 0.3), start, "DOP853", t_eval=[0, 0.1, 0.2, 0.3], rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(s[row, :-1, [0, 10, 20, 30]].T, run.y[::4], rtol=0, atol=1e-7)


def test_a_wave_that_is_known_in_closed_form(monkeypatch):
    # phi = 1.5 + exp(-4 pi^2 nu t) cos(2 pi x) solves the heat equation; s = -2 nu phi_x / phi.
    nu, a, w = 0.01, 1.5, 2 * np.pi
    x, t = burgers.POINTS.T
    decay = np.exp(-nu * w**2 * t)
    exact = 2 * nu * w * decay * np.sin(w * x) / (a + decay * np.cos(w * x))
    start = exact.reshape(101, 101)[:-1, 0]
    waves = np.fft.rfft(start[None]) / 100
    waves[:, -1] /= 2
    monkeypatch.setattr(burgers, "random_waves", lambda n, rng, power: waves)
    np.testing.assert_allclose(burgers.reference(1, 0)[0], exact, rtol=0, atol=1e-12)


def test_finer_sums_change_nothing(monkeypatch):
    some = [1, 10, 100]
    s = burgers.reference(1, 2).reshape(1, 101, 101)[..., some]
    monkeypatch.setattr("elmonet.problems.burgers_flow._NEGLIGIBLE_WIDTHS", 60.0)
    finer = burgers._solution(1, 2, np.linspace(0, 1, 101)[some])
    np.testing.assert_allclose(finer, s, rtol=0, atol=1e-10)


def test_inputs_have_the_spectrum_of_the_published_generator():
    u = burgers.inputs(4000, 1)
    assert u.shape == (4000, 101)
    assert np.array_equal(u[:, 0], u[:, -1])
    waves = np.fft.rfft(u[:, :-1]) / 100
    k = np.arange(1, 8)
    deviation = np.sqrt(2) * 25**2 * ((2 * np.pi * k) ** 2 + 25.0) ** -2
    np.testing.assert_allclose((2 * waves[:, k].real).std(axis=0), deviation, rtol=0.05)
    np.testing.assert_allclose((2 * waves[:, k].imag).std(axis=0), deviation, rtol=0.05)
    np.testing.assert_allclose(u[:, :-1].mean(axis=1), 0, atol=5e-8)  # waves 100, 200, ... look constant
    at_start = burgers.reference(1, 1).reshape(1, 101, 101)[:, :, 0]
    np.testing.assert_allclose(at_start, burgers.inputs(1, 1), rtol=0, atol=1e-14)
    c = random_waves(3, np.random.default_rng(1), power=4)
    np.testing.assert_allclose(
        cole_hopf(c, [0.0], 1.0, burgers.SENSORS)[:, 0], burgers.inputs(3, 1), atol=1e-12
    )
