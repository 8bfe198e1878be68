"""One prediction against one numerical solution, for each of the paper's problems.

    python benchmarks/inference.py

The model has p1 = 1000 random features and a linear block. The numerical solver is the one with which the
problem's data are made, for one function at a time; it is more accurate than the model, whose error stands
beside. For the ODE also SciPy's solve_ivp, at a tolerance near the model's error. The inverse problem has no
direct solver: there, a Gauss-Newton iteration with the forward solver. Medians of many repetitions, on one
thread each. Written to benchmarks/results/inference.json.
"""

import json
import time
from functools import partial
from pathlib import Path

import numpy as np
from scipy.integrate import solve_ivp
from threadpoolctl import threadpool_limits

from elmonet import POD, SLFN, ELMDeepONet, Linear, problems, relative_l2
from elmonet.problems.chebyshev import chebyshev_nodes, integrate, interpolation_matrix, solve_riccati
from elmonet.problems.darcy_flow import solve_darcy
from elmonet.problems.gaussian import gaussian_field
from elmonet.problems.heat import solve_reaction_diffusion

OUT = Path(__file__).parent / "results" / "inference.json"
NODES = 64
SETTINGS = {"darcy": {"trunk": POD(100), "log_inputs": True, "log_outputs": True}}


def median(call, times):
    call()
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return float(np.median(taken))


def solvers(name, data):
    """The numerical ways to one output function, by name."""
    rng = np.random.default_rng(0)
    nodes = chebyshev_nodes(NODES)
    u = gaussian_field(nodes, 1, 0.2, rng)
    if name == "antiderivative":
        return {"spectral integration": lambda: integrate(u)}
    if name == "nonlinear_ode":
        x, values = data.sensors[:, 0], data.u_test[0]

        def by_scipy(error):
            return solve_ivp(
                lambda t, s: -0.1 * s**2 + np.interp(t, x, values),
                (0, 1),
                [0.0],
                t_eval=data.points[:, 0],
                rtol=error,
                atol=error,
            )

        return {
            "spectral collocation": lambda: solve_riccati(u),
            "solve_ivp, rtol 1e-4": lambda: by_scipy(1e-4),
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
            moved = np.concatenate([s, s + 1e-4 * np.eye(NODES)])
            seen = solve_reaction_diffusion(moved, 0.01, 0.01) @ to_sensors.T
            jacobian = (seen[1:] - seen[0]).T / 1e-4
            missed = np.concatenate([(measured - seen[:1])[0], -1e-4 * s[0]])
            s = s + np.linalg.lstsq(np.vstack([jacobian, 1e-4 * np.eye(NODES)]), missed, rcond=None)[0]
        return s

    return {
        "forward solution": lambda: solve_reaction_diffusion(u, 0.01, 0.01),
        "Gauss-Newton, 3 steps": gauss_newton,
    }


def main():
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
                "error": relative_l2(model.predict(many), data.s_test),
                "one": median(partial(model.predict, one), 500),
                "each of 200": median(partial(model.predict, many), 20) / len(many),
                "solvers": {},
            }
            for solver, call in solvers(name, data).items():
                seconds = median(call, 30)
                times, in_batch = seconds / row["one"], seconds / row["each of 200"]
                row["solvers"][solver] = {"seconds": seconds, "times": times, "times in a batch": in_batch}
        rows.append(row)
        print(row, flush=True)
    OUT.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
