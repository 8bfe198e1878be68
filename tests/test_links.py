"""Links between the pages of the repository lead to a file, and to a heading in it."""

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")
MADE_BY_THE_SITE = "gallery/"  # from examples/


@cache
def anchors(page):
    """The anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    if include := re.search(r"\{include\} (\S+)", page.read_text("utf-8")):
        return anchors((page.parent / include[1]).resolve())
    found = set()
    for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        anchor = re.sub(r"[^\w -]", "", words).strip().lower().replace(" ", "-")
        found.add(anchor if anchor not in found else f"{anchor}-1")
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
