"""Make the pages and figures that hold measured numbers, from the results of the runs that measured them.

    python docs/generate.py                          # or: make docs
    python docs/generate.py README.md learning       # some of them: see PAGES below and scripts/figures.py

Reads docs/paper/results.json, which `elmonet reproduce --full --out docs/paper` wrote, and
benchmarks/results/. Pages in PAGES are made whole or have their tables replaced; a test fails if one of them
differs from its results.
"""

import argparse
import sys
from pathlib import Path

from elmonet.paper import read_results
from elmonet.paper.figures import CAPTIONS
from elmonet.paper.report import differences, markdown
from elmonet.paper.tables import markdown_table, summary

sys.path.insert(0, str(Path(__file__).parent))
from scripts import peers, tables
from scripts.shared import DOCS, ROOT, fill_page


def paper_results():
    return read_results(DOCS / "paper" / "results.json")


def readme():
    return fill_page(
        "README.md",
        paper=markdown_table(summary(paper_results())),
        automatic=peers.automatic_sentence(),
        peers=peers.short_table(peers.README_ROWS),
    )


def error_bars():
    return fill_page(
        "docs/error-bars.md",
        bands=tables.bands(),
        coverage=tables.coverage(),
        novelty=tables.novelty(),
        cost=tables.bands_cost(),
    )


def layers_page():
    return fill_page("docs/layers.md", layers=tables.layers(), resolution=tables.resolution())


PAGES = {
    "README.md": readme,
    "docs/paper/report.md": lambda: markdown(paper_results(), CAPTIONS),
    "docs/paper/where-we-differ.md": lambda: differences(paper_results()),
    "docs/peers.md": peers.peers_page,
    "docs/inference.md": peers.inference_page,
    "docs/layers.md": layers_page,
    "docs/error-bars.md": error_bars,
    "docs/method.md": lambda: fill_page("docs/method.md", small=tables.few_functions()),
    "docs/next-simulation.md": lambda: fill_page("docs/next-simulation.md", suggest=tables.suggest()),
    "docs/physics.md": lambda: fill_page("docs/physics.md", gallery=tables.equations_gallery()),
    "docs/suspects.md": lambda: fill_page("docs/suspects.md", suspects=tables.suspects()),
    "docs/when-not.md": lambda: fill_page("docs/when-not.md", **tables.limits()),
}


def main():
    from scripts.figures import FIGURES  # needs matplotlib

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="pages or figures; all of them if none is given")
    names = parser.parse_args().names or [*PAGES, *FIGURES]
    if unknown := [name for name in names if name not in PAGES and name not in FIGURES]:
        parser.error(f"no page or figure {unknown[0]!r}; choose from {', '.join([*PAGES, *FIGURES])}")
    for name in names:
        if name in PAGES:
            (ROOT / name).write_text(PAGES[name]())
        else:
            FIGURES[name]()


if __name__ == "__main__":
    main()
