"""Wrong training pairs: how many are found, and how many others are accused.

    python benchmarks/suspects.py [--seeds 5]

Of 300 functions, some outputs are swapped, scaled by 1.5, shifted by 0.3 of the outputs' root mean square, or
given noise of that size. `AutoELMDeepONet` without layers chooses the settings from the spoilt data. Written
to benchmarks/results/suspects.json.
"""

import warnings

import numpy as np
from harness import RESULTS, fit_auto, option_parser, print_row, write_results

from elmonet import problems

OUT = RESULTS / "suspects.json"
N = 300
PROBLEMS = {
    "nonlinear ODE": lambda seed: problems.nonlinear_ode(N, 1, seed=seed),
    "Darcy": lambda seed: problems.darcy(N, 1, seed=seed),
    "Burgers": lambda seed: problems.burgers(N, 1, seed=seed, n_points=64),
    "inverse source": lambda seed: problems.inverse_source(N, 1, seed=seed),
    "antiderivative": lambda seed: problems.antiderivative(N, 1, seed=seed),
    "inverse source, 1 % noise": lambda seed: problems.inverse_source(N, 1, seed=seed, noise=0.01),
}
ASKED = ("swapped", 0.02)  # measured for several seeds
KINDS = (
    ASKED,
    ("swapped", 0.01),
    ("swapped", 0.1),
    ("scaled", 0.05),
    ("shifted", 0.05),
    ("noisy", 0.05),
    ("clean", 0.0),
    ("heavy tails", 0.0),  # noise of all values: Student's t with 2 degrees of freedom
)


def spoil(s, kind, bad, rng):
    """Return outputs of which those in `bad` are wrong."""
    y, size = s.copy(), np.sqrt(np.mean(s**2))
    if kind == "swapped":
        y[bad] = s[np.roll(bad, 1)]
    elif kind == "scaled":
        y[bad] *= 1.5
    elif kind == "shifted":
        y[bad] += 0.3 * size
    elif kind == "noisy":
        y[bad] += 0.3 * size * rng.standard_normal(y[bad].shape)
    elif kind == "heavy tails":
        y += 0.03 * size * rng.standard_t(2, size=y.shape)
    return y


def measure(name, kind, part, seeds):
    """Return how many wrong pairs were found and how many others accused, over all seeds."""
    wrong = found = accused = 0
    for seed in range(seeds):
        rng, data = np.random.default_rng(seed), PROBLEMS[name](seed)
        bad = rng.permutation(N)[: max(2, round(part * N))] if part else np.empty(0, int)
        model = fit_auto(data.u_train, spoil(np.asarray(data.s_train), kind, bad, rng), data.points)
        suspects = set(model.suspects().functions.tolist())
        wrong += len(bad)
        found += len(suspects & set(bad.tolist()))
        accused += len(suspects - set(bad.tolist()))
    row = {"data": name, "kind": kind, "part": part, "seeds": seeds}
    return row | {"wrong": wrong, "found": found, "accused": accused}


def main():
    parser = option_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=5, help="of the pairs that are swapped at 2 %%")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for kind, part in KINDS:
        for name in PROBLEMS:
            rows.append(measure(name, kind, part, arguments.seeds if (kind, part) == ASKED else 1))
            print_row(rows[-1])
            write_results(OUT, rows)


if __name__ == "__main__":
    main()
