"""The code in README and docs runs, and prints what is printed below it."""

import contextlib
import io
import json
import re
import runpy
from dataclasses import asdict
from pathlib import Path

import pytest

from elmonet.paper import FULL, read_results
from elmonet.paper.differences import differences
from elmonet.paper.figures import CAPTIONS
from elmonet.paper.report import markdown

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"```python\n(.*?)```\n(?:```text\n(.*?)```)?", re.DOTALL)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_runs_and_prints_what_it_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for code, expected in BLOCK.findall(page.read_text()):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(page), "exec"), {})
        assert printed.getvalue() == expected


def test_the_readme_says_what_was_measured():
    rows = json.loads((ROOT / "benchmarks" / "results" / "sklearn_rival.json").read_text())
    text = (ROOT / "README.md").read_text()
    for row in rows:
        pipeline, ours = (
            (f"{row[who]['error']:.1e}".replace("e-0", "e-"), f"{row[who]['seconds']:.1f} s")
            for who in ("scikit-learn", "elmonet")
        )
        assert f"| {pipeline[0]} | {pipeline[1]} | {ours[0]} | {ours[1]} |" in text


def test_generated_pages_are_those_of_the_committed_run():
    """README's table and the pages of docs/paper come from docs/paper/results.json and from nothing else."""
    generate = runpy.run_path(str(ROOT / "docs" / "generate.py"))
    results = read_results(ROOT / "docs" / "paper" / "results.json")
    assert (ROOT / "README.md").read_text() == generate["readme"](results), "run make docs"
    page = (ROOT / "docs" / "paper" / "report.md").read_text()
    assert page == markdown(results, CAPTIONS), "run make docs"
    page = (ROOT / "docs" / "paper" / "where-we-differ.md").read_text()
    assert page == differences(results), "run make docs"


def test_the_committed_run_is_a_full_one_and_shows_what_we_claim():
    results = read_results(ROOT / "docs" / "paper" / "results.json")
    assert results["effort"] == json.loads(json.dumps(asdict(FULL)))
    done = results["done"]
    assert not any("skipped" in record for record in done.values())
    limits = {
        "antiderivative/ELM-DeepONet": 0.02,
        "antiderivative/Sinusoidal ELM-DeepONet": 0.02,
        "nonlinear_ode/ELM-DeepONet": 0.02,
        "nonlinear_ode/Sinusoidal ELM-DeepONet": 0.02,
        "inverse_source/ELM-DeepONet": 0.0277,
        "inverse_source/Sinusoidal ELM-DeepONet": 0.0252,
        "darcy/ELM-DeepONet MLP": 0.0565,
        "darcy/ELM-DeepONet CNN": 0.068,
        "darcy/Tensor-sine ELM-DeepONet MLP": 0.06,
        "darcy/Tensor-sine ELM-DeepONet CNN": 0.06,
    }
    for name, limit in limits.items():
        assert done[f"{name}/ours"]["error"] <= limit, name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        assert target.startswith("http") or (page.parent / target).exists(), target
