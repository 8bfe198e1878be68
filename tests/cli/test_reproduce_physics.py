"""elmonet reproduce physics, as a user meets it."""

import json
import re
import sys

import pytest

from elmonet.equations import gallery
from elmonet.paper import physics

SMALL = ("reproduce", "physics", "--only", "antiderivative", "--functions", "40")


def test_a_table_beside_the_published_number_json_and_a_picture(run, tmp_path):
    code, out, err = run(*SMALL, "--seed", "3", "--json", "numbers.json")
    assert code == 0, err
    for words in ("Antiderivative", "2.49e-3", "Wang et al.", "10 min on a", "expected", "Science Advances"):
        assert words in out
    assert "DeepXDE" not in out  # a source of another problem
    assert all(len(line) <= 80 for line in out.splitlines())
    assert "0% Antiderivative: solving" in err
    kept = json.loads((tmp_path / "results" / "physics.json").read_text())
    assert kept == json.loads((tmp_path / "numbers.json").read_text())
    assert kept["seed"] == 3
    (record,) = kept["done"].values()
    assert record["functions"] == 40
    assert f"{record['error']:.1e}" in out
    assert [path.name for path in (tmp_path / "results" / "figures").iterdir()] == [
        "physics_antiderivative.png"
    ]


def test_json_on_standard_output_is_json_alone(run, tmp_path):
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "physics.json").write_text("{}")
    code, out, err = run(*SMALL, "--json", "-", "--out", "here")
    assert code == 0
    assert list(json.loads(out)["done"]) == ["antiderivative"]
    assert "2.49e-3" in err
    assert (tmp_path / "here" / "physics.previous.json").read_text() == "{}"


def test_without_matplotlib_there_is_a_table_and_a_word(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    code, out, _ = run(*SMALL)
    assert code == 0
    assert "2.49e-3" in out
    assert 'pip install "elmonet[plot]"' in out


def test_each_problem_has_its_own_number_of_functions(monkeypatch):
    asked = {}

    def note(problem, *, functions, **_):
        asked[problem.name] = functions or problem.functions
        return {"functions": 1, "error": 0.1, "expected": 0.1, "seconds": 2.0, "solving": 1.0}, None

    monkeypatch.setattr(physics, "measure", note)
    told = []
    results = physics.reproduce_physics(progress=lambda *now: told.append(now))
    assert asked == {name: 2000 if name == "advection" else 1000 for name in gallery.GALLERY}
    assert told[0][1] == 0
    assert told[-1][1] == told[-1][2]
    assert len(physics.physics_table(results).rows) == 7


def test_ctrl_c_keeps_what_is_finished(run, monkeypatch, tmp_path):
    real = physics.measure

    def stop(problem, **settings):
        if problem.name != "antiderivative":
            raise KeyboardInterrupt
        return real(problem, **settings)

    monkeypatch.setattr(physics, "measure", stop)
    code, _, err = run("reproduce", "physics", "--functions", "40", "-o", "kept")
    assert code == 130
    assert "kept in kept" in err
    kept = json.loads((tmp_path / "kept" / "physics.json").read_text())
    assert list(kept["done"]) == ["antiderivative"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("reproduce physiks", "experiment must be one of 'antiderivative'.*'physics'; got 'physiks'"),
        ("reproduce physics --only navier", "--only must be one of 'antiderivative'.*'stokes'; got 'navier'"),
        ("reproduce physics darcy", "physics is a run of its own"),
        ("reproduce darcy --only poisson", "--only is for elmonet reproduce physics"),
        ("reproduce physics --epochs 3 --full", "--epochs, --full: .* for the paper's experiments"),
        ("reproduce physics --resume", "--resume: .* physics takes --only"),
    ],
)
def test_mistakes_get_one_plain_line(run, call, message, tmp_path):
    code, out, err = run(*call.split())
    assert (code, out) == (1, "")
    assert re.fullmatch(f"elmonet: .*{message}.*", " ".join(err.split()))
    assert not list(tmp_path.iterdir())
