"""Each array operation: its derivatives against central differences, the complex step and each other."""

import numpy as np
import pytest

from elmonet.description import Description, Graph, Port
from elmonet.description.operations import FUNCTIONS

pytestmark = pytest.mark.numerics
rng = np.random.default_rng(0)
SIZE = 6


def step(graph_size=2 * 2 + 3 * 1 + 1):
    """Return a nonlinear step with two outputs, two of them in the past, three inputs and a parameter."""
    body = Graph(graph_size)
    hidden = body.elementwise(
        body.affine(0, 0.4 * rng.normal(size=(5, graph_size)), rng.normal(size=5)), "tanh"
    )
    body.sum([body.affine(hidden, 0.3 * rng.normal(size=(2, 5))), body.part(0, 2, 4)])
    return body


def marched(graph):
    u = graph.gather(0, [-1, -1, 0, 1, 2, 3])
    return graph.march(
        u, graph.part(0, 4, 5), graph.constant([0.1, 0.2, 0.3, 0.4]), step(),
        steps=4, past=2, outputs=2, seen=3, inputs=1,
    )  # fmt: skip


OPERATIONS = {
    "affine": lambda g: g.affine(0, rng.normal(size=(4, SIZE)), rng.normal(size=4)),
    "affine of rows": lambda g: g.affine(0, rng.normal(size=(4, 2)), rng.normal(size=4), rows=3),
    "scale": lambda g: g.scale(0, rng.normal(size=SIZE), rng.normal(size=SIZE), rng.normal(size=SIZE)),
    "scale of rows": lambda g: g.scale(0, rng.normal(size=3), rng.normal(size=3), rows=2),
    **{f"{name}": lambda g, name=name: g.elementwise(0, name) for name in FUNCTIONS},
    **{
        f"kernel {kernel}": lambda g, kernel=kernel: g.kernel(0, rng.normal(size=(1, 5, SIZE)), kernel, 0.7)
        for kernel in ("rbf", "matern12", "matern32", "matern52", "relu")
    },
    "kernel of parts": lambda g: g.kernel(0, rng.normal(size=(3, 5, 2)), "matern52", 0.7),
    "gather": lambda g: g.gather(0, [3, -1, 3, 0, 5]),
    "permutation": lambda g: g.gather(0, [3, 1, 2, 0, 5, 4]),
    "concat": lambda g: g.concat([0, g.constant([2.0, 3.0]), g.part(0, 1, 3)]),
    "sum": lambda g: g.sum([0, g.elementwise(0, "sin"), 0]),
    "product": lambda g: g.product([0, g.elementwise(0, "sin"), 0]),
    "clip": lambda g: g.clip(0, 0.9, 1.4),
    "amplitude": lambda g: g.amplitude(0),
    "march": marched,
    "along an axis": lambda g: g.along_axis(0, (2, 3), 0, rng.normal(size=(4, 2))),
}
# Functions that NumPy does not extend to complex numbers.
REAL = {"relu", "gelu", "sigmoid", "softplus", "kernel matern12", "kernel relu", "clip", "amplitude"}


def described(name):
    graph = Graph(SIZE)
    end = OPERATIONS[name](graph)
    operations = graph.finished(end)
    return Description(operations, (Port("u", (SIZE,)),), (Port("s", (graph.sizes[end],)),), np.zeros((1, 1)))


@pytest.fixture
def x():
    values = np.random.default_rng(1).uniform(0.5, 1.8, size=(3, SIZE))  # positive, for logarithms
    values[:, 2] *= 1.7  # the largest is the largest by far
    return values


@pytest.mark.parametrize("name", OPERATIONS)
def test_tangents_are_central_differences(name, x):
    model, dx, e = described(name), rng.normal(size=x.shape), 1e-6
    differences = (model(x + e * dx) - model(x - e * dx)) / (2 * e)
    np.testing.assert_allclose(
        model.jvp(x, dx), differences, rtol=0, atol=1e-8 * np.abs(differences).max() + 1e-12
    )


@pytest.mark.parametrize("name", [name for name in OPERATIONS if name not in REAL])
def test_tangents_are_exact_by_the_complex_step(name, x):
    model, dx = described(name), rng.normal(size=x.shape)
    exact = model(x + 1e-30j * dx).imag / 1e-30
    np.testing.assert_allclose(model.jvp(x, dx), exact, rtol=0, atol=1e-13 * np.abs(exact).max() + 1e-300)


@pytest.mark.parametrize("name", OPERATIONS)
def test_adjoints_and_jacobians_agree_with_tangents(name, x):
    model, dx = described(name), rng.normal(size=x.shape)
    forward = model.jvp(x, dx)
    g = rng.normal(size=forward.shape)
    products = np.sum(forward * g, axis=1)
    np.testing.assert_allclose(np.sum(model.vjp(x, g) * dx, axis=1), products, rtol=1e-10, atol=1e-12)
    J = model.jacobian(x)
    np.testing.assert_allclose(np.einsum("nij,nj->ni", J, dx), forward, rtol=1e-10, atol=1e-12)


def test_kernels_at_a_centre_have_finite_derivatives():
    for kernel in ("rbf", "matern12", "matern32", "matern52", "relu"):
        graph, centres = Graph(3), rng.normal(size=(1, 4, 3))
        operations = graph.finished(graph.kernel(0, centres, kernel, 1.0))
        model = Description(operations, (Port("u", (3,)),), (Port("s", (4,)),), np.zeros((1, 1)))
        assert np.isfinite(model.jacobian(centres[0])).all()


def test_blocks_of_cases_give_the_same(monkeypatch, x):
    model = described("march")
    whole = model(x), model.jvp(x, x), model.vjp(x, model(x))
    monkeypatch.setitem(model.__dict__, "_rows", 1)
    for found, expected in zip((model(x), model.jvp(x, x), model.vjp(x, model(x))), whole, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_unused_operations_are_left_out():
    graph = Graph(2)
    graph.elementwise(0, "exp")
    end = graph.elementwise(0, "sin")
    graph.elementwise(end, "cos")
    assert [op.function for op in graph.finished(end)] == ["sin"]
