"""Coverage, width and correlation of error bars with the true error, over seeds; and what they cost.

    python benchmarks/bands.py [--data FOLDER] [--seeds 10] [--functions 500] [--layers] [--datasets darcy]

Each row is one data set and one seed of the split: coverage of whole functions at 90 % and of single values
at 95 %, the mean width of the bands for whole functions divided by that of bands of constant width, and the
correlation of the logarithms of stated and true error over the test functions. `AutoELMDeepONet` chooses the
settings each time, without layers unless with --layers. Rows are added to benchmarks/results/bands.json.
With --cost: seconds and bytes that bands add in the same run, to benchmarks/results/bands_cost.json.
"""

import tempfile
import warnings
from functools import partial
from pathlib import Path

import datasets
import numpy as np
from harness import (
    RESULTS,
    fit_auto,
    medians_in_turn,
    option_parser,
    print_row,
    read_results,
    timed,
    write_results,
)

from elmonet import ELMDeepONet, InfiniteWidth, problems, relative_l2
from elmonet.fitting.error_bars import training_residuals
from elmonet.uncertainty.bands import Bands

OUT, COST = RESULTS / "bands.json", RESULTS / "bands_cost.json"
N_TEST = 500  # functions
GENERATED = [*datasets.PAPER, "burgers"]


def split(name, folder, functions, seed):
    """Return inputs and outputs for training and for testing, and points; each seed splits differently."""
    if name in GENERATED:
        d = datasets.PROBLEMS[name](n_train=functions, n_test=N_TEST, seed=seed)
        return d.u_train, d.s_train, d.u_test, d.s_test, d.points
    d = datasets.load(name, folder)
    if isinstance(d, str):
        return d
    u, s = np.concatenate([d.u_train, d.u_test]), np.concatenate([d.s_train, d.s_test])
    if name == "lno_reaction_diffusion":  # its test functions are of another kind
        u, s = d.u_train, d.s_train
    order = np.random.default_rng(seed).permutation(len(u))
    train = order[: min(functions, int(0.8 * len(u)))]
    test = order[len(train) :][:N_TEST]
    return u[train], s[train], u[test], s[test], d.points


def constant_width(model):
    """Return the mean width of constant bands for whole functions at 90 %, from the same residuals."""
    if not hasattr(model, "solution_"):
        return None
    residuals = training_residuals(model._fitted())
    bands = Bands.of(residuals.values, [np.ones((1, 1))], residuals.groups)
    return bands.factor(0.9, "function") * float(np.mean(bands.sigma))


def own_width(model, u):
    """Return the mean width of the model's bands on new functions, in the units of its operator."""
    found = model._fitted()
    _, spread = found.error_bars.values_and_spread(found, found.query(model, u))
    return found.error_bars.factor(0.9, "function") / found.error_bars.widen * float(np.mean(spread))


def measure(name, folder, functions, seed, layers):
    """Return a row of the results."""
    data = split(name, folder, functions, seed)
    if isinstance(data, str):
        return {"dataset": name, "seed": seed, "skipped": data}
    u, s, u_test, s_test, points = data
    seconds, auto = timed(partial(fit_auto, u, s, points, layers=None if layers else 0, seed=seed))
    model = auto.best_model_
    calibration = auto.calibration(u_test, s_test)
    at = {round(float(asked), 2): i for i, asked in enumerate(calibration.asked)}
    row = {
        "dataset": name,
        "seed": seed,
        "layers": bool(layers),
        "functions": len(u),
        "tests": len(u_test),
        "seconds": seconds,
        "function_90": float(calibration.functions[at[0.9]]),
        "point_95": float(calibration.points[at[0.95]]) if 0.95 in at else None,
        "correlation": calibration.correlation,
        "crps": calibration.crps,
        "expected_error": auto.expected_error_,
        "error": relative_l2(auto.predict(u_test), s_test),
    }
    constant = constant_width(model)
    return row | {"width": None if constant is None else own_width(model, u_test) / constant}


def cost():
    """Measure seconds of fit, bands, predict and interval, and bytes of files without and with bands."""
    ode, images = problems.nonlinear_ode(1000, 1000), problems.darcy(500, 500)
    cases = {
        "ODE, random network of 2000": (ode, ELMDeepONet(random_state=0)),
        "ODE, infinite width": (ode, ELMDeepONet(InfiniteWidth("matern52", 0.1), random_state=0)),
        "Darcy, infinite width": (images, ELMDeepONet(InfiniteWidth("matern52", 0.1), random_state=0)),
    }
    rows = []
    for name, (d, model) in cases.items():
        row = {"case": name}
        calls = [
            partial(model.fit, d.u_train, d.s_train, points=d.points),
            lambda model=model: model._fitted().error_bars,
            partial(model.predict, d.u_test),  # not counted: the first one takes longer
            partial(model.predict, d.u_test),
            partial(model.interval, d.u_test),
        ]
        seconds = medians_in_turn(calls, repeats=15)
        row["fit"], row["bands"], _, row["predict"], row["interval"] = seconds
        with tempfile.TemporaryDirectory() as folder:
            for key, bands in (("without_bands", False), ("with_bands", True)):
                file = Path(folder) / "model"
                model.save(file, bands=bands, inputs=False)
                row[key] = file.stat().st_size
        row["factor"] = 8 * model.operator_.C.shape[1] * min(model.operator_.C.shape[1], len(d.u_train))
        rows.append(row)
        print(row, flush=True)
    write_results(COST, rows)


def main():
    parser = option_parser(__doc__, data=True, out=OUT)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--functions", type=int, default=500)
    parser.add_argument("--layers", action="store_true", help="with layers, where they are better")
    parser.add_argument("--datasets", nargs="*")
    parser.add_argument("--cost", action="store_true", help="measure seconds and bytes instead")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.cost:
        cost()
        return
    names = arguments.datasets or [*GENERATED, *datasets.file_names(arguments.data)]
    rows = read_results(arguments.out, [])
    done = {(row["dataset"], row["seed"], row.get("layers", False)) for row in rows}
    for seed in range(arguments.seeds):
        for name in names:
            if (name, seed, arguments.layers) in done:
                continue
            rows.append(measure(name, arguments.data, arguments.functions, seed, arguments.layers))
            write_results(arguments.out, rows)
            print_row(rows[-1])


if __name__ == "__main__":
    main()
