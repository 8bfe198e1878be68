"""Shared by the scripts of this folder: results, Markdown tables, places in pages, figure files."""

import json
import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1]
ROOT = DOCS.parent
FIGURE_FOLDER = DOCS / "figures"


def load_results(name):
    """Return what benchmarks/results/NAME.json holds."""
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text())


def markdown_table(columns, rows):
    """Return a table of texts as Markdown."""
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def percent(value):
    """Format a relative error: in percent with three digits, below 1e-4 as a power of ten."""
    if value >= 1e-4:
        return f"{100 * value:.3g} %"
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def fill_page(page, **tables):
    """Return the text of a page with each table between the two markers that name it."""
    text = (ROOT / page).read_text()
    for name, table in tables.items():
        place = rf"(<!-- {name}, made by docs/generate.py -->\n).*?(<!-- end of {name} -->)"
        text, count = re.subn(place, lambda found, t=table: f"{found[1]}{t}\n{found[2]}", text, flags=re.S)
        assert count == 1, f"{page} must have one place for the table {name!r}, has {count}"
    return text


def save_figure(figure, name, dpi=120):
    """Write a figure to docs/figures and close it."""
    import matplotlib.pyplot as plt

    FIGURE_FOLDER.mkdir(exist_ok=True)
    figure.savefig(FIGURE_FOLDER / name, dpi=dpi)
    plt.close(figure)
