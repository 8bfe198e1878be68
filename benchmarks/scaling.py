"""Out-of-core fits: seconds and peak memory against the number of functions, and the bare matrix product.

    python benchmarks/scaling.py [--most 1000000]

Functions are generated block by block (m = 100 sensors, M = 100 points, p1 = 1000 features) and never stored.
Each size runs in a process of its own. The bare product is ``B B'`` by BLAS on blocks of the same size, in
the same run on the same number of threads. Also: one core against two, and adding 100 functions to a model of
100,000 against a refit. Written to benchmarks/results/scaling.json; `make docs` draws its figure.
"""

import argparse
import json

import numpy as np
from harness import RESULTS, median_seconds, option_parser, peak_gib, run_alone, timed, write_results
from scipy.linalg.blas import dgemm, dsyrk
from threadpoolctl import threadpool_limits

from elmonet import SLFN, ELMDeepONet, Ridge, fit_blocks

OUT = RESULTS / "scaling.json"
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


def main():
    parser = option_parser(__doc__)
    parser.add_argument("--most", type=int, default=SIZES[-1], help="the largest number of functions")
    parser.add_argument("--one", nargs=2, type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
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
