"""Write a zarr group of many functions block by block: u (N, 100), s (N, 100) and points (100, 1).

    python benchmarks/make_big.py big.zarr 2000000

The inputs are sums of 20 sines with random coefficients; the outputs solve s' = tanh(u) + s sin(3 x) / 4,
s(0) = 0, by the trapezoidal rule.
"""

import numpy as np
import zarr
from harness import option_parser

ROWS = 8192  # functions in a block


def main():
    parser = option_parser(__doc__)
    parser.add_argument("path")
    parser.add_argument("functions", type=int)
    arguments = parser.parse_args()
    path, functions = arguments.path, arguments.functions
    x = np.linspace(0, 1, 100)
    group = zarr.open_group(path, mode="w")
    settings = {"shape": (functions, 100), "chunks": (ROWS, 100), "dtype": "f8", "compressors": None}
    u, s = (group.create_array(name, **settings) for name in ("u", "s"))
    group.create_array("points", data=x[:, None])
    for start in range(0, functions, ROWS):
        rows = min(ROWS, functions - start)
        u[start : start + rows], s[start : start + rows] = pairs(rows, start)
    print(f"wrote {functions:,} functions, {2 * functions * 800 / 1e9:.1f} GB, to {path}")


def pairs(functions, seed, m=100, M=100):
    """Return inputs (functions, m) and outputs (functions, M) of the operator."""
    x, k = np.linspace(0, 1, max(m, M)), np.arange(1, 21)[:, None]
    inputs = np.random.default_rng(seed).standard_normal((functions, 20)) @ (np.sin(np.pi * k * x) / k)
    fine = np.linspace(0, 1, 100)
    coarse = np.array([np.interp(fine, x, row) for row in inputs]) if len(x) != 100 else inputs
    outputs = np.tanh(coarse) @ operator(fine)
    if M != 100:
        outputs = np.array([np.interp(np.linspace(0, 1, M), fine, row) for row in outputs])
    return inputs[:, np.linspace(0, len(x) - 1, m).astype(int)], outputs


def operator(x):
    """Return the matrix that maps tanh(u) at x to s at x."""
    h, n = x[1] - x[0], len(x)
    a = np.sin(3 * x) / 4
    left, right = np.eye(n), np.zeros((n, n))
    for i in range(1, n):
        left[i, i] -= h * a[i] / 2
        left[i, i - 1] = -1 - h * a[i - 1] / 2
        right[i, i - 1] = right[i, i] = h / 2
    return np.linalg.solve(left, right).T


if __name__ == "__main__":
    main()
