"""A linear differential operator: how far down the singular values of B still carry data."""

import numpy as np
import pytest

from elmonet.metrics import relative_l2
from elmonet.solve import Pinv, Ridge
from elmonet.solve.problem import Span
from elmonet.solve.spectral import Spectral
from elmonet.solve.streamed import solve_sums
from elmonet.solve.sums import TriangularSums

pytestmark = pytest.mark.numerics
N = 800


@pytest.fixture(scope="module")
def operator():
    """``0.1 f'' - f`` of sums of Gaussians: B (128 + 1, 1000), standardised, and G (128, 1000)."""
    rng, x = np.random.default_rng(0), np.linspace(-1, 1, 128)
    f, s = np.zeros((2, 1000, 128))
    for i in range(1000):
        n = rng.integers(3, 9)
        size, centre, width = rng.normal(size=n), rng.uniform(-1, 1, n), rng.uniform(0.1, 0.3, n)
        z = (x[:, None] - centre) / width
        g = size * np.exp(-(z**2) / 2)
        f[i], s[i] = g.sum(axis=1), (0.1 * g * (z**2 - 1) / width**2 - g).sum(axis=1)
    f = (f - f[:N].mean(axis=0)) / f[:N].std(axis=0)
    return np.vstack([f.T, np.ones(1000)]), s.T


def new_error(solution, B, G):
    return relative_l2((solution.basis @ solution.C @ B[:, N:]).T, G[:, N:].T)


def test_leave_one_out_finds_it(operator):
    B, G = operator
    solution = Ridge("loo").solve(np.eye(128), B[:, :N], G[:, :N])
    error = new_error(solution, B, G)
    assert error <= 5e-11
    assert 0.2 * error < solution.expected_error < 5 * error
    again = Ridge(solution.alpha).solve(np.eye(128), B[:, :N], G[:, :N])
    assert new_error(again, B, G) == pytest.approx(error, rel=1e-3)
    assert new_error(Pinv().solve(np.eye(128), B[:, :N], G[:, :N]), B, G) > 1e-10
    assert new_error(Pinv(1e-15).solve(np.eye(128), B[:, :N], G[:, :N]), B, G) < 1e-10


@pytest.mark.parametrize("n", [90, 300])
def test_a_rough_path_finds_the_same_alpha(operator, n, monkeypatch):
    """With half of the alphas: every third, and those between the neighbours of the best."""
    B, G = operator
    swept, sweep = [], Spectral.sweep
    monkeypatch.setattr(Spectral, "sweep", lambda own, G, a, p: swept.append(len(a)) or sweep(own, G, a, p))
    whole, rough = (Ridge("loo").solve(np.eye(128), B[:, :n], G[:, :n], rough=r) for r in (False, True))
    assert rough.alpha == pytest.approx(whole.alpha, rel=1e-12)
    np.testing.assert_allclose(rough.C, whole.C, rtol=1e-9, atol=1e-12 * np.abs(whole.C).max())
    np.testing.assert_allclose(rough.loo_errors, whole.loo_errors, rtol=1e-9)
    assert sum(swept[1:]) <= swept[0] / 2
    assert rough.alpha in rough.alphas


def test_in_blocks_too(operator):
    B, G = operator
    sums = TriangularSums(129, 128)
    for start in range(0, N, 100):
        sums.add(B[:, start : start + 100], G[:, start : start + 100])
    solution, _, _ = solve_sums(sums, Span(np.eye(128)), Ridge("loo"))
    assert solution.error_kind == "gcv"
    assert new_error(solution, B, G) <= 5e-11


@pytest.mark.parametrize("n", [90, 140, 300])
def test_few_functions(operator, n):
    """Fewer functions than features, about as many, and more: the reported error is the true one."""
    B, G = operator
    solution = Ridge("loo").solve(np.eye(128), B[:, :n], G[:, :n])
    error = new_error(solution, B, G)
    assert 0.2 * error < solution.expected_error < 5 * error
