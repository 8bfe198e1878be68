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
import elmonet.layered.chain
import elmonet.layered.choice
import elmonet.layered.model
import elmonet.physics.choice
import elmonet.physics.pde
from elmonet import AutoELMDeepONet, LayeredELMDeepONet, TimeBudgetWarning, problems
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
