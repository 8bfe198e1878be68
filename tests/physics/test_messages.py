"""Likely mistakes of a new user raise messages that say what to do."""

import numpy as np
import pytest

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
    ],
)
def test_residuals(residual, words):
    with pytest.raises(InputError, match=words):
        solve(residual)


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
