"""Fits of more functions than memory holds: time and peak memory against N, against the bare matrix product.

    python benchmarks/scaling.py [--most 1000000]

Functions are made block by block (m = 100 sensors, M = 100 points, p1 = 1000 features) and never stored.
Each size runs in a process of its own. The bare product is ``B B'`` by BLAS on blocks of the same size, in
the same run on the same number of threads. Also: one core against two, and adding 100 functions to a model of
100,000 against fitting it again. Written to benchmarks/results/scaling.json and docs/figures/scaling.png.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from elmonet import SLFN, ELMDeepONet, Ridge, fit_blocks

HERE = Path(__file__).parent
OUT = HERE / "results" / "scaling.json"
FIGURE = HERE.parent / "docs" / "figures" / "scaling.png"
M = 100
WIDTH = 1000
ROWS = 4096
SIZES = (1_000, 10_000, 100_000, 1_000_000)


class Made:
    """An array of which any rows can be made: smooth random functions, or what an operator makes of them."""

    dtype = np.dtype(float)

    def __init__(self, functions, matrix):
        self.shape, self.matrix = (functions, matrix.shape[1]), matrix

    def __getitem__(self, rows):
        start, stop = rows.start, min(rows.stop, self.shape[0])
        draws = np.random.default_rng(start).standard_normal((stop - start, len(self.matrix)))
        return draws @ self.matrix


def operator(functions):
    """Inputs with 20 random coefficients, and outputs that depend on them linearly and not."""
    x = np.linspace(0, 1, M)
    k = np.arange(1, 21)[:, None]
    return Made(functions, np.sin(np.pi * k * x) / k), Made(
        functions, (1 - np.cos(np.pi * k * x)) / (np.pi * k**2)
    )


def model():
    return ELMDeepONet(
        SLFN(WIDTH, "relu"), solver=Ridge("gcv", sums="gram"), scale_inputs=False, random_state=0
    )


def fit(functions, workers):
    u, s = operator(functions)
    # The making of the functions is not ours to be measured: the same blocks, again and again.
    blocks = {}

    class Again(Made):
        def __getitem__(self, rows):
            key = (id(self.matrix), min(rows.stop, self.shape[0]) - rows.start)
            if key not in blocks:
                blocks[key] = super().__getitem__(slice(0, key[1]))
            return blocks[key]

    u, s = (Again(functions, array.matrix) for array in (u, s))
    for array in (u, s):
        array[0 : min(ROWS, functions)]
    start = time.perf_counter()
    fitted = fit_blocks(model(), u, s, np.linspace(0, 1, M), workers=workers)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {
        "functions": functions,
        "workers": workers,
        "seconds": seconds,
        "peak_gib": peak,
        "residual": fitted.solution_.residual,
        "product": bare_product(functions, workers, "gemm"),
        "half_product": bare_product(functions, workers, "syrk"),
    }


def bare_product(functions, threads, how):
    """Seconds of ``B B'`` on the same blocks, by BLAS alone: whole (gemm), or the lower half of it (syrk)."""
    from scipy.linalg.blas import dgemm, dsyrk

    def multiply():
        if how == "gemm":
            dgemm(1.0, B, B, 1.0, C, trans_b=True, overwrite_c=True)
        else:
            dsyrk(1.0, B, 1.0, C, lower=True, overwrite_c=True)

    B = np.asfortranarray(np.random.default_rng(0).standard_normal((WIDTH, ROWS)))
    C = np.zeros((WIDTH, WIDTH), order="F")
    blocks = max(1, min(functions // ROWS, 100))
    with threadpool_limits(threads):
        multiply()
        start = time.perf_counter()
        for _ in range(blocks):
            multiply()
        return (time.perf_counter() - start) * functions / (blocks * ROWS)


def update():
    """Adding 100 functions to a model of 100,000, and fitting that again."""
    u, s = operator(100_100)
    X, y = u[0:100], s[0:100]
    points = np.linspace(0, 1, M)
    start = time.perf_counter()
    fitted = fit_blocks(model(), *operator(100_000), points)
    refit = time.perf_counter() - start
    times = []
    for _ in range(5):
        start = time.perf_counter()
        fitted.partial_fit(X, y)
        fitted.predict(X[:1])
        times.append(time.perf_counter() - start)
    return {"refit": refit, "update": float(np.median(times)), "part": float(np.median(times)) / refit}


def figure(results):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rows = [row for row in results["sizes"] if row["workers"] == results["cores"]]
    N = [row["functions"] for row in rows]
    drawn, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    left.loglog(N, [row["seconds"] for row in rows], "o-", label="fit")
    left.loglog(N, [row["product"] for row in rows], "s--", color="0.4", label="bare product B B'")
    left.set(xlabel="functions N", ylabel="seconds")
    left.legend()
    right.semilogx(N, [row["peak_gib"] for row in rows], "o-")
    right.set(xlabel="functions N", ylabel="peak memory (GiB)", ylim=(0, 1))
    for axis in (left, right):
        axis.grid(alpha=0.3)
    drawn.savefig(FIGURE, dpi=120)


def in_a_process(functions, workers):
    command = [sys.executable, __file__, "--one", str(functions), str(workers)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--most", type=int, default=SIZES[-1], help="the largest number of functions")
    parser.add_argument("--one", nargs=2, type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(fit(*arguments.one)))
        return
    cores = 2
    results = {"m": M, "M": M, "p1": WIDTH, "rows": ROWS, "cores": cores, "sizes": []}
    for functions in (n for n in SIZES if n <= arguments.most):
        row = in_a_process(functions, cores)
        row["rate"], row["rate_of_half"] = (row[k] / row["seconds"] for k in ("product", "half_product"))
        results["sizes"].append(row)
        print(row, flush=True)
    pairs = [[in_a_process(arguments.most, w) for w in (1, cores)] for _ in range(3)]
    for what, name in (("seconds", "fit"), ("product", "bare product"), ("half_product", "half of it")):
        ratios = [one[what] / two[what] for one, two in pairs]
        results[f"two cores, {name}"] = float(np.median(ratios))
    results["update"] = update()
    print({key: value for key, value in results.items() if key.startswith(("two", "update"))})
    OUT.write_text(json.dumps(results, indent=1) + "\n")
    figure(results)


if __name__ == "__main__":
    main()
