"""Several unknowns and equations."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from elmonet import AutoELMDeepONet, InputError, relative_l2
from elmonet.physics import PDE, Box

pytestmark = pytest.mark.numerics

X = np.linspace(0, 1, 25)


def oscillator(**how):
    """v' = w, w' = -k v - v^3, from v = 1 and w = 0."""
    return PDE(
        Box(t=(0, 2)),
        lambda s, u: (s.v.t - s.w, s.w.t + u.k * s.v + s.v**3),
        {"t=0": lambda s, u: (s.v - 1, s.w)},
        {"k": ()},
        unknowns=("v", "w"),
        **how,
    )


def integrated(k, t):
    rate = lambda t, y: [y[1], -k * y[0] - y[0] ** 3]  # noqa: E731
    return solve_ivp(rate, (0, 2), [1.0, 0.0], t_eval=t, rtol=1e-11, atol=1e-13).y


def test_an_ordinary_system_against_an_integrator():
    k, t = np.array([0.5, 1.0, 3.0]), np.linspace(0, 2, 30)
    found = oscillator().solved({"k": k}, None, t)
    truth = np.array([integrated(own, t) for own in k])
    for i, name in enumerate("vw"):
        assert relative_l2(found.s[name], truth[:, i]) < 1e-7
    data = oscillator().solve({"k": k}, None, t)
    assert data.s_train.shape == (3, 30, 2)
    np.testing.assert_array_equal(data.s_train[..., 1], found.s["w"])


def test_a_model_gives_its_outputs_by_name():
    k, t = np.linspace(0.5, 3, 40), np.linspace(0, 2, 30)
    model = AutoELMDeepONet(layers=0, random_state=0).fit({"k": k}, oscillator(degree=16), t)
    found = model.predict({"k": np.array([0.9, 2.1])})
    assert set(found) == {"v", "w"}
    truth = np.array([integrated(own, t) for own in (0.9, 2.1)])
    assert relative_l2(found["v"], truth[:, 0]) < 1e-3
    assert relative_l2(found["w"], truth[:, 1]) < 1e-3


def test_stokes():
    """v = curl of x^2 (1-x)^2 y^2 (1-y)^2, p = x^3 - y, and multiples: polynomials, so found exactly."""

    def parts(x, y):
        a, da = x**2 * (1 - x) ** 2, 2 * x - 6 * x**2 + 4 * x**3
        b, db = y**2 * (1 - y) ** 2, 2 * y - 6 * y**2 + 4 * y**3
        dda, ddda, ddb, dddb = 2 - 12 * x + 12 * x**2, 24 * x - 12, 2 - 12 * y + 12 * y**2, 24 * y - 12
        force = dda * db + a * dddb - 3 * x**2, -(ddda * b + da * ddb) + 1
        return a * db, -da * b, x**3 - y, *force

    def equations(s, u, x, y):
        *_, f, g = parts(x, y)
        return s.v.xx + s.v.yy - s.p.x - u.k * f, s.w.xx + s.w.yy - s.p.y - u.k * g, s.v.x + s.w.y

    walls = dict.fromkeys(("x=0", "x=1", "y=0", "y=1"), lambda s, u: (s.v, s.w))
    pde = PDE(
        Box(x=(0, 1), y=(0, 1)),
        equations,
        walls | {"x=0, y=0": lambda s, u: s.p},  # a pressure somewhere: the equations know its slopes alone
        {"k": ()},
        unknowns=("v", "w", "p"),
        degree=8,
    )
    k, where = np.array([1.0, -2.0]), np.random.default_rng(0).uniform(size=(40, 2))
    found = pde.solved({"k": k}, None, where)
    assert found.result.shared
    for name, own in zip("vwp", parts(*where.T), strict=False):
        np.testing.assert_allclose(found.s[name], k[:, None] * own, atol=1e-9)
    without = PDE(pde.domain, equations, walls, {"k": ()}, unknowns=("v", "w", "p"), degree=8)
    with pytest.raises(InputError, match="leave 1 of 243 unknowns open"):
        without.solve({"k": k}, None, where)


def test_one_unknown_may_have_a_name():
    u = np.cos(X)[None]
    pde = PDE(Box(x=(0, 1)), lambda s, u: s.v.x - u, {"x=0": lambda s, u: s.v}, unknowns=("v",))
    np.testing.assert_allclose(pde.solved(u, X, X).s["v"], np.sin(X)[None], atol=1e-8)


def test_names_that_are_missing():
    u = np.cos(X)[None]
    for residual, words in (
        (lambda s, u: s.x - u, "write s.v and s.v.x; got s.x"),
        (lambda s, u: (s.v.x - u, s.q.x), "got s.q"),
        (lambda s, u: (s - u, s.v.x), "s has the components v, w: write s.v"),
        (lambda s, u: (s.v.y, s.w.x), "s.v.y is not a derivative"),
    ):
        pde = PDE(Box(x=(0, 1)), residual, {"x=0": lambda s, u: (s.v, s.w)}, unknowns=("v", "w"))
        with pytest.raises(InputError, match=words):
            pde.solve(u, X, X)
    few = PDE(Box(x=(0, 1)), lambda s, u: s.v.x - u, {"x=0": lambda s, u: s.v}, unknowns=("v", "w"))
    with pytest.raises(InputError, match="unknowns open"):
        few.solve(u, X, X)
