"""Coordinates keep the names that their file gives them."""

import numpy as np
import pytest

from elmonet import read

X, T = np.linspace(0, 1, 4), np.linspace(0, 2, 3)
GRID = np.stack(np.meshgrid(X, T, indexing="ij"), axis=-1).reshape(-1, 2)
U, S = np.arange(40.0).reshape(5, 8), np.arange(60.0).reshape(5, 4, 3)
FLAT = S.reshape(5, 12)


@pytest.fixture
def names(tmp_path):
    """The names of the coordinates in an npz file of these arrays."""

    def names(arrays, **given):
        np.savez(tmp_path / "data.npz", **arrays)
        return read(tmp_path / "data.npz", **given).axes

    return names


@pytest.mark.parametrize(
    ("arrays", "axes"),
    [
        ({"s": S, "x": X, "t": T}, ("x", "t")),
        ({"s": S, "grid_x": X, "t-coordinate": T}, ("x", "t")),
        ({"s": S, "Lon": X, "time": T}, ("Lon", "time")),
        ({"s": FLAT, "xt": GRID}, ("x", "t")),
        ({"s": S[:, :, 0], "x": X}, ("x",)),
        ({"s": S[:, 0], "t": T}, ("t",)),
        ({"s": FLAT, "points": GRID}, None),
        ({"s": np.ones((5, 4, 30)), "x": X}, None),  # the second axis has no name
        ({"s": FLAT}, None),
    ],
)
def test_of_arrays(names, arrays, axes):
    assert names({"u": U, **arrays}) == axes


def test_of_arrays_that_are_named_by_hand(names):
    assert names({"u": U, "s": S, "radius": X, "angle": T}, points=["radius", "angle"]) == ("radius", "angle")


def test_of_the_columns_of_a_table(names, tmp_path):
    table = tmp_path / "where.csv"
    np.savetxt(table, GRID, delimiter=",", header="east,north", comments="")
    assert names({"u": U, "s": FLAT}, points=table) == ("east", "north")


def test_of_scattered_outputs(names):
    index = np.repeat(np.arange(5), 4)
    arrays = {"u": U, "s": np.ones(20), "index": index, "xy": np.random.default_rng(0).random((20, 2))}
    assert names(arrays) == ("x", "y")


def test_of_xarray_and_back(tmp_path):
    xarray = pytest.importorskip("xarray")
    dataset = xarray.Dataset(
        {"u": (("function", "x"), U), "s": (("function", "depth", "time"), S)},
        {"x": np.arange(8.0), "depth": X, "time": T},
    )
    data = read(dataset)
    assert data.axes == ("depth", "time")
    assert "at 12 points in 2-D (depth, time)" in repr(data)
    assert read(data.to_xarray()).axes == ("depth", "time")


def test_of_hdf5_zarr_and_matlab(tmp_path):
    from scipy.io import savemat

    arrays = {"u": U, "s": S, "x": X, "t": T}
    savemat(tmp_path / "data.mat", arrays)
    assert read(tmp_path / "data.mat").axes == ("x", "t")
    h5py, zarr = pytest.importorskip("h5py"), pytest.importorskip("zarr")
    with h5py.File(tmp_path / "data.h5", "w") as file:
        for name, array in arrays.items():
            file[name] = array
    assert read(tmp_path / "data.h5").axes == ("x", "t")
    group = zarr.open_group(tmp_path / "data.zarr", mode="w")
    for name, array in arrays.items():
        group.create_array(name, data=array)
    assert read(tmp_path / "data.zarr").axes == ("x", "t")
