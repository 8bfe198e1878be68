"""Which simulations to run next? A loop around a solver that asks the model.

-s'' / 100 + s + s^3 = u on [0, 1], s' = 0 at the ends. The pool of inputs that could be simulated is uneven,
as recorded inputs are: nine tenths of them are much alike. We want a model for all kinds of inputs, from few
runs.
"""

import numpy as np
from scipy.linalg import solve_banded

from elmonet import ELMDeepONet, InfiniteWidth, relative_l2

x = np.linspace(0, 1, 60)
waves = np.cos(np.pi * np.arange(6)[:, None] * x)


def inputs(n, rng):
    """n input functions (n, 60) of any kind."""
    return rng.normal(size=(n, 6)) @ waves / 2


def solve(u):
    """s (60,) for one input u (60,), by Newton's method."""
    weight = 1 / (100 * x[1] ** 2)
    s = np.zeros(60)
    for _ in range(30):
        padded = np.concatenate([s[1:2], s, s[-2:-1]])
        residual = -weight * np.diff(padded, 2) + s + s**3 - u
        bands = np.full((3, 60), -weight)
        bands[1] = 2 * weight + 1 + 3 * s**2
        bands[0, 1], bands[2, -2] = (
            -2 * weight,
            -2 * weight,
        )  # no flux: the neighbour outside is the one inside
        s -= solve_banded((1, 1), bands, residual)
    return s


def main():
    rng = np.random.default_rng(0)
    pool = np.concatenate([inputs(1, rng) + 0.1 * inputs(450, rng), inputs(50, rng)])
    u_test = inputs(200, rng)
    s_test = np.stack([solve(u) for u in u_test])
    start = rng.permutation(len(pool))[:10]
    errors = {"suggested": [], "random": []}
    for way, found in errors.items():
        known, s = list(start), [solve(pool[i]) for i in start]
        while True:
            model = ELMDeepONet(InfiniteWidth("matern52", 0.1)).fit(pool[known], np.stack(s), points=x)
            found.append(relative_l2(model.predict(u_test), s_test))
            print(f"{len(known):3} simulations, {way:9}: error {found[-1]:.1%}")
            if len(known) == 60:
                break
            if way == "suggested":
                new = model.suggest(pool, n=10)
            else:
                new = rng.permutation(np.setdiff1d(np.arange(len(pool)), known))[:10]
            known += new.tolist()
            s += [solve(pool[i]) for i in new]
    return errors


if __name__ == "__main__":
    main()
