"""What the site does beyond Sphinx: links that leave docs/, plain-text docstrings, live pages, notebooks.

Links of the pages lead to files on GitHub and to pages on the site. A page that says
``{include} ../CHANGELOG.md`` is that file, with the links of the file's own folder.

Docstrings are plain text for people and become reStructuredText here. They have paragraphs, equations
(indented by four), `names`, ``code``, examples after ``>>>``, and sections with a line of dashes below their
title. An entry of a section is ``name, other : what it is`` and continues in indented lines.
"""

import inspect
import os
import pydoc
import re
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.errors import ExtensionError

import elmonet
from scripts import command_line, live_pages, notebooks, thumbnails
from scripts.shared import DOCS, ROOT

INCLUDE = re.compile(r"```\{include\} (\.\./\S+)\n```\n")
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
REMOTE = re.compile(r"<(?:script|link|img|iframe|source)\b[^>]*?(?:src|href)=\"((?:https?:)?//[^\"]+)")
PAGES = {  # of the site, by the file of the repository that they show
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "examples": "gallery/index.rst",
    "notebooks": "notebooks/index.md",
}
ACCESSIBLE = (  # the button's name holds its text; a list of parameters is no list of terms; links have names
    (
        re.compile(r'(<button [^>]*search-button-field[^>]*?) title="Search" aria-label="Search"'),
        r'\1 aria-label="Search Ctrl+K"',
    ),
    (
        re.compile(r'<dl>\n((?:<dd><em class="sig-param">.*?</em>,</dd>\n)+)</dl>', re.DOTALL),
        lambda found: (
            f'<div class="sig-params">{found[1].replace("<dd>", "<div>").replace("</dd>", "</div>")}</div>'
        ),
    ),
    (
        re.compile(
            r'<p><a class="reference internal" href="([^"]*)"><span class="doc">([^<]*)</span></a></p>'
        ),
        r'<p><a class="reference internal" href="\1" aria-label="\2"><span class="doc">\2</span></a></p>',
    ),
)
ALIAS = re.compile(r"TypeAliasForwardRef\('(\w+)'\)")
DOCUMENTED = re.compile(r"^\.\. auto(?:class|function|exception):: (\S+)$", re.MULTILINE)
BODY = re.compile(r"^(?:\.\. auto\w+::|.+\n---)", re.MULTILINE)  # a name, or the heading of a section
MANY_NAMES = 4  # a page with so many begins with a table of them
UNDOCUMENTED = re.compile(r"set_\w+_request|get_metadata_routing|remember_inputs")
SECTIONS_OF_ENTRIES = ("Parameters", "Attributes", "Returns", "Raises")
SECTION = re.compile(r"^(Parameters|Attributes|Returns|Yields|Raises|Warns|Notes|References|Examples)$")
ENTRY = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*) :(?: (.*))?$")
CODE = re.compile(r"(``.+?``|`[^`]+`)")
FIRST_EXAMPLES = [
    "your_own_data",
    "four_problems",
    "error_bars",
    "images_to_fields",
    "several_inputs",
    "vector_outputs",
    "unaligned_data",
    "noise",
    "time_steps",
    "records",
    "physics_heat",
    "physics_channel_flow",
    "physics_own_domain",
    "next_simulation",
    "optimisation_loop",
    "inverse_problem",
    "plain_elm",
]


def setup(app):
    """Connect the functions below to the events of Sphinx."""
    app.connect("builder-inited", write_sources)
    app.connect("source-read", rewrite_page)
    app.connect("html-page-context", describe_page)
    app.connect("build-finished", write_live_pages)
    app.connect("build-finished", serve_screen_readers)
    app.connect("build-finished", refuse_remote_assets)
    app.connect("autodoc-process-docstring", rewrite_docstring)
    app.connect("autodoc-process-signature", name_aliases)
    app.connect("autodoc-skip-member", skip_member)
    app.connect("missing-reference", resolve_reference)


def write_sources(app):
    """Write the page of the command line, and each notebook as a page with what its cells print and draw."""
    page, text = DOCS / "command-line.md", command_line.page()
    if not page.exists() or page.read_text("utf-8") != text:
        page.write_text(text, "utf-8")
    notebooks.write_pages(ROOT / "notebooks", DOCS / "notebooks")
    thumbnails.crop_thumbnails(DOCS / "gallery")


def write_live_pages(app, exception):
    """Write the pages on which operators are drawn on, beside the others."""
    if exception is None:
        live_pages.write_pages(Path(app.outdir) / "live")


def serve_screen_readers(app, exception):
    """Mend what theme, gallery and signatures leave out for those who hear a page."""
    for page in sorted(Path(app.outdir).rglob("*.html")) if exception is None else []:
        text = page.read_text(encoding="utf-8")
        mended = text
        for wrong, right in ACCESSIBLE:
            mended = wrong.sub(right, mended)
        if mended != text:
            page.write_text(mended, encoding="utf-8")


def describe_page(app, name, template, context, doctree):
    """Tell search engines what a page is about: its first paragraph."""
    if doctree is None:
        return
    for paragraph in doctree.findall(nodes.paragraph):
        text = " ".join(paragraph.astext().split())
        if len(text) > 40:
            short = text if len(text) <= 160 else text[:157].rsplit(" ", 1)[0] + " ..."
            context["metatags"] += f'<meta name="description" content="{escape(short)}">'
            return


def rewrite_page(app, docname, source):
    """Adapt the links of a page that is about to be parsed."""
    page = Path(app.env.doc2path(docname))
    if docname.startswith("api/"):
        source[0] = with_contents(source[0])
    if page.suffix != ".md":
        return
    folder, text = page.parent, source[0]
    if include := INCLUDE.search(text):
        file = page.parent / include[1]
        folder, text = file.parent, file.read_text(encoding="utf-8")
    source[0] = rewrite_links(text, folder, page)


def with_contents(text):
    """Return a page of the API with a table of its names in front of the first of them, if there are many."""
    names = DOCUMENTED.findall(text)
    if len(names) < MANY_NAMES:
        return text
    start = BODY.search(text).start()
    table = summary_table((name, pydoc.locate(name)) for name in names)
    return text[:start] + "\n".join(table) + "\n\n" + text[start:]


def summary_table(members):
    """Return the lines of a table of names, as links, and the first sentences of their docstrings."""
    lines = ["", ".. list-table::", ""]
    for name, value in members:
        said = " ".join(inspect.getdoc(value).split("\n\n")[0].split())
        said = re.sub(r",? where$|[:,]$", ".", said)  # an equation follows
        lines += [f"   * - `~{name}`", f"     - {escaped(said)}"]
    return [*lines, ""]


def rewrite_links(text, folder, page):
    """Return the text of a file in `folder` with its links as they must be in `page`."""

    def link(match):
        label, target, anchor = match.groups()
        path = Path(os.path.normpath(folder / target))
        if ":" in target or not path.is_relative_to(ROOT):
            return match[0]
        shown = path if path.is_relative_to(DOCS) else page_of(path)
        if shown is None:
            name = path.relative_to(ROOT).as_posix()
            label = label.strip("`")
            return f"`{name}`" if label == name else f"{label} (`{name}`)"
        return f"[{label}]({os.path.relpath(shown, page.parent)}{anchor or ''})"

    return LINK.sub(link, text)


def page_of(path):
    """Return the page in docs/ that shows a file of the repository; None if there is none."""
    if path.suffix == ".py" and path.parent == ROOT / "examples":
        return DOCS / "gallery" / f"{path.stem}.rst"
    name = path.relative_to(ROOT).as_posix()
    return DOCS / PAGES[name] if name in PAGES else None


def refuse_remote_assets(app, exception):
    """Fail if a page of the site loads anything from the network."""
    pages = sorted(Path(app.outdir).rglob("*.html")) if exception is None else []
    remote = {asset for page in pages for asset in REMOTE.findall(page.read_text(encoding="utf-8"))}
    if remote:
        raise ExtensionError(f"pages must not load remote files; found {', '.join(sorted(remote))}")


def rewrite_docstring(app, what, name, obj, options, lines):
    """Replace the lines of a docstring by reStructuredText; estimators get a table of their methods."""
    lines[:] = as_restructured_text(lines)
    if what == "class" and options.inherited_members:
        lines += methods_table(name, obj)


def methods_table(name, cls):
    """Return the lines of a table of the methods of a class."""
    methods = [
        (f"{name}.{member}", value)
        for member, value in inspect.getmembers(cls, inspect.isroutine)
        if not (member.startswith("_") or UNDOCUMENTED.fullmatch(member))
        and getattr(value, "__module__", "").startswith("elmonet")
    ]
    return ["", ".. rubric:: Methods", *summary_table(methods)]


def name_aliases(app, what, name, obj, options, signature, returned):
    """Show the name of an alias of types, where autodoc shows how it holds it."""
    return tuple(text and ALIAS.sub(r"\1", text) for text in (signature, returned))


def as_restructured_text(lines):
    """Return the lines of a docstring as reStructuredText."""
    out, entries, literal = [], False, False
    lines = [*lines, ""]
    for number, line in enumerate(lines[:-1]):
        below = lines[number + 1]
        indented = line.startswith("    ")
        if SECTION.match(line) and below.startswith("---"):
            out += ["", f".. rubric:: {line}", ""]
            entries, literal = line in SECTIONS_OF_ENTRIES, False
        elif line.startswith("---"):
            continue
        elif entries and (found := ENTRY.match(line)):
            names = ", ".join(f"**{escaped(name)}**" for name in found[1].split(", "))
            out += [names, *([f"    {escaped(found[2])}"] if found[2] else [])]
        elif entries and (indented or not line):
            out.append(escaped(line))
        elif indented and not literal and not out[-1].strip():
            out += ["::", "", line]
            entries, literal = False, True
        elif literal and (indented or not line):
            out.append(line)
        elif line.lstrip().startswith((">>>", "...")) or (out and _in_example(out)):
            out.append(line)
            literal = entries = False
        else:
            out.append(escaped(line))
            literal = entries = False
    return out


def _in_example(out):
    """Return whether the last paragraph begins with ``>>>``, so that the next line is its output."""
    for line in reversed(out):
        if not line.strip():
            return False
        if line.startswith(">>>"):
            return True
    return False


def escaped(line):
    """Return a line of text with the markup characters of reStructuredText escaped, except in code."""
    pieces = CODE.split(line)
    pieces[::2] = [re.sub(r"([*_|\\])", r"\\\1", piece) for piece in pieces[::2]]
    return "".join(pieces)


def skip_member(app, what, name, obj, skip, options):
    """Leave out what scikit-learn adds to every estimator for its own use."""
    return True if UNDOCUMENTED.fullmatch(name) else None


def resolve_reference(app, env, node, text):
    """Link a type that is named by its private module to its public name."""
    name = node.get("reftarget", "").rpartition(".")[2]
    if node.get("refdomain") != "py" or name not in elmonet.__all__:
        return None
    domain = env.get_domain("py")
    public = f"elmonet.{name}"
    if public not in domain.objects:
        return None
    found = domain.objects[public]
    reference = nodes.reference("", "", text, internal=True)
    reference["refuri"] = app.builder.get_relative_uri(node["refdoc"], found.docname) + f"#{found.node_id}"
    return reference


class GalleryOrder:
    """Sort key of the examples: those of `FIRST_EXAMPLES`, then the others by name."""

    def __init__(self, folder):
        self.folder = folder

    def __repr__(self):
        return "GalleryOrder"

    def __call__(self, file):
        name = file.removesuffix(".py")
        return (FIRST_EXAMPLES.index(name) if name in FIRST_EXAMPLES else len(FIRST_EXAMPLES), name)
