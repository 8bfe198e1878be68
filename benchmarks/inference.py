"""One prediction against one numerical solution, for each of the paper's problems.

    python benchmarks/inference.py

The model has p1 = 1000 random features and a linear block. The numerical solver is the one that generates the
problem's data, for one function at a time; it is more accurate than the model, whose error is reported. For
the ODE also SciPy's solve_ivp, at a tolerance near the model's error. The inverse problem has no direct
solver: there, a Gauss-Newton iteration with the forward solver. Medians of many repetitions, on one thread.
Written to benchmarks/results/inference.json.
"""

from functools import partial

import numpy as np
from harness import RESULTS, median_seconds, option_parser, test_error, write_results
from scipy.integrate import solve_ivp
from threadpoolctl import threadpool_limits

from elmonet import POD, SLFN, ELMDeepONet, Linear, problems
from elmonet.problems.chebyshev import chebyshev_nodes, integrate, interpolation_matrix, solve_riccati
from elmonet.problems.darcy_flow import solve_darcy
from elmonet.problems.gaussian import gaussian_field
from elmonet.problems.heat import solve_reaction_diffusion

OUT = RESULTS / "inference.json"
NODES = 64
SETTINGS = {"darcy": {"trunk": POD(100), "log_inputs": True, "log_outputs": True}}


def warm_median_seconds(call, repeats):
    call()
    return median_seconds(call, repeats)


def solvers(name, data):
    """Return calls that compute one output function numerically, by name."""
    rng = np.random.default_rng(0)
    nodes = chebyshev_nodes(NODES)
    u = gaussian_field(nodes, 1, 0.2, rng)
    if name == "antiderivative":
        return {"spectral integration": lambda: integrate(u)}
    if name == "nonlinear_ode":
        x, values = data.sensors[:, 0], data.u_test[0]

        def solve(tolerance):
            return solve_ivp(
                lambda t, s: -0.1 * s**2 + np.interp(t, x, values),
                (0, 1),
                [0.0],
                t_eval=data.points[:, 0],
                rtol=tolerance,
                atol=tolerance,
            )

        return {
            "spectral collocation": lambda: solve_riccati(u),
            "solve_ivp, rtol 1e-4": lambda: solve(1e-4),
        }
    if name == "darcy":
        axis = np.linspace(0, 1, 99)
        kappa = np.exp(gaussian_field((axis, axis), 1, 0.2, rng) / 2)
        return {"finite volumes, 50 x 50": lambda: solve_darcy(kappa)}
    to_sensors = interpolation_matrix(NODES, data.sensors[:, 0])
    measured = solve_reaction_diffusion(u, 0.01, 0.01) @ to_sensors.T

    def gauss_newton():
        s = np.zeros((1, NODES))
        for _ in range(3):
            shifted = np.concatenate([s, s + 1e-4 * np.eye(NODES)])
            outputs = solve_reaction_diffusion(shifted, 0.01, 0.01) @ to_sensors.T
            jacobian = (outputs[1:] - outputs[0]).T / 1e-4
            residual = np.concatenate([(measured - outputs[:1])[0], -1e-4 * s[0]])
            s = s + np.linalg.lstsq(np.vstack([jacobian, 1e-4 * np.eye(NODES)]), residual, rcond=None)[0]
        return s

    return {
        "forward solution": lambda: solve_reaction_diffusion(u, 0.01, 0.01),
        "Gauss-Newton, 3 steps": gauss_newton,
    }


def main():
    option_parser(__doc__).parse_args()
    rows = []
    for name in ("antiderivative", "nonlinear_ode", "inverse_source", "darcy"):
        data = getattr(problems, name)(n_train=1000, n_test=200)
        model = ELMDeepONet(Linear() + SLFN(1000, "tanh", 0.3), random_state=0, **SETTINGS.get(name, {}))
        model.fit(data.u_train, data.s_train, points=data.points)
        one, many = data.u_test[:1], data.u_test
        with threadpool_limits(1):
            row = {
                "problem": name,
                "M": len(data.points),
                "p1": model.branch_.width_,
                "error": test_error(model, data),
                "one": warm_median_seconds(partial(model.predict, one), 500),
                "each of 200": warm_median_seconds(partial(model.predict, many), 20) / len(many),
                "solvers": {},
            }
            for solver, call in solvers(name, data).items():
                seconds = warm_median_seconds(call, 30)
                times, in_batch = seconds / row["one"], seconds / row["each of 200"]
                row["solvers"][solver] = {"seconds": seconds, "times": times, "times in a batch": in_batch}
        rows.append(row)
        print(row, flush=True)
    write_results(OUT, rows)


if __name__ == "__main__":
    main()
