"""The table of docs/error-bars.md, from the results of benchmarks/bands.py."""

import json
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks" / "results"
RESULTS, NOVELTY = FOLDER / "bands.json", FOLDER / "novelty.json"
COST = FOLDER / "bands_cost.json"


def load():
    """The rows of each data set, without and with layers."""
    found = {}
    for row in json.loads(RESULTS.read_text()):
        if "skipped" not in row:
            found.setdefault((row["dataset"], row["layers"]), []).append(row)
    return found


def mean(rows, key):
    """Over the seeds, of those that have it; None if none has."""
    values = [row[key] for row in rows if row[key] is not None]
    return float(np.mean(values)) if values else None


def table(results):
    """One line for each data set: means over the seeds."""
    lines = [
        "| data | functions | seeds | error | whole functions at 90 % | points at 95 % | width | "
        "correlation |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for (name, layers), rows in sorted(results.items(), key=lambda item: item[0][1]):
        width, correlation = mean(rows, "width"), mean(rows, "correlation")
        cells = (
            name + (", with layers" if layers else ""),
            str(rows[0]["functions"]),
            str(len(rows)),
            f"{100 * mean(rows, 'error'):.2g} %",
            f"{100 * mean(rows, 'function_90'):.1f} %",
            f"{100 * mean(rows, 'point_95'):.1f} %",
            "-" if width is None else f"{width:.2f}",
            "-" if correlation is None else f"{correlation:.2f}",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def cost_table():
    """What bands cost."""
    lines = ["| model | more than fit | more than predict | file without, with bands |", "|---|---|---|---|"]
    for row in json.loads(COST.read_text()):
        fit, predict = row["bands"] / row["fit"], row["interval"] / row["predict"] - 1
        sizes = " MB, ".join(f"{row[key] / 1e6:.1f}" for key in ("without_bands", "with_bands"))
        lines.append(f"| {row['case']} | +{100 * fit:.0f} % | {100 * predict:+.0f} % | {sizes} MB |")
    return "\n".join(lines)


def novelty_table():
    """Which new functions are flagged."""
    lines = ["| training functions | new functions | error | flagged |", "|---|---|---|---|"]
    for row in json.loads(NOVELTY.read_text())["flagged"]:
        error = "" if row["error"] is None else f"{100 * row['error']:.2g} %"
        lines.append(f"| {row['data']} | {row['kind']} | {error} | {100 * row['flagged']:.0f} % |")
    return "\n".join(lines)


def most_wrong():
    """The largest part of ordinary functions that were flagged wrongly."""
    return max(row["wrong"] for row in json.loads(NOVELTY.read_text())["wrong"])


def figure(path):
    """A prediction with its band, coverage asked against found, and stated against true errors."""
    import matplotlib.pyplot as plt

    from elmonet import AutoELMDeepONet, plot, problems

    data = problems.burgers(n_train=300, n_test=300, n_points=65)
    model = AutoELMDeepONet(random_state=0, layers=0).fit(data.u_train, data.s_train, points=data.points)
    found = model.calibration(data.u_test, data.s_test)
    worst = int(np.argsort(found.true)[-15])  # of 300 functions, one of the harder ones
    fig, axes = plt.subplots(1, 3, figsize=(12, 3.8), constrained_layout=True)
    plot.band(model, data.u_test, data.s_test, worst, axes[0])
    plot.calibration(found, axes[1])
    plot.stated_error(found, axes[2])
    fig.savefig(path, dpi=110)
    plt.close(fig)
