"""A time budget is a promise: by a clock that only trials, layers and solutions of an equation move."""

from functools import cached_property

import numpy as np
import pytest

import elmonet.auto.error_estimate
import elmonet.auto.layers
import elmonet.auto.marching
import elmonet.auto.model
import elmonet.auto.relevance
import elmonet.auto.search
import elmonet.fitting.in_memory
import elmonet.fitting.incomplete
import elmonet.layered.chain
import elmonet.layered.choice
import elmonet.layered.model
import elmonet.physics.choice
import elmonet.physics.pde
import elmonet.solve.gaps
from elmonet import AutoELMDeepONet, LayeredELMDeepONet, TimeBudgetWarning, problems
from elmonet.data import Scattered
from elmonet.physics import PDE, Box

PROMISE = 1.2  # times the budget


class Clock:
    """Seconds that pass only where work is done."""

    now = 0.0

    def __call__(self):
        return self.now

    def counts(self, monkeypatch, place, name, seconds):
        """Let every call of a function take seconds(*arguments)."""
        work = getattr(place, name)

        def counted(*args, **kwargs):
            self.now += seconds(*args, **kwargs)
            return work(*args, **kwargs)

        monkeypatch.setattr(place, name, counted)


@pytest.fixture
def clock(monkeypatch):
    """A clock for trials of n functions, for layers by their points and features, and for solutions."""
    clock = Clock()
    auto, layered, physics = elmonet.auto, elmonet.layered, elmonet.physics
    modules = [auto.layers, auto.marching, auto.model, auto.search, auto.relevance, auto.error_estimate]
    modules += [elmonet.fitting.incomplete, elmonet.solve.gaps]
    modules += [layered.chain, layered.choice, layered.model, physics.choice, physics.pde]
    for module in modules:
        monkeypatch.setattr(module, "perf_counter", clock)

    def trial(data, *_):
        return (len(data.Z) / 300) ** 2.3

    def layer(setting, seed, grid, seen, held, points, *_):
        return 1e-9 * len(seen.target) * points * (setting.width + 100) ** 2

    def solution(equation, inputs, resolution, *_):
        return 0.1 + 1e-4 * inputs.count * (resolution.degrees[0] + 1) ** 2

    clock.counts(monkeypatch, auto.search.TransformedData, "evaluate", trial)
    clock.counts(monkeypatch, layered.chain, "fit_layer", layer)
    for module in (physics.choice, physics.pde):
        clock.counts(monkeypatch, module, "march", solution)
    return clock


@pytest.fixture(scope="module")
def burgers():
    return problems.burgers(500, 1, seed=0, n_points=32)


@pytest.mark.parametrize("budget", [10.0, 25.0])
def test_search_and_layers(clock, burgers, budget):
    model = AutoELMDeepONet(time_budget=budget, random_state=0)
    model.fit(burgers.u_train, burgers.s_train, points=burgers.points)
    assert 0.3 * budget < clock.now <= PROMISE * budget
    assert model.leaderboard_[0]["functions"] == 500
    assert "Time budget" not in model.summary()


def test_a_budget_below_the_least_that_a_fit_takes(clock, burgers):
    model = AutoELMDeepONet(time_budget=0.5, layers=0, random_state=0)
    model.fit(burgers.u_train, burgers.s_train, points=burgers.points)
    assert clock.now > PROMISE * 0.5
    assert "instead of 0.5: a model of all functions is always fitted" in " ".join(model.summary().split())


def test_modes_of_all_functions_and_the_end_of_a_fit_count(clock, monkeypatch, burgers):
    """Modes of 500 functions take three seconds; reading them takes one, and so does the end."""
    data, auto = elmonet.auto.search.TransformedData, elmonet.auto.model
    modes = data.modes.func

    def slow_modes(own):
        clock.now += 3 * (len(own.Z) / 500) ** 2.5
        return modes(own)

    slow = cached_property(slow_modes)
    slow.__set_name__(data, "modes")
    monkeypatch.setattr(data, "modes", slow)
    for name in ("understand", "summary_of_choice"):
        clock.counts(monkeypatch, auto, name, lambda *_, **__: 1.0)
    model = AutoELMDeepONet(time_budget=12.0, layers=0, random_state=0)
    model.fit(burgers.u_train, burgers.s_train, points=burgers.points)
    assert 0.3 * 12.0 < clock.now <= PROMISE * 12.0


@pytest.mark.parametrize("budget", [3.0, 10.0])
def test_layers_alone(clock, burgers, budget):
    model = LayeredELMDeepONet(first="nothing", time_budget=budget, random_state=0)
    model.fit(burgers.u_train, burgers.s_train, points=burgers.points)
    assert clock.now <= PROMISE * budget
    assert len(model.layers_) >= 1


def test_narrower_layers_where_time_is_short(clock, burgers):
    widths = []
    for budget in (3.0, 1000.0):
        model = LayeredELMDeepONet(layers=1, first="nothing", time_budget=budget, random_state=0)
        model.fit(burgers.u_train, burgers.s_train, points=burgers.points)
        widths.append(model.layers_[0]["features"])
    assert widths[0] < widths[1]


@pytest.mark.parametrize("budget", [20.0, 200.0])
def test_equations(clock, budget):
    """Where there is no time to solve for all inputs, those solved are spread over all."""
    x = np.linspace(0, 1, 40)
    c = np.random.default_rng(0).normal(size=(200, 3))
    u = c @ np.sin(np.outer([1, 2, 3], x))
    pde = PDE(Box(x=(0, 1)), lambda s, u: s.x + s**3 - u, {"x=0": lambda s, u: s})
    model = AutoELMDeepONet(time_budget=budget, layers=0, random_state=0)
    if budget < 100:
        with pytest.warns(TimeBudgetWarning, match="of 200 inputs"):
            model.fit(u, pde, sensors=x)
        assert 32 <= model.leaderboard_[0]["functions"] < 200
    else:
        model.fit(u, pde, sensors=x)
        assert model.leaderboard_[0]["functions"] == 200
    assert clock.now <= PROMISE * budget


@pytest.mark.parametrize("budget", [12.0, 20.0, 30.0, 60.0])
def test_few_functions_of_large_outputs(clock, monkeypatch, budget):
    """A fit takes much longer than a trial there: the refits that check a choice take most of the time."""
    clock.counts(monkeypatch, elmonet.auto.search.TransformedData, "model", lambda *_, **__: 1.0)
    a, b = np.meshgrid(np.linspace(1, 2, 6), np.linspace(1, 2, 5))
    numbers, x = np.column_stack([a.ravel(), b.ravel()]), np.linspace(0, 1, 30)
    s = np.sin(3 * numbers[:, :1] * x) + 0.01 * numbers[:, 1:] ** 2
    model = AutoELMDeepONet(time_budget=budget, layers=0, random_state=0).fit(numbers, s, points=x)
    assert clock.now <= PROMISE * budget
    assert model.expected_error_ is not None
    if budget == 60.0:
        assert clock.now > 30  # all 38 refits and 10 of the check, if there is time


@pytest.fixture(scope="module")
def gappy():
    rng = np.random.default_rng(0)
    data = problems.antiderivative(700, 1, n_sensors=20, n_points=12)
    y = data.s_train + data.u_train[:, :12] ** 2
    y[rng.random(y.shape) < 0.1] = np.nan
    return data.u_train, y, data.points


@pytest.mark.parametrize("budget", [3.0, 6.0, 15.0, 100.0])
@pytest.mark.parametrize("count", [300, 700])
def test_gaps(clock, monkeypatch, gappy, budget, count):
    """A trial of 400 functions takes one second, and the fit to all of them in proportion."""
    work, calls = elmonet.fitting.in_memory.fit_with_gaps, []

    def fit(Z, *arguments):
        calls.append(len(Z))
        clock.now += (len(Z) / 400) ** 2.5
        return work(Z, *arguments)

    monkeypatch.setattr(elmonet.fitting.in_memory, "fit_with_gaps", fit)
    X, y, points = (gappy[0][:count], gappy[1][:count], gappy[2])
    model = AutoELMDeepONet(time_budget=budget, missing="ignore", random_state=0).fit(X, y, points=points)
    fits = list(calls)  # a summary makes more
    assert model.leaderboard_[0]["functions"] == count
    if budget > 3 or count == 300:  # else a trial and a fit take five seconds
        assert clock.now <= PROMISE * budget
        assert "Time budget" not in model.summary()
    assert fits.count(count) == (1 if count == 700 else len(fits))
    if budget == 100:
        assert len(model.leaderboard_) == (9 if count == 700 else 8)


def test_a_trial_with_gaps_ends_when_time_is_up(clock, monkeypatch, gappy):
    """Points take no time in the first trial, and an hour each in the second one, which is given up."""
    work, calls = elmonet.fitting.in_memory.fit_with_gaps, []

    def fit(*arguments):
        calls.append(clock.now)
        clock.now += 0.1
        return work(*arguments)

    def shrunk(shrinkage, P):
        clock.now += 3600 * (len(calls) == 2)
        return product(shrinkage, P)

    product = elmonet.solve.gaps._DualShrinkage.shrunk
    monkeypatch.setattr(elmonet.fitting.in_memory, "fit_with_gaps", fit)
    monkeypatch.setattr(elmonet.solve.gaps._DualShrinkage, "shrunk", shrunk)
    model = AutoELMDeepONet(time_budget=10.0, missing="ignore", random_state=0)
    model.fit(gappy[0][:300], gappy[1][:300], points=gappy[2])
    assert len(model.leaderboard_) == 1
    assert len(calls) == 2
    assert 3600 <= clock.now < 2 * 3600


@pytest.mark.parametrize("budget", [3.0, 20.0])
def test_scattered(clock, monkeypatch, budget):
    """Trunks of growing width take longer and longer: none is tried that would end too late."""
    rng, n = np.random.default_rng(0), 60
    u = rng.normal(size=(n, 3))
    x = [np.sort(rng.random(60)) for _ in range(n)]
    y = [np.sin(a + 3 * b * p) + c * p for (a, b, c), p in zip(u, x, strict=True)]
    widths, index = [], np.repeat(np.arange(n), 60)
    incomplete = elmonet.fitting.incomplete

    def problem(known, *arguments):
        widths.append(known.width)
        clock.now += 0.2 * (known.width / 20) ** 2
        return unaligned(known, *arguments)

    unaligned = incomplete.Unaligned
    monkeypatch.setattr(incomplete, "Unaligned", problem)
    model = AutoELMDeepONet(time_budget=budget, random_state=0)
    model.fit(u, Scattered(index, np.concatenate(x)[:, None], np.concatenate(y)))
    assert clock.now <= PROMISE * budget
    assert max(widths) > (20 if budget == 20.0 else 19)
