"""The report of a run: figures, pages of Markdown, one self-contained page of HTML."""

from __future__ import annotations

import os
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

from elmonet.errors import MissingExtra
from elmonet.paper.models import CLOSED_FORM, TRAINED, printed, printed_row
from elmonet.paper.tables import (
    TITLES,
    Table,
    duration,
    markdown_table,
    percent,
    sensitivity_mean,
    tables,
    trained_records,
    verdicts,
)
from elmonet.reporting.html import Markup, inside, page
from elmonet.store import write_bytes

_MLP, _SINES = "ELM-DeepONet", "Sinusoidal ELM-DeepONet"
_SAME_ERROR = 1.25  # errors within this factor count as reproduced


def differences(results: dict[str, Any]) -> str:
    """Return ``where-we-differ.md``, or "" if the run did not measure all that the page needs."""
    done = results["done"]
    as_in_the_paper = results["effort"]["functions"] == 1000
    needed = [f"sensitivity/{name}" for name in ("widths", "bases", "formulas", f"{_MLP}/0")]
    needed += ["darcy/bases", "darcy/draws"]
    if not as_in_the_paper or any(name not in done for name in needed):
        return ""
    text = files("elmonet.paper").joinpath("differences.md").read_text()
    return text.format(
        run=f"{results['date']}, seed {results['seed']}, {results['effort']['functions']} training functions",
        close=_SAME_ERROR,
        trained=_trained(done),
        worse=", ".join(_worse(done)) or "none",
        reproduced=markdown_table(_reproduced(done)),
        formulas=markdown_table(_formulas(done)),
        darcy_bases=markdown_table(_darcy_bases(done["darcy/bases"])),
        draws=len(done["darcy/draws"]["error"]["CNN"]),
        cnn=_range(done["darcy/draws"]["error"]["CNN"]),
        cnn_small=_range(done["darcy/draws"]["error"]["CNN small"]),
        **_threshold(done["sensitivity/widths"]),
        **_spans(done["sensitivity/bases"]),
        formula_p1=done["sensitivity/formulas"]["p1"],
    )


def _reproduced(done: dict[str, Any]) -> Table:
    rows = []
    for problem, models in printed()["tables"].items():
        for paper in models:
            name = f"{problem}/{paper['model']}"
            record = done.get(f"{name}/printed", done.get(name, {}))
            if "error" in record and record.get("stopped") != "seconds":
                verdict = _verdict(record["error"] / paper["error"])
                here, theirs = percent(record["error"]), percent(paper["error"])
                rows.append((TITLES[problem], paper["model"], theirs, here, verdict))
    return Table("", ("problem", "model", "paper", "here", "reproduced"), rows)


def _verdict(ratio: float) -> str:
    if 1 / _SAME_ERROR <= ratio <= _SAME_ERROR:
        return "yes"
    return f"no, {1 / ratio:.1f} times lower here" if ratio < 1 else f"no, {ratio:.1f} times higher here"


def _trained(done: dict[str, Any]) -> str:
    """Return a sentence that compares the errors of trained networks with the printed ones."""
    ratios = [
        printed_row(problem, model)["error"] / done[f"{problem}/{model}"]["error"]  # type: ignore[index]
        for problem, models in TRAINED.items()
        for model in models
        if done.get(f"{problem}/{model}", {}).get("stopped", "seconds") != "seconds"
    ]
    if not ratios:
        return "In this run they were cut short or left out, so there is nothing to compare."
    return (
        f"Their errors are {min(ratios):.1f} to {max(ratios):.1f} times lower than the printed ones, with as "
        "many epochs; the paper gives neither the batch size nor which weights it keeps."
    )


def _worse(done: dict[str, Any]) -> list[str]:
    """Return the closed-form models, with our solver, whose error exceeds that of the best network."""
    worse = []
    for problem, models in CLOSED_FORM.items():
        for model in models:
            ours = done.get(f"{problem}/{model}/ours", {})
            best = min((r["error"] for r in trained_records(problem, model, done).values()), default=None)
            if best is not None and ours.get("error", 0.0) > best:
                worse.append(f"{TITLES[problem]}, {model} ({percent(ours['error'])} against {percent(best)})")
    return worse


def _threshold(record: dict[str, Any]) -> dict[str, Any]:
    """Return the errors where p1 is nearest to N, and the least error of the exact pseudoinverse."""
    p1, exact = record["p1"], record["pinv64"]
    near = min(range(len(p1)), key=lambda i: abs(p1[i] - record["functions"]))
    best = min(range(len(p1)), key=lambda i: exact[i])
    at = {name: percent(record[name][near]) for name in ("pinv64", "pinv32", "ridge")}
    return {**at, "p1_at_N": p1[near], "pinv64_best": percent(exact[best]), "p1_best": p1[best]}


def _formulas(done: dict[str, Any]) -> Table:
    record, paper = done["sensitivity/formulas"], printed()["sensitivity"]

    def line(name: str, grid: Any, p1s: list[int]) -> tuple[str, ...]:
        return (name, *(percent(error) for error in grid[p1s.index(record["p1"])][: len(record["p2"])]))

    rows = []
    if record["p1"] in paper["p1"]:
        rows.append(line("paper, random trunk", paper["error"][_MLP], paper["p1"]))
    for name, solver in (("SVD of T, float32", "printed"), ('`Ridge("loo")`, float64', "ours")):
        grid = sensitivity_mean(_MLP, solver, done) or {}
        rows.append(line(name, grid["mean"], grid["p1"]))
    for name, model in (("pinv(T'T) T', float32", _MLP), ("the same, sinusoids", _SINES)):
        rows.append((name, *(percent(error) for error in record[model])))
    return Table("", ("p2", *(str(p2) for p2 in record["p2"])), rows)


def _spans(record: dict[str, Any]) -> dict[str, Any]:
    ranks = record["printed"]["rank"]
    return {
        "small_p2": record["p2"][0],
        "small_projection": percent(record["mlp"]["projection"][0]),
        "sine_ranks": f"{min(ranks)} to {max(ranks)}",
        "sine_p2": f"{record['p2'][0]} to {record['p2'][-1]}",
        "sine_projection": percent(max(record["printed"]["projection"])),
    }


def _range(errors: list[float]) -> str:
    return f"{percent(min(errors))} to {percent(max(errors))}"


def _darcy_bases(record: dict[str, Any]) -> Table:
    kinds = [record[name] for name in ("printed", "tensor", "mlp")]
    rows = [
        (str(p2), *(f"{kind['rank'][i]}, {percent(kind['projection'][i])}" for kind in kinds))
        for i, p2 in enumerate(record["p2"])
    ]
    return Table("", ("p2", "printed sinusoids", "tensor sines", "random MLP"), rows)


def write_report(results: dict[str, Any], out: str | os.PathLike[str]) -> list[Path]:
    """Write ``figures/*.png``, ``report.md``, ``where-we-differ.md`` and ``report.html``.

    The HTML page contains all of it. Without matplotlib the pages say how to get the figures.
    ``where-we-differ.md`` is left out if the run did not measure what it needs.

    Parameters
    ----------
    results : what `reproduce` returns or `read_results` reads.
    out : folder, created if needed.

    Returns
    -------
    paths : the pages that were written.
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
    """Write the figures to a folder and return their captions by name, or None without matplotlib."""
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
    """Return the report as Markdown, with the figures in ``figures/``."""
    parts = ["# The paper's numbers, measured again", _opening(results)]
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
