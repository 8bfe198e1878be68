"""A run does every task once, saves finished tasks, and gives the same results when it is resumed."""

import json
import sys
from dataclasses import replace

import pytest

from elmonet import FileError, InputError
from elmonet.paper import EXPERIMENTS, FULL, SHORT, measure, read_results, reproduce
from elmonet.paper.models import CLOSED_FORM, TRAINED
from elmonet.paper.run import as_json

TIMES = ("seconds", "search_seconds", "history")


def without_times(results):
    return {
        name: {key: value for key, value in record.items() if key not in TIMES}
        for name, record in results["done"].items()
    }


@pytest.fixture
def interrupted(tiny, tmp_path, monkeypatch):
    """Return the folder of a run that was stopped with Ctrl-C in its second training."""
    trained, calls = measure.trained, []

    def stop(data, report, *, model, **settings):
        calls.append(model)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return trained(data, report, model=model, **settings)

    monkeypatch.setattr(measure, "trained", stop)
    with pytest.raises(KeyboardInterrupt):
        reproduce(["antiderivative"], effort=tiny, out=tmp_path)
    monkeypatch.undo()
    return tmp_path


def test_everything_is_measured(results):
    names = set(results["done"])
    for problem in TRAINED:
        assert f"{problem}/data" in names
        assert {f"{problem}/{model}" for model in TRAINED[problem]} <= names
        for model, spec in CLOSED_FORM[problem].items():
            assert {f"{problem}/{model}/{solver}" for solver in spec.solvers} <= names
    assert {"sensitivity/ELM-DeepONet/1", "sensitivity/widths", "darcy/bases", "darcy/draws"} <= names
    assert results["experiments"] == list(EXPERIMENTS)
    assert results["machine"]["cores"] >= 1
    assert results["effort"]["widths"] == [20, 50, 100]


def test_results_are_plain_json(results):
    assert json.loads(as_json(results)) == results
    assert "NaN" not in as_json(results)
    assert len(as_json(results).splitlines()) < len(results["done"]) + 70


def test_ctrl_c_keeps_what_is_finished(interrupted):
    kept = read_results(interrupted / "results.json")
    assert list(kept["done"]) == ["antiderivative/data", "antiderivative/DeepONet M1"]
    assert [path.name for path in interrupted.iterdir()] == ["results.json"]


def test_resume_does_the_rest_and_gives_what_one_run_gives(interrupted, tiny, results, monkeypatch):
    first = read_results(interrupted / "results.json")["done"]["antiderivative/DeepONet M1"]
    resumed = reproduce(["antiderivative"], effort=tiny, out=interrupted, resume=True)
    assert resumed["done"]["antiderivative/DeepONet M1"] == first
    expected = without_times(results)
    assert without_times(resumed) == {k: v for k, v in expected.items() if k.startswith("antiderivative/")}
    assert read_results(interrupted / "results.json") == resumed

    monkeypatch.setattr(measure, "trained", pytest.fail)  # nothing is computed twice
    again = reproduce(["antiderivative"], effort=tiny, out=interrupted, resume=True)
    assert again["done"] == resumed["done"]


def test_resume_can_add_an_experiment(interrupted, tiny):
    both = reproduce(["inverse_source"], effort=tiny, out=interrupted, resume=True)
    assert both["experiments"] == ["antiderivative", "inverse_source"]
    assert "antiderivative/ELM-DeepONet/ours" in both["done"]


def test_resume_of_another_run_is_refused(interrupted, tiny):
    with pytest.raises(InputError, match="another effort"):
        reproduce(["antiderivative"], effort=replace(tiny, epochs=4), out=interrupted, resume=True)
    with pytest.raises(InputError, match="another seed"):
        reproduce(["antiderivative"], effort=tiny, seed=1, out=interrupted, resume=True)
    with pytest.raises(InputError, match="resume needs out"):
        reproduce(["antiderivative"], effort=tiny, resume=True)


def test_resume_with_nothing_there_begins(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(measure, "trained", lambda *_, **__: {"skipped": "not today"})
    assert reproduce(["inverse_source"], effort=tiny, out=tmp_path / "new", resume=True)["done"]


def test_a_fresh_run_keeps_the_previous_file(interrupted, tiny, monkeypatch):
    old = (interrupted / "results.json").read_text()
    monkeypatch.setattr(measure, "trained", lambda *_, **__: {"skipped": "not today"})
    reproduce(["inverse_source"], effort=tiny, out=interrupted)
    assert (interrupted / "results.previous.json").read_text() == old


@pytest.mark.parametrize("content", ["", "{", "[]", '{"format": 1}', '{"format": 1, "done": 3}', "\x00"])
def test_a_damaged_file_is_refused(content, tiny, tmp_path):
    (tmp_path / "results.json").write_text(content)
    with pytest.raises(FileError, match=r"results\.json"):
        reproduce(["antiderivative"], effort=tiny, out=tmp_path, resume=True)


def test_results_of_another_format_are_refused(results, tmp_path):
    (tmp_path / "results.json").write_text(as_json({**results, "format": 0}))
    with pytest.raises(FileError, match="another version"):
        read_results(tmp_path / "results.json")
    with pytest.raises(FileError, match="cannot be read"):
        read_results(tmp_path / "nowhere.json")


def test_without_torch_the_rows_say_how_to_get_it_and_are_filled_in_later(tiny, tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[:2] == ["elmonet", "baselines"]]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    without = reproduce(["inverse_source"], effort=tiny, out=tmp_path)
    record = without["done"]["inverse_source/DeepONet"]
    assert 'pip install "elmonet[baselines]"' in record["skipped"]
    assert without["done"]["inverse_source/ELM-DeepONet/ours"]["error"] < 1

    monkeypatch.undo()
    pytest.importorskip("torch")
    resumed = reproduce(["inverse_source"], effort=tiny, out=tmp_path, resume=True)
    assert resumed["done"]["inverse_source/DeepONet"]["parameters"] == 23_232


def test_progress_reports_step_and_fraction(tiny):
    seen = []
    reproduce(["inverse_source"], effort=tiny, progress=lambda *event: seen.append(event))
    whats, dones, totals = zip(*seen, strict=True)
    assert list(dones) == sorted(dones)
    assert len(set(totals)) == 1
    assert dones[-1] == totals[-1]
    assert whats[0] == "inverse source: making data"
    assert "inverse source: training DeepONet" in whats


def test_unknown_experiment():
    with pytest.raises(InputError, match="experiment must be one of 'antiderivative'"):
        reproduce(["burgers"])


def test_the_full_run_is_the_paper():
    assert (FULL.epochs, FULL.seconds, FULL.trials, FULL.functions) == (10_000, None, 10, 1000)
    assert FULL.widths == (50, 100, 500, 1000, 5000, 10_000)
    assert SHORT.functions == 1000
    assert 1000 in FULL.branch_widths
    assert 1000 in SHORT.branch_widths
