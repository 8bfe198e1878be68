"""Nonlinear equations against SciPy integrators and closed forms; failures are reported, never NaN."""

import numpy as np
import pytest
from scipy.integrate import solve_bvp

from elmonet import AutoELMDeepONet, InputError, relative_l2
from elmonet.errors import NumericsWarning
from elmonet.physics import PDE, Box

pytestmark = pytest.mark.numerics

X = np.linspace(0, 1, 30)
ZERO = dict.fromkeys(("x=0", "x=1"), lambda s, u: s)
START = {"x=0": lambda s, u: s}


def bratu(**how):
    """s_xx + k exp(s) = 0: two solutions up to k = 3.5138, none beyond."""
    return PDE(Box(x=(0, 1)), lambda s, u: s.xx + u.k * np.exp(s), ZERO, {"k": ()}, **how)


def lower_branch(k):
    found = solve_bvp(
        lambda x, y: np.stack([y[1], -k * np.exp(y[0])]),
        lambda a, b: np.array([a[0], b[0]]),
        X,
        np.zeros((2, len(X))),
        tol=1e-10,
    )
    return found.sol(X)[0]


def test_bratu_against_a_boundary_value_solver():
    k = np.array([0.1, 0.5, 1.0, 2.0, 3.0, 3.4])
    found = bratu().solved({"k": k}, None, X)
    assert relative_l2(found.s, np.array([lower_branch(own) for own in k])) < 1e-7
    assert found.result.error < 1e-8
    assert not found.result.linear


def test_inputs_that_do_not_converge_are_removed_and_reported():
    """Beyond the fold there is no solution; the others are as accurate as without these inputs."""
    k = np.array([0.5, 20.0, 1.0, 5.0, 2.0, 3.0])
    with pytest.warns(NumericsWarning, match=r"2 of 6 inputs did not converge \(the first: row 1\)"):
        found = bratu().solved({"k": k}, None, X)
    np.testing.assert_array_equal(found.result.failed, [1, 3])
    np.testing.assert_array_equal(found.u["k"], k[[0, 2, 4, 5]])
    assert "rows 1, 3" in str(found.result)
    assert found.result.error < 1e-8
    assert relative_l2(found.s, np.array([lower_branch(own) for own in found.u["k"]])) < 1e-7
    with pytest.raises(InputError, match="did not converge for any input"):
        bratu().solve({"k": np.array([5.0, 20.0])}, None, X)


def test_steep_solutions_count_in_the_choice_of_the_degree():
    """s' = s^2 + k is sqrt(k) tan(sqrt(k) x), which ends before x = 1 if k > 2.4674."""
    k = np.array([0.5, 1.0, 2.0, 4.0])
    pde = PDE(Box(x=(0, 1)), lambda s, u: s.x - s**2 - u.k, START, {"k": ()})
    with pytest.warns(NumericsWarning, match="1 of 4"):
        found = pde.solved({"k": k}, None, X)
    root = np.sqrt(k[:3, None])
    np.testing.assert_array_equal(found.result.failed, [3])
    np.testing.assert_allclose(found.s, root * np.tan(root * X), atol=1e-6)


def test_a_model_removes_them_too():
    k = np.concatenate([np.linspace(0.2, 2.5, 30), [9.0]])
    with pytest.warns(NumericsWarning, match="1 of 31"):
        model = AutoELMDeepONet(layers=0, random_state=0).fit({"k": k}, bratu(), X)
    np.testing.assert_array_equal(model.physics_.failed, [30])
    new = np.array([0.7, 1.3, 2.2])
    truth = np.array([lower_branch(own) for own in new])
    assert relative_l2(model.predict({"k": new}), truth) < 1e-2


def test_a_residual_that_is_not_finite_did_not_converge():
    """log(0) at the start; and sources that are not finite for one input alone."""
    u = np.stack([np.ones_like(X), 2 * np.ones_like(X)])
    with pytest.raises(InputError, match="did not converge for any input"):
        PDE(Box(x=(0, 1)), lambda s, u: s.x - np.log(s) - u, START).solve(u, X, X)
    for residual in (lambda s, u: s.x - np.log(u), lambda s, u: s.x + s**2 - np.log(u)):
        with pytest.warns(NumericsWarning, match="1 of 3"):
            found = PDE(Box(x=(0, 1)), residual, START).solved(np.stack([u[1], -u[0], u[0]]), X, X)
        np.testing.assert_array_equal(found.result.failed, [1])
        assert np.isfinite(found.s).all()
        np.testing.assert_allclose(found.s[1], 0, atol=1e-12)


def test_coefficients_that_cancel_in_the_mean():
    """k s' = 1 with k = 1 and -1: the mean Jacobian is zero, but no condition is missing."""
    pde = PDE(Box(x=(0, 1)), lambda s, u: u.k * s.x - 1, START, {"k": ()})
    k = np.array([1.0, -1.0, 2.0, -2.0, 4.0, -4.0])
    np.testing.assert_allclose(pde.solve({"k": k}, None, X).s_train, X / k[:, None], atol=1e-12)


def test_an_equation_that_is_singular_at_zero_needs_a_start():
    """s s_x = k with s(0) = 1 is sqrt(1 + 2 k x)."""
    k = np.array([0.5, 1.0, 2.0])
    how = {"conditions": {"x=0": lambda s, u: s - 1}, "input_axes": {"k": ()}}
    pde = PDE(Box(x=(0, 1)), lambda s, u: s * s.x - u.k, start=lambda x: 1 + 0 * x, **how)
    found = pde.solve({"k": k}, None, X).s_train
    np.testing.assert_allclose(found, np.sqrt(1 + 2 * k[:, None] * X), atol=1e-9)
    with pytest.raises(InputError, match="say where to begin: start="):
        PDE(Box(x=(0, 1)), lambda s, u: s * s.x - u.k, **how).solve({"k": k}, None, X)


def test_eikonal_away_from_its_source():
    """s_x^2 + s_y^2 = k^2, the distance to (-1, -1) times k, from its values on two faces."""

    def away(x, y):
        return np.hypot(x + 1, y + 1)

    def value(s, u, x, y):
        return s - u.k * away(x, y)

    pde = PDE(
        Box(x=(0, 1), y=(0, 1)),
        lambda s, u: s.x**2 + s.y**2 - u.k**2,
        {"x=0": value, "y=0": value},
        {"k": ()},
        start=lambda x, y: 1 + x + y,
        degree=10,
    )
    points, k = np.random.default_rng(0).uniform(size=(50, 2)), np.array([0.5, 1.0, 2.0])
    found = pde.solved({"k": k}, None, points)
    assert relative_l2(found.s, k[:, None] * away(*points.T)) < 1e-6


def test_start_has_a_value_for_each_unknown():
    pde = PDE(
        Box(x=(0, 1)),
        lambda s, u: (s.v.x - s.w, s.w.x + s.v * u.k),
        {"x=0": lambda s, u: (s.v, s.w - 1)},
        {"k": ()},
        unknowns=("v", "w"),
        start=lambda x: x,
    )
    with pytest.raises(InputError, match="start must give 2 values, got 1"):
        pde.solve({"k": np.ones(3)}, None, X)
