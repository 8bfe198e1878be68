"""Sobol indices from few runs: through a fitted operator, and by SALib's sampling of the function itself.

    pip install SALib
    python benchmarks/sensitivity.py

Two functions with known indices, Ishigami's and Sobol's g. Both methods may run the function equally often:
ours fits an operator to a Latin hypercube of runs and samples that; SALib (Saltelli's scheme) samples the
function. The last column is SALib on our operator, with as many samples as `sensitivity` takes.
"""

from __future__ import annotations

import warnings
from time import process_time

import numpy as np
from SALib.analyze import sobol as analyse
from SALib.sample import sobol as sample
from scipy.stats import qmc

from elmonet import AutoELMDeepONet

A = np.array([0.0, 1.0, 4.5, 9.0])


def ishigami(x):
    return np.sin(x[:, 0]) + 7 * np.sin(x[:, 1]) ** 2 + 0.1 * x[:, 2] ** 4 * np.sin(x[:, 0])


def g_function(x):
    return np.prod((np.abs(4 * x - 2) + A) / (1 + A), axis=1)


def exact_g():
    V = 1 / (3 * (1 + A) ** 2)
    total = np.prod(1 + V) - 1
    return V / total, np.array([V[i] * np.prod(1 + np.delete(V, i)) for i in range(len(A))]) / total


CASES = {
    "Ishigami": (
        ishigami,
        (-np.pi, np.pi),
        (np.array([0.3139, 0.4424, 0]), np.array([0.5576, 0.4424, 0.2437])),
    ),
    "Sobol's g": (g_function, (0.0, 1.0), exact_g()),
}


def salib(function, names, bounds, base):
    problem = {"num_vars": len(names), "names": names, "bounds": [list(bounds)] * len(names)}
    X = sample.sample(problem, base, calc_second_order=False, seed=0)
    found = analyse.analyze(problem, function(X), calc_second_order=False, seed=0)
    return found["S1"], found["ST"], len(X)


def largest(found, exact):
    return max(np.abs(a - b).max() for a, b in zip(found, exact, strict=True))


def main():
    print("Largest error of first-order and total indices")
    for name, (function, bounds, exact) in CASES.items():
        count = len(exact[0])
        names = [f"x{i + 1}" for i in range(count)]
        for runs in (100, 200, 500, 1000):
            low, high = bounds
            X = low + (high - low) * qmc.LatinHypercube(count, rng=0).random(runs)
            begin = process_time()
            model = AutoELMDeepONet(random_state=0, layers=0)
            model.fit(dict(zip(names, X.T, strict=True)), function(X))
            found = model.sensitivity(dict.fromkeys(names, bounds), n=2**13, random_state=0)
            took = process_time() - begin
            ours = ([of[own] for own in names] for of in (found.first_overall, found.total_overall))
            base = 2 ** int(np.log2(runs / (count + 2)))  # the largest power of two within the runs
            *direct, used = salib(function, names, bounds, base)

            def predicted(x, model=model, names=names):
                return np.ravel(model.predict(dict(zip(names, x.T, strict=True))))

            *through, _ = salib(predicted, names, bounds, 2**13)
            errors = [f"{largest(found, exact):.4f}" for found in (ours, direct, through)]
            print(f"  {name:10} {runs:5} runs: elmonet {errors[0]} ({took:.1f} s),", end=" ")
            print(f"SALib of {used} runs {errors[1]}, SALib on our operator {errors[2]}", flush=True)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
