"""How small an error on two-valued Darcy flow can be: what the points of a grid do not show.

    python benchmarks/resolution.py [--seeds 0 1] [--functions 200] [--draws 24] [--model FILE]

The permeability of `problems.darcy_two_valued` is the sign of a Gaussian field, known at the points of a grid
only. The best prediction is the mean of the output, given these signs (for the mean relative error, a median
of the draws was no better). For each test function, fields are drawn that have its signs at the points:
values there from the truncated normal distribution, by exact Hamiltonian Monte Carlo, the field between them
from its conditional distribution. Each is solved as the data are. The mean of the draws is compared with the
output of the test function, and with each draw itself (left out of the mean), and our model with both. All
errors are corrected for the finite number of draws. Two fields with the same values at the points give the
error that would remain if not only the signs were known.
With --model, our model is kept in a file, one for each seed. Written to benchmarks/results/resolution.json.
"""

from pathlib import Path

import numpy as np
from harness import RESULTS, fit_auto, option_parser, print_row, read_results, write_results
from scipy.linalg import cho_solve, cholesky

from elmonet import load, problems
from elmonet.problems.darcy_flow import solve_darcy_jumps

OUT = RESULTS / "resolution.json"
WAVES = 128  # as in problems.darcy_two_valued
HIGH, LOW = 12.0, 3.0
BURN_IN = 10  # trajectories; outputs of successive ones are uncorrelated, see "correlation" in the results


class Field:
    """The Gaussian field, its values at n x n points, and the flow that belongs to it."""

    def __init__(self, n, cells):
        self.refined = -(-cells // (n - 1))
        quarters, k = 2 * self.refined * (n - 1), np.pi * np.arange(WAVES)
        self.to_points = np.cos(np.outer(np.linspace(0, 1, n), k))
        self.to_quarters = np.cos(np.outer((np.arange(quarters) + 0.5) / quarters, k))
        norm = np.where(k > 0, np.sqrt(2), 1.0)
        self.deviation = np.outer(norm, norm) / (k[:, None] ** 2 + k**2 + 9)
        self.deviation[0, 0] = 0.0
        pairs = (self.to_points[:, None] * self.to_points).reshape(n * n, WAVES)  # waves at two points
        covariance = (pairs @ self.deviation**2 @ pairs.T).reshape(n, n, n, n)  # x, x', y, y'
        self.covariance = covariance.swapaxes(1, 2).reshape(n * n, n * n)
        self.factor = cholesky(self.covariance, lower=True)

    def flow(self, normal):
        """Return s at the points, for the coefficients of a field."""
        field = self.to_quarters @ (self.deviation * normal) @ self.to_quarters.T
        kappa = np.where(field > 0, HIGH, LOW)
        return solve_darcy_jumps(kappa)[:: self.refined, :: self.refined].ravel()

    def given(self, values, rng):
        """Draw coefficients of a field with these values at the points."""
        normal = rng.standard_normal((WAVES, WAVES))
        missing = values - (self.to_points @ (self.deviation * normal) @ self.to_points.T).ravel()
        weights = cho_solve((self.factor, True), missing).reshape(len(self.to_points), -1)
        return normal + self.deviation * (self.to_points.T @ weights @ self.to_points)

    def with_these_signs(self, signs, rng):
        """Draw values at the points, again and again; the first state knows nothing but the signs."""
        covariance, factor = signs[:, None] * self.covariance * signs, signs[:, None] * self.factor
        values = np.sqrt(np.diag(covariance))
        for _ in range(BURN_IN):
            values = trajectory(values, covariance, factor, rng)
        while True:
            values = trajectory(values, covariance, factor, rng)
            yield signs * values


def trajectory(values, covariance, factor, rng, duration=np.pi / 2):
    """Move normal values along an exact trajectory that is reflected where a value would become negative.

    A. Pakman and L. Paninski, J. Comput. Graph. Stat. 23 (2014): between reflections x cos t + v sin t, with
    v ~ N(0, C); where x_j becomes 0, the velocity v loses 2 v_j / C_jj C_j.

    >>> rng, x, C = np.random.default_rng(0), np.ones(2), np.array([[1, 0.5], [0.5, 1]])
    >>> draws = [x := trajectory(x, C, cholesky(C, lower=True), rng) for _ in range(20000)]
    >>> exact = 1.5 / (2 * np.sqrt(2 * np.pi)) / (1 / 4 + np.arcsin(0.5) / (2 * np.pi))
    >>> bool(np.abs(np.mean(draws, axis=0) - exact).max() < 0.01)  # standard error 0.004
    True
    """
    x, v = values, factor @ rng.standard_normal(len(values))
    with np.errstate(divide="ignore"):
        while True:
            j = np.argmin(v / x)  # the first to become 0
            time = min(duration, np.pi / 2 + np.arctan2(v[j], x[j]))
            c, s = np.cos(time), np.sin(time)
            x, v = np.maximum(x * c + v * s, 0), v * c - x * s
            duration -= time
            if duration <= 0:
                return x
            v -= 2 * v[j] / covariance[j, j] * covariance[j]
            x[j], v[j] = 0.0, abs(v[j])


def norm(A):
    """Return the Euclidean norm of each row."""
    return np.linalg.norm(A, axis=-1)


def of_function(field, kappa, s, predicted, draws, rng):
    """Return the relative errors of the conditional mean and of a prediction, for one test function."""
    chain = field.with_these_signs(np.where(kappa.ravel() > (HIGH + LOW) / 2, 1.0, -1.0), rng)
    values = [next(chain) for _ in range(draws)]
    S, again = (np.array([field.flow(field.given(v, rng)) for v in values]) for _ in range(2))
    mean = S.mean(axis=0)
    variance = (norm(S - mean) ** 2).sum() / (draws - 1)  # of s, given the signs
    left_out = norm(S - mean) * draws / (draws - 1) * np.sqrt(1 - 1 / draws)  # without the error of the mean
    return {
        "optimum": np.sqrt(norm(s - mean) ** 2 - variance / draws) / norm(s),
        "ours": norm(s - predicted) / norm(s),
        "optimum, new fields": np.mean(left_out / norm(S)),
        "ours, new fields": np.mean(norm(S - predicted) / norm(S)),
        "values known": np.mean(norm(S - again) / norm(S)) / np.sqrt(2),
        "squared distance": (norm(predicted - mean) ** 2 - variance / draws) / norm(s) ** 2,
        "correlation": np.sum((S[1:] - mean) * (S[:-1] - mean)) / (draws - 1) / variance + 1 / draws,
    }


def own_model(data, path):
    """Return our model with default settings, from a file if there is one."""
    if path and path.exists():
        return load(path)
    model = fit_auto(data.u_train, data.s_train, data.points, layers=None)
    if path:
        model.save(path)
    return model


def main():
    parser = option_parser(__doc__, out=OUT)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0])
    parser.add_argument("--functions", type=int, default=200)
    parser.add_argument("--draws", type=int, default=24)
    parser.add_argument("--points", type=int, default=29, help="along each side of the grid")
    parser.add_argument("--cells", type=int, default=112, help="along each side of the mesh")
    parser.add_argument("--model", type=Path, help="keep our model here, with the seed in its name")
    arguments = parser.parse_args()
    field, results = Field(arguments.points, arguments.cells), read_results(arguments.out, {})
    for seed in arguments.seeds:
        grid = {"n_points": arguments.points, "n_cells": arguments.cells}
        data = problems.darcy_two_valued(seed=seed, **grid)
        path = arguments.model and arguments.model.with_stem(f"{arguments.model.stem}_{seed}")
        model, rng = own_model(data, path), np.random.default_rng(seed)
        u, s = (A[: arguments.functions] for A in (data.u_test, data.s_test))
        test = zip(u, s, model.predict(u), strict=True)
        found = [of_function(field, *one, arguments.draws, rng) for one in test]
        found = {name: np.array([one[name] for one in found]) for name in found[0]}
        found["ours - optimum"] = found["ours"] - found["optimum"]
        row = {"functions": len(u), "draws": arguments.draws}
        row["correlation"] = float(np.mean(found.pop("correlation")))
        row["ours to optimum"] = float(np.sqrt(max(0, np.mean(found.pop("squared distance")))))
        for name, errors in found.items():
            row[name] = float(np.mean(errors))
            row[f"standard error, {name}"] = float(np.std(errors, ddof=1) / np.sqrt(len(errors)))
        print_row(row)
        results[f"{arguments.points} x {arguments.points}, seed {seed}"] = row
        write_results(arguments.out, results)


if __name__ == "__main__":
    main()
