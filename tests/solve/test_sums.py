"""Sums over functions: whatever the blocks, the same as from the whole matrices."""

import numpy as np
import pytest

from elmonet.solve import Ridge
from elmonet.solve.gram import GramSums
from elmonet.solve.triangular import TriangularSums

rng = np.random.default_rng(0)
P1, Q, N = 12, 5, 60
B, G = rng.normal(size=(P1, N)), rng.normal(size=(Q, N))
KINDS = [GramSums, TriangularSums]


def summed(kind, blocks, B=B, G=G):
    sums = kind(len(B), len(G))
    for rows in blocks:
        sums.add(B[:, rows], G[:, rows])
    return sums


def in_blocks(size, order=None):
    order = np.arange(N) if order is None else order
    return [order[start : start + size] for start in range(0, N, size)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("alpha", [1e-6, 0.3, 50.0])
@pytest.mark.parametrize("size", [1, 7, 60])
def test_the_ridge_is_that_of_the_whole(kind, alpha, size):
    reduced = summed(kind, in_blocks(size, rng.permutation(N))).reduced()
    whole = Ridge(alpha).solve(np.eye(Q), B, G)
    np.testing.assert_allclose(reduced.coefficients(alpha), whole.W, atol=1e-10)
    residual = np.linalg.norm(whole.W @ B - G) ** 2
    assert reduced.squared_residual(np.array([alpha]))[0] == pytest.approx(residual, rel=1e-9)
    assert reduced.functions == N


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("p1", [12, 90])
def test_gcv_is_that_of_the_whole(kind, p1):
    wide = rng.normal(size=(p1, N))
    alphas = np.geomspace(1e-3, 1e3, 9)
    whole = Ridge("gcv", alphas=alphas).solve(np.eye(Q), wide, G)
    found = summed(kind, in_blocks(13), wide).reduced().gcv(alphas)
    np.testing.assert_allclose(found / found[0], whole.path / whole.path[0], rtol=1e-7)


@pytest.mark.parametrize("alpha", [1e-3, 0.3, 50.0])
def test_at_one_alpha_by_cholesky(alpha):
    sums = summed(GramSums, in_blocks(7))
    reduced = sums.reduced()
    C, squared, freedom, _ = sums.at(alpha)
    np.testing.assert_allclose(C, reduced.coefficients(alpha), atol=1e-12)
    assert squared == pytest.approx(reduced.squared_residual(np.array([alpha]))[0])
    assert squared / freedom**2 == pytest.approx(reduced.gcv(np.array([alpha]))[0])


@pytest.mark.parametrize("kind", KINDS)
def test_merged_in_any_order(kind):
    parts = [summed(kind, [block]) for block in in_blocks(17)]
    total = kind(P1, Q)
    for part in reversed(parts):
        total.merge(kind.of(part.arrays()))
    whole = summed(kind, in_blocks(N))
    np.testing.assert_allclose(
        total.reduced().coefficients(0.1), whole.reduced().coefficients(0.1), atol=1e-12
    )
    assert total.functions == N


def test_small_directions_survive_in_the_triangle_only():
    B = np.diag(np.geomspace(1, 1e-12, P1)) @ np.linalg.qr(rng.normal(size=(N, P1)))[0].T
    C = rng.normal(size=(Q, P1))
    exact = summed(TriangularSums, in_blocks(11), B, C @ B).reduced()
    np.testing.assert_allclose(exact.coefficients(exact.finest()) @ B, C @ B, atol=1e-13)
    assert exact.rank == P1
    assert summed(GramSums, in_blocks(11), B, C @ B).reduced().rank < P1


def test_a_triangle_becomes_gram_sums():
    sums = summed(TriangularSums, in_blocks(11)).gram()
    whole = summed(GramSums, in_blocks(11))
    np.testing.assert_allclose(np.tril(sums.BBt), np.tril(whole.BBt), atol=1e-12)
    np.testing.assert_allclose(sums.R.T @ sums.R, whole.R.T @ whole.R, atol=1e-12)
    np.testing.assert_allclose(sums.GBt, whole.GBt, atol=1e-12)
    assert sums.functions == N


@pytest.mark.parametrize("kind", KINDS)
def test_the_outputs_own_modes(kind):
    low = rng.normal(size=(Q, 2)) @ rng.normal(size=(2, N))
    modes, values, _ = np.linalg.svd(summed(kind, in_blocks(9), B, low).outputs())
    U, s, _ = np.linalg.svd(low)
    np.testing.assert_allclose(values[:2], s[:2], rtol=1e-12)
    np.testing.assert_allclose(np.abs(modes[:, :2].T @ U[:, :2]), np.eye(2), atol=1e-10)
