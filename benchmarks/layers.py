"""Error against seconds: layers by linear solves, FNO and DeepONet; and a rollout of a learned time step.

    python benchmarks/layers.py [--data FOLDER] [--datasets burgers] [--only FNO] [--longer burgers]

Ours is `AutoELMDeepONet` as it comes, measured after each layer, with the seconds of every choice. The FNO
(neuraloperator) and the DeepONet (DeepXDE) are trained for the same seconds, the FNO with a cosine schedule
that ends with them, on the data sets of --longer also for ten times as long; they are left out where they
cannot be imported. Results go to results/layers.json.
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
from elmonet.layered import LayeredELMDeepONet

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
    auto = AutoELMDeepONet(random_state=0).fit(data.u_train, data.s_train, points=data.points)
    total = time.perf_counter() - begin
    model, found = auto.best_model_, auto.best_model_._found
    records = model.layers_ if isinstance(model, LayeredELMDeepONet) else []
    seconds = total - sum(record["seconds"] for record in records)
    error = relative_l2(auto.global_model_.predict(data.u_test), data.s_test)
    rows = [{"seconds": seconds, "expected": auto.global_model_.expected_error_, "error": error}]
    for k, record in enumerate(records):
        seconds += record["seconds"]
        chain = type(found.chain)(found.chain.layers[: k + 1], found.chain.records[: k + 1])
        model._found = replace(found, chain=chain)
        error = relative_l2(model.predict(data.u_test), data.s_test)
        rows.append({"seconds": seconds, "expected": record["error"], "error": error})
    model._found = found
    return auto, rows


def finer(model, path):
    """The error at 32 x 32 of a model trained at 16 x 16."""
    with np.load(path) as file:
        u, s, points = (file[name].astype(float) for name in ("u_test32", "s_test32", "y32"))
    return relative_l2(model.predict(u, points=points), s)


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


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, help="folder with data files")
    parser.add_argument("--datasets", nargs="*")
    parser.add_argument("--only", nargs="*", choices=("layers", "FNO", "DeepONet"))
    parser.add_argument("--longer", nargs="*", default=[], help="data sets for an FNO of ten times as long")
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    known = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
    for name in arguments.datasets or [*PROBLEMS, *(FILES if arguments.data else ())]:
        data = load(name, arguments.data)
        model, rows = layers(data)
        row = {"functions": len(data.u_train), "points": len(data.points), "layers": rows}
        row["expected"] = model.expected_error_
        if name == "neuralop_darcy_small":  # the same model, on the finer grid of the file
            row["finer"] = finer(model, arguments.data / f"{name}.npz")
            print(f"{name:<26}at 32 x 32  {100 * row['finer']:.3f} %", flush=True)
        for k, r in enumerate(rows):
            print(f"{name:<26}layer {k}  {100 * r['error']:.3f} %  {r['seconds']:.1f} s", flush=True)
        seconds = rows[-1]["seconds"]
        wanted = arguments.only or ("FNO", "DeepONet")
        if "FNO" in wanted:
            row["FNO"] = [
                {"seconds": t, "error": rival("neuraloperator FNO", data, t)}
                for t in ((seconds, LONGER * seconds) if name in arguments.longer else (seconds,))
            ]
        if "DeepONet" in wanted:
            row["DeepONet"] = [{"seconds": seconds, "error": rival("DeepXDE DeepONet", data, seconds)}]
        if name == "burgers_steps":
            row["rollout"] = rollout(model.best_model_, data)
            print(f"{name:<26}rollout {100 * row['rollout'][-1]:.3f} % at the last step", flush=True)
        known[name] = row
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    main()
