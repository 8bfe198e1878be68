"""The table of docs/tasks.md: lines of code as they are, and pages that exist. test_docs.py runs the code."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "tasks.md").read_text()
ROWS = re.findall(r"^\| \[(.+?)\]\(#(.+?)\) \| (\d+) \| \[.+?\]\((.+?)\) \|$", PAGE, re.MULTILINE)
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))


def anchor(heading):
    """As GitHub makes it."""
    return re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-")


def test_every_task_is_in_the_table():
    assert {task for task, *_ in ROWS} == set(SECTIONS)
    assert len(ROWS) >= 10


@pytest.mark.parametrize(("task", "place", "lines", "page"), ROWS, ids=[row[1] for row in ROWS])
def test_lines_and_page(task, place, lines, page):
    assert place == anchor(task)
    code = re.search(r"^```py(?:thon)?\n(.*?)^```", SECTIONS[task], re.MULTILINE | re.DOTALL)[1]
    counted = [line for line in code.splitlines() if line.strip() and not line.strip().startswith("#")]
    assert len(counted) == int(lines)
    file, _, heading = page.partition("#")
    text = (DOCS / file).read_text()
    assert not heading or heading in {anchor(line) for line in re.findall(r"^#+ (.+)$", text, re.MULTILINE)}
