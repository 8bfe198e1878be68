"""Coverage of whole functions by bands at 90 %: few and many training functions, random and designed.

    python benchmarks/coverage.py [--data FOLDER] [--seeds 20:24] [--problems ode bump] [--sizes 20 36]

`AutoELMDeepONet` chooses the settings each time, without layers. Each row is one problem, one number of
training functions and one seed: the part of 200 new functions that lie inside their bands as a whole, the
mean half-width of the bands over the root mean square of the true error, and whether a warning said that
leave-one-out errors are not to be trusted. Rows are added to benchmarks/results/coverage.json.
"""

import warnings
from pathlib import Path

import numpy as np
from harness import RESULTS, fit_auto, option_parser, print_row, read_results, write_results
from scipy.stats import qmc

from elmonet import LeaveOneOutWarning, problems, relative_l2

OUT = RESULTS / "coverage.json"
SIZES = (20, 36, 50, 100, 200)  # training functions
N_TEST = 200
FILE = "holed_poisson"


def generated(problem, n, seed, **settings):
    d = problem(n, N_TEST, seed=seed, **settings)
    return d.u_train, d.s_train, d.u_test, d.s_test, d.points


def hypercube(solve, dimension, points, n, seed):
    """Return training inputs on a Latin hypercube, and random ones to test."""
    u = qmc.LatinHypercube(dimension, seed=seed).random(n)
    new = np.random.default_rng([seed, 1]).random((N_TEST, dimension))
    return u, solve(u), new, solve(new), points[:, None]


def oscillator(n, seed):
    """A damped oscillation: frequency, damping, amplitude and phase on a Latin hypercube, at 10 times."""
    t = np.linspace(0, 1, 10)

    def solve(p):
        omega, damping, a, phase = (4 + 4 * p[:, :1], 0.3 + p[:, 1:2], 0.5 + p[:, 2:3], p[:, 3:])
        return a * np.exp(-damping * t) * np.cos(omega * t + phase) + 0.1 * a**2 * np.sin(2 * omega * t)

    return hypercube(solve, 4, t, n, seed)


def boundary_layer(n, seed):
    """``e s'' + s' = f``, s(0) = 0, s(1) = b: e, f and b on a Latin hypercube, at 200 points."""
    x = np.linspace(0, 1, 200)

    def solve(p):
        e, f, b = 0.05 + 0.2 * p[:, :1], 1 + p[:, 1:2], p[:, 2:]
        return f * x + (b - f) * (1 - np.exp(-x / e)) / (1 - np.exp(-1 / e))

    return hypercube(solve, 3, x, n, seed)


def bump(n, seed):
    """A bump whose place and width lie on a full grid, at 50 x 50 points; tested between."""
    side = np.linspace(0, 1, 50)
    x = np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1).reshape(-1, 2)
    envelope = 16 * np.prod(x * (1 - x), axis=1)

    def solve(p):
        centre = np.stack([0.3 + 0.4 * p[:, 0], 0.5 + 0.2 * np.sin(3 * p[:, 0])], axis=1)
        distance = np.sum((x - centre[:, None]) ** 2, axis=2)
        return envelope * np.exp(-distance / (2 * (0.12 + 0.15 * p[:, 1:]) ** 2))

    rows = {20: 4, 36: 6, 50: 5, 100: 10, 200: 10}[n]
    axes = np.linspace(0, 1, rows), np.linspace(0, 1, n // rows)
    u = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    new = np.random.default_rng([seed, 1]).random((N_TEST, 2))
    return u, solve(u), new, solve(new), x


def holed_poisson(folder, n, seed):
    """Two numbers on a grid to a field on 1352 nodes; each seed splits the 121 functions differently."""
    with np.load(Path(folder) / f"{FILE}.npz") as file:
        u, s = (np.concatenate([file[f"{a}_train"], file[f"{a}_test"]]).astype(float) for a in "us")
    order = np.random.default_rng(seed).permutation(len(u))
    u, s = u[order], s[order]
    return u[:n], s[:n], u[n:], s[n:], np.arange(s.shape[1])[:, None]


PROBLEMS = {
    "ode": lambda n, seed: generated(problems.nonlinear_ode, n, seed),
    "burgers": lambda n, seed: generated(problems.burgers, n, seed),
    "darcy": lambda n, seed: generated(problems.darcy, n, seed, n_points=20),
    "oscillator": oscillator,
    "boundary layer": boundary_layer,
    "bump": bump,
}


def measure(name, data, seed):
    """Return a row of the results."""
    u, s, u_test, s_test, points = data
    model = fit_auto(u, s, points, seed=seed)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", LeaveOneOutWarning)
        low, high = model.interval(u_test, 0.9, of="function")
    s_test = s_test.reshape(low.shape)
    width, error = np.mean(high - low) / 2, np.sqrt(np.mean(((low + high) / 2 - s_test) ** 2))
    inside = ((low <= s_test) & (s_test <= high)).reshape(len(s_test), -1)
    low, high = model.interval(u_test, 0.9)
    return {
        "problem": name,
        "functions": len(u),
        "points": int(np.prod(s.shape[1:])),
        "seed": seed,
        "inside": float(inside.all(axis=1).mean()),
        "values_inside": float(np.mean((low <= s_test) & (s_test <= high))),
        "width": float(width / error),
        "expected": model.expected_error_,
        "error": relative_l2(model.predict(u_test), s_test),
        "warned": any(issubclass(w.category, LeaveOneOutWarning) for w in said),
    }


def main():
    parser = option_parser(__doc__, data=True, out=OUT)
    parser.add_argument("--seeds", default="20:24", help="first:end; bands were designed on 0:10")
    parser.add_argument("--sizes", nargs="*", type=int, default=SIZES)
    parser.add_argument("--problems", nargs="*", choices=[*PROBLEMS, FILE])
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    names = arguments.problems or [*PROBLEMS, *([FILE] if arguments.data else [])]
    rows = read_results(arguments.out, [])
    done = {(row["problem"], row["functions"], row["seed"]) for row in rows}
    for seed in range(*map(int, arguments.seeds.split(":"))):
        for name in names:
            for n in arguments.sizes:
                if (name, n, seed) in done or (name == FILE and n > 100):
                    continue
                data = holed_poisson(arguments.data, n, seed) if name == FILE else PROBLEMS[name](n, seed)
                rows.append(measure(name, data, seed))
                write_results(arguments.out, rows)
                print_row(rows[-1])


if __name__ == "__main__":
    main()
