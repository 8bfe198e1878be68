"""Out-of-core fits: seconds and peak memory against the number of functions, and the bare matrix product.

    python benchmarks/scaling.py [--most 1000000]
    python benchmarks/scaling.py --auto [--most 1000000]

With --auto: `AutoELMDeepONet` with nothing given, from 10 functions to a million (from a zarr store above
100,000), against sensors and points up to 100,000, and scikit-learn's `Nystroem` and `RBFSampler` with
`RidgeCV`, tuned by its own search, at 10,000 and 100,000: seconds, CPU seconds, peak memory, error on new
functions and expected error, each in a process of its own. The rival searches as a careful user would: gamma
on 2000 functions with 500 features, around the best with 1000 on 4000 functions, and then fits all functions
with 1000, 2000 and 4000 features, each with a row of its own, until it has taken three times our CPU seconds.
Each row is added to benchmarks/results/scaling_auto.json; rows that are there are not run again.
--auto-rows runs only those whose name holds a text, such as "ode 10000 ".

Functions are generated block by block (m = 100 sensors, M = 100 points, p1 = 1000 features) and never stored.
Each size runs in a process of its own. The bare product is ``B B'`` by BLAS on blocks of the same size, in
the same run on the same number of threads. Also: one core against two, and adding 100 functions to a model of
100,000 against a refit. Written to benchmarks/results/scaling.json; `make docs` draws its figure.
"""

import argparse
import json
import resource
import signal
import tempfile
import time
from pathlib import Path

import make_big
import numpy as np
from harness import (
    RESULTS,
    median_seconds,
    option_parser,
    peak_gib,
    read_results,
    run_alone,
    timed,
    write_results,
)
from scipy.linalg.blas import dgemm, dsyrk
from threadpoolctl import threadpool_limits

from elmonet import SLFN, AutoELMDeepONet, ELMDeepONet, Ridge, fit_blocks, problems, relative_l2

OUT = RESULTS / "scaling.json"
OUT_AUTO = RESULTS / "scaling_auto.json"
AUTO_SIZES = (10, 100, 1_000, 10_000, 100_000, 1_000_000)
STORED_FROM = 1_000_000  # functions, from which on they are read from a zarr store
VALUES = (100, 1_000, 10_000, 100_000)  # sensors, and points
TEST_FUNCTIONS = 1000
PROBLEMS = {"ode": "nonlinear_ode", "antiderivative": "antiderivative", "inverse": "inverse_source"}
LIMIT = 3  # times our CPU seconds, after which scikit-learn is stopped
SEARCHES = ((2000, 500), (4000, 1000))  # functions and features of its searches
FEATURES = (1000, 2000, 4000)  # of its fits to all functions
M = 100  # points, and sensors
WIDTH = 1000
ROWS = 4096  # functions in a block
SIZES = (1_000, 10_000, 100_000, 1_000_000)
CORES = 2


class Generated:
    """An array (functions, M) whose rows are generated on access: random coefficients times a matrix."""

    dtype = np.dtype(float)

    def __init__(self, functions, matrix):
        self.shape, self.matrix = (functions, matrix.shape[1]), matrix

    def __getitem__(self, rows):
        start, stop = rows.start, min(rows.stop, self.shape[0])
        draws = np.random.default_rng(start).standard_normal((stop - start, len(self.matrix)))
        return draws @ self.matrix


class Repeated(Generated):
    """The same blocks again and again, so that generating them is not part of the measured time."""

    def __init__(self, functions, matrix):
        super().__init__(functions, matrix)
        self.blocks = {}
        self[0 : min(ROWS, functions)]

    def __getitem__(self, rows):
        size = min(rows.stop, self.shape[0]) - rows.start
        if size not in self.blocks:
            self.blocks[size] = super().__getitem__(slice(0, size))
        return self.blocks[size]


def operator(functions, array=Generated):
    """Return inputs with 20 random coefficients, and their antiderivatives."""
    x = np.linspace(0, 1, M)
    k = np.arange(1, 21)[:, None]
    inputs, outputs = np.sin(np.pi * k * x) / k, (1 - np.cos(np.pi * k * x)) / (np.pi * k**2)
    return array(functions, inputs), array(functions, outputs)


def model():
    return ELMDeepONet(
        SLFN(WIDTH, "relu"), solver=Ridge("gcv", sums="gram"), scale_inputs=False, random_state=0
    )


def fit(functions, workers):
    """Fit in this process and return a row of the results."""
    u, s = operator(functions, Repeated)
    points = np.linspace(0, 1, M)
    seconds, fitted = timed(lambda: fit_blocks(model(), u, s, points, workers=workers))
    return {
        "functions": functions,
        "workers": workers,
        "seconds": seconds,
        "peak_gib": peak_gib(),
        "residual": fitted.solution_.residual,
        "product": bare_product(functions, workers, "gemm"),
        "half_product": bare_product(functions, workers, "syrk"),
    }


def bare_product(functions, threads, routine):
    """Return the seconds of ``B B'`` by BLAS alone: the full product (gemm), or its lower half (syrk)."""

    def multiply():
        if routine == "gemm":
            dgemm(1.0, B, B, 1.0, C, trans_b=True, overwrite_c=True)
        else:
            dsyrk(1.0, B, 1.0, C, lower=True, overwrite_c=True)

    B = np.asfortranarray(np.random.default_rng(0).standard_normal((WIDTH, ROWS)))
    C = np.zeros((WIDTH, WIDTH), order="F")
    blocks = max(1, min(functions // ROWS, 100))
    with threadpool_limits(threads):
        multiply()
        seconds, _ = timed(lambda: [multiply() for _ in range(blocks)])
    return seconds * functions / (blocks * ROWS)


def update():
    """Measure adding 100 functions to a model of 100,000, and refitting it."""
    u, s = operator(100_100)
    X, y = u[0:100], s[0:100]
    points = np.linspace(0, 1, M)
    refit, fitted = timed(lambda: fit_blocks(model(), *operator(100_000), points))
    seconds = median_seconds(lambda: fitted.partial_fit(X, y).predict(X[:1]), 5)
    return {"refit": refit, "update": seconds, "part": seconds / refit}


def functions_of(problem, n, seed, m=100, M=100):
    """Return inputs, outputs and points of n functions."""
    if problem in PROBLEMS:
        data = getattr(problems, PROBLEMS[problem])(n_train=n, n_test=1, seed=seed)
        return data.u_train, data.s_train, data.points
    return *make_big.pairs(n, seed, m, M), np.linspace(0, 1, M)


def auto(problem, n, m=100, M=100):
    """Fit `AutoELMDeepONet` to n functions and return a row of the results."""
    u_new, s_new, points = functions_of(problem, TEST_FUNCTIONS, 10**9, m, M)
    with tempfile.TemporaryDirectory() as folder:
        if n >= STORED_FROM:
            u, s = stored(Path(folder) / "big.zarr", problem, n)
        else:
            u, s, _ = functions_of(problem, n, 0, m, M)
        before = time.process_time()
        seconds, model = timed(lambda: AutoELMDeepONet(random_state=0).fit(u, s, points=points))
        cpu_seconds = time.process_time() - before
    row = {"model": "AutoELMDeepONet", "problem": problem, "functions": n, "m": m, "M": M}
    return row | {
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "peak_gib": peak_gib(),
        "error": relative_l2(model.predict(u_new), s_new),
        "expected": model.expected_error_,
        "chosen": model.leaderboard_[0]["branch"],
    }


def stored(path, problem, n):
    """Write n functions to a zarr store, block by block, and return its arrays."""
    import zarr

    group, rows = zarr.open_group(path, mode="w"), make_big.ROWS
    settings = {"shape": (n, 100), "chunks": (rows, 100), "dtype": "f8", "compressors": None}
    u, s = (group.create_array(name, **settings) for name in ("u", "s"))
    for start in range(0, n, rows):
        stop = min(start + rows, n)
        u[start:stop], s[start:stop], _ = functions_of(problem, stop - start, start)
    return u, s


class Stopped(Exception):
    """The limit of CPU seconds was reached."""


def stop_after(cpu_seconds):
    """Raise `Stopped` once this process has used so many CPU seconds more."""

    def stop(signum, frame):
        raise Stopped

    used = time.process_time()
    signal.signal(signal.SIGXCPU, stop)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used + cpu_seconds) + 1, resource.RLIM_INFINITY))


def scikit_learn(problem, n, kind, limit):
    """Tune random features and a ridge by scikit-learn's own search; return a row of the results.

    The search minimises the relative error that is reported. "fits" are those to all functions, with their
    errors and the CPU seconds until then, searches included.
    """
    from sklearn.kernel_approximation import Nystroem, RBFSampler
    from sklearn.linear_model import RidgeCV
    from sklearn.metrics import make_scorer
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    def pipeline(n_components, gamma=1.0):
        map_of = {"Nystroem": Nystroem, "RBFSampler": RBFSampler}[kind]
        features = map_of(gamma=gamma, n_components=n_components, random_state=0)
        return make_pipeline(StandardScaler(), features, RidgeCV(np.geomspace(1e-14, 1e2, 17)))

    u, s, _ = functions_of(problem, n, 0)
    u_new, s_new, _ = functions_of(problem, TEST_FUNCTIONS, 10**9)
    score = make_scorer(lambda s, predicted: relative_l2(predicted, s), greater_is_better=False)
    row = {"model": f"scikit-learn {kind} + RidgeCV", "problem": problem, "functions": n, "fits": []}
    before, started = time.process_time(), time.perf_counter()
    stop_after(limit)
    try:
        gammas = np.geomspace(1e-6, 1.0, 13)
        for functions, features in SEARCHES:
            grid = {f"{kind.lower()}__gamma": gammas}
            search = GridSearchCV(pipeline(features), grid, scoring=score, cv=3, refit=False)
            search.fit(u[:functions], s[:functions])
            gamma = float(search.best_params_[f"{kind.lower()}__gamma"])
            gammas = gamma * 10.0 ** np.array([-0.25, 0, 0.25, 0.5])
        row |= {"gamma": gamma, "search_cpu_seconds": time.process_time() - before}
        for features in FEATURES:
            model = pipeline(features, gamma).fit(u, s)
            used = time.process_time() - before
            found = {"features": features, "alpha": float(model[-1].alpha_), "cpu_seconds": used}
            row["fits"].append(found | {"error": relative_l2(model.predict(u_new), s_new)})
    except Stopped:
        row["stopped_after_cpu_seconds"] = time.process_time() - before
    seconds = time.perf_counter() - started
    return row | {"seconds": seconds, "cpu_seconds": time.process_time() - before, "peak_gib": peak_gib()}


def measure_auto(most, only=""):
    """Run the measurements of the automatic choice that are missing, and write them."""
    results = read_results(OUT_AUTO, [])

    def run(option, *arguments):
        name = " ".join(map(str, arguments[:4])) + " "  # a limit of seconds is no part of it
        known = [row for row in results if row["name"] == name]
        if known or only not in name:
            return known[0] if known else {}
        results.append({"name": name} | run_alone(__file__, option, *arguments))
        print(results[-1], flush=True)
        write_results(OUT_AUTO, results)
        return results[-1]

    for problem in (*PROBLEMS, "tanh"):
        for n in (n for n in AUTO_SIZES if n <= most):
            ours = run("--auto-one", problem, n, M, M).get("cpu_seconds")
            if ours and n in (10_000, 100_000):
                for kind in ("Nystroem", "RBFSampler"):
                    run("--sklearn-one", problem, n, kind, "tuned", LIMIT * ours)
    for values in VALUES:
        run("--auto-one", "tanh", 1_000, values, M)
        run("--auto-one", "tanh", 1_000, M, values)


def main():
    parser = option_parser(__doc__)
    parser.add_argument("--most", type=int, default=SIZES[-1], help="the largest number of functions")
    parser.add_argument("--auto", action="store_true", help="measure the automatic choice")
    parser.add_argument("--one", nargs=2, type=int, help=argparse.SUPPRESS)
    parser.add_argument("--auto-one", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--sklearn-one", nargs=5, help=argparse.SUPPRESS)
    parser.add_argument("--auto-rows", default="", help="text in the names of rows to measure")
    arguments = parser.parse_args()
    if arguments.auto_one:
        problem, *numbers = arguments.auto_one
        print(json.dumps(auto(problem, *map(int, numbers))))
        return
    if arguments.sklearn_one:
        problem, n, kind, _, limit = arguments.sklearn_one
        print(json.dumps(scikit_learn(problem, int(n), kind, float(limit))))
        return
    if arguments.auto:
        measure_auto(arguments.most, arguments.auto_rows)
        return
    if arguments.one:
        print(json.dumps(fit(*arguments.one)))
        return
    results = {"m": M, "M": M, "p1": WIDTH, "rows": ROWS, "cores": CORES, "sizes": []}
    for functions in (n for n in SIZES if n <= arguments.most):
        row = run_alone(__file__, "--one", functions, CORES)
        row["rate"], row["rate_of_half"] = (row[k] / row["seconds"] for k in ("product", "half_product"))
        results["sizes"].append(row)
        print(row, flush=True)
    pairs = [[run_alone(__file__, "--one", arguments.most, w) for w in (1, CORES)] for _ in range(3)]
    for key, name in (("seconds", "fit"), ("product", "bare product"), ("half_product", "half of it")):
        ratios = [one[key] / two[key] for one, two in pairs]
        results[f"two cores, {name}"] = float(np.median(ratios))
    results["update"] = update()
    print({key: value for key, value in results.items() if key.startswith(("two", "update"))})
    write_results(OUT, results)


if __name__ == "__main__":
    main()
