"""Do bands hold what they promise? Coverage, width and correlation with the true error, over seeds.

    python benchmarks/bands.py [--data FOLDER] [--seeds 10] [--functions 500] [--layers] [--datasets darcy]

Each row is one data set and one seed of the split: whole functions at 90 %, single values at 95 %, the mean
width of the bands for whole functions against that of bands of constant width, and the correlation of the
logarithms of stated and true error over the test functions. Settings are chosen by `AutoELMDeepONet` each
time, without layers unless with --layers. Results are added to benchmarks/results/bands.json as they come.
With --cost: what bands cost beside fit and predict in the same run, to benchmarks/results/bands_cost.json.
"""

import argparse
import json
import tempfile
import time
import warnings
from pathlib import Path

import datasets
import numpy as np

from elmonet import AutoELMDeepONet, ELMDeepONet, InfiniteWidth, problems, relative_l2
from elmonet.uncertainty.bands import Bands
from elmonet.uncertainty.residuals import missed_left_out

OUT = Path(__file__).parent / "results" / "bands.json"
COST = OUT.with_name("bands_cost.json")
TESTS = 500
MADE = {
    "antiderivative": problems.antiderivative,
    "nonlinear_ode": problems.nonlinear_ode,
    "inverse_source": problems.inverse_source,
    "inverse_source, 1 % noise": lambda **how: problems.inverse_source(noise=0.01, **how),
    "darcy": problems.darcy,
    "burgers": problems.burgers,
}


def split(name, folder, functions, seed):
    """Inputs and outputs to train and to test with, and points; another split for each seed."""
    if name in MADE:
        d = MADE[name](n_train=functions, n_test=TESTS, seed=seed)
        return d.u_train, d.s_train, d.u_test, d.s_test, d.points
    d = datasets.load(name, folder)
    if isinstance(d, str):
        return d
    u, s = np.concatenate([d.u_train, d.u_test]), np.concatenate([d.s_train, d.s_test])
    if name == "lno_reaction_diffusion":  # its test functions are of another kind
        u, s = d.u_train, d.s_train
    order = np.random.default_rng(seed).permutation(len(u))
    train = order[: min(functions, int(0.8 * len(u)))]
    test = order[len(train) :][:TESTS]
    return u[train], s[train], u[test], s[test], d.points


def constant_width(model):
    """The mean width of constant bands for whole functions at 90 %, from the same functions left out."""
    if not hasattr(model, "solution_"):
        return None
    found, training = model._fitted(), model._training
    missed = missed_left_out(found, training, model._confident().variance)
    groups = None if training.groups is None else training.groups.numbers
    bands = Bands.of(missed, [np.ones((1, 1))], groups)
    return bands.times(0.9, "function") * float(np.mean(bands.sigma))


def own_width(model, u):
    """The same of the model's own bands, on other functions, as its operator sees outputs."""
    found, confidence = model._fitted(), model._confident()
    _, g = confidence.with_coefficients(found.operator, found.seen(found.inputs.rows(model, u)))
    bands = confidence.bands
    return bands.times(0.9, "function") / bands.widen * float(np.mean(bands.sigma) * np.mean(g))


def measure(name, folder, functions, seed, layers):
    """A row."""
    data = split(name, folder, functions, seed)
    if isinstance(data, str):
        return {"dataset": name, "seed": seed, "skipped": data}
    u, s, u_test, s_test, points = data
    begin = time.perf_counter()
    auto = AutoELMDeepONet(layers=None if layers else 0, random_state=seed).fit(u, s, points=points)
    fitted = time.perf_counter()
    model = auto.best_model_
    found = auto.calibration(u_test, s_test)
    at = {round(float(asked), 2): i for i, asked in enumerate(found.asked)}
    row = {
        "dataset": name,
        "seed": seed,
        "layers": bool(layers),
        "functions": len(u),
        "tests": len(u_test),
        "seconds": fitted - begin,
        "function_90": float(found.functions[at[0.9]]),
        "point_95": float(found.points[at[0.95]]) if 0.95 in at else None,
        "correlation": found.correlation,
        "crps": found.crps,
        "expected_error": auto.expected_error_,
        "error": relative_l2(auto.predict(u_test), s_test),
    }
    constant = constant_width(model)
    return row | {"width": None if constant is None else own_width(model, u_test) / constant}


def medians(*works, times=15):
    """The median seconds of each of some works, done in turn."""
    taken = []
    for _ in range(times):
        marks = [time.perf_counter()]
        for work in works:
            work()
            marks.append(time.perf_counter())
        taken.append(np.diff(marks))
    return np.median(taken, axis=0).tolist()


def cost():
    """Seconds of fit and of making bands, of predict and interval; bytes of files without and with bands."""
    ode, images = problems.nonlinear_ode(1000, 1000), problems.darcy(500, 500)
    cases = {
        "ODE, random network of 2000": (ode, ELMDeepONet(random_state=0)),
        "ODE, infinite width": (ode, ELMDeepONet(InfiniteWidth("matern52", 0.1), random_state=0)),
        "Darcy, infinite width": (images, ELMDeepONet(InfiniteWidth("matern52", 0.1), random_state=0)),
    }
    rows = []
    for name, (d, model) in cases.items():
        row = {"case": name}
        row["fit"], row["bands"], _, row["predict"], row["interval"] = medians(
            lambda d=d, model=model: model.fit(d.u_train, d.s_train, points=d.points),
            model._confident,
            lambda d=d, model=model: model.predict(d.u_test),  # the first takes longer
            lambda d=d, model=model: model.predict(d.u_test),
            lambda d=d, model=model: model.interval(d.u_test),
        )
        with tempfile.TemporaryDirectory() as folder:
            for kept in (False, True):
                file = Path(folder) / "model"
                model.save(file, bands=kept, inputs=False)
                row["with_bands" if kept else "without_bands"] = file.stat().st_size
        row["factor"] = 8 * model.operator_.C.shape[1] * min(model.operator_.C.shape[1], len(d.u_train))
        rows.append(row)
        print(row, flush=True)
    COST.write_text(json.dumps(rows, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, help="folder with data files")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--functions", type=int, default=500)
    parser.add_argument("--layers", action="store_true", help="with layers, where they are better")
    parser.add_argument("--datasets", nargs="*")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--cost", action="store_true", help="measure seconds and bytes instead")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.cost:
        cost()
        return
    names = arguments.datasets or list(
        dict.fromkeys([*MADE, *(n for n in datasets.names(arguments.data) if n not in MADE)])
    )
    rows = json.loads(arguments.out.read_text()) if arguments.out.exists() else []
    done = {(row["dataset"], row["seed"], row.get("layers", False)) for row in rows}
    for seed in range(arguments.seeds):
        for name in names:
            if (name, seed, arguments.layers) in done:
                continue
            row = measure(name, arguments.data, arguments.functions, seed, arguments.layers)
            rows.append(row)
            arguments.out.write_text(json.dumps(rows, indent=1) + "\n")
            print({key: f"{v:.3g}" if isinstance(v, float) else v for key, v in row.items()}, flush=True)


if __name__ == "__main__":
    main()
