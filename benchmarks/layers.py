"""Error against seconds: layers by linear solves, FNO and DeepONet; and a rollout of a learned time step.

    python benchmarks/layers.py [--data FOLDER] [--datasets burgers] [--only layers] [--figure FILE]

Ours is measured after each layer, with the seconds of every choice. The FNO (neuraloperator) and the DeepONet
(DeepXDE) are trained for the same seconds, the FNO with a cosine schedule that ends with them, and once for
ten times as long; they are left out where they cannot be imported. Results go to results/layers.json.
"""

import argparse
import json
import time
import warnings
from dataclasses import replace
from pathlib import Path

import datasets
import numpy as np
import rivals

from elmonet import AutoELMDeepONet, problems, relative_l2
from elmonet.layers import LayeredELMDeepONet

OUT = Path(__file__).parent / "results" / "layers.json"
PROBLEMS = {
    "burgers": lambda: problems.burgers(),
    "darcy_two_valued": lambda: problems.darcy_two_valued(),
    "burgers_steps": lambda: problems.burgers_steps(),
}
FILES = ("neuralop_darcy_small", "torchphysics_diffusion2d")
LONGER = 10  # times the seconds of ours, for one FNO


def load(name, folder):
    """A data set by its name."""
    return PROBLEMS[name]() if name in PROBLEMS else datasets.load(name, folder)


def layers(data):
    """Ours after each layer: seconds, expected error and test error."""
    begin = time.perf_counter()
    one_axis = data.points.shape[1] == 1
    first = None if one_axis else ("nothing", AutoELMDeepONet(random_state=0))
    model = LayeredELMDeepONet(first, random_state=0).fit(data.u_train, data.s_train, points=data.points)
    total = time.perf_counter() - begin
    found, records = model._found, model.layers_
    rows, seconds = [], total - sum(record["seconds"] for record in records)
    if model.first_ is not None:
        error = relative_l2(model.first_.predict(data.u_test), data.s_test)
        rows.append({"seconds": seconds, "expected": found.first_error, "error": error})
    for k, record in enumerate(records):
        seconds += record["seconds"]
        chain = type(found.chain)(found.chain.layers[: k + 1], found.chain.records[: k + 1])
        model._found = replace(found, chain=chain)
        error = relative_l2(model.predict(data.u_test), data.s_test)
        rows.append({"seconds": seconds, "expected": record["error"], "error": error})
    model._found = found
    return model, rows


def rival(method, data, seconds):
    """A network after so many seconds: its test error, or None where it cannot be run."""
    try:
        predict, _, _ = rivals.METHODS[method](data, seconds / 60)
    except rivals.Skipped as word:
        print(f"{method}: {word}", flush=True)
        return None
    return relative_l2(predict().reshape(data.s_test.shape), data.s_test)


def rollout(model, data, steps=20):
    """The relative error at each step of a learned time step that is applied again and again."""
    truth = data.s_test.reshape(-1, steps, data.s_test.shape[1])
    found = model.rollout(data.u_test[::steps], steps)
    return [relative_l2(found[:, k], truth[:, k]) for k in range(steps)]


def figure(results, path):
    """Error against seconds for each data set, and the error of the rollout at each step."""
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(1, len(results), figsize=(4 * len(results), 3.4), constrained_layout=True)
    for axis, (name, row) in zip(np.atleast_1d(axes), results.items(), strict=True):
        if "rollout" in row:
            axis.semilogy(1 + np.arange(len(row["rollout"])), row["rollout"], "o-")
            axis.set(title=f"{name}: rollout", xlabel="step", ylabel="relative error")
            continue
        for kind, style in (("layers", "o-"), ("FNO", "s--"), ("DeepONet", "^--")):
            runs = [run for run in row.get(kind, []) if run["error"] is not None]
            if runs:
                axis.loglog([r["seconds"] for r in runs], [r["error"] for r in runs], style, label=kind)
        axis.set(title=name, xlabel="seconds", ylabel="relative error")
        axis.legend()
    fig.savefig(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, help="folder with data files")
    parser.add_argument("--datasets", nargs="*")
    parser.add_argument("--only", nargs="*", choices=("layers", "FNO", "DeepONet"))
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    known = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
    for name in arguments.datasets or [*PROBLEMS, *(FILES if arguments.data else ())]:
        data = load(name, arguments.data)
        model, rows = layers(data)
        row = {"layers": rows, "expected": model.expected_error_}
        for k, r in enumerate(rows):
            print(f"{name:<26}layer {k}  {100 * r['error']:.3f} %  {r['seconds']:.1f} s", flush=True)
        seconds = rows[-1]["seconds"]
        wanted = arguments.only or ("FNO", "DeepONet")
        if "FNO" in wanted:
            row["FNO"] = [
                {"seconds": t, "error": rival("neuraloperator FNO", data, t)}
                for t in (seconds, LONGER * seconds)
            ]
        if "DeepONet" in wanted:
            row["DeepONet"] = [{"seconds": seconds, "error": rival("DeepXDE DeepONet", data, seconds)}]
        if name == "burgers_steps":
            row["rollout"] = rollout(model, data)
            print(f"{name:<26}rollout {100 * row['rollout'][-1]:.3f} % at the last step", flush=True)
        known[name] = row
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(json.dumps(known, indent=1) + "\n")
    if arguments.figure:
        figure(known, arguments.figure)


if __name__ == "__main__":
    main()
