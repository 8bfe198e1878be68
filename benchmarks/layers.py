"""Error against seconds: layers by linear solves, FNO and DeepONet; and a rollout of a learned time step.

    python benchmarks/layers.py [--data FOLDER] [--datasets burgers] [--only FNO] [--longer burgers]

`AutoELMDeepONet` with default settings, measured after each layer, with the seconds of every choice, those of
the processors, and the load of the machine before: where that is above the 2 of the row before, seconds are
to be taken again. A prediction of 100 functions is compared with the bare matrix products and transforms in
it. The FNO (neuraloperator) and the DeepONet (DeepXDE) are trained for the same seconds, the FNO with a
cosine schedule that ends with them, on the data sets of --longer also for ten times as long; they are left
out where they cannot be imported, and keep their last results with --only layers; so do the layers with
--only FNO, which is trained for the seconds of their row, counted in seconds of busy cores. --datasets
darcy_two_valued_85 navier_stokes_steps are made in minutes, and so not among the default ones; they are kept
in the folder of --data, or in this one. Written to benchmarks/results/layers.json.
"""

import os
import time
import warnings
from dataclasses import replace
from functools import partial

import datasets
import numpy as np
import rivals
from harness import (
    RESULTS,
    fit_auto,
    medians_in_turn,
    option_parser,
    peak_gib,
    read_results,
    test_error,
    timed,
    write_results,
)

from elmonet import relative_l2
from elmonet.layered import LayeredELMDeepONet
from elmonet.layered.layer import in_threads, updated_together

OUT = RESULTS / "layers.json"
GENERATED = ("burgers", "darcy_two_valued", "burgers_steps")
FILES = ("neuralop_darcy_small", "torchphysics_diffusion2d")
RIVALS = {"FNO": "neuraloperator FNO", "DeepONet": "DeepXDE DeepONet"}  # names in `rivals.METHODS`
LONGER = 10  # FNO training time with --longer, as a multiple of ours
PREDICTED = 100  # functions


def layers(data):
    """Return the fitted model and, after each layer, seconds, expected error and test error."""
    total, auto = timed(partial(fit_auto, data.u_train, data.s_train, data.points, layers=None))
    model, found = auto.best_model_, auto.best_model_._fitted()
    records = model.layers_ if isinstance(model, LayeredELMDeepONet) else []
    seconds = total - sum(record["seconds"] for record in records)
    error = test_error(auto.global_model_, data)
    rows = [{"seconds": seconds, "expected": auto.global_model_.expected_error_, "error": error}]
    for k, record in enumerate(records):
        seconds += record["seconds"]
        chain = replace(found.chain, layers=found.chain.layers[: k + 1], records=found.chain.records[: k + 1])
        shorter = LayeredELMDeepONet()._adopt(replace(found, chain=chain))
        rows.append({"seconds": seconds, "expected": record["error"], "error": test_error(shorter, data)})
    return auto, rows


def prediction(model, data):
    """Return the seconds of a prediction of 100 functions, and of the bare products and transforms in it."""
    if not isinstance(model, LayeredELMDeepONet):
        return {}
    found, u = model._fitted(), data.u_test[:PREDICTED]
    seconds, bare = medians_in_turn([partial(model.predict, u), partial(bare_products, found, len(u))], 3)
    return {"functions": len(u), "seconds": seconds, "bare": bare}


def bare_products(found, n):
    """Multiply matrices and transform fields of the shapes that a prediction of n functions needs.

    A layer with symmetries is the mean over its images: each image takes all products. The global model that
    the layers start from multiplies functions, or patches of them, by those that it was fitted to.
    """
    if found.first is not None:
        operator = found.first._fitted().operator
        for member in getattr(operator.branch, "members_", [operator.branch]):
            size = (1, member.width_, member.n_features_in_)
            parts = getattr(member, "_centre_parts", np.broadcast_to(1.0, size))
            for part in parts:
                np.matmul(np.ones((n, part.shape[1])), part.T)
            np.matmul(np.ones((n, member.width_)), np.ones((member.width_, len(operator.C))))
        np.matmul(np.ones((n, len(operator.C))), np.ones((len(operator.C), len(operator.basis))))
    for layer in found.chain.layers:
        features, settings, M = layer.features, layer.features.settings, layer.features.training.size
        (columns, width, *_), (of_u, of_s) = features.counts, features.factors
        components = layer.coefficients.shape[1]
        c = components * (1 + len(settings.kernels))
        sizes = [(width + settings.patterns, columns), (c, columns), (c, width), (c, of_u)]
        sizes += [(of_s, of_u)] * c
        block, images = updated_together(features.training), 1 + len(layer.images)
        pairs = [(np.ones((a, b)), np.ones((b, block * M))) for a, b in sizes if a * b]
        field = np.ones((components, block, *features.training.shape))
        kernels = settings.kernels + settings.potentials * sum(features.channels[:2])

        def work(start, pairs=pairs, field=field, kernels=kernels, images=images, grid=features.training):
            for _ in range(images):
                for one, other in pairs:
                    np.matmul(one, other)
                for kernel in kernels:
                    kernel(field, grid)

        in_threads(work, range(0, n, block))


def finer(model, path):
    """Return the error at 32 x 32 of a model trained at 16 x 16."""
    with np.load(path) as file:
        u, s, points = (file[name].astype(float) for name in ("u_test32", "s_test32", "y32"))
    return relative_l2(model.predict(u, points=points), s)


def rival(method, data, seconds):
    """Train a network for some seconds and return its test error, or None where it cannot run."""
    try:
        predict, _, _ = rivals.METHODS[method](data, seconds / 60)
    except rivals.Skipped as reason:
        print(f"{method}: {reason}", flush=True)
        return None
    return relative_l2(predict().reshape(data.s_test.shape), data.s_test)


def rollout(model, data, steps=20):
    """Return the relative error after each application of a learned time step."""
    truth = data.s_test.reshape(-1, steps, data.s_test.shape[1])
    predicted = model.rollout(data.u_test[::steps], steps)
    predicted = predicted.reshape(truth.shape)
    return [relative_l2(predicted[:, k], truth[:, k]) for k in range(steps)]


def own(name, data, folder):
    """Fit with default settings and return the row of a data set, without the networks."""
    load, begin = os.getloadavg()[0], time.process_time()
    model, rows = layers(data)
    row = {"functions": len(data.u_train), "points": len(data.points), "layers": rows}
    row |= {"cpu_seconds": time.process_time() - begin, "load": load, "peak_gib": peak_gib()}
    row |= {"prediction": prediction(model.best_model_, data), "expected": model.expected_error_}
    for k, r in enumerate(rows):
        print(f"{name:<26}layer {k}  {100 * r['error']:.3f} %  {r['seconds']:.1f} s", flush=True)
    if name == "neuralop_darcy_small":  # the same model, on the finer grid of the file
        row["finer"] = finer(model, folder / f"{name}.npz")
        print(f"{name:<26}at 32 x 32  {100 * row['finer']:.3f} %", flush=True)
    if name.endswith("_steps") and isinstance(model.best_model_, LayeredELMDeepONet):
        row["rollout"] = rollout(model.best_model_, data)
        print(f"{name:<26}rollout {100 * row['rollout'][-1]:.3f} % at the last step", flush=True)
    return row


def main():
    parser = option_parser(__doc__, data=True, out=OUT)
    parser.add_argument("--datasets", nargs="*")
    parser.add_argument("--only", nargs="*", choices=("layers", "FNO", "DeepONet"))
    parser.add_argument(
        "--longer", nargs="*", default=[], help="data sets with an FNO trained ten times as long"
    )
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    results = read_results(arguments.out, {})
    for name in arguments.datasets or [*GENERATED, *(FILES if arguments.data else ())]:
        data, row = datasets.load(name, arguments.data), results.get(name, {})
        if not row or "layers" in (arguments.only or ("layers",)):
            row = own(name, data, arguments.data) | {key: row[key] for key in RIVALS if key in row}
        results[name] = row
        write_results(arguments.out, results)
        seconds = row["layers"][-1]["seconds"]
        for method in [m for m in RIVALS if m in (arguments.only or RIVALS)]:
            longer = method == "FNO" and name in arguments.longer
            row[method] = []
            for t in (seconds, LONGER * seconds) if longer else (seconds,):
                row[method].append({"seconds": t, "error": rival(RIVALS[method], data, t)})
                print(f"{name:<26}{method} {row[method][-1]}", flush=True)
                write_results(arguments.out, results)


if __name__ == "__main__":
    main()
