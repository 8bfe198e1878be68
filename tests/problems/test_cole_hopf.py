import numpy as np
import pytest

from elmonet.errors import InputError
from elmonet.problems.burgers_flow import cole_hopf, random_waves, solve_burgers

pytestmark = pytest.mark.numerics

X = np.linspace(0, 1, 129)
Z = 2 * np.pi * X


def by_time_steps(u0, t, viscosity, steps):
    """u at t from u0, both (N, n) at x = j / n: dealiased Fourier coefficients, exponential time steps.

    Kassam and Trefethen (2005): diffusion is exact, the rest, -(u^2)_z / 2, is of order 4; the scheme's
    coefficients are means over a circle around each eigenvalue.
    """
    n, h = u0.shape[1], t / steps
    k = np.arange(n // 2 + 1)
    eigenvalues = -viscosity * k**2 * h
    z = eigenvalues[:, None] + np.exp(2j * np.pi * (np.arange(32) + 0.5) / 32)
    E, E_half = np.exp(eigenvalues), np.exp(eigenvalues / 2)
    half = h * ((np.exp(z / 2) - 1) / z).mean(axis=1).real
    f1 = h * ((-4 - z + np.exp(z) * (4 - 3 * z + z**2)) / z**3).mean(axis=1).real
    f2 = h * ((4 + 2 * z + np.exp(z) * (-4 + 2 * z)) / z**3).mean(axis=1).real
    f3 = h * ((-4 - 3 * z - z**2 + np.exp(z) * (4 - z)) / z**3).mean(axis=1).real

    def rate(v):
        u = np.fft.irfft(np.where(k < n / 3, v, 0), n)
        return -0.5j * k * np.fft.rfft(u * u)

    v = np.fft.rfft(u0)
    for _ in range(steps):
        at_v = rate(v)
        a = E_half * v + half * at_v
        at_a = rate(a)
        at_b = rate(E_half * v + half * at_a)
        at_c = rate(E_half * a + half * (2 * at_b - at_v))
        v = E * v + at_v * f1 + (at_a + at_b) * f2 + at_c * f3
    return np.fft.irfft(v, n)


def relative(a, b):
    return (np.linalg.norm(a - b, axis=-1) / np.linalg.norm(b, axis=-1)).max()


def test_the_benchmark_agrees_with_time_steps_in_fourier_space():
    c = random_waves(5, np.random.default_rng(0))
    u0 = cole_hopf(c, [0.0], 0.1, np.arange(2048) / 2048)[:, 0]
    u = cole_hopf(c, [1.0], 0.1, np.arange(128) / 128)[:, 0]
    coarse, fine = (relative(u, by_time_steps(u0, 1.0, 0.1, steps)[:, ::16]) for steps in (250, 500))
    assert fine < 1e-9
    assert coarse > 10 * fine  # what is left is the error of the time steps, of order 4


@pytest.mark.parametrize(("viscosity", "steps"), [(0.02, 2000), (0.1, 500), (1.0, 100)])
def test_a_shock_and_a_mean_agree_with_time_steps_in_fourier_space(viscosity, steps):
    def start(z):
        return np.stack([0.7 + np.sin(z), -2 + np.cos(z) + 0.5 * np.sin(2 * z)])

    u = solve_burgers(start(Z), [1.5], viscosity)[:, 0, :-1]
    fine = start(2 * np.pi * np.arange(1024) / 1024)
    errors = [relative(u, by_time_steps(fine, 1.5, viscosity, n)[:, ::8]) for n in (steps, 2 * steps)]
    assert errors[1] < 1e-8
    assert errors[0] > 10 * errors[1]  # what is left is the error of the time steps, of order 4


def test_a_wave_that_is_known_in_closed_form():
    # phi = a + exp(-viscosity t) cos z solves the heat equation; u = -2 viscosity phi_z / phi.
    viscosity, a, times = 0.3, 1.5, np.array([0.0, 0.1, 1.0, 7.0])

    def exact(t):
        decay = np.exp(-viscosity * t)[:, None]
        return 2 * viscosity * decay * np.sin(Z) / (a + decay * np.cos(Z))

    np.testing.assert_allclose(solve_burgers(exact(times[:1]), times, viscosity)[0], exact(times), atol=1e-13)


def test_a_mean_moves_the_solution():
    # Galilei: with u, also m + u(z - m t, t) is a solution. Here m t is a quarter of the circle.
    u0 = np.sin(Z) + 0.3 * np.cos(3 * Z)
    at_rest, moving = solve_burgers(np.stack([u0, u0 + np.pi]), [0.5])[:, 0]
    np.testing.assert_allclose(moving[:-1], np.pi + np.roll(at_rest[:-1], 32), rtol=0, atol=1e-12)


def test_reflection_turns_the_sign():
    u0 = 0.4 + np.sin(Z) + np.cos(2 * Z)
    u, mirrored = solve_burgers(np.stack([u0, -u0[::-1]]), [0.3])[:, 0]
    np.testing.assert_allclose(mirrored, -u[::-1], rtol=0, atol=1e-13)


def test_the_mean_stays_and_the_maximum_falls():
    c = random_waves(50, np.random.default_rng(1))
    c[:, 0] = np.linspace(-1, 1, 50)
    u = cole_hopf(c, [0.1, 0.5, 1.0], 0.1, np.arange(512) / 512)
    np.testing.assert_allclose(
        u.mean(axis=2), np.linspace(-1, 1, 50)[:, None] + np.zeros(3), rtol=0, atol=1e-12
    )
    assert (np.diff(u.max(axis=2), axis=1) < 0).all()
    assert (np.diff(u.min(axis=2), axis=1) > 0).all()


def test_two_short_times_are_one_long():
    u0 = np.sin(Z)[None] + 0.5 * np.cos(2 * Z)
    whole = solve_burgers(u0, [1.0])
    again = solve_burgers(solve_burgers(u0, [0.4])[:, 0], [0.6])
    np.testing.assert_allclose(again, whole, rtol=0, atol=1e-12)


def test_more_nodes_change_nothing(monkeypatch):
    c = random_waves(20, np.random.default_rng(2))
    x = np.linspace(0, 1, 50)
    u = cole_hopf(c, [0.05, 1.0], 0.1, x)
    monkeypatch.setattr(
        "elmonet.problems.burgers_flow._NEGLIGIBLE_WIDTHS", 300.0
    )  # more nodes, more copies of the circle
    np.testing.assert_allclose(cole_hopf(c, [0.05, 1.0], 0.1, x), u, rtol=0, atol=1e-13)


@pytest.mark.parametrize("points", [64, 65])  # with and without a highest frequency of its own
def test_initial_values_and_both_ends(points):
    u0 = np.random.default_rng(0).standard_normal((3, points))
    u0[:, -1] = u0[:, 0]
    u = solve_burgers(u0, [0.0, 0.2])
    np.testing.assert_allclose(u[:, 0], u0, rtol=0, atol=1e-13)
    assert np.array_equal(u[..., 0], u[..., -1])


def test_blocks_do_not_show(monkeypatch):
    u0 = np.sin(Z) * np.arange(1, 8)[:, None]
    whole = solve_burgers(u0, [0.1])
    monkeypatch.setattr("elmonet.problems.burgers_flow._BLOCK_BYTES", 3 * 8 * 512)
    monkeypatch.setattr("elmonet.problems.burgers_flow._MOST_POINTS", 50)
    np.testing.assert_allclose(solve_burgers(u0, [0.1]), whole, rtol=0, atol=1e-13)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"u0": np.zeros(5)}, r"u0 must be \(N, P\) .* got \(5,\)"),
        ({"u0": np.array([[1.0, 2.0, 3.0]])}, "first and last value differ by 2.*Add the first"),
        ({"u0": np.array([[0.0, np.nan, 0.0]])}, "u0"),
        ({"times": [-1.0]}, "a time must be a finite number of at least 0, got -1"),
        ({"viscosity": 0.0}, "viscosity must be a finite number above 0"),
        ({"viscosity": 1e-5}, "nodes are not enough.*larger viscosity"),
        ({"times": [1e-9]}, "nodes are not enough.*later times"),
    ],
)
def test_wrong_input_raises(arguments, message):
    with pytest.raises(InputError, match=message):
        solve_burgers(**({"u0": np.sin(Z)[None], "times": [1.0]} | arguments))
