"""Input functions: their derivatives, several of them, numbers, and constants."""

import numpy as np
import pytest

from elmonet import AutoELMDeepONet, InputError, relative_l2
from elmonet.physics import PDE, Box

pytestmark = pytest.mark.numerics

X = np.linspace(0, 1, 40)
W = np.array([[1.0], [2.0], [3.5]])
START = {"x=0": lambda s, u: s}


def grid(n):
    axis = np.linspace(0, 1, n)
    return np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)


def test_a_derivative_of_the_input():
    """s = u' exactly, and s' = u'' from s(0) = u'(0)."""
    u, slope = np.sin(W * X), W * np.cos(W * X)
    found = PDE(Box(x=(0, 1)), lambda s, u: s - u.x, {}).solve(u, X, X).s_train
    np.testing.assert_allclose(found, slope, atol=1e-7)
    found = PDE(Box(x=(0, 1)), lambda s, u: s.x - u.xx, {"x=0": lambda s, u: s - u.x}).solve(u, X, X)
    np.testing.assert_allclose(found.s_train, slope, atol=1e-6)


def flux(s, u):
    """div(k grad s) = k s_xx + k_x s_x + ..."""
    return u.k * (s.xx + s.yy) + u.k.x * s.x + u.k.y * s.y - u.f


def test_conductivity_in_the_plane():
    """div(k grad s) = f for s = sin(pi x) sin(pi y), k = exp(a x) (2 + cos y)."""
    where, a = grid(20), np.array([[0.5], [-1.0], [0.0]])
    x, y = where.T
    k = np.exp(a * x) * (2 + np.cos(y))
    s = np.sin(np.pi * x) * np.sin(np.pi * y)
    s_x, s_y = np.pi * np.cos(np.pi * x) * np.sin(np.pi * y), np.pi * np.sin(np.pi * x) * np.cos(np.pi * y)
    f = -2 * np.pi**2 * k * s + a * k * s_x - np.exp(a * x) * np.sin(y) * s_y
    faces = dict.fromkeys(("x=0", "x=1", "y=0", "y=1"), lambda s, u: s)
    pde = PDE(Box(x=(0, 1), y=(0, 1)), flux, faces, {"k": ("x", "y"), "f": ("x", "y")}, degree=14)
    found = pde.solve({"k": k, "f": f}, {"k": where, "f": where}, where).s_train
    assert relative_l2(found, np.tile(s, (3, 1))) < 1e-6


def test_derivatives_need_a_grid_of_sensors():
    where = np.random.default_rng(0).uniform(size=(60, 2))
    pde = PDE(Box(x=(0, 1), y=(0, 1)), lambda s, u: s - u.x, {}, degree=4)
    with pytest.raises(InputError, match=r"u\.x needs sensors on a grid"):
        pde.solve(np.ones((2, 60)), where, where)


def test_sensors_in_any_order():
    where = grid(12)[np.random.default_rng(0).permutation(144)]
    u = np.sin(where[:, 0] + 2 * where[:, 1])[None]
    found = PDE(Box(x=(0, 1), y=(0, 1)), lambda s, u: s - u.y, {}, degree=8).solve(u, where, where).s_train
    np.testing.assert_allclose(found, 2 * np.cos(where[:, 0] + 2 * where[:, 1])[None], atol=1e-5)


def decay(**how):
    """speed s_x + s = k(x), s(0) = 0."""
    axes = {"k": ("x",), "speed": ()}
    return PDE(Box(x=(0, 1)), lambda s, u: u.speed * s.x + s - u.k, START, axes, **how)


def decayed(k, speed):
    """For k = a constant: k (1 - exp(-x / speed))."""
    return k * (1 - np.exp(-X / speed[:, None]))


def test_a_function_and_a_number():
    k, speed = np.ones_like(X) * W, np.array([1.0, 0.5, 2.0])
    found = decay().solve({"k": k, "speed": speed}, {"k": X}, X)
    np.testing.assert_allclose(found.s_train, decayed(W, speed), atol=1e-9)


def test_a_model_of_a_function_and_a_number():
    rng = np.random.default_rng(0)
    level, speed = rng.uniform(-1, 1, size=(203, 1)), rng.uniform(1, 2, size=203)
    inputs = {"k": level * np.ones_like(X), "speed": speed}
    train, new = ({name: own[part] for name, own in inputs.items()} for part in (slice(200), slice(200, 203)))
    model = AutoELMDeepONet(layers=0, random_state=0).fit(train, decay(), X, sensors={"k": X})
    assert relative_l2(model.predict(new), decayed(level[200:], speed[200:])) < 0.02
    assert model.physics_.error < 1e-8


def test_names_and_shapes_of_several_inputs():
    k, speed = np.ones((3, 40)), np.ones(3)
    for u, sensors, words in (
        ({"k": k}, {"k": X}, "u must be a dictionary with k, speed, as in input_axes; got k"),
        ({"k": k, "sped": speed}, {"k": X}, "got k, sped"),
        (k, {"k": X}, "got ndarray"),
        ({"k": k, "speed": speed}, X, "sensors must be a dictionary with k"),
        ({"k": k, "speed": speed}, None, "sensors must be a dictionary with k"),
        ({"k": k, "speed": speed}, {"k": X[:7]}, "each of the 40 values"),
        ({"k": k, "speed": speed[:2]}, {"k": X}, r"same number of rows, got \[2, 3\]"),
        ({"k": k, "speed": np.ones((3, 2))}, {"k": X}, "one number for each function"),
    ):
        with pytest.raises(InputError, match=words):
            decay().solve(u, sensors, X)
    wrong = PDE(Box(x=(0, 1)), lambda s, u: s.x - u.q, START, {"k": ("x",), "speed": ()})
    with pytest.raises(InputError, match="u has the components k, speed"):
        wrong.solve({"k": k, "speed": speed}, {"k": X}, X)


def test_constants_by_name():
    """a s' = b u: the constants of the equation, and others."""
    pde = PDE(
        Box(x=(0, 1)),
        lambda s, u, a, b: a * s.x - b * u,
        {"x=0": lambda s, u, b: s - b},
        constants={"a": 2, "b": 3},
    )
    u = W * np.cos(W * X)
    np.testing.assert_allclose(pde.solve(u, X, X).s_train, 3 + 1.5 * np.sin(W * X), atol=1e-7)
    other = pde.with_constants(b=-2.0)
    np.testing.assert_allclose(other.solve(u, X, X).s_train, -2 - np.sin(W * X), atol=1e-7)
    assert pde.constants == {"a": 2, "b": 3}
