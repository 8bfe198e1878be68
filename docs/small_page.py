"""The table of docs/method.md on few functions, from the results of benchmarks/small_n.py."""

import json
from pathlib import Path

from peers_page import number

RESULTS = Path(__file__).resolve().parents[1] / "benchmarks" / "results" / "small_n.json"


def table():
    """One line for each problem and number of functions."""
    lines = [
        "| problem | functions | true error | expected | factor | interval covers | upper end / expected |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in json.loads(RESULTS.read_text())["rows"]:
        cells = (
            row["problem"],
            str(row["functions"]),
            number(row["true"]),
            number(row["stated"]),
            f"{row['factor']:.2f}",
            f"{row['coverage']:.0%}".replace("%", " %"),
            f"{row['width']:.2f}",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
