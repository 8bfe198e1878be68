"""Figures of the pages in docs/ and of README, written to docs/figures. They need matplotlib."""

import contextlib
import io
import os
import re
import tempfile
import warnings
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.animation import FuncAnimation, PillowWriter
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from elmonet import AutoELMDeepONet, ExtrapolationWarning, plot, problems, relative_l2
from elmonet.paper import read_results
from elmonet.paper.figures import BLUE, ORANGE
from elmonet.paper.report import draw_figures
from scripts import data_pictures, tables
from scripts.forced_field import forced_field
from scripts.shared import DOCS, FIGURE_FOLDER, load_results, save_figure


def paper():
    """The figures of docs/paper/report.md."""
    draw_figures(read_results(DOCS / "paper" / "results.json"), DOCS / "paper" / "figures")


def auto_scaling():
    """Seconds of the automatic choice against the sizes of the data (peers.md)."""
    titles = {"N": "functions N", "M": "points M", "m": "sensors m", "p1": "width p1 (one fit)"}
    figure, axes = plt.subplots(1, 4, figsize=(12, 3), layout="constrained")
    for ax, (against, title) in zip(axes, titles.items(), strict=True):
        rows = [row for row in load_results("auto_cost")["scaling"] if row["against"] == against]
        sizes = [row["size"] for row in rows]
        ax.loglog(sizes, [row["seconds"] for row in rows], "o-", color="C0")
        ax.set(xlabel=title, ylabel="seconds" if against == "N" else "", ylim=(0.03, 200))
        ax.set_xticks(sizes, [str(size) for size in sizes], rotation=45)
        ax.minorticks_off()
        ax.grid(alpha=0.3)
    save_figure(figure, "auto_scaling.png")


def infinite_width():
    """Test error against the width of random networks, and of their limit (peers.md)."""
    results = load_results("auto_cost")["limit"]
    names = list(dict.fromkeys(row["problem"] for row in results))
    figure, axes = plt.subplots(1, len(names), figsize=(9, 3.4), layout="constrained")
    for ax, name in zip(axes, names, strict=True):
        for i, row in enumerate(row for row in results if row["problem"] == name):
            widths = [int(width) for width in row["errors"]]
            errors = np.array(list(row["errors"].values()))
            ax.loglog(widths, np.median(errors, axis=1), "o-", color=f"C{i}", label=row["kernel"], ms=3)
            ax.fill_between(widths, errors.min(axis=1), errors.max(axis=1), color=f"C{i}", alpha=0.2, lw=0)
            ax.axhline(row["limit"], color=f"C{i}", ls="--", lw=1)
        ax.set(title=name.replace("_", " "), xlabel="width p1", ylabel="relative error")
        ax.set_xticks(widths, [str(width) for width in widths], rotation=45)
        ax.xaxis.set_minor_locator(plt.NullLocator())
        ax.grid(alpha=0.3, which="both")
    axes[0].legend(title="limit")
    save_figure(figure, "limit.png")


def scaling():
    """Seconds and peak memory of out-of-core fits against the number of functions (big-data.md)."""
    results = load_results("scaling")
    rows = [row for row in results["sizes"] if row["workers"] == results["cores"]]
    N = [row["functions"] for row in rows]
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    left.loglog(N, [row["seconds"] for row in rows], "o-", label="fit")
    left.loglog(N, [row["product"] for row in rows], "s--", color="0.4", label="bare product B B'")
    left.set(xlabel="functions N", ylabel="seconds")
    left.legend()
    right.semilogx(N, [row["peak_gib"] for row in rows], "o-")
    right.set(xlabel="functions N", ylabel="peak memory (GiB)", ylim=(0, 1))
    for ax in (left, right):
        ax.grid(alpha=0.3)
    save_figure(figure, "scaling.png")


def layers():
    """Error against seconds for each data set, and after each step of a rollout (layers.md)."""
    styles = {
        "layers": ("o-", "elmonet, after each layer"),
        "FNO": ("s--", "FNO"),
        "DeepONet": ("^:", "DeepONet"),
    }
    results = tables.layers_results()
    columns = (len(results) + 2) // 2  # and one for the rollout
    figure, axes = plt.subplots(2, columns, figsize=(11 / 3 * columns, 6), constrained_layout=True)
    axes = axes.ravel()
    for ax, (name, row) in zip(axes, results.items(), strict=False):
        for method, (style, label) in styles.items():
            if method not in row:
                continue
            seconds, errors = ([run[key] for run in row[method]] for key in ("seconds", "error"))
            ax.loglog(seconds, [100 * error for error in errors], style, label=label, markersize=5)
        ax.set(title=tables.LAYERS_TITLES[name], xlabel="seconds on 2 cores", ylabel="error in %")
        for axis in (ax.xaxis, ax.yaxis):
            _plain_log_ticks(axis)
    axes[0].legend(frameon=False)
    ax, steps = axes[len(results)], results["burgers_steps"]["rollout"]
    ax.plot(range(1, len(steps) + 1), [100 * error for error in steps], "o-", markersize=4)
    title = "Burgers, rollout of the step"
    ax.set(title=title, xlabel="steps of 0.05", ylabel="error in %", ylim=(0, None))
    for ax in axes[len(results) + 1 :]:
        ax.remove()
    _open_spines(axes)
    save_figure(figure, "layers.png")


def suggest():
    """Error against the number of simulations, random and suggested (next-simulation.md)."""
    shape = len(tables.SUGGEST_POOLS), len(tables.SUGGEST_TITLES)
    figure, axes = plt.subplots(*shape, figsize=(12, 5.6), constrained_layout=True)
    for ax, ((name, pool), models) in zip(axes.ravel(), tables.suggest_results().items(), strict=True):
        for model, colour in zip(tables.SUGGEST_MODELS, ("C0", "C1"), strict=True):
            for selection, style in (("random", "s:"), ("suggested", "o-")):
                errors = 100 * tables.median_errors(models[model], selection)
                label = f"{model}, {selection}"
                ax.semilogy(models[model]["sizes"], errors, style, color=colour, label=label, markersize=4)
        ax.set(title=f"{tables.SUGGEST_TITLES[name]}, {pool} pool", xlabel="simulations")
        _plain_log_ticks(ax.yaxis)
    _open_spines(axes.ravel())
    for ax in axes[:, 0]:
        ax.set_ylabel("error in %")
    axes[0, 0].legend(frameon=False, fontsize=8)
    save_figure(figure, "suggest.png")


def bands():
    """A prediction with its band, calibration, and stated against true errors (error-bars.md)."""
    data = problems.burgers(n_train=300, n_test=300, n_points=65)
    model = AutoELMDeepONet(random_state=0, layers=0).fit(data.u_train, data.s_train, points=data.points)
    calibration = model.calibration(data.u_test, data.s_test)
    hard = int(np.argsort(calibration.true)[-15])  # the function with the 15th largest error of 300
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), constrained_layout=True)
    plot.band(model, data.u_test, data.s_test, hard, axes[0])
    plot.calibration(calibration, axes[1])
    plot.stated_error(calibration, axes[2])
    save_figure(figure, "bands.png", dpi=110)


def learning():
    """README's animation: with more training functions a better prediction and a narrower band.

    Burgers' equation, from the velocity at the start to that at the end, for one test function.
    """
    sizes, test, still_frames = (10, 20, 40, 80, 160, 320), 3, 4  # still: repeats of the last frame
    data = problems.burgers(n_train=max(sizes), n_test=200)
    x, u, truth = data.points[:, 0], data.u_test[test : test + 1], data.s_test[test]
    frames = []
    for size in sizes:
        model = AutoELMDeepONet(layers=0, random_state=0)
        model.fit(data.u_train[:size], data.s_train[:size], points=data.points)
        low, high = model.interval(u, coverage=0.9, of="function")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExtrapolationWarning)  # ten functions do not cover all others
            error = relative_l2(model.predict(data.u_test), data.s_test)
        title = (
            f"{size} training functions: error expected {model.expected_error_:.1%}, "
            f"on 200 new functions {error:.1%}"
        )
        frames.append((title, model.predict(u)[0], low[0], high[0]))

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.7), layout="constrained", sharex=True)
    margin = 0.6 * (truth.max() - truth.min())

    def draw(frame):
        title, predicted, low, high = frames[min(frame, len(frames) - 1)]
        left.clear()
        right.clear()
        left.plot(x, u[0], color=BLUE, linewidth=2)
        left.set(title="a new input", xlabel="x")
        right.fill_between(x, low, high, color=ORANGE, alpha=0.25, linewidth=0, label="90 % band")
        right.plot(x, truth, color="#999999", linewidth=5, label="truth")
        right.plot(x, predicted, color=ORANGE, linewidth=1.8, label="prediction")
        right.set(title="its output", xlabel="x", ylim=(truth.min() - margin, truth.max() + margin))
        figure.suptitle(title, fontweight="bold")
        right.legend(loc="upper right", ncols=3, frameon=False, fontsize=9)
        _open_spines((left, right))

    animation = FuncAnimation(figure, draw, frames=len(frames) + still_frames)
    animation.save(FIGURE_FOLDER / "learning.gif", writer=PillowWriter(fps=1), dpi=90)
    plt.close(figure)


def heating():
    """The figure of docs/tutorials/my-data.md, drawn by the code of the page itself."""
    page = (DOCS / "tutorials" / "my-data.md").read_text()
    working_folder, names = os.getcwd(), {}
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        os.chdir(folder)
        try:
            for block in re.findall(r"^```py(?:thon)?\n(.*?)^```", page, re.M | re.S):
                exec(block, names)
                if Path("heating.png").exists():
                    (FIGURE_FOLDER / "heating.png").write_bytes(Path("heating.png").read_bytes())
                    break
        finally:
            os.chdir(working_folder)


def _plain_log_ticks(axis):
    """Label a logarithmic axis with plain numbers: the fewer decades it spans, the more of them."""
    decades = np.ptp(np.log10(axis.get_view_interval()))
    multiples = range(1, 10) if decades < 0.4 else (1, 2, 5) if decades < 2 else (1,)
    axis.set_major_locator(LogLocator(subs=multiples))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _open_spines(axes):
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)


FIGURES = {
    "paper": paper,
    "auto_scaling": auto_scaling,
    "limit": infinite_width,
    "scaling": scaling,
    "layers": layers,
    "suggest": suggest,
    "bands": bands,
    "data": data_pictures.draw_all,
    "learning": learning,
    "heating": heating,
    "forced_field": forced_field,
}
