"""Files that are opened, not read."""

import numpy as np
import pytest

from elmonet import FileError, InputError
from elmonet.data.reading import open_pairs

u, s, points = np.arange(12.0).reshape(4, 3), np.arange(8.0).reshape(4, 2), np.array([[0.0], [1.0]])


def test_a_folder_of_npy(tmp_path):
    for name, array in (("u_train", u), ("s_train", s), ("points", points)):
        np.save(tmp_path / f"{name}.npy", array)
    found = open_pairs(tmp_path)
    assert isinstance(found[0], np.memmap)
    for array, expected in zip(found[:3], (u, s, points), strict=True):
        np.testing.assert_array_equal(array, expected)


def test_hdf5_and_zarr(tmp_path):
    h5py, zarr = pytest.importorskip("h5py"), pytest.importorskip("zarr")
    with h5py.File(tmp_path / "data.h5", "w") as file:
        file["u"], file["s"] = u, s
    group = zarr.open_group(tmp_path / "data.zarr", mode="w")
    group.create_array("u", data=u)
    group.create_array("s", data=s)
    for name in ("data.h5", "data.zarr"):
        found = open_pairs(tmp_path / name)
        np.testing.assert_array_equal(found[0][1:3], u[1:3])
        np.testing.assert_array_equal(found[1][:], s)
        assert found[2] is None


def test_grids_become_rows_and_vectors_stay(tmp_path):
    h5py = pytest.importorskip("h5py")
    grid, vector = np.arange(24.0).reshape(4, 2, 3), np.arange(16.0).reshape(4, 2, 2)
    with h5py.File(tmp_path / "data.h5", "w") as file:
        file["a"], file["u"], file["v"] = u, grid, vector
    np.testing.assert_array_equal(open_pairs(tmp_path / "data.h5")[1][:], grid.reshape(4, 6))
    found = open_pairs(tmp_path / "data.h5", input="a", output="v", points=points)
    np.testing.assert_array_equal(found[1][1:], vector[1:])
    np.testing.assert_array_equal(found[2], points)


def test_what_is_fitted_in_memory(tmp_path):
    np.savez(tmp_path / "a.npz", u=u, idx=np.zeros(6, int), y=np.ones((6, 2)), s=np.ones(6))
    with pytest.raises(InputError, match=r"scattered outputs are fitted in memory.*read\("):
        open_pairs(tmp_path / "a.npz")
    np.savez(tmp_path / "a.npz", k=u, f=u, s=s)
    with pytest.raises(InputError, match="several input functions are fitted in memory"):
        open_pairs(tmp_path / "a.npz", input=["k", "f"], output="s")


def test_what_cannot_be_opened(tmp_path):
    with pytest.raises(FileError, match="there is no file"):
        open_pairs(tmp_path / "nowhere")
    (tmp_path / "data.csv").write_text("1,2")
    with pytest.raises(InputError, match=r"cannot tell.*There are: data \(1, 2\).*--input NAME"):
        open_pairs(tmp_path / "data.csv")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileError, match="holds neither npy files nor a zarr group"):
        open_pairs(tmp_path / "empty")
    np.save(tmp_path / "empty" / "u.npy", np.array([{}], object), allow_pickle=True)
    with pytest.raises(InputError, match="holds no array of numbers"):  # the pickled dict is empty
        open_pairs(tmp_path / "empty")
    pytest.importorskip("h5py")
    (tmp_path / "data.h5").write_bytes(b"not this")
    with pytest.raises(FileError, match="cannot be opened"):
        open_pairs(tmp_path / "data.h5")
