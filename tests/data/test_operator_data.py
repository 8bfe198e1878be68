import numpy as np
import pytest

from elmonet.data import OperatorData, Scattered
from elmonet.errors import InputError


def parts(**changes):
    fields = {
        "u_train": np.ones((4, 6)),
        "s_train": np.ones((4, 5)),
        "u_test": np.ones((2, 6)),
        "s_test": np.ones((2, 5)),
        "sensors": np.zeros((6, 1)),
        "points": np.zeros((5, 2)),
    }
    return fields | changes


def test_keeps_the_arrays_it_is_given():
    fields = parts()
    data = OperatorData(**fields)
    assert all(getattr(data, name) is array for name, array in fields.items())
    assert data.name == ""


def test_takes_images_whose_pixels_are_the_sensors():
    data = OperatorData(**parts(u_train=np.ones((4, 2, 3)), u_test=np.ones((2, 2, 3))))
    assert "u (N, 2, 3) at 6 sensors in 1-D -> s (N, 5) at 5 points in 2-D" in repr(data)


def test_repr_is_two_short_lines_without_arrays():
    text = repr(OperatorData(**parts(), name="heat"))
    assert text.startswith("OperatorData 'heat': 4 training and 2 test functions\n")
    assert len(text.splitlines()) == 2
    assert "array" not in text


def test_outputs_may_be_grids_vectors_or_scattered():
    grid = OperatorData(**parts(s_train=np.ones((4, 5, 1)), s_test=np.ones((2, 5, 1))))
    assert "s (N, 5, 1) at 5 points" in repr(grid)
    vector = {"s_train": np.ones((4, 5, 2)), "s_test": np.ones((2, 5, 2)), "components": ["p", "v"]}
    assert OperatorData(**parts(**vector)).components == ("p", "v")
    assert OperatorData(**parts(**vector, points=None)).points is None
    scattered = Scattered([0, 3], [0.0, 1.0], [1.0, 2.0])
    data = OperatorData(np.ones((4, 6)), scattered)
    assert repr(data).endswith("u (N, 6) -> s: 2 values of 2 functions, at points in 1-D")


def test_inputs_may_be_several():
    data = OperatorData({"k": np.ones((4, 6)), "f": np.ones((4, 2, 2))}, np.ones((4, 5)))
    assert repr(data) == "OperatorData: 4 functions\n  k (N, 6) and f (N, 2, 2) -> s (N, 5)"


def test_is_frozen():
    with pytest.raises(AttributeError):
        OperatorData(**parts()).name = "other"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"u_train": np.ones((3, 6))}, r"same number of functions, got 3 and 4.*Row i of s_train"),
        ({"s_test": np.ones((3, 5))}, r"same number of functions, got 2 and 3.*Row i of s_test"),
        ({"s_train": np.ones((4, 7))}, r"points must be \(7, d\).*got \(5, 2\)"),
        ({"s_test": np.ones((2, 7))}, r"points must be \(7, d\).*value of a function in s_test"),
        ({"sensors": np.zeros((7, 1))}, r"sensors must be \(6, d\).*got \(7, 1\)"),
        ({"sensors": np.zeros(6)}, r"sensors must be \(6, d\).*got \(6,\).*x\[:, None\]"),
        ({"u_test": np.ones((2, 2, 3))}, r"same shape per function, got \(6,\) and \(2, 3\)"),
        ({"u_train": np.ones(6)}, r"u_train must be \(N, m\) or \(N, H, W\).*got \(6,\)"),
        ({"s_train": np.ones(4)}, r"s_train must be \(N, M\).*\(4,\)"),
        (
            {"s_train": np.ones((4, 5, 2))},
            r"s_train and s_test must have the same shape.*\(5, 2\) and \(5,\)",
        ),
        ({"s_train": np.ones((4, 2, 3))}, r"points must be \(6, d\)"),
        ({"s_test": None}, "u_test and s_test belong together"),
        ({"u_train": {}}, "empty dict"),
        ({"u_train": {"k": np.ones((4, 6))}}, r"same shape per function, got k \(6,\) and \(6,\)"),
        ({"u_train": {"k": np.ones((3, 6))}}, r"u_train\['k'\] and s_train must hold the same number"),
        ({"components": ("p", "v")}, "components names 2, but s_train has 1"),
        (
            {"s_train": Scattered([0, 7], [0.0, 1.0], [1.0, 2.0])},
            "s_train names function 7, but u_train has 4",
        ),
    ],
)
def test_arrays_that_disagree_raise(changes, message):
    with pytest.raises(InputError, match=message):
        OperatorData(**parts(**changes))
