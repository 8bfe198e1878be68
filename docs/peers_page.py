"""The page about the automatic choice, from the results of benchmarks/peers.py and auto_cost.py."""

import json
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
SCIKIT_LEARN = ("linear ridge", "RBFSampler + RidgeCV", "kernel ridge, RBF", "kernel ridge, Matern")
NETWORKS = ("DeepXDE DeepONet", "neuraloperator FNO", "neuraloperator TFNO")
METHODS = ("elmonet", "least squares", *SCIKIT_LEARN, "RandONets", "hpelm", *NETWORKS)
SHORT = {
    "linear ridge": "linear",
    "RBFSampler + RidgeCV": "RBFSampler",
    "kernel ridge, RBF": "kernel RBF",
    "kernel ridge, Matern": "kernel Matern",
    "DeepXDE DeepONet": "DeepONet",
    "neuraloperator FNO": "FNO",
    "neuraloperator TFNO": "TFNO",
}
FOUR = ("antiderivative", "nonlinear_ode", "darcy", "inverse_source")
ALIKE = 1.02  # errors that differ less are equally good
ROUNDING = 1e-14  # so are all that are smaller


def load():
    """The rows of peers.json, and auto_cost.json."""
    return tuple(json.loads((RESULTS / f"{name}.json").read_text()) for name in ("peers", "auto_cost"))


def by_dataset(rows):
    found = {}
    for row in rows:
        found.setdefault(row["dataset"], {})[row["method"]] = row
    return found


def short_table(rows):
    """README's table: ours, least squares, the best of scikit-learn, RandONets, the best network."""
    groups = (("elmonet",), ("least squares",), SCIKIT_LEARN, ("RandONets",), NETWORKS)
    lines = [
        "| data | elmonet | least squares | best tuned of scikit-learn | RandONets | best network, 2 min |",
        "|---|---|---|---|---|---|",
    ]
    for name, methods in by_dataset(rows).items():
        if "error" not in methods["elmonet"]:
            continue
        tried = [[methods[m] for m in group if "error" in methods.get(m, {})] for group in groups]
        best = [min(group, key=lambda row: row["error"]) if group else None for group in tried]
        least = min(row["error"] for row in best if row)
        cells = [_cell(row, len(group) > 1, least) for row, group in zip(best, groups, strict=True)]
        lines.append(f"| {name.replace('_', ' ')} | {' | '.join(cells)} |")
    return "\n".join(lines)


def automatic(rows):
    """README's sentence on the automatic choice and the paper's four problems."""
    found = by_dataset(rows)
    errors = [number(found[name]["elmonet"]["error"]) for name in FOUR]
    return (
        "`AutoELMDeepONet`, which chooses its networks too, has errors of "
        f"{', '.join(errors[:-1])} and {errors[-1]} on these four problems:"
    )


def page(rows, cost):
    """docs/peers.md."""
    parts = [_introduction(rows), "## All results", *_tables(rows)]
    parts += ["## What the search costs", _against_grid(cost["grid"]), "![](figures/auto_scaling.png)"]
    parts += [SCALING, "## Infinite width", LIMIT, "![](figures/limit.png)", NEAR_THE_LIMIT]
    return "\n\n".join(parts) + "\n"


INTRODUCTION = """\
# Nothing to tune, compared with other methods

Made by docs/generate.py from benchmarks/results/peers.json (`python benchmarks/peers.py --data FOLDER`):
every method on every data set, each in its own process, on {cores}; {date}, commit {commit}. Error: mean
over the test functions of the relative 2-norm. Seconds: choosing the settings and fitting. Memory: the peak
of the process, with Python and the data. The settings of the scikit-learn models, among them how the inputs
are scaled and, for positive inputs, logarithms, are chosen by three-fold cross-validation of the same error.
RandONets: the recipe of its paper with the defaults of its toolbox, written anew (benchmarks/rivals.py);
for points in the plane its trunk had to be extended. Networks are trained for two minutes with the settings
of their tutorials, and would be better with more time. An FNO needs inputs and outputs on one grid. Files
of other projects: see their names; inputs of darcy_small and diffusion2d are images."""

SCALING = """\
The search on the nonlinear ODE (N = 1000, M = 100, m = 100 where not varied), and one fit of `SLFN(p1)`
with `Ridge("loo")`. Up to 450 functions everything is tried on all of them; beyond, most of it on about
300, so that time grows slowly until the factorisations on all functions, of order N³, take over."""

LIMIT = """\
With more features a random network tends to its limit, `InfiniteWidth`, which costs no more than N
features. Test error on 500 functions against the width of random cosines (rbf, matern52) and of
relu networks, median and range of three draws; dashed: the limit."""

NEAR_THE_LIMIT = """\
Near the limit a finite network may be a little better or worse by chance. For operators so smooth that
errors come down to 1e-6, networks reach smaller errors than kernels in double precision: the features of a
kernel come from its Gram matrix, with half of the digits. The search therefore always tries both there."""


def _introduction(rows):
    """With the commit, the day and the cores; all rows are of one commit."""
    (commit,) = {row["commit"] for row in rows}
    (cores,) = {row["cores"] for row in rows}
    date = max(row["date"] for row in rows)
    told = "one core" if cores == 1 else f"{cores} cores"
    return INTRODUCTION.format(commit=commit, cores=told, date=date)


def _tables(rows):
    for name, methods in by_dataset(rows).items():
        first = next(iter(methods.values()))
        yield f"### {name}"
        if "functions" not in first:
            yield f"Left out: {first['skipped']}."
            continue
        shape = " x ".join(map(str, first["inputs"]))
        lines = [
            f"{first['functions']} training functions, {first['tests']} test functions; inputs {shape}, "
            f"outputs at {first['points']} points.",
            "",
            "| method | error | seconds | GiB | tuned |",
            "|---|---|---|---|---|",
        ]
        for method in METHODS:
            row = methods.get(method)
            if row is None:
                continue
            if "skipped" in row:
                lines.append(f"| {method} | - | | | {row['skipped']} |")
                continue
            cells = number(row["error"]), f"{row['seconds']:.1f}", f"{row['peak_gib']:.2f}", row["tuned"]
            lines.append(f"| {method} | {' | '.join(cells)} |")
        ours = methods["elmonet"]
        lines += [
            "",
            f"Expected ({ours['error_kind']}) before the test functions were seen: "
            f"{number(ours['expected_error'])}.",
        ]
        yield "\n".join(lines)


def _against_grid(rows):
    lines = [
        "`AutoELMDeepONet` against `GridSearchCV`, three folds, over the same families as far as",
        "scikit-learn has them (linear, RBF, Matern, random cosines; the same scales, 20 alphas, two ways to",
        "scale the inputs), in one run of `python benchmarks/auto_cost.py grid`:",
        "",
        "| problem | elmonet | GridSearchCV | ratio | errors |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        ours, theirs = row["seconds"]
        errors = " and ".join(number(error) for error in row["errors"])
        lines.append(f"| {row['problem']} | {ours:.1f} s | {theirs:.0f} s | {row['ratio']:.0f} | {errors} |")
    return "\n".join(lines)


def number(value):
    """Per cent where that is readable."""
    if value >= 1e-4:
        return f"{100 * value:.3g} %"
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def _cell(row, who, least):
    """The error, bold if it is the least, the seconds and, of several methods, the one it is."""
    if row is None:
        return "-"
    error = number(row["error"])
    error = f"**{error}**" if row["error"] <= max(ALIKE * least, ROUNDING) else error
    seconds = f"{row['seconds']:.0f} s" if row["seconds"] >= 1 else "< 1 s"
    return f"{error}, {seconds}" + (f" ({SHORT[row['method']]})" if who else "")


def figures(cost, folder):
    """Draw the two figures of the page."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = {"N": "functions N", "M": "points M", "m": "sensors m", "p1": "width p1 (one fit)"}
    figure, axes = plt.subplots(1, 4, figsize=(12, 3), layout="constrained")
    for axis, (what, label) in zip(axes, names.items(), strict=True):
        rows = [row for row in cost["scaling"] if row["against"] == what]
        sizes = [row["size"] for row in rows]
        axis.loglog(sizes, [row["seconds"] for row in rows], "o-", color="C0")
        axis.set(xlabel=label, ylabel="seconds" if what == "N" else "", ylim=(0.03, 200))
        axis.set_xticks(sizes, [str(size) for size in sizes], rotation=45)
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    figure.savefig(folder / "auto_scaling.png", dpi=120)
    plt.close(figure)
    problems = list(dict.fromkeys(row["problem"] for row in cost["limit"]))
    figure, axes = plt.subplots(1, len(problems), figsize=(9, 3.4), layout="constrained")
    for axis, problem in zip(axes, problems, strict=True):
        for i, row in enumerate(row for row in cost["limit"] if row["problem"] == problem):
            widths = [int(width) for width in row["errors"]]
            errors = np.array(list(row["errors"].values()))
            axis.loglog(widths, np.median(errors, axis=1), "o-", color=f"C{i}", label=row["kernel"], ms=3)
            axis.fill_between(widths, errors.min(axis=1), errors.max(axis=1), color=f"C{i}", alpha=0.2, lw=0)
            axis.axhline(row["limit"], color=f"C{i}", ls="--", lw=1)
        axis.set(title=problem.replace("_", " "), xlabel="width p1", ylabel="relative error")
        axis.set_xticks(widths, [str(width) for width in widths], rotation=45)
        axis.xaxis.set_minor_locator(plt.NullLocator())
        axis.grid(alpha=0.3, which="both")
    axes[0].legend(title="limit")
    figure.savefig(folder / "limit.png", dpi=120)
    plt.close(figure)
