"""A result is never lost: where it goes is tried first, and if it fails at the end there is another place."""

import errno
import json
import os
import tempfile
from pathlib import Path

import numpy as np
import pytest

import elmonet.store as store
from elmonet import ELMDeepONet, FileError, Linear, load, problems
from elmonet.cli.console import Printer

REFUSED = {
    errno.EACCES: "Permission denied. Choose a folder where you may write",
    errno.EROFS: "Read-only file system. Choose a folder where you may write",
    errno.ENOSPC: "No space left on device. Make room there, or choose another place",
    errno.EIO: "Input/output error. Choose another place",
}


@pytest.fixture
def data(tmp_path):
    np.savez(tmp_path / "data.npz", **problems.antiderivative(12, 3).to_arrays())
    (tmp_path / "away").mkdir()
    (tmp_path / "spare").mkdir()
    return tmp_path


@pytest.fixture
def refuse(monkeypatch):
    """Make the system refuse to write to some folders, as it does for a reader of them, or on a full disk."""
    mkdtemp = tempfile.mkdtemp

    def refuse(code, *folders):
        def fails(suffix=None, prefix=None, dir=None):
            if Path(dir or tempfile.gettempdir()).resolve() in [Path(folder).resolve() for folder in folders]:
                raise OSError(code, os.strerror(code), str(dir))
            return mkdtemp(suffix, prefix, dir)

        monkeypatch.setattr(tempfile, "mkdtemp", fails)

    return refuse


WRITES = [
    "fit data.npz -o away/m.elmonet --width 5",
    "fit data.npz -o m.elmonet --width 5 --report away/fit.html",
    "fit data.npz -o m.elmonet --memory 2GB --checkpoint away/c",
    "predict m.elmonet data.npz -o away/p.npz",
    "suggest m.elmonet data.npz -n 1 -o away/next.npz",
    "plot m.elmonet data.npz -o away/p.png",
    "make antiderivative -o away/data.npz",
    "convert data.npz away/copy.h5",
    "reproduce darcy -o away",
    "reproduce darcy -o away/new/folder",
    "reproduce physics --only poisson -o away",
    "reproduce darcy --json away/numbers.json",
    "demo -o away/new",
]


@pytest.mark.parametrize("command", WRITES)
def test_where_it_may_not_write_is_found_before_the_work(command, run, data, refuse, monkeypatch):
    model = ELMDeepONet(Linear()).fit(np.eye(100)[:9], np.eye(100)[:9])
    model.save(data / "m.elmonet")
    before = sorted(path.relative_to(data) for path in data.rglob("*"))
    worked = []
    for work in (
        "elmonet.ELMDeepONet.fit",
        "elmonet.ELMDeepONet.predict",
        "elmonet.fit_blocks",
        "elmonet.problems.antiderivative",
        "elmonet.paper.run._data",
        "elmonet.paper.physics.measure",
        "elmonet.paper.demo.demo",
    ):
        monkeypatch.setattr(work, lambda *_, **__: worked.append("too early"))
    for code, words in REFUSED.items():
        refuse(code, data / "away")
        exit_code, out, err = run(*command.split())
        assert (exit_code, out, worked) == (1, "", []), err
        assert err.startswith("elmonet: cannot write 'away"), err
        assert words in err
    assert sorted(path.relative_to(data) for path in data.rglob("*")) == before


@pytest.mark.parametrize("command", WRITES)
def test_a_parent_that_is_no_folder_is_found_before_the_work(command, run, data):
    ELMDeepONet(Linear()).fit(np.eye(100)[:9], np.eye(100)[:9]).save(data / "m.elmonet")
    (data / "away").rmdir()
    (data / "away").touch()
    code, out, err = run(*command.split())
    assert (code, out) == (1, ""), err
    assert "cannot write" in err
    assert "there is no folder 'away'" in err or "is a file. Name a folder" in err


def fails_at_the_end(monkeypatch, *folders):
    """Let the disk be full when a file is complete, not before."""
    replace, full = os.replace, [Path(folder).resolve() for folder in folders]

    def fails(old, new):
        if Path(new).resolve().parent in full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(new))
        replace(old, new)

    monkeypatch.setattr(os, "replace", fails)


def test_a_model_that_cannot_be_saved_is_saved_elsewhere(run, data, monkeypatch):
    monkeypatch.setattr("elmonet.reporting.figures.drawn", lambda *_, **__: b"")  # which takes seconds
    (data / "m.elmonet").write_text("another model")
    fails_at_the_end(monkeypatch, data / "away")
    command = "fit data.npz -o away/m.elmonet --width 5 --report away/m.html --json"
    code, out, err = run(*command.split())
    assert code == 1
    assert err.count("No space left on device") == 2
    assert "It is saved as 'm-2.elmonet' instead." in err
    found = json.loads(out)
    assert (found["wrote"], found["report"]) == ("m-2.elmonet", "m.html")
    assert load(data / "m-2.elmonet").predict(np.zeros((1, 100))).shape == (1, 100)
    assert (data / "m.html").stat().st_size > 1000
    assert (data / "m.elmonet").read_text() == "another model"
    assert not any((data / "away").iterdir())


def test_the_temporary_folder_is_the_last_resort(run, data, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(data / "spare"))
    fails_at_the_end(monkeypatch, data / "away", data)
    code, out, err = run("fit", "data.npz", "-o", "away/m.elmonet", "--width", "5")
    assert code == 1
    assert f"It is saved as {str(data / 'spare' / 'm.elmonet')!r} instead." in err
    assert f"wrote {data / 'spare' / 'm.elmonet'}" in " ".join(out.split())
    load(data / "spare" / "m.elmonet")
    fails_at_the_end(monkeypatch, data / "away", data, data / "spare")
    code, _, err = run("fit", "data.npz", "-o", "away/m.elmonet", "--width", "5")
    assert code == 1
    assert "cannot write 'away/m.elmonet': No space left" in err
    assert "saved" not in err


def test_a_checkpoint_stays_until_the_model_is_where_it_should_be(run, data, monkeypatch):
    command = "fit data.npz -o away/m.elmonet --width 5 --memory 2GB --checkpoint c"
    monkeypatch.setattr(
        "elmonet.fitting.checkpoint.Checkpoint.write_if_due", lambda self, fit: self.write(fit)
    )
    fails_at_the_end(monkeypatch, data / "away")
    assert run(*command.split())[0] == 1
    assert (data / "c").exists()
    assert (data / "m.elmonet").exists()


@pytest.mark.parametrize(
    ("command", "saved"),
    [
        ("predict m.elmonet data.npz -o away/p.npz", "p.npz"),
        ("predict m.elmonet data.npz -o away/p.zarr", "p.zarr"),
        ("suggest m.elmonet data.npz -n 1 -o away/next.npz", "next.npz"),
        ("plot m.elmonet data.npz -o away/p.png", "p.png"),
        ("make antiderivative --n-train 3 --n-test 1 -o away/made.npz", "made.npz"),
        ("convert data.npz away/copy.h5", "copy.h5"),
    ],
)
def test_every_result_has_a_second_place(command, saved, run, data, monkeypatch):
    arrays = np.load(data / "data.npz")
    ELMDeepONet(Linear()).fit(arrays["u_train"], arrays["s_train"], arrays["points"]).save(data / "m.elmonet")
    fails_at_the_end(monkeypatch, data / "away")
    code, out, err = run(*command.split())
    assert code == 1
    assert f"It is saved as {saved!r} instead." in err
    assert f" {saved}" in out
    assert (data / saved).exists()
    assert not any((data / "away").iterdir())


def test_folders_of_results_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("results").mkdir()
    Path("results/page").touch()

    def write(folder):
        if folder == Path("away/results"):
            raise PermissionError(errno.EACCES, "Permission denied", "away")
        folder.mkdir()

    printer = Printer()
    assert printer.save(write, Path("away/results")) == Path("results-2")
    with pytest.raises(FileError, match=r"'away/results': Permission denied. Choose .* saved as 'results-2'"):
        printer.finish()


def test_nothing_is_left_where_it_was_tried(tmp_path):
    assert store.writable_path(tmp_path / "a b ü") == tmp_path / "a b ü"
    assert not any(tmp_path.iterdir())
