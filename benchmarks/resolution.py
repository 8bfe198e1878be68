"""How much of an error on two-valued Darcy flow no model can avoid: what the points of a grid do not show.

    python benchmarks/resolution.py [--functions 60] [--sweeps 200]

The permeability of `problems.darcy_two_valued` is the sign of a Gaussian field, known at the points of a grid
only. For each field, another one is drawn that has the same signs at all points: values at the points by
Gibbs sampling from the normal distribution truncated to these signs, beginning with the true ones, and the
field between them by its conditional distribution. Both give the same inputs, and two outputs, solved as the
data are. Half of their mean squared distance is the mean squared error of the best possible prediction, the
conditional mean. As a chain of few sweeps stays near the truth, it is rather more. The same with the field's
values at the points, instead of their signs. Written to benchmarks/results/resolution.json.
"""

import numpy as np
from harness import RESULTS, option_parser, print_row, write_results
from scipy.linalg import cho_factor, cho_solve
from scipy.special import ndtr, ndtri

from elmonet.problems.darcy_flow import solve_darcy_jumps

OUT = RESULTS / "resolution.json"
WAVES, CELLS = 128, 112  # as in problems.darcy_two_valued
HIGH, LOW = 12.0, 3.0
NUGGET = 1e-10  # of the variance: keeps the covariance of 841 values positive


class Field:
    """The Gaussian field, its values at n x n points, and the flow that belongs to it."""

    def __init__(self, n):
        self.refined = -(-CELLS // (n - 1))
        quarters, k = 2 * self.refined * (n - 1), np.pi * np.arange(WAVES)
        to_points = np.cos(np.outer(np.linspace(0, 1, n), k))
        self.to_quarters = np.cos(np.outer((np.arange(quarters) + 0.5) / quarters, k))
        norm = np.where(k > 0, np.sqrt(2), 1.0)
        self.deviation = np.outer(norm, norm) / (k[:, None] ** 2 + k**2 + 9)
        self.deviation[0, 0] = 0.0
        self.at_points = np.einsum("aj,bk,jk->abjk", to_points, to_points, self.deviation).reshape(n * n, -1)
        covariance = self.at_points @ self.at_points.T
        covariance[np.diag_indices(n * n)] += NUGGET * np.trace(covariance) / n**2
        self.factor, self.precision = cho_factor(covariance), np.linalg.inv(covariance)

    def flow(self, normal):
        """Return s at the points, for the coefficients of a field."""
        waves = self.deviation * normal.reshape(WAVES, WAVES)
        kappa = np.where(self.to_quarters @ waves @ self.to_quarters.T > 0, HIGH, LOW)
        return solve_darcy_jumps(kappa)[:: self.refined, :: self.refined].ravel()

    def given(self, values, rng):
        """Draw coefficients of a field with these values at the points."""
        normal = rng.standard_normal(WAVES**2)
        return normal + self.at_points.T @ cho_solve(self.factor, values - self.at_points @ normal)

    def with_these_signs(self, values, sweeps, rng):
        """Draw other values at the points with the same signs: each in turn, given all others."""
        values, P = values.copy(), self.precision
        weighted, deviation = P @ values, 1 / np.sqrt(np.diag(P))
        for i in np.tile(np.arange(len(values)), sweeps):
            mean = values[i] - weighted[i] / P[i, i]
            below, share = ndtr(-mean / deviation[i]), rng.random()
            quantile = below + share * (1 - below) if values[i] > 0 else share * below
            new = mean + deviation[i] * ndtri(min(max(quantile, 1e-15), 1 - 1e-15))
            if (new > 0) == (values[i] > 0):
                weighted += P[:, i] * (new - values[i])
                values[i] = new
        return values


def main():
    parser = option_parser(__doc__, out=OUT)
    parser.add_argument("--functions", type=int, default=60)
    parser.add_argument("--sweeps", type=int, default=200)
    parser.add_argument("--points", type=int, default=29)
    arguments = parser.parse_args()
    field, rng = Field(arguments.points), np.random.default_rng(0)
    found = {"signs": [], "values": []}
    for _ in range(arguments.functions):
        normal = rng.standard_normal(WAVES**2)
        values, s = field.at_points @ normal, field.flow(normal)
        others = {"values": values, "signs": field.with_these_signs(values, arguments.sweeps, rng)}
        for known, own in others.items():
            other = field.flow(field.given(own, rng))
            found[known].append(np.linalg.norm(other - s) / np.linalg.norm(s) / np.sqrt(2))
    row = {"points": arguments.points, "functions": arguments.functions, "sweeps": arguments.sweeps}
    for known, errors in found.items():
        row[f"mean, {known} known"] = float(np.mean(errors))
        row[f"root mean square, {known} known"] = float(np.sqrt(np.mean(np.square(errors))))
        row[f"standard error, {known} known"] = float(np.std(errors) / np.sqrt(len(errors)))
    print_row(row)
    write_results(arguments.out, row)


if __name__ == "__main__":
    main()
