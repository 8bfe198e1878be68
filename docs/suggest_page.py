"""The table and the figure of docs/next-simulation.md, from the results of benchmarks/suggest.py."""

import json
from pathlib import Path

import numpy as np
from peers_page import number

RESULTS = Path(__file__).resolve().parents[1] / "benchmarks" / "results" / "suggest.json"
NAMES = {"ode": "nonlinear ODE", "darcy": "Darcy", "burgers": "Burgers", "inverse_source": "inverse source"}
POOLS, MODELS = ("even", "uneven"), ("kernel ridge", "AutoELMDeepONet")


def load():
    """The results, in the order in which they are shown: of each problem and pool, of each model."""
    found = json.loads(RESULTS.read_text())
    return {(name, pool): found[name][pool] for pool in POOLS for name in NAMES}


def median(row, way):
    """The error after each round: the median over the seeds."""
    return np.median(row[way], axis=0)


def needed(row):
    """How many suggested functions give the error of the last round of random ones; inf: more than these.

    Between the rounds the logarithm of the error is taken to be linear.
    """
    goal = np.log(median(row, "random")[-1])
    falling = np.minimum.accumulate(np.log(median(row, "suggested")))
    return np.inf if falling[-1] > goal else float(np.interp(-goal, -falling, row["sizes"]))


def table(results):
    """One line for each problem and pool: of each model the errors, and how many suggested functions do."""
    most = results["ode", "even"][MODELS[0]]["sizes"][-1]
    heads = [f"{model}: {most} random | {most} suggested | needed" for model in MODELS]
    lines = [f"| problem | pool | {' | '.join(heads)} |", "|---" * (2 + 3 * len(MODELS)) + "|"]
    for (name, pool), models in results.items():
        cells = [NAMES[name], pool]
        for row in (models[model] for model in MODELS):
            many = needed(row)
            cells += [number(median(row, way)[-1]) for way in ("random", "suggested")]
            cells.append(f"over {most}" if many > most else f"{np.ceil(many):.0f}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def figure(results, path):
    """Error against the number of simulations, medians over the seeds."""
    import matplotlib.pyplot as plt
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    fig, axes = plt.subplots(len(POOLS), len(NAMES), figsize=(12, 5.6), constrained_layout=True)
    for ax, ((name, pool), models) in zip(axes.ravel(), results.items(), strict=True):
        for model, colour in zip(MODELS, ("C0", "C1"), strict=True):
            for way, style in (("random", "s:"), ("suggested", "o-")):
                errors = 100 * median(models[model], way)
                label = f"{model}, {way}"
                ax.semilogy(models[model]["sizes"], errors, style, color=colour, label=label, markersize=4)
        ax.set(title=f"{NAMES[name]}, {pool} pool", xlabel="simulations")
        ax.yaxis.set_major_locator(
            LogLocator(subs=(1, 2, 5) if np.ptp(np.log10(ax.get_ylim())) < 2 else (1,))
        )
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        ax.yaxis.set_minor_formatter(NullFormatter())
        ax.spines[["top", "right"]].set_visible(False)
    for ax in axes[:, 0]:
        ax.set_ylabel("error in %")
    axes[0, 0].legend(frameon=False, fontsize=8)
    fig.savefig(path, dpi=120)
    plt.close(fig)
