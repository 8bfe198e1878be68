"""Links of the pages that leave docs/: on GitHub they lead to a file, on the site to its page.

A page that says ``{include} ../CHANGELOG.md`` is that file, with the links of the file's own folder.
"""

import os
import re
from pathlib import Path

from sphinx.errors import ExtensionError

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
INCLUDED = re.compile(r"```\{include\} (\.\./\S+)\n```\n")
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
REMOTE = re.compile(r"<(?:script|link|img|iframe|source)\b[^>]*?(?:src|href)=\"((?:https?:)?//[^\"]+)")
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "examples": "gallery/index.rst",
}


def page_of(path):
    """The page in docs/ that shows a file of the repository; None if there is none."""
    if path.suffix == ".py" and path.parent == ROOT / "examples":
        return DOCS / "gallery" / f"{path.stem}.rst"
    name = path.relative_to(ROOT).as_posix()
    return DOCS / PAGES[name] if name in PAGES else None


def rewritten(text, folder, page):
    """The text of a file in `folder`, with links as they must be in the page `page`."""

    def link(found):
        words, target, anchor = found.groups()
        path = Path(os.path.normpath(folder / target))
        if ":" in target or not path.is_relative_to(ROOT):
            return found[0]
        shown = path if path.is_relative_to(DOCS) else page_of(path)
        if shown is None:
            name = path.relative_to(ROOT).as_posix()
            words = words.strip("`")
            return f"`{name}`" if words == name else f"{words} (`{name}`)"
        return f"[{words}]({os.path.relpath(shown, page.parent)}{anchor or ''})"

    return LINK.sub(link, text)


def read(app, docname, source):
    """Sphinx's event source-read: a page has been read and is about to be parsed."""
    page = Path(app.env.doc2path(docname))
    if page.suffix != ".md":
        return
    folder, text = page.parent, source[0]
    if found := INCLUDED.search(text):
        file = page.parent / found[1]
        folder, text = file.parent, file.read_text(encoding="utf-8")
    source[0] = rewritten(text, folder, page)


def finished(app, exception):
    """Sphinx's event build-finished: pages open without network, so they may load nothing from afar."""
    pages = sorted(Path(app.outdir).rglob("*.html")) if exception is None else []
    loaded = {asset for page in pages for asset in REMOTE.findall(page.read_text(encoding="utf-8"))}
    if loaded:
        raise ExtensionError(f"pages load what is not in them: {', '.join(sorted(loaded))}")


def setup(app):
    """Connect both."""
    app.connect("source-read", read)
    app.connect("build-finished", finished)
