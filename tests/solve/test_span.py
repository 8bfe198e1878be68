"""The trunk's span, where cancellation would show."""

import numpy as np
import pytest

from elmonet.features import SLFN, Legendre, Sinusoid
from elmonet.solve import Ridge
from elmonet.solve.problem import Span

pytestmark = pytest.mark.numerics


@pytest.mark.parametrize("outside", [1.0, 1e-4, 1e-9, 1e-14, 0.0])
def test_what_lies_outside_is_accurate_however_small(outside):
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(40, 40)))[0]
    inside, beyond = Q[:, :6] @ rng.normal(size=(6, 9)), Q[:, 6:8] @ rng.normal(size=(2, 9))
    G = inside + outside * beyond
    span = Span(Q[:, :6] @ rng.normal(size=(6, 11)))
    QtG, found = span.project(G, np.linalg.norm(G, axis=0))
    assert span.rank == 6
    np.testing.assert_allclose(found, outside * np.linalg.norm(beyond, axis=0), rtol=1e-8, atol=1e-14)
    np.testing.assert_allclose(span.Q @ QtG, inside, atol=1e-13)


def test_orthonormal_trunks_are_left_alone():
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(20, 5)))[0]
    span = Span(Q)
    assert span.Q is Q
    assert span.lifting is None
    C = np.ones((5, 3))
    assert span.lift(C) is C
    assert Span(2 * Q).Q is not Q
    solution = Ridge(0.1).solve(Q, np.eye(3), np.ones((20, 3)))
    assert solution.lift is None
    assert solution.W is solution.C
    assert solution.basis is Q


POINTS, BETWEEN = np.linspace(0, 1, 50)[:, None], np.linspace(0, 1, 701)[:, None]
TRUNKS = [Sinusoid(40), Sinusoid(100), Legendre(30), SLFN(60, "tanh", 1.0, random_state=0)]


def smooth(points, n, seed):
    """Functions of six shapes and their coefficients: (M, n) and (6, n)."""
    x, c = points[:, 0], np.random.default_rng(seed).normal(size=(6, n))
    shapes = np.stack([np.exp(x), np.exp(-2 * x), np.sin(3 * x), np.cos(4 * x), x**2, 1 / (2 + x)], axis=1)
    return shapes @ c, c


@pytest.mark.parametrize("trunk", TRUNKS)
@pytest.mark.parametrize("noise", [0.0, 1e-3])
def test_order_of_functions_changes_nothing_through_a_nearly_dependent_trunk(trunk, noise):
    """W of 1e9 changed predictions by 1e-5 to 3e-3."""
    G, c = smooth(POINTS, 120, 0)
    rng = np.random.default_rng(1)
    G = G + noise * rng.normal(size=G.shape)
    B = np.vstack([c, 0.1 * np.tanh(rng.normal(size=(200, 6)) @ c)])
    trunk.fit(POINTS, None)
    T, t = trunk.transform(POINTS), trunk.transform(BETWEEN)
    first, *others = (
        Ridge("loo").solve(T, B[:, order], G[:, order])
        for order in (np.arange(120), rng.permutation(120), np.arange(120)[::-1])
    )
    for other in others:
        at_points = [s.basis @ (s.C @ B) for s in (first, other)]
        between = [(t @ s.lift) @ (s.C @ B) for s in (first, other)]
        for one, two in (at_points, between):
            assert np.abs(one - two).max() <= 1e-10 * np.abs(G).max()


@pytest.mark.parametrize("trunk", [Sinusoid(40), Legendre(30)])
def test_between_the_points_nothing_is_thrown_away(trunk):
    """A larger cut-off loses digits: what rounding adds to a direction is less than the direction itself."""
    G, c = smooth(POINTS, 60, 0)
    trunk.fit(POINTS, None)
    solution = Ridge("loo").solve(trunk.transform(POINTS), c, G)
    predicted = (trunk.transform(BETWEEN) @ solution.lift) @ (solution.C @ c)
    truth, _ = smooth(BETWEEN, 60, 0)
    assert np.abs(predicted - truth).max() < 1e-11 * np.abs(truth).max()
