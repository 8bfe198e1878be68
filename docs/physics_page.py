"""The table of docs/physics.md, from the results of benchmarks/physics.py."""

import json
from dataclasses import replace
from pathlib import Path

from elmonet.equations.gallery import GALLERY
from elmonet.paper.physics import physics_table
from elmonet.paper.tables import markdown_table

RESULTS = Path(__file__).resolve().parents[1] / "benchmarks" / "results" / "physics.json"


def load():
    return json.loads(RESULTS.read_text())


def gallery(results):
    """The table, and what must be known to read it."""
    table = physics_table(results)
    lines = [tuple(cell.replace(", ", "<br>") for cell in row) for row in table.rows]
    return "\n".join([markdown_table(replace(table, rows=lines)), "", *(f"- {note}" for note in table.notes)])


def short(results):
    """For README: what was published, and what one fit gives."""
    lines = ["| equation | published | error | seconds |", "|---|---|---|---|"]
    for name, row in results["done"].items():
        problem = GALLERY[name]
        published = f"{problem.published}, {problem.took}"
        lines.append(f"| {problem.title} | {published} | {row['error']:.1e} | {row['seconds']:.3g} |")
    return "\n".join(lines)
