"""Solvers against dense, independent computations."""

import numpy as np
import pytest

from elmonet.errors import InputError, InterpolationThresholdWarning, RankCollapseWarning
from elmonet.metrics import relative_l2
from elmonet.solve import Pinv, Ridge

pytestmark = pytest.mark.numerics

# (M, p2, rank of T), (p1, N, rank of B): tall, wide, square and deficient.
TRUNKS = [(12, 5, 5), (6, 9, 6), (7, 7, 7), (10, 8, 4)]
BRANCHES = [(6, 20, 6), (25, 11, 11), (9, 9, 9), (12, 15, 5), (15, 12, 5)]


def of_rank(rng, rows, columns, rank):
    left, _ = np.linalg.qr(rng.normal(size=(rows, rank)))
    right, _ = np.linalg.qr(rng.normal(size=(columns, rank)))
    return (left * np.geomspace(3, 0.3, rank)) @ right.T


def problem(trunk, branch, seed=0):
    rng = np.random.default_rng(seed)
    T, B = of_rank(rng, *trunk), of_rank(rng, *branch)
    return T, B, rng.normal(size=(len(T), B.shape[1]))


def kronecker_ridge(T, B, G, alpha, penalty):
    """min ||(B' kron T) vec W - vec G||^2 + alpha * penalty, by one dense least-squares solve."""
    p2, p1 = T.shape[1], len(B)
    if penalty == "W":
        rows = np.kron(B.T, T)
        root = np.eye(p1 * p2)
        lift = np.eye(p2)
    else:  # W = pinv(T) Q C, penalty on C
        U, s, _ = np.linalg.svd(T, full_matrices=False)
        Q = U[:, s > 1e-10 * s[0]]
        rows = np.kron(B.T, Q)
        root = np.eye(p1 * Q.shape[1])
        lift = np.linalg.pinv(T, rcond=1e-10) @ Q
    stacked = np.vstack([rows, np.sqrt(alpha) * root])
    right = np.concatenate([G.ravel(order="F"), np.zeros(len(root))])
    solved = np.linalg.lstsq(stacked, right, rcond=None)[0]
    return lift @ solved.reshape(-1, p1, order="F")


def refits(solver, T, B, G):
    """Leave-one-out the slow way: N fits, each without one function."""
    predicted = np.empty_like(G)
    for i in range(G.shape[1]):
        W = solver.solve(T, np.delete(B, i, 1), np.delete(G, i, 1)).W
        predicted[:, i] = T @ W @ B[:, i]
    return relative_l2(predicted.T, G.T)


@pytest.mark.filterwarnings("ignore::elmonet.errors.InterpolationThresholdWarning")
@pytest.mark.parametrize("trunk", TRUNKS)
@pytest.mark.parametrize("branch", BRANCHES)
def test_pinv_is_the_papers_estimator(trunk, branch):
    T, B, G = problem(trunk, branch)
    solution = Pinv().solve(T, B, G)
    expected = np.linalg.pinv(T, rcond=1e-10) @ G @ np.linalg.pinv(B, rcond=1e-10)
    np.testing.assert_allclose(solution.W, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    assert (solution.rank_T, solution.rank_B) == (trunk[2], branch[2])
    assert solution.condition == pytest.approx(10)
    residual = np.linalg.norm(T @ expected @ B - G) / np.linalg.norm(G)
    assert solution.residual == pytest.approx(residual, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("penalty", ["C", "W"])
@pytest.mark.parametrize("alpha", [1e-3, 0.7])
@pytest.mark.parametrize("trunk", TRUNKS)
@pytest.mark.parametrize("branch", BRANCHES)
def test_ridge_is_the_dense_kronecker_solve(trunk, branch, alpha, penalty):
    T, B, G = problem(trunk, branch)
    solution = Ridge(alpha, penalty=penalty).solve(T, B, G)
    expected = kronecker_ridge(T, B, G, alpha, penalty)
    np.testing.assert_allclose(solution.W, expected, atol=1e-9 * np.abs(expected).max())
    residual = np.linalg.norm(T @ expected @ B - G) / np.linalg.norm(G)
    assert solution.residual == pytest.approx(residual, rel=1e-9)


@pytest.mark.parametrize("penalty", ["C", "W"])
@pytest.mark.parametrize(
    ("branch", "alpha"),
    [(branch, alpha) for branch in BRANCHES for alpha in (1e-3, 0.7)]
    # B of full rank only: with a deficient one, both computations would amplify rounding.
    + [(branch, 1e-12) for branch in BRANCHES[:3]],
)
def test_leave_one_out_is_n_refits(branch, alpha, penalty):
    T, B, G = problem(TRUNKS[0], branch)
    solver = Ridge(alpha, penalty=penalty)
    assert solver.solve(T, B, G).loo_error == pytest.approx(refits(solver, T, B, G), rel=1e-8)


@pytest.mark.parametrize("branch", BRANCHES[:2])
@pytest.mark.parametrize("trunk", TRUNKS)
def test_pinv_leave_one_out_is_n_refits(trunk, branch):
    T, B, G = problem(trunk, branch)
    assert Pinv().solve(T, B, G).loo_error == pytest.approx(refits(Pinv(), T, B, G), rel=1e-8)


@pytest.mark.parametrize("penalty", ["C", "W"])
@pytest.mark.parametrize("by", ["loo", "gcv"])
@pytest.mark.parametrize("branch", BRANCHES)
def test_the_path_agrees_with_fits_at_each_alpha(branch, by, penalty):
    T, B, G = problem(TRUNKS[3], branch)
    G = G + 3 * T @ np.ones((T.shape[1], len(B))) @ B  # some signal, so that the choice is inside
    alphas = np.geomspace(1e-4, 10, 7)
    solution = Ridge(by, alphas=alphas, penalty=penalty).solve(T, B, G)
    singles = [Ridge(a, penalty=penalty).solve(T, B, G) for a in alphas]
    best = int(np.argmin(solution.path))
    assert solution.alpha == pytest.approx(alphas[best])
    assert solution.loo_error == pytest.approx(singles[best].loo_error)
    np.testing.assert_allclose(solution.W, singles[best].W, atol=1e-9 * np.abs(solution.W).max())
    if by == "loo":
        np.testing.assert_allclose(solution.path, [s.loo_error for s in singles], rtol=1e-9)


def test_gcv_is_the_textbook_score():
    T, B, G = problem(TRUNKS[0], BRANCHES[0])
    alphas = np.geomspace(1e-3, 10, 5)
    path = Ridge("gcv", alphas=alphas).solve(T, B, G).path
    Q, _ = np.linalg.qr(T)
    for a, score in zip(alphas, path, strict=True):
        H = B.T @ np.linalg.solve(B @ B.T + a * np.eye(len(B)), B)
        I = np.eye(len(H))  # noqa: E741
        expected = np.linalg.norm(Q.T @ G @ (I - H)) ** 2 / np.mean(np.diag(I - H)) ** 2
        assert score == pytest.approx(expected, rel=1e-9)


def test_penalty_on_C_does_not_see_how_the_trunk_is_written():
    T, B, G = problem(TRUNKS[0], BRANCHES[1])
    mixed = np.hstack([T @ np.diag([1, 10, 100, 1e3, 1e-3]), T[:, :2]])
    one, other = Ridge(0.3).solve(T, B, G).W, Ridge(0.3).solve(mixed, B, G).W
    np.testing.assert_allclose(T @ one, mixed @ other, atol=1e-9)
    one, other = (Ridge(0.3, penalty="W").solve(A, B, G).W for A in (T, mixed))
    assert np.abs(T @ one - mixed @ other).max() > 1e-3


@pytest.mark.parametrize("branch", [(30, 200), (200, 60)])
def test_ill_conditioned_linear_operators_come_out_at_lstsq_precision(branch):
    rng = np.random.default_rng(1)
    p1, N = branch
    k = min(branch)
    left, _ = np.linalg.qr(rng.normal(size=(p1, k)))
    right, _ = np.linalg.qr(rng.normal(size=(N + 50, k)))
    B = (left * np.geomspace(1, 1e-11, k)) @ right.T  # a condition that a Gram matrix cannot see
    T = np.linalg.qr(rng.normal(size=(40, 10)))[0]
    W = rng.normal(size=(10, p1))
    G = T @ W @ B
    solution = Ridge("loo").solve(T, B[:, :N], G[:, :N])
    error = relative_l2((T @ solution.W @ B[:, N:]).T, G[:, N:].T)
    by_lstsq = np.linalg.lstsq(B[:, :N].T, G[:, :N].T, rcond=None)[0]
    assert error <= 10 * relative_l2(B[:, N:].T @ by_lstsq, G[:, N:].T)
    assert error < 1e-9
    assert solution.method == "svd"
    assert solution.loo_error < 1e-9


def test_noise_stops_the_path_before_the_svd():
    rng = np.random.default_rng(2)
    T, B = rng.normal(size=(8, 3)), rng.normal(size=(60, 50))
    G = T @ rng.normal(size=(3, 60)) @ B + rng.normal(size=(8, 50))
    solution = Ridge("loo").solve(T, B, G)
    assert solution.method == "tridiagonal"
    assert len(solution.alphas) == len(solution.path) == 20
    assert solution.alpha == solution.alphas[np.argmin(solution.path)]


@pytest.mark.parametrize("solver", [Pinv(), Ridge(0.1), Ridge("loo"), Ridge("gcv", penalty="W")])
def test_extreme_sizes_stay_finite_and_scale(solver):
    T, B, G = problem(TRUNKS[0], BRANCHES[0])
    for b, g in [(1e150, 1.0), (1e-150, 1e-150), (1.0, 1e150), (1e200, 1e200)]:
        solution = solver.solve(T, B * b, G * g)
        assert np.isfinite(solution.W).all()
        assert np.isfinite([solution.residual, solution.loo_error, solution.condition]).all()
        if not isinstance(solver, Ridge) or solver.alpha == "loo":
            plain = solver.solve(T, B, G)
            np.testing.assert_allclose(T @ (solution.W * (b / g)) @ B, T @ plain.W @ B, atol=1e-8)


def test_w_that_cannot_be_represented_is_refused():
    T, B, G = problem(TRUNKS[0], BRANCHES[0])
    with pytest.raises(InputError, match="becomes infinite"):
        Pinv().solve(T, B * 1e-200, G * 1e200)


@pytest.mark.parametrize("solver", [Pinv(), Ridge(1e-3), Ridge("loo"), Ridge("gcv", penalty="W")])
@pytest.mark.filterwarnings("ignore::elmonet.errors.NumericsWarning")
def test_degenerate_data_give_finite_answers(solver):
    rng = np.random.default_rng(0)
    T, B, G = rng.normal(size=(6, 3)), rng.normal(size=(8, 10)), rng.normal(size=(6, 10))
    for t, b, g in [
        (0 * T, B, G),
        (T, 0 * B, G),
        (T, B, 0 * G),
        (T, B[:, :1], G[:, :1]),
        (T[:1], B, G[:1]),
        (T, np.ones_like(B), G),
        (T, np.repeat(B[:, :5], 2, axis=1), np.repeat(G[:, :5], 2, axis=1)),
    ]:
        solution = solver.solve(t, b, g)
        numbers = [solution.residual, solution.loo_error, solution.condition, solution.alpha]
        assert np.isfinite(solution.W).all()
        assert np.isfinite(numbers).all()


def test_single_precision():
    """Ridge solves in double precision whatever comes; the pseudoinverse is the recipe as printed."""
    T, B, G = (A.astype(np.float32) for A in problem(TRUNKS[0], BRANCHES[1]))
    for solver in (Ridge(0.1), Ridge("loo"), Ridge(0.0)):
        solution, double = solver.solve(T, B, G), solver.solve(*(A.astype(np.float64) for A in (T, B, G)))
        assert solution.W.dtype == solution.C.dtype == np.float64
        np.testing.assert_array_equal(solution.W, double.W)
    solution = Pinv().solve(T, B, G)
    assert solution.W.dtype == solution.C.dtype == np.float32
    assert solution.cutoff == pytest.approx(25 * np.finfo(np.float32).eps)
    np.testing.assert_allclose(solution.W, Pinv().solve(*(A.astype(float) for A in (T, B, G))).W, atol=1e-4)


def test_warnings_say_what_to_do():
    T, B, G = problem(TRUNKS[0], BRANCHES[2])
    with pytest.warns(InterpolationThresholdWarning, match=r'p1 = 9 .* N = 9 .*Ridge\("loo"\)'):
        Pinv().solve(T, B, G)
    rng = np.random.default_rng(0)
    T, B = rng.normal(size=(30, 20)), of_rank(rng, 40, 50, 2)
    with pytest.warns(RankCollapseWarning, match="branch.*rank 2, of 40"):
        Ridge("loo").solve(T, B, rng.normal(size=(30, 50)))


@pytest.mark.parametrize(
    ("solver", "match"),
    [
        (Ridge(-1.0), "alpha .* of at least 0, got -1.0"),
        (Ridge(np.nan), "alpha"),
        (Ridge("best"), "'loo', 'gcv'; got 'best'"),
        (Ridge(1.0, alphas=[1.0]), "alphas has no effect"),
        (Ridge("loo", alphas=[1.0, -2.0]), "each of alphas"),
        (Ridge("loo", alphas=[]), "at least one"),
        (Ridge("loo", alphas=1), "alphas must be a whole number of at least 2"),
        (Ridge(penalty="both"), "penalty must be one of 'C', 'W'"),
        (Pinv(rcond=-1), "rcond"),
    ],
)
def test_bad_settings(solver, match):
    with pytest.raises(InputError, match=match):
        solver.solve(*problem(TRUNKS[0], BRANCHES[0]))


def test_bad_matrices():
    T, B, G = problem(TRUNKS[0], BRANCHES[0])
    with pytest.raises(InputError, match="matching shapes"):
        Pinv().solve(T, B, G[:, :-1])
    B[2, 3] = np.nan
    with pytest.raises(InputError, match=r"branch's features.* NaN or Inf"):
        Ridge().solve(T, B, G)


def test_a_plateau_does_not_hide_what_the_gram_matrix_cannot_see():
    """A large linear part is found first; what is missing has features below the Gram's rounding."""
    rng = np.random.default_rng(3)
    left = np.linalg.qr(rng.normal(size=(300, 60)))[0]
    right = np.linalg.qr(rng.normal(size=(100, 60)))[0]
    s = np.concatenate([np.full(30, 1.0), np.full(30, 1e-9)])  # nothing in between: a plateau
    B = (left * s) @ right.T
    G = rng.normal(size=(5, 30)) @ right[:, :30].T + 0.01 * rng.normal(size=(5, 30)) @ right[:, 30:].T
    solution = Ridge("loo").solve(np.eye(5), B, G)
    assert solution.method == "svd"
    assert solution.residual < 1e-6


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("p1", [600, 40])
def test_the_alpha_of_many_functions_is_that_of_a_finer_path(seed, p1):
    """The least leave-one-out error over alphas 1.1 apart, by dense matrices, is hardly less."""
    rng, N = np.random.default_rng(seed), 500
    B = rng.normal(size=(p1, N)) * np.geomspace(1, 1e-3, p1)[:, None]
    G = rng.normal(size=(3, p1)) @ B + 0.05 * rng.normal(size=(3, N))
    values, V = np.linalg.eigh(B.T @ B)

    def left_out(alpha):
        shrunk = V * (alpha / (np.maximum(values, 0) + alpha))
        residuals = (G @ shrunk @ V.T) / np.einsum("ij,ij->i", shrunk, V)
        return np.mean(np.linalg.norm(residuals, axis=0) / np.linalg.norm(G, axis=0))

    solution = Ridge("loo").solve(np.eye(3), B, G)
    assert solution.loo_error == pytest.approx(left_out(solution.alpha), rel=1e-6)
    finer = min(left_out(alpha) for alpha in solution.alpha * np.geomspace(0.1, 10, 49))
    assert solution.loo_error < 1.003 * finer
