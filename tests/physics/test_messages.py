"""Likely mistakes of a new user raise messages that say what to do."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from elmonet import InputError
from elmonet.physics import PDE, Box, Domain

X = np.linspace(0, 1, 20)
U = np.stack([np.cos(X), np.sin(X)])
START = {"x=0": lambda s, u: s}
BOX = Box(x=(0, 1))


def solve(residual=lambda s, u: s.x - u, conditions=START, u=U, sensors=X, points=X, **how):
    return PDE(BOX, residual, conditions, **how).solve(u, sensors, points)


@pytest.mark.parametrize(
    ("residual", "words"),
    [
        (lambda s, u: 3.0, "must depend on s"),
        (lambda s, u: u - 1, "must depend on s"),
        (lambda s, u: None, "must depend on s"),
        (lambda s, u: (s.x - u, None), "Got None"),
        (lambda s, u: s.x[:, :3], r"Got an array \(1, 3\)"),
        (lambda s, u: np.array([s.x - u, s.x + u]), "several equations are a tuple"),
        (lambda s: s.x, "a function of s and u"),
        (lambda s, u, k: s.x - k * u, "constants by name"),
        (lambda s, u: s.y - u, "s.y is not a derivative"),
        (lambda s, u, nx: s.x - nx, "Give normals="),
        (3, "is a function that is zero for a solution"),
        (lambda s, u: s.x - math.sin(s), "np.sin instead of math.sin"),
        (lambda s, u: s.x - math.sin(u.x), "np.sin instead of math.sin"),
        (lambda s, u, x: s.x - math.sin(x), "np.sin instead of math.sin"),
        (lambda s, u: s.x - u if s > 0 else s.x, "np.where instead of if"),
        (lambda s, u: s.x - np.fabs(s), r"np.sqrt\(s\*\*2 \+ 1e-6\) instead of np.fabs"),
        (lambda s, u: s.x - np.heaviside(s - 1, 0.5), "instead of np.heaviside"),
        (lambda s, u: s.x - np.floor(s), "smooth functions of NumPy"),
        (lambda s, u: s.x - abs(s), "not a smooth"),
    ],
)
def test_residuals(residual, words):
    with pytest.raises(InputError, match=words):
        solve(residual)


@pytest.mark.parametrize(
    "residual",
    [
        lambda s, u: s.xx * (1 + np.mean(s.x**2)) - u,
        lambda s, u: s.x - u * np.mean(s**2, axis=1, keepdims=True),
        lambda s, u: s.x - u * s.x.mean(axis=0),
        lambda s, u: s.x - u * np.max(u.x),
        lambda s, u: s.x - np.min(u.x) - u,
        lambda s, u: (s.x - u * np.linalg.norm(u),),
        lambda s, u: s.x - np.cumsum(u + 0, axis=1),
        lambda s, u: s.x - u - (u + 0)[::-1],
        lambda s, u: s.x - np.mean(u),
        lambda s, u: s.x - u.max(),
    ],
)
def test_residuals_that_combine_functions_or_points(residual):
    """Each would couple all functions, and depend on where the collocation points are."""
    with pytest.raises(InputError, match="each function and point alone"):
        solve(residual)
    with pytest.raises(InputError, match="each function and point alone"):
        solve(residual, u=U[:1])  # with one function alone too
    with pytest.raises(InputError, match="each function and point alone"):
        solve(conditions={"x=0": lambda s, u: s - np.mean(u + 0)})


@pytest.mark.parametrize(
    ("function", "same"),
    [
        (lambda s, u: np.hypot(s, 1 + u), lambda s, u: np.sqrt(s**2 + (1 + u) ** 2)),
        (lambda s, u: np.arctan2(s.x, 1 + s**2), lambda s, u: np.arctan(s.x / (1 + s**2))),
        (lambda s, u: np.arctan2(2 + s, u - 1), lambda s, u: np.pi / 2 - np.arctan((u - 1) / (2 + s))),
        (lambda s, u: np.logaddexp(s, 0.5), lambda s, u: np.log(np.exp(s) + np.exp(0.5))),
        (lambda s, u: np.cbrt(s + 1), lambda s, u: (s + 1) ** (1 / 3)),
        (lambda s, u: np.heaviside(u - 0.5, 0.5), lambda s, u: np.where(u > 0.5, 1.0, 0.0)),
        (lambda s, u, k=0.25: k * s, lambda s, u: s / 4),
    ],
)
def test_functions_without_complex_arithmetic(function, same):
    """They are differentiated by their known derivatives; and an argument may have a default value."""
    found, expected = (
        solve(lambda s, u, f=f: s.x - u + f(s, u), degree=24).s_train for f in (function, same)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


def test_an_integral_as_the_message_says():
    """Kirchhoff's string, s'' (1 + integral of s'^2) = 20 u, from the double integral w of 20 u."""
    u = np.ones((1, len(X)))
    w = 10 * X * (X - 1)  # w'^2 has the integral 100 / 3
    k = brentq(lambda k: k * (1 + k) ** 2 - 100 / 3, 0, 100)
    pde = PDE(
        BOX,
        lambda s, u: (s.v.xx * (1 + s.k) - 20 * u, s.m.x - s.v.x**2, s.k.x),
        {"x=0": lambda s, u: (s.v, s.m), "x=1": lambda s, u: (s.v, s.m - s.k)},
        unknowns=("v", "m", "k"),
    )
    np.testing.assert_allclose(pde.solved(u, X, X).s["v"][0], w / (1 + k), atol=1e-9)


@pytest.mark.parametrize("name", ["x", "s", "u", "nx"])
def test_constants_named_as_something_else(name):
    with pytest.raises(InputError, match=f"got {name}. Choose another name"):
        solve(lambda s, u, x: s.x - u * x, constants={name: 2.0})
    with pytest.raises(InputError, match="Choose another name"):
        PDE(BOX, lambda s, u: s.x - u, START).with_constants(**{name: 2.0})


@pytest.mark.parametrize(
    ("conditions", "words"),
    [
        ({"y=0": lambda s, u: s}, 'such as "x=0"'),
        ({"left": lambda s, u: s}, 'such as "x=0"'),
        ({"x=0.5": lambda s, u: s}, "x is 0 or 1 there"),
        ({"x=0": 0}, "is a function that is zero for a solution"),
        ({"x=0": lambda s, u: u}, "must depend on s"),
        (None, "conditions must be a dictionary"),
    ],
)
def test_conditions(conditions, words):
    with pytest.raises(InputError, match=words):
        solve(conditions=conditions)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"u": np.where(X > 0.5, np.nan, U)}, "u holds 20 NaN"),
        ({"u": np.zeros((0, 20))}, "at least one function"),
        ({"u": "abc"}, "u must hold numbers"),
        ({"u": {"k": U}}, "name its inputs in the PDE"),
        ({"sensors": None}, "say where the input functions are known"),
        ({"sensors": X[:7]}, "each of the 20 values"),
        ({"sensors": np.stack([X, X], axis=1)}, "not those of an input function of x"),
        ({"sensors": X / 2}, "from x = 0 to 0.5, but u is needed"),
        ({"points": np.array([0.5, 3.0])}, r"row 1 is \(3\)"),
        ({"points": np.zeros((5, 2))}, r"1 coordinate\(s\) each"),
        ({"degree": (3, 4)}, "one number for each of 1 coordinates"),
        ({"degree": 0}, "degree"),
        ({"input_axes": ("y",)}, "coordinates of Box"),
        ({"unknowns": ("v", "v")}, "different names"),
    ],
)
def test_arrays_and_settings(given, words):
    with pytest.raises(InputError, match=words):
        solve(**given)


def test_domains():
    with pytest.raises(InputError, match="from a lower to a higher"):
        Box(x=(1, 0))
    with pytest.raises(InputError, match="from a lower to a higher"):
        Box(x=1)
    with pytest.raises(InputError, match="periodic must name coordinates"):
        Box(x=(0, 1), periodic="y")
    with pytest.raises(InputError, match="one to three"):
        Box()
    with pytest.raises(InputError, match="Box or a Domain"):
        PDE((0, 1), lambda s, u: s.x - u, START)
    with pytest.raises(InputError, match="names and shapes of the boundary"):
        Domain(U.T, {"wall": U.T}, {"wal": U.T})
    with pytest.raises(InputError, match="one letter for each of the 2"):
        Domain(U.T, {"wall": U.T}, names="x")


def test_one_function_is_enough():
    for one in (U[:1], U[0]):
        np.testing.assert_allclose(solve(u=one).s_train, np.sin(X)[None], atol=1e-8)


def test_sensors_may_end_one_spacing_before_the_box():
    middle = (np.arange(40) + 0.5) / 40
    found = solve(u=np.cos(middle)[None], sensors=middle).s_train
    np.testing.assert_allclose(found, np.sin(X)[None], atol=1e-8)
