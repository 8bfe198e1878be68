"""The unaligned problem, directly and by iteration, against dense least squares and the aligned solver."""

import numpy as np
import pytest

from elmonet.solve import Ridge
from elmonet.solve.gaps import FeatureGram, Gaps, is_complete, solved_directly
from elmonet.solve.observations import AlphaChoice, AtScatteredPoints, Unaligned, WithGaps, folds
from elmonet.solve.problem import Span
from elmonet.solve.spectral import Spectrum

pytestmark = pytest.mark.numerics

M, r = 20, 5
SHAPES = {"primal": (12, 30), "dual": (40, 30), "between": (20, 30)}  # p1, N


def at(alpha):
    return AlphaChoice(alpha, 0.0, np.array([alpha]), np.array([0.0]))


def made(p1, N, rank=r, seed=0):
    rng = np.random.default_rng(seed)
    B, C = rng.normal(size=(p1, N)), rng.normal(size=(rank, p1))
    Q = np.linalg.qr(rng.normal(size=(M, rank)))[0]
    return rng, Q, B, (Q @ C @ B).T + 0.1 * rng.normal(size=(N, M))


@pytest.fixture(scope="module")
def case():
    return made(*SHAPES["primal"])


def dense(rows, B, function, values, alpha):
    """C by least squares with the whole Kronecker matrix, a row for every value and one for every penalty."""
    A = np.stack([np.kron(row, B[:, i]) for row, i in zip(rows, function, strict=True)])
    penalty = np.sqrt(alpha) * np.eye(A.shape[1])
    target = np.concatenate([values, np.zeros(A.shape[1])])
    return np.linalg.lstsq(np.vstack([A, penalty]), target, rcond=None)[0].reshape(rows.shape[1], len(B))


# Gaps, solved directly --------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [1e-3, 0.3, 50.0])
@pytest.mark.parametrize("rank", [r, M])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("together", [True, False])
def test_gaps(monkeypatch, alpha, rank, shape, together):
    """All missing values in one system, or point by point, with more missing than known and the reverse."""
    rng, Q, B, G = made(*SHAPES[shape], rank)
    known = rng.random(G.shape) < np.linspace(0.2, 0.9, M)
    monkeypatch.setattr("elmonet.solve.gaps._MAX_JOINT_GAPS", 10**6 if together else 0)
    features = FeatureGram(B)
    if not together and (rank < M or shape == "primal"):
        assert not solved_directly(Q, known, features, alpha)
        return
    assert solved_directly(Q, known, features, alpha)
    function, place = np.nonzero(known)
    fit = Gaps(Q, known, features, np.where(known, G, np.nan)).fit(at(alpha))
    expected = dense(Q[place], B, function, G[known], alpha)
    np.testing.assert_allclose(fit.C, expected, rtol=0, atol=1e-8 * np.abs(expected).max())
    missed = np.einsum("kr,rk->k", Q[place], fit.C @ B[:, function]) - G[known]
    assert fit.residual == pytest.approx(np.linalg.norm(missed) / np.linalg.norm(G[known]), rel=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rank", [r, M])
def test_one_gap_and_a_function_without_values(shape, rank):
    _, Q, B, G = made(*SHAPES[shape], rank)
    known = np.ones(G.shape, bool)
    known[3, 7] = known[11] = False
    function, place = np.nonzero(known)
    fit = Gaps(Q, known, FeatureGram(B), np.where(known, G, np.nan)).fit(at(0.1))
    expected = dense(Q[place], B, function, G[known], 0.1)
    np.testing.assert_allclose(fit.C, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_alphas_that_a_gram_matrix_does_not_resolve():
    """FeatureGram over eight decades: alpha is far below their squares' rounding."""
    rng, Q, B, _ = made(12, 30)
    B *= np.geomspace(1, 1e-8, 12)[:, None]
    C = rng.normal(size=(r, 12)) / np.geomspace(1, 1e-8, 12)
    G = (Q @ C @ B).T
    known = rng.random(G.shape) < 0.9
    fit = Gaps(Q, known, FeatureGram(B), np.where(known, G, np.nan)).fit(at(1e-22))
    assert fit.method == "svd"
    np.testing.assert_allclose(fit.C, C, rtol=1e-4)


def test_the_search_goes_below_a_gram_matrix_only_for_a_reason(monkeypatch):
    rng, Q, B, G = made(40, 30)
    known = rng.random(G.shape) < 0.95
    monkeypatch.setattr(Spectrum, "from_svd", None)
    assert Gaps(Q, known, FeatureGram(B), G).choose().alpha > 0  # noise gives none
    monkeypatch.undo()
    B = rng.normal(size=(12, 30)) * np.geomspace(1, 1e-8, 12)[:, None]
    exact = (Q @ (rng.normal(size=(r, 12)) / np.geomspace(1, 1e-8, 12)) @ B).T
    choice = Gaps(Q, known, FeatureGram(B), exact).choose()
    assert choice.alpha < 1e-12 * FeatureGram(B).largest
    assert choice.error < 1e-6


@pytest.mark.parametrize("alpha", [1e-8, 1e-12, 1e-14, 1e-16, 1e-40, 1e-300])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("few", [True, False])
def test_gaps_with_hardly_any_ridge_and_more_features_than_functions(alpha, seed, few):
    """It raised "K + alpha is not positive", or missed by 1e-16 / alpha: I - H is as small as rounding."""
    rng, Q, B, G = made(40, 30, M, seed)
    known = rng.random(G.shape) < (0.97 if few else 0.4)
    known[0] = True
    alpha = alpha * np.linalg.norm(B.T @ B)
    fit = Gaps(Q, known, FeatureGram(B), np.where(known, G, np.nan)).fit(at(alpha))
    for j, own in enumerate(known.T):  # Q is square: each point is a ridge regression by itself
        U, s, Vt = np.linalg.svd(B[:, own], full_matrices=False)
        weights = U @ (s / (s**2 + alpha) * (Vt @ G[own, j]))
        np.testing.assert_allclose((Q @ fit.C @ B)[j], B.T @ weights, rtol=0, atol=1e-10 * np.abs(G).max())


@pytest.mark.parametrize("alpha", [1e-6, 1e-12, 1e-14, 1e-16, 1e-40])
@pytest.mark.parametrize("part", [0.97, 0.5, 0.3, 0.15])
@pytest.mark.parametrize("rank", [r, 12, M - 1])
def test_hardly_any_ridge_and_fewer_values_than_coefficients(alpha, part, rank):
    """It missed by 1e-17 / alpha: other functions decide what a function with too few values leaves open."""
    rng, Q, B, G = made(40, 20, rank)
    known = rng.random(G.shape) < part
    known[0] = True
    alpha = alpha * np.linalg.norm(B.T @ B)
    function, place = np.nonzero(known)
    A = np.stack([np.kron(row, B[:, i]) for row, i in zip(Q[place], function, strict=True)])
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    U, s, Vt = U[:, s > 1e-9 * s[0]], s[s > 1e-9 * s[0]], Vt[s > 1e-9 * s[0]]
    expected = Q @ (Vt.T @ (s / (s**2 + alpha) * (U.T @ G[known]))).reshape(rank, -1) @ B
    fit = Gaps(Q, known, FeatureGram(B), np.where(known, G, np.nan)).fit(at(alpha))
    np.testing.assert_allclose(Q @ fit.C @ B, expected, rtol=0, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize("rank", [r, M])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_gaps_in_repeated_functions_with_hardly_any_ridge(rank, scale):
    """Functions that are repeated leave I - H singular to rounding: the fit is finite and fits the values."""
    rng, Q, B, G = made(40, 15, rank)
    B, G = np.repeat(B, 2, axis=1), scale * np.repeat((Q @ Q.T @ G.T).T, 2, axis=0)
    known = rng.random(G.shape) < 0.7
    known[::2] |= ~known[1::2]  # each value is known in one of the two
    for alpha in (1e-12, 1e-14, 1e-18, 1e-200):
        fit = Gaps(Q, known, FeatureGram(B), G).fit(at(alpha))
        np.testing.assert_allclose((Q @ fit.C @ B).T, G, rtol=0, atol=1e-7 * np.abs(G).max())


def test_a_basis_is_complete_where_it_is_not_zero():
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 6)))[0]
    assert is_complete(Q)
    assert not is_complete(Q[:, :5])
    assert is_complete(np.vstack([np.zeros((2, 6)), Q]))


@pytest.mark.parametrize("together", [True, False])
def test_where_the_basis_is_zero_so_is_what_fills_the_gaps(monkeypatch, together):
    monkeypatch.setattr("elmonet.solve.gaps._MAX_JOINT_GAPS", 10**6 if together else 0)
    rng, _, B, G = made(40, 30)
    Q = np.zeros((M, M - 2))
    Q[2:] = np.linalg.qr(rng.normal(size=(M - 2, M - 2)))[0]
    known = rng.random(G.shape) < 0.6
    function, place = np.nonzero(known)
    fit = Gaps(Q, known, FeatureGram(B), G).fit(at(0.3))
    expected = dense(Q[place], B, function, G[known], 0.3)
    np.testing.assert_allclose(fit.C, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("together", [True, False])
def test_a_point_that_only_a_held_out_function_knows(monkeypatch, together):
    """It was an empty system. Nothing is known there: the fit without the function predicts zero."""
    monkeypatch.setattr("elmonet.solve.gaps._MAX_JOINT_GAPS", 10**6 if together else 0)
    rng, Q, B, G = made(40, 30, M)
    known = rng.random(G.shape) < 0.8
    known[1:, 4] = False
    known[0] = True
    found = Gaps(Q, known, FeatureGram(B), G).choose(0.1).error
    errors = []
    for fitted in folds(30):
        function, place = np.nonzero(known & fitted[:, None])
        C = dense(Q[place], B, function, G[function, place], 0.1)
        missed = np.where(known, (Q @ C @ B).T - G, 0.0)[~fitted]
        errors += list(
            np.linalg.norm(missed, axis=1) / np.linalg.norm(np.where(known, G, 0.0)[~fitted], axis=1)
        )
    assert found == pytest.approx(np.mean(errors), rel=1e-8)


@pytest.mark.parametrize("direct", [True, False])
def test_functions_without_values_are_held_out_in_vain(direct):
    _, Q, B, G = made(12, 4)
    known = np.zeros(G.shape, bool)
    known[1] = True
    features = FeatureGram(B)
    problem = Gaps(Q, known, features, G)
    if not direct:
        problem = Unaligned(WithGaps(Q, known), Spectrum.from_gram(B), G[known])
    for rough in (True, False):
        assert np.isfinite(problem.choose(rough=rough).error)


@pytest.mark.parametrize("direct", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_held_out_functions_choose_alpha(shape, direct):
    """Against fits on the other functions, by the dense solver."""
    rng, Q, B, G = made(*SHAPES[shape])
    known = rng.random(G.shape) < 0.5
    if direct:
        problem = Gaps(Q, known, FeatureGram(B), G)
    else:
        problem = Unaligned(WithGaps(Q, known), Spectrum.from_gram(B), G[known])
    choice = problem.choose()
    assert choice.alpha == choice.alphas[np.argmin(choice.path)]
    assert np.all(np.diff(choice.alphas) > 0)

    def error(alpha):
        errors = []
        for kept in folds(len(G)):
            function, place = np.nonzero(known & kept[:, None])
            C = dense(Q[place], B, function, G[function, place], alpha)
            missed, norms = (
                np.linalg.norm(np.where(known, A, 0)[~kept], axis=1) for A in ((Q @ C @ B).T - G, G)
            )
            errors += list(missed / norms)
        return np.mean(errors)

    assert choice.error == pytest.approx(error(choice.alpha), rel=1e-6 if direct else 1e-3)
    assert problem.choose(0.3).error == pytest.approx(error(0.3), rel=1e-6 if direct else 1e-3)
    assert choice.error < 1.01 * min(error(choice.alpha * factor) for factor in (0.01, 100.0))


def test_folds():
    """Each holds out a fifth, and together at least 100 functions, or all."""
    for n, count in ((2, 2), (3, 3), (30, 5), (120, 5), (240, 3), (400, 2), (500, 1), (5000, 1)):
        masks = folds(n)
        assert len(masks) == count
        held_out = np.sum([~kept for kept in masks], axis=0)
        assert held_out.max() == 1  # no function twice
        assert held_out.sum() >= min(n, 100)
    assert folds(1) == []


# By iteration -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [1e-6, 0.3, 50.0])
@pytest.mark.parametrize("spectrum", [Spectrum.from_svd, Spectrum.from_gram])
def test_gaps_by_iteration(case, alpha, spectrum):
    rng, Q, B, G = case
    known = rng.random(G.shape) < 0.6
    function, place = np.nonzero(known)
    fit = Unaligned(WithGaps(Q, known), spectrum(B), G[known]).fit(at(alpha))
    np.testing.assert_allclose(fit.C, dense(Q[place], B, function, G[known], alpha), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("alpha", [1e-6, 0.3, 50.0])
def test_scattered_points(case, alpha):
    rng, _, B, G = case
    function = np.sort(rng.integers(0, len(G), 400))
    rows, values = rng.normal(size=(400, r)), rng.normal(size=400)
    known = AtScatteredPoints(rows, function, len(G))
    fit = Unaligned(known, Spectrum.from_gram(B), values).fit(at(alpha))
    np.testing.assert_allclose(fit.C, dense(rows, B, function, values, alpha), rtol=1e-6, atol=1e-9)


def test_more_features_than_functions_by_iteration():
    """The Gram matrix has directions of no size at all there."""
    rng, Q, B, G = made(40, 30)
    B[:, 20:] = B[:, :10]
    known = rng.random(G.shape) < 0.6
    function, place = np.nonzero(known)
    fit = Unaligned(WithGaps(Q, known), Spectrum.from_gram(B), G[known]).fit(at(0.1))
    assert fit.rank_B == 20
    np.testing.assert_allclose(fit.C, dense(Q[place], B, function, G[known], 0.1), rtol=1e-6, atol=1e-8)


def test_nothing_missing_is_the_aligned_problem(case):
    _, Q, B, G = case
    N = len(G)
    aligned = Ridge(0.7).solve(Q, B, G.T)
    for known in (
        WithGaps(Q, np.ones((N, M), bool)),
        AtScatteredPoints(np.tile(Q, (N, 1)), np.repeat(np.arange(N), M), N),
    ):
        fit = Unaligned(known, Spectrum.from_gram(B), G.ravel()).fit(at(0.7))
        np.testing.assert_allclose(fit.C, aligned.W, rtol=1e-9, atol=1e-11)
        assert fit.steps <= 3  # the preconditioner is exact
    fit = Gaps(Q, np.ones((N, M), bool), FeatureGram(B), G).fit(at(0.7))
    np.testing.assert_allclose(fit.C, aligned.W, rtol=1e-9, atol=1e-11)


def test_a_guess_near_the_answer_saves_steps(case):
    rng, Q, B, G = case
    known = rng.random(G.shape) < 0.6
    problem = Unaligned(WithGaps(Q, known), Spectrum.from_gram(B), G[known])
    cold = problem.fit(at(0.01))
    guess = problem.guess(cold.C)
    warm = problem.fit(AlphaChoice(0.01, 0.0, np.array([0.01]), np.array([0.0]), guess))
    assert warm.steps < 3 < cold.steps
    np.testing.assert_allclose(warm.C, cold.C, rtol=1e-7, atol=1e-8)


def test_span_makes_any_basis_orthonormal(case):
    """As scattered outputs use it: W of a trunk that is far from orthonormal."""
    rng, _, B, G = case
    N = len(G)
    points = rng.random(400)
    function = np.sort(rng.integers(0, N, 400))
    T = np.vander(points, r)
    W = rng.normal(size=(r, len(B)))
    values = np.einsum("kr,rk->k", T, W @ B[:, function])
    span = Span(T / np.sqrt(N))
    known = AtScatteredPoints(span.Q * np.sqrt(N), function, N)
    fit = Unaligned(known, Spectrum.from_svd(B), values).fit(at(1e-9))
    np.testing.assert_allclose(span.lift(fit.C), W, rtol=1e-4)
