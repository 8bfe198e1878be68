"""The table and the figure of docs/next-simulation.md, from the results of benchmarks/suggest.py."""

import json
from pathlib import Path

import numpy as np
from peers_page import number

RESULTS = Path(__file__).resolve().parents[1] / "benchmarks" / "results" / "suggest.json"
NAMES = {"ode": "nonlinear ODE", "darcy": "Darcy", "burgers": "Burgers", "inverse_source": "inverse source"}
POOLS = ("even", "uneven")


def load():
    """The results, in the order in which they are shown: of each problem, of each pool."""
    found = json.loads(RESULTS.read_text())
    return {(name, pool): found[name][pool] for pool in POOLS for name in NAMES}


def median(row, way):
    """The error after each round: the median over the seeds."""
    return np.median(row[way], axis=0)


def needed(row):
    """How many suggested functions give the error of the last round of random ones; None: more than these.

    Between the rounds the logarithm of the error is taken to be linear.
    """
    goal = np.log(median(row, "random")[-1])
    falling = np.minimum.accumulate(np.log(median(row, "suggested")))
    return None if falling[-1] > goal else float(np.interp(-goal, -falling, row["sizes"]))


def table(results):
    """One line for each problem and pool."""
    most = next(iter(results.values()))["sizes"][-1]
    lines = [
        f"| problem | pool | {most} random | {most} suggested | suggested functions for the error of {most} "
        "random |",
        "|---|---|---|---|---|",
    ]
    for (name, pool), row in results.items():
        many = needed(row)
        cells = (
            NAMES[name],
            pool,
            number(median(row, "random")[-1]),
            number(median(row, "suggested")[-1]),
            f"more than {most}" if many is None else f"{np.ceil(many):.0f}",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def figure(results, path):
    """Error against the number of simulations: medians, and the range over the seeds."""
    import matplotlib.pyplot as plt
    from matplotlib.ticker import FuncFormatter, NullFormatter

    fig, axes = plt.subplots(len(POOLS), len(NAMES), figsize=(12, 5.6), constrained_layout=True)
    for ax, ((name, pool), row) in zip(axes.ravel(), results.items(), strict=True):
        for way, style in (("random", "s--"), ("suggested", "o-")):
            errors = 100 * np.array(row[way])
            (line,) = ax.semilogy(row["sizes"], np.median(errors, axis=0), style, label=way, markersize=4)
            ax.fill_between(row["sizes"], errors.min(axis=0), errors.max(axis=0), alpha=0.15, color=line.get_color())
        ax.axhline(100 * median(row, "random")[-1], color="grey", linewidth=0.6)
        ax.set(title=f"{NAMES[name]}, {pool} pool", xlabel="simulations")
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        ax.yaxis.set_minor_formatter(NullFormatter())
        ax.spines[["top", "right"]].set_visible(False)
    for ax in axes[:, 0]:
        ax.set_ylabel("error in %")
    axes[0, 0].legend(frameon=False)
    fig.savefig(path, dpi=120)
    plt.close(fig)
