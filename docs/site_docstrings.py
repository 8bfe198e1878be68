"""Docstrings, which are plain text for people, as reStructuredText.

They hold paragraphs, equations (indented by four), `names`, ``code``, examples after ``>>>``, and sections
with a line of dashes below their title. An entry of a section is ``name, other : what it is``, and goes on in
lines that are indented.
"""

import re

from docutils import nodes

import elmonet

SECTION = re.compile(r"^(Parameters|Attributes|Returns|Examples)$")
ENTRY = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*) :(?: (.*))?$")
CODE = re.compile(r"(``.+?``|`[^`]+`)")


def escaped(line):
    """A line of text, without what reStructuredText would take for marks."""
    pieces = CODE.split(line)
    pieces[::2] = [re.sub(r"([*_|\\])", r"\\\1", piece) for piece in pieces[::2]]
    return "".join(pieces)


def converted(lines):
    """The lines of a docstring as reStructuredText."""
    out, entries, literal = [], False, False
    lines = [*lines, ""]
    for number, line in enumerate(lines[:-1]):
        below = lines[number + 1]
        indented = line.startswith("    ")
        if SECTION.match(line) and below.startswith("---"):
            out += ["", f".. rubric:: {line}", ""]
            entries, literal = line in ("Parameters", "Attributes"), False
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
    """Whether the last paragraph began with ``>>>``: then this line is what it prints."""
    for line in reversed(out):
        if not line.strip():
            return False
        if line.startswith(">>>"):
            return True
    return False


def process(app, what, name, obj, options, lines):
    """Sphinx's event autodoc-process-docstring."""
    lines[:] = converted(lines)


def skipped(app, what, name, obj, skip, options):
    """Sphinx's event autodoc-skip-member: what scikit-learn adds to every estimator for its own use."""
    return True if re.fullmatch(r"set_\w+_request|get_metadata_routing|remember_inputs", name) else None


def resolve(app, env, node, text):
    """Sphinx's event missing-reference: a type that is named by its inner module has a public name."""
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


def setup(app):
    """Connect all three."""
    app.connect("autodoc-process-docstring", process)
    app.connect("autodoc-skip-member", skipped)
    app.connect("missing-reference", resolve)
