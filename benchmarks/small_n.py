"""The expected error with few training functions: how far it is off, how often its interval covers.

    python benchmarks/small_n.py                  # 20 seeds, all problems: about 6 minutes on one core
    python benchmarks/small_n.py --seeds 100:105  # others, printed only

Each seed draws training functions and 500 new ones, on which the true error is measured. Written to
benchmarks/results/small_n.json.
"""

import warnings
from functools import partial

import numpy as np
from datasets import PROBLEMS
from harness import RESULTS, fit_auto, option_parser, print_row, test_error, write_results

from elmonet import NumericsWarning

OUT = RESULTS / "small_n.json"
REPORTED_SEEDS = "0:20"
SIZES = (10, 20, 50)  # training functions
CASES = {
    "nonlinear_ode": PROBLEMS["nonlinear_ode"],
    "darcy": partial(PROBLEMS["darcy"], n_points=30),
    "inverse_source, 1 % noise": PROBLEMS["inverse_source, 1 % noise"],
    "burgers": PROBLEMS["burgers"],
    "burgers, layers": PROBLEMS["burgers"],
}


def measure(name, seeds):
    """Return a row for each number of functions: medians over the seeds, and the coverage."""
    runs_of_size = {n: [] for n in SIZES}
    for seed in seeds:
        data = CASES[name](max(SIZES), 500, seed)
        for n, runs in runs_of_size.items():
            layers = None if "layers" in name else 0
            model = fit_auto(data.u_train[:n], data.s_train[:n], data.points, layers=layers, seed=seed)
            runs.append((test_error(model, data), model.expected_error_, *model.expected_error_interval_))
    rows = []
    for n, runs in runs_of_size.items():
        true, stated, low, high = np.array(runs).T
        rows.append(
            {
                "problem": name,
                "functions": n,
                "runs": len(runs),
                "true": float(np.median(true)),
                "stated": float(np.median(stated)),
                "factor": float(np.median(np.maximum(true / stated, stated / true))),
                "true_to_stated": float(np.median(true / stated)),
                "coverage": float(np.mean((low <= true) & (true <= high))),
                "width": float(np.median(high / stated)),
            }
        )
    return rows


def main():
    parser = option_parser(__doc__)
    parser.add_argument("--seeds", default=REPORTED_SEEDS, help="first:end")
    parser.add_argument("--only", choices=list(CASES), action="append")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", NumericsWarning)
    rows = []
    for name in arguments.only or CASES:
        rows += measure(name, range(*map(int, arguments.seeds.split(":"))))
        for row in rows[-len(SIZES) :]:
            print_row(row)
    if arguments.seeds == REPORTED_SEEDS and arguments.only is None:
        write_results(OUT, {"seeds": arguments.seeds, "rows": rows})


if __name__ == "__main__":
    main()
