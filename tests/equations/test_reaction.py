import numpy as np
from scipy.integrate import solve_ivp

from elmonet.equations import reaction
from elmonet.problems.chebyshev import chebyshev_nodes, interpolation_matrix
from elmonet.problems.gaussian import gaussian_field
from elmonet.problems.heat import reaction_diffusion_states, solve_reaction_diffusion


def test_without_reaction_all_times_are_the_sine_series():
    # u = 1 does not vanish at the ends. s = steady state - what has yet to come.
    x, t = np.linspace(0, 1, 100), np.linspace(0, 1, 100)
    k = np.pi * np.arange(1, 400, 2)
    coefficients = 4 / k / (0.01 * k**2)
    steady = x * (1 - x) / 2 / 0.01
    decay = np.exp(-0.01 * np.outer(k**2, t[1:]))
    exact = steady[:, None] - np.sin(np.outer(x, k)) @ (coefficients[:, None] * decay)
    states = reaction_diffusion_states(np.ones((1, 128)), 0.01, 0.0, 99)[0]
    s = interpolation_matrix(128, x) @ states.T
    np.testing.assert_allclose(s[:, 1:], exact, rtol=0, atol=1e-9)
    assert not s[:, 0].any()


def test_random_sources_agree_with_finite_differences():
    n, seed, times = 2, 6, np.array([0, 9, 33, 66, 99]) / 99

    def finite_differences(cells):
        u = gaussian_field(np.linspace(0, 1, cells + 1), n, 0.2, seed)[:, 1:-1]

        def rate(t, s, u):
            return 0.01 * np.diff(np.pad(s, 1), 2) * cells**2 + 0.01 * s**2 + u

        options = {"method": "LSODA", "lband": 1, "uband": 1, "rtol": 1e-11, "atol": 1e-13, "t_eval": times}
        runs = [solve_ivp(rate, (0, 1), np.zeros(cells - 1), args=(row,), **options).y for row in u]
        return np.pad(runs, ((0, 0), (1, 1), (0, 0)))[:, :: cells // 99]

    a, b, c = (finite_differences(99 * 2**k) for k in (1, 2, 3))
    ab, bc = (4 * b - a) / 3, (4 * c - b) / 3
    by_differences = (16 * bc - ab) / 15
    s = reaction.reference(n, seed).reshape(n, 100, 100)[:, :, [0, 9, 33, 66, 99]]
    np.testing.assert_allclose(s, by_differences, rtol=0, atol=3e-7)  # in the early layers
    np.testing.assert_allclose(s[..., 2:], by_differences[..., 2:], rtol=0, atol=1e-8)


def test_more_nodes_and_steps_change_nothing(monkeypatch):
    s = reaction.reference(10, 3)
    monkeypatch.setattr(reaction, "_NODES", 160)
    monkeypatch.setattr("elmonet.problems.heat._FEWEST_STEPS", 100)
    np.testing.assert_allclose(reaction.reference(10, 3), s, rtol=0, atol=1e-9)


def test_the_last_state_is_the_known_solution_and_inputs_belong_to_it():
    u = gaussian_field(chebyshev_nodes(128), 5, 0.2, 2)
    last = reaction_diffusion_states(u, 0.01, 0.01, 99)[:, -1]
    np.testing.assert_allclose(last, solve_reaction_diffusion(u, 0.01, 0.01), rtol=0, atol=1e-9)
    at_sensors = u @ interpolation_matrix(128, reaction.SENSORS).T
    np.testing.assert_allclose(at_sensors, reaction.inputs(5, 2), rtol=0, atol=1e-12)
    s = reaction.reference(5, 2).reshape(5, 100, 100)
    to_points = interpolation_matrix(128, reaction.POINTS[::100, 0])
    np.testing.assert_allclose(s[:, :, -1], last @ to_points.T, rtol=0, atol=1e-12)
