"""Where leave-one-out can be trusted: against N refits in extended precision."""

import mpmath as mp
import numpy as np
import pytest

from elmonet.solve import Pinv, Ridge
from elmonet.solve.cholesky import AtOneAlpha
from elmonet.solve.dual import Tridiagonal
from elmonet.solve.factor import gram_rounding, trusted
from elmonet.solve.spectral import Primal, Spectral, Spectrum

pytestmark = [pytest.mark.numerics, pytest.mark.filterwarnings("ignore::elmonet.errors.NumericsWarning")]
ONE = np.ones((1, 1))


def refits(B, G, alphas, groups=None):
    """``||g_i - C b_i||`` with C fitted without i, or its group, at every alpha: (alphas, N)."""
    N, found = B.shape[1], np.empty((len(alphas), B.shape[1]))
    groups = np.arange(N) if groups is None else groups
    with mp.workdps(80):
        for i in range(N):
            rest = np.flatnonzero(groups != groups[i])
            own, g = mp.matrix(B[:, [i]].tolist()), mp.matrix(G[:, [i]].tolist())
            others, outputs = mp.matrix(B[:, rest].tolist()), mp.matrix(G[:, rest].tolist())
            for j, alpha in enumerate(alphas):
                predicted = outputs * _weights(others, own, alpha) if len(rest) else 0 * g
                found[j, i] = float(mp.norm(g - predicted))
    return found


def _weights(others, own, alpha):
    """``X' (X X' + alpha)^-1 b``, by the smaller of the two systems."""
    dual = others.cols < others.rows
    K = others.T * others if dual else others * others.T
    for k in range(K.rows):
        K[k, k] += mp.mpf(float(alpha))
    return mp.lu_solve(K, others.T * own) if dual else others.T * mp.lu_solve(K, own)


def hard_case(rng, largest=8):
    """B and G: tall, wide, graded, with repeated functions, of low rank, with an outlier; noise or not."""
    p1, N, r = rng.integers(2, largest, 3)
    B, G = rng.normal(size=(p1, N)), rng.normal(size=(r, N))
    if rng.random() < 0.5:
        B *= np.geomspace(1, 10.0 ** -rng.integers(0, 13), p1)[:, None]
    kind = rng.integers(0, 5)
    if kind == 1:
        B[:, -1], G[:, -1] = B[:, 0], G[:, 0]
    elif kind == 2:
        half = N // 2
        B[:, half : 2 * half], G[:, half : 2 * half] = B[:, :half], G[:, :half]
    elif kind == 3:
        rank = rng.integers(1, min(p1, N) + 1)
        B = rng.normal(size=(p1, rank)) @ rng.normal(size=(rank, N))
    elif kind == 4:
        B[:, 0] *= 1e6
    return B, (rng.normal(size=(r, p1)) @ B if rng.random() < 0.3 else G)


def factors(B, alphas, groups=None):
    """All that can be asked at alphas, with those that they resolve, if any."""
    p1, N = B.shape
    largest = np.linalg.norm(B, 2) ** 2
    resolved = alphas[alphas > 2 * gram_rounding(B.shape) * largest]
    yield Spectral(Spectrum.from_svd(B, 0.0), groups), alphas
    if p1 >= N:
        yield Spectral(Spectrum.from_gram(B), groups), resolved
    if p1 < N:
        yield Primal(B, groups), resolved
    if groups is not None:
        return
    if 1 < N <= p1:
        yield Tridiagonal(B), resolved
    for alpha in resolved:
        yield AtOneAlpha(B, alpha), np.array([alpha])


@pytest.mark.parametrize("seed", range(40))
def test_what_is_trusted_is_true(seed):
    rng = np.random.default_rng(seed)
    B, G = hard_case(rng)
    decades = np.array([-33, -31, -29, -27, -24, -18, -12, -11.5, -9, -3, 0])
    alphas = np.linalg.norm(B, 2) ** 2 * 10.0**decades
    norms = np.linalg.norm(G, axis=0)
    exact = dict(zip(alphas, np.mean(refits(B, G, alphas) / norms, axis=1), strict=True))
    for factor, some in factors(B, alphas):
        swept = factor.sweep(G, some, ONE)
        found = np.mean(swept.left_out / norms, axis=1)
        believed = trusted(swept.doubt, found)
        expected = np.array([exact[a] for a in some])
        np.testing.assert_allclose(found[believed], expected[believed], rtol=2e-3, atol=2e-9)
        # And there is something to believe: all that B'B resolves, and all but the last few of an SVD.
        if not isinstance(factor, (Primal, AtOneAlpha)):
            assert believed[some >= 1e-24 * some[-1]].all()
        for alpha, norms_at in zip(some, swept.left_out, strict=True):
            residuals = np.linalg.norm(factor.left_out(G, alpha), axis=0)
            np.testing.assert_allclose(residuals, norms_at, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_what_is_trusted_of_groups_is_true(seed):
    """Small eigenvalues of ``I - H_gg`` were lifted to eps of the largest, and errors shrank with alpha."""
    rng = np.random.default_rng(seed)
    B, G = hard_case(rng)
    groups = rng.integers(0, max(2, B.shape[1] // 2), B.shape[1])
    if seed % 3 == 0:  # repeated functions are left out together
        groups = np.unique(B.round(12), axis=1, return_inverse=True)[1].ravel()
    alphas = np.linalg.norm(B, 2) ** 2 * 10.0 ** np.array([-33, -29, -27, -24, -18, -11.5, 0])
    norms = np.linalg.norm(G, axis=0)
    exact = dict(zip(alphas, np.mean(refits(B, G, alphas, groups) / norms, axis=1), strict=True))
    for factor, some in factors(B, alphas, groups):
        swept = factor.sweep(G, some, ONE)
        found = np.mean(swept.left_out / norms, axis=1)
        believed = trusted(swept.doubt, found)
        expected = np.array([exact[a] for a in some])
        np.testing.assert_allclose(found[believed], expected[believed], rtol=2e-3, atol=2e-9)
        if not isinstance(factor, Primal):
            assert believed[some >= 1e-24 * some[-1]].all()
        by_rows = factor.sweep(G, some, np.ones((len(G), 1)))  # an alpha for each row of C
        np.testing.assert_allclose(by_rows.left_out[believed], swept.left_out[believed], rtol=1e-3, atol=1e-9)
        for alpha, norms_at in zip(some, swept.left_out, strict=True):
            residuals = np.linalg.norm(factor.left_out(G, alpha), axis=0)
            np.testing.assert_allclose(residuals, norms_at, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_the_choice_is_among_what_is_true(seed, grouped):
    """The error that is reported is the true one at the alpha that was chosen."""
    B, G = hard_case(np.random.default_rng(1000 + seed))
    groups = np.arange(B.shape[1]) // 2 if grouped else None
    solution = Ridge("loo").solve(np.eye(len(G)), B, G, groups=groups)
    true = np.mean(refits(B, G, [solution.alpha], groups)[0] / np.linalg.norm(G, axis=0))
    if len(G) > 1:  # else outputs are numbers, and their error is that of all together
        assert solution.expected_error == pytest.approx(true, rel=2e-3, abs=2e-9)


@pytest.mark.parametrize("seed", [2, 8, 11, 19, 20, 32, 70, 75])
def test_repeated_functions_in_any_order(seed):
    """The reported error was 0.30, 0.43 or 0.50 for the same data: it depended on their order."""
    rng = np.random.default_rng(seed)
    p1, N, decades = *rng.integers(2, 12, 2), rng.integers(0, 13)
    B = rng.normal(size=(p1, N)) * np.geomspace(1, 10.0**-decades, p1)[:, None]
    G = rng.normal(size=(4, N))
    B[:, -1], G[:, -1] = B[:, 0], G[:, 0]
    orders = [rng.permutation(N) for _ in range(8)]
    errors = [Ridge("loo").solve(np.eye(4), B[:, o], G[:, o]).expected_error for o in orders]
    np.testing.assert_allclose(errors, errors[0], rtol=1e-3)


@pytest.mark.parametrize("alpha", [1e-40, 1e-33, 1e-29])
def test_an_alpha_below_trust_reports_the_error_at_the_least_that_is_not(alpha):
    """A unique function beside repeated ones: interpolated, and rounding decides what is left of 1 - h."""
    rng = np.random.default_rng(1)
    B, G = rng.normal(size=(6, 6)), rng.normal(size=(3, 6))
    B[:, 3:], G[:, 3:] = B[:, :3], G[:, :3]
    B[:, 5], G[:, 5] = rng.normal(size=6), rng.normal(size=3)
    limit = np.mean(refits(B, G, [1e-20])[0] / np.linalg.norm(G, axis=0))
    for solver in (Ridge(alpha), Ridge("loo", alphas=[alpha]), Ridge(alpha, penalty="W"), Pinv()):
        solution = solver.solve(np.eye(3), B, G)
        assert solution.expected_error == pytest.approx(limit, rel=2e-3)
        assert solution.alpha == (0 if isinstance(solver, Pinv) else alpha)


def test_an_outlier_in_the_primal():
    """Its leverage is 1 - 1e-13: a difference of squares would know one digit of 1 - h."""
    rng = np.random.default_rng(2)
    B, G = rng.normal(size=(4, 12)), rng.normal(size=(3, 12))
    B[:, 0] *= 1e6
    for alpha in (1e-9, 1e-3, 1.0):
        solution = Ridge(alpha).solve(np.eye(3), B, G)
        np.testing.assert_allclose(
            solution.errors, refits(B, G, [alpha])[0] / np.linalg.norm(G, axis=0), rtol=2e-3
        )
