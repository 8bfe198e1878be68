"""Pickled arrays are read, pickled programs are not run."""

import io
import os
import pickle
from collections import OrderedDict
from zipfile import ZipFile

import numpy as np
import pytest

from elmonet import FileError
from elmonet.data.formats import open_arrays
from elmonet.data.formats.pickled import NUMPY, unpickle

rng = np.random.default_rng(0)
A, B = rng.normal(size=(5, 4)), rng.normal(size=(3, 2))


def objects(*items):
    array = np.empty(len(items), object)
    array[:] = items
    return array


class Evil:
    """Leaves a file behind if it is ever run."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


def test_deepxde_object_arrays(tmp_path):
    np.savez(tmp_path / "a.npz", X=objects(A, np.asfortranarray(B)), y=A)
    arrays = open_arrays(tmp_path / "a.npz")
    assert set(arrays) == {"X[0]", "X[1]", "y"}
    np.testing.assert_array_equal(arrays["X[0]"], A)
    np.testing.assert_array_equal(arrays["X[1]"], B)


@pytest.mark.parametrize("protocol", range(5))
def test_every_protocol_of_pickle(protocol):
    values = objects(A, B.astype(">f4"), 3, 2.5, np.float32(0.5), True, None, "word", [B, {"k": A}])
    values = unpickle(pickle.dumps(values, protocol), NUMPY).value.items
    np.testing.assert_array_equal(values[0].value, A)
    np.testing.assert_array_equal(values[1].value, B.astype(np.float32))
    assert values[2:8] == [3, 2.5, 0.5, True, None, "word"]
    np.testing.assert_array_equal(values[8][1]["k"].value, A)
    assert unpickle(pickle.dumps(OrderedDict(a=1), protocol), NUMPY) == {"a": 1}


def test_objects_that_are_numbers_and_dicts(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.array([[1, 2.5], [3, np.float64(4)]], object))
    np.testing.assert_array_equal(open_arrays(tmp_path / "a.npz")["X"], [[1, 2.5], [3, 4]])
    np.save(tmp_path / "d.npy", {"u": A, "inner": {"s": B}, "note": "text"}, allow_pickle=True)
    arrays = open_arrays(tmp_path / "d.npy")
    np.testing.assert_array_equal(arrays["inner.s"], B)
    assert set(arrays) == {"u", "inner.s"}
    assert arrays.skipped == ["note"]


@pytest.mark.parametrize("protocol", range(5))
def test_nothing_is_run(tmp_path, protocol):
    trace = tmp_path / "trace"
    evil = pickle.dumps({"u": A, "evil": Evil(trace)}, protocol)
    header = io.BytesIO()
    shape = {"descr": "|O", "fortran_order": False, "shape": ()}
    np.lib.format.write_array_header_1_0(header, shape)
    (tmp_path / "a.npy").write_bytes(header.getvalue() + evil)
    with ZipFile(tmp_path / "a.npz", "w") as file:
        file.writestr("X.npy", header.getvalue() + evil)
    with ZipFile(tmp_path / "a.pt", "w") as file:
        file.writestr("archive/data.pkl", evil)
    (tmp_path / "a.pkl").write_bytes(evil)
    for name in ("a.npy", "a.npz", "a.pt", "a.pkl"):
        with pytest.raises(FileError, match=r"pickle.*does not run.*np.savez"):
            open_arrays(tmp_path / name)
    assert not trace.exists()


@pytest.mark.parametrize(
    "program",
    [
        b"cos\nsystem\n(S'true'\ntR.",
        b"cbuiltins\neval\n(S'1'\ntR.",
        b"(S'true'\nios\nsystem\n.",
        b"(cos\nsystem\nS'true'\no.",
        b"\x80\x02cos\nsystem\n)\x81.",
        b"cnumpy\nndarray\n(tR.",  # may be named, not called
        b"cnumpy\nndarray\n}S'x'\nI1\nsb.",  # nor given attributes
        b"\x82\x01.",
    ],
)
def test_programs_of_other_kinds(program):
    with pytest.raises(FileError, match="which elmonet does not run"):
        unpickle(program, NUMPY)


def test_a_class_that_would_be_called_is_named():
    with pytest.raises(FileError, match=r"of class 'posix.system'"):
        unpickle(pickle.dumps(os.system), NUMPY)


def test_bombs(tmp_path):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "|O", "fortran_order": False, "shape": ()})
    laughs = b"\x80\x04]\x94"  # a list of two of a list of two of ...
    for level in range(14):
        laughs += b"]\x94(" + b"h" + bytes([level]) + b"h" + bytes([level]) + b"e"
    ring = b"\x80\x04]\x94h\x00a."  # a list that holds itself
    memo = b"\x80\x02]r\xff\xff\xff\x7f."  # a place in the memo far beyond
    for program in (laughs + b".", ring):
        (tmp_path / "a.npy").write_bytes(header.getvalue() + program)
        with pytest.raises(FileError, match="holds more than"):
            open_arrays(tmp_path / "a.npy")
    (tmp_path / "a.npy").write_bytes(header.getvalue() + memo)
    assert not open_arrays(tmp_path / "a.npy")


def doubled(levels):
    """A program for a pair of pairs of ... of lists: 2**levels entries, if they were looked at."""
    return b"]" + b"2\x86" * levels


@pytest.mark.parametrize(
    "program",
    [
        b"}" + doubled(60) + b"Ns.",  # hashing the key would take forever
        b"})" + b"\x85" * 300_000 + b"Ns.",  # or overflow the stack
        b"(" + doubled(60) + b"Nd.",
        b"ccollections\nOrderedDict\n]" + doubled(60) + b"N\x86a\x85R.",
        b"cnumpy\ndtype\n" + doubled(60) + b"\x85R.",  # as would its text
        b"c_codecs\nencode\n" + doubled(60) + b"\x85R.",
        b"}(" + b"".join(b"L%dL\nN" % (i * (2**61 - 1)) for i in range(1, 10**5)) + b"u.",  # equal hashes
    ],
)
def test_nested_references_are_neither_hashed_nor_printed(program):
    """Each would hang, or end the process, if it were given to Python or NumPy as it is."""
    with pytest.raises(FileError):
        unpickle(b"\x80\x02" + program, NUMPY)


def npy_of(path, program):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "|O", "fortran_order": False, "shape": ()})
    path.write_bytes(header.getvalue() + program)


@pytest.mark.parametrize("opcode", [b"]", b"}", b"(", b"N\x94", b"]\x85"])
def test_what_single_bytes_create_counts_towards_the_limit(tmp_path, opcode):
    npy_of(tmp_path / "a.npy", b"\x80\x04" + opcode * 10**6 + b".")
    with pytest.raises(FileError, match="the limit is"):
        open_arrays(tmp_path / "a.npy", max_bytes=20 * 10**6)


def test_many_paths_to_one_name(tmp_path):
    """Ten keys in each of 14 levels: 10**14 paths, but few different names."""
    inner = {"a": 1.0}
    for _ in range(14):
        inner = {".".join("a" * n): inner for n in range(1, 11)}
    npy_of(tmp_path / "a.npy", pickle.dumps(inner))
    with pytest.raises(FileError, match=r"two arrays of the name 'a\.a"):
        open_arrays(tmp_path / "a.npy")


def test_long_names_count_towards_the_limit(tmp_path):
    npy_of(tmp_path / "a.npy", pickle.dumps({"k" * 10**5: {str(i): 1.0 for i in range(5000)}}))
    with pytest.raises(FileError, match="the limit is"):
        open_arrays(tmp_path / "a.npy", max_bytes=10**8)


def test_arrays_that_are_shorter_than_they_say():
    whole = pickle.dumps(A, 3)
    short = whole.replace(b"K\x05K\x04", b"K\x06K\x04")
    assert short != whole
    with pytest.raises(FileError, match=r"shape \(6, 4\).*does not have the bytes"):
        unpickle(short, NUMPY)


def tensor_file(path, sizes, strides, offset=0, count=4):
    """A PyTorch file with one tensor of four float32, described as told."""

    def numbers(values):
        return b"(" + b"".join(b"J" + int(v).to_bytes(4, "little") for v in values) + b"t"

    program = b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nFloatStorage\n"
    program += b"X\x01\x00\x00\x000X\x03\x00\x00\x00cpuJ" + count.to_bytes(4, "little") + b"tQ"
    program += b"J" + offset.to_bytes(4, "little") + numbers(sizes) + numbers(strides)
    program += b"\x89ccollections\nOrderedDict\n)RtR."
    with ZipFile(path, "w") as file:
        file.writestr("archive/data.pkl", program)
        file.writestr("archive/data/0", np.arange(4, dtype=np.float32).tobytes())


def test_tensors_that_reach_beyond_their_numbers(tmp_path):
    path = tmp_path / "a.pt"
    tensor_file(path, (2, 2), (2, 1))
    np.testing.assert_array_equal(open_arrays(path)["tensor"], [[0, 1], [2, 3]])
    for wrong in (
        {"sizes": (5,), "strides": (1,)},
        {"sizes": (2, 2), "strides": (3, 1)},
        {"sizes": (2,), "strides": (1,), "offset": 3},
        {"sizes": (2, 2), "strides": (1,)},
        {"sizes": (2,), "strides": (1,), "count": 5},
        {"sizes": (2**30, 2**30), "strides": (0, 0)},
    ):
        tensor_file(path, **wrong)
        with pytest.raises(FileError, match=r"damaged|repeats"):
            open_arrays(path)


def test_zarr_does_not_run_pickles_either(tmp_path):
    zarr = pytest.importorskip("zarr")
    import json

    group = zarr.open_group(tmp_path / "a.zarr", mode="w", zarr_format=2)
    group.create_array("u", data=A, chunks=A.shape, compressors=None)
    metadata = json.loads((tmp_path / "a.zarr/u/.zarray").read_text())
    metadata["compressor"] = {"id": "pickle", "protocol": 5}
    (tmp_path / "a.zarr/u/.zarray").write_text(json.dumps(metadata))
    trace = tmp_path / "trace"
    (tmp_path / "a.zarr/u/0.0").write_bytes(pickle.dumps(Evil(trace)))
    (tmp_path / "a.zarr/.zmetadata").unlink(missing_ok=True)
    with pytest.raises(FileError, match="pickle"):
        open_arrays(tmp_path / "a.zarr")
    assert not trace.exists()
