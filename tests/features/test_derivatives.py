"""Derivatives of trunks: against differences in extended precision, and against each other."""

import mpmath
import numpy as np
import pytest

from elmonet import (
    MLP,
    POD,
    SLFN,
    ELMDeepONet,
    InputError,
    Legendre,
    Linear,
    Masked,
    PerComponent,
    Sinusoid,
    load,
)

pytestmark = pytest.mark.numerics

BOX = np.array([[0.0, -1.0], [2.0, 1.0]])
POINTS = np.array([[0.3, 0.2], [1.1, -0.7], [1.9, 0.95]])
ORDERS = [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 3), (2, 2)]


def activation(name, z):
    return {
        "tanh": mpmath.tanh,
        "sin": mpmath.sin,
        "cos": mpmath.cos,
        "sigmoid": lambda z: 1 / (1 + mpmath.exp(-z)),
        "softplus": lambda z: mpmath.log(1 + mpmath.exp(z)),
        "gelu": lambda z: z * mpmath.ncdf(z),
    }[name](z)


def dense(weights, name, x):
    """A network in extended precision, the values of all features."""
    h = [mpmath.mpf(float(v)) if not isinstance(v, mpmath.mpf) else v for v in x]
    for A in weights:
        h = [
            activation(
                name, sum(mpmath.mpf(float(a)) * v for a, v in zip(row[:-1], h, strict=True)) + float(row[-1])
            )
            for row in A
        ]
    return h


@pytest.mark.parametrize("name", ["tanh", "sin", "cos", "sigmoid", "softplus", "gelu"])
@pytest.mark.parametrize("orders", ORDERS)
def test_networks_against_differences_in_extended_precision(name, orders):
    for trunk in (
        SLFN(3, name, 2.0, random_state=0),
        MLP(2, depth=2, hidden=3, activation=name, random_state=0),
    ):
        trunk.fit(BOX)
        found = trunk.derivative(POINTS[:1], orders)[0]
        with mpmath.workdps(60):
            for i, value in enumerate(found):
                truth = mpmath.diff(
                    lambda x, y, i=i, trunk=trunk: dense(trunk.weights_, name, (x, y))[i],
                    tuple(map(float, POINTS[0])),
                    orders,
                )
                assert value == pytest.approx(float(truth), rel=1e-9, abs=1e-12)


def trunks():
    yield Legendre(5)
    yield Sinusoid(9, "tensor")
    yield Sinusoid(9, "cosine")
    yield Sinusoid(8, "printed")
    yield Linear() + Legendre(3)
    yield Legendre(4).zero_on_boundary()
    yield Masked(Sinusoid(4, "cosine"), sides=[(0, "low"), (1, "high")])
    yield SLFN(4, "tanh", random_state=1).zero_on_boundary() + Legendre(2)


@pytest.mark.parametrize("trunk", list(trunks()), ids=str)
@pytest.mark.parametrize("axis", [0, 1])
def test_each_order_is_the_derivative_of_the_one_before(trunk, axis):
    """By Chebyshev interpolation along a line, which is exact to rounding for these functions."""
    trunk.fit(BOX)
    np.testing.assert_allclose(trunk.derivative(POINTS, (0, 0)), trunk.transform(POINTS), atol=1e-13)
    nodes = np.cos(np.pi * (np.arange(24) + 0.5) / 24) * 0.1
    for other in (0, 1):
        for k in range(3):
            low = [other, other]
            low[axis] = k
            high = list(low)
            high[axis] += 1
            line = np.tile(np.array([1.0, 0.1]), (24, 1))
            line[:, axis] += nodes
            values = trunk.derivative(line, low)
            slope = np.polynomial.chebyshev.Chebyshev.fit
            truth = [slope(nodes, column, 16).deriv()(0.0) for column in values.T]
            found = trunk.derivative(np.array([[1.0, 0.1]]), high)[0]
            np.testing.assert_allclose(found, truth, rtol=1e-7, atol=1e-8 * max(1, np.abs(values).max()))


def test_polynomials_by_hand():
    trunk = Legendre(2).fit(np.array([[-1.0], [1.0]]))
    x = np.array([[0.3], [-0.8]])
    np.testing.assert_allclose(trunk.derivative(x, 1), np.column_stack([0 * x, 0 * x + 1, 3 * x]), atol=1e-15)
    np.testing.assert_allclose(trunk.derivative(x, (2,)), [[0, 0, 3], [0, 0, 3]], atol=1e-15)
    assert not trunk.derivative(x, (3,)).any()


def test_components():
    own = Legendre(3).fit(BOX)
    trunk = PerComponent(Legendre(3)).fit(np.column_stack([np.tile(BOX, (2, 1)), [0, 0, 1, 1]]))
    points = np.column_stack([np.repeat(POINTS, 2, axis=0), [0, 1] * 3])
    found = trunk.derivative(points, (1, 1, 0))
    truth = own.derivative(POINTS, (1, 1))
    np.testing.assert_allclose(found[::2, :10], truth)
    np.testing.assert_allclose(found[1::2, 10:], truth)
    assert not found[::2, 10:].any()
    with pytest.raises(InputError, match="component"):
        trunk.derivative(points, (0, 0, 1))


def test_what_has_no_derivatives_says_so():
    with pytest.raises(InputError, match="relu has no second derivative"):
        SLFN(3, random_state=0).fit(BOX).derivative(POINTS, (1, 1))
    assert SLFN(3, random_state=0).fit(BOX).derivative(POINTS, (1, 0)).shape == (3, 3)
    grid = np.array([[0.0], [0.5], [1.0]])
    with pytest.raises(InputError, match="POD has no derivatives"):
        POD().fit(grid, np.eye(3)).derivative(grid, 1)
    with pytest.raises(InputError, match="one number for each of the 2 coordinates"):
        Legendre(3).fit(BOX).derivative(POINTS, (1,))
    with pytest.raises(InputError, match="your own mask function"):
        Masked(Legendre(2), mask=lambda X: X[:, 0]).fit(BOX).derivative(POINTS, (1, 0))


def test_predictions_have_derivatives():
    """Of an operator that a trunk of polynomials holds exactly: s = u_0 x^2 y + u_1 y^3."""
    rng = np.random.default_rng(0)
    u, x, y = rng.normal(size=(30, 2)), *rng.uniform([[2.0], [-3.0]], [[6.0], [1.0]], size=(2, 60))
    points = np.column_stack([x, y])
    s = u[:, :1] * x**2 * y + u[:, 1:] * y**3
    model = ELMDeepONet(Linear(), Legendre(3)).fit(u, s, points=points)
    new = np.array([[3.0, 0.5], [5.0, -2.0]])
    truth = {
        (1, 0): u[:, :1] * 2 * new[:, 0] * new[:, 1],
        (0, 1): u[:, :1] * new[:, 0] ** 2 + u[:, 1:] * 3 * new[:, 1] ** 2,
        (1, 1): u[:, :1] * 2 * new[:, 0],
        (0, 2): u[:, 1:] * 6 * new[:, 1],
    }
    for orders, expected in truth.items():
        np.testing.assert_allclose(model.predict(u, points=new, derivative=orders), expected, atol=1e-8)
    at_training = model.predict(u, derivative=(1, 1))
    np.testing.assert_allclose(at_training, u[:, :1] * 2 * x, atol=1e-8)
    both = ELMDeepONet(Linear(), Legendre(3)).fit(u, {"s": s, "t": 10 * s}, points=points)
    found = both.predict(u, points=new, derivative=(0, 1))
    np.testing.assert_allclose(found["t"], 10 * truth[0, 1], atol=1e-6)
    with pytest.raises(InputError, match="POD"):
        ELMDeepONet(Linear()).fit(u, s, points=points).predict(u, derivative=(1, 0))


def test_a_degree_for_each_coordinate(tmp_path):
    """All products up to these degrees: x^3 y is there, x^2 y^2 is not; after load too."""
    rng = np.random.default_rng(0)
    u, points = rng.normal(size=(20, 2)), rng.uniform(size=(40, 2))
    x, y = points.T
    model = ELMDeepONet(Linear(), Legendre((3, 1))).fit(u, u[:, :1] * x**3 * y + u[:, 1:], points=points)
    assert model.trunk_.width_ == 8
    assert model.solution_.residual < 1e-10
    assert (
        ELMDeepONet(Linear(), Legendre((3, 1))).fit(u, u[:, :1] * x**2 * y**2, points).solution_.residual
        > 0.01
    )
    model.save(tmp_path / "tensor.elmonet")
    np.testing.assert_array_equal(load(tmp_path / "tensor.elmonet").predict(u), model.predict(u))
    with pytest.raises(InputError, match="one number for each of the 2 coordinates"):
        Legendre((3,)).fit(BOX)
