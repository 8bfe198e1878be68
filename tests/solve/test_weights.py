"""A function of weight 2 is there twice: both are left out together, and the error counts twice."""

import numpy as np
import pytest

from elmonet import ELMDeepONet, Legendre, Linear, Pinv, Ridge, problems
from elmonet.fitting.incomplete import fit_scattered, fit_with_gaps
from elmonet.solve.gaps import FeatureGram, Gaps
from elmonet.solve.observations import Unaligned, WithGaps, folds
from elmonet.solve.spectral import Spectrum

pytestmark = [pytest.mark.numerics, pytest.mark.filterwarnings("ignore::elmonet.errors.NumericsWarning")]

N = 24
TIMES = np.random.default_rng(1).integers(1, 5, N)
COPIES = np.repeat(np.arange(N), TIMES)
SOLVERS = {
    "chosen": Ridge("loo"),
    "among given": Ridge("loo", alphas=[1e-3, 0.1, 10.0]),
    "given": Ridge(0.1),
    "below the Gram matrix": Ridge(1e-19),
    "of W": Ridge("loo", penalty="W"),
    "of W, given": Ridge(0.1, penalty="W"),
    "pseudoinverse": Pinv(),
}


def made(p1, M=7, clean=False):
    rng = np.random.default_rng(0)
    T, B = rng.normal(size=(M, min(M, 4))), rng.normal(size=(p1, N)) * np.geomspace(1, 1e-3, p1)[:, None]
    G = T @ rng.normal(size=(T.shape[1], p1)) @ B
    return T, B, G if clean else G + 0.1 * rng.normal(size=G.shape)


@pytest.mark.parametrize("M", [7, 1])
@pytest.mark.parametrize("p1", [6, 24, 60])
@pytest.mark.parametrize("kind", SOLVERS)
def test_weights_are_repeats(kind, p1, M):
    T, B, G = made(p1, M)
    G[:, 3] = 0.0  # relative to the others, of which some are there more often
    w = np.sqrt(TIMES)
    weighted = SOLVERS[kind].solve(T, B * w, G * w, roots=w)
    repeated = SOLVERS[kind].solve(T, B[:, COPIES], G[:, COPIES], groups=COPIES)
    assert weighted.alpha == pytest.approx(repeated.alpha, rel=1e-9)
    assert weighted.expected_error == pytest.approx(repeated.expected_error, rel=1e-5)
    np.testing.assert_allclose(weighted.errors[COPIES], repeated.errors, rtol=1e-5, atol=1e-9)
    assert weighted.residual == pytest.approx(repeated.residual, rel=1e-6, abs=1e-12)
    values, expected = T @ weighted.W @ B, T @ repeated.W @ B
    np.testing.assert_allclose(values, expected, atol=1e-6 * np.abs(expected).max())
    if weighted.path is not None:  # of repeats, rounding may hide more of the smallest alphas
        common = min(len(weighted.path), len(repeated.path))
        np.testing.assert_allclose(weighted.path[-common:], repeated.path[-common:], rtol=1e-5)


@pytest.mark.parametrize("p1", [6, 60])
@pytest.mark.parametrize("by", ["loo", "gcv"])
def test_equal_weights_change_nothing_but_the_unit_of_alpha(by, p1):
    T, B, G = made(p1)
    w = np.full(N, 100.0)
    one, other = Ridge(by).solve(T, B, G), Ridge(by).solve(T, B * w, G * w, roots=w)
    assert other.alpha == pytest.approx(1e4 * one.alpha, rel=1e-9)
    assert other.expected_error == pytest.approx(one.expected_error, rel=1e-9)
    np.testing.assert_allclose(other.errors, one.errors, rtol=1e-8)


@pytest.mark.parametrize("solver", [None, Ridge(0.01)])
def test_a_model_with_weights(solver):
    """Repeats are found and left out together: the same errors, the same alpha."""
    data = problems.nonlinear_ode(n_train=N, n_test=10, n_sensors=12, n_points=9)
    s, settings = data.s_train, {"scale_inputs": False, "solver": solver}
    weighted = ELMDeepONet(Linear(), **settings)
    weighted.fit(data.u_train, s, points=data.points, sample_weight=TIMES)
    repeated = ELMDeepONet(Linear(), **settings).fit(data.u_train[COPIES], s[COPIES], points=data.points)
    assert repeated.solution_.error_kind == "leave-group-out"
    assert weighted.expected_error_ == pytest.approx(repeated.expected_error_, rel=1e-5)
    assert weighted.solution_.residual == pytest.approx(repeated.solution_.residual, rel=1e-5)
    np.testing.assert_allclose(weighted.predict(data.u_test), repeated.predict(data.u_test), atol=1e-6)


@pytest.mark.parametrize("direct", [True, False])
@pytest.mark.parametrize("M", [7, 1])
def test_held_out_functions_count_by_their_weight(direct, M):
    """Whole functions are held out, so that no copy of them stays: against refits of repeated functions."""
    if not direct and M == 1:
        return  # LSMR takes the mean over functions for numbers too
    T, B, G = made(12, M)
    Q, rng = np.linalg.qr(T)[0], np.random.default_rng(2)
    known = rng.random((N, M)) < 0.8
    known[0] = True
    w, y = np.sqrt(TIMES), G.T
    if direct:
        problem = Gaps(Q, known, FeatureGram(B * w), y * w[:, None], w)
    else:
        observed = (y * w[:, None])[known]
        problem = Unaligned(WithGaps(Q, known), Spectrum.from_gram(B * w), observed, w)
    residuals, norms = np.zeros(N), np.linalg.norm(np.where(known, y, 0.0), axis=1)
    for fitted in folds(N):
        i, j = np.nonzero((known & fitted[:, None])[COPIES])
        A = np.stack([np.kron(Q[k], B[:, COPIES[f]]) for f, k in zip(i, j, strict=True)])
        A = np.vstack([A, np.sqrt(0.1) * np.eye(A.shape[1])])
        target = np.concatenate([y[COPIES][i, j], np.zeros(A.shape[1])])
        C = np.linalg.lstsq(A, target, rcond=None)[0].reshape(Q.shape[1], len(B))
        missed = np.where(known, (Q @ C @ B).T - y, 0.0)
        residuals[~fitted] = np.linalg.norm(missed, axis=1)[~fitted]
    seen = known.any(axis=1)
    if M > 1:
        expected = np.average((residuals / norms)[seen], weights=TIMES[seen])
        assert problem.choose(0.1).error == pytest.approx(expected, rel=1e-6 if direct else 1e-3)
    else:  # numbers are relative to the root mean square of those held out with them
        total = 0.0
        for fitted in folds(N):
            own = ~fitted & seen
            numbers = y[own, 0]
            size = np.sqrt(np.average(norms[own] ** 2, weights=TIMES[own]))
            size = size if numbers.min() < 0 < numbers.max() else norms[own]
            total += np.sum(TIMES[own] * residuals[own] / size)
        assert problem.choose(0.1).error == pytest.approx(total / TIMES[seen].sum(), rel=1e-6)


@pytest.mark.parametrize("kind", ["gaps", "scattered"])
def test_equal_weights_of_incomplete_outputs(kind):
    data = problems.nonlinear_ode(n_train=30, n_test=5, n_sensors=8, n_points=9)
    u, s, x = data.u_train, data.s_train, data.points
    known = np.random.default_rng(3).random(s.shape) < 0.8
    index, place = np.nonzero(known)

    def fit(weights):
        if kind == "gaps":
            return fit_with_gaps(u, np.where(known, s, np.nan), x, Linear(), Legendre(5), None, weights)
        return fit_scattered(u, index, x[place], s[index, place], Linear(), [Legendre(5)], None, weights)

    one, other = fit(None).solution, fit(np.full(30, 16.0)).solution
    assert other.expected_error == pytest.approx(one.expected_error, rel=1e-3)
    assert other.alpha == pytest.approx(256 * one.alpha, rel=1e-6)
