"""elmonet fit --report."""

import json
import shlex
import sys

import numpy as np
import pytest

from elmonet import problems

pytest.importorskip("matplotlib")
HOSTILE = "a<b>&'\"$.npz"


@pytest.fixture(autouse=True)
def file(tmp_path):
    data = problems.antiderivative(n_train=20, n_test=12, n_sensors=20, n_points=20, seed=2)
    np.savez(tmp_path / HOSTILE, **data.to_arrays())


def test_the_command_and_the_test_functions_are_told(run, tmp_path, harmless):
    command = ["fit", HOSTILE, "-o", "model.elmonet", "--time-budget", "0.1", "--report", "fit.html"]
    code, out, _ = run(*command)
    assert code == 0
    assert "model.elmonet and fit.html" in out.splitlines()[-1]
    read = harmless((tmp_path / "fit.html").read_text())
    assert shlex.join(["elmonet", *command]) in read.text
    assert HOSTILE in read.text
    assert "On 12 test functions" in read.text
    assert "input functions" in read.text  # what was understood of the file


def test_for_programs_and_with_given_features(run):
    code, out, _ = run(
        *("fit", HOSTILE, "-o", "m.elmonet", "--width", "20", "--report", "fit.html", "--json")
    )
    assert code == 0
    assert json.loads(out)["report"] == "fit.html"


@pytest.mark.parametrize(
    ("place", "said"),
    [("m.elmonet", "must be different files"), ("nowhere/fit.html", "no folder"), (HOSTILE, "input")],
)
def test_wrong_places_are_refused_before_the_fit(run, tmp_path, place, said):
    code, _, error = run("fit", HOSTILE, "-o", "m.elmonet", "--report", place)
    assert code == 1
    assert said in error
    assert [path.name for path in tmp_path.iterdir()] == [HOSTILE]


def test_a_report_needs_matplotlib_before_the_fit(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    code, _, error = run("fit", HOSTILE, "-o", "m.elmonet", "--report", "fit.html")
    assert code == 1
    assert "pip install" in error
    assert [path.name for path in tmp_path.iterdir()] == [HOSTILE]
