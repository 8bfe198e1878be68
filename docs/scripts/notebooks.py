"""Notebooks as pages of the site: their cells run from top to bottom, with what they print and draw.

Cells are plain Python, so that Jupyter is not needed. The pages are written to docs/notebooks/, which is not
committed.
"""

import contextlib
import io
import json
import os
import re
import tempfile

INDEX = """# Notebooks

These notebooks can be run and modified cell by cell. Open them from the folder `notebooks` of a clone, in
Jupyter, VS Code or any other program for notebooks.

{list}

```{{toctree}}
:hidden:

{names}
```
"""


def write_pages(notebooks, folder):
    """Write a page for each notebook that is newer than its page, and an index of them."""
    folder.mkdir(exist_ok=True)
    titles = {}
    for book in sorted(notebooks.glob("*.ipynb")):
        cells = json.loads(book.read_text("utf-8"))["cells"]
        titles[book.stem] = re.search(r"^# (.+)$", "".join(cells[0]["source"]), re.MULTILINE)[1]
        page = folder / f"{book.stem}.md"
        if not page.exists() or page.stat().st_mtime < book.stat().st_mtime:
            page.write_text(as_markdown(cells, page, notebooks), "utf-8")
    listed = "\n".join(f"- [{title}]({name}.md)" for name, title in titles.items())
    (folder / "index.md").write_text(INDEX.format(list=listed, names="\n".join(titles)), "utf-8")


def as_markdown(cells, page, folder):
    """Run the cells; return them as Markdown, with their outputs."""
    parts, names, here = [], {"__name__": "__main__"}, os.getcwd()
    with tempfile.TemporaryDirectory() as empty:
        os.chdir(empty)
        try:
            for i, cell in enumerate(cells):
                source = "".join(cell["source"])
                if cell["cell_type"] == "markdown":
                    parts.append(linked(source, page, folder))
                else:
                    parts += [f"```python\n{source}\n```", *run(source, names, page.with_suffix(""), i)]
        finally:
            os.chdir(here)
    return "\n\n".join(parts) + "\n"


def run(source, names, stem, i):
    """Run a cell; return what it printed and drew."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    printed, found = io.StringIO(), []
    with contextlib.redirect_stdout(printed):
        exec(compile(source, f"{stem.name}, cell {i}", "exec"), names)
    if printed.getvalue():
        found.append(f"```text\n{printed.getvalue().rstrip()}\n```")
    for number in pyplot.get_fignums():
        picture = stem.with_name(f"{stem.name}-{i}-{number}.png")
        pyplot.figure(number).savefig(picture, dpi=110, bbox_inches="tight")
        found.append(f"![What this cell draws]({picture.name})")
    pyplot.close("all")
    return found


def linked(source, page, folder):
    """Return the text of a cell with links as they must be in its page."""
    from scripts.sphinx_site import rewrite_links

    return rewrite_links(source, folder, page)
