"""Cost of the automatic choice: against a grid search, against the size of the data, and the limit of width.

    python benchmarks/auto_cost.py [grid] [scaling] [limit]

grid: seconds of `AutoELMDeepONet`, and of `GridSearchCV` with three folds over the same families as far as
scikit-learn has them: linear, RBF, three Matern kernels and random cosines, with the same scales, the same
number of alphas and both scalings of the inputs, in one run. scaling: seconds of the search against the
number of functions N, points M and sensors m, and of one fit against the width p1. limit: test error of
`SLFN` as its width grows, and of `InfiniteWidth`. Written to benchmarks/results/auto_cost.json.
"""

from functools import partial

import numpy as np
from harness import RESULTS, median_seconds, option_parser, read_results, test_error, timed, write_results
from rivals import OneScale
from sklearn.gaussian_process.kernels import RBF, Matern
from sklearn.kernel_approximation import RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge as LinearRidge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from elmonet import SLFN, AutoELMDeepONet, ELMDeepONet, InfiniteWidth, Ridge, problems
from elmonet.metrics import neg_relative_l2

OUT = RESULTS / "auto_cost.json"
SCALES = (0.03, 0.1, 0.3, 1.0, 3.0)
ALPHAS = np.geomspace(1e-12, 1, 20)


def grid_search(n_sensors):
    """Return the search that a user of scikit-learn would write for the same families."""
    root = np.sqrt(n_sensors)
    kernels = [RBF(root / s) for s in SCALES]
    kernels += [Matern(root / s, nu=nu) for nu in (0.5, 1.5, 2.5) for s in SCALES]
    scaler = [StandardScaler(), OneScale()]
    cosines = RBFSampler(n_components=2000, random_state=0)
    grids = [
        {"scaler": scaler, "model": [KernelRidge()], "model__kernel": kernels, "model__alpha": ALPHAS},
        {"scaler": scaler, "model": [LinearRidge()], "model__alpha": ALPHAS},
        {
            "scaler": scaler,
            "features": [cosines],
            "features__gamma": [s**2 / (2 * n_sensors) for s in SCALES[1:4]],
            "model": [LinearRidge()],
            "model__alpha": ALPHAS,
        },
    ]
    pipeline = Pipeline([("scaler", StandardScaler()), ("features", "passthrough"), ("model", KernelRidge())])
    return GridSearchCV(pipeline, grids, cv=3, scoring=neg_relative_l2)


def against_grid():
    rows = []
    for name in ("nonlinear_ode", "inverse_source"):
        data = getattr(problems, name)()
        model, search = AutoELMDeepONet(random_state=0), grid_search(data.u_train.shape[1])
        ours, _ = timed(partial(model.fit, data.u_train, data.s_train, data.points))
        theirs, _ = timed(partial(search.fit, data.u_train, data.s_train))
        errors = [test_error(m, data) for m in (model, search)]
        row = {"problem": name, "seconds": [ours, theirs], "errors": errors, "ratio": theirs / ours}
        row["candidates"] = [len(model.leaderboard_), len(search.cv_results_["params"])]
        print(row, flush=True)
        rows.append(row)
    return rows


def scaling():
    rows = []
    base = {"n_train": 1000, "n_points": 100, "n_sensors": 100}
    for against, setting, sizes in (
        ("N", "n_train", (125, 250, 500, 1000, 2000, 5000)),
        ("M", "n_points", (50, 100, 400, 1600)),
        ("m", "n_sensors", (50, 100, 400, 1600)),
    ):
        for size in sizes:
            data = problems.nonlinear_ode(**(base | {setting: size}), n_test=200)
            model = AutoELMDeepONet(random_state=0)
            seconds, _ = timed(partial(model.fit, data.u_train, data.s_train, data.points))
            error = test_error(model, data)
            rows.append({"against": against, "size": size, "seconds": seconds, "error": error})
            print(rows[-1], flush=True)
    data = problems.nonlinear_ode(n_train=1000, n_test=10)
    for width in (250, 500, 1000, 2000, 4000, 8000):
        model = ELMDeepONet(SLFN(width, "tanh", 0.5), solver=Ridge("loo"), random_state=0)
        seconds = median_seconds(partial(model.fit, data.u_train, data.s_train, data.points), 5)
        rows.append({"against": "p1", "size": width, "seconds": seconds})
        print(rows[-1], flush=True)
    return rows


def limit():
    rows = []
    for name, scale in (("nonlinear_ode", 0.3), ("darcy", 0.3)):
        data = getattr(problems, name)(n_train=500, n_test=500)
        settings = {"log_inputs": name == "darcy", "log_outputs": name == "darcy"}
        for kernel, activation, distribution in (
            ("rbf", "cos", "normal"),
            ("matern52", "cos", "student5"),
            ("relu", "relu", "normal"),
        ):
            errors = {}
            for width in (125, 250, 500, 1000, 2000, 4000, 8000, 16000):
                branch = SLFN(width, activation, scale, distribution=distribution)
                models = (ELMDeepONet(branch, random_state=seed, **settings) for seed in range(3))
                errors[width] = [fitted_error(model, data) for model in models]
            branch = InfiniteWidth(kernel, scale)
            row = {"problem": name, "kernel": kernel, "scale": scale, "errors": errors}
            rows.append(row | {"limit": fitted_error(ELMDeepONet(branch, **settings), data)})
            print({k: v for k, v in rows[-1].items() if k != "errors"}, flush=True)
    return rows


def fitted_error(model, data):
    return test_error(model.fit(data.u_train, data.s_train, data.points), data)


PARTS = {"grid": against_grid, "scaling": scaling, "limit": limit}


def main():
    parser = option_parser(__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=list(PARTS))
    for part in parser.parse_args().parts:
        results = read_results(OUT, {})
        results[part] = PARTS[part]()
        write_results(OUT, results)


if __name__ == "__main__":
    main()
