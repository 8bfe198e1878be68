"""Where elmonet is not the right tool: true errors, expected errors, and whether the model warns.

    python benchmarks/limits.py

Moving discontinuities, chaos, functions of another kind, few functions, outputs that jump with the input, an
operator that drifts, and the memory that large outputs take. About 90 seconds on one core. Written to
benchmarks/results/limits.json.
"""

import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
from harness import RESULTS, fit_auto, option_parser, peak_gib, write_results

from elmonet import AutoELMDeepONet, ELMDeepONet, ExtrapolationWarning, problems, relative_l2

OUT = RESULTS / "limits.json"
X = np.linspace(0, 1, 128)


def row(case, model, u, s):
    """Return the true error on new functions, the expected one, and whether `predict` warned."""
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


def moving_jumps(n, rng):
    """Draw steps that move at their own speed: from start, speed and height to s(x, 1) (n, 128)."""
    start, speed, height = rng.uniform(0.1, 0.4, n), rng.uniform(0.1, 0.5, n), rng.uniform(1, 2, n)
    u = np.stack([start, speed, height], axis=1)
    return u, height[:, None] * ((start + speed)[:, None] > X)


def smooth_hills(n, rng):
    """Draw smooth hills that move, for comparison."""
    u, _ = moving_jumps(n, rng)
    start, speed, height = u.T[:, :, None]
    return u, height * np.exp(-(((X - start - speed) / 0.15) ** 2))


def fronts():
    for name, draw in (("a hill that moves", smooth_hills), ("a step that moves", moving_jumps)):
        u_new, s_new = draw(500, np.random.default_rng(1))
        for n in (100, 400, 1600):
            model = fit_auto(*draw(n, np.random.default_rng(0)), X)
            yield row(f"{name}, {n} functions", model, u_new, s_new)
    data = problems.burgers(300, 200, seed=3, n_points=65)
    for name, layers in (("without layers", 0), ("with layers", None)):
        model = fit_auto(data.u_train, data.s_train, data.points, layers=layers)
        yield row(f"Burgers, 300 functions, {name}", model, data.u_test, data.s_test)


def lorenz(state, times, dt=0.005):
    """Solve the Lorenz system from states (n, 3) at times (k,) by Runge-Kutta: (n, k, 3)."""

    def rate(v):
        x, y, z = v.T
        return np.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z], axis=1)

    states, v = [], state
    for step in range(round(times[-1] / dt) + 1):
        if np.isclose(step * dt, times).any():
            states.append(v)
        k1 = rate(v)
        k2 = rate(v + dt / 2 * k1)
        k3 = rate(v + dt / 2 * k2)
        v = v + dt / 6 * (k1 + 2 * k2 + 2 * k3 + rate(v + dt * k3))
    return np.stack(states, axis=1)


def chaos():
    """From a state on the attractor to x over half a unit of time that begins `later`."""
    rng = np.random.default_rng(2)
    u = lorenz(rng.normal(size=(800, 3)) * [8, 8, 8] + [0, 0, 25], np.array([20.0]))[:, 0]
    for later in (0, 1, 2, 4, 8):
        times = later + np.linspace(0, 0.5, 26)
        s = lorenz(u, times)[..., 0]
        model = fit_auto(u[:600], s[:600], times)
        yield row(f"{later} to {later + 0.5:g}", model, u[600:], s[600:])


def other_kinds():
    data = problems.nonlinear_ode(300, 200, seed=3)
    model = fit_auto(data.u_train, data.s_train, data.points)
    yield row("drawn like the training functions", model, data.u_test, data.s_test)
    for length in (0.05, 0.02):
        other = problems.nonlinear_ode(1, 200, seed=4, length_scale=length)
        yield row(f"rougher, length {length} instead of 0.1", model, other.u_test, other.s_test)
    other = problems.nonlinear_ode(1, 200, seed=4, length_scale=0.4)
    yield row("smoother, length 0.4", model, other.u_test, other.s_test)


def few_functions():
    data = problems.nonlinear_ode(40, 500, seed=3)
    for n in (3, 5, 8, 20, 40):
        model = fit_auto(data.u_train[:n], data.s_train[:n], data.points)
        yield row(f"{n} functions", model, data.u_test, data.s_test)


def jumps_in_the_input():
    """A ball on a hilltop: it rolls to the side where the input pushes it, however little."""
    for n in (100, 400, 1600):
        data = problems.antiderivative(n, 500, seed=3, n_sensors=30)
        u, u_new = data.u_train, data.u_test
        s, s_new = (np.sign(u.mean(axis=1, keepdims=True)) * X**2 for u in (u, u_new))
        yield row(f"{n} functions", fit_auto(u, s, X), u_new, s_new)


def drift():
    """500 functions of one operator, s' = -0.1 s^2 + u, then 500 of another, its double."""
    old, new = (problems.nonlinear_ode(500, 200, seed=seed) for seed in (3, 4))
    s_new, s_test = 2 * new.s_train, 2 * new.s_test
    model = ELMDeepONet(random_state=0).fit(old.u_train, old.s_train, points=old.points)
    model.partial_fit(new.u_train, s_new)
    yield row("partial_fit with the new functions", model, new.u_test, s_test)
    model = ELMDeepONet(random_state=0).fit(new.u_train, s_new, points=new.points)
    yield row("fit to the new functions alone", model, new.u_test, s_test)


def peak_of(model):
    """Return the GiB of the outputs and the peak of the process, which must be a new one."""
    x, a = np.linspace(0, 1, 200_000), np.random.default_rng(0).normal(size=(100, 3))
    s = np.empty((100, len(x)))
    for i, (p, q, r) in enumerate(a):
        s[i] = np.sin((3 + p) * x) + q * x + r
    model.fit(a, s, points=x)
    return {"outputs": s.nbytes / 2**30, "peak": peak_gib()}


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
    option_parser(__doc__).parse_args()
    results = {name: [] for name in PARTS}
    for name, part in PARTS.items():
        for measured in part():
            results[name].append(measured)
            numbers = (f"{key} {value:.2g}" for key, value in measured.items() if isinstance(value, float))
            print(f"{name:8}{measured['case']:45}", ", ".join(numbers), flush=True)
    write_results(OUT, results)


if __name__ == "__main__":
    main()
