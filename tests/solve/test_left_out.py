"""Predictions by leaving out, against refits."""

import numpy as np
import pytest

from elmonet.solve import Pinv, Ridge, left_out_predictions


@pytest.mark.parametrize("p1", [5, 40])
@pytest.mark.parametrize("alpha", [1e-20, 1e-3, 10.0])
def test_equals_refits(p1, alpha):
    rng = np.random.default_rng(p1)
    T, B, G = rng.normal(size=(9, 4)), rng.normal(size=(p1, 15)), rng.normal(size=(9, 15))
    predicted = left_out_predictions(T, B, G, alpha)
    for i in range(15):
        rest = np.arange(15) != i
        W = Ridge(alpha).solve(T, B[:, rest], G[:, rest]).W
        np.testing.assert_allclose(predicted[:, i], T @ W @ B[:, i], atol=1e-8)
    errors = np.linalg.norm(predicted - G, axis=0) / np.linalg.norm(G, axis=0)
    solution = Ridge(alpha).solve(T, B, G)
    assert solution.loo_error == pytest.approx(errors.mean(), rel=1e-7)
    np.testing.assert_allclose(solution.loo_errors, errors, rtol=1e-6)


def test_the_limit_is_the_pseudoinverse():
    rng = np.random.default_rng(0)
    T, B, G = rng.normal(size=(9, 4)), rng.normal(size=(5, 15)), 1e200 * rng.normal(size=(9, 15))
    predicted = left_out_predictions(T, B, G, 0.0)
    W = Pinv().solve(T, B[:, 1:], G[:, 1:]).W
    np.testing.assert_allclose(predicted[:, 0], T @ W @ B[:, 0], rtol=1e-8)


def test_nothing_to_go_by():
    assert not left_out_predictions(np.ones((3, 1)), np.zeros((2, 4)), np.ones((3, 4)), 1.0).any()


def test_errors_may_be_relative_to_something_else():
    rng = np.random.default_rng(1)
    T, B, G = rng.normal(size=(9, 4)), rng.normal(size=(5, 15)), rng.normal(size=(9, 15))
    reference = rng.uniform(1, 2, size=15)
    left_out = np.linalg.norm(left_out_predictions(T, B, G, 0.1) - G, axis=0)
    for solver in (Ridge(0.1), Ridge("loo", alphas=[0.1])):
        solution = solver.solve(T, B, G, reference=reference)
        assert solution.loo_error == pytest.approx(np.mean(left_out / reference), rel=1e-7)
    left_out = np.linalg.norm(left_out_predictions(T, B, G, 0.0) - G, axis=0)
    assert Pinv().solve(T, B, G, reference).loo_error == pytest.approx(
        np.mean(left_out / reference), rel=1e-7
    )
