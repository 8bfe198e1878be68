"""Error against the number of simulations: functions chosen by `suggest`, and random ones.

    python benchmarks/suggest.py [--problems ode darcy] [--pools even] [--seeds 0 1 2 3 4]

Both start from the same 20 random functions of a pool of 1000. Then `model.suggest` chooses and the model is
refitted, in rounds. Two models are fitted to the same functions: kernel ridge, its scale by leave-one-out,
and ``AutoELMDeepONet(layers=0)``. An even pool is drawn like the test functions. Of an uneven one, 90 % are
near one function: their fields differ from its field by a fifth of a random one. Written to
benchmarks/results/suggest.json.
"""

import time
import warnings

import numpy as np
from harness import RESULTS, fit_auto, option_parser, read_results, write_results

from elmonet import ELMDeepONet, InfiniteWidth, relative_l2
from elmonet.problems.burgers_flow import cole_hopf, random_waves
from elmonet.problems.chebyshev import chebyshev_nodes, interpolation_matrix, resolution, solve_riccati
from elmonet.problems.darcy_flow import solve_darcy
from elmonet.problems.gaussian import gaussian_field
from elmonet.problems.heat import solve_reaction_diffusion

OUT = RESULTS / "suggest.json"
SIZES = (20, 40, 50, 60, 70, 85, 100)  # training functions in each round
N_POOL, N_TEST = 1000, 500  # functions
CLUSTERED = 0.9  # fraction of an uneven pool that is near one function
POOLS = ("even", "uneven")
NODES, UNIFORM = chebyshev_nodes(resolution(0.1)), np.linspace(0, 1, 100)
TO_UNIFORM = interpolation_matrix(len(NODES), UNIFORM)
SQUARE = np.linspace(0, 1, 59)  # the solver's grid; inputs are given at every other point, 30 x 30


def ode(fields):
    """As `problems.nonlinear_ode`."""
    return fields @ TO_UNIFORM.T, solve_riccati(fields) @ TO_UNIFORM.T


def inverse_source(fields):
    """As `problems.inverse_source`."""
    return solve_reaction_diffusion(fields, 0.01, 0.01) @ TO_UNIFORM.T, fields @ TO_UNIFORM.T


def burgers(waves):
    """As `problems.burgers`."""
    u = cole_hopf(waves, np.array([0.0, 1.0]), 0.1, np.linspace(0, 1, 128)[:-1])
    u = np.concatenate([u, u[..., :1]], axis=-1)
    return u[:, 0], u[:, 1]


def darcy(fields):
    """As `problems.darcy`, on a grid of 30 x 30 points."""
    kappa = np.exp(fields / 2)
    s = [solve_darcy(chunk) for chunk in np.array_split(kappa, max(1, len(kappa) // 100))]
    return kappa[:, ::2, ::2], np.concatenate(s).reshape(len(kappa), -1)


def on_square(n, rng):
    return gaussian_field((SQUARE, SQUARE), n, 0.25, rng)


PROBLEMS = {
    "ode": (lambda n, rng: gaussian_field(NODES, n, 0.1, rng), ode),
    "inverse_source": (lambda n, rng: gaussian_field(NODES, n, 0.2, rng), inverse_source),
    "burgers": (random_waves, burgers),
    "darcy": (on_square, darcy),
}


def functions(draw, solve, uneven, rng):
    """Return inputs and outputs of the pool and of the test functions."""
    pool, test = draw(N_POOL, rng), draw(N_TEST, rng)
    if uneven:
        near = rng.permutation(N_POOL)[: int(CLUSTERED * N_POOL)]
        pool[near] = draw(1, rng) + 0.2 * pool[near]
    return *solve(pool), *solve(test)


def kernel_ridge(u, s, points):
    """Fit a Matern kernel with the scale of least leave-one-out error; logarithms of permeabilities."""
    models = [
        ELMDeepONet(InfiniteWidth("matern52", scale), log_inputs=u.ndim == 3).fit(u, s, points=points)
        for scale in (0.03, 0.1, 0.3, 1.0)
    ]
    return min(models, key=lambda model: model.expected_error_)


MODELS = {"kernel ridge": kernel_ridge, "AutoELMDeepONet": fit_auto}


def errors(u, s, u_test, s_test, start, choose):
    """Return the error of each model after each round; `choose(model, left, n)` picks new functions."""
    chosen, found = list(start), {name: [] for name in MODELS}
    points = np.arange(s.shape[1], dtype=float)
    if u.ndim == 3:
        points = np.stack(np.meshgrid(*[np.linspace(0, 1, u.shape[1])] * 2, indexing="ij"), -1).reshape(-1, 2)
    model = None
    for size in SIZES:
        if size > len(chosen):
            left = np.setdiff1d(np.arange(len(u)), chosen)
            chosen += left[choose(model, u[left], size - len(chosen))].tolist()
        for name, fit in MODELS.items():
            model = fit(u[chosen], s[chosen], points)
            found[name].append(relative_l2(model.predict(u_test), s_test))
    return found


def main():
    parser = option_parser(__doc__, out=OUT)
    parser.add_argument("--problems", nargs="*", choices=PROBLEMS, default=list(PROBLEMS))
    parser.add_argument("--pools", nargs="*", choices=POOLS, default=POOLS)
    parser.add_argument("--seeds", nargs="*", type=int, default=range(5))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    results = read_results(arguments.out, {})
    for problem in arguments.problems:
        for pool in arguments.pools:
            rows = {name: {"sizes": SIZES, "random": [], "suggested": []} for name in MODELS}
            for seed in arguments.seeds:
                begin, rng = time.perf_counter(), np.random.default_rng(seed)
                data = functions(*PROBLEMS[problem], pool == "uneven", rng)
                start = rng.permutation(N_POOL)[: SIZES[0]]
                selections = {
                    "random": lambda _, left, n, rng=rng: rng.permutation(len(left))[:n],
                    "suggested": lambda model, left, n: model.suggest(left, n),
                }
                for selection, choose in selections.items():
                    for name, found in errors(*data, start, choose).items():
                        rows[name][selection].append(found)
                        shown = " ".join(f"{100 * error:.3g}" for error in found)
                        print(f"{problem} {pool} {seed} {name:<15} {selection:<9} {shown}  %", flush=True)
                print(f"{time.perf_counter() - begin:.0f} s", flush=True)
            results.setdefault(problem, {})[pool] = rows
            write_results(arguments.out, results)


if __name__ == "__main__":
    main()
