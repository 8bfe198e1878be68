"""Which array is what: one test for each convention."""

import numpy as np
import pytest

from elmonet import InputError, read
from elmonet.data.lazy import Arrays
from elmonet.data.role_search import find_roles


def roles_of(flags=None, **shapes):
    """Roles among arrays of these shapes; __ in a name stands for a sign that Python does not allow."""
    arrays = {name.replace("__", "-"): np.zeros(shape) for name, shape in shapes.items()}
    return find_roles(arrays, **(flags or {}))


def found(roles):
    return roles.u_train, roles.s_train, roles.points


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [
        ({"u": (5, 8), "s": (5, 3), "x": (8, 1), "y": (3, 2)}, ("u", "s", "y")),
        ({"u": (5, 8), "s": (5, 3), "points": (3, 2), "sensors": (8, 1)}, ("u", "s", "points")),
        ({"u_train": (5, 8), "s_train": (5, 3), "y": (3,)}, ("u_train", "s_train", "y")),
        ({"x_train": (5, 8), "y_train": (5, 3)}, ("x_train", "y_train", None)),
        ({"train_x": (5, 8), "train_y": (5, 3)}, ("train_x", "train_y", None)),
        ({"xtrain": (5, 8), "ytrain": (5, 3)}, ("xtrain", "ytrain", None)),
        ({"coeff": (5, 8, 8), "sol": (5, 8, 8), "Kcoeff": (5, 8, 8)}, ("coeff", "sol", None)),
        ({"a": (5, 8), "u": (5, 8), "a_x": (5, 8)}, ("a", "u", None)),
        (
            {"f_train": (5, 4, 3), "u_train": (5, 4, 3), "x": (1, 4), "t": (1, 3)},
            ("f_train", "u_train", ("x", "t")),
        ),
        ({"k": (5, 8), "u": (5, 3)}, ("k", "u", None)),
        ({"u0": (5, 8), "u": (5, 3)}, ("u0", "u", None)),
        ({"x": (5, 16, 16), "y": (5, 16, 16)}, ("x", "y", None)),
        ({"branch": (5, 8), "trunk": (3, 2), "output": (5, 3)}, ("branch", "output", "trunk")),
        (
            {"branch_input": (5, 8), "trunk_input": (3, 2), "output": (5, 3)},
            ("branch_input", "output", "trunk_input"),
        ),
        ({"input": (5, 8), "output": (5, 3)}, ("input", "output", None)),
        ({"inputs": (5, 8), "outputs": (5, 3), "grid": (3, 1)}, ("inputs", "outputs", "grid")),
        ({"X_train0": (5, 8), "X_train1": (3, 1), "y_train": (5, 3)}, ("X_train0", "y_train", "X_train1")),
        ({"X[0]": (5, 8), "X[1]": (3, 1), "y": (5, 3)}, ("X[0]", "y", "X[1]")),
        ({"X_test0": (5, 8), "X_test1": (3, 1), "y_test": (5, 3)}, ("X_test0", "y_test", "X_test1")),
        (
            {"nu": (5, 8, 8), "tensor": (5, 1, 8, 8), "x__coordinate": (8,), "y__coordinate": (8,)},
            ("nu", "tensor", ("x-coordinate", "y-coordinate")),
        ),
        ({"u": (5, 8), "s": (5, 4, 3), "lon": (3,), "lat": (4,)}, ("u", "s", ("lat", "lon"))),
        ({"u": (5, 8), "s": (5, 12), "x": (4,), "t": (3,)}, ("u", "s", ("x", "t"))),
        ({"u": (5, 8), "s": (5, 4, 3), "grid": (4, 3, 2)}, ("u", "s", "grid")),
        ({"u": (5, 8), "s": (5, 64, 64, 20), "t": (1, 20)}, ("u", "s", (None, None, "t"))),
    ],
)
def test_conventions(shapes, expected):
    assert found(roles_of(**shapes)) == expected


def test_sensors_and_test_functions_and_what_is_ignored():
    roles = roles_of(
        u_train=(5, 8),
        s_train=(5, 3),
        u_test=(2, 8),
        s_test=(2, 3),
        x=(8, 2),
        y=(3, 1),
        u_val=(4, 8),
        s_val=(4, 3),
    )
    assert (roles.u_test, roles.s_test, roles.sensors) == ("u_test", "s_test", "x")
    assert roles.reasons == (
        "input functions: u_train (5, 8)",
        "output functions: s_train (5, 3)",
        "test functions: u_test (2, 8) -> s_test (2, 3)",
        "points: y (3, 1)",
        "sensors: x (8, 2)",
        "ignored: u_val, s_val",
    )


def test_test_functions_of_another_resolution_are_ignored():
    roles = roles_of(u_train=(5, 8), s_train=(5, 3), u_test=(2, 16), s_test=(2, 6), u_test32=(2, 8))
    assert roles.u_test is None
    assert roles.reasons[-1] == "ignored: u_test, s_test, u_test32"


def test_values_with_a_point_of_their_own():
    roles = roles_of(u=(5, 8), idx=(20,), y=(20, 2), s=(20,), x=(8, 1))
    assert roles.scattered
    assert (roles.index, roles.points, roles.sensors) == ("idx", "y", "x")
    assert "assigned by idx (20,)" in roles.reasons[1]
    repeated = roles_of(X_train0=(20, 8), X_train1=(20, 2), y_train=(20, 1))
    assert repeated.scattered
    assert repeated.index is None
    assert "by matching inputs" in repeated.reasons[1]
    train = {"X_train0": (20, 8), "X_train1": (20, 2), "y_train": (20, 1)}
    both = roles_of(**train, X_test0=(9, 8), X_test1=(9, 2), y_test=(9, 1))
    assert (both.u_test, both.points_test) == ("X_test0", "X_test1")


def test_arrays_in_one_folder():
    roles = roles_of({"input": "T", "output": "run/S"}, **{"run/T": (5, 8), "run/S": (5, 3), "run/x": (1, 3)})
    assert found(roles) == ("run/T", "run/S", "run/x")
    assert roles.names == {"input": "T", "output": "S", "points": "x"}
    assert found(roles_of(**{"a/b/u": (5, 8), "a/b/s": (5, 3)})) == ("a/b/u", "a/b/s", None)
    data = read({"run/u": np.ones((5, 8)), "run/s": np.ones((5, 3)), "run/t": np.arange(3.0)})
    assert data.axes == ("t",)


def test_several_inputs():
    roles = roles_of(**{"X[0]": (5, 8), "X[1]": (5, 7), "X[2]": (3, 1), "y": (5, 3)})
    assert roles.u_train == {"X0": "X[0]", "X1": "X[1]"}
    assert roles.points == "X[2]"
    given = roles_of({"input": ["k", "f"], "output": "u"}, k_train=(5, 8), f_train=(5, 7), u_train=(5, 3))
    assert given.u_train == {"k": "k_train", "f": "f_train"}


def test_components():
    by_points = roles_of(u=(5, 8), s=(5, 30, 2), y=(30, 2))
    assert by_points.components
    assert not roles_of(u=(5, 8), s=(5, 30, 2), y=(60, 2)).components
    by_axes = roles_of(u=(5, 8), s=(5, 30, 20, 2), x=(30,), t=(20,))
    assert by_axes.components
    assert by_axes.points == ("x", "t")
    named = roles_of({"output": ["p", "v"], "input": "u"}, u=(5, 8), p=(5, 30), v=(5, 30), x=(30,))
    assert named.s_train == ["p", "v"]
    assert named.components
    assert named.reasons[1] == "components of the output: p (5, 30) and v (5, 30)"


def test_arrays_over_time():
    for name, shape in (("tensor", (5, 21, 8)), ("data", (5, 21, 8, 1)), ("data", (5, 21, 8, 8, 2))):
        axes = {"x__coordinate": (8,), "t__coordinate": (22,)}
        axes |= {"y__coordinate": (8,)} if len(shape) > 4 else {}
        roles = roles_of(**{name: shape}, **axes)
        assert roles.evolution
        assert roles.points[:2] == ("t-coordinate", "x-coordinate")
        assert roles.components == (shape[-1] == 2)
        assert roles.reasons[0] == f"input functions: the first time step of {name} {shape}"
    same = roles_of({"input": "v", "output": "v"}, v=(5, 6, 7))
    assert same.evolution
    with pytest.raises(InputError, match=r"both input and output.*\(N, T, ...\)"):
        roles_of({"input": "v", "output": "v"}, v=(5, 6))


def test_names_that_are_given_overrule_the_guess():
    shapes = {"u_train": (5, 8), "s_train": (5, 3), "u_test": (2, 8), "s_test": (2, 3), "p": (5, 4)}
    assert roles_of({"output": "p"}, **shapes, k=(5, 9)).s_train == "p"
    roles = roles_of({"input": "s", "output": "u"}, **shapes)
    assert (roles.u_train, roles.s_train) == ("s_train", "u_train")
    assert (roles.u_test, roles.s_test) == ("s_test", "u_test")
    assert roles_of({"input": "p"}, **shapes, s=(5, 3)).s_train == "s"
    assert roles_of({"points": "q", "sensors": "r"}, u=(5, 8), s=(5, 3), q=(3, 1), r=(8, 1)).sensors == "r"
    assert roles_of({"points": ["q", "r"]}, u=(5, 8), s=(5, 6), q=(2,), r=(3,)).points == ("q", "r")
    scattered = roles_of({"index": "which", "points": "q"}, u=(5, 8), s=(20,), q=(20, 2), which=(20,))
    assert scattered.index == "which"


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({}, r"cannot tell.*There are: alpha \(5, 8\), beta \(5, 3\).*--input NAME --output NAME --points"),
        ({"input": "alpa"}, r"--input alpa: there is no such array. Did you mean 'alpha'\? There are: alpha"),
        ({"input": "alpha", "output": ["beta", "alpha"]}, r"must have the same shape, got beta \(5, 3\)"),
        ({"input": "alpha", "output": "beta", "points": "alpha"}, r"do not fit beta \(5, 3\).*3 values"),
        ({"input": "alpha", "output": "beta", "sensors": "beta"}, r"sensors beta.*expected 8 rows"),
    ],
)
def test_what_cannot_be_told(flags, message):
    with pytest.raises(InputError, match=message):
        roles_of(flags, alpha=(5, 8), beta=(5, 3))


def test_empty_functions():
    with pytest.raises(InputError, match=r"s is empty: its shape is \(5, 0\)"):
        roles_of(u=(5, 8), s=(5, 0))


def test_names_of_dimensions_decide_where_lengths_do_not():
    shapes = {"u": (5, 6, 6), "s": (5, 6, 6, 6), "b": (6,), "a": (6,)}
    arrays = Arrays({name: np.zeros(shape) for name, shape in shapes.items()})
    arrays.dims = {"u": ("run", "b", "a"), "s": ("run", "a", "b", "channel"), "a": ("a",), "b": ("b",)}
    roles = find_roles(arrays)
    assert (roles.points, roles.sensors, roles.components) == (("a", "b"), ("b", "a"), True)
