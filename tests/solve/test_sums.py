"""Sums over functions: whatever the blocks, the same as from the whole matrices."""

import numpy as np
import pytest

from elmonet.errors import InputError
from elmonet.solve import Pinv, Ridge
from elmonet.solve.problem import Span
from elmonet.solve.streamed import StreamedLeaveOneOut, solve_sums, worth_a_triangle
from elmonet.solve.sums import GramSums, TriangularSums

pytestmark = pytest.mark.numerics
rng = np.random.default_rng(0)
P1, Q, N = 12, 5, 60
B, G = rng.normal(size=(P1, N)), rng.normal(size=(Q, N))
KINDS = [GramSums, TriangularSums]
ONE = np.ones((1, 1))


def summed(kind, blocks, B=B, G=G, outside=None):
    sums = kind(len(B), len(G))
    for rows in blocks:
        sums.add(B[:, rows], G[:, rows], None if outside is None else outside[rows])
    return sums


def in_blocks(size, order=None, n=N):
    order = np.arange(n) if order is None else order
    return [order[start : start + size] for start in range(0, n, size)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("alpha", [1e-6, 0.3, 50.0])
@pytest.mark.parametrize("size", [1, 7, 60])
def test_the_ridge_is_that_of_the_whole(kind, alpha, size):
    reduced = summed(kind, in_blocks(size, rng.permutation(N))).reduced()
    whole = Ridge(alpha).solve(np.eye(Q), B, G)
    np.testing.assert_allclose(reduced.coefficients(None, alpha), whole.W, atol=1e-10)
    residual = np.linalg.norm(whole.W @ B - G) ** 2
    assert reduced.sweep(None, np.array([alpha]), ONE).squared[0] == pytest.approx(residual, rel=1e-9)
    h = np.diag(B.T @ np.linalg.solve(B @ B.T + alpha * np.eye(P1), B))
    half = reduced.half(reduced.rotated(B), alpha)
    np.testing.assert_allclose(np.sum(half**2, axis=0), h, rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("p1", [12, 90])
def test_gcv_is_that_of_the_whole(kind, p1):
    wide = rng.normal(size=(p1, N))
    alphas = np.geomspace(1e-3, 1e3, 9)
    whole = Ridge("gcv", alphas=alphas).solve(np.eye(Q), wide, G)
    found = summed(kind, in_blocks(13), wide).reduced().sweep(None, alphas, ONE).gcv
    # With p1 > N all is interpolated: Gram sums see the squares of small residuals only to eps of the whole.
    rtol = 1e-5 if kind is GramSums and p1 > N else 1e-7
    np.testing.assert_allclose(found, whole.path, rtol=rtol)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("solver", [Ridge(1e-3), Ridge(50.0), Pinv(), Ridge("gcv"), Ridge("loo")])
def test_solved(kind, solver):
    """With a trunk that does not reach all outputs."""
    T = rng.normal(size=(9, Q))
    span = Span(T)
    outputs = T @ rng.normal(size=(Q, P1)) @ B + 0.1 * rng.normal(size=(9, N))
    QtG, outside = span.project(outputs, np.linalg.norm(outputs, axis=0))
    sums = summed(kind, in_blocks(11), B, QtG, outside)
    solution, factor, alphas = solve_sums(sums, span, solver)
    expected = Ridge(solution.alpha).solve(T, B, outputs)
    np.testing.assert_allclose(solution.W, expected.W, rtol=1e-6)
    np.testing.assert_allclose(solution.lift @ solution.C, solution.W)
    assert solution.residual == pytest.approx(expected.residual, rel=1e-8)
    assert solution.error_kind == "gcv"
    assert solution.expected_error == pytest.approx(expected.expected_error, rel=1.0)
    assert solution.method == sums.method
    if isinstance(solver, Ridge) and solver.alpha == "loo":
        left_out = StreamedLeaveOneOut(factor, alphas, 9)
        parts = [
            left_out.totals(B[:, rows], QtG[:, rows], outside[rows], np.linalg.norm(outputs[:, rows], axis=0))
            for rows in in_blocks(23)
        ]
        alpha, error = left_out.best(sum(parts))
        assert error == pytest.approx(Ridge(alpha).solve(T, B, outputs).loo_error, rel=1e-8)
        groups, norms = np.arange(N) // 4, np.linalg.norm(outputs, axis=0)  # each in one of the parts
        parts = [
            left_out.totals(B[:, own], QtG[:, own], outside[own], norms[own], groups[own])
            for own in np.split(np.arange(N), [12, 40])
        ]
        alpha, error = left_out.best(sum(parts))
        grouped = Ridge(alpha).solve(T, B, outputs, groups=groups)
        assert error == pytest.approx(grouped.expected_error, rel=1e-8)


def test_only_these_solvers():
    with pytest.raises(InputError, match='penalty="C"'):
        solve_sums(summed(GramSums, in_blocks(7)), Span(np.eye(Q)), Ridge(penalty="W"))


@pytest.mark.parametrize("kind", KINDS)
def test_merged_in_any_order(kind):
    parts = [summed(kind, [block], outside=np.ones(N)) for block in in_blocks(17)]
    total = kind(P1, Q)
    for part in reversed(parts):
        total.merge(kind.of(part.arrays()))
    whole = summed(kind, in_blocks(N))
    np.testing.assert_allclose(
        total.reduced().coefficients(None, 0.1), whole.reduced().coefficients(None, 0.1), atol=1e-12
    )
    assert total.functions == N
    assert total.outside == pytest.approx(N)


def test_small_directions_survive_in_the_triangle_only():
    B = np.diag(np.geomspace(1, 1e-12, P1)) @ np.linalg.qr(rng.normal(size=(N, P1)))[0].T
    C = rng.normal(size=(Q, P1))
    exact = summed(TriangularSums, in_blocks(11), B, C @ B).reduced()
    np.testing.assert_allclose(exact.coefficients(None, 1e-32) @ B, C @ B, atol=1e-13)
    assert exact.rank == P1
    assert summed(GramSums, in_blocks(11), B, C @ B).reduced().rank < P1
    assert worth_a_triangle(summed(TriangularSums, in_blocks(11), B, C @ B), Ridge("loo"))
    noisy = C @ B + rng.normal(size=(Q, N))
    assert not worth_a_triangle(summed(TriangularSums, in_blocks(11), B, noisy), Ridge("loo"))


def test_residuals_keep_their_digits():
    """Squares were subtracted: a residual of 1e-12 came out as 3e-8."""
    C = rng.normal(size=(Q, P1))
    T = np.linalg.qr(rng.normal(size=(9, Q)))[0]
    outputs = T @ C @ B
    span = Span(T)
    sums = summed(TriangularSums, in_blocks(11), B, *span.project(outputs, np.linalg.norm(outputs, axis=0)))
    solution, _, _ = solve_sums(sums, span, Ridge("loo"))
    assert solution.residual < 1e-13
    raw = summed(TriangularSums, in_blocks(11), B, outputs).projected(span.Q)
    assert solve_sums(raw, span, Ridge("loo"))[0].residual < 1e-13
    # Gram sums say no less than what they can know.
    gram = summed(GramSums, in_blocks(11), B, outputs).projected(span.Q)
    found = solve_sums(gram, span, Ridge(1e-9))[0].residual
    assert 1e-9 < found < 1e-6


def test_a_triangle_becomes_gram_sums():
    sums = summed(TriangularSums, in_blocks(11), outside=np.ones(N)).gram()
    whole = summed(GramSums, in_blocks(11))
    np.testing.assert_allclose(np.tril(sums.BBt), np.tril(whole.BBt), atol=1e-12)
    np.testing.assert_allclose(sums.R.T @ sums.R, whole.R.T @ whole.R, atol=1e-12)
    np.testing.assert_allclose(sums.GBt, whole.GBt, atol=1e-12)
    assert sums.functions == sums.outside == N


@pytest.mark.parametrize("kind", KINDS)
def test_the_outputs_own_modes(kind):
    low = rng.normal(size=(Q, 2)) @ rng.normal(size=(2, N))
    modes, values, _ = np.linalg.svd(summed(kind, in_blocks(9), B, low).outputs())
    U, s, _ = np.linalg.svd(low)
    np.testing.assert_allclose(values[:2], s[:2], rtol=1e-12)
    np.testing.assert_allclose(np.abs(modes[:, :2].T @ U[:, :2]), np.eye(2), atol=1e-10)


@pytest.mark.parametrize("n", [3, 10, 17])
@pytest.mark.parametrize("solver", [Ridge("loo"), Ridge(0.1), Pinv()])
@pytest.mark.filterwarnings("ignore::elmonet.errors.InterpolationThresholdWarning")
def test_few_functions_are_an_ordinary_fit(n, solver):
    """At most p1 + q of them are kept as they came: the same solution, with exact leave-one-out."""
    T = rng.normal(size=(9, Q))
    span, outputs = Span(T), rng.normal(size=(9, n))
    QtG, outside = span.project(outputs, np.linalg.norm(outputs, axis=0))
    whole = solver.solve(T, B[:, :n], outputs)
    raw = summed(TriangularSums, in_blocks(4, n=n), B, outputs)
    for sums in (summed(TriangularSums, in_blocks(4, n=n), B, QtG, outside), raw.projected(span.Q)):
        again = TriangularSums.of(sums.arrays())
        solution, _, _ = solve_sums(again, span, solver)
        assert solution.error_kind == "leave-one-out"
        np.testing.assert_allclose(solution.errors, whole.errors, rtol=1e-9)
        np.testing.assert_allclose(solution.W, whole.W, rtol=1e-8, atol=1e-10)
        assert solution.method == whole.method


def test_from_few_to_many():
    """The rows become a triangle once there are more than it has."""
    sums = TriangularSums(P1, Q)
    for rows in in_blocks(5):
        sums.add(B[:, rows], G[:, rows], np.ones(len(rows)))
        assert (sums.rows is None) == (sums.functions > P1 + Q)
        assert len(sums.R) <= P1 + Q
    np.testing.assert_allclose(sums.R.T @ sums.R, np.vstack([B, G]) @ np.vstack([B, G]).T, atol=1e-12)
    assert sums.outside == N


def test_files_of_before_hold_a_triangle_of_few_functions():
    R = np.linalg.qr(np.vstack([np.vstack([B, G])[:, :8].T, np.zeros((9, P1 + Q))]), mode="r")
    sums = TriangularSums.of({"R": R, "p1": np.array(P1), "functions": np.array(8)})
    solution, _, _ = solve_sums(sums, Span(np.eye(Q)), Ridge(0.1))
    np.testing.assert_allclose(solution.W, Ridge(0.1).solve(np.eye(Q), B[:, :8], G[:, :8]).W, atol=1e-10)
