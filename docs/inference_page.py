"""The page about the cost of a prediction, from the results of benchmarks/inference.py."""

import json
from pathlib import Path

RESULTS = Path(__file__).resolve().parents[1] / "benchmarks" / "results" / "inference.json"

INTRODUCTION = """\
# One prediction against one numerical solution

Made by docs/generate.py from benchmarks/results/inference.json (`python benchmarks/inference.py`): a model
with 1000 random features and a linear block, fitted to 1000 functions, on one thread. The numerical solver is
the one with which the problem's data were made, for one function at a time. It is more accurate than the
model, whose relative error is given. A solver that is already fast, as for these 1-D problems and for a grid
of 50 x 50, is not worth replacing for a single solution. The model is worth it where many are needed (a
batch, an inverse problem, a search for a design) or where a solution takes longer than a millisecond."""

HEAD = """\
| problem | one prediction | each of 200 | error | numerical solver | its time | faster by | in a batch by |
|---|---|---|---|---|---|---|---|"""


def page():
    """docs/inference.md."""
    lines = []
    for row in json.loads(RESULTS.read_text()):
        for solver, found in row["solvers"].items():
            cells = (
                row["problem"],
                f"{1e3 * row['one']:.2f} ms",
                f"{1e3 * row['each of 200']:.3f} ms",
                f"{row['error']:.1e}",
                solver,
                f"{1e3 * found['seconds']:.2f} ms",
                f"{found['times']:.1f}",
                f"{found['times in a batch']:.0f}",
            )
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([INTRODUCTION, "", HEAD, *lines]) + "\n"
