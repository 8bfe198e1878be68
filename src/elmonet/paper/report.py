"""The report of a run: figures, one page of Markdown, one self-contained page of HTML."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from elmonet._check import MissingExtra
from elmonet.paper.differences import differences
from elmonet.paper.printed import printed
from elmonet.paper.tables import duration, markdown_table, tables, verdicts
from elmonet.report.page import Markup, inside, page
from elmonet.store import write_bytes

__all__ = ["draw_figures", "markdown", "write_report"]


def write_report(results: dict[str, Any], out: str | os.PathLike[str]) -> list[Path]:
    """Write ``figures/*.png``, ``report.md``, ``where-we-differ.md`` and ``report.html`` to the folder `out`.

    The page of HTML holds all of it. Without matplotlib the pages say how to get the figures; it is left
    out if the run did not measure what ``where-we-differ.md`` needs. Returns the pages.
    """
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    text = markdown(results, draw_figures(results, out / "figures"))
    differ = differences(results)
    pages = {"report.md": text, "where-we-differ.md": differ, "report.html": _html(text + "\n" + differ, out)}
    written = [out / name for name, page in pages.items() if page]
    for path in written:
        write_bytes(path, pages[path.name].encode())
    return written


def draw_figures(results: dict[str, Any], folder: Path) -> dict[str, str] | None:
    """Draw the figures to the folder; their captions by name, or None without matplotlib."""
    from elmonet.paper.figures import CAPTIONS, draw

    try:
        figures = draw(results)
    except MissingExtra:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in figures.items():
        figure.savefig(folder / f"{name}.png", dpi=150)
    return {name: CAPTIONS[name] for name in figures}


def markdown(results: dict[str, Any], captions: dict[str, str] | None) -> str:
    """The report as Markdown; the figures are looked for in ``figures/``."""
    parts = ["# The paper's numbers, and the same measured here", _opening(results)]
    for table in (*tables(results), verdicts(results)):
        if table.rows:
            parts += [f"## {table.title}", markdown_table(table), *table.notes]
    parts.append("## Figures")
    if captions is None:
        parts.append('Not drawn: they need matplotlib, `pip install "elmonet[plot]"`.')
    else:
        parts += [f"![{caption}](figures/{name}.png)\n\n*{caption}*" for name, caption in captions.items()]
    return "\n\n".join(parts) + "\n"


def _opening(results: dict[str, Any]) -> str:
    machine, effort = results["machine"], results["effort"]
    budget = f"{effort['epochs']} epochs"
    if effort["seconds"] is not None:
        budget = f"at most {duration(effort['seconds'])} or {budget}"
    steps = "one step an epoch" if effort["batch_size"] is None else f"batches of {effort['batch_size']}"
    versions = [machine["system"], machine["processor"], f"{machine['cores']} cores"]
    versions += [f"{name} {machine[name]}" for name in ("python", "numpy", "scipy", "torch") if machine[name]]
    return "\n".join(
        [
            f"Source of the paper's numbers, measured on {printed()['machine']}: {printed()['source']}.",
            "",
            "Each cell gives the relative error on new functions and the seconds of training.",
            "",
            "- *parameters*: as printed in the paper, and as counted here.",
            "- *paper*: as printed there.",
            "- *as printed*: its recipe run here, float32 pseudoinverses with the cut-off max(shape) eps.",
            '- *our solver*: the same branch and trunk in float64, `Ridge("loo")`.',
            f"- *trained*: the vanilla DeepONet, Adam with rate 1e-3, {budget}, {steps}; the weights "
            "of least training loss.",
            "",
            f"elmonet {results['elmonet']}, {results['date']}, seed {results['seed']}, {effort['functions']} "
            f"training and {effort['functions']} test functions. {', '.join(versions)}.",
        ]
    )


def _html(text: str, folder: Path) -> str:
    from markdown_it import MarkdownIt

    body = MarkdownIt("commonmark").enable("table").render(text)
    body = re.sub(
        r'src="(figures/\w+\.png)"', lambda found: f'src="{inside((folder / found[1]).read_bytes())}"', body
    )
    return page(text.splitlines()[0].removeprefix("# "), Markup(body))
