"""Sobol indices of functions whose indices are known."""

import numpy as np
import pytest

from elmonet import AutoELMDeepONet, ELMDeepONet, InfiniteWidth, InputError, Legendre, Linear, Ridge
from elmonet.description import Description, Graph, Port
from elmonet.prior import Prior
from elmonet.sensitivity import sensitivity


@pytest.mark.parametrize("a", [(0.0, 1.0, 4.5, 9.0)])
def test_sobol_s_g_function(a):
    """The product of (|4 x_i - 2| + a_i) / (1 + a_i), x_i uniform in [0, 1], as array operations."""
    graph, d = Graph(len(a)), len(a)
    two = graph.scale(0, 4.0, after=-2.0)
    size = graph.sum([graph.elementwise(two, "relu"), graph.elementwise(graph.scale(two, -1.0), "relu")])
    factors = graph.scale(size, 1 / (1 + np.array(a)), after=np.array(a) / (1 + np.array(a)))
    end = graph.product([graph.part(factors, i, i + 1) for i in range(d)])
    model = Description(graph.finished(end), (Port("x", (d,)),), (Port("s", (1,)),), np.zeros((1, 1)))
    bounds = Prior.learned(_Ports(d), None, (np.zeros(d), np.ones(d)))
    found = sensitivity(model, bounds, n=2**13, seed=0, directions=0, residuals=None, shaped=lambda y: y[0])
    V = 1 / (3 * (1 + np.array(a)) ** 2)
    total = np.prod(1 + V) - 1
    for i, name in enumerate(found.names):
        assert found.first_overall[name] == pytest.approx(V[i] / total, abs=0.01)
        exact = V[i] * np.prod(1 + np.delete(V, i)) / total
        assert found.total_overall[name] == pytest.approx(exact, abs=0.01)


class _Ports:
    """A form of one array of numbers."""

    parts = None

    def __init__(self, size):
        self.size = size

    def ports(self):
        return (Port("x", (self.size,)),)


def ishigami(x):
    return np.sin(x[:, 0]) + 7 * np.sin(x[:, 1]) ** 2 + 0.1 * x[:, 2] ** 4 * np.sin(x[:, 0])


def test_ishigami_s_function_from_500_runs():
    X = np.random.default_rng(0).uniform(-np.pi, np.pi, (500, 3))
    names, bounds = "abc", (-np.pi, np.pi)
    model = AutoELMDeepONet(layers=0, random_state=0).fit(dict(zip(names, X.T, strict=True)), ishigami(X))
    found = model.sensitivity(dict.fromkeys(names, bounds), n=2**13, random_state=0)
    exact = {"a": (0.3139, 0.5576), "b": (0.4424, 0.4424), "c": (0.0, 0.2437)}
    for name, (first, total) in exact.items():
        assert found.first_overall[name] == pytest.approx(first, abs=0.01)
        assert found.total_overall[name] == pytest.approx(total, abs=0.01)
        (low, low_total), (high, high_total) = found.low[name], found.high[name]
        assert low - 0.002 <= first <= high + 0.002
        assert low_total - 0.002 <= total <= high_total + 0.002
    assert "Interactions: 24" in str(found)


def test_a_linear_operator_of_a_function_and_a_number():
    """s(y) = k + (sum of u) y: at y = 0 all variance comes from k; at y = 1 the shares follow."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=(400, 3))
    x = np.linspace(0, 1, 12)
    u = z @ np.stack([np.ones(12), x, np.sin(4 * x)]) / 12
    k, y = rng.uniform(0, np.sqrt(12), 400), np.array([0.0, 1.0])
    s = k[:, None] + u.sum(axis=1)[:, None] * y
    model = ELMDeepONet(Linear(), Legendre(1), Ridge(1e-12)).fit({"u": u, "k": k}, {"s": s}, points=y)
    found = model.sensitivity(n=4096, directions=2, random_state=0)
    assert found.names == ("u", "u direction 1", "u direction 2", "k")
    V = np.var(u.sum(axis=1), ddof=1)
    of_k = np.ptp(k) ** 2 / 12
    np.testing.assert_allclose(found.first["u"]["s"], [0, V / (V + of_k)], atol=0.01)
    np.testing.assert_allclose(found.total["k"]["s"], [1, of_k / (V + of_k)], atol=0.01)
    # Without interactions, directions of a function add up to the function, if all are counted.
    every = model.sensitivity(n=4096, directions=3, random_state=0)
    parts = sum(every.first_overall[f"u direction {i}"] for i in (1, 2, 3))
    assert parts == pytest.approx(every.first_overall["u"], abs=0.01)


@pytest.mark.numerics
def test_gaussian_kernels_have_a_closed_form(monkeypatch):
    """Two numbers, against quadrature of the predictions on a tensor grid, and against sampling."""
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, (60, 2)), np.array([0.0, 1.0])
    s = np.sin(2 * X[:, :1]) + X[:, 1:] ** 2 * y + X.prod(axis=1, keepdims=True)
    branch = Linear() + InfiniteWidth("rbf", 1.5)
    model = ELMDeepONet(branch, Legendre(1), Ridge(1e-4)).fit({"a": X[:, 0], "b": X[:, 1]}, s, points=y)
    bounds = {"a": (-1.0, 1.0), "b": (-1.0, 1.0)}
    found = model.sensitivity(bounds)
    assert found.evaluations == 0
    v, w = np.polynomial.legendre.leggauss(40)
    grid = np.stack(np.meshgrid(v, v, indexing="ij"), axis=-1).reshape(-1, 2)
    values, w = model.predict({"a": grid[:, 0], "b": grid[:, 1]}).reshape(40, 40, 2), w / 2
    mean = np.einsum("i,j,ijk->k", w, w, values)
    variance = np.einsum("i,j,ijk->k", w, w, (values - mean) ** 2)
    of_a = np.einsum("i,ik->k", w, (np.einsum("j,ijk->ik", w, values) - mean) ** 2)
    of_b = np.einsum("j,jk->k", w, (np.einsum("i,ijk->jk", w, values) - mean) ** 2)
    np.testing.assert_allclose(found.variance, variance, rtol=1e-7)
    np.testing.assert_allclose(found.first["a"], of_a / variance, rtol=0, atol=1e-7)
    np.testing.assert_allclose(found.total["a"], 1 - of_b / variance, rtol=0, atol=1e-7)
    np.testing.assert_allclose(found.total["b"], 1 - of_a / variance, rtol=0, atol=1e-7)
    monkeypatch.setattr("elmonet.separable._ROUNDING", 0.0)  # as if rounding spoilt it
    sampled = model.sensitivity(bounds, n=4096, random_state=0)
    assert sampled.evaluations == 4096 * 4
    np.testing.assert_allclose(sampled.first["a"], found.first["a"], rtol=0, atol=5e-3)


@pytest.mark.numerics
def test_a_gaussian_kernel_of_a_function():
    """Whole functions have a closed form: against correlations of predictions that share an input."""
    rng = np.random.default_rng(1)
    t = np.linspace(0, 1, 9)
    u = rng.normal(size=(80, 3)) @ np.stack([np.ones(9), t, np.sin(4 * t)])
    k = rng.uniform(0, 2, 80)
    s = np.tanh(u.mean(axis=1) + k)[:, None] + 0 * t[:2]
    model = ELMDeepONet(InfiniteWidth("rbf", 0.7), Legendre(1), Ridge(1e-3))
    model.fit({"u": u, "k": k}, s, points=t[:2])
    found = model.sensitivity(directions=0)
    assert found.evaluations == 0
    description = model._fitted().description()
    prior = Prior.learned(model.inputs_, model._fitted().training_inputs())
    z = np.random.default_rng(2).normal(size=(2, 20_000, prior.directions))
    for name, columns in (("u", slice(0, 3)), ("k", slice(3, 4))):
        mixed = z[1].copy()
        mixed[:, columns] = z[0][:, columns]
        first, second = (description(prior.inputs(own))[:, 0] for own in (z[0], mixed))
        assert found.first_overall[name] == pytest.approx(np.corrcoef(first, second)[0, 1], abs=0.025)


def test_wrong_arguments_are_refused():
    X = np.random.default_rng(0).uniform(size=(30, 2))
    model = ELMDeepONet(Linear()).fit({"a": X[:, 0], "b": X[:, 1]}, X.sum(axis=1))
    with pytest.raises(InputError, match="'c'"):
        model.sensitivity({"a": (0, 1), "c": (0, 1)})
    with pytest.raises(InputError, match="n must be"):
        model.sensitivity(n=3)
    with pytest.raises(InputError, match="low must be below high"):
        model.sensitivity({"a": (1, 0)})
