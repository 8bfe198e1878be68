"""The variance of new functions and of functions left out: against refits in extended precision."""

import mpmath
import numpy as np
import pytest

from elmonet import Ridge
from elmonet.solve.cholesky import AtOneAlpha
from elmonet.solve.dual import Tridiagonal
from elmonet.solve.spectral import Primal, Spectral, Spectrum

pytestmark = pytest.mark.numerics


def features(p1, N=10, decay=3.0):
    """B (p1, N) with singular values over some decades, and features of new functions."""
    rng = np.random.default_rng(p1)
    U, _ = np.linalg.qr(rng.normal(size=(p1, p1)))
    V, _ = np.linalg.qr(rng.normal(size=(N, N)))
    k = min(p1, N)
    return (U[:, :k] * 10.0 ** -np.linspace(0, decay, k)) @ V[:, :k].T, rng.normal(size=(p1, 5))


def variance(B, b, alpha):
    """``b' (B B' + alpha)^-1 b`` with fifty digits."""
    with mpmath.workdps(50):
        A, x = mpmath.matrix(B), mpmath.matrix(b)
        return float((x.T * mpmath.lu_solve(A * A.T + alpha * mpmath.eye(len(B)), x))[0])


def factors(B, alpha):
    p1, N = B.shape
    yield AtOneAlpha(B, alpha)
    yield Spectral(Spectrum.from_svd(B, 0.0))
    yield Spectral(Spectrum.from_gram(B))
    if p1 < N:
        yield Primal(B)
    else:
        yield Tridiagonal(B)


@pytest.mark.parametrize("alpha", [1e-5, 1e-2, 10.0])
@pytest.mark.parametrize("p1", [6, 10, 16])
def test_the_root_gives_the_variance_of_new_functions(p1, alpha):
    B, new = features(p1)
    truth = [variance(B, b, alpha) for b in new.T]
    for factor in factors(B, alpha):
        R = factor.root(np.eye(p1), alpha)
        np.testing.assert_allclose(np.sum((R @ new) ** 2, axis=0), truth, rtol=1e-6, err_msg=factor.method)


@pytest.mark.parametrize("alpha", [1e-5, 1e-2, 10.0])
@pytest.mark.parametrize("p1", [6, 10, 16])
def test_left_out_variance_is_that_of_refits(p1, alpha):
    B, _ = features(p1)
    truth = [1 + variance(np.delete(B, i, axis=1), B[:, i], alpha) for i in range(B.shape[1])]
    for factor in factors(B, alpha):
        np.testing.assert_allclose(factor.left_out_variance(alpha), truth, rtol=1e-6, err_msg=factor.method)


@pytest.mark.parametrize("p1", [6, 16])
def test_groups_are_left_out_together(p1):
    B, _ = features(p1)
    groups, alpha = np.arange(10) // 3, 1e-2
    truth = [1 + variance(B[:, groups != groups[i]], B[:, i], alpha) for i in range(10)]
    solution = Ridge(alpha).solve(np.eye(3), B, np.ones((3, 10)), groups=groups)
    np.testing.assert_allclose(solution.fit.left_out_variance(), truth, rtol=1e-6)


@pytest.mark.parametrize("p1", [6, 16])
def test_one_alpha_for_each_row(p1):
    """With a penalty on W, each function of the basis has its own alpha: the variance is their mean."""
    B, _ = features(p1)
    T, alpha = np.diag([1.0, 2.0, 4.0]), 1e-2
    own = [alpha / s**2 for s in (1.0, 2.0, 4.0)]
    rests = [(i, np.delete(B, i, axis=1)) for i in range(10)]
    truth = [np.mean([1 + variance(rest, B[:, i], a) for a in own]) for i, rest in rests]
    solution = Ridge(alpha, penalty="W").solve(T, B, np.ones((3, 10)))
    np.testing.assert_allclose(solution.fit.left_out_variance(), truth, rtol=1e-6)


def test_tiny_alphas_of_an_svd():
    """Functions are interpolated: the variance is what the others do not explain, over alpha."""
    B, new = features(20, decay=6.0)
    alpha = 1e-18
    factor = Spectral(Spectrum.from_svd(B, 0.0))
    R = factor.root(np.eye(20), alpha)
    np.testing.assert_allclose(
        np.sum((R @ new) ** 2, axis=0), [variance(B, b, alpha) for b in new.T], rtol=1e-5
    )


@pytest.mark.parametrize("size", [1e-100, 1.0, 1e200])
def test_units_make_no_difference(size):
    """Features of extreme sizes are scaled inside: what comes out is in the units of the caller."""
    B, new = features(8)
    alpha = 1e-2 * size**2 if size < 1e100 else 1e300
    solution = Ridge(alpha=alpha).solve(np.eye(3), B * size, np.ones((3, 10)))
    R = solution.fit.root(np.eye(8))
    if size == 1.0:
        truth = [variance(B, b, 1e-2) for b in new.T]
        np.testing.assert_allclose(np.sum((R @ new) ** 2, axis=0), truth, rtol=1e-6)
    assert np.isfinite(solution.fit.left_out_variance()).all()
    assert np.isfinite(R @ (new * size)).all()
