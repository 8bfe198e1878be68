"""Every kind of file gives back what was written into it."""

import numpy as np
import pytest

from elmonet import FileError, MissingExtra, NotEnoughMemory
from elmonet.data import limits as guard
from elmonet.data.formats import open_arrays

rng = np.random.default_rng(0)
U, S, POINTS = rng.normal(size=(5, 4)), rng.normal(size=(5, 3, 2)), rng.normal(size=(6, 2))


def assert_holds(arrays, **expected):
    assert set(arrays) == set(expected)
    for name, array in expected.items():
        assert arrays[name].shape == np.shape(array)
        np.testing.assert_array_equal(np.asarray(arrays[name]), array)


def test_npz_packed_and_not(tmp_path):
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "a.npz", u=U, s=np.asfortranarray(S), n=np.int32(3), words=np.array(["x"]))
        arrays = open_arrays(tmp_path / "a.npz")
        assert_holds(arrays, u=U, s=S, n=3)
        assert arrays.format == "npz"
        assert arrays.skipped == ["words"]
        arrays["u"][0, 0] = 1.0  # an array of our own, that can be written to


def test_npy_is_mapped_not_read(tmp_path):
    for name, array in (("plain", S), ("fortran", np.asfortranarray(S)), ("none", np.empty((0, 3)))):
        np.save(tmp_path / f"{name}.npy", array)
        assert_holds(open_arrays(tmp_path / f"{name}.npy"), **{name: array})
    assert isinstance(open_arrays(tmp_path / "plain.npy")["plain"], np.memmap)
    assert_holds(open_arrays(tmp_path), plain=S, fortran=S, none=np.empty((0, 3)))


def test_tensors_without_pytorch(tmp_path):
    torch = pytest.importorskip("torch")
    u = torch.tensor(U)
    content = {
        "x": u.T,  # strides that are not in order
        "row": u[1:3, 1],
        "half": torch.tensor([1.5, -2.0], dtype=torch.float16),
        "brain": torch.tensor([1.5, -2.0], dtype=torch.bfloat16),
        "mask": torch.tensor([[True, False]]),
        "more": {"whole": torch.arange(3), "small": torch.tensor([1, 2], dtype=torch.int8)},
        "same": torch.ones(1, 3).expand(4, 3),
        "parameter": torch.nn.Parameter(u[0]),
        "empty": torch.zeros(0, 2),
        "numpy": S,
        "name": "a text",
        "rate": 0.25,
    }
    torch.save(content, tmp_path / "a.pt")
    arrays = open_arrays(tmp_path / "a.pt")
    expected = {"x": U.T, "row": U[1:3, 1], "half": [1.5, -2.0], "brain": [1.5, -2.0], "mask": [[1, 0]]}
    expected |= {"more.whole": [0, 1, 2], "more.small": [1, 2], "same": np.ones((4, 3)), "parameter": U[0]}
    expected |= {"empty": np.zeros((0, 2)), "numpy": S, "rate": 0.25}
    assert_holds(arrays, **expected)
    assert arrays.skipped == ["name"]
    torch.save(u, tmp_path / "one.pth")
    assert_holds(open_arrays(tmp_path / "one.pth"), tensor=U)
    torch.save([u, u[0]], tmp_path / "list.pt")
    assert_holds(open_arrays(tmp_path / "list.pt"), **{"0": U, "1": U[0]})
    torch.save(torch.nn.Linear(3, 2).state_dict(), tmp_path / "state.pt")
    assert set(open_arrays(tmp_path / "state.pt")) == {"weight", "bias"}


def test_old_tensors_say_how_to_save_them_again(tmp_path):
    torch = pytest.importorskip("torch")
    torch.save({"x": torch.tensor(U)}, tmp_path / "old.pt", _use_new_zipfile_serialization=False)
    with pytest.raises(FileError, match=r"old format.*torch\.save"):
        open_arrays(tmp_path / "old.pt")


def test_hdf5_with_groups_and_any_suffix(tmp_path):
    h5py = pytest.importorskip("h5py")
    for name in ("a.h5", "a.anything"):
        with h5py.File(tmp_path / name, "w") as file:
            file["u"], file["deep/s"], file["n"], file["word"] = U, S, 3.0, "text"
            file["elsewhere"] = h5py.ExternalLink("other.h5", "/u")
        with open_arrays(tmp_path / name) as arrays:
            assert_holds(arrays, **{"u": U, "deep/s": S, "n": 3.0})
            assert arrays.skipped == ["word"]


def test_hdf5_with_a_group_for_each_function(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for i, function in enumerate(S):
            file[f"{i:04d}/data"], file[f"{i:04d}/grid/x"] = function, np.arange(3.0)
    with open_arrays(tmp_path / "a.h5") as arrays:
        assert_holds(arrays, **{"data": S, "grid/x": np.arange(3.0)})
        np.testing.assert_array_equal(arrays["data"][1:4, 1], S[1:4, 1])
    with h5py.File(tmp_path / "a.h5", "a") as file:
        file["0005/data"] = np.ones(7)
    with open_arrays(tmp_path / "a.h5") as arrays:
        assert "0005/data" in arrays  # not alike: left as they are
        assert "data" not in arrays


def test_zarr(tmp_path):
    zarr = pytest.importorskip("zarr")
    for version in (2, 3):
        group = zarr.open_group(tmp_path / f"v{version}.zarr", mode="w", zarr_format=version)
        group.create_array("u", data=U)
        group.create_group("deep").create_array("s", data=S, chunks=(2, 3, 2))
        arrays = open_arrays(tmp_path / f"v{version}.zarr")
        assert_holds(arrays, **{"u": U, "deep/s": S})
    zarr.save_array(tmp_path / "one.zarr", U)
    assert_holds(open_arrays(tmp_path / "one.zarr"), one=U)


@pytest.mark.parametrize("engine", ["h5netcdf", "scipy"])
def test_netcdf(tmp_path, engine):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    dataset = xarray.Dataset(
        {"u": (("run", "x"), U), "s": (("component", "run", "p"), S.transpose(2, 0, 1))},
        {
            "x": np.arange(4.0),
            "component": ["p", "v"],
            "time": ("run", np.arange(5), {"units": "days since 2000-1-1"}),
        },
    )
    dataset.to_netcdf(tmp_path / "a.nc", engine=engine)
    with open_arrays(tmp_path / "a.nc") as arrays:
        assert_holds(arrays, u=U, s=S, x=np.arange(4.0), time=np.arange(5))
        assert arrays.dims["s"] == ("run", "p", "component")
        assert arrays.labels == {"component": ("p", "v")}
        np.testing.assert_array_equal(arrays["u"][2], U[2])


def test_csv(tmp_path):
    (tmp_path / "a.csv").write_text('u0,u1,"s_1",s_2,x,k3\n1,2,3,4,5,6\n\n7,8,9,10,nan,12\n')
    arrays = open_arrays(tmp_path / "a.csv")
    assert_holds(arrays, u=[[1, 2], [7, 8]], s=[[3, 4], [9, 10]], x=[5, np.nan], k3=[6, 12])
    (tmp_path / "b.txt").write_text("# a comment\n1 2\n3 4\n")
    assert_holds(open_arrays(tmp_path / "b.txt"), b=[[1, 2], [3, 4]])
    (tmp_path / "c.strange").write_text("u1;u2\n1;2\n")
    assert_holds(open_arrays(tmp_path / "c.strange"), u=[[1, 2]])


def test_csv_that_is_no_table(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("u,s\n1,2\n3\n")
    with pytest.raises(FileError, match=r"line 3 of .* has 1 cells, where"):
        open_arrays(tmp_path / "a.csv")
    monkeypatch.setattr("elmonet.data.formats.text._MAX_BYTES", 5)
    with pytest.raises(FileError, match=r"takes very long to read. Write it as npz"):
        open_arrays(tmp_path / "a.csv")


def test_what_elmonet_does_not_read_is_told_what_it_reads(tmp_path):
    for name, content, message in (
        ("a.xyz", b"\x00\x01\x02", r"not a kind of file that elmonet reads.*MATLAB.*npz.*zarr"),
        ("notes.md", b"Some words.\nMore words.\n", "not a kind of file that elmonet reads"),
        ("a.npz", b"PK\x03\x04 and nonsense", "cannot be opened: BadZipFile"),
        ("a.gz", b"\x1f\x8b123", "Unpack it first"),
        ("a.h5", b"not this", "cannot be opened|pip install"),
        ("a.pkl", b"cos\nsystem\n", "is a pickle.*does not run.*np.savez"),
        ("a.unknown", b"\x80\x04K\x01.", "is a pickle"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises((FileError, MissingExtra), match=message):
            open_arrays(tmp_path / name)
    with pytest.raises(FileError, match="there is no file or folder"):
        open_arrays(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileError, match="holds neither npy files nor a zarr group"):
        open_arrays(tmp_path / "empty")


def test_a_missing_package_is_named_with_the_line_that_installs_it(tmp_path, monkeypatch):
    def nothing(name):
        raise ImportError(name)

    monkeypatch.setattr(guard, "import_module", nothing)
    (tmp_path / "a.h5").write_bytes(b"\x89HDF\r\n\x1a\n")
    (tmp_path / "a.nc").write_bytes(b"CDF\x01")
    (tmp_path / "a.zarr").mkdir()
    for name, package in (("a.h5", "h5py"), ("a.nc", "xarray"), ("a.zarr", "zarr")):
        with pytest.raises(MissingExtra, match=rf"pip install 'elmonet\[{package}\]'"):
            open_arrays(tmp_path / name)


def npy_header(shape, descr="<f8"):
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def test_declared_sizes_are_checked_before_anything_is_allocated(tmp_path, monkeypatch):
    from zipfile import ZipFile

    (tmp_path / "a.npy").write_bytes(npy_header((10**9, 10**6)) + bytes(80))
    with pytest.raises(FileError, match="takes 8000000000000000 bytes, but 80 are there"):
        open_arrays(tmp_path / "a.npy")
    with ZipFile(tmp_path / "a.npz", "w") as file:
        file.writestr("u.npy", npy_header((10**12,)) + bytes(80))
    with pytest.raises(FileError, match="but 80 are there"):
        open_arrays(tmp_path / "a.npz")
    np.savez_compressed(tmp_path / "bomb.npz", u=np.zeros(10**6))
    monkeypatch.setattr(guard, "available", lambda: 10**6)
    with pytest.raises(NotEnoughMemory, match=r"needs 7.63 MiB of memory; .* are free.*fit in blocks"):
        open_arrays(tmp_path / "bomb.npz")
