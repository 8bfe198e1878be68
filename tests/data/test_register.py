"""A reader of another kind of file is one function that registers itself."""

import subprocess
import sys
from zipfile import ZipFile

import numpy as np
import pytest

from elmonet import FileError, read
from elmonet.cli.paths import require_place
from elmonet.data import register_reader
from elmonet.data.formats import data_endings, find_reader, open_arrays, registry


@pytest.fixture(autouse=True)
def own_registry(monkeypatch):
    monkeypatch.setattr(registry, "_readers", dict(registry._readers))


def test_a_reader_of_ones_own(tmp_path):
    @register_reader("raw", endings=["raw"], description="raw (doubles)")
    def add_raw(arrays, path):
        arrays["u"], arrays["s"] = np.fromfile(path).reshape(2, 3, 4)

    numbers = np.arange(24.0)
    numbers.tofile(tmp_path / "pairs.raw")
    data = read(tmp_path / "pairs.raw")
    np.testing.assert_array_equal(data.s_train, numbers[12:].reshape(3, 4))
    assert open_arrays(tmp_path / "pairs.raw").format == "raw"
    (tmp_path / "a.unknown").write_bytes(b"\0")
    with pytest.raises(FileError, match=r"It reads: .*raw \(doubles\)"):
        read(tmp_path / "a.unknown")
    with pytest.raises(FileError, match="this ending is for functions"):
        require_place(tmp_path / "model.raw", model=True)


def test_a_reader_that_recognises_the_content_is_asked_before_the_others(tmp_path):
    @register_reader(
        "bundle", recognise=lambda path, start: "bundle.txt" in (registry.zip_names(path, start) or ())
    )
    class Bundle:
        def __init__(self, arrays, path):
            with ZipFile(path) as file:
                arrays["numbers"] = np.array(file.read("bundle.txt").split(), float)

    with ZipFile(tmp_path / "a.npz", "w") as file:
        file.writestr("bundle.txt", "1 2 3")
    np.testing.assert_array_equal(open_arrays(tmp_path / "a.npz")["numbers"], [1, 2, 3])
    np.savez(tmp_path / "b.npz", u=np.ones(3))
    assert find_reader(tmp_path / "b.npz").kind == "npz"


def test_a_failing_reader_gives_a_file_error_and_closes_its_file(tmp_path):
    closed = []

    @register_reader("bad", endings=[".BAD"])
    def add_bad(arrays, path):
        arrays.keep_open(type("File", (), {"close": lambda self: closed.append(path)})())
        raise KeyError("nothing there")

    assert ".bad" in data_endings()
    (tmp_path / "a.bad").write_bytes(b"\0")
    with pytest.raises(FileError, match="cannot be opened: KeyError"):
        open_arrays(tmp_path / "a.bad")
    assert closed == [tmp_path / "a.bad"]


def test_readers_import_optional_packages_only_when_they_read():
    program = (
        "import sys, elmonet.data.formats; print({'h5py', 'zarr', 'xarray', 'torch'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
