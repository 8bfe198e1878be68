"""The step against known coefficients, and free runs against plain loops."""

import itertools

import numpy as np
import pytest

from elmonet.marching.free_run import Runner
from elmonet.marching.step import Series, Settings, Step
from elmonet.marching.sums import Sums

pytestmark = pytest.mark.numerics


def linear_series(n=3, T=60, seed=0):
    """Return series of s(k) = 1.5 s(k-1) - 0.7 s(k-2) + 0.5 u(k) + 0.25 u(k-1) + 0.1 q with their past."""
    rng, out = np.random.default_rng(seed), []
    for i in range(n):
        u, s, q = rng.normal(size=T + 1), np.zeros(T + 2), np.array([0.3 * i])
        s[:2] = rng.normal(size=2)
        for k in range(T):
            s[k + 2] = 1.5 * s[k + 1] - 0.7 * s[k] + 0.5 * u[k + 1] + 0.25 * u[k] + 0.1 * q[0]
        out.append(Series(u[:, None], s[:, None], q))
    return out


def fitted(settings, series, alpha=1e-13, seed=0):
    step = Step.of(settings, series, seed)
    C = Sums.of(step, series).solve(alpha)
    return step, C


def test_a_linear_system_is_found():
    """The step as a function of what it sees has the coefficients of the system."""
    series = linear_series()
    step, C = fitted(Settings(2, 2), series)
    matrix, shift = step._map
    found = (C[1:, 0] @ matrix) + np.array([0.0, 1.0, 0.0, 0.0, 0.0])  # the newest output comes on top
    np.testing.assert_allclose(found, [-0.7, 1.5, 0.25, 0.5, 0.1], rtol=1e-7, atol=1e-7)
    assert C[0, 0] + C[1:, 0] @ shift == pytest.approx(0, abs=1e-7)


def test_the_free_run_of_a_linear_system_is_exact():
    series = linear_series()
    step, C = fitted(Settings(2, 2), series)
    new = linear_series(n=4, T=200, seed=1)
    limits = np.array([[-1e3], [1e3]])
    for run, one in zip(Runner(step, limits).run(new, C), new, strict=True):
        np.testing.assert_allclose(run[:, 0], one.s[2:, 0], rtol=0, atol=1e-6)


def every_value(step, window):
    """Return the values of a window that a coarser step sees."""
    settings, (c, p, _) = step.settings, step.sizes
    past, inputs, every = settings.past_outputs, settings.past_inputs + 1, settings.every
    s, u, q = np.split(window, [past * c, past * c + inputs * p])
    own = [s.reshape(past, c)[::every].ravel(), u.reshape(inputs, p)[::every].ravel(), q]
    return np.concatenate(own)


def features_by_hand(step, window):
    """Return features of one step, from what it sees, term by term."""
    settings, (c, p, _) = step.settings, step.sizes
    h, m = settings.outputs, settings.inputs
    window = every_value(step, window)
    s = window[: h * c].reshape(h, c)
    u = window[h * c : h * c + m * p].reshape(m, p)

    def levels(values):
        out, rest = [], values
        for _ in range(min(4, len(values))):
            out.append(rest[-1])
            rest = np.diff(rest, axis=0)
        out += [values[len(values) - 1 - i] for i in range(4, len(values))]
        return np.concatenate(out) if out else np.empty(0)

    z = np.concatenate([levels(s) if h else np.empty(0), levels(u), window[h * c + m * p :]])
    seen = z
    if not h:
        bank, newest, span = [], 0, 1
        while newest < m:
            bank.append(u[::-1][newest : newest + span].mean(axis=0))
            newest, span = newest + span, span if newest < 3 else 2 * span
        z = np.concatenate([z, *bank, window[m * p :]])
    z = (z - step.mean) / step.deviation
    linear, rest = z[: len(seen)], z if h else z[len(seen) :]
    rest = linear if h else rest
    out = [np.ones(1), linear]
    if settings.kind in ("tanh", "hysteretic"):
        A, b = step.weights
        out.append(np.tanh(A @ rest + b[:, 0]))
        if settings.kind == "hysteretic":
            speed, half = np.abs(s[-1] - s[-2]) / step.deviation[c : 2 * c], settings.width // 2
            out[-1][half:] *= [speed[j % c] for j in range(settings.width - half)]
    else:
        for degree in range(2, {"linear": 1, "quadratic": 2, "cubic": 3}[settings.kind] + 1):
            terms = itertools.combinations_with_replacement(range(len(rest)), degree)
            out.append(np.array([np.prod([rest[i] for i in term]) for term in terms]))
    return np.concatenate(out)


CASES = [
    Settings(2, 2),
    Settings(6, 5),
    Settings(2, 3, "quadratic"),
    Settings(2, 2, "cubic"),
    Settings(3, 2, "tanh", 20, 0.1),
    Settings(3, 2, "hysteretic", 21, 0.3),
    Settings(2, 3, "cubic", every=3),
    Settings(3, 2, "hysteretic", 21, 0.3, 2),
    Settings(0, 9),
    Settings(0, 9, "quadratic"),
    Settings(0, 12, "tanh", 10, 0.3),
]


def random_series(sizes, settings, lengths, seed=0):
    rng, (c, p, q) = np.random.default_rng(seed), sizes
    return [
        Series(
            rng.normal(size=(T + settings.past_inputs, p)),
            rng.normal(size=(T + settings.past_outputs, c)),
            rng.normal(size=q),
        )
        for T in lengths
    ]


@pytest.mark.parametrize("settings", CASES, ids=str)
@pytest.mark.parametrize("sizes", [(1, 1, 0), (2, 3, 1)])
def test_features_and_targets(settings, sizes):
    series = random_series(sizes, settings, [9, 14])
    step = Step.of(settings, series, 7)
    B, y = (np.concatenate(part, axis=1) for part in zip(*step.rows(series), strict=True))
    assert B.shape == (step.count, 23)
    row, h, m = 0, settings.past_outputs, settings.past_inputs + 1
    for one in series:
        for k in range(len(one.u) - m + 1):
            window = np.concatenate([one.s[k : k + h].ravel(), one.u[k : k + m].ravel(), one.parameters])
            np.testing.assert_allclose(B[:, row], features_by_hand(step, window), rtol=1e-9, atol=1e-9)
            before = one.s[k + h - settings.every] if h else 0
            np.testing.assert_allclose(y[:, row], one.s[k + h] - before)
            row += 1
    coordinates = np.concatenate(list(step.coordinates(series)))
    np.testing.assert_allclose(coordinates.mean(axis=0), 0, atol=1e-12)
    varying = coordinates.std(axis=0) > 0.5
    np.testing.assert_allclose(coordinates.std(axis=0)[varying], 1, rtol=1e-9)


@pytest.mark.parametrize("settings", CASES, ids=str)
@pytest.mark.parametrize("own", [False, True])
def test_free_runs_are_those_of_a_plain_loop(settings, own):
    """Series of different lengths at once, with the same coefficients or each with its own."""
    sizes, lengths = (2, 1, 1), [40, 7, 33, 40]
    series = random_series(sizes, settings, lengths)
    step = Step.of(settings, series, 3)
    rng = np.random.default_rng(5)
    C = 0.02 * rng.normal(size=(4, step.count, 2))
    limits = np.array([[-2.0, -1.5], [2.0, 1.5]])
    found = Runner(step, limits).run(series, C if own else C[0])
    for i, (one, run) in enumerate(zip(series, found, strict=True)):
        h = settings.past_outputs
        s, coefficients = list(one.s[:h]), C[i] if own else C[0]
        for k in range(lengths[i]):
            past = np.array(s[len(s) - h :]).ravel() if h else np.empty(0)
            window = np.concatenate([past, one.u[k : k + settings.past_inputs + 1].ravel(), one.parameters])
            change = features_by_hand(step, window) @ coefficients
            s.append(np.clip(change + (s[-settings.every] if h else 0), *limits))
        np.testing.assert_allclose(run, np.array(s[h:]), rtol=1e-7, atol=1e-9)


def test_sums_solve_the_ridge():
    """Against the normal equations with features of norm 1, written out."""
    series = random_series((1, 1, 0), Settings(2, 2), [50])
    step = Step.of(Settings(2, 2, "quadratic"), series, 0)
    ((B, y),) = step.rows(series)
    scaled = B / np.linalg.norm(B, axis=1)[:, None]
    expected = np.linalg.solve(scaled @ scaled.T + 1e-3 * np.eye(len(B)), scaled @ y.T)
    expected /= np.linalg.norm(B, axis=1)[:, None]
    np.testing.assert_allclose(Sums.of(step, series).solve(1e-3), expected, rtol=1e-8)


def test_singular_features_have_no_solution_without_ridge():
    series = [Series(np.ones((30, 1)), np.zeros((30, 1)), np.empty(0))]
    step = Step.of(Settings(1, 1), series, 0)
    assert np.isfinite(Sums.of(step, series).solve(1e-8)).all()


def test_runs_that_go_astray_are_cut_off_and_never_nan():
    series = random_series((1, 1, 0), Settings(2, 2), [500])
    step = Step.of(Settings(2, 2, "cubic"), series, 0)
    C = np.full((step.count, 1), 10.0)
    (run,) = Runner(step, np.array([[-5.0], [5.0]])).run(series, C)
    assert np.isfinite(run).all()
    assert np.abs(run).max() == 5


def test_what_a_step_sees_in_words():
    assert Settings(2, 3, "cubic").describe() == "with feedback: the last 2 outputs and 3 inputs, cubic"
    assert Settings(0, 64).describe() == "without feedback: the last 64 inputs, linear"
    coarser = "with feedback: the last 2 outputs and 3 inputs, 4 time steps apart, linear"
    assert Settings(2, 3, every=4).describe() == coarser
    assert Settings(2, 3, every=4).memory == 8
    assert Settings(2, 3).memory == 2
    assert Settings(0, 64).memory == 63


@pytest.mark.parametrize("settings", [one for one in CASES if one.outputs], ids=str)
def test_the_step_as_array_operations(settings):
    """The description of a step, from which it is exported, has the values of the step."""
    series = random_series((2, 1, 1), settings, [30])
    step = Step.of(settings, series, 3)
    C = 0.02 * np.random.default_rng(5).normal(size=(step.count, 2))
    limits = np.array([[-50.0, -50.0], [50.0, 50.0]])
    graph = step.trace(C, limits)
    one, h, m = series[0], settings.past_outputs, settings.past_inputs + 1
    for k in (0, 11):
        window = np.concatenate([one.s[k : k + h].ravel(), one.u[k : k + m].ravel(), one.parameters])
        values = [window[None]]
        for operation in graph.operations:
            values.append(operation.value([values[i] for i in operation.sources]))
        expected = one.s[k + h - settings.every] + features_by_hand(step, window) @ C
        np.testing.assert_allclose(values[-1][0], expected, rtol=1e-9, atol=1e-9)


def test_records_count_by_their_size():
    """Steps of a record with twice the weight count as four times as many of them."""
    series = random_series((1, 1, 0), Settings(2, 2), [30, 40])
    step = Step.of(Settings(2, 2, "quadratic"), series, 0)
    heavy = Sums.of(step, [series[0]._replace(weight=2.0), series[1]])
    repeated = Sums.of(step, [series[0]] * 4 + [series[1]])
    np.testing.assert_allclose(heavy.gram, repeated.gram)
    np.testing.assert_allclose(heavy.right, repeated.right)
