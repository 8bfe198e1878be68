"""MATLAB's files of every version."""

import zlib

import numpy as np
import pytest

from elmonet import FileError
from elmonet.data.formats import open_arrays

rng = np.random.default_rng(0)
U, S = rng.normal(size=(5, 4)), rng.normal(size=(5, 3, 2))


def assert_holds(arrays, **expected):
    assert set(arrays) == set(expected)
    for name, array in expected.items():
        assert arrays[name].shape == np.shape(array)
        np.testing.assert_array_equal(np.asarray(arrays[name]), array)


@pytest.mark.parametrize("options", [{"do_compression": True}, {"do_compression": False}, {"format": "4"}])
def test_matlab(tmp_path, options):
    from scipy.io import savemat

    content = {"a": U, "x": np.arange(3.0), "name": "text"}
    if "format" not in options:
        content |= {"flag": np.array([[True, False]]), "cube": S, "small": np.int8([[1, 2]])}
    savemat(tmp_path / "a.mat", content, **options)
    arrays = open_arrays(tmp_path / "a.mat")
    del content["name"]
    assert_holds(arrays, **(content | {"x": np.arange(3.0)[None]}))
    assert arrays.skipped == ["name"]


def test_matlab_with_the_other_byte_order_and_small_types(tmp_path):
    """MATLAB keeps whole numbers in few bytes; such a file, written by hand."""

    def element(kind, content):
        return kind.to_bytes(4, "big") + len(content).to_bytes(4, "big") + content + bytes(-len(content) % 8)

    def small(kind, content):
        return len(content).to_bytes(2, "big") + kind.to_bytes(2, "big") + content.ljust(4, b"\0")

    flags, sizes = (
        element(6, (6).to_bytes(4, "big") + bytes(4)),
        element(5, np.array([2, 3], ">i4").tobytes()),
    )
    matrix = flags + sizes + small(1, b"abc") + element(3, np.arange(6, dtype=">i2").tobytes())
    header = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x01\x00MI"
    for body in (element(14, matrix), element(15, zlib.compress(element(14, matrix)))):
        (tmp_path / "a.mat").write_bytes(header + body)
        assert_holds(open_arrays(tmp_path / "a.mat"), abc=[[0.0, 2, 4], [1, 3, 5]])


def test_a_file_that_crashes_scipy(tmp_path):
    """One wrong byte: the numbers are said to be of type 68, which does not exist.

    scipy.io.loadmat of SciPy 1.17.1 ends with a segmentation fault on this file of 184 bytes, as on about
    one in 20 small files with a few random changes. This is why elmonet has a reader of its own.
    """
    from scipy.io import savemat

    path = tmp_path / "crash.mat"
    savemat(path, {"u": np.int8([[1, 2]])})
    content = bytearray(path.read_bytes())
    assert len(content) == 184
    assert content[176] == 1
    content[176] = 68
    path.write_bytes(content)
    with pytest.raises(FileError, match=r"u of sizes \(1, 2\) does not have the bytes for its numbers"):
        open_arrays(path)


def test_complex_numbers_and_what_matlab_has_beside_arrays(tmp_path):
    from scipy.io import savemat
    from scipy.sparse import eye

    content = {
        "z": U + 2j * U,
        "cell": np.array([1, "a"], object),
        "struct": {"u": U},
        "sparse": eye(3).tocsc(),
    }
    savemat(tmp_path / "a.mat", content)
    arrays = open_arrays(tmp_path / "a.mat")
    assert_holds(arrays, z=U + 2j * U)
    assert arrays.skipped == ["cell", "struct", "sparse"]


def matlab73(path, content):
    """As MATLAB writes it: HDF5 behind a header of 512 bytes, with the axes in reverse."""
    import h5py

    with h5py.File(path, "w", userblock_size=512) as file:
        for name, (array, kind) in content.items():
            file[name] = array.T
            file[name].attrs["MATLAB_class"] = np.bytes_(kind)
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM")


def test_matlab_73_has_its_axes_in_order(tmp_path):
    pytest.importorskip("h5py")
    content = {
        "a": (S, "double"),
        "word": (np.array([[72]], np.uint16), "char"),
        "x": (np.ones((1, 4)), "single"),
    }
    matlab73(tmp_path / "a.mat", content)
    with open_arrays(tmp_path / "a.mat") as arrays:
        assert arrays.format == "matlab 7.3"
        assert_holds(arrays, a=S, x=np.ones((1, 4)))
        np.testing.assert_array_equal(arrays["a"][1:3, :, 0], S[1:3, :, 0])
        assert arrays.skipped == ["word"]
