"""Predictions by leaving out, from the kept factor, against refits."""

import numpy as np
import pytest

from elmonet.solve import Pinv, Ridge, Solution

pytestmark = pytest.mark.numerics


@pytest.mark.parametrize("p1", [5, 40])
@pytest.mark.parametrize("penalty", ["C", "W"])
@pytest.mark.parametrize("alpha", [1e-20, 1e-3, 10.0])
def test_equals_refits(p1, alpha, penalty):
    rng = np.random.default_rng(p1)
    T, B, G = rng.normal(size=(9, 4)), rng.normal(size=(p1, 15)), rng.normal(size=(9, 15))
    solver = Ridge(alpha, penalty=penalty)
    solution = solver.solve(T, B, G)
    predicted = solution.left_out()
    for i in range(15):
        rest = np.arange(15) != i
        W = solver.solve(T, B[:, rest], G[:, rest]).W
        np.testing.assert_allclose(predicted[:, i], T @ W @ B[:, i], atol=1e-8)
    errors = np.linalg.norm(predicted - G, axis=0) / np.linalg.norm(G, axis=0)
    assert solution.expected_error == solution.loo_error == pytest.approx(errors.mean(), rel=1e-7)
    assert solution.error_kind == "leave-one-out"
    np.testing.assert_allclose(solution.errors, errors, rtol=1e-6)


@pytest.mark.parametrize("branch", [(5, 15), (40, 15)])
@pytest.mark.parametrize("penalty", ["C", "W"])
def test_after_a_choice(branch, penalty):
    rng = np.random.default_rng(3)
    T, B = rng.normal(size=(9, 4)), rng.normal(size=branch)
    G = T @ rng.normal(size=(4, branch[0])) @ B + rng.normal(size=(9, 15))
    chosen = Ridge("loo", penalty=penalty).solve(T, B, G)
    again = Ridge(chosen.alpha, penalty=penalty).solve(T, B, G)
    np.testing.assert_allclose(chosen.left_out(), again.left_out(), rtol=1e-6)


@pytest.mark.parametrize("shape", [(5, 15), (40, 15)])
def test_the_limit_is_the_pseudoinverse(shape):
    rng = np.random.default_rng(0)
    T, B, G = rng.normal(size=(9, 4)), rng.normal(size=shape), 1e200 * rng.normal(size=(9, 15))
    predicted = Pinv().solve(T, B, G).left_out()
    W = Pinv().solve(T, B[:, 1:], G[:, 1:]).W
    np.testing.assert_allclose(predicted[:, 0], T @ W @ B[:, 0], rtol=1e-8)


@pytest.mark.filterwarnings("ignore::elmonet.errors.RankCollapseWarning")
def test_nothing_to_go_by():
    assert not Ridge(1.0).solve(np.ones((3, 1)), np.zeros((2, 4)), np.ones((3, 4))).left_out().any()


def test_errors_may_be_relative_to_something_else():
    rng = np.random.default_rng(1)
    T, B, G = rng.normal(size=(9, 4)), rng.normal(size=(5, 15)), rng.normal(size=(9, 15))
    sizes = rng.uniform(1, 2, size=15)
    for solver in (Ridge(0.1), Ridge("loo", alphas=[0.1]), Pinv()):
        solution = solver.solve(T, B, G, sizes=sizes)
        left_out = np.linalg.norm(solution.left_out() - G, axis=0)
        assert solution.expected_error == pytest.approx(np.mean(left_out / sizes), rel=1e-7)


def test_a_solution_of_ones_own():
    solution = Solution(np.ones((2, 3)))
    with pytest.raises(AttributeError, match="keeps no factor"):
        solution.left_out()
    with pytest.raises(AttributeError, match="not known"):
        _ = solution.loo_error
    with pytest.raises(AttributeError, match=r"'gcv', not by leaving out\. Read errors"):
        _ = Solution(np.ones((2, 3)), expected_error=0.1, error_kind="gcv").loo_errors
