"""Relations that hold for every T, B and G, tried on many."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elmonet import NumericsWarning
from elmonet.solve import Pinv, Ridge

pytestmark = pytest.mark.numerics
sizes = st.integers(1, 12)
solvers = st.sampled_from(
    [Pinv(), Ridge(1e-3), Ridge(10.0, penalty="W"), Ridge("loo"), Ridge("gcv"), Ridge("loo", penalty="W")]
)


@st.composite
def problems(draw):
    M, p2, p1, N = (draw(sizes) for _ in range(4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    T, B, G = rng.normal(size=(M, p2)), rng.normal(size=(p1, N)), rng.normal(size=(M, N))
    if draw(st.booleans()):  # graded, so that some directions are nearly lost
        B *= np.geomspace(1, 10.0 ** -draw(st.integers(0, 12)), p1)[:, None]
    if draw(st.booleans()) and N > 1:
        B[:, -1], G[:, -1] = B[:, 0], G[:, 0]
    return T, B, G


def solve(solver, *matrices):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumericsWarning)
        return solver.solve(*matrices)


@settings(max_examples=300)
@given(problems(), solvers)
def test_everything_is_finite_and_consistent(matrices, solver):
    T, B, G = matrices
    solution = solve(solver, T, B, G)
    assert solution.W.shape == (T.shape[1], len(B))
    numbers = [solution.residual, solution.loo_error, solution.condition, solution.alpha]
    assert np.isfinite(solution.W).all()
    assert np.isfinite(numbers).all()
    assert solution.condition >= 1 - 1e-9
    residual = np.linalg.norm(T @ solution.W @ B - G) / np.linalg.norm(G)
    np.testing.assert_allclose(solution.residual, residual, rtol=1e-3, atol=1e-9)


@settings(max_examples=100)
@given(problems(), st.sampled_from([Ridge(0.1), Ridge(0.1, penalty="W"), Ridge("loo")]), st.randoms())
def test_the_order_of_functions_does_not_matter(matrices, solver, random):
    T, B, G = matrices
    order = list(range(B.shape[1]))
    random.shuffle(order)
    one, other = solve(solver, T, B, G), solve(solver, T, B[:, order], G[:, order])
    np.testing.assert_allclose(one.loo_error, other.loo_error, rtol=1e-3, atol=1e-9)


@settings(max_examples=100)
@given(problems())
def test_a_function_seen_twice_weighs_twice(matrices):
    T, B, G = matrices
    twice = solve(Ridge(0.3), T, np.hstack([B, B]), np.hstack([G, G]))
    once = solve(Ridge(0.15), T, B, G)
    np.testing.assert_allclose(T @ twice.W, T @ once.W, atol=1e-7)


@settings(max_examples=100)
@given(problems())
def test_more_alpha_more_residual(matrices):
    T, B, G = matrices
    residuals = [solve(Ridge(a), T, B, G).residual for a in (1e-6, 1e-3, 1.0, 1e3)]
    assert all(a <= b + 1e-9 for a, b in pairwise(residuals))
