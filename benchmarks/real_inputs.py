"""Inputs of several parts in different units, and numbers: the automatic choice beside what users would pick.

    python benchmarks/real_inputs.py [--data FOLDER] [--only elmonet] [--datasets twenty_numbers]

Each method runs on each data set in a process of its own: mean relative error, its 95 % quantile, seconds.
Rivals see all parts side by side, standardised, with logarithms of positive numbers as outputs that vary by
more than a hundred, which is what a careful user would begin with. They predict the outputs' principal
components: kernel ridge (scikit-learn, grid search), a Gaussian process with a scale for each column,
gradient-boosted trees, and SMT's kriging and PyApprox's kernel operator if they can be imported. A rival is
stopped after ten times our CPU seconds, and not before ten minutes of them. Written to
benchmarks/results/real_inputs.json. CPU seconds stand beside seconds, which a busy machine makes longer.
"""

import argparse
import json
import resource
import signal
import subprocess
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from harness import (
    RESULTS,
    fit_auto,
    option_parser,
    peak_gib,
    print_row,
    read_results,
    run_alone,
    timed,
    write_results,
)
from rivals import ALPHAS, SCALES, Skipped, _imported
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

OUT = RESULTS / "real_inputs.json"
MODES = 15  # principal components that rivals learn, at most
MAX_GAUSSIAN = 1000  # functions, beyond which a Gaussian process takes hours
MAX_COLUMNS = 50  # columns, beyond which a scale for each takes hours
TIMES_OURS, AT_LEAST = 10, 600  # CPU seconds after which a rival is stopped


def numbers(n, seed, count=20):
    """Outputs that depend on 3 of `count` numbers."""
    x, u = np.linspace(0, 1, 50), np.random.default_rng(seed).random((n, count))
    s = np.sin(2 * np.pi * (x * (0.5 + u[:, [0]]) + u[:, [1]])) * np.exp(-2 * u[:, [2]] * x) + 1
    return u, s, x


def heat_with_history(n, seed):
    """A wall heated from one side by a history of temperatures; its diffusivity varies over two decades."""
    rng = np.random.default_rng(seed)
    t, x = np.linspace(0, 1, 60), np.linspace(0, 1, 40)
    modes = np.arange(1, 6)
    history = rng.normal(size=(n, 5)) @ np.sin(np.pi * np.outer(modes, t)) / modes.mean()
    diffusivity, transfer = 10 ** rng.uniform(-2, 0, n), rng.uniform(0.5, 2, n)
    s, h, dt = np.zeros((n, 40)), x[1] - x[0], 1 / 59 / 40
    laplacian = (np.eye(40, k=1) + np.eye(40, k=-1) - 2 * np.eye(40)) / h**2
    laplacian[0, 1], laplacian[-1, -2] = 2 / h**2, 2 / h**2
    for i in range(n):
        A = diffusivity[i] * laplacian
        A[0, 0] -= 2 * transfer[i] / h * diffusivity[i]
        step = np.linalg.inv(np.eye(40) - dt * 40 * A)
        for value in history[i]:
            source = np.zeros(40)
            source[0] = 2 * transfer[i] / h * diffusivity[i] * value
            s[i] = step @ (s[i] + dt * 40 * source)
    return {"history": history, "diffusivity": diffusivity, "transfer": transfer}, s, x


def of_file(folder, name, n=None):
    """Return training and test functions of a data file."""
    with np.load(Path(folder) / f"{name}.npz") as file:
        arrays = {key: file[key].astype(float) for key in file.files if file[key].dtype.kind == "f"}
    if name == "magnet_core_loss":
        parts = ("waveform", "frequency", "temperature")
        u, v = ({part: arrays[f"{part}_{k}"] for part in parts} for k in ("train", "test"))
        return u, arrays["loss_train"][:, None], v, arrays["loss_test"][:, None], np.zeros(1)
    u, s, v, r = (arrays[key] for key in ("u_train", "s_train", "u_test", "s_test"))
    s, r = s.reshape(len(s), -1)[:n], r.reshape(len(r), -1)
    if name == "mechanical_mnist":
        u, v = u.reshape(-1, 28, 28), v.reshape(-1, 28, 28)
    return u[:n], s, v, r, np.arange(s.shape[1])


def generated(make, n, **how):
    """Return training and test functions of a generated problem."""
    (u, s, x), (v, r, _) = make(n, 0, **how), make(500, 1, **how)
    return u, s, v, r, x


def side_by_side(u):
    """Return all parts of the inputs as columns."""
    return np.column_stack(list(u.values())) if isinstance(u, dict) else u.reshape(len(u), -1)


SETS = {
    "twenty_numbers": partial(generated, numbers, 200),
    "three_of_them": partial(generated, numbers, 200, count=3),
    "heat_with_history": partial(generated, heat_with_history, 300),
}
FILES = {
    "magnet_core_loss": {},
    "spiral_waves": {},
    "fuel_rod": {},
    "battery_life": {},
    "mechanical_mnist": {"n": 2000},
}


def elmonet(u, s, v, x):
    model = fit_auto(u, s, x)
    return np.asarray(model.predict(v)).reshape(len(side_by_side(v)), -1), model.expected_error_


def rival(regressor, u, s, v, x):
    """Fit a regressor of scikit-learn to the outputs' principal components."""
    U, V = side_by_side(u), side_by_side(v)
    scale = StandardScaler().fit(U)
    logs = s.shape[1] == 1 and s.min() > 0 and s.max() > 100 * s.min()
    target = np.log(s) if logs else s
    mean = target.mean(axis=0)
    _, _, modes = np.linalg.svd(target - mean, full_matrices=False)
    modes = modes[:MODES]
    Z = np.asarray(regressor(scale.transform(U), (target - mean) @ modes.T, scale.transform(V)))
    predicted = Z.reshape(len(V), -1) @ modes + mean
    return np.exp(predicted) if logs else predicted, None


def kernel_ridge(U, C, V):
    grid = {"gamma": SCALES**2 / (2 * U.shape[1]), "alpha": ALPHAS, "kernel": ["rbf", "laplacian"]}
    search = GridSearchCV(KernelRidge(), grid, cv=3, scoring="neg_mean_squared_error")
    return search.fit(U, C).predict(V)


def gaussian_process(U, C, V):
    if len(U) > MAX_GAUSSIAN or U.shape[1] > MAX_COLUMNS:
        raise Skipped("too many functions or columns for a scale each")
    kernel = ConstantKernel() * RBF(np.ones(U.shape[1]), (1e-2, 1e4)) + WhiteKernel(1e-6, (1e-12, 1))
    each = [
        GaussianProcessRegressor(kernel, normalize_y=True, n_restarts_optimizer=1, random_state=0)
        .fit(U, c)
        .predict(V)
        for c in C.T
    ]
    return np.stack(each, axis=1)


def boosted_trees(U, C, V):
    return np.stack([HistGradientBoostingRegressor(max_iter=300).fit(U, c).predict(V) for c in C.T], axis=1)


def smt_kriging(U, C, V):
    if len(U) > MAX_GAUSSIAN or U.shape[1] > MAX_COLUMNS:
        raise Skipped("too many functions or columns for a scale each")
    KRG = _imported("smt.surrogate_models").KRG
    each = []
    for c in C.T:
        model = KRG(print_global=False)
        model.set_training_values(U, c)
        model.train()
        each.append(model.predict_values(V)[:, 0])
    return np.stack(each, axis=1)


def pyapprox_operator(U, C, V):
    """A Matern kernel with a scale for each column, by maximum likelihood; columns of C weigh by size."""
    if len(U) > MAX_GAUSSIAN or U.shape[1] > MAX_COLUMNS:
        raise Skipped("too many functions or columns for a scale each")
    fitters, encoders, kernels, backends = (
        _imported(f"pyapprox.{name}")
        for name in (
            "surrogates.kerneloperator.fitters",
            "surrogates.kerneloperator.encoders",
            "surrogates.kernels.matern",
            "util.backends.numpy",
        )
    )
    backend, size = backends.NumpyBkd(), C.std()

    def identity(data, backend):
        return encoders.IdentityFunctionEncoder(len(data), backend)

    kernel = kernels.Matern52Kernel(np.full(U.shape[1], 3.0), (1e-2, 1e4), U.shape[1], backend)
    fitter = fitters.KernelOperatorMaximumLikelihoodFitter(backend, [identity], [identity], kernel, 1e-10)
    model = fitter.fit([U.T], [C.T / size]).surrogate()
    return size * model.predict([V.T])[0].T


METHODS = {
    "elmonet": elmonet,
    "kernel ridge": partial(rival, kernel_ridge),
    "Gaussian process, a scale each": partial(rival, gaussian_process),
    "boosted trees": partial(rival, boosted_trees),
    "SMT kriging": partial(rival, smt_kriging),
    "PyApprox kernel operator": partial(rival, pyapprox_operator),
}


def measure(name, method, folder):
    u, s, v, r, x = SETS[name]() if name in SETS else of_file(folder, name, **FILES[name])
    row = {"dataset": name, "method": method, "functions": len(s)}
    before = time.process_time()
    try:
        seconds, (predicted, expected) = timed(partial(METHODS[method], u, s, v, x))
    except Skipped as reason:
        return row | {"skipped": str(reason)}
    errors = np.linalg.norm(predicted - r, axis=1) / np.linalg.norm(r, axis=1)
    row |= {"error": float(errors.mean()), "quantile_95": float(np.quantile(errors, 0.95))}
    times = {"seconds": seconds, "cpu_seconds": time.process_time() - before}
    return row | {"expected_error": expected, **times, "peak_gib": peak_gib()}


def measure_alone(name, method, folder, limit):
    """Return a row measured in a process of its own, stopped after so many CPU seconds."""
    more = ["--data", folder] if folder else []
    try:
        return run_alone(__file__, "--one", name, method, "--limit", limit, *more)
    except subprocess.CalledProcessError as error:
        if error.returncode != -signal.SIGXCPU:
            raise
        return {"dataset": name, "method": method, "skipped": f"no answer after {limit} CPU seconds"}


def main():
    parser = option_parser(__doc__, data=True, out=OUT)
    parser.add_argument("--only", nargs="*", choices=list(METHODS), help="methods")
    parser.add_argument("--datasets", nargs="*", help="data sets")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--limit", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        warnings.simplefilter("ignore")
        resource.setrlimit(resource.RLIMIT_CPU, (arguments.limit, arguments.limit + 10))
        print(json.dumps(measure(*arguments.one, arguments.data)))
        return
    rows = read_results(arguments.out, [])
    for name in arguments.datasets or [*SETS, *(FILES if arguments.data else ())]:
        for method in arguments.only or METHODS:
            ours = [row for row in rows if (row["dataset"], row["method"]) == (name, "elmonet")]
            seconds = max((row.get("cpu_seconds", 0) for row in ours), default=0)
            row = measure_alone(name, method, arguments.data, max(int(TIMES_OURS * seconds), AT_LEAST))
            rows = [old for old in rows if (old["dataset"], old["method"]) != (name, method)] + [row]
            write_results(arguments.out, rows)
            print_row(row)


if __name__ == "__main__":
    main()
