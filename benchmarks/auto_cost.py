"""What the automatic choice costs: against scikit-learn's way, and as the data grow; and the limit of width.

    python benchmarks/auto_cost.py [grid] [scaling] [limit]

grid: the seconds of `AutoELMDeepONet`, and of `GridSearchCV` with three folds over the same families as far
as scikit-learn has them: linear, RBF, three Matern kernels and random cosines, with the same scales, the same
number of alphas and both ways to scale the inputs, in one run. scaling: the seconds of the search against the
number of functions N, points M and sensors m, and of one fit against the width p1. limit: the test error of
`SLFN` as its width grows, and of `InfiniteWidth`. Written to benchmarks/results/auto_cost.json.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
from rivals import OneScale
from sklearn.gaussian_process.kernels import RBF, Matern
from sklearn.kernel_approximation import RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge as LinearRidge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from elmonet import SLFN, AutoELMDeepONet, ELMDeepONet, InfiniteWidth, Ridge, problems, relative_l2
from elmonet.metrics import neg_relative_l2

OUT = Path(__file__).parent / "results" / "auto_cost.json"
SCALES = (0.03, 0.1, 0.3, 1.0, 3.0)
ALPHAS = np.geomspace(1e-12, 1, 20)


def scikit_learn(n_sensors):
    """The search that a user of scikit-learn would write for the same families."""
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
    chain = Pipeline([("scaler", StandardScaler()), ("features", "passthrough"), ("model", KernelRidge())])
    return GridSearchCV(chain, grids, cv=3, scoring=neg_relative_l2)


def seconds(fit, *arguments):
    start = time.perf_counter()
    fitted = fit(*arguments)
    return time.perf_counter() - start, fitted


def against_grid():
    rows = []
    for name in ("nonlinear_ode", "inverse_source"):
        data = getattr(problems, name)()
        pair = data.u_train, data.s_train
        ours, model = seconds(AutoELMDeepONet(random_state=0).fit, *pair, data.points)
        theirs, search = seconds(scikit_learn(data.u_train.shape[1]).fit, *pair)
        errors = [relative_l2(m.predict(data.u_test), data.s_test) for m in (model, search)]
        row = {"problem": name, "seconds": [ours, theirs], "errors": errors, "ratio": theirs / ours}
        row["candidates"] = [len(model.leaderboard_), len(search.cv_results_["params"])]
        print(row, flush=True)
        rows.append(row)
    return rows


def scaling():
    rows = []
    base = {"n_train": 1000, "n_points": 100, "n_sensors": 100}
    for what, setting, sizes in (
        ("N", "n_train", (125, 250, 500, 1000, 2000, 5000)),
        ("M", "n_points", (50, 100, 400, 1600)),
        ("m", "n_sensors", (50, 100, 400, 1600)),
    ):
        for size in sizes:
            data = problems.nonlinear_ode(**(base | {setting: size}), n_test=200)
            model = AutoELMDeepONet(random_state=0)
            spent, _ = seconds(model.fit, data.u_train, data.s_train, data.points)
            error = relative_l2(model.predict(data.u_test), data.s_test)
            rows.append({"against": what, "size": size, "seconds": spent, "error": error})
            print(rows[-1], flush=True)
    data = problems.nonlinear_ode(n_train=1000, n_test=10)
    for width in (250, 500, 1000, 2000, 4000, 8000):
        model = ELMDeepONet(SLFN(width, "tanh", 0.5), solver=Ridge("loo"), random_state=0)
        times = [seconds(model.fit, data.u_train, data.s_train, data.points)[0] for _ in range(5)]
        rows.append({"against": "p1", "size": width, "seconds": float(np.median(times))})
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
            found = {}
            for width in (125, 250, 500, 1000, 2000, 4000, 8000, 16000):
                branch = SLFN(width, activation, scale, distribution=distribution)
                found[width] = [
                    _error(ELMDeepONet(branch, random_state=seed, **settings), data) for seed in range(3)
                ]
            branch = InfiniteWidth(kernel, scale)
            row = {"problem": name, "kernel": kernel, "scale": scale, "errors": found}
            rows.append(row | {"limit": _error(ELMDeepONet(branch, **settings), data)})
            print({k: v for k, v in rows[-1].items() if k != "errors"}, flush=True)
    return rows


def _error(model, data):
    model.fit(data.u_train, data.s_train, data.points)
    return relative_l2(model.predict(data.u_test), data.s_test)


PARTS = {"grid": against_grid, "scaling": scaling, "limit": limit}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=list(PARTS))
    for part in parser.parse_args().parts:
        results = json.loads(OUT.read_text()) if OUT.exists() else {}
        results[part] = PARTS[part]()
        OUT.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
