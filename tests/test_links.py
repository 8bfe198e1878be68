"""Links between pages lead to a file and a heading; the table of docs/tasks.md is right.

test_docs.py runs the code of the pages.
"""

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if page.parent.name != "notebooks"),
]
CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")
MADE_BY_THE_SITE = (
    "gallery/",
    "notebooks/",
    "command-line.md",
)  # from examples/, notebooks/ and the commands


TASKS = (ROOT / "docs" / "tasks.md").read_text()
TASK_ROWS = re.findall(r"^\| \[(.+?)\]\(#(.+?)\) \| (\d+) \| \[.+?\]\((.+?)\) \|$", TASKS, re.MULTILINE)
TASK_SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", TASKS, re.MULTILINE | re.DOTALL))


def anchor(heading):
    """Return the anchor of a heading, as GitHub makes it."""
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w -]", "", words).strip().lower().replace(" ", "-")


@cache
def anchors(page):
    """Return the anchors of a page's headings."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    if include := re.search(r"\{include\} (\S+)", page.read_text("utf-8")):
        return anchors((page.parent / include[1]).resolve())
    found = set()
    for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE):
        name = anchor(heading)
        found.add(name if name not in found else f"{name}-1")
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    lost = []
    for target in LINK.findall(CODE.sub("", page.read_text("utf-8"))):
        name, _, heading = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        if target.startswith("https://") or name.startswith(MADE_BY_THE_SITE):
            continue
        if not file.exists() or (heading and heading not in anchors(file)):
            lost.append(target)
    assert not lost


def test_every_task_is_in_the_table():
    assert {task for task, *_ in TASK_ROWS} == set(TASK_SECTIONS)
    assert len(TASK_ROWS) >= 10


@pytest.mark.parametrize(("task", "place", "lines", "page"), TASK_ROWS, ids=[row[1] for row in TASK_ROWS])
def test_lines_and_page_of_a_task(task, place, lines, page):
    assert place == anchor(task)
    code = re.search(r"^```py(?:thon)?\n(.*?)^```", TASK_SECTIONS[task], re.MULTILINE | re.DOTALL)[1]
    counted = [line for line in code.splitlines() if line.strip() and not line.strip().startswith("#")]
    assert len(counted) == int(lines)
    file, _, heading = page.partition("#")
    assert (ROOT / "docs" / file).exists()
    assert not heading or heading in anchors(ROOT / "docs" / file)
