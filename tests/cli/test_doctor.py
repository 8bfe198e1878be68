"""elmonet doctor: what it shows is true, and it fails where a fit or a file fails."""

import json
import os
import re
import tomllib
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

from elmonet import ELMDeepONet, __version__
from elmonet.cli import doctor as machine
from elmonet.cli.doctor import self_test

ROOT = Path(__file__).parents[2]


def test_versions_libraries_and_a_test_that_passes(ok):
    out = ok("doctor")
    assert out.startswith(f"elmonet {__version__}, Python ")
    for name in ("numpy", "scipy", "scikit-learn"):
        assert f"{name} {version(name)}" in out
    assert re.search(r"libraries:\n  \S+ \S+ of ", out)
    assert "self-test: passed" in out
    assert out.splitlines()[-1] == "  saved and loaded: the same bits"
    assert max(map(len, out.splitlines())) <= 80


def test_nothing_private(ok, monkeypatch):
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    out = ok("doctor")
    assert "OPENBLAS_CORETYPE=Haswell" in out
    for private in (Path.home(), Path.cwd(), os.uname().nodename, np.__file__):
        assert str(private) not in out


def test_json(ok):
    found = json.loads(ok("doctor --json"))
    assert found.keys() == {"elmonet", "python", "versions", "extras", "machine", "libraries", "self_test"}
    assert found["self_test"]["passed"] is True
    assert found["self_test"]["error"] < 1e-9
    assert found["machine"]["free_memory"] > 0


def test_extras_are_those_that_can_be_installed():
    """As pyproject.toml lists them, without the version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    told = {name: set(packages) for name, packages in machine.EXTRAS.items()}
    for name, packages in project["optional-dependencies"].items():
        if name in ("dask", "all", "test", "docs", "dev"):  # two packages; collections
            continue
        assert {re.match(r"[\w-]+", package)[0] for package in packages} == told.pop(name, None), name
    assert told == {"dask": {"dask", "distributed"}}
    required = {re.match(r"[\w-]+", package)[0] for package in project["dependencies"]}
    assert set(machine.REQUIRED) <= required


def test_what_is_missing_is_told_with_the_remedy(ok, monkeypatch):
    monkeypatch.setitem(machine.EXTRAS, "plot", ("matplotlib-is-not-here",))
    assert 'plot: no matplotlib-is-not-here: pip install "elmonet[plot]"' in " ".join(ok("doctor").split())


def test_a_blas_that_threadpoolctl_does_not_know(monkeypatch):
    import threadpoolctl

    monkeypatch.setattr(threadpoolctl, "threadpool_info", list)
    (found,) = machine.libraries()
    assert found["library"] == np.show_config(mode="dicts")["Build Dependencies"]["blas"]["name"]
    assert found["of"] == "NumPy"


@pytest.mark.parametrize(
    ("method", "instead", "told"),
    [
        ("predict", lambda self, X, points=None: np.ones((len(X), 50)), "at most 1e-09 was expected"),
        ("save", lambda self, path: Path(path).write_bytes(b"nothing"), "FileError"),
    ],
)
def test_a_test_that_fails(run, monkeypatch, method, instead, told):
    monkeypatch.setattr(ELMDeepONet, method, instead)
    code, out, err = run("doctor")
    assert (code, err) == (1, "")
    assert "self-test: FAILED" in out
    assert told in " ".join(out.split())
    assert "Traceback" not in out


@pytest.mark.numerics
def test_the_self_test_passes_with_any_kernel():
    found = self_test()
    assert found["passed"]
    assert found["error"] < 1e-12
