"""Make the pages that hold measured numbers from the results of one full run.

    python docs/generate.py        # or: make docs

Reads docs/paper/results.json, which `elmonet reproduce --full --out docs/paper` wrote. Writes the report, its
figures and where-we-differ.md beside it, and the table in README.md. A test fails if they disagree.
"""

import re
from pathlib import Path

from elmonet.paper import read_results, write_report
from elmonet.paper.tables import markdown_table, summary

ROOT = Path(__file__).resolve().parents[1]
PAPER = ROOT / "docs" / "paper"
TABLE = re.compile(r"(<!-- made by docs/generate.py -->\n).*?(<!-- end -->)", re.DOTALL)


def readme(results):
    """README.md with the table of these results."""
    text = (ROOT / "README.md").read_text()
    replaced, count = TABLE.subn(
        lambda found: found[1] + markdown_table(summary(results)) + "\n" + found[2], text
    )
    assert count == 1, "README.md must hold one place for the table"
    return replaced


def main():
    results = read_results(PAPER / "results.json")
    write_report(results, PAPER)
    (PAPER / "report.html").unlink()  # the same again, in a megabyte
    (ROOT / "README.md").write_text(readme(results))


if __name__ == "__main__":
    main()
