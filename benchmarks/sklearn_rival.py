"""Against what a scikit-learn user would write: Pipeline(StandardScaler, RBFSampler, RidgeCV).

    python benchmarks/sklearn_rival.py [--out benchmarks/results/sklearn_rival.json]

Both get the same number of random features, and both choose from six widths of the kernel and a range of
alphas, with training data only and within the time that is reported: the pipeline by GridSearchCV (3
folds), elmonet by leave-one-out.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from elmonet import POD, SLFN, ELMDeepONet, Linear, Ridge, problems, relative_l2

WIDTH = 2000


def pipeline(n_sensors):
    alphas = np.geomspace(1e-12, 1e3, 16)
    chain = make_pipeline(StandardScaler(), RBFSampler(n_components=WIDTH, random_state=0), RidgeCV(alphas))
    grid = {"rbfsampler__gamma": np.geomspace(1e-5, 1, 6) * 100 / n_sensors}
    return GridSearchCV(chain, grid, cv=3, scoring="neg_mean_squared_error")


class Ours:
    """The scale with the least leave-one-out error."""

    def fit(self, u, s, points):
        models = [
            ELMDeepONet(Linear() + SLFN(WIDTH, "cos", scale), POD(), Ridge("loo"), random_state=0)
            for scale in np.geomspace(0.03, 3, 6)
        ]
        fitted = [model.fit(u, s, points=points) for model in models]
        self.predict = min(fitted, key=lambda model: model.solution_.loo_error).predict


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "sklearn_rival.json")
    arguments = parser.parse_args()
    rows = []
    print(f"{'problem':<16}{'scikit-learn':>24}{'elmonet':>24}")
    for name in ("antiderivative", "nonlinear_ode", "inverse_source", "darcy"):
        data = getattr(problems, name)()
        u, u_test = (A.reshape(len(A), -1) for A in (data.u_train, data.u_test))
        row = {"problem": name}
        for who, model, extra in (
            ("scikit-learn", pipeline(u.shape[1]), {}),
            ("elmonet", Ours(), {"points": data.points}),
        ):
            start = time.perf_counter()
            model.fit(u, data.s_train, **extra)
            seconds = time.perf_counter() - start
            row[who] = {"error": relative_l2(model.predict(u_test), data.s_test), "seconds": seconds}
        rows.append(row)
        cells = [f"{row[w]['error']:.1e} in {row[w]['seconds']:6.2f} s" for w in ("scikit-learn", "elmonet")]
        print(f"{name:<16}{cells[0]:>24}{cells[1]:>24}", flush=True)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
