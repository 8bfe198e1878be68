"""What is written is read back, and an old file stays until the new one is whole."""

import numpy as np
import pytest

from elmonet import FileError, InputError
from elmonet.data import write
from elmonet.data.formats import open_arrays
from elmonet.data.write import write_data

rng = np.random.default_rng(0)
ARRAYS = {"u": rng.normal(size=(5, 4)), "s": rng.normal(size=(5, 4, 4)), "x": np.arange(4.0)}
TABLE = {"u": rng.normal(size=(5, 2)), "s2": rng.normal(size=(5, 3)), "k": np.arange(5.0)}
NEEDS = {".h5": "h5py", ".hdf5": "h5py", ".zarr": "zarr", ".nc": "h5netcdf"}


@pytest.mark.parametrize("suffix", [".npz", "", ".h5", ".hdf5", ".zarr", ".mat", ".nc", ".csv"])
def test_written_and_read_back(tmp_path, suffix):
    if suffix in NEEDS:
        pytest.importorskip(NEEDS[suffix])
    arrays, path = TABLE if suffix == ".csv" else ARRAYS, tmp_path / f"data{suffix}"
    for factor in (1.0, 2.0):  # the second time over the first
        write_data(path, {name: factor * array for name, array in arrays.items()})
        with open_arrays(path) as back:
            assert set(back) == set(arrays)
            for name, array in arrays.items():
                expected = factor * (array[:, None] if suffix == ".mat" and array.ndim == 1 else array)
                np.testing.assert_array_equal(np.asarray(back[name]), expected)
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]  # nothing is left beside it


def test_one_array(tmp_path):
    write_data(tmp_path / "a.npy", {"u": ARRAYS["u"]})
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), ARRAYS["u"])


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    write_data(tmp_path / "a.npz", {"u": np.ones(3)})

    def fails(path, arrays, note):
        path.write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setitem(write._WRITERS, ".npz", fails)
    with pytest.raises(FileError, match=r"disk full.*What was there before is unchanged"):
        write_data(tmp_path / "a.npz", ARRAYS)
    np.testing.assert_array_equal(open_arrays(tmp_path / "a.npz")["u"], np.ones(3))
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.npz"]


@pytest.mark.parametrize(
    ("name", "arrays", "message"),
    [
        ("a.xlsx", ARRAYS, r"its ending must be one of \.npz, .*\.csv"),
        ("nowhere/a.npz", ARRAYS, "there is no folder"),
        ("a.npz", {}, "no array to write"),
        ("a.npz", {"file": np.ones(2)}, "Rename it"),
        ("a.npz", {"u": np.array(["text"])}, "only numbers are written"),
        ("a.npy", ARRAYS, "an npy file holds one array"),
        ("a", {"../u": np.ones(2)}, "cannot be a file name"),
        ("a.mat", {"X[0]": np.ones(2)}, "is not a name in MATLAB"),
        ("a.csv", ARRAYS, "must have the same number of rows"),
        ("a.csv", {"a,b": np.ones(2)}, "letters, digits and _"),
    ],
)
def test_what_cannot_be_written(tmp_path, name, arrays, message):
    with pytest.raises((FileError, InputError), match=message):
        write_data(tmp_path / name, arrays)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_not_replaced_by_a_file(tmp_path):
    (tmp_path / "a.npz").mkdir()
    with pytest.raises(FileError, match=r"it is a folder\. Name a file in it"):
        write_data(tmp_path / "a.npz", ARRAYS)
