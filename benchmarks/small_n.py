"""Whether the expected error holds with few functions: how far it is off, how often its interval covers.

    python benchmarks/small_n.py                  # 20 seeds, all problems: about 6 minutes on one core
    python benchmarks/small_n.py --seeds 100:105  # others, printed only

Each seed draws training functions and 500 new ones, on which the true error is measured.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from elmonet import AutoELMDeepONet, NumericsWarning, problems, relative_l2

NUMBERS = (10, 20, 50)
PROBLEMS: dict[str, Any] = {
    "nonlinear_ode": lambda seed: problems.nonlinear_ode(50, 500, seed),
    "darcy": lambda seed: problems.darcy(50, 500, seed, n_points=30),
    "inverse_source, 1 % noise": lambda seed: problems.inverse_source(50, 500, seed, noise=0.01),
    "burgers": lambda seed: problems.burgers(50, 500, seed),
    "burgers, layers": lambda seed: problems.burgers(50, 500, seed),
}


def measure(name: str, seeds: range) -> list[dict[str, Any]]:
    """A row for each number of functions: medians over the seeds, and the coverage."""
    found: dict[int, list[tuple[float, float, float, float]]] = {n: [] for n in NUMBERS}
    for seed in seeds:
        data = PROBLEMS[name](seed)
        for n in NUMBERS:
            model = AutoELMDeepONet(layers=None if "layers" in name else 0, random_state=seed)
            model.fit(data.u_train[:n], data.s_train[:n], points=data.points)
            assert model.expected_error_ is not None
            assert model.expected_error_interval_ is not None
            true = relative_l2(model.predict(data.u_test), data.s_test)
            found[n].append((true, model.expected_error_, *model.expected_error_interval_))
    rows = []
    for n, runs in found.items():
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


def main() -> None:
    """Measure, print, and write the results of the reported seeds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", default="0:20", help="first:end")
    parser.add_argument("--only", choices=list(PROBLEMS), action="append")
    given = parser.parse_args()
    warnings.simplefilter("ignore", NumericsWarning)
    rows = []
    for name in given.only or PROBLEMS:
        rows += measure(name, range(*map(int, given.seeds.split(":"))))
        for row in rows[-len(NUMBERS) :]:
            told = {k: f"{v:.3g}" if isinstance(v, float) else v for k, v in row.items()}
            print(told, flush=True)
    if given.seeds == "0:20" and given.only is None:
        path = Path(__file__).parent / "results" / "small_n.json"
        path.write_text(json.dumps({"seeds": given.seeds, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
