"""The figures of the report, drawn from the results of a run; they need matplotlib."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, pairwise, product
from typing import TYPE_CHECKING, Any

import numpy as np

from elmonet.errors import MissingExtra
from elmonet.metrics import relative_l2
from elmonet.paper.models import CLOSED_FORM, TRAINED, compared_with
from elmonet.paper.tables import TITLES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import LogNorm
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

# From the colour-blind safe palette of Okabe and Ito.
BLUE, ORANGE, _GREEN, _GREY = "#0072B2", "#D55E00", "#009E73", "#767676"


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of that size in inches; raise `MissingExtra` without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra('plots need matplotlib: pip install "elmonet[plot]"') from error
    return Figure(figsize=(width, height), layout="constrained")


def architecture() -> Figure:
    """Draw the parts of an ELM-DeepONet, in units of about an inch."""
    figure = new_figure(9, 4.0)
    ax = figure.subplots()
    ax.set(xlim=(0, 9), ylim=(0.35, 4.3), aspect="equal")
    ax.set_axis_off()
    _side(ax, 3.65, "input function $u$\nat $m$ sensors", "branch net\nrandom, fixed", "b(u)", 1)
    _side(ax, 1.35, "output point $y$", "trunk net\nrandom or sines, fixed", "t(y)", 2)
    _cells(ax, 5.75, 2.05, (4, 6), ORANGE)
    ax.text(5.65, 2.45, "$W$", ha="right", va="center", color=ORANGE, fontsize=16)
    _arrow(ax, (5.05, 3.65), (6.35, 2.93), bend=-90)
    _arrow(ax, (5.05, 1.35), (6.35, 1.97), bend=90)
    _arrow(ax, (7.03, 2.45), (7.37, 2.45))

    x = np.linspace(0, 1, 61)
    u = 0.3 * np.sin(7 * x + 0.4) * (1 - 0.4 * x)
    s = np.cumsum(u + 0.02)
    s = 0.6 * (s - s.min()) / np.ptp(s) - 0.3
    ax.plot(0.35 + 1.2 * x, 3.65 + u, color=_GREY)
    ax.plot(0.35 + 1.2 * x[::6], 3.65 + u[::6], "o", color="black", markersize=3.5)
    ax.plot((0.35, 1.55), (1.35, 1.35), "|-", color=_GREY)
    ax.plot(1.19, 1.35, "o", color="black", markersize=6)
    _box(ax, 7.4, 2.45, 1.4)
    ax.plot(7.5 + 1.2 * x, 2.45 + s, color=_GREY)
    ax.plot(7.5 + 1.2 * x[42], 2.45 + s[42], "o", color="black", markersize=6)
    ax.text(8.1, 1.87, "$G(u)(y) = t(y)^{\\top}\\, W\\, b(u)$", ha="center", va="top")

    learned = (
        "$W$ $(p_2 \\times p_1)$: all that is learned,\nby one linear solve:  $\\min_W \\; \\|TWB - G\\|$"
    )
    ax.text(6.5, 3.65, learned, va="center", color=ORANGE, linespacing=1.6)
    given = "$B$  branch of the training inputs\n$T$  trunk at the output points\n$G$  training outputs"
    ax.text(6.5, 0.98, given, va="center", color=_GREY, linespacing=1.4)
    return figure


def _side(ax: Axes, y: float, given: str, net: str, features: str, index: int) -> None:
    """Draw the branch or the trunk at the height y: input, network, features."""
    _box(ax, 0.25, y, 1.4)
    _arrow(ax, (1.7, y), (2.12, y))
    _box(ax, 2.15, y, 1.9)
    sizes = enumerate((3, 4, 4))
    layers = [[(2.45 + 0.65 * k, y + 0.24 * (i - n / 2 + 0.5)) for i in range(n)] for k, n in sizes]
    for edge in chain.from_iterable(product(*neighbours) for neighbours in pairwise(layers)):
        ax.plot(*zip(*edge, strict=True), "o-", color="#A9CBE0", lw=0.8, ms=8, mfc="white", mec=BLUE)
    _arrow(ax, (4.1, y), (4.67, y))
    _cells(ax, 4.75, y - 0.5, (5, 1), BLUE)
    label = f"${features} \\in \\mathbb{{R}}^{{p_{index}}}$"
    for x, text, colour in ((0.95, given, "black"), (3.1, net, BLUE), (4.85, label, BLUE)):
        ax.text(x, y - 0.58, text, ha="center", va="top", color=colour)


def _cells(ax: Axes, left: float, bottom: float, shape: tuple[int, int], colour: str) -> None:
    """Draw a matrix of that shape with random shades of the colour."""
    shades = np.random.default_rng(int(100 * bottom)).uniform(0.15, 0.9, shape)
    for (i, k), shade in np.ndenumerate(shades):
        x, y = left + 0.2 * k, bottom + 0.2 * i
        ax.fill((x, x + 0.2, x + 0.2, x), (y, y, y + 0.2, y + 0.2), fc=(colour, shade), ec="white")


def _box(ax: Axes, left: float, y: float, width: float) -> None:
    from matplotlib.patches import FancyBboxPatch

    style = "round,pad=0,rounding_size=0.08"
    ax.add_patch(FancyBboxPatch((left, y - 0.5), width, 1, boxstyle=style, fc="#F3F5F7", ec="#B8C0C8"))


def _arrow(ax: Axes, start: tuple[float, float], end: tuple[float, float], bend: int | None = None) -> None:
    turn = "arc3" if bend is None else f"angle,angleA=0,angleB={bend},rad=6"
    style = {"arrowstyle": "-|>", "color": "#444444", "linewidth": 1.2, "connectionstyle": turn}
    ax.annotate("", end, start, arrowprops=style | {"shrinkA": 0, "shrinkB": 0})


CAPTIONS = {
    "architecture": "The ELM-DeepONet. Branch and trunk are random and stay fixed; the matrix W between them "
    "is all that is learned, by one linear solve.",
    "antiderivative": "The antiderivative of a test function: the truth, the predictions and, below, their "
    "absolute errors. The numbers with % are the relative errors on this function.",
    "training": "Errors of the trained DeepONets against the time spent on training. The dashed line is the "
    "error of the ELM-DeepONet on the same data; the dot on it shows the time that took.",
    "widths": "Test error against the width of the branch, with pseudoinverses and with a ridge chosen by "
    "leave-one-out. At the dotted line there are as many features as training functions.",
    "darcy": "Darcy flow for a test permeability: the solution, the predictions and, below each, its "
    "absolute error. Solutions share one colour scale and errors another; percentages are relative errors.",
    "inverse_source": "Sources recovered from the final state: the truth, the predictions and, below, "
    "their absolute errors. The numbers with % are the relative errors on each function.",
}

_STYLES = ((BLUE, "-"), (ORANGE, "--"), (_GREEN, "-."))  # of trained, ELM and sinusoidal ELM

_FLOWS = [  # the models of Darcy flow, by branch
    f"{kind} {branch}"
    for branch in ("MLP", "CNN")
    for kind in ("DeepONet", "ELM-DeepONet", "Sinusoidal ELM-DeepONet", "Tensor-sine ELM-DeepONet")
]
_NETWORKS = [(problem, name) for problem, networks in TRAINED.items() for name in networks]
_SOLVERS = {
    "pinv32": ("pseudoinverses in float32, as printed", _GREEN, "^"),
    "pinv64": ("pseudoinverses in float64", BLUE, "s"),
    "ridge": ("ridge by leave-one-out", ORANGE, "o"),
}

_Done = dict[str, dict[str, Any]]


def draw(results: dict[str, Any]) -> dict[str, Figure]:
    """Draw every figure for which the results have what it needs.

    Parameters
    ----------
    results : what `reproduce` returns or saved, finished or not.

    Returns
    -------
    figures : by name, in the order of `CAPTIONS`.

    Raises
    ------
    MissingExtra : without matplotlib.
    """
    done: _Done = {
        task: record for task, record in results.get("done", {}).items() if "skipped" not in record
    }
    drawers: dict[str, Callable[[_Done], Figure | None]] = {
        "architecture": lambda _: architecture(),
        "antiderivative": lambda done: _lines(done, "antiderivative", ("DeepONet M1", "DeepONet M2")),
        "training": _training,
        "widths": _widths,
        "darcy": _darcy,
        "inverse_source": lambda done: _lines(done, "inverse_source", ("DeepONet",)),
    }
    figures = {name: drawers[name](done) for name in CAPTIONS}
    return {name: figure for name, figure in figures.items() if figure is not None}


def _lines(done: _Done, problem: str, trained: tuple[str, ...]) -> Figure | None:
    """Draw test functions on a line, one column each: predictions above, errors below."""
    first = next((name for name in trained if f"{problem}/{name}" in done), trained[0])
    tasks = {first: first} | {name: f"{name}/ours" for name in ("ELM-DeepONet", "Sinusoidal ELM-DeepONet")}
    predicted = {name: _values(done, f"{problem}/{task}", "predictions") for name, task in tasks.items()}
    truths = _values(done, f"{problem}/data", "outputs")
    if not truths.size or not any(functions.size for functions in predicted.values()):
        return None
    x = _values(done, f"{problem}/data", "points")[:, 0]
    legend_columns = 2 if len(truths) == 1 else 1
    figure = new_figure(9, 5.6)
    axes = figure.subplots(2, len(truths), squeeze=False, sharex=True, height_ratios=(3, 2))
    for column, (truth, (above, below)) in enumerate(zip(truths, axes.T, strict=True)):
        above.plot(x, truth, color="black", alpha=0.25, linewidth=6, label="truth")
        for (name, functions), (colour, dashes) in zip(predicted.items(), _STYLES, strict=True):
            if functions.size:
                label = f"{name} ({_percent(functions[column], truth)})"
                above.plot(x, functions[column], dashes, color=colour, label=label)
                below.plot(x, _positive(np.abs(functions[column] - truth)), dashes, color=colour, linewidth=1)
        above.legend(loc="lower left", bbox_to_anchor=(0, 1), frameon=False, ncols=legend_columns)
        below.set_xlabel("$x$")
        below.margins(x=0.01)
        below.set_yscale("log")
        _without_dips(below)
    axes[0, 0].set_ylabel("$s(x)$")
    axes[1, 0].set_ylabel("absolute error")
    return _tidy(figure)


def _training(done: _Done) -> Figure | None:
    """Draw errors against time, a panel for each trained network."""
    present = [n for n in _NETWORKS if done.get("/".join(n), {}).get("history", {}).get("seconds")]
    if not present:
        return None
    columns = min(4, len(present))
    rows = -(-len(present) // columns)
    figure = new_figure(max(6.0, 2.25 * columns), 1.0 + 2.2 * rows)
    axes = figure.subplots(rows, columns, squeeze=False)
    handles: dict[str, Any] = {}
    for ax, (problem, name) in zip(axes.flat, present, strict=False):
        model = next(m for m in CLOSED_FORM[problem] if name in compared_with(problem, m))
        records = (f"{problem}/{name}", f"{problem}/data", f"{problem}/{model}/ours")
        _history(ax, *(done.get(record, {}) for record in records))
        ax.set_title(f"{TITLES[problem]},\n{name}", fontsize=10)
        handles |= dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    for ax in axes.flat[len(present) :]:
        ax.set_axis_off()
    for ax in axes[:, 0]:
        ax.set_ylabel("relative error")
    figure.supxlabel("wall time in seconds", fontsize=10)
    figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=3, frameon=False)
    return _tidy(figure)


def _history(ax: Axes, network: dict[str, Any], data: dict[str, Any], ours: dict[str, Any]) -> None:
    """Draw the errors of one network during training, and that of the linear solve."""
    seconds, loss, error = (_positive(network["history"][key]) for key in ("seconds", "loss", "error"))
    ax.set(xscale="log", yscale="log")
    training = np.sqrt(loss) / _positive(data.get("rms"))  # in the unit of the test error
    ax.plot(seconds, training, color=BLUE, alpha=0.35, label="DeepONet, training")
    ax.plot(seconds, error, color=BLUE, label="DeepONet, test")
    if ours:
        at, reached = (_positive(ours[key]) for key in ("seconds", "error"))
        ax.axhline(float(reached), color=ORANGE, linestyle="--", linewidth=1)
        ax.plot(at, reached, "o--", color=ORANGE, label="ELM-DeepONet, test")


def _widths(done: _Done) -> Figure | None:
    """Draw errors against the width of the branch, with and without a penalty."""
    record = done.get("sensitivity/widths")
    if record is None:
        return None
    figure = new_figure(7.5, 4.2)
    ax = figure.subplots()
    ax.set(xscale="log", yscale="log", xlabel="width of the branch, $p_1$", ylabel="relative test error")
    for key, (label, colour, marker) in _SOLVERS.items():
        errors = _positive(record[key])
        ax.plot(record["p1"], errors, marker, color=colour, linestyle="-", markersize=5, label=label)
    ax.axvline(record["functions"], color=_GREY, linestyle=":", zorder=0)
    threshold = f"$p_1 = N = {record['functions']}$: as many features as training functions"
    above = ax.get_xaxis_transform()
    ax.text(record["functions"], 1.02, threshold, transform=above, ha="center", color=_GREY)
    ax.legend(frameon=False)
    return _tidy(figure)


def _darcy(done: _Done) -> Figure | None:
    """Draw permeability and solution on the left, then each prediction with its error below."""
    tasks = {name: f"darcy/{name}" if name.startswith("Deep") else f"darcy/{name}/ours" for name in _FLOWS}
    found = {name: _values(done, task, "predictions") for name, task in tasks.items()}
    predicted = {name: functions[0] for name, functions in found.items() if functions.size}
    data = ("points", "sensors", "inputs", "outputs")
    points, sensors, kappa, truths = (_values(done, "darcy/data", key) for key in data)
    if not predicted or not truths.size:
        return None
    truth, columns = truths[0], 1 + -(-len(predicted) // 2)
    figure = new_figure(max(5.0, 1.8 * columns), 8.4)
    axes = figure.subplots(4, columns)
    for ax in axes.flat:
        ax.set_axis_off()
        ax.set_box_aspect(1)
    shared, norm = _scales(truth, np.array(list(predicted.values())))
    left = _image(axes[0, 0], sensors, kappa[0].ravel(), "permeability", cmap="cividis")
    true = _image(axes[1, 0], points, truth, "true solution", **shared)
    places = [(row, column) for row in (0, 2) for column in range(1, columns)]
    for (row, column), (name, function) in zip(places, predicted.items(), strict=False):
        _image(axes[row, column], points, function, name.replace(" ELM", "\nELM"), **shared)
        title, difference = f"relative error {_percent(function, truth)}", np.abs(function - truth)
        error = _image(axes[row + 1, column], points, difference, title, norm=norm, cmap="magma")
    bars = (
        (left, "permeability", 2, 0.75, "neither"),
        (true, "solution", 2, 0.2, "neither"),
        (error, "absolute error", 3, 0.75, "min"),
    )
    for image, label, row, height, extend in bars:
        inside = axes[row, 0].inset_axes((0.05, height, 0.9, 0.1))
        figure.colorbar(image, cax=inside, orientation="horizontal", label=label, extend=extend)
    return figure


def _scales(truth: np.ndarray, predicted: np.ndarray) -> tuple[dict[str, float], LogNorm]:
    """Return the colour scales of solutions and of errors; bad predictions may exceed the first."""
    from matplotlib.colors import LogNorm

    margin = np.ptp(truth) / 4
    shown = np.clip([truth, *predicted], truth.min() - margin, truth.max() + margin)
    worst = np.nanmax([0.0, *_positive(np.abs(predicted - truth)).flat]) or 1.0
    return {"vmin": np.nanmin(shown), "vmax": np.nanmax(shown)}, LogNorm(worst / 100, worst, clip=True)


def _image(ax: Axes, points: np.ndarray, values: np.ndarray, title: str, **settings: Any) -> AxesImage:
    """Draw values (M,) at the points (M, 2) of a full grid as an image."""
    grid = values[np.lexsort((points[:, 0], points[:, 1]))].reshape(len(np.unique(points[:, 1])), -1)
    ax.set_title(title, fontsize=9)
    return ax.imshow(grid, origin="lower", **settings)


def _tidy(figure: Figure) -> Figure:
    for ax in figure.axes:
        ax.spines[["top", "right"]].set_visible(False)
    figure.align_ylabels()
    return figure


def _values(done: _Done, task: str, key: str) -> np.ndarray:
    """Return an entry of a record as floats, null as NaN; empty if it is missing."""
    return np.asarray(done.get(task, {}).get(key, ()), dtype=float)


def _positive(values: Any) -> np.ndarray:
    """Replace values that a logarithmic axis cannot show by NaN, which leaves a gap."""
    values = np.asarray(values, dtype=float)
    return np.where((values > 1e-99) & (values < 1e99), values, np.nan)


def _without_dips(ax: Axes) -> None:
    """Limit a logarithmic axis to typical errors, without the dips where they cross zero."""
    errors = [np.asarray(line.get_ydata(), dtype=float) for line in ax.lines]
    finite = [error[np.isfinite(error)] for error in errors]
    low = [np.quantile(error, 0.05) for error in finite if error.size]
    if low:
        ax.set_ylim(bottom=min(low) / 3)


def _percent(predicted: np.ndarray, truth: np.ndarray) -> str:
    with np.errstate(all="ignore"):
        return f"{100 * relative_l2(predicted, truth):.3g} %"
