"""The code in README and docs runs, and prints what is printed below it."""

import contextlib
import io
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"```python\n(.*?)```\n(?:```text\n(.*?)```)?", re.DOTALL)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        assert target.startswith("http") or (page.parent / target).exists(), target
