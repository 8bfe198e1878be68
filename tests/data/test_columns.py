"""Functions in columns, as is common in MATLAB: noticed, and read with `transpose`."""

import warnings

import numpy as np
import pytest

from elmonet import FunctionsInColumnsWarning, InputError
from elmonet.data import Scattered, read
from elmonet.data.reading import open_pairs
from elmonet.data.role_search import find_roles

rng = np.random.default_rng(0)
N, X, Y = 40, np.linspace(0, 1, 30), np.linspace(0, 2, 25)
U, S, T = rng.normal(size=(N, 30)), rng.normal(size=(N, 30)), rng.normal(size=(N, 25))
FIELDS = rng.normal(size=(N, 6, 7))
CALL = r"If each column is a function: --transpose, or in Python read\(file, transpose=True\)"


@pytest.fixture
def file(tmp_path):
    def save(**arrays):
        np.savez(tmp_path / "data.npz", **arrays)
        return tmp_path / "data.npz"

    return save


@pytest.mark.parametrize("name", ["x", "points", "sensors", "grid", "x-coordinate", "t"])
@pytest.mark.parametrize("shape", [(30,), (30, 1), (1, 30)])
def test_coordinates_that_fit_the_columns_are_noticed(file, name, shape):
    path = file(u=U.T, s=S.T, **{name: X.reshape(shape)})
    listed = rf"u \(30, 40\) and s \(30, 40\) are taken as 30 functions, one per row, but {name} \((1, )?30"
    with pytest.warns(FunctionsInColumnsWarning, match=rf"{listed}.* fits their columns.*{CALL}"):
        as_rows = read(path)
    np.testing.assert_array_equal(as_rows.u_train, U.T)
    data = read(path, transpose=True)  # a warning would be an error here
    np.testing.assert_array_equal(data.u_train, U)
    np.testing.assert_array_equal(data.s_train, S)
    np.testing.assert_array_equal(data.sensors if name == "sensors" else data.points, X[:, None])


def test_it_is_said_among_the_reasons():
    arrays = {"u": U.T, "s": S.T, "x": X}
    said = [reason for reason in find_roles(arrays).reasons if "transpose" in reason]
    assert len(said) == 1
    assert said[0].startswith("please check: u (30, 40) and s (30, 40) are taken as 30 functions")
    assert "each column is a function (--transpose)" in find_roles(arrays, transpose=True).reasons


@pytest.mark.parametrize(
    "arrays",
    [
        {"u": U, "s": S, "x": X},  # rows, and coordinates for them
        {"u": U, "s": T, "y": Y},
        {"u": U.T, "s": S.T},  # nothing to compare with
        {"u": U[:30], "s": S[:30], "x": X},  # square: lengths do not tell
        {"u": U[:30], "s": T[:30], "x": X, "y": Y},  # y fits the rows
        {"u": FIELDS, "s": FIELDS, "x": np.arange(6.0), "y": np.arange(7.0)},
        {"u": U, "s": FIELDS, "t": np.arange(7.0)},
        {"tensor": rng.normal(size=(5, 6, 7)), "x": np.arange(7.0)},
        {
            "X_train0": np.repeat(U, 2, axis=0),
            "X_train1": rng.random((80, 2)),
            "y_train": rng.random((80, 1)),
        },
    ],
)
def test_nothing_is_said_without_a_reason(file, arrays):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read(file(**arrays))


def test_fields_and_test_functions(file):
    moved = np.moveaxis(FIELDS, 0, -1)
    axes = {"x": np.arange(6.0), "y": np.arange(7.0)}
    with pytest.warns(FunctionsInColumnsWarning, match=r"the grid of x \(6,\) and y \(7,\) fits"):
        read(file(u=moved, s=moved, **axes))
    parts = {"u_train": moved, "s_train": moved, "u_test": moved[..., :3], "s_test": moved[..., :3]}
    data = read(file(**parts, **axes), transpose=True)
    np.testing.assert_array_equal(data.s_train, FIELDS)
    np.testing.assert_array_equal(data.u_test, FIELDS[:3])
    assert len(data.points) == 42


def test_few_functions_in_columns_are_not_values_with_their_own_points(file):
    path = file(u=U[:8].T, s=S[:8].T, points=X[:, None])
    with pytest.warns(FunctionsInColumnsWarning, match=CALL):
        assert isinstance(read(path).s_train, Scattered)
    assert read(path, transpose=True).s_train.shape == (8, 30)


def test_inputs_and_outputs_of_different_lengths(file):
    path = file(u=U.T, s=T.T, y=Y)  # 30 rows and 25: no pair as they are
    with pytest.raises(
        InputError, match=r"got 30 and 25.*It fits with each column as a function: --transpose"
    ):
        read(path)
    data = read(path, transpose=True)
    assert (data.u_train.shape, data.s_train.shape, len(data.points)) == ((N, 30), (N, 25), 25)
    with pytest.raises(InputError, match=r"do not fit s \(30, 40\).*It fits with each column"):
        read(file(u=U.T, s=S.T, where=X), points="where")


def test_several_inputs_components_and_an_index(file):
    path = file(k=U.T, f=T.T, p=S.T, v=-S.T, x=X)
    data = read(path, input=["k", "f"], output=["p", "v"], transpose=True)
    np.testing.assert_array_equal(data.u_train["f"], T)
    np.testing.assert_array_equal(data.s_train, np.stack([S, -S], axis=-1))
    index, points, values = rng.integers(N, size=90), rng.random((90, 2)), rng.random(90)
    data = read(file(u=U.T, s=values, points=points, index=index), transpose=True)
    np.testing.assert_array_equal(data.u_train, U)
    np.testing.assert_array_equal(data.s_train.index, index)


def test_arrays_on_disk_are_read_by_columns(tmp_path, monkeypatch):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as content:
        content["u"], content["s"], content["x"] = np.moveaxis(FIELDS, 0, -1), S.T, X
    u, s, points, roles = open_pairs(tmp_path / "a.h5", transpose=True)
    assert (u.shape, s.shape, roles.transpose) == ((N, 6, 7), (N, 30), True)
    np.testing.assert_array_equal(u[3:9], FIELDS[3:9])
    np.testing.assert_array_equal(u[4, 2], FIELDS[4, 2])
    np.testing.assert_array_equal(points, X[:, None])
    # Room is asked for a block, not for the whole.
    monkeypatch.setattr("elmonet.data.limits._UNCHECKED_BYTES", 0)
    monkeypatch.setattr("elmonet.data.limits.available", lambda: 8 * 30 * 5)
    np.testing.assert_array_equal(s[10:15], S[10:15])


def test_an_array_over_time_in_columns(file):
    v = rng.normal(size=(N, 5, 30))
    data = read(file(tensor=np.moveaxis(v, 0, -1), x=X), transpose=True)
    np.testing.assert_array_equal(data.u_train, v[:, 0])
    np.testing.assert_array_equal(data.s_train, v[:, 1:])
