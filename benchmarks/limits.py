"""Where elmonet is not the right tool: errors, and what the model itself says of them.

    python benchmarks/limits.py

Jumps that move, chaos, functions of another kind, few functions, outputs that depend on the input by a jump,
an operator that drifts, and the memory that large outputs take. About 90 seconds on one core. Writes
benchmarks/results/limits.json.
"""

import json
import resource
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from elmonet import AutoELMDeepONet, ELMDeepONet, ExtrapolationWarning, problems, relative_l2

OUT = Path(__file__).parent / "results" / "limits.json"
X = np.linspace(0, 1, 128)


def row(case, model, u, s):
    """The true error on new functions, the expected one, and whether `predict` warned."""
    with warnings.catch_warnings(record=True, action="always") as caught:
        predicted = model.predict(u)
    interval = model.expected_error_interval_
    return {
        "case": case,
        "error": relative_l2(predicted, s),
        "expected": model.expected_error_,
        "interval": None if interval is None or not np.isfinite(interval[1]) else interval,
        "warned": any(issubclass(w.category, ExtrapolationWarning) for w in caught),
    }


def fitted(u, s, points, layers=0):
    return AutoELMDeepONet(layers=layers, random_state=0).fit(u, s, points=points)


def moving_jumps(n, rng):
    """A step that moves at its own speed: from the numbers start, speed and height to s(x, 1) (n, 128)."""
    start, speed, height = rng.uniform(0.1, 0.4, n), rng.uniform(0.1, 0.5, n), rng.uniform(1, 2, n)
    u = np.stack([start, speed, height], axis=1)
    return u, height[:, None] * ((start + speed)[:, None] > X)


def smooth_hills(n, rng):
    """The same with a smooth hill, for comparison."""
    u, _ = moving_jumps(n, rng)
    start, speed, height = u.T[:, :, None]
    return u, height * np.exp(-(((X - start - speed) / 0.15) ** 2))


def fronts():
    for name, draw in (("a hill that moves", smooth_hills), ("a step that moves", moving_jumps)):
        u_new, s_new = draw(500, np.random.default_rng(1))
        for n in (100, 400, 1600):
            model = fitted(*draw(n, np.random.default_rng(0)), X)
            yield row(f"{name}, {n} functions", model, u_new, s_new)
    data = problems.burgers(300, 200, seed=3, n_points=65)
    for name, layers in (("without layers", 0), ("with layers", None)):
        model = fitted(data.u_train, data.s_train, data.points, layers)
        yield row(f"Burgers, 300 functions, {name}", model, data.u_test, data.s_test)


def lorenz(state, times, dt=0.005):
    """The Lorenz system from states (n, 3), at times (k,): (n, k, 3), by the method of Runge and Kutta."""

    def rate(v):
        x, y, z = v.T
        return np.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z], axis=1)

    found, v = [], state
    for step in range(round(times[-1] / dt) + 1):
        if np.isclose(step * dt, times).any():
            found.append(v)
        k1 = rate(v)
        k2 = rate(v + dt / 2 * k1)
        k3 = rate(v + dt / 2 * k2)
        v = v + dt / 6 * (k1 + 2 * k2 + 2 * k3 + rate(v + dt * k3))
    return np.stack(found, axis=1)


def chaos():
    """From the state at time 0, on the attractor, to x over the half unit of time that follows `later`."""
    rng = np.random.default_rng(2)
    u = lorenz(rng.normal(size=(800, 3)) * [8, 8, 8] + [0, 0, 25], np.array([20.0]))[:, 0]
    for later in (0, 1, 2, 4, 8):
        times = later + np.linspace(0, 0.5, 26)
        s = lorenz(u, times)[..., 0]
        model = fitted(u[:600], s[:600], times)
        yield row(f"{later} to {later + 0.5:g}", model, u[600:], s[600:])


def other_kinds():
    data = problems.nonlinear_ode(300, 200, seed=3)
    model = fitted(data.u_train, data.s_train, data.points)
    yield row("drawn like the training functions", model, data.u_test, data.s_test)
    for length in (0.05, 0.02):
        other = problems.nonlinear_ode(1, 200, seed=4, length_scale=length)
        yield row(f"rougher, length {length} instead of 0.1", model, other.u_test, other.s_test)
    other = problems.nonlinear_ode(1, 200, seed=4, length_scale=0.4)
    yield row("smoother, length 0.4", model, other.u_test, other.s_test)


def few_functions():
    data = problems.nonlinear_ode(40, 500, seed=3)
    for n in (3, 5, 8, 20, 40):
        model = fitted(data.u_train[:n], data.s_train[:n], data.points)
        yield row(f"{n} functions", model, data.u_test, data.s_test)


def jumps_in_the_input():
    """A ball on a hill: it rolls to the side where the input pushes it, however little."""
    for n in (100, 400, 1600):
        data = problems.antiderivative(n, 500, seed=3, n_sensors=30)
        u, u_new = data.u_train, data.u_test
        s, s_new = (np.sign(u.mean(axis=1, keepdims=True)) * X**2 for u in (u, u_new))
        yield row(f"{n} functions", fitted(u, s, X), u_new, s_new)


def drift():
    """500 functions of an old operator, then 500 of a new one, s' = -0.1 s^2 + u and its double."""
    old, new = (problems.nonlinear_ode(500, 200, seed=seed) for seed in (3, 4))
    s_new, s_test = 2 * new.s_train, 2 * new.s_test
    model = ELMDeepONet(random_state=0).fit(old.u_train, old.s_train, points=old.points)
    model.partial_fit(new.u_train, s_new)
    yield row("partial_fit with the new functions", model, new.u_test, s_test)
    model = ELMDeepONet(random_state=0).fit(new.u_train, s_new, points=new.points)
    yield row("fit to the new functions alone", model, new.u_test, s_test)


def peak_of(model):
    """GiB that outputs take, and at most the whole process; in a process of its own."""
    x, a = np.linspace(0, 1, 200_000), np.random.default_rng(0).normal(size=(100, 3))
    s = np.empty((100, len(x)))
    for i, (p, q, r) in enumerate(a):
        s[i] = np.sin((3 + p) * x) + q * x + r
    model.fit(a, s, points=x)
    return {"outputs": s.nbytes / 2**30, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20}


def size():
    for model in (ELMDeepONet(random_state=0), AutoELMDeepONet(layers=0, random_state=0)):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as alone:
            yield {"case": type(model).__name__} | alone.submit(peak_of, model).result()


PARTS = {
    "fronts": fronts,
    "chaos": chaos,
    "kinds": other_kinds,
    "few": few_functions,
    "switch": jumps_in_the_input,
    "drift": drift,
    "size": size,
}


def main():
    found = {}
    for name, part in PARTS.items():
        found[name] = []
        for one in part():
            found[name].append(one)
            numbers = (f"{key} {value:.2g}" for key, value in one.items() if isinstance(value, float))
            print(f"{name:8}{one['case']:45}", ", ".join(numbers))
    OUT.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
