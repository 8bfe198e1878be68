"""Make the pages that hold measured numbers from the results of the runs that measured them.

    python docs/generate.py        # or: make docs

Reads docs/paper/results.json, which `elmonet reproduce --full --out docs/paper` wrote. Writes the report, its
figures and where-we-differ.md beside it, and the table in README.md. Reads benchmarks/results/peers.json and
auto_cost.json; writes docs/peers.md, its figures, and README's other table; from inference.json,
docs/inference.md; from layers.json, the table of docs/layers.md, which README has too, and its figure; from
bands.json, bands_cost.json and novelty.json, the tables of docs/error-bars.md; from small_n.json, that of
docs/method.md; from suggest.json, the table and the figure of docs/next-simulation.md; from physics.json, the
table of docs/physics.md; from limits.json, the tables of docs/when-not.md.
A test fails if they disagree. Draws the pictures of docs/your-data.md, of docs/tutorials/my-data.md, and
README's.
"""

import re
import sys
from pathlib import Path

from elmonet.paper import read_results, write_report
from elmonet.paper.tables import markdown_table, summary

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs"))
import bands_page  # noqa: E402
import inference_page  # noqa: E402
import layers_page  # noqa: E402
import limits_page  # noqa: E402
import peers_page  # noqa: E402
import physics_page  # noqa: E402
import small_page  # noqa: E402
import suggest_page  # noqa: E402

PAPER = ROOT / "docs" / "paper"


def filled(page, **tables):
    """A page with tables at the places that are marked by their names."""
    text = (ROOT / page).read_text()
    for name, table in tables.items():
        place = rf"(<!-- {name}, made by docs/generate.py -->\n).*?(<!-- end of {name} -->)"
        text, count = re.subn(
            place, lambda found, t=table: f"{found[1]}{t}\n{found[2]}", text, flags=re.DOTALL
        )
        assert count == 1, f"{page} must hold one place for the table {name}"
    return text


def readme(results):
    """README.md with the tables of these results, of peers, layers and equations."""
    rows, _ = peers_page.load()
    layers = layers_page.table(layers_page.load())
    paper = markdown_table(summary(results))
    equations = physics_page.short(physics_page.load())
    peers, automatic = peers_page.short_table(rows), peers_page.automatic(rows)
    return filled(
        "README.md", paper=paper, automatic=automatic, peers=peers, layers=layers, equations=equations
    )


def layers():
    """docs/layers.md with its table."""
    return filled("docs/layers.md", layers=layers_page.table(layers_page.load()))


def error_bars():
    """docs/error-bars.md with its table."""
    tables = {"bands": bands_page.table(bands_page.load()), "novelty": bands_page.novelty_table()}
    tables["cost"] = bands_page.cost_table()
    return filled("docs/error-bars.md", **tables)


def method():
    """docs/method.md with its table of few functions."""
    return filled("docs/method.md", small=small_page.table())


def next_simulation():
    """docs/next-simulation.md with its table."""
    return filled("docs/next-simulation.md", suggest=suggest_page.table(suggest_page.load()))


def physics():
    """docs/physics.md with the table of its gallery."""
    return filled("docs/physics.md", gallery=physics_page.gallery(physics_page.load()))


def when_not():
    """docs/when-not.md with its tables."""
    return filled("docs/when-not.md", **limits_page.tables())


def main():
    import data_pictures  # these need matplotlib
    import front_picture
    import tutorial_pictures

    results = read_results(PAPER / "results.json")
    write_report(results, PAPER)
    (PAPER / "report.html").unlink()  # the same again, in a megabyte
    (ROOT / "README.md").write_text(readme(results))
    rows, cost = peers_page.load()
    (ROOT / "docs" / "peers.md").write_text(peers_page.page(rows, cost))
    (ROOT / "docs" / "inference.md").write_text(inference_page.page())
    peers_page.figures(cost, ROOT / "docs" / "figures")
    (ROOT / "docs" / "layers.md").write_text(layers())
    (ROOT / "docs" / "error-bars.md").write_text(error_bars())
    bands_page.figure(ROOT / "docs" / "figures" / "bands.png")
    (ROOT / "docs" / "method.md").write_text(method())
    layers_page.figure(layers_page.load(), ROOT / "docs" / "figures" / "layers.png")
    (ROOT / "docs" / "next-simulation.md").write_text(next_simulation())
    (ROOT / "docs" / "physics.md").write_text(physics())
    (ROOT / "docs" / "when-not.md").write_text(when_not())
    suggest_page.figure(suggest_page.load(), ROOT / "docs" / "figures" / "suggest.png")
    data_pictures.main()
    front_picture.main()
    tutorial_pictures.main()


if __name__ == "__main__":
    main()
