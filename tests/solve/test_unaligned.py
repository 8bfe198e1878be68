"""The unaligned problem against dense least squares, and against the aligned solver."""

import numpy as np
import pytest

from elmonet.solve import Ridge
from elmonet.solve.known import AtOwnPoints, WithGaps
from elmonet.solve.span import Span
from elmonet.solve.spectrum import Spectrum
from elmonet.solve.unaligned import Unaligned

N, p1, r, M = 30, 12, 5, 20


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(0)
    B, C = rng.normal(size=(p1, N)), rng.normal(size=(r, p1))
    Q = np.linalg.qr(rng.normal(size=(M, r)))[0]
    return rng, Q, B, (Q @ C @ B).T + 0.1 * rng.normal(size=(N, M))


def dense(rows, B, function, values, alpha):
    """C by the normal equations of the whole Kronecker matrix, with a row for every value."""
    A = np.stack([np.kron(row, B[:, i]) for row, i in zip(rows, function, strict=True)])
    normal = A.T @ A + alpha * np.eye(A.shape[1])
    return np.linalg.solve(normal, A.T @ values).reshape(rows.shape[1], len(B))


@pytest.mark.parametrize("alpha", [1e-6, 0.3, 50.0])
def test_gaps(case, alpha):
    rng, Q, B, G = case
    known = rng.random((N, M)) < 0.6
    function, place = np.nonzero(known)
    fit = Unaligned(WithGaps(Q, known), Spectrum.from_svd(B), G[known]).fit(alpha)
    np.testing.assert_allclose(fit.C, dense(Q[place], B, function, G[known], alpha), rtol=1e-7, atol=1e-9)
    missed = np.einsum("kr,rk->k", Q[place], fit.C @ B[:, function]) - G[known]
    assert fit.residual == pytest.approx(np.linalg.norm(missed) / np.linalg.norm(G[known]))


@pytest.mark.parametrize("alpha", [1e-6, 0.3, 50.0])
def test_own_points(case, alpha):
    rng, _, B, _ = case
    function = np.sort(rng.integers(0, N, 400))
    rows, values = rng.normal(size=(400, r)), rng.normal(size=400)
    fit = Unaligned(AtOwnPoints(rows, function, N), Spectrum.from_svd(B), values).fit(alpha)
    np.testing.assert_allclose(fit.C, dense(rows, B, function, values, alpha), rtol=1e-6, atol=1e-9)


def test_nothing_missing_is_the_aligned_problem(case):
    _, Q, B, G = case
    aligned = Ridge(0.7).solve(Q, B, G.T)
    for known in (
        WithGaps(Q, np.ones((N, M), bool)),
        AtOwnPoints(np.tile(Q, (N, 1)), np.repeat(np.arange(N), M), N),
    ):
        fit = Unaligned(known, Spectrum.from_svd(B), G.ravel()).fit(0.7)
        np.testing.assert_allclose(fit.C, aligned.W, rtol=1e-9, atol=1e-11)
        assert fit.steps <= 3  # the preconditioner is exact


def test_held_out_functions_choose_alpha(case):
    """Against fits on the other functions, by the dense solver."""
    rng, Q, B, G = case
    known = rng.random((N, M)) < 0.5
    problem = Unaligned(WithGaps(Q, known), Spectrum.from_svd(B), G[known])
    fit = problem.choose()
    best = int(np.argmin(fit.path))
    assert fit.alpha == fit.alphas[best]
    errors = []
    for kept in problem._folds():
        function, place = np.nonzero(known & kept[:, None])
        C = dense(Q[place], B, function, G[function, place], fit.alpha)
        missed = np.where(known, (Q @ C @ B).T - G, 0)[~kept]
        errors += list(np.linalg.norm(missed, axis=1) / np.linalg.norm(np.where(known, G, 0)[~kept], axis=1))
    assert fit.error == pytest.approx(np.mean(errors), rel=1e-3)


def test_span_makes_any_basis_orthonormal(case):
    """As the model uses it: W of a trunk that is far from orthonormal."""
    rng, _, B, _ = case
    points = rng.random(400)
    function = np.sort(rng.integers(0, N, 400))
    T = np.vander(points, r)
    W = rng.normal(size=(r, p1))
    values = np.einsum("kr,rk->k", T, W @ B[:, function])
    span = Span(T / np.sqrt(N))
    fit = Unaligned(AtOwnPoints(span.Q * np.sqrt(N), function, N), Spectrum.from_svd(B), values).fit(1e-9)
    np.testing.assert_allclose(span.lift(fit.C), W, rtol=1e-4)
