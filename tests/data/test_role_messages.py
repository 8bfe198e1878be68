"""What is wrong with the arrays of a file is said with their names and numbers."""

import numpy as np
import pytest

from elmonet import read
from elmonet.data.role_search import find_roles
from elmonet.data.scattered import Scattered
from elmonet.errors import InputError


def roles_of(**shapes):
    return find_roles({name: np.ones(shape) for name, shape in shapes.items()})


@pytest.mark.parametrize(
    ("shapes", "names"),
    [
        ({"u": (50, 30), "s": (40, 30)}, {}),
        ({"f_train": (50, 30), "u_train": (40, 30), "y": (30,)}, {}),
        ({"u": (50, 30), "s": (40, 30)}, {"input": "u", "output": "s"}),
        ({"a": (50, 30), "b": (40, 30)}, {"input": "a", "output": "b"}),
        ({"u": (50, 30), "b": (40, 30)}, {"output": "b"}),
    ],
)
def test_different_numbers_of_functions(shapes, names):
    u, s = list(shapes)[:2]
    message = rf"inputs {u} \(50, 30\) and the outputs {s} \(40, 30\) .* same number .*, got 50 and 40"
    with pytest.raises(InputError, match=message):
        find_roles({name: np.ones(shape) for name, shape in shapes.items()}, **names)


def test_several_inputs_of_different_numbers():
    with pytest.raises(InputError, match=r"the inputs b \(39, 1\) and the outputs s \(40, 30\)"):
        find_roles({"a": np.ones((40, 2)), "b": np.ones((39, 1)), "s": np.ones((40, 30))},
                   input=["a", "b"], output="s")  # fmt: skip


def test_what_is_no_pair_is_not_blamed_for_its_number():
    with pytest.raises(InputError, match="cannot tell which arrays"):
        roles_of(x=(30, 1), y=(40, 30))  # x are points
    with pytest.raises(InputError, match="cannot tell which arrays"):
        roles_of(a=(30, 5), b=(40, 30))


@pytest.mark.parametrize("shape", [(29,), (29, 1), (29, 2), (1, 29), (2, 30)])
def test_points_that_do_not_fit(shape):
    came = "29" if shape != (2, 30) else r"\(2, 30\)"
    with pytest.raises(
        InputError, match=rf"points \(.*\) does not fit .* s \(50, 30\).*\(30, d\).*got {came}\. "
    ):
        roles_of(u=(50, 20), s=(50, 30), points=shape)


def test_points_that_fit_an_axis_are_left_to_the_fit():
    assert roles_of(u=(50, 20), s=(50, 2, 30), points=(30, 1)).points is None  # components first
    assert roles_of(u=(50, 20), s=(50, 1), points=(7, 1)).points is None  # a number has no points


def test_other_points_may_be_given():
    data = read({"u": np.ones((5, 4)), "s": np.ones((5, 3)), "points": np.ones(2)}, points=np.arange(3.0))
    np.testing.assert_array_equal(data.points.ravel(), [0, 1, 2])


def long_table(lengths=(4, 4, 4), labels=(3, 7, 5), k=True):
    t = [np.linspace(0, 1, n) for n in lengths]
    return {
        "t": np.concatenate(t),
        "force": np.concatenate([np.sin(x + i) for i, x in enumerate(t)]),
        "disp": np.concatenate([np.cos(x + i) for i, x in enumerate(t)]),
        "run": np.repeat(labels, lengths).astype(float),
        **({"k": np.repeat([0.1, 0.2, 0.3], lengths)} if k else {}),
    }


NAMES = {"index": "run", "input": "force", "output": "disp"}


@pytest.mark.parametrize("points", [None, "t"])
def test_a_long_table_of_functions_at_the_same_points(points):
    data = read(long_table(), **NAMES, points=points)
    x = np.linspace(0, 1, 4)
    order = [0, 2, 1]  # by their labels 3, 5, 7
    np.testing.assert_array_equal(data.u_train, [np.sin(x + i) for i in order])
    np.testing.assert_array_equal(data.s_train, [np.cos(x + i) for i in order])
    np.testing.assert_array_equal(data.points, x[:, None])
    np.testing.assert_array_equal(data.sensors, x[:, None])
    assert data.axes == ("t",)
    shuffled = np.random.default_rng(0).permutation(3)
    rows = np.concatenate([np.arange(4) + 4 * i for i in shuffled])
    again = read({name: column[rows] for name, column in long_table().items()}, **NAMES)
    np.testing.assert_array_equal(again.u_train, data.u_train)


def test_a_long_table_with_numbers_that_are_repeated():
    table = long_table((4, 6, 5))
    data = read(table, index="run", input="k", output="disp")
    np.testing.assert_array_equal(data.u_train, [[0.1], [0.3], [0.2]])
    assert isinstance(data.s_train, Scattered)
    np.testing.assert_array_equal(data.s_train.index, np.repeat([0, 2, 1], (4, 6, 5)))
    np.testing.assert_array_equal(data.s_train.points[:, 0], table["t"])
    both = read(long_table(), index="run", input=["k", "force"], output="disp")
    assert {name: part.shape for name, part in both.u_train.items()} == {"k": (3, 1), "force": (3, 4)}


def test_a_long_table_with_two_coordinates():
    x, t = np.meshgrid([0.0, 1.0], [0.0, 0.5, 1.0])
    table = {"x": np.tile(x.ravel(), 2), "t": np.tile(t.ravel(), 2), "s": np.arange(12.0)}
    table |= {"u": np.repeat([1.0, 2.0], 6), "index": np.repeat([0, 1], 6)}
    for given in (None, ["x", "t"]):
        data = read(table, points=given)
        np.testing.assert_array_equal(data.s_train.points, np.stack([table["x"], table["t"]], axis=1))
        assert data.axes == ("x", "t")


def test_a_long_table_of_different_lengths_or_points():
    records = read(long_table((4, 6, 5)), **NAMES)  # records in time may differ in length
    assert [len(s) for s in records.s_train] == [4, 5, 6]  # in the order of the runs' numbers
    table = long_table()
    table["t"][1] = 0.4
    with pytest.raises(InputError, match=r"the input varies .* have different points"):
        read(table, **NAMES)
