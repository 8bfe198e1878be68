"""Files are written to files, through links too; devices, sockets, pipes and folders are refused."""

import os
import socket
import stat

import numpy as np
import pytest

from elmonet import FileError, store
from elmonet.data.formats import open_arrays
from elmonet.data.write import write_data
from elmonet.store import atomic_write, writable_path


def save_model(path):
    store.write(path, {"kind": "new"}, {"x": np.ones(3)})


def save_arrays(path):
    write_data(path, {"x": np.ones(3)})


WRITERS = pytest.mark.parametrize("write", [save_model, save_arrays])


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the name of a socket must be short
    return tmp_path


@WRITERS
def test_devices_pipes_and_sockets_are_refused_and_stay(place, write):
    os.mkfifo("pipe.npz")
    os.symlink("/dev/null", "null.npz")
    listening = socket.socket(socket.AF_UNIX)
    listening.bind("socket.npz")
    for name, kind in (("pipe.npz", "a named pipe"), ("socket.npz", "a socket"), ("null.npz", "a device")):
        with pytest.raises(FileError, match=rf"cannot write '{name}': it is {kind}, not a file. Name a file"):
            write(name)
    listening.close()
    assert stat.S_ISFIFO(os.stat("pipe.npz").st_mode)
    assert stat.S_ISSOCK(os.stat("socket.npz").st_mode)
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert len(list(place.iterdir())) == 3


def test_dev_null_itself(place):
    with pytest.raises(FileError, match="'/dev/null': it is a device"):
        save_model("/dev/null")


@WRITERS
def test_a_link_to_a_file_is_followed(place, write):
    (place / "far").mkdir()
    (place / "far" / "real.npz").write_text("old")
    os.symlink("far/real.npz", "first.npz")
    os.symlink("first.npz", "link.npz")
    write("link.npz")
    assert os.path.islink("link.npz")
    assert os.path.islink("first.npz")
    assert (place / "far" / "real.npz").stat().st_size > 3
    assert [entry.name for entry in (place / "far").iterdir()] == ["real.npz"]  # nothing is left beside it


@WRITERS
def test_a_link_to_a_file_that_is_not_there_makes_it(place, write):
    os.symlink("later.npz", "link.npz")
    write("link.npz")
    assert os.path.islink("link.npz")
    assert (place / "later.npz").is_file()
    os.symlink("nowhere/later.npz", "lost.npz")
    with pytest.raises(FileError, match=r"in a folder that exists; there is no folder '.*nowhere'"):
        write("lost.npz")


@WRITERS
def test_links_to_folders_and_in_a_circle_are_refused(place, write):
    (place / "folder").mkdir()
    os.symlink("folder", "link.npz")
    with pytest.raises(FileError, match=r"'link.npz': it is a folder\. Name a file in it"):
        write("link.npz")
    os.symlink("b.npz", "a.npz")
    os.symlink("a.npz", "b.npz")
    with pytest.raises(FileError, match="its symbolic links are circular"):
        write("a.npz")
    assert os.path.islink("link.npz")
    assert os.path.islink("a.npz")


def test_folders_of_arrays(place):
    write_data("real", {"x": np.ones(3)})
    os.symlink("real", "link")
    write_data("link", {"y": np.ones(2)})
    assert os.path.islink("link")
    assert set(open_arrays("real")) == {"y"}
    os.mkfifo("pipe")
    (place / "file").write_text("old")
    with pytest.raises(FileError, match="it is a named pipe"):
        write_data("pipe", {"x": np.ones(3)})
    with pytest.raises(FileError, match="a folder is to be written, but a file is there"):
        write_data("file", {"x": np.ones(3)})


def test_a_folder_that_cannot_be_replaced_is_put_back(place, monkeypatch):
    write_data("real", {"x": np.ones(3)})
    plain = os.replace

    def fails(source, target):
        if str(target).endswith("real") and not str(source).endswith("old"):
            raise OSError(28, "No space left on device")
        plain(source, target)

    monkeypatch.setattr(os, "replace", fails)
    with pytest.raises(FileError, match=r"No space left on device.*unchanged"):
        write_data("real", {"y": np.ones(2)})
    assert set(open_arrays("real")) == {"x"}
    assert [entry.name for entry in place.iterdir()] == ["real"]


def test_the_new_file_has_ordinary_permissions(place):
    save_model("a")
    (place / "b").write_text("b")
    assert (place / "a").stat().st_mode == (place / "b").stat().st_mode


def test_what_the_system_refuses(place, monkeypatch):
    (place / "f").write_text("")
    with pytest.raises(FileError, match="there is no folder 'f'"):
        writable_path("f/a")
    monkeypatch.setattr(os, "stat", lambda *_, **__: (_ for _ in ()).throw(PermissionError(13, "denied")))
    with pytest.raises(FileError, match="cannot write 'x': denied"):
        writable_path("x")


def test_a_long_name(place):
    name = "n" * 250
    with atomic_write(name) as new:
        new.write_text("whole")
    assert (place / name).read_text() == "whole"


def test_pipes_are_not_read_either(place):
    os.mkfifo("pipe.npz")
    with pytest.raises(FileError, match="not a file of data"):
        open_arrays("pipe.npz")
