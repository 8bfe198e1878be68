"""The solver's algebra against dense least squares: Gauss-Newton, and the joint problem of both steps."""

import numpy as np
import pytest

from elmonet import ELMDeepONet, Legendre, Linear, Ridge
from elmonet.physics import PDE, Box
from elmonet.physics import least_squares as factors
from elmonet.physics.discretise import ResidualBlock
from elmonet.physics.fields import PolynomialBasis, Symbols
from elmonet.physics.least_squares import CollocationSystem

pytestmark = pytest.mark.numerics

X = np.linspace(0, 1, 30)


def system(residual, values, degree, d=1):
    """An equation in x (and y) with s = 0 at x = 0, and numbers k as inputs."""
    box = Box(**dict.fromkeys("xy"[:d], (0, 1)))
    degrees, names = (degree,) * d, Symbols(box.names, ("",), ("k",))
    basis = PolynomialBasis(box.corners, degrees, box.periodic)
    parts = (residual, box.inside(degrees)), (lambda s, u: s, box.part("x=0", degrees))
    blocks = [ResidualBlock(own, part, names, basis) for own, part in parts]
    u = {("k", ""): np.asarray(values, float)[:, None]}
    inputs = [{key: u[key] for key in block.input_keys} for block in blocks]
    return CollocationSystem(blocks, inputs, len(values), basis.width_), basis


def jacobian(own, c, i):
    """By central differences, exact up to rounding: the residuals are polynomials of degree 2 in c."""
    columns = []
    for j in range(len(c)):
        step = np.zeros_like(c)
        step[j] = 0.5
        ends = (own.residuals((c + sign * step)[None], [i])[0] for sign in (1, -1))
        columns.append(np.subtract(*ends))
    return np.column_stack(columns)


def gauss_newton(own, i, steps=20):
    c = np.zeros(own.width)
    for _ in range(steps):
        step = np.linalg.lstsq(jacobian(own, c, i), own.residuals(c[None], [i])[0])[0]
        c = c - step
        if np.abs(step).max() < 1e-12 * np.abs(c).max():
            break
    return c


LITTLE, MUCH = 1 + 0.01 * np.arange(8), 10.0 ** np.linspace(-2, 2, 4)
LINEAR = [lambda s, u: s.x + u.k * s - 1, lambda s, u, y: s.x + u.k * (y * s.y + s) - 1 - y]
SQUARED = [lambda s, u: s.x + u.k * s + s**2 - 1, lambda s, u, y: s.x + u.k * (y * s.y + s) + s**2 - 1 - y]
CASES = [(LITTLE, 1, 12), (MUCH, 2, 7)]


@pytest.mark.parametrize("residuals", [LINEAR, SQUARED], ids=["linear", "squared"])
@pytest.mark.parametrize(("values", "d", "degree"), CASES, ids=["alike", "different"])
def test_against_dense_gauss_newton(values, d, degree, residuals, monkeypatch):
    """Functions that are alike share a preconditioner; where they differ much, each is solved directly."""
    direct = []
    solve = factors._least_squares
    monkeypatch.setattr(factors, "_least_squares", lambda J, f: direct.append(1) or solve(J, f))
    own, _ = system(residuals[d - 1], values, degree, d)
    found = own.solve(None)
    assert found.converged.all()
    assert bool(direct) == (values is MUCH)
    dense = np.array([gauss_newton(own, i) for i in range(len(values))])
    np.testing.assert_allclose(found.c, dense, atol=1e-8 * np.abs(dense).max())


def test_the_jacobian_and_its_products():
    own, _ = system(lambda s, u: s.x * s + u.k * s.x - 1, [1.0, 2.0], degree=5)
    c = np.random.default_rng(0).normal(size=(1, own.width))
    slopes = own.slopes(c, [1])
    J = jacobian(own, c[0], 1)
    np.testing.assert_allclose(own.dense(slopes), J, atol=1e-10)
    d = np.random.default_rng(1).normal(size=(1, own.width))
    np.testing.assert_allclose(own.times(slopes, d)[0], J @ d[0], atol=1e-10)
    r = np.random.default_rng(2).normal(size=(1, len(J)))
    np.testing.assert_allclose(own.transposed(slopes, r)[0], J.T @ r[0], atol=1e-10)


def joint(A, F, B):
    """min ||A W B - F|| over W (p, q) by dense least squares: vec(A W B) = (B^T x A) vec(W)."""
    W = np.linalg.lstsq(np.kron(B.T, A), F.T.ravel())[0]
    return W.reshape(B.shape[0], A.shape[1]).T


@pytest.mark.parametrize("d", [1, 2])
def test_two_steps_are_the_joint_least_squares_problem(d):
    """W = A^+ F B^+: the solver's coefficients, then a small branch B of 4 features for 7 functions."""
    rng = np.random.default_rng(0)
    residual = [lambda s, u, x: s.x + s - u.k * np.exp(x), lambda s, u, x, y: s.x + s.y - u.k * np.exp(x * y)]
    own, _ = system(residual[d - 1], rng.normal(size=7), degree=4, d=d)
    found = own.solve(None)
    assert found.shared
    zero = np.zeros((1, own.width))
    A = own.dense(own.slopes(zero, slice(0, 1)))
    F = -own.residuals(np.repeat(zero, 7, axis=0), slice(None)).T
    B = rng.normal(size=(4, 7))
    np.testing.assert_allclose(found.c.T @ np.linalg.pinv(B), joint(A, F, B), atol=1e-9)


def test_a_model_is_the_joint_least_squares_problem():
    """The same through `PDE.solve` and `ELMDeepONet` with a Legendre trunk: its values at new points."""
    rng = np.random.default_rng(0)
    waves = np.cos(np.outer(np.arange(1, 5), X))
    u, new = (rng.normal(size=(n, 4)) @ waves for n in (7, 3))
    pde = PDE(Box(x=(0, 1)), lambda s, u: s.x + s - u, {"x=0": lambda s, u: s}, degree=4)
    pairs = pde.solve(u, X, X)
    model = ELMDeepONet(Linear(), Legendre(4), solver=Ridge(0.0)).fit(u, pairs.s_train, points=X)

    # By hand: Legendre polynomials and their derivatives, Gauss points, and the weights of the rows.
    P = np.polynomial.legendre
    where = (1 + P.leggauss(8)[0]) / 2
    T = P.legvander(2 * where - 1, 4)
    slopes = np.column_stack([2 * P.legval(2 * where - 1, P.legder(row)) for row in np.eye(5)])
    rows, end = slopes + T, P.legvander(np.array([-1.0]), 4)
    weigh = [1 / np.sqrt(np.mean(np.sum(rows**2, axis=1))), 10 / np.linalg.norm(end)]
    A = np.concatenate([weigh[0] * rows, weigh[1] * end])
    basis = np.linalg.svd(u, full_matrices=False)[2][:4]  # any coordinates of the four waves
    F = np.concatenate([weigh[0] * (u @ pinv_to(where)).T, np.zeros((1, 7))])
    W = joint(A, F, basis @ u.T)
    by_hand = (P.legvander(2 * X - 1, 4) @ W @ basis @ new.T).T
    np.testing.assert_allclose(model.predict(new), by_hand, atol=1e-8)


def pinv_to(where):
    """From values at X to values elsewhere, exact for these four waves."""
    waves = np.arange(1, 5)
    return np.linalg.pinv(np.cos(np.outer(waves, X))) @ np.cos(np.outer(waves, where))
