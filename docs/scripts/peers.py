"""Whole pages that compare elmonet with other methods: docs/peers.md, and with solvers: docs/inference.md.

From peers.json, auto_cost.json and inference.json of benchmarks/results/.
"""

from scripts.shared import load_results, markdown_table, percent

SCIKIT_LEARN = ("linear ridge", "RBFSampler + RidgeCV", "kernel ridge, RBF", "kernel ridge, Matern")
NETWORKS = ("DeepXDE DeepONet", "neuraloperator FNO", "neuraloperator TFNO")
METHODS = ("elmonet", "least squares", *SCIKIT_LEARN, "RandONets", "hpelm", *NETWORKS)
SHORT_NAMES = {
    "linear ridge": "linear",
    "RBFSampler + RidgeCV": "RBFSampler",
    "kernel ridge, RBF": "kernel RBF",
    "kernel ridge, Matern": "kernel Matern",
    "DeepXDE DeepONet": "DeepONet",
    "neuraloperator FNO": "FNO",
    "neuraloperator TFNO": "TFNO",
}
PAPER_PROBLEMS = ("antiderivative", "nonlinear_ode", "darcy", "inverse_source")
TIE_FACTOR = 1.02  # errors within this factor of the least are equally good
ROUNDING_ERROR = 1e-14  # so are all errors below this

INTRODUCTION = """\
# Comparison with other methods

Every method on every data set, each in its own process, on {cores}. Error: the relative 2-norm, averaged over
the test functions. Seconds: selection of the settings and the fit. Memory: the peak of the process, including
Python and the data. The settings of the scikit-learn models, including the scaling of the inputs and, for
positive inputs, logarithms, are selected by three-fold cross-validation of the same error. RandONets is our
implementation of the algorithm of its paper with the defaults of its toolbox (benchmarks/rivals.py), extended
to points in the plane. Networks are trained for two minutes with the settings of their tutorials and would
improve with longer training. An FNO needs inputs and outputs on one grid. Data files are named after the
projects they come from; inputs of darcy_small and diffusion2d are images. Measured on {date} at commit
{commit} by `python benchmarks/peers.py --data FOLDER`; this page is generated from
benchmarks/results/peers.json."""

SHORT = """\
Of the scikit-learn models and of the networks, the table shows the one that is best on the test functions.
The lowest error is in bold. Where plain least squares is equally accurate, the operator is linear, and least
squares is all you need."""

README_ROWS = ("nonlinear_ode", "darcy", "neuralop_darcy_small")

SCALING = """\
Time of the search on the nonlinear ODE (N = 1000, M = 100, m = 100 where not varied), and of one fit of
`SLFN(p1)` with `Ridge("loo")`. With up to 450 functions, every candidate is fitted to all of them; with more,
most candidates are fitted to about 300, so that time grows slowly until the factorisations with all
functions, of order N³, dominate."""

LIMIT = """\
As its width grows, a random network converges to its limit, `InfiniteWidth`, which costs no more than N
features. The figure shows the test error on 500 functions against the width of random cosines (rbf, matern52)
and of relu networks, as median and range of three draws. The limit is dashed."""

NEAR_THE_LIMIT = """\
Near the limit, a finite network may be slightly better or worse by chance. For operators so smooth that
errors reach 1e-6, networks are more accurate than kernels in double precision, because the features of a
kernel are computed from its Gram matrix, which has half of the digits. For such operators, the search always
tries both."""

REAL_INPUTS = """\
Inputs of several parts in different units, or few numbers of which some matter. elmonet has the parts by
name. The others see all of them side by side, standardised, with logarithms of positive numbers as outputs
that vary by more than a hundred, and predict the outputs' principal components: kernel ridge with a grid
search and boosted trees (scikit-learn), a Gaussian process (scikit-learn), the kriging of SMT and the kernel
operator of PyApprox, each with a scale for every column. CPU seconds are in brackets, every choice included;
"-" is not measured, or too many functions or columns for a scale each. Measured by
`python benchmarks/real_inputs.py --data FOLDER`."""

REAL_NAMES = {
    "twenty_numbers": "20 numbers, all given; 3 matter (200 functions)",
    "three_of_them": "the same, the 3 given (200)",
    "heat_with_history": "heating history and 2 numbers (300)",
    "magnet_core_loss": "measured core loss: waveform, frequency, temperature (2189)",
    "spiral_waves": "spiral waves, 2 numbers (40)",
    "fuel_rod": "fuel rod, 2 numbers (34)",
    "battery_life": "measured battery life (41)",
    "mechanical_mnist": "stretched materials, images (2000)",
}
REAL_METHODS = {
    "elmonet": "elmonet",
    "kernel ridge": "kernel ridge",
    "Gaussian process, a scale each": "Gaussian process",
    "boosted trees": "boosted trees",
    "SMT kriging": "SMT kriging",
    "PyApprox kernel operator": "PyApprox",
}

INFERENCE = """\
# One prediction against one numerical solution

Time per prediction of a model with 1000 random features and a linear block, fitted to 1000 functions, on one
thread, beside the numerical solver that generated the problem's data, for one function at a time. The solver
is more accurate than the model, whose relative error is given. A solver that is already fast, as for these
1-D problems and for a grid of 50 x 50, is not worth replacing for a single solution. The model pays off where
many solutions are needed (a batch, an inverse problem, design optimisation) or where one takes longer than a
millisecond. Measured by `python benchmarks/inference.py`; this page is generated from
benchmarks/results/inference.json."""


def peers_page():
    """Return docs/peers.md."""
    rows, cost = load_results("peers"), load_results("auto_cost")
    (commit,) = {row["commit"] for row in rows}  # all rows are of one commit
    (cores,) = {row["cores"] for row in rows}
    date = max(row["date"] for row in rows)
    cores = "one core" if cores == 1 else f"{cores} cores"
    parts = [INTRODUCTION.format(commit=commit, cores=cores, date=date), "## In short", SHORT]
    parts += [short_table(), "## Inputs in different units", REAL_INPUTS, real_inputs(), "## All results"]
    for name, methods in results_by_dataset().items():
        parts += [f"### {name}", _dataset_section(methods)]
    parts += ["## What the search costs", _grid_search_section(cost["grid"])]
    parts += ["![](figures/auto_scaling.png)", SCALING]
    parts += ["## Infinite width", LIMIT, "![](figures/limit.png)", NEAR_THE_LIMIT]
    return "\n\n".join(parts) + "\n"


def short_table(names=None):
    """Return a table with a row for each data set, and the best method of each kind (peers.md, README)."""
    groups = (("elmonet",), ("least squares",), SCIKIT_LEARN, ("RandONets",), NETWORKS)
    columns = ("data", "elmonet", "least squares", "best tuned of scikit-learn", "RandONets")
    rows = []
    for name, methods in results_by_dataset().items():
        if "error" not in methods["elmonet"] or (names and name not in names):
            continue
        tried = [[methods[m] for m in group if "error" in methods.get(m, {})] for group in groups]
        best = [min(group, key=lambda row: row["error"]) if group else None for group in tried]
        least = min(row["error"] for row in best if row)
        cells = (_short_cell(row, len(group) > 1, least) for row, group in zip(best, groups, strict=True))
        rows.append((name.replace("_", " "), *cells))
    return markdown_table((*columns, "best network, 2 min"), rows)


def real_inputs():
    """Return a table with a row for each data set with inputs of several parts."""
    found = {(row["dataset"], row["method"]): row for row in load_results("real_inputs")}
    rows = []
    for name, words in REAL_NAMES.items():
        methods = [found.get((name, method), {}) for method in REAL_METHODS]
        least = min(row["error"] for row in methods if "error" in row)
        cells = [_cell_of_real(row, least) for row in methods]
        rows.append((words, percent(methods[0]["expected_error"]), *cells))
    return markdown_table(("data", "expected", *REAL_METHODS.values()), rows)


def _cell_of_real(row, least):
    if "error" not in row:
        return "-"
    error = percent(row["error"])
    error = f"**{error}**" if row["error"] <= TIE_FACTOR * least else error
    return f"{error} ({row['cpu_seconds']:.1f})"


def _short_cell(row, name_method, least):
    """Error (bold if it is the least), seconds and, if asked for, the method."""
    if row is None:
        return "-"
    error = percent(row["error"])
    error = f"**{error}**" if row["error"] <= max(TIE_FACTOR * least, ROUNDING_ERROR) else error
    seconds = f"{row['seconds']:.0f} s" if row["seconds"] >= 1 else "< 1 s"
    return f"{error}, {seconds}" + (f" ({SHORT_NAMES[row['method']]})" if name_method else "")


def automatic_sentence():
    """README's sentence on the automatic choice and the paper's four problems."""
    results = results_by_dataset()
    *errors, last = (percent(results[name]["elmonet"]["error"]) for name in PAPER_PROBLEMS)
    return (
        "`AutoELMDeepONet`, which chooses its networks too, has errors of "
        f"{', '.join(errors)} and {last} on these four problems:"
    )


def results_by_dataset():
    """Return the rows of benchmarks/peers.py: a dictionary of methods for each data set."""
    results = {}
    for row in load_results("peers"):
        results.setdefault(row["dataset"], {})[row["method"]] = row
    return results


def _dataset_section(methods):
    first = next(iter(methods.values()))
    if "functions" not in first:
        return f"Not measured: {first['skipped']}."
    ours = methods["elmonet"]
    shape = " x ".join(map(str, first["inputs"]))
    rows = []
    for method in METHODS:
        row = methods.get(method, {})
        if "error" in row:
            cells = percent(row["error"]), f"{row['seconds']:.1f}", f"{row['peak_gib']:.2f}", row["tuned"]
            rows.append(f"| {method} | {' | '.join(cells)} |")
        elif row:
            rows.append(f"| {method} | - | | | {row['skipped']} |")
    return "\n".join(
        [
            f"{first['functions']} training functions, {first['tests']} test functions; inputs {shape}, "
            f"outputs at {first['points']} points.",
            "",
            markdown_table(("method", "error", "seconds", "GiB", "tuned"), ()),
            *rows,
            "",
            f"Expected error ({ours['error_kind']}), from the training functions alone: "
            f"{percent(ours['expected_error'])}.",
        ]
    )


def _grid_search_section(rows):
    text = (
        "`AutoELMDeepONet` against `GridSearchCV` with three folds over those of the same families that\n"
        "scikit-learn provides (linear, RBF, Matern, random cosines; the same scales, 20 alphas, two\n"
        "scalings of the inputs), in one run of `python benchmarks/auto_cost.py grid`:\n\n"
    )
    cells = []
    for row in rows:
        ours, theirs = row["seconds"]
        errors = " and ".join(percent(error) for error in row["errors"])
        cells.append((row["problem"], f"{ours:.1f} s", f"{theirs:.0f} s", f"{row['ratio']:.0f}", errors))
    return text + markdown_table(("problem", "elmonet", "GridSearchCV", "ratio", "errors"), cells)


def inference_page():
    """Return docs/inference.md."""
    columns = ("problem", "one prediction", "each of 200", "error", "numerical solver", "its time")
    rows = []
    for row in load_results("inference"):
        for solver, found in row["solvers"].items():
            cells = (
                row["problem"],
                f"{1e3 * row['one']:.2f} ms",
                f"{1e3 * row['each of 200']:.3f} ms",
                f"{row['error']:.1e}",
                solver,
                f"{1e3 * found['seconds']:.2f} ms",
                f"{found['times']:.1f}",
                f"{found['times in a batch']:.0f}",
            )
            rows.append(cells)
    table = markdown_table((*columns, "faster by", "in a batch by"), rows)
    return f"{INFERENCE}\n\n{table}\n"
