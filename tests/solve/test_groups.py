"""Groups are left out as a whole: against real refits without them."""

import numpy as np
import pytest

from elmonet import Pinv, Ridge

pytestmark = pytest.mark.numerics


def refits(T, B, G, groups, solver):
    """What fits without each group say of its functions, (M, N)."""
    found = np.empty_like(G)
    for own in np.unique(groups):
        rest = groups != own
        W = solver.solve(T, B[:, rest], G[:, rest]).W
        found[:, ~rest] = T @ W @ B[:, ~rest]
    return found


@pytest.fixture
def data():
    rng = np.random.default_rng(0)

    def data(p1, N=40, M=12, p2=5):
        T, B = rng.normal(size=(M, p2)), rng.normal(size=(p1, N))
        G = T @ rng.normal(size=(p2, p1)) @ B / np.sqrt(p1) + 0.1 * rng.normal(size=(M, N))
        return T, B, G, rng.integers(0, 12, N)

    return data


@pytest.mark.parametrize("p1", [10, 39, 40, 80])
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("penalty", ["C", "W"])
def test_leave_group_out_is_that_of_refits(data, p1, alpha, penalty):
    T, B, G, groups = data(p1)
    solver = Ridge(alpha, penalty=penalty)
    solution = solver.solve(T, B, G, groups=groups)
    truth = refits(T, B, G, groups, solver)
    np.testing.assert_allclose(solution.left_out(), truth, rtol=0, atol=1e-8 * np.abs(truth).max())
    errors = np.linalg.norm(truth - G, axis=0) / np.linalg.norm(G, axis=0)
    np.testing.assert_allclose(solution.errors, errors, rtol=1e-7)
    assert solution.expected_error == pytest.approx(errors.mean(), rel=1e-7)
    assert solution.error_kind == "leave-group-out"


@pytest.mark.parametrize("p1", [10, 80])
def test_alpha_is_chosen_by_groups(data, p1):
    T, B, G, groups = data(p1)
    solution = Ridge("loo").solve(T, B, G, groups=groups)
    for alpha, error in zip(solution.alphas[::4], solution.path[::4], strict=True):
        truth = refits(T, B, G, groups, Ridge(alpha))
        honest = np.mean(np.linalg.norm(truth - G, axis=0) / np.linalg.norm(G, axis=0))
        assert error == pytest.approx(honest, rel=1e-6)


def test_pseudoinverses_leave_groups_out(data):
    T, B, G, groups = data(10)
    truth = refits(T, B, G, groups, Pinv())
    np.testing.assert_allclose(Pinv().solve(T, B, G, groups=groups).left_out(), truth, atol=1e-8)


def test_groups_of_one_are_functions(data):
    T, B, G, _ = data(30)
    one, other = (Ridge(0.1).solve(T, B, G, groups=own) for own in (None, np.arange(40)[::-1]))
    np.testing.assert_allclose(one.left_out(), other.left_out(), atol=1e-10)


@pytest.mark.parametrize("p1", [10, 80])
def test_repeats_in_one_group_are_left_out_together(data, p1):
    """A function that is there five times is as hard to predict as if it were there once."""
    T, B, G, _ = data(p1, N=20)
    five = np.repeat(np.arange(20), 5)
    solution = Ridge(0.5).solve(T, B[:, five], G[:, five], groups=five)
    once = refits(T, B, G, np.arange(20), Ridge(0.1))  # five times the data: five times the alpha
    np.testing.assert_allclose(solution.left_out(), once[:, five], atol=1e-9)
