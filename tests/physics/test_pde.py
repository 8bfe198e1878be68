"""Equations without data: against known solutions, and the dense joint least-squares problem."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from elmonet import AutoELMDeepONet, ELMDeepONet, InputError, problems, relative_l2
from elmonet.physics import PDE, Box
from elmonet.summary import percent

pytestmark = pytest.mark.numerics

X = np.linspace(0, 1, 60)


def fields(n, seed=0, length=0.2):
    K = np.exp(-((X[:, None] - X) ** 2) / (2 * length**2))
    values, V = np.linalg.eigh(K)
    values[values < 1e-10 * values.max()] = 0
    return (np.random.default_rng(seed).normal(size=(n, len(X))) * np.sqrt(values)) @ V.T


def test_antiderivative():
    data = problems.antiderivative(20, 5, length_scale=0.2)
    pde = PDE(Box(x=(0, 1)), lambda s, u: s.x - u, {"x=0": lambda s, u: s})
    found = pde.solve(data.u_train, data.sensors, data.points)
    assert relative_l2(found.s_train, data.s_train) < 1e-9


@pytest.mark.parametrize("face", [0, 1])
def test_normals_of_a_box_point_outwards(face):
    """s'' = k with an outward slope of 1 at one end and s = 0 at the other."""
    k = np.array([1.0, -2.0, 3.0])
    flux, fixed = (lambda s, u, nx: nx * s.x - 1), (lambda s, u: s)
    conditions = {f"x={face}": flux, f"x={1 - face}": fixed}
    found = PDE(Box(x=(0, 1)), lambda s, u: s.xx - u.k, conditions, {"k": ()}).solve({"k": k}, None, X)
    curved = k[:, None] * X**2 / 2
    known = curved - X + 1 - k[:, None] / 2 if face == 0 else curved + (1 - k[:, None]) * X
    np.testing.assert_allclose(found.s_train, known, atol=1e-9)


def test_poisson_on_a_square():
    """s = sin(pi x) sin(2 pi y), and multiples of it."""
    grid = np.stack(np.meshgrid(X, X, indexing="ij"), axis=-1).reshape(-1, 2)
    s = np.sin(np.pi * grid[:, 0]) * np.sin(2 * np.pi * grid[:, 1]) * np.array([[1.0], [-3.0]])
    u = -5 * np.pi**2 * s
    faces = dict.fromkeys(("x=0", "x=1", "y=0", "y=1"), lambda s, u: s)
    pde = PDE(Box(x=(0, 1), y=(0, 1)), lambda s, u: s.xx + s.yy - u, faces)
    assert relative_l2(pde.solve(u, grid, grid).s_train, s) < 1e-5
    *_, result = pde.solved(u, grid, grid)
    assert result.linear
    assert result.shared


def test_nonlinear_reaction_against_an_integrator():
    """s_t = 0.01 s_xx + 0.01 s^2 + u(x): Chebyshev points in x, Radau in t."""
    u = fields(3)
    pde = PDE(
        Box(x=(0, 1), t=(0, 1)),
        lambda s, u: s.t - 0.01 * s.xx - 0.01 * s**2 - u,
        {"t=0": lambda s, u: s, "x=0": lambda s, u: s, "x=1": lambda s, u: s},
        input_axes=("x",),
        degree=18,
    )
    points = np.column_stack([X[5:-5:5], np.ones(10)])
    found = pde.solve(u, X, points)
    truth = [_reaction(own, points[:, 0]) for own in u]
    assert relative_l2(found.s_train, np.array(truth)) < 1e-4
    *_, result = pde.solved(u, X, points)
    assert not result.linear
    assert result.steps.max() <= 6
    assert result.error < 1e-3


def _reaction(u, where):
    from scipy.interpolate import BarycentricInterpolator, make_interp_spline

    j = np.arange(49)
    x, c = (1 - np.cos(np.pi * j / 48)) / 2, np.where((j == 0) | (j == 48), 2.0, 1.0) * (-1.0) ** j
    away = x[:, None] - x + np.eye(49)
    D = np.outer(c, 1 / c) / away
    D -= np.diag(D.sum(axis=1))
    source = make_interp_spline(X, u, k=9)(x)

    def rate(t, s):
        found = 0.01 * (D @ D @ s) + 0.01 * s**2 + source
        found[[0, -1]] = 0
        return found

    end = solve_ivp(rate, (0, 1), np.zeros(49), "Radau", rtol=1e-9, atol=1e-11).y[:, -1]
    return BarycentricInterpolator(x, end)(where)


def test_two_steps_are_the_joint_problem():
    """W = A^+ F B^+ solves min ||A W B - F||, by dense Kronecker least squares."""
    rng = np.random.default_rng(0)
    A, B, F = rng.normal(size=(12, 5)), rng.normal(size=(4, 7)), rng.normal(size=(12, 7))
    joint = np.linalg.lstsq(np.kron(B.T, A), F.T.ravel())[0].reshape(4, 5).T
    steps = np.linalg.lstsq(A, F)[0] @ np.linalg.pinv(B)
    np.testing.assert_allclose(steps, joint, atol=1e-9)


def test_coefficients_and_coordinates():
    """(1 + u) s_x = 1, s(0) = u(0): coefficients that depend on the function, and a value from it."""
    u = 0.3 * fields(4, length=0.4)
    pde = PDE(Box(x=(0, 1)), lambda s, u, x: (1.5 + u) * s.x - x, {"x=0": lambda s, u: s - u})
    found = pde.solve(u, X, X).s_train
    for own, s in zip(u, found, strict=True):
        rate = _rate(_spline(own))
        end = solve_ivp(rate, (0, 1), [own[0]], rtol=1e-10, atol=1e-12)
        assert s[-1] == pytest.approx(end.y[0, -1], abs=1e-6)


def _rate(u):
    return lambda x, s: [x / (1.5 + u(x))]


def _spline(u):
    from scipy.interpolate import make_interp_spline

    return make_interp_spline(X, u, k=9)


def test_inputs_that_look_alike_at_first():
    """The coefficient is zero in the first inputs: linear and shared are decided by all of them."""
    u = np.concatenate([np.zeros((4, len(X))), 0.5 * fields(2)])
    linear = PDE(Box(x=(0, 1)), lambda s, u: s.x + u * s - 1, {"x=0": lambda s, u: s}, degree=16)
    *_, result = linear.solved(u, X, X)
    assert result.linear
    assert not result.shared
    nonlinear = PDE(Box(x=(0, 1)), lambda s, u: s.x + u * s**2 - 1, {"x=0": lambda s, u: s}, degree=16)
    *_, result = nonlinear.solved(u, X, X)
    assert not result.linear
    for pde, power in ((linear, 1), (nonlinear, 2)):
        found = pde.solve(u, X, X).s_train[-1]
        end = solve_ivp(_decay(_spline(u[-1]), power), (0, 1), [0.0], rtol=1e-10, atol=1e-12).y[0, -1]
        assert found[-1] == pytest.approx(end, abs=1e-6)


def _decay(u, power):
    return lambda x, s: 1 - u(x) * s**power


def test_unsolvable_equations_raise():
    u = fields(2)
    with pytest.raises(InputError, match="conditions are missing"):
        PDE(Box(x=(0, 1)), lambda s, u: s.xx + s**2 - u, {}, degree=8).solve(u, X, X)
    with pytest.raises(InputError, match="conditions are missing"):
        PDE(Box(x=(0, 1)), lambda s, u: s.xx - u, {"x=0": lambda s, u: s}, degree=8).solve(u, X, X)
    with pytest.raises(InputError, match="each of the 60 values"):
        PDE(Box(x=(0, 1)), lambda s, u: s.x - u, {"x=0": lambda s, u: s}).solve(u, X[:50], X)
    with pytest.raises(InputError, match="AutoELMDeepONet"):
        ELMDeepONet().fit(u, PDE(Box(x=(0, 1)), lambda s, u: s.x - u, {}))
    with pytest.raises(InputError, match="not a face"):
        PDE(Box(x=(0, 1)), lambda s, u: s.x - u, {"x=2": lambda s, u: s}).solve(u, X, X)
    with pytest.raises(InputError, match="not a derivative"):
        PDE(Box(x=(0, 1)), lambda s, u: s.t - u, {"x=0": lambda s, u: s}).solve(u, X, X)
    with pytest.raises(InputError, match="analytic"):
        PDE(Box(x=(0, 1)), lambda s, u: s.x - abs(s) - u, {"x=0": lambda s, u: s}).solve(u, X, X)
    with pytest.raises(InputError, match="one letter"):
        Box(time=(0, 1))
    with pytest.raises(InputError, match="input_axes"):
        PDE(Box(x=(0, 1)), lambda s, u: s.x - u, {}, input_axes=("t",))


def test_a_model_from_the_equation_alone():
    """The expected error and the bands include the solver error."""
    data = problems.antiderivative(60, 30, length_scale=0.2)
    pde = PDE(Box(x=(0, 1)), lambda s, u: s.x - u, {"x=0": lambda s, u: s}, degree=7)
    model = AutoELMDeepONet(layers=0, random_state=0)
    model.fit(data.u_train, pde, data.points, sensors=data.sensors)
    true = relative_l2(model.predict(data.u_test), data.s_test)
    assert model.physics_.error > 1e-4
    assert true == pytest.approx(model.expected_error_, rel=2)
    low, high = model.expected_error_interval_
    assert low <= model.expected_error_ <= high
    summary = model.summary()
    assert f"Expected error:   {percent(model.expected_error_)} " in summary  # with that of the solver
    assert "Finer solutions:  would help most." in summary
    assert f"Solver error:     {percent(model.physics_.error, 2)}" in summary
    exact = PDE(Box(x=(0, 1)), lambda s, u: s.x - u, {"x=0": lambda s, u: s})
    model = AutoELMDeepONet(layers=0, random_state=0).fit(data.u_train, exact, sensors=data.sensors)
    assert relative_l2(model.predict(data.u_test, points=data.points), data.s_test) < 1e-6
    assert model.points_.shape == (200, 1)
    with pytest.raises(InputError, match="sensors"):
        AutoELMDeepONet().fit(data.u_train, exact)
