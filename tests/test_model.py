"""The model against the algebra it stands for, and as a scikit-learn estimator."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from elmonet import (
    CNN,
    MLP,
    POD,
    SLFN,
    ELMDeepONet,
    ElmonetError,
    InputError,
    InterpolationThresholdWarning,
    Linear,
    NotFittedError,
    NumericsWarning,
    Pinv,
    Ridge,
    Sinusoid,
    neg_relative_l2,
    problems,
    relative_l2,
)


@pytest.fixture(scope="module")
def small():
    return problems.antiderivative(60, 30)


@pytest.fixture(scope="module")
def darcy():
    return problems.darcy(40, 20, n_sensors=12, n_points=16)


EXCUSED = {
    "check_sample_weight_equivalence_on_dense_data": "leaving out one of two copies is not leaving out a "
    "function of weight two, so that another alpha may be chosen; for a given alpha see test_shapes.py",
    "check_dtype_object": "arrays of objects are refused with a message instead of cast",
    "check_regressor_multioutput": "five outputs without points: it cannot be guessed where they live",
}


@parametrize_with_checks(
    [ELMDeepONet(branch=Linear() + SLFN(50, "tanh"), random_state=0)],
    expected_failed_checks=lambda estimator: EXCUSED,
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def test_prediction_is_T_W_B(small):
    model = ELMDeepONet(SLFN(30), Sinusoid(10), Pinv(), scale_inputs=False, random_state=0)
    model.fit(small.u_train, small.s_train, points=small.points)
    A = model.branch_.weights_[0]
    B = np.maximum(A[:, :-1] @ small.u_train.T + A[:, -1:], 0)
    T = Sinusoid(10).fit_transform(small.points)
    W = np.linalg.pinv(T) @ small.s_train.T @ np.linalg.pinv(B)
    assert model.W_.shape == (10, 30)
    np.testing.assert_allclose(model.W_, W, rtol=1e-7, atol=1e-9 * np.abs(W).max())
    np.testing.assert_allclose(model.predict(small.u_train), (T @ W @ B).T, atol=1e-9)
    elsewhere = model.predict(small.u_test, points=[[0.123], [0.9]])
    B = np.maximum(A[:, :-1] @ small.u_test.T + A[:, -1:], 0)
    expected = (Sinusoid(10).fit_transform([[0.123], [0.9]]) @ W @ B).T
    np.testing.assert_allclose(elsewhere, expected, atol=1e-9)
    np.testing.assert_array_equal(model.predict(small.u_test, points=[0.123, 0.9]), elsewhere)


@pytest.mark.parametrize("p2", [30, 300])  # more points than functions of the trunk, and fewer
def test_training_points_are_points_like_others(small, p2):
    model = ELMDeepONet(SLFN(40), MLP(p2), random_state=0)
    model.fit(small.u_train, small.s_train, points=small.points)
    named = model.predict(small.u_test, points=small.points)
    np.testing.assert_allclose(model.predict(small.u_test), named, atol=1e-9)


def test_leave_one_out_is_refitting_the_model(small):
    def fitted(u, s):
        model = ELMDeepONet(SLFN(100), Sinusoid(20), Ridge(1e-4), scale_inputs=False, random_state=0)
        return model.fit(u, s, points=small.points)

    u, s = small.u_train[:20], small.s_train[:20]
    missed = [fitted(np.delete(u, i, 0), np.delete(s, i, 0)).predict(u[i : i + 1])[0] for i in range(20)]
    assert fitted(u, s).solution_.loo_error == pytest.approx(relative_l2(missed, s), rel=1e-8)


@pytest.mark.parametrize(("width", "low", "high"), [(5000, 0.005, 0.008), (10000, 0.0035, 0.0055)])
def test_the_printed_recipe_errs_as_printed(width, low, high):
    data = problems.antiderivative(1000, 1000)
    model = ELMDeepONet(SLFN(width), Sinusoid(100), Pinv(), scale_inputs=False, random_state=0)
    model.fit(data.u_train, data.s_train, points=data.points)
    assert low < relative_l2(model.predict(data.u_test), data.s_test) < high


@pytest.mark.parametrize(
    ("problem", "branch", "limit"),
    [
        ("antiderivative", Linear() + SLFN(2000, "cos", 0.1), 1e-6),
        ("nonlinear_ode", Linear() + SLFN(2000, "cos", 0.1), 1e-4),
        ("inverse_source", Linear() + SLFN(2000, "cos", 0.1), 2e-5),
        ("antiderivative", Linear(), 1e-12),
    ],
)
def test_what_is_reachable_is_reached(problem, branch, limit):
    data = getattr(problems, problem)(1000, 300)
    model = ELMDeepONet(branch, POD(), Ridge("loo"), random_state=0)
    model.fit(data.u_train, data.s_train, points=data.points)
    error = relative_l2(model.predict(data.u_test), data.s_test)
    assert error <= limit
    assert model.solution_.loo_error == pytest.approx(error, rel=0.3)


def test_defaults_work_on_functions_and_images(small, darcy):
    model = ELMDeepONet(random_state=0).fit(small.u_train, small.s_train, points=small.points)
    assert relative_l2(model.predict(small.u_test), small.s_test) < 0.03
    model = ELMDeepONet(random_state=0).fit(darcy.u_train, darcy.s_train, points=darcy.points)
    assert relative_l2(model.predict(darcy.u_test), darcy.s_test) < 0.15
    assert model.predict(darcy.u_test, points=[[0.5, 0.5]]).shape == (20, 1)


def test_cnn_branch(darcy):
    model = ELMDeepONet(CNN(300), POD(), random_state=0)
    model.fit(darcy.u_train, darcy.s_train, points=darcy.points)
    assert relative_l2(model.predict(darcy.u_test), darcy.s_test) < 0.2


def test_inputs_need_no_normalisation(small):
    x = 5 + 100 * small.points  # other units, other origin
    plain = ELMDeepONet(trunk=MLP(50), random_state=0)
    scaled = clone(plain).fit(1e3 * small.u_train + 7, 1e-4 * small.s_train, points=x)
    plain.fit(small.u_train, small.s_train, points=small.points)
    np.testing.assert_allclose(
        scaled.predict(1e3 * small.u_test + 7) * 1e4, plain.predict(small.u_test), atol=1e-5
    )
    np.testing.assert_allclose(
        scaled.predict(1e3 * small.u_test + 7, points=[[30.0]]) * 1e4,
        plain.predict(small.u_test, points=[[0.25]]),
        atol=1e-5,
    )


def test_same_seed_same_bits(small):
    def predicted(seed):
        model = ELMDeepONet(SLFN(50), MLP(20), random_state=seed)
        return model.fit(small.u_train, small.s_train, points=small.points).predict(small.u_test)

    np.testing.assert_array_equal(predicted(1), predicted(1))
    assert np.abs(predicted(1) - predicted(2)).max() > 1e-6
    model = ELMDeepONet(SLFN(50), SLFN(50), random_state=0)
    model.fit(small.u_train, small.s_train, points=small.points)
    assert model.branch_.seed_ != model.trunk_.seed_
    own = ELMDeepONet(SLFN(50, random_state=5), random_state=0)
    assert own.fit(small.u_train, small.s_train, points=small.points).branch_.seed_ == 5


def test_float32_in_float32_out(small):
    u, s = small.u_train.astype(np.float32), small.s_train.astype(np.float32)
    for solver in (Ridge("loo"), Ridge(1e-3), Pinv()):
        model = ELMDeepONet(SLFN(300), POD(), solver, random_state=0).fit(u, s, points=small.points)
        predicted = model.predict(small.u_test.astype(np.float32))
        assert predicted.dtype == np.float32
        assert model.W_.dtype == (np.float32 if isinstance(solver, Pinv) else np.float64)
        assert relative_l2(predicted, small.s_test) < 0.1
    assert ELMDeepONet().fit(u, small.s_train, points=small.points).W_.dtype == np.float64


def test_grid_search_pipeline_and_clone(small):
    model = ELMDeepONet(Linear() + SLFN(50), POD(), Ridge(1e-3), random_state=0)
    assert clone(model).get_params()["branch__slfn__width"] == 50
    search = GridSearchCV(
        model,
        {"branch__slfn__width": [20, 100], "solver__alpha": [1e-6, 10.0]},
        scoring=neg_relative_l2,
        cv=3,
    )
    search.fit(small.u_train, small.s_train, points=small.points)
    assert search.best_params_["solver__alpha"] == 1e-6
    pipeline = make_pipeline(PCA(20), ELMDeepONet(points=small.points, random_state=0))
    pipeline.fit(small.u_train, small.s_train)
    assert relative_l2(pipeline.predict(small.u_test), small.s_test) < 0.05
    assert pipeline.score(small.u_test, small.s_test) > 0.99


def test_unfitted_models_travel_to_other_processes(small):
    """As GridSearchCV(n_jobs=2) sends them."""
    model = pickle.loads(pickle.dumps(ELMDeepONet(SLFN(20), random_state=0)))
    fitted = model.fit(small.u_train, small.s_train, points=small.points)
    again = pickle.loads(pickle.dumps(fitted))
    assert (again.predict(small.u_test) == fitted.predict(small.u_test)).all()


def test_as_many_points_as_functions_in_cross_validation():
    data = problems.antiderivative(100, 1)  # scikit-learn would split points with the functions
    with pytest.raises(InputError, match=r"ELMDeepONet\(points=...\)"):
        cross_val_score(
            ELMDeepONet(Linear()),
            data.u_train,
            data.s_train,
            params={"points": data.points},
            error_score="raise",
        )
    scores = cross_val_score(ELMDeepONet(Linear(), points=data.points), data.u_train, data.s_train)
    assert scores.min() > 0.999


def test_any_object_with_fit_and_transform(small):
    class Quadratic:
        def fit(self, X, y=None):
            return self

        def transform(self, X):
            return np.hstack([X, X**2])

    trunk = FunctionTransformer(lambda p: p ** np.arange(8))
    model = ELMDeepONet(Quadratic(), trunk, Ridge(0.1), scale_inputs=False)
    model.fit(small.u_train, small.s_train, points=small.points)
    H, H_test = (np.hstack([u, u**2]) for u in (small.u_train, small.u_test))
    Q = np.linalg.qr(small.points ** np.arange(8))[0]
    C = np.linalg.solve(H.T @ H + 0.1 * np.eye(200), H.T @ small.s_train @ Q)
    np.testing.assert_allclose(model.predict(small.u_test), H_test @ C @ Q.T, atol=1e-9)

    class Broken(Quadratic):
        def transform(self, X):
            return X[:-1]

    with pytest.raises(InputError, match="must transform 60 rows"):
        ELMDeepONet(Broken()).fit(small.u_train, small.s_train, points=small.points)


def test_scalar_outputs_and_points_left_out(small):
    total = small.s_train[:, -1]
    model = ELMDeepONet(Linear()).fit(small.u_train, total)
    np.testing.assert_allclose(model.predict(small.u_test), small.s_test[:, -1], atol=1e-9)
    assert model.solution_.loo_error < 1e-9
    same_grid = ELMDeepONet(Linear()).fit(small.u_train, small.s_train)
    np.testing.assert_allclose(same_grid.points_, small.points)


@pytest.mark.filterwarnings("ignore::elmonet.NumericsWarning")
@pytest.mark.parametrize("solver", [Ridge("loo"), Ridge(1e-3), Pinv()])
def test_hard_data_give_finite_answers(small, solver):
    u, s, p = small.u_train, small.s_train, small.points
    constant = u.copy()
    constant[:, ::2] = 3.0
    for X, y in [
        (constant, s),
        (np.repeat(u[:20], 3, axis=0), np.repeat(s[:20], 3, axis=0)),
        (np.ones_like(u), s),
        (0 * u, s),
        (u, 0 * s),
        (u * 1e150, s),
        (u * 1e-150, s),
        (u * 1e150, s * 1e-150),
        (u * 1e-150, s * 1e150),
        (u[:1], s[:1]),
        (u[:2], s[:2]),
    ]:
        model = ELMDeepONet(Linear() + SLFN(70, "tanh"), solver=solver, random_state=0)
        model.fit(X, y, points=p)
        assert np.isfinite(model.predict(X)).all()
        assert np.isfinite(model.solution_.loo_error)
        if len(X) > 2 and X is not constant and y.any() and np.ptp(X, axis=0).any():
            assert relative_l2(model.predict(X), y) < 0.1
    raw = ELMDeepONet(Linear(), solver=solver, scale_inputs=False).fit(u * 1e150, s, points=p)
    assert relative_l2(raw.predict(u * 1e150), s) < 0.1


def test_warning_near_the_interpolation_threshold(small):
    with pytest.warns(InterpolationThresholdWarning, match="p1 = 60 features for N = 60"):
        ELMDeepONet(SLFN(60), Sinusoid(20), Pinv()).fit(small.u_train, small.s_train, points=small.points)
    assert issubclass(InterpolationThresholdWarning, NumericsWarning)


def test_bad_input_says_what_to_do(small):
    u, s, p = small.u_train, small.s_train, small.points
    model = ELMDeepONet(Linear())
    nan, inf = u.copy(), s.copy()
    nan[3, 5], inf[7, 1] = np.nan, np.inf
    for arguments, match in [
        ((nan, s, p), r"X holds 1 NaN or Inf .*\(3, 5\)"),
        ((u, inf, p), r"y holds 1 NaN or Inf .*\(7, 1\)"),
        ((u[:0], s[:0], p), "0 sample"),
        ((u[:, :0], s, p), "0 feature"),
        ((u, s[:, :0], p), "one output function per row"),
        ((u[:50], s, p), "50 in X and 60 in y"),
        ((u, s, p[:50]), "one row for each of the M = 100 columns of y; got 50"),
        ((u, s[:, :50], None), r"points is missing: y has functions of shape .50,. .* shape \(50, d\)"),
        ((u, s, np.full_like(p, np.nan)), "points holds 100 NaN"),
        ((u, s, np.zeros((50, 1, 1))), "one row for each of the M = 100 columns of y; got 50"),
        ((u.astype(complex), s, p), "Complex"),
        ((u, s.astype(complex), p), "Complex"),
        ((u.astype(object), s, p), "dtype object"),
        ((u, s.astype(str), p), "y has dtype"),
        ((u[0], s, p), "Expected 2D array"),
        ((u, s[:, :, None], p[:50]), "does not fit 50 points"),
        ((u, None, p), "requires y"),
    ]:
        with pytest.raises(InputError, match=match):
            model.fit(*arguments)
    with pytest.raises(NotFittedError, match="ELMDeepONet is not fitted"):
        model.predict(u)
    with pytest.raises(ElmonetError):
        model.save("nowhere")
    with pytest.raises(InputError, match="points were given twice"):
        ELMDeepONet(Linear(), points=p).fit(u, s, points=p)
    for part, match in [
        ({"branch": 3}, "branch must be an object with fit and transform"),
        ({"trunk": POD}, "trunk must be an object with fit and transform, .*got <class"),
        ({"solver": "ridge"}, r"solver must be an object with solve, such as Ridge\(\); got 'ridge'"),
    ]:
        with pytest.raises(InputError, match=match):
            ELMDeepONet(**part).fit(u, s, points=p)
    model.fit(u, s, points=p)
    for arguments, match in [
        ((u[:, :7],), "7 features.*100"),
        ((u, [[0.1, 0.2]]), r"1 coordinate\(s\) each, as in fit; got 2"),
        ((u, [[np.nan]]), "NaN"),
        ((u, []), "points"),
        ((nan,), "NaN"),
    ]:
        with pytest.raises(InputError, match=match):
            model.predict(*arguments)
    with pytest.raises(InputError, match="y must have the shape of the predictions"):
        model.score(u, s[:, :5])
