"""The trunk's span, where cancellation would show."""

import numpy as np
import pytest

from elmonet.solve.span import Span


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
    C = np.ones((5, 3))
    assert span.lift(C) is C
    assert Span(2 * Q).Q is not Q
