"""Answers that were wrong once, without a word."""

import warnings

import numpy as np
import pytest
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from elmonet import (
    POD,
    SLFN,
    AutoELMDeepONet,
    ELMDeepONet,
    ExtrapolationWarning,
    InfiniteWidth,
    InputError,
    Legendre,
    Linear,
    Masked,
    Ridge,
    Several,
    Sinusoid,
    Solution,
    load,
    problems,
    relative_l2,
)

pytestmark = pytest.mark.numerics

x = np.linspace(0, 1, 30)


def smooth(n, seed, points=x):
    """Smooth random functions and a nonlinear operator of them."""
    a = np.random.default_rng(seed).normal(size=(n, 4))
    u = a @ np.sin(np.outer(np.arange(1, 5), points))
    return u, np.cumsum(u + 0.1 * u**2, axis=1) / len(points)


# Going on ---------------------------------------------------------------------------------------------------


def small(**settings):
    return ELMDeepONet(Linear() + SLFN(40, "tanh", 0.5), solver=Ridge(1e-6), random_state=0, **settings)


def test_partial_fit_goes_on_after_fit():
    u, s = smooth(120, 0)
    new, _ = smooth(20, 1)
    grown = small(scale_inputs=False).fit(u[:100], s[:100], points=x).partial_fit(u[100:], s[100:])
    whole = small(scale_inputs=False).fit(u, s, points=x)
    assert relative_l2(grown.predict(new), whole.predict(new)) < 1e-8
    again = grown.partial_fit(u[:1], s[:1])  # and on
    assert again._blocks.functions == 121
    kept = small(scale_inputs=False).fit(u, s, points=x)
    with pytest.raises(InputError, match="outputs of the shape"):
        kept.partial_fit(u, s[:, :5])
    np.testing.assert_array_equal(kept.predict(new), whole.predict(new))  # a refusal leaves it as it was


def test_partial_fit_refuses_where_it_cannot_go_on(tmp_path):
    u, s = smooth(40, 0)
    fitted = small().fit(u, s, points=x)
    fitted.save(tmp_path / "model")
    with pytest.raises(InputError, match="keeps no sums"):
        load(tmp_path / "model").partial_fit(u, s)
    with pytest.raises(InputError, match=r"InfiniteWidth.*learns from all functions"):
        ELMDeepONet(InfiniteWidth()).fit(u, s, points=x).partial_fit(u, s)
    with pytest.raises(InputError, match="sample weights"):
        small().fit(u, s, points=x, sample_weight=np.arange(40)).partial_fit(u, s)


# One name for one error -------------------------------------------------------------------------------------


def test_every_expected_error_says_of_what_kind_it_is():
    u, s = smooth(400, 0)
    s = s * np.geomspace(1e-3, 1e3, 400)[:, None]  # of very different sizes: pooled errors mean little
    whole = small().fit(u, s, points=x).solution_
    assert whole.error_kind == "leave-one-out"
    assert whole.loo_error == whole.expected_error
    summed = small().partial_fit(u, s, points=x).solution_
    assert summed.error_kind == "gcv"
    with pytest.raises(AttributeError, match=r"'gcv'.*expected_error"):
        summed.loo_error  # noqa: B018
    gaps = s.copy()
    gaps[3, 5] = np.nan
    held_out = small(missing="ignore").fit(u, gaps, points=x).solution_
    assert held_out.error_kind == "held out"
    with pytest.raises(AttributeError, match="'held out'"):
        held_out.loo_error  # noqa: B018


def test_few_functions_in_batches_are_left_out_one_by_one():
    u, s = smooth(30, 0)  # fewer than features
    batches = ELMDeepONet(SLFN(80, "tanh"), Sinusoid(10, "cosine"), scale_inputs=False, random_state=0)
    for rows in (slice(0, 11), slice(11, 30)):
        batches.partial_fit(u[rows], s[rows], points=x)
    whole = ELMDeepONet(SLFN(80, "tanh"), Sinusoid(10, "cosine"), scale_inputs=False, random_state=0)
    whole.fit(u, s, points=x)
    assert batches.solution_.error_kind == "leave-one-out"
    assert batches.expected_error_ == pytest.approx(whole.expected_error_, rel=1e-6)


# Trunks whose functions depend on each other ----------------------------------------------------------------


@pytest.mark.parametrize("solver", [Ridge("loo"), Ridge(1e-10)])
def test_order_and_blocks_do_not_matter_to_a_nearly_dependent_trunk(solver, monkeypatch):
    points = np.linspace(0, 1, 50)
    u, s = smooth(200, 0, points)
    s = s + 1e-6 * np.random.default_rng(0).normal(size=s.shape)  # something in every direction of the trunk
    new, _ = smooth(50, 1, points)
    order = np.random.default_rng(0).permutation(200)

    def predicted(rows):
        model = ELMDeepONet(Linear() + SLFN(100, "tanh", 0.3), Sinusoid(40), solver, random_state=0)
        model.fit(u[rows], s[rows], points=points)
        assert np.abs(model.W_).max() > 1e4  # it is one
        return np.hstack([model.predict(new), model.predict(new, points=np.linspace(0.003, 0.997, 77))])

    first = predicted(np.arange(200))
    assert np.abs(predicted(order) - first).max() < 1e-10 * np.abs(first).max()
    monkeypatch.setattr("elmonet.features.base._BLOCK", 500)
    monkeypatch.setattr("elmonet.features.networks._BLOCK", 500)
    assert np.abs(predicted(np.arange(200)) - first).max() < 1e-10 * np.abs(first).max()


# Loading, and fitting again ---------------------------------------------------------------------------------


@pytest.mark.parametrize("trunk", [None, Legendre(2), SLFN(6, "tanh")])
@pytest.mark.parametrize("d", [1, 2])
def test_a_loaded_model_fits_again_as_it_did_with_components(trunk, d, tmp_path):
    u, s = smooth(50, 0)
    points = np.random.default_rng(0).random((30, d))
    both = np.stack([s, s**2], axis=-1)
    first = ELMDeepONet(Linear(), trunk, random_state=0).fit(u, both, points=points)
    first.save(tmp_path / "model")
    again = load(tmp_path / "model").fit(u, both, points=points)
    assert again.W_.shape == first.W_.shape
    np.testing.assert_array_equal(again.predict(u), first.predict(u))


def test_a_saved_choice_keeps_its_promise(tmp_path):
    data = problems.nonlinear_ode(n_train=60, n_test=10)
    chosen = AutoELMDeepONet(random_state=0).fit(data.u_train, data.s_train, points=data.points)
    chosen.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.expected_error_ == chosen.expected_error_ == chosen.loo_error_
    assert loaded.summary() == chosen.summary()
    both = np.vstack([data.u_test[:2], data.u_train[:3]])
    assert loaded.is_training_function(both).tolist() == [False, False, True, True, True]


# Fits in blocks need maps that learn nothing ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("branch", "named"),
    [
        (Several({"f": Linear() + InfiniteWidth(), "k": Linear()}), "InfiniteWidth"),
        (Linear() + (SLFN(9) + InfiniteWidth()), "InfiniteWidth"),
        (StandardScaler(), "StandardScaler.*learns_from"),
        (Linear() + StandardScaler(), "StandardScaler"),
    ],
)
def test_maps_that_learn_are_refused_in_blocks(branch, named):
    u, s = smooth(40, 0)
    X = {"f": u, "k": u[:, :3]} if isinstance(branch, Several) else u
    with pytest.raises(InputError, match=rf"(?s){named}.*cannot be fitted in blocks"):
        ELMDeepONet(branch).partial_fit(X, s, points=x)


def test_a_map_of_ones_own_may_say_that_it_learns_nothing():
    class Squares(FunctionTransformer):
        learns_from = ()

    u, s = smooth(60, 0)
    squares = Squares(lambda X: np.hstack([X, X**2]))
    whole = ELMDeepONet(squares, solver=Ridge(1e-6), scale_inputs=False).fit(u, s, points=x)
    blocks = ELMDeepONet(squares, solver=Ridge(1e-6), scale_inputs=False)
    blocks.partial_fit(u[:30], s[:30], points=x).partial_fit(u[30:], s[30:])
    assert relative_l2(blocks.predict(u), whole.predict(u)) < 1e-7


# The automatic choice ---------------------------------------------------------------------------------------


def test_auto_scores_as_its_model_does():
    u, s = smooth(40, 0)
    both = {"s": s, "squared": s**2}
    model = AutoELMDeepONet(time_budget=1, random_state=0).fit(u, both, points=x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExtrapolationWarning)
        assert model.score(u, both) == model.best_model_.score(u, both)
        single = AutoELMDeepONet(time_budget=1, random_state=0).fit(u, s, points=x)
        new, truth = smooth(30, 1)
        assert single.score(new, truth) == single.best_model_.score(new, truth)


def test_auto_takes_lists_of_points():
    u, s = smooth(40, 0)
    places = [np.sort(np.random.default_rng(i).random((6, 1)), axis=0) for i in range(40)]
    values = [np.interp(p[:, 0], x, f) for p, f in zip(places, s, strict=True)]
    model = AutoELMDeepONet(time_budget=1, random_state=0).fit(u, values, points=places)
    assert model.error_kind_ == "held out"
    assert model.predict(u[:2], points=x[2:-2]).shape == (2, 26)
    with pytest.raises(AttributeError, match="expected_error_"):
        model.loo_error_  # noqa: B018


def test_logarithms_of_inputs_only_with_room_to_spare():
    rng = np.random.default_rng(0)
    near_zero = rng.random((80, 6)) + 1e-6  # a new one may as well be zero
    factors = np.exp(rng.normal(size=(80, 6)))
    for u, tried in ((near_zero, False), (factors, True)):
        s = np.log(u) @ rng.normal(size=(6, 8)) + 20
        model = AutoELMDeepONet(random_state=0).fit(u, s, points=np.arange(8))
        assert any(row["log_inputs"] for row in model.leaderboard_) == tried
    never = AutoELMDeepONet(log_inputs=False, random_state=0).fit(factors, s, points=np.arange(8))
    assert not any(row["log_inputs"] for row in never.leaderboard_)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExtrapolationWarning)
        assert np.isfinite(never.predict(0 * factors[:1])).all()


# Logarithms of outputs --------------------------------------------------------------------------------------


def test_leave_one_out_of_logarithms_with_its_own_penalty():
    u, s = smooth(14, 0)
    s = np.exp(s)

    def fitted(rows):
        trunk = Sinusoid(6, "cosine")
        model = ELMDeepONet(Linear(), trunk, Ridge(1e-2, penalty="W"), log_outputs=True, scale_inputs=False)
        return model.fit(u[rows], s[rows], points=x)

    # The logarithms are centred on the mean of all; put that mean back, as the fit to all does.
    whole = fitted(np.arange(14))
    log = np.log(s)
    T = np.cos(np.pi * np.outer(x, np.arange(6)))
    B = np.hstack([u, np.ones((14, 1))])
    missed = []
    for i in range(14):
        rest = np.arange(14) != i
        G = (log[rest] - log.mean(axis=0)).T
        A = np.kron(B[rest], T)
        W = np.linalg.solve(A.T @ A + 1e-2 * np.eye(A.shape[1]), A.T @ G.T.ravel())
        z = T @ W.reshape(B.shape[1], 6).T @ B[i]
        missed.append(np.linalg.norm(np.exp(z + log.mean(axis=0)) - s[i]) / np.linalg.norm(s[i]))
    np.testing.assert_allclose(whole.solution_.errors, missed, rtol=1e-6)


class OwnSolver:
    """What the documentation asks of a solver, and no more."""

    def solve(self, T, B, G):
        return Solution(np.linalg.pinv(T) @ G @ np.linalg.pinv(B))


@pytest.mark.parametrize("log", [False, True])
def test_a_solver_of_ones_own(log):
    u, _ = smooth(50, 0)
    s = np.exp(u.cumsum(axis=1) / 30) if log else u.cumsum(axis=1)
    model = ELMDeepONet(Linear(), POD(), OwnSolver(), log_outputs=log).fit(u, s, points=x)
    assert relative_l2(model.predict(u), s) < 1e-9
    assert model.predict(u, points=[[0.5]]).shape == (50, 1)
    assert model.expected_error_ is None
    assert model.solution_.error_kind is None
    assert "Expected error:  not known" in model.summary()


# Masks ------------------------------------------------------------------------------------------------------


def test_a_mask_sees_the_points_as_they_are_given():
    points = np.linspace(2, 4, 30)
    seen = []

    def mask(p):
        seen.append((float(p.min()), float(p.max())))
        return p[:, 0] - 2

    u, s = smooth(40, 0)
    both = Masked(Legendre(4), mask) + Legendre(2)
    model = ELMDeepONet(Linear(), both).fit(u, s, points=points)
    model.predict(u, points=[2.5, 3.0])
    assert {(2.0, 4.0), (2.5, 3.0)} <= set(seen)
    assert min(low for low, _ in seen) == 2.0
    # The span is that of (p - 2) times polynomials up to degree 4 and of those up to degree 2: degree 5.
    plain = ELMDeepONet(Linear(), Legendre(5)).fit(u, s, points=points)
    np.testing.assert_allclose(model.predict(u), plain.predict(u), atol=1e-8)


# float32 ----------------------------------------------------------------------------------------------------


def test_float32_data_are_solved_in_double_precision():
    data = problems.antiderivative(n_train=300, n_test=50)
    u, s = data.u_train.astype(np.float32), data.s_train.astype(np.float32)
    single = ELMDeepONet(Linear()).fit(u, s, points=data.points)
    double = ELMDeepONet(Linear()).fit(u.astype(float), s.astype(float), points=data.points)
    new = data.u_test.astype(np.float32)
    assert single.predict(new).dtype == np.float32
    error, reached = (relative_l2(m.predict(new), data.s_test) for m in (single, double))
    assert error < 1.5 * reached + 1e-7
    assert single.solution_.expected_error == pytest.approx(double.solution_.expected_error, rel=1e-6)


# How far down -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [ELMDeepONet(Linear()), AutoELMDeepONet(random_state=0)])
def test_a_linear_differential_operator_is_learned_to_the_last_digits(model):
    """``0.1 f'' - f`` of sums of Gaussians: small singular values of the inputs still carry data."""
    rng, points = np.random.default_rng(0), np.linspace(-1, 1, 128)
    f, s = np.zeros((2, 500, 128))
    for i in range(500):
        n = rng.integers(3, 9)
        size, centre, width = rng.normal(size=n), rng.uniform(-1, 1, n), rng.uniform(0.1, 0.3, n)
        z = (points[:, None] - centre) / width
        g = size * np.exp(-(z**2) / 2)
        f[i], s[i] = g.sum(axis=1), (0.1 * g * (z**2 - 1) / width**2 - g).sum(axis=1)
    model.fit(f[:400], s[:400], points=points)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExtrapolationWarning)
        error = relative_l2(model.predict(f[400:]), s[400:])
    assert error <= 5e-11
    assert 0.2 * error < model.expected_error_ < 5 * error
