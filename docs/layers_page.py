"""The table and the figure of docs/layers.md, from the results of benchmarks/layers.py."""

import json
from pathlib import Path

from peers_page import number

RESULTS = Path(__file__).resolve().parents[1] / "benchmarks" / "results" / "layers.json"
NAMES = {
    "burgers": "Burgers",
    "neuralop_darcy_small": "two-valued Darcy (file)",
    "darcy_two_valued": "two-valued Darcy",
    "torchphysics_diffusion2d": "diffusion, 64 x 64 (file)",
    "burgers_steps": "Burgers, one time step",
}
STYLES = {
    "layers": ("o-", "elmonet, after each layer"),
    "FNO": ("s--", "FNO"),
    "DeepONet": ("^:", "DeepONet"),
}


def load():
    """The results, in the order in which they are shown."""
    found = json.loads(RESULTS.read_text())
    return {name: found[name] for name in NAMES}


def table(results):
    """One line for each data set: without layers, with them, and networks of the same seconds."""
    lines = [
        "| data | without layers | with layers | expected | seconds | FNO, same seconds | FNO, 10 times | "
        "DeepONet, same seconds |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, row in results.items():
        last, longer = row["layers"][-1], row["FNO"][1:]
        cells = (
            NAMES[name],
            number(row["layers"][0]["error"]),
            number(last["error"]),
            number(row["expected"]),
            f"{last['seconds']:.0f}",
            number(row["FNO"][0]["error"]),
            number(longer[0]["error"]) if longer else "-",
            number(row["DeepONet"][0]["error"]),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def figure(results, path):
    """Error against seconds for each data set, and the error of the rollout after each step."""
    import matplotlib.pyplot as plt
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    fig, axes = plt.subplots(2, 3, figsize=(11, 6), constrained_layout=True)
    axes = axes.ravel()
    for ax, (name, row) in zip(axes, results.items(), strict=False):
        for kind, (style, label) in STYLES.items():
            runs = row[kind]
            ax.loglog(
                [r["seconds"] for r in runs],
                [100 * r["error"] for r in runs],
                style,
                label=label,
                markersize=5,
            )
        ax.set(title=NAMES[name], xlabel="seconds on 2 cores", ylabel="error in %")
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(LogLocator(subs=(1, 3)))
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axis.set_minor_formatter(NullFormatter())
    axes[0].legend(frameon=False)
    steps = results["burgers_steps"]["rollout"]
    axes[-1].plot(range(1, len(steps) + 1), [100 * error for error in steps], "o-", markersize=4)
    axes[-1].set(
        title="Burgers, rollout of the step",
        xlabel="steps of 0.05",
        ylabel="error in %",
        ylim=(0, None),
    )
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
    fig.savefig(path, dpi=120)
    plt.close(fig)
