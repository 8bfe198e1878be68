"""Tables of the pages in docs/, each made from one or two files of benchmarks/results/."""

from dataclasses import replace

import numpy as np

from elmonet.paper import tables as paper_tables
from elmonet.paper.physics import physics_table
from scripts.shared import load_results, markdown_table, percent

LAYERS_TITLES = {
    "burgers": "Burgers",
    "neuralop_darcy_small": "two-valued Darcy (file)",
    "darcy_two_valued": "two-valued Darcy",
    "torchphysics_diffusion2d": "diffusion, 64 x 64 (file)",
    "burgers_steps": "Burgers, one time step",
    "darcy_two_valued_85": "two-valued Darcy, 85 x 85",
    "navier_stokes_steps": "Navier-Stokes, one time step",
}
BUSY = 2.5  # load of the machine before a row, above which its seconds are too many; the last row makes 2
SUGGEST_TITLES = {
    "ode": "nonlinear ODE",
    "darcy": "Darcy",
    "burgers": "Burgers",
    "inverse_source": "inverse source",
}
SUGGEST_POOLS, SUGGEST_MODELS = ("even", "uneven"), ("kernel ridge", "AutoELMDeepONet")
LIMITS_COLUMNS = {  # the first column of each table of docs/when-not.md
    "fronts": "data",
    "chaos": "predicted times",
    "kinds": "new functions",
    "few": "trained on",
    "switch": "trained on",
    "drift": "after the operator has changed",
}


def layers_results():
    """Return the results of benchmarks/layers.py in the order of the table."""
    results = load_results("layers")
    return {name: results[name] for name in LAYERS_TITLES if name in results}


def layers():
    """Errors without and with layers, and of networks with the seconds they were trained for (layers.md)."""
    columns = ("data", "without layers", "with layers", "expected", "seconds", "processor seconds")
    columns += ("FNO", "FNO, 10 times as long", "DeepONet")
    rows = []
    for name, row in layers_results().items():
        last, fno = row["layers"][-1], row.get("FNO", [])
        busy = " (busy)" if row.get("load", 0) > BUSY else ""
        cells = (
            LAYERS_TITLES[name],
            percent(row["layers"][0]["error"]),
            percent(last["error"]),
            percent(row["expected"]),
            f"{last['seconds']:.0f}{busy}",
            f"{row['cpu_seconds']:.0f}",
            *(_trained(runs) for runs in (fno[:1], fno[1:], row.get("DeepONet", []))),
        )
        rows.append(cells)
    return markdown_table(columns, rows)


def _trained(runs):
    """Return the error of a network and the seconds of its training; "-" where it was not trained."""
    runs = [run for run in runs if run["error"] is not None]
    return f"{percent(runs[0]['error'])} in {runs[0]['seconds']:.0f} s" if runs else "-"


def resolution():
    """The best possible error on two-valued Darcy flow, and that of layers, for each test set (layers.md)."""
    columns = ("test set", "best possible", "layers", "difference", "best possible, other fields")
    columns += ("layers, other fields", "best possible, if values were known")
    names = ("optimum", "ours", "ours - optimum", "optimum, new fields", "ours, new fields", "values known")
    rows = [
        (which, *(f"{100 * row[name]:.2f} ± {100 * row[f'standard error, {name}']:.2f} %" for name in names))
        for which, row in load_results("resolution").items()
    ]
    return markdown_table(columns, rows)


def bands_results():
    """Return the rows of benchmarks/bands.py by (data set, with layers)."""
    results = {}
    for row in load_results("bands"):
        if "skipped" not in row:
            results.setdefault((row["dataset"], row["layers"]), []).append(row)
    return results


def mean_over_seeds(rows, key):
    """Return the mean of the values that are not None, or None if there are none."""
    values = [row[key] for row in rows if row[key] is not None]
    return float(np.mean(values)) if values else None


def bands():
    """Coverage, width and correlation of error bars, means over seeds (error-bars.md)."""
    columns = ("data", "functions", "seeds", "error", "whole functions at 90 %", "points at 95 %")
    columns += ("width", "correlation")
    rows = []
    for (name, with_layers), seeds in sorted(bands_results().items(), key=lambda item: item[0][1]):
        width, correlation = (mean_over_seeds(seeds, key) for key in ("width", "correlation"))
        cells = (
            name + (", with layers" if with_layers else ""),
            str(seeds[0]["functions"]),
            str(len(seeds)),
            f"{100 * mean_over_seeds(seeds, 'error'):.2g} %",
            f"{100 * mean_over_seeds(seeds, 'function_90'):.1f} %",
            f"{100 * mean_over_seeds(seeds, 'point_95'):.1f} %",
            "-" if width is None else f"{width:.2f}",
            "-" if correlation is None else f"{correlation:.2f}",
        )
        rows.append(cells)
    return markdown_table(columns, rows)


COVERAGE_PROBLEMS = {
    "ode": "nonlinear ODE, random functions",
    "burgers": "Burgers, random functions",
    "darcy": "Darcy, random images",
    "oscillator": "oscillator, 4 numbers, Latin hypercube",
    "boundary layer": "boundary layer, 3 numbers, Latin hypercube",
    "bump": "moving bump, 2 numbers, full grid",
    "holed_poisson": "domain with a hole (file), 2 numbers, part of a grid",
}


def coverage():
    """Coverage of whole functions at 90 %, by problem and number of functions (error-bars.md)."""
    results = load_results("coverage")
    sizes = sorted({row["functions"] for row in results})
    rows = []
    for name, words in COVERAGE_PROBLEMS.items():
        own = [row for row in results if row["problem"] == name]
        cells = []
        for n in sizes:
            some = [row["inside"] for row in own if row["functions"] == n]
            cells.append(f"{100 * sum(some) / len(some):.0f} % ({len(some)})" if some else "-")
        rows.append((words, str(own[0]["points"]), *cells))
    return markdown_table(("problem", "points", *(f"N = {n}" for n in sizes)), rows)


def bands_cost():
    """Seconds and bytes that error bars add (error-bars.md)."""
    rows = []
    for row in load_results("bands_cost"):
        fit, predict = row["bands"] / row["fit"], row["interval"] / row["predict"] - 1
        sizes = " MB, ".join(f"{row[key] / 1e6:.1f}" for key in ("without_bands", "with_bands"))
        rows.append((row["case"], f"+{100 * fit:.0f} %", f"{100 * predict:+.0f} %", f"{sizes} MB"))
    return markdown_table(("model", "more than fit", "more than predict", "file without, with bands"), rows)


def novelty():
    """Fraction of new functions that are flagged as extrapolation (error-bars.md)."""
    rows = []
    for row in load_results("novelty")["flagged"]:
        error = "" if row["error"] is None else f"{100 * row['error']:.2g} %"
        rows.append((row["data"], row["kind"], error, f"{100 * row['flagged']:.0f} %"))
    return markdown_table(("training functions", "new functions", "error", "flagged"), rows)


def suspects():
    """Wrong training pairs that were found, and others that were accused (suspects.md)."""
    results, rows = load_results("suspects"), []
    names = list(dict.fromkeys(row["data"] for row in results))
    for kind, part in dict.fromkeys((row["kind"], row["part"]) for row in results):
        own = {row["data"]: row for row in results if (row["kind"], row["part"]) == (kind, part)}
        cells = [
            (f"{row['found']} / {row['wrong']}, " if row["wrong"] else "") + str(row["accused"])
            for row in (own[name] for name in names)
        ]
        rows.append((f"{kind}, {100 * part:g} %" if part else kind, *cells))
    return markdown_table(("", *names), rows)


def few_functions():
    """The expected error and its interval with 10 to 50 training functions (method.md)."""
    columns = ("problem", "functions", "true error", "expected", "factor", "interval covers")
    rows = []
    for row in load_results("small_n")["rows"]:
        cells = (
            row["problem"],
            str(row["functions"]),
            percent(row["true"]),
            percent(row["stated"]),
            f"{row['factor']:.2f}",
            f"{row['coverage']:.0%}".replace("%", " %"),
            f"{row['width']:.2f}",
        )
        rows.append(cells)
    return markdown_table((*columns, "upper end / expected"), rows)


def suggest_results():
    """Return the results of benchmarks/suggest.py by (problem, pool), in the order of the table."""
    results = load_results("suggest")
    return {(name, pool): results[name][pool] for pool in SUGGEST_POOLS for name in SUGGEST_TITLES}


def median_errors(row, selection):
    """Return the error after each round, the median over the seeds."""
    return np.median(row[selection], axis=0)


def functions_needed(row):
    """Return how many suggested functions give the error of the last random round; inf if more than tried.

    Between rounds the logarithm of the error is interpolated linearly.
    """
    target = np.log(median_errors(row, "random")[-1])
    best = np.minimum.accumulate(np.log(median_errors(row, "suggested")))
    return np.inf if best[-1] > target else float(np.interp(-target, -best, row["sizes"]))


def suggest():
    """Errors with random and suggested functions, and how many suggestions suffice (next-simulation.md)."""
    results = suggest_results()
    most = results["ode", "even"][SUGGEST_MODELS[0]]["sizes"][-1]
    columns = ["problem", "pool"]
    for model in SUGGEST_MODELS:
        columns += [f"{model}: {most} random", f"{most} suggested", "needed"]
    rows = []
    for (name, pool), models in results.items():
        cells = [SUGGEST_TITLES[name], pool]
        for row in (models[model] for model in SUGGEST_MODELS):
            needed = functions_needed(row)
            cells += [percent(median_errors(row, selection)[-1]) for selection in ("random", "suggested")]
            cells.append(f"over {most}" if needed > most else f"{np.ceil(needed):.0f}")
        rows.append(cells)
    return markdown_table(columns, rows)


def equations_gallery():
    """Operators learned from equations, with the notes that explain the numbers (physics.md)."""
    table = physics_table(load_results("physics"))
    rows = [tuple(cell.replace(", ", "<br>") for cell in row) for row in table.rows]
    shown = paper_tables.markdown_table(replace(table, rows=rows))
    return "\n".join([shown, "", *(f"- {note}" for note in table.notes)])


def limits():
    """Return the tables of when-not.md by name: errors where elmonet is not the right tool, and memory."""
    results = load_results("limits")
    made = {}
    for name, first in LIMITS_COLUMNS.items():
        rows = []
        for row in results[name]:
            interval = "0 to ∞" if row["interval"] is None else " to ".join(map(percent, row["interval"]))
            warns = "yes" if row["warned"] else "no"
            rows.append((row["case"], percent(row["error"]), percent(row["expected"]), interval, warns))
        made[name] = markdown_table((first, "error", "expected", "90 % interval", "warns"), rows)
    sizes = [
        (f"`{row['case']}`", f"{row['outputs']:.2f} GiB", f"{row['peak']:.2f} GiB") for row in results["size"]
    ]
    return made | {"size": markdown_table(("model", "outputs", "peak of the process"), sizes)}
