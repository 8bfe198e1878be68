"""Make the pages that hold measured numbers from the results of the runs that measured them.

    python docs/generate.py        # or: make docs

Reads docs/paper/results.json, which `elmonet reproduce --full --out docs/paper` wrote. Writes the report, its
figures and where-we-differ.md beside it, and the table in README.md. Reads benchmarks/results/peers.json and
auto_cost.json; writes docs/peers.md, its figures, and README's other table; from inference.json,
docs/inference.md.
A test fails if they disagree. Draws the pictures of docs/your-data.md.
"""

import re
import sys
from pathlib import Path

from elmonet.paper import read_results, write_report
from elmonet.paper.tables import markdown_table, summary

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs"))
import inference_page  # noqa: E402
import peers_page  # noqa: E402

PAPER = ROOT / "docs" / "paper"
TABLE = re.compile(r"(<!-- made by docs/generate.py -->\n).*?(<!-- end -->)", re.DOTALL)
PEERS = re.compile(r"(<!-- peers, made by docs/generate.py -->\n).*?(<!-- end of peers -->)", re.DOTALL)


def readme(results):
    """README.md with the tables of these results and of the peers."""
    text = (ROOT / "README.md").read_text()
    rows, _ = peers_page.load()
    for place, table in ((TABLE, markdown_table(summary(results))), (PEERS, peers_page.short_table(rows))):
        text, count = place.subn(lambda found, table=table: found[1] + table + "\n" + found[2], text)
        assert count == 1, "README.md must hold one place for each table"
    return text


def main():
    import data_pictures  # needs matplotlib

    results = read_results(PAPER / "results.json")
    write_report(results, PAPER)
    (PAPER / "report.html").unlink()  # the same again, in a megabyte
    (ROOT / "README.md").write_text(readme(results))
    rows, cost = peers_page.load()
    (ROOT / "docs" / "peers.md").write_text(peers_page.page(rows, cost))
    (ROOT / "docs" / "inference.md").write_text(inference_page.page())
    peers_page.figures(cost, ROOT / "docs" / "figures")
    data_pictures.main()


if __name__ == "__main__":
    main()
