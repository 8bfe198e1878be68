"""The report: complete, self-contained, with figures that are drawn."""

import base64
import io
import re

import pytest

from elmonet import MissingExtra
from elmonet.paper import figures, report, write_report
from elmonet.paper.report import differences
from elmonet.paper.tables import tables

image = pytest.importorskip("matplotlib.image")


@pytest.fixture(scope="module")
def folder(results, tmp_path_factory):
    out = tmp_path_factory.mktemp("report")
    write_report(results, out)
    return out


@pytest.fixture(scope="module")
def as_in_the_paper(results):
    """The same results, as if with the paper's number of functions."""
    return {**results, "effort": {**results["effort"], "functions": 1000}}


def test_the_pages(folder, results):
    text = (folder / "report.md").read_text()
    for table in tables(results):
        assert f"## {table.title}" in text
        for row in table.rows:
            assert "| " + " | ".join(row) + " |" in text
    assert "arXiv:2501.09395" in text
    assert f"seed 0, {results['effort']['functions']} training" in text
    for name in re.findall(r"\]\((figures/\w+\.png)\)", text):
        assert (folder / name).exists()
    assert len(list((folder / "figures").iterdir())) == 6


def test_html_is_one_file_with_its_pictures(folder):
    page = (folder / "report.html").read_text()
    assert page.startswith("<!doctype html>")
    sources = re.findall(r'src="([^"]*)"', page)
    assert len(sources) == 6
    for source in sources:
        kind, content = source.split(",", 1)
        assert kind == "data:image/png;base64"
        pixels = image.imread(io.BytesIO(base64.b64decode(content)))
        assert pixels[..., :3].std() > 0.02
    assert "<table>" in page
    assert "<link" not in page
    assert "<script" not in page


def test_figures_without_matplotlib(results, tmp_path, monkeypatch):
    def missing(_):
        raise MissingExtra("no matplotlib")

    monkeypatch.setattr(figures, "draw", missing)
    write_report(results, tmp_path)
    assert 'pip install "elmonet[plot]"' in (tmp_path / "report.md").read_text()
    assert not (tmp_path / "figures").exists()


def test_where_we_differ_has_its_numbers(as_in_the_paper, results, tmp_path, monkeypatch):
    page = differences(as_in_the_paper)
    assert page.startswith("# Where we differ from the paper")
    assert "{" not in page
    widths = results["done"]["sensitivity/widths"]
    assert f"{100 * widths['ridge'][-1]:.1f}"[:3] in page
    assert "| Darcy flow | Sinusoidal ELM-DeepONet CNN | 15.0 % |" in page
    monkeypatch.setattr(report, "draw_figures", lambda *_: None)  # drawn by the fixture
    names = [path.name for path in write_report(as_in_the_paper, tmp_path)]
    assert names == ["report.md", "where-we-differ.md", "report.html"]
    assert "Where we differ" in (tmp_path / "report.html").read_text()


def test_where_we_differ_waits_for_a_whole_run_of_the_papers_size(results, as_in_the_paper):
    assert differences(results) == ""
    for name in ("sensitivity/widths", "darcy/draws"):
        less = {k: v for k, v in as_in_the_paper["done"].items() if k != name}
        assert differences({**as_in_the_paper, "done": less}) == ""


def test_a_training_that_was_cut_says_nothing_about_reproduction(as_in_the_paper):
    done = dict(as_in_the_paper["done"])
    assert "| Inverse source | DeepONet | 5.04 % |" in differences(as_in_the_paper)
    done["inverse_source/DeepONet"] = {**done["inverse_source/DeepONet"], "stopped": "seconds"}
    assert "| Inverse source | DeepONet | 5.04 % |" not in differences({**as_in_the_paper, "done": done})
