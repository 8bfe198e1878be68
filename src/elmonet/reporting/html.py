"""One HTML page that loads nothing and runs nothing; the text of its elements is always escaped."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from html import escape

# What a browser may load for this page: pictures inside it, and nothing else; no script runs.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"

_STYLE = """
:root { color-scheme: light dark; --ink: #222; --paper: #fff; --faint: #ddd; --line: #888; --code: #f4f4f4; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #ddd; --paper: #16181b; --faint: #3a3d42; --line: #8a8d92; --code: #25282d; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62em; margin: 2em auto; padding: 0 1em;
  color: var(--ink); background: var(--paper); overflow-wrap: anywhere; }
table { border-collapse: collapse; margin: 1em 0; font-size: 0.9em; display: block; overflow-x: auto; }
th, td { padding: 0.3em 0.8em; border-bottom: 1px solid var(--faint); text-align: left; white-space: nowrap; }
th { border-bottom: 2px solid var(--line); }
td { font-variant-numeric: tabular-nums; }
.facts th { border-bottom-width: 1px; border-color: var(--faint); vertical-align: top; white-space: normal; }
.facts td { white-space: normal; }
.large { font-size: 1.6em; margin: 0.4em 0 0; }
figure { margin: 1.2em 0; }
.beside { display: flex; flex-wrap: wrap; gap: 0 1em; }
.beside figure { flex: 0 1 29em; }
figcaption { font-size: 0.9em; }
img { max-width: 100%; height: auto; background: #fff; }
code, pre { background: var(--code); padding: 0 0.2em; }
pre { padding: 0.6em 0.8em; white-space: pre-wrap; }
summary { cursor: pointer; padding: 0.3em 0; }
@media print { :root { --ink: #000; --paper: #fff; --faint: #ddd; --line: #888; --code: #f4f4f4; }
  body { font-size: 11px; margin: 0; max-width: none; } figure, table, pre { break-inside: avoid; }
  h2, h2 + p { break-after: avoid; } details:not([open]) { display: none; } }
"""


class Markup(str):
    """Text that is HTML already; any other text is escaped."""


def element(name: str, *content: str, **attributes: str) -> Markup:
    """Return ``<name attributes>content</name>``; `class_` is the attribute class.

    Examples
    --------
    >>> element("p", "a < b", element("b", '"'))
    '<p>a &lt; b<b>&quot;</b></p>'
    """
    given = "".join(f' {key.rstrip("_")}="{escape(value)}"' for key, value in attributes.items())
    return Markup(f"<{name}{given}>{_joined(content)}</{name}>")


def table(rows: Iterable[Iterable[str]], head: Iterable[str] = ()) -> Markup:
    """Return a table; without a head, the first column names the second."""
    head = list(head)
    lines = [element("tr", *(element("th", cell) for cell in head))] if head else []
    for first, *rest in rows:
        begin = element("td", first) if head else element("th", first, scope="row")
        lines.append(element("tr", begin, *(element("td", cell) for cell in rest)))
    return element("table", *lines) if head else element("table", *lines, class_="facts")


def folded(title: str, *content: str) -> Markup:
    """Return what a click on its title unfolds.

    >>> folded("All", "a < b")
    '<details><summary>All</summary>a &lt; b</details>'
    """
    return element("details", element("summary", title), *content)


def picture(png: bytes, caption: str) -> Markup:
    """Return an embedded picture with a caption, which is its alternative text too."""
    image = Markup(f'<img src="{inside(png)}" alt="{escape(caption)}">')
    return element("figure", image, element("figcaption", caption))


def inside(png: bytes) -> str:
    """Return the data address of a PNG."""
    return "data:image/png;base64," + base64.b64encode(png).decode()


def page(title: str, *body: str) -> str:
    """Return the page; strings of the body that are not `Markup` are text."""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{_STYLE}</style></head>\n<body><main>\n{_joined(body)}</main></body></html>\n"
    )


def _joined(content: Iterable[str]) -> str:
    return "".join(part if isinstance(part, Markup) else escape(part) for part in content)
