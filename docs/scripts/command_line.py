"""The page of the command line, from the commands themselves: what they do, take and print."""

import re

import typer.main

from elmonet.cli import app

INTRODUCTION = """# Command line

Each command calls public functions only, so everything can be done in Python as well. `elmonet VERB --help`
prints the text of this page. With `--json`, a command prints one JSON object for scripts.

Exit codes: 0 for success; 1 if data, files or settings are invalid (the message says what to do); 2 for a
command that is called in the wrong way.

| command | purpose |
|---|---|
"""


def page():
    """Return the page as Markdown."""
    group = typer.main.get_command(app)
    context = group.make_context("elmonet", [], resilient_parsing=True)
    verbs = {name: group.get_command(context, name) for name in group.list_commands(context)}
    rows = [f"| [{name}](#elmonet-{name}) | {first_sentence(verb.help)} |" for name, verb in verbs.items()]
    return INTRODUCTION + "\n".join(
        [*rows, "", *(section(name, verb, context) for name, verb in verbs.items())]
    )


def first_sentence(text):
    return re.split(r"(?<=\.)\s", " ".join(text.split("\n\n")[0].split()), maxsplit=1)[0]


def section(name, verb, parent):
    """Return the part of one verb: what it does, how it is called, its options."""
    words, _, examples = verb.help.partition("**Examples**")
    context = typer.Context(verb, info_name=name, parent=parent)
    pieces = (piece.strip("{}").replace("}", "") for piece in verb.collect_usage_pieces(context))
    usage = " ".join([f"elmonet {name}", *pieces])
    calls = [line.strip() for line in examples.splitlines() if line.strip().startswith("elmonet ")]
    rows = []
    for parameter in verb.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and "--help" not in parameter.opts:
            left, right = (re.sub(r" <.*?>+|\|", "", " ".join(part.split())) for part in record)
            right = right.replace("[default: (", "[default: ").replace(")]", "]")
            rows.append(f"| `{left}` | {right} |")
    table = ["| argument | meaning |", "|---|---|", *rows] if rows else []
    return "\n".join(
        [f"## elmonet {name}", "", words.strip(), "", f"```text\n{usage}\n```", "", *table, "",
         "```sh", *calls, "```", ""]
    )  # fmt: skip
