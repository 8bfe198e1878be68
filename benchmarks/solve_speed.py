"""Speed of a fit, against the paper's recipe and against the bare BLAS calls that any fit needs.

    python benchmarks/solve_speed.py [--out benchmarks/results/solve_speed.json] [--repeats 7]

All contenders run in turn within one process, `repeats` rounds; medians are reported. Sizes are (p1, N,
M, p2); every contender computes the features. "floor" is a ridge fit at one alpha as bare BLAS calls
(feature product, Gram product, Cholesky, solves). The floor of a prediction is the product that makes the
features and their product with T W (which is thinner as W and then T, if p2 < M).
"""

import gc
import platform
import statistics
import time
import tracemalloc

import numpy as np
import scipy
import sklearn
from harness import RESULTS, median_seconds, option_parser, write_results
from scipy.linalg.blas import dgemm, dsyrk
from scipy.linalg.lapack import dpotrf, dpotrs
from threadpoolctl import threadpool_info

from elmonet import SLFN, ELMDeepONet, Ridge, Sinusoid, problems

SIZES = [(1000, 1000, 100, 100), (10000, 1000, 100, 50), (5000, 2000, 2500, 100)]
REQUIRED = {"fixed": (4, 5, 8), "loo": (1.5, 3.5, 3), "floor": 1.5, "predict": 1.3, "memory": 1.5}
ALPHA = 1e-6  # relative to the trace of the Gram matrix


def draw(m, p1, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, (m, p1)) / np.sqrt(m), rng.uniform(-1, 1, p1) / np.sqrt(m)


def printed_recipe(X, y, points, p1, p2):
    """Solve as the paper prints it: relu features and two pseudoinverses."""
    A, b = draw(X.shape[1], p1)
    B = np.maximum(X @ A + b, 0).T
    T = Sinusoid(p2).fit_transform(points)
    return np.linalg.pinv(T) @ y.T @ np.linalg.pinv(B)


def floor(X, A, T, y, alpha):
    """Make the bare calls of a ridge fit in the dual, all from one BLAS: no checks, biases, activation."""
    Phi = dgemm(1.0, A.T, X.T).T
    K = dsyrk(1.0, Phi.T, trans=True, lower=True)
    K.flat[:: len(K) + 1] += alpha
    L, _ = dpotrf(K, lower=True, overwrite_a=True)
    Z, _ = dpotrs(L, dgemm(1.0, y.T, T, trans_a=True), lower=True)
    return dgemm(1.0, Phi.T, Z)  # W' up to a p2 x p2 system


def model(p1, p2, alpha):
    return ELMDeepONet(SLFN(p1), Sinusoid(p2), Ridge(alpha), scale_inputs=False, random_state=0)


def rested_median_seconds(call, repeats):
    """Return the median seconds of several calls, after a rest."""
    gc.collect()
    time.sleep(0.1)  # until the BLAS threads of the previous contender are idle
    return median_seconds(call, repeats)


def peak_bytes(call):
    gc.collect()
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def measure(size, repeats):
    p1, N, M, p2 = size
    data = problems.darcy(N, N) if M == 2500 else problems.antiderivative(N, N)
    X, y = data.u_train.reshape(N, -1), data.s_train
    X_test = data.u_test.reshape(N, -1)
    A, b = draw(X.shape[1], p1)
    T = Sinusoid(p2).fit_transform(data.points)
    Phi = np.maximum(X @ A + b, 0)
    alpha = ALPHA * float(np.sum(Phi**2))
    del Phi
    fitted = model(p1, p2, alpha).fit(X, y, points=data.points)
    W = fitted.W_
    TW = T @ W
    contenders = {
        "printed": lambda: printed_recipe(X, y, data.points, p1, p2),
        "fixed": lambda: model(p1, p2, alpha).fit(X, y, points=data.points),
        "loo": lambda: model(p1, p2, "loo").fit(X, y, points=data.points),
        "floor": lambda: floor(X, A, T, y, alpha),
        "predict": lambda: fitted.predict(X_test),
        "predict_floor": lambda: X_test @ A @ W.T @ T.T if p2 < M else X_test @ A @ TW.T,
    }
    seconds = {name: [] for name in contenders}
    for name, call in contenders.items():  # warm up
        if name != "printed":
            call()
    for _ in range(repeats):
        for name, call in contenders.items():
            # Predictions take milliseconds: the second contender would find the data in the cache.
            seconds[name].append(rested_median_seconds(call, 21 if name.startswith("predict") else 1))
    median = {name: statistics.median(times) for name, times in seconds.items()}
    budget = 8 * (p1 * N + M * N + min(p1, N) ** 2)
    memory = {name: (peak_bytes(contenders[name]) + y.nbytes) / budget for name in ("fixed", "loo")}
    return {
        "size": dict(zip(("p1", "N", "M", "p2"), size, strict=True)) | {"m": X.shape[1]},
        "seconds": median,
        "fixed_over_printed": median["printed"] / median["fixed"],
        "loo_over_printed": median["printed"] / median["loo"],
        "fixed_over_floor": median["fixed"] / median["floor"],
        "predict_over_floor": median["predict"] / median["predict_floor"],
        "peak_memory_over_B_G_gram": memory,
    }


def machine():
    return {
        "python": platform.python_version(),
        "processor": platform.processor() or platform.machine(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "sklearn": sklearn.__version__,
        "blas": [
            {k: info[k] for k in ("internal_api", "version", "num_threads")} for info in threadpool_info()
        ],
    }


def main():
    parser = option_parser(__doc__, out=RESULTS / "solve_speed.json")
    parser.add_argument("--repeats", type=int, default=7)
    arguments = parser.parse_args()
    rows = []
    print("times as fast as printed: fixed, loo; times as slow: / floor, / predict; memory / (B + G + gram)")
    print(
        "p1     N     M     p2   | printed  fixed    loo      floor   | fixed    loo      /floor     /predict"
    )
    for i, size in enumerate(SIZES):
        row = measure(size, arguments.repeats)
        rows.append(row)
        s, memory = row["seconds"], row["peak_memory_over_B_G_gram"]
        print(
            "{:<6} {:<5} {:<5} {:<4} |".format(*size),
            "{printed:7.3f}s {fixed:7.3f}s {loo:7.3f}s {floor:7.3f}s |".format(**s),
            f"{row['fixed_over_printed']:4.1f} ({REQUIRED['fixed'][i]})",
            f"{row['loo_over_printed']:4.1f} ({REQUIRED['loo'][i]})",
            f"{row['fixed_over_floor']:5.2f} ({REQUIRED['floor']})",
            f"{row['predict_over_floor']:5.2f} ({REQUIRED['predict']})",
            f"{memory['fixed']:5.2f}, {memory['loo']:4.2f} ({REQUIRED['memory']})",
            flush=True,
        )
    write_results(arguments.out, {"machine": machine(), "rows": rows})
    print(f"written: {arguments.out}")


if __name__ == "__main__":
    main()
