"""Tables of the results of a run beside the printed numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from elmonet.paper.models import CLOSED_FORM, EXPERIMENTS, TRAINED, compared_with, printed, printed_row

TITLES = {
    "antiderivative": "Antiderivative",
    "nonlinear_ode": "Nonlinear ODE",
    "darcy": "Darcy flow",
    "inverse_source": "Inverse source",
}
_EMPTY = "–"  # noqa: RUF001
_MIN_SPEEDUP = 50  # expected of a closed-form model, against the fastest trained network
_MAX_GROWTH = 0.2  # expected relative growth of the error for p2 > 100


@dataclass(frozen=True)
class Table:
    """A table of texts; `notes` go below it."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    notes: list[str] = field(default_factory=list)


def tables(results: dict[str, Any]) -> list[Table]:
    """Return every table of the paper for which there are results."""
    done, made = results["done"], []
    for experiment in EXPERIMENTS:
        if experiment == "sensitivity":
            made += [_sensitivity(model, done) for model in CLOSED_FORM["antiderivative"]]
        else:
            made.append(_models(experiment, done))
    return [table for table in made if table.rows]


def summary(results: dict[str, Any]) -> Table:
    """Return one row per closed-form model: errors of the paper, of both solvers, of training."""
    done, rows = results["done"], []
    for problem, models in CLOSED_FORM.items():
        for model in models:
            paper = printed_row(problem, model)
            as_printed, ours = (done.get(f"{problem}/{model}/{solver}") for solver in ("printed", "ours"))
            best = min(trained_records(problem, model, done).values(), key=lambda r: r["error"], default=None)
            cells = (percent(paper["error"]) if paper else _EMPTY, *map(cell, (as_printed, ours, best)))
            rows.append((TITLES[problem], model, *cells))
    columns = ("problem", "model", "paper", "as printed, here", "our solver, here", "DeepONet trained here")
    return Table("The paper's models", columns, rows)


def verdicts(results: dict[str, Any]) -> Table:
    """Compare each closed-form model, with our solver, with the trained networks of its problem."""
    done, effort = results["done"], results["effort"]
    rows = []
    for problem, models in CLOSED_FORM.items():
        for model in models:
            ours = done.get(f"{problem}/{model}/ours")
            trained = trained_records(problem, model, done)
            if ours is not None and trained:
                speed, error = _speedup(ours, trained, effort["epochs"]), _error_verdict(ours, trained)
                rows.append((TITLES[problem], model, speed, error))
    notes = [
        f"Expected: at least {_MIN_SPEEDUP} times as fast as the fastest trained network of the same table, "
        "and an error below that of the best of them. Where that is not so, the cell says NO."
    ]
    if any("~" in row[2] for row in rows):
        notes.append(
            f"~: its training was cut short; the ratio is for {effort['epochs']} epochs at the speed "
            "measured, the error that when it was cut."
        )
    for model in CLOSED_FORM["antiderivative"]:
        grid = sensitivity_mean(model, "ours", done)
        if grid is not None and 100 in grid["p2"]:
            growth = _growth(grid)
            notes.append(
                f"Growth with p2, {model}: with our solver the error at p2 > 100 is at most {growth:.1%} "
                f"above that at p2 = 100{'' if growth <= _MAX_GROWTH else ': NO, more than expected'}."
            )
    return Table("Closed form against training", ("problem", "model", "times as fast", "error"), rows, notes)


def trained_records(problem: str, model: str, done: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the records of the trained networks that a closed-form model is compared with."""
    records = {name: done.get(f"{problem}/{name}", {}) for name in compared_with(problem, model)}
    return {name: record for name, record in records.items() if "error" in record}


def sensitivity_mean(model: str, solver: str, done: dict[str, Any]) -> dict[str, Any] | None:
    """Return mean and standard deviation over the trials: {"p1", "p2", "mean", "std", "trials"}."""
    prefix = f"sensitivity/{model}/"
    trials = [record for name, record in done.items() if name.startswith(prefix)]
    if not trials:
        return None
    errors = np.array([record[solver] for record in trials])
    return {
        "p1": trials[0]["p1"],
        "p2": trials[0]["p2"],
        "mean": errors.mean(axis=0),
        "std": errors.std(axis=0),
        "trials": len(trials),
    }


def markdown_table(table: Table) -> str:
    """Return a table as Markdown, without title and notes."""
    lines = [table.columns, tuple("---" for _ in table.columns), *table.rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _models(problem: str, done: dict[str, Any]) -> Table:
    rows: list[tuple[str, ...]] = []
    for model in TRAINED[problem]:
        record = done.get(f"{problem}/{model}")
        if record is not None:
            paper = printed_row(problem, model)
            rows.append((model, _parameters(paper, record), cell(paper), _EMPTY, _EMPTY, cell(record)))
    for model in CLOSED_FORM[problem]:
        as_printed, ours = (done.get(f"{problem}/{model}/{solver}") for solver in ("printed", "ours"))
        record = ours or as_printed
        if record is not None:
            paper = printed_row(problem, model)
            parameters = _parameters(paper, record)
            rows.append((model, parameters, cell(paper), cell(as_printed), cell(ours), _EMPTY))
    columns = ("model", "parameters", "paper", "as printed", "our solver", "trained")
    table = Table(TITLES[problem], columns, rows)
    skipped = {r["skipped"] for m in TRAINED[problem] if "skipped" in (r := done.get(f"{problem}/{m}", {}))}
    table.notes.extend(f"Rows without a trained network: {reason}." for reason in sorted(skipped))
    if problem == "darcy":
        table.notes.extend(_searched(done))
    return table


def _searched(done: dict[str, Any]) -> list[str]:
    """Return what the grid search chose, in one sentence for each solver."""
    notes = []
    for solver, name in (("printed", "as printed"), ("ours", "our solver")):
        chosen = [
            f"{model} {record['p1']} x {record['p2']}"
            for model in CLOSED_FORM["darcy"]
            if (record := done.get(f"darcy/{model}/{solver}"))
        ]
        if chosen:
            notes.append(f"p1 x p2 by leave-one-out on the training data, {name}: " + ", ".join(chosen) + ".")
    return notes


def _sensitivity(model: str, done: dict[str, Any]) -> Table:
    """Return the table of errors in percent; each cell: paper, as printed, our solver."""
    title = f"Sensitivity of the {model}"
    as_printed, ours = (sensitivity_mean(model, solver, done) for solver in ("printed", "ours"))
    if as_printed is None or ours is None:
        return Table(title, (), [])
    paper = printed()["sensitivity"]
    rows = []
    for i, p1 in enumerate(ours["p1"]):
        cells = []
        for j, p2 in enumerate(ours["p2"]):
            known = p1 in paper["p1"] and p2 in paper["p2"]
            theirs = paper["error"][model][paper["p1"].index(p1)][paper["p2"].index(p2)] if known else None
            values = (theirs, as_printed["mean"][i, j], ours["mean"][i, j])
            cells.append(", ".join(_EMPTY if v is None else f"{100 * v:.2g}" for v in values))
        rows.append((str(p1), *cells))
    columns = ("p1", *(f"p2 = {p2}" for p2 in ours["p2"]))
    note = (
        "Relative errors in per cent: paper, recipe as printed, our solver; mean over "
        f"{ours['trials']} draws of the networks (the paper: 10)."
    )
    return Table(title, columns, rows, [note])


def _speedup(ours: dict[str, Any], trained: dict[str, Any], epochs: int) -> str:
    full_training = {
        name: record["seconds"] * (epochs / record["epochs"] if record["stopped"] == "seconds" else 1)
        for name, record in trained.items()
    }
    name = min(full_training, key=lambda name: full_training[name])
    ratio = full_training[name] / ours["seconds"]
    about = "~" if trained[name]["stopped"] == "seconds" else ""
    return f"{'' if ratio >= _MIN_SPEEDUP else 'NO: '}{about}{ratio:.0f} x {name}"


def _error_verdict(ours: dict[str, Any], trained: dict[str, Any]) -> str:
    name = min(trained, key=lambda name: trained[name]["error"])
    less = ours["error"] < trained[name]["error"]
    here, theirs = percent(ours["error"]), percent(trained[name]["error"])
    return f"{here} < {theirs}, {name}" if less else f"NO: {here} > {theirs}, {name}"


def _growth(grid: dict[str, Any]) -> float:
    """Return the largest relative increase of the error for p2 > 100 over that at p2 = 100."""
    base = grid["p2"].index(100)
    return float(np.max(grid["mean"][:, base:] / grid["mean"][:, [base]]) - 1)


def cell(record: dict[str, Any] | None) -> str:
    """Return the error and the seconds of a record, if there is one."""
    if record is None:
        return _EMPTY
    if "skipped" in record:
        return "not run"
    return f"{percent(record['error'])}, {duration(record['seconds'])}"


def _parameters(paper: dict[str, Any] | None, record: dict[str, Any]) -> str:
    here = f"{record['parameters']:,}" if "parameters" in record else _EMPTY
    return f"{paper['parameters'] if paper else _EMPTY}, {here}"


def percent(error: float) -> str:
    """Format an error in percent with three significant digits; a tiny one as a power of ten.

    >>> percent(0.0212), percent(0.000123), percent(1.62e-15)
    ('2.12 %', '0.0123 %', '1.6e-15')
    """
    if 0 < error < 1e-5:
        return f"{error:.1e}"
    value = 100 * error
    decimals = max(0, 2 - int(np.floor(np.log10(value)))) if 0 < value < np.inf else 0
    return f"{value:.{min(decimals, 9)}f} %"


def duration(seconds: float) -> str:
    """Format seconds with two decimals below ten, one below a hundred, none above.

    >>> duration(0.1371), duration(31.22), duration(437)
    ('0.14 s', '31.2 s', '437 s')
    """
    decimals = 2 if seconds < 10 else 1 if seconds < 100 else 0
    return f"{seconds:.{decimals}f} s"
