"""Windows that slide over a series are found and left out in contiguous stretches; nothing else is."""

import numpy as np
import pytest

from elmonet import ELMDeepONet, problems, relative_l2
from elmonet.forms.groups import find_groups


def series(n, seed=0):
    rng = np.random.default_rng(seed)
    x = np.zeros(n)
    for t in range(2, n):
        x[t] = 1.8 * x[t - 1] - 0.9 * x[t - 2] + rng.normal()
    return x


def windows(x, m, M, stride=1, ahead=0):
    """Inputs x[t : t + m], outputs x[t + m + ahead : t + m + ahead + M], for t = 0, stride, ..."""
    W = np.lib.stride_tricks.sliding_window_view(x, m + ahead + M)[::stride]
    return W[:, :m].copy(), W[:, m + ahead :].copy()


def assert_stretches(found, order, span):
    """Assert that each group is one contiguous stretch of time, longer than a window where there is room."""
    assert "overlapping windows of one series" in found.reason
    numbers = found.numbers[np.argsort(order)]
    changes = np.flatnonzero(np.diff(numbers))
    assert len(changes) + 1 == len(set(numbers.tolist())) >= 6
    lengths = np.diff(np.concatenate([[-1], changes, [len(numbers) - 1]]))
    assert lengths.min() >= min(span, len(numbers) // 7)


@pytest.mark.parametrize(
    ("m", "M", "stride", "ahead"),
    [
        (20, 20, 1, 0),
        (20, 20, 3, 0),
        (40, 1, 1, 0),
        (2, 1, 1, 0),
        (5, 30, 4, 0),
        (30, 7, 10, 5),
        (20, 20, 1, -10),
    ],
)
@pytest.mark.parametrize("shuffled", [False, True])
def test_windows_over_one_series_are_left_out_in_stretches(m, M, stride, ahead, shuffled):
    u, s = windows(series(600), m, M, stride, ahead)
    order = np.random.default_rng(1).permutation(len(u)) if shuffled else np.arange(len(u))
    assert_stretches(find_groups(u[order], s[order]), order, (m + M) // stride // 2)


def test_windows_in_other_units_several_inputs_and_channels():
    u, _ = windows(series(400), 20, 5)
    other = np.random.default_rng(0).normal(size=(len(u), 3))
    order = np.arange(len(u))
    assert_stretches(find_groups(np.hstack([u, other]), other, [20, 3]), order, 10)
    assert_stretches(find_groups(np.stack([u, u**2], axis=1), other), order, 10)  # channels first
    assert_stretches(find_groups(np.stack([u, u**2], axis=2), other), order, 10)  # channels last
    assert_stretches(find_groups((1e19 * u).astype(np.float32), other), order, 10)


def test_each_of_several_series_is_left_out_as_a_whole():
    pairs = [windows(series(60, seed), 20, 20) for seed in range(8)]
    u, s = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    found = find_groups(u, s)
    np.testing.assert_array_equal(found.numbers, np.repeat(np.arange(8), len(pairs[0][0])))
    assert "windows of 8 series" in found.reason


def test_one_long_trajectory_is_left_out_in_stretches():
    x = np.random.default_rng(0).normal(size=(61, 12))
    found = find_groups(x[:-1], x[1:])
    assert len(set(found.numbers.tolist())) >= 6
    assert (np.diff(found.numbers) >= 0).all()


def levels(rng, n, m):
    return rng.integers(0, 2, (n, m)).astype(float)


def jumps(rng, n, m):
    return (np.linspace(0, 1, m) > rng.random((n, 1))).astype(float)


def padded(rng, n, m):
    return np.where(np.arange(m) < rng.integers(1, m, (n, 1)), rng.normal(size=(n, m)), 0.0)


def impulses(rng, n, m):
    return np.eye(m)[rng.permutation(m)]


def constants(rng, n, m):
    return np.repeat(rng.integers(0, 5, (n, 1)).astype(float), m, axis=1)


def counts(rng, n, m):
    return rng.poisson(3.0, (n, m)).astype(float)


def normal(rng, n, m):
    return rng.normal(size=(n, m))


def waves(rng, n, m):
    return np.sin(np.linspace(0, 6, m) + np.linspace(0, 6, n)[:, None])


@pytest.mark.parametrize("kind", [normal, levels, jumps, padded, impulses, constants, counts, waves])
@pytest.mark.parametrize("m", [3, 4, 30])
def test_other_data_are_no_windows(kind, m):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = kind(rng, 200, m)
        found = find_groups(X, rng.normal(size=(len(X), 7)))
        assert found is None or "windows" not in found.reason
        found = find_groups(rng.normal(size=(len(X), 7)), X)
        assert found is None or "windows" not in found.reason


@pytest.mark.parametrize("problem", [problems.antiderivative, problems.nonlinear_ode, problems.darcy])
def test_problems_are_no_windows(problem):
    data = problem(n_train=60, n_test=5)
    assert find_groups(data.u_train, data.s_train.reshape(60, -1)) is None


def test_the_summary_says_that_stretches_are_left_out():
    u, s = windows(series(120), 10, 10)
    assert "stretches" in ELMDeepONet(random_state=0).fit(u, s, points=np.arange(10.0)).summary()


@pytest.mark.numerics
@pytest.mark.filterwarnings("ignore::elmonet.errors.ExtrapolationWarning")
def test_the_stated_error_of_windows_is_that_of_another_series():
    """Stated over true error was 0.15 when every 20th window was a group."""
    ratios = []
    for seed in range(4):
        u, s = windows(series(340, seed), 20, 20)
        other, truth = windows(series(1000, seed + 50), 20, 20)
        model = ELMDeepONet(random_state=0).fit(u, s, points=np.arange(20.0))
        assert model.error_kind_ == "leave-group-out"
        ratios.append(model.expected_error_ / relative_l2(model.predict(other), truth))
    assert 0.5 < np.median(ratios) < 2
