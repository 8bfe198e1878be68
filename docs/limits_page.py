"""The tables of docs/when-not.md, from the results of benchmarks/limits.py."""

import json
from pathlib import Path

from peers_page import number

RESULTS = Path(__file__).resolve().parents[1] / "benchmarks" / "results" / "limits.json"
FIRST = {
    "fronts": "data",
    "chaos": "predicted times",
    "kinds": "new functions",
    "few": "trained on",
    "switch": "trained on",
    "drift": "after the operator has changed",
}


def load():
    """The rows of each part."""
    return json.loads(RESULTS.read_text())


def tables():
    """One table for each part, by name."""
    found = load()
    made = {name: _errors(first, found[name]) for name, first in FIRST.items()}
    return made | {"size": _size(found["size"])}


def _errors(first, rows):
    lines = [f"| {first} | error | expected | in 90 of 100 cases | warns |", "|---|---|---|---|---|"]
    for row in rows:
        between = "0 to ∞" if row["interval"] is None else " to ".join(number(end) for end in row["interval"])
        warns = "yes" if row["warned"] else "no"
        cells = (row["case"], number(row["error"]), number(row["expected"]), between, warns)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _size(rows):
    lines = ["| model | outputs | peak of the process |", "|---|---|---|"]
    lines += [f"| `{row['case']}` | {row['outputs']:.2f} GiB | {row['peak']:.2f} GiB |" for row in rows]
    return "\n".join(lines)
