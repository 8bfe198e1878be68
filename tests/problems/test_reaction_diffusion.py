import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

from elmonet.errors import InputError
from elmonet.problems import gaussian_field
from elmonet.problems.chebyshev import chebyshev_nodes, interpolation_matrix
from elmonet.problems.heat import exponential_and_phi, solve_reaction_diffusion

X = chebyshev_nodes(64)


def relative(a, b):
    return (np.linalg.norm(a - b, axis=1) / np.linalg.norm(b, axis=1)).max()


@pytest.mark.parametrize("diffusion", [0.001, 0.01, 1.0])
def test_without_reaction_it_is_the_sine_series(diffusion):
    # s = 1 and s = x do not vanish at the ends. u(1) = steady state - what has yet to come.
    n = np.arange(1, 400)[:, None]
    decay = np.exp(-diffusion * (n * np.pi) ** 2) / (diffusion * (n * np.pi) ** 2)
    coefficients = np.hstack([2 * (1 - (-1.0) ** n), -2 * (-1.0) ** n]) / (n * np.pi)
    steady = np.stack([X * (1 - X) / 2, (X - X**3) / 6]) / diffusion
    exact = steady - (coefficients * decay).T @ np.sin(np.pi * n * X)
    u = solve_reaction_diffusion(np.stack([np.ones_like(X), X]), diffusion, 0.0)
    assert relative(u, exact) < 1e-10


@pytest.mark.parametrize("reaction", [0.01, 0.3])
def test_with_reaction_it_agrees_with_finite_differences(reaction):
    diffusion, coarsest = 0.01, 40
    x = np.linspace(0, 1, coarsest + 1)

    def source(x):
        return np.cos(3 * x) + np.sin(8 * x)

    def finite_differences(cells):
        y = np.linspace(0, 1, cells + 1)
        s = source(y[1:-1])

        def rate(t, u):
            padded = np.pad(u, 1)
            return diffusion * np.diff(padded, 2) * cells**2 + reaction * u**2 + s

        options = {"method": "LSODA", "lband": 1, "uband": 1, "rtol": 1e-11, "atol": 1e-12}
        run = solve_ivp(rate, (0, 1), np.zeros(cells - 1), **options)
        return np.pad(run.y[:, -1], 1)[:: cells // coarsest]

    # Richardson: errors h^2, then h^4, are removed.
    a, b, c = (finite_differences(coarsest * 2**k) for k in (1, 2, 3))
    ab, bc = (4 * b - a) / 3, (4 * c - b) / 3
    exact = (16 * bc - ab) / 15
    u = solve_reaction_diffusion(source(X)[None], diffusion, reaction)
    assert relative(u @ interpolation_matrix(64, x).T, exact[None]) < 1e-8


def test_more_nodes_change_nothing():
    x = np.linspace(0, 1, 51)

    def at(n):
        s = gaussian_field(chebyshev_nodes(n), 50, 0.2)
        return solve_reaction_diffusion(s, 0.01, 0.01) @ interpolation_matrix(n, x).T

    assert relative(at(64), at(96)) < 5e-11


def test_tighter_steps_change_nothing(monkeypatch):
    s = gaussian_field(X, 50, 0.2)
    u = solve_reaction_diffusion(s, 0.01, 0.01)
    monkeypatch.setattr("elmonet.problems.heat._FEWEST_STEPS", 80)
    assert relative(u, solve_reaction_diffusion(s, 0.01, 0.01)) < 5e-11


def test_strong_reactions_take_more_steps(monkeypatch):
    s = gaussian_field(X, 20, 0.2)
    u = solve_reaction_diffusion(s, 0.01, 0.5)
    monkeypatch.setattr("elmonet.problems.heat._FEWEST_STEPS", 160)
    assert relative(u, solve_reaction_diffusion(s, 0.01, 0.5)) < 1e-9


def test_solution_vanishes_at_the_ends_exactly():
    assert not solve_reaction_diffusion(np.ones((1, 64)), 0.01, 0.01)[:, [0, -1]].any()


@pytest.mark.parametrize("reaction", [3.0, 100.0])
def test_blow_up_raises(reaction):
    with pytest.raises(InputError, match=r"grows without limit before t = 1.*smaller reaction"):
        solve_reaction_diffusion(np.ones((1, 64)), 0.01, reaction)


def test_phi_functions_satisfy_their_recurrence():
    A = np.random.default_rng(0).normal(size=(5, 5))
    E, phi1, phi2, phi3 = exponential_and_phi(A, order=3)
    identity = np.eye(5)
    np.testing.assert_allclose(E, expm(A), rtol=1e-12)
    np.testing.assert_allclose(A @ phi1, E - identity, atol=1e-12)
    np.testing.assert_allclose(A @ phi2, phi1 - identity, atol=1e-12)
    np.testing.assert_allclose(A @ phi3, phi2 - identity / 2, atol=1e-12)
