"""Many functions: sums in blocks against dense solves and refits; every kind of array gives one model."""

import numpy as np
import pytest

from elmonet import (
    AutoELMDeepONet,
    ELMDeepONet,
    InfiniteWidth,
    InputError,
    Linear,
    load,
    problems,
    relative_l2,
)
from elmonet.auto import comparison, large, model
from elmonet.data.lazy import Blocks
from elmonet.features.base import features
from elmonet.fitting.block_tasks import BlockFeatures, LeftOutErrorsTask, SumTask
from elmonet.fitting.executors import OnThreads, spread_blocks
from elmonet.forms.training import understand
from elmonet.solve.problem import Span
from elmonet.solve.streamed import ridge_at, ridge_from, validated_ridge
from elmonet.solve.sums import GramSums

x = np.linspace(0, 1, 20)
rng = np.random.default_rng(0)
modes = np.sin(np.pi * np.arange(1, 5)[:, None] * x)


def functions(n, seed):
    u = np.random.default_rng(seed).normal(size=(n, 4)) @ modes
    return u, np.tanh(u) @ np.tril(np.ones((20, 20))).T / 20


@pytest.fixture
def few(monkeypatch):
    """Let a few hundred functions be many."""
    for module in (large, model):
        monkeypatch.setattr(module, "LARGE", 300)
    for name, value in (("_SAMPLE", 500), ("_SEARCHED", 120), ("_HELD_OUT", 100), ("BLOCK_ROWS", 128)):
        monkeypatch.setattr(large, name, value)
    for name, value in (("_WIDTHS", (40, 80, 80)), ("_WIDEST", 200), ("BLOCK_ROWS", 128)):
        monkeypatch.setattr(comparison, name, value)


@pytest.fixture
def quick_search(few, monkeypatch):
    """Search with few functions, where what is searched does not matter."""
    monkeypatch.setattr(large, "_SEARCHED", 40)


# The ridge from sums, by validation


@pytest.mark.numerics
def test_alpha_is_the_best_of_a_fine_grid():
    B, V = rng.normal(size=(30, 200)), rng.normal(size=(30, 50))
    W = rng.normal(size=(3, 30))
    G, G_v = W @ B + rng.normal(size=(3, 200)), W @ V + rng.normal(size=(3, 50))
    sums = GramSums(30, 3)
    sums.add(B, G)

    def error(C):
        return float(np.linalg.norm(C @ V - G_v))

    grid = [
        error(np.linalg.solve(B @ B.T + a * np.eye(30), B @ G.T).T)
        for a in 200 * np.geomspace(1e-16, 1e3, 400)
    ]
    found = validated_ridge(sums, error)
    assert found.error == pytest.approx(error(found.C))
    assert found.error <= 1.002 * min(grid)
    dense = np.linalg.solve(B @ B.T + found.alpha * np.eye(30), B @ G.T).T
    np.testing.assert_allclose(found.C, dense, atol=1e-10)
    np.testing.assert_allclose(ridge_at(sums, found.alpha)[1], dense, atol=1e-10)
    near = validated_ridge(sums, error, found.relative)
    rough = validated_ridge(sums, error, coarse=True)
    assert found.error <= rough.error <= 1.05 * found.error
    assert len(rough.tried) < len(found.tried)
    assert near.error == pytest.approx(found.error, rel=2e-3)


@pytest.mark.numerics
def test_an_alpha_that_is_too_small_for_more_functions_grows():
    B = np.outer(np.ones(4), np.arange(1.0, 6))  # rank one: positive only with some alpha
    sums = GramSums(4, 1)
    sums.add(B, np.arange(5.0)[None])
    with pytest.raises(np.linalg.LinAlgError):
        ridge_at(sums, 1e-18)
    alpha, _, C = ridge_from(sums, 1e-18)
    assert 1e-18 < alpha < 1e-10
    np.testing.assert_allclose(C @ B, (np.arange(5.0) @ B[0] / (B[0] @ B[0]) * B[0])[None], rtol=1e-6)


@pytest.mark.numerics
def test_features_that_are_zero_raise():
    sums = GramSums(3, 1)
    with pytest.raises(np.linalg.LinAlgError, match="features zero"):
        validated_ridge(sums, lambda C: np.nan)


@pytest.mark.numerics
def test_left_out_errors_are_those_of_refits():
    u, s = functions(60, 1)
    training = understand(AutoELMDeepONet(), u, s, x)
    branch = (Linear() + InfiniteWidth("rbf", 0.5, landmarks=10, random_state=0)).fit(u)
    span = Span(np.linalg.svd(s, full_matrices=False)[2][:5].T)
    width = branch.transform(u).shape[1]
    r = BlockFeatures(training.inputs, training.outputs, branch, width, span)
    source = OnThreads(Blocks(u, s, 16), 2, None)
    sums = source.reduce("", SumTask(r, GramSums))
    factor, C = ridge_at(sums, 1e-3)
    found = source.reduce("", LeftOutErrorsTask(r, factor.factor, C))
    B, Q = features(branch, u).T, span.Q
    for i in range(len(u)):
        rest = np.arange(len(u)) != i
        A = B[:, rest] @ B[:, rest].T + 1e-3 * np.eye(width)
        W = np.linalg.solve(A, B[:, rest] @ s[rest] @ Q)
        expected = np.linalg.norm(B[:, i] @ W @ Q.T - s[i]) / np.linalg.norm(s[i])
        assert found.of_each()[i] == pytest.approx(expected, rel=1e-8)
    missed = B.T @ C.T - s @ Q
    assert found.squared == pytest.approx(np.sum(missed**2))
    assert found.total == pytest.approx(np.sum(s**2))


@pytest.mark.numerics
def test_functions_may_be_left_out_of_the_sums():
    u, s = functions(50, 1)
    training = understand(AutoELMDeepONet(), u, s, x)
    r = BlockFeatures(training.inputs, training.outputs, Linear().fit(u), 21, Span(np.eye(20)))
    out = np.array([3, 17, 49])
    found = OnThreads(Blocks(u, s, 16), 2, None).reduce("", SumTask(r, GramSums, out))
    B = np.delete(r.branch.transform(u), out, axis=0)
    np.testing.assert_allclose(np.tril(found.BBt), np.tril(B.T @ B), atol=1e-12)
    assert found.functions == 47


# The same call for many functions


@pytest.mark.numerics
def test_many_functions(few, tmp_path):
    u, s = functions(600, 2)
    u_new, s_new = functions(400, 3)
    found = AutoELMDeepONet(random_state=0).fit(u, s, points=x)
    error = relative_l2(found.predict(u_new), s_new)
    assert error < 0.06
    assert found.error_kind_ == "leave-one-out"
    assert found.expected_error_ == pytest.approx(error, rel=0.3)
    low, high = found.expected_error_interval_
    assert low < found.expected_error_ < high
    assert found.leaderboard_[0]["functions"] == 600
    assert found.best_model_.solution_.errors.shape == (600,)
    assert "read in blocks" in found.summary()
    low, high = found.interval(u_new, 0.9, "function")
    inside = ((low <= s_new) & (s_new <= high)).all(axis=1).mean()
    assert 0.8 < inside <= 1
    assert found.novelty(10 * u_new[:3]).min() > 1.5 > np.median(found.novelty(u_new))
    assert found.is_training_function(u[:3]).all()
    found.save(tmp_path / "m.elmonet")
    again = load(tmp_path / "m.elmonet")
    np.testing.assert_array_equal(again.predict(u_new), found.predict(u_new))
    assert again.expected_error_ == found.expected_error_
    np.testing.assert_array_equal(again.interval(u_new[:2])[0], found.interval(u_new[:2])[0])


@pytest.mark.numerics
def test_a_sample_of_all_functions_is_summed_once(few, quick_search, monkeypatch):
    """The sums of the best trial are those of the finish, which adds the held-out functions."""
    u, s = functions(350, 2)
    once = AutoELMDeepONet(random_state=0).fit(u, s, points=x)
    monkeypatch.setattr(comparison.FinishComparison, "sums_of", lambda self, best: None)
    again = AutoELMDeepONet(random_state=0).fit(u, s, points=x)
    assert once.leaderboard_[0]["branch"] == again.leaderboard_[0]["branch"]
    np.testing.assert_allclose(once.predict(u), again.predict(u), atol=1e-8)
    assert once.expected_error_ == pytest.approx(again.expected_error_, rel=1e-4)


@pytest.mark.numerics
def test_the_left_out_errors_are_those_of_the_model(few):
    """Refit the chosen features without one function, densely."""
    u, s = functions(600, 2)
    found = AutoELMDeepONet(random_state=0).fit(u, s, points=x)
    fitted, solution = found.best_model_._fitted(), found.best_model_.solution_
    B = features(fitted.operator.branch, fitted.seen(u)).T
    Q, z = fitted.operator.basis, fitted.outputs.target(s)
    for i in (0, 17, 599):
        rest = np.arange(600) != i
        A = B[:, rest] @ B[:, rest].T + solution.alpha * np.eye(len(B))
        W = np.linalg.solve(A, B[:, rest] @ z[rest] @ Q)
        predicted = fitted.outputs.values((B[:, i] @ W @ Q.T)[None])
        assert solution.errors[i] == pytest.approx(relative_l2(predicted, s[i : i + 1]), rel=1e-3)


def test_every_kind_of_array_gives_the_same_model(few, quick_search, tmp_path):
    h5py, zarr, da = (pytest.importorskip(name) for name in ("h5py", "zarr", "dask.array"))
    u, s = functions(350, 2)
    expected = AutoELMDeepONet(random_state=0).fit(u, s, points=x).predict(u[:5])
    group = zarr.open_group(tmp_path / "data.zarr", mode="w")
    for name, array in (("u", u), ("s", s)):
        group.create_array(name, data=array, chunks=(100, 20))
    with h5py.File(tmp_path / "data.h5", "w") as file:
        file["u"], file["s"] = u, s
        pairs = {
            "zarr": (group["u"], group["s"]),
            "hdf5": (file["u"], file["s"]),
            "dask": tuple(da.from_array(A, chunks=(100, 20)) for A in (u, s)),
        }
        for kind, (U, S) in pairs.items():
            found = AutoELMDeepONet(random_state=0).fit(U, S, points=x)
            np.testing.assert_allclose(found.predict(u[:5]), expected, atol=1e-8, err_msg=kind)


@pytest.mark.parametrize("count", [350, 60])
@pytest.mark.parametrize("kind", ["zarr", "dask"])
def test_arrays_by_name_on_disk(few, quick_search, tmp_path, kind, count):
    """Inputs are those in memory, components those of one array; few functions are read at once."""
    zarr, da = (pytest.importorskip(name) for name in ("zarr", "dask.array"))
    u, s = functions(count, 2)
    group = zarr.open_group(tmp_path / "data.zarr", mode="w")

    def kept(name, A):
        if kind == "dask":
            return da.from_array(A, chunks=(100, *A.shape[1:]))
        return group.create_array(name, data=A)

    def fitted(X, y):
        return AutoELMDeepONet(random_state=0, layers=0).fit(X, y, points=x)

    X = {"load": u[:, 5:], "first": u[:, 1], "grid": u[:, 1:5].reshape(count, 2, 2)}
    stored = {name: A if name == "first" else kept(name, A) for name, A in X.items()}
    expected = fitted(X, s).predict(X)
    np.testing.assert_allclose(fitted(stored, kept("s", s)).predict(X), expected, atol=1e-8)
    one, y = np.stack([s, 1000 * s**2], axis=-1), {"p": s, "q": 1000 * s**2}
    expected = fitted(kept("u", u), kept("one", one)).predict(u)
    found = fitted(
        group["u"] if kind == "zarr" else u, {name: kept(name, A) for name, A in y.items()}
    ).predict(u)
    np.testing.assert_allclose(found["p"], expected[..., 0], atol=1e-8)
    np.testing.assert_allclose(found["q"], expected[..., 1], atol=1e-5)


def test_arrays_by_name_on_disk_that_do_not_fit(few, tmp_path):
    zarr = pytest.importorskip("zarr")
    u, s = functions(400, 2)
    group = zarr.open_group(tmp_path / "data.zarr", mode="w")
    stored = group.create_array("u", data=u)
    with pytest.raises(InputError, match=r"same number of functions; got .*'b': \(99, 20\)"):
        AutoELMDeepONet().fit({"a": stored, "b": u[:99]}, s, points=x)
    with pytest.raises(InputError, match="components of y must all have the same shape"):
        AutoELMDeepONet().fit(u, {"a": stored, "b": u[:, :9]}, points=x)
    with pytest.raises(InputError, match="arrays of X must all hold"):
        AutoELMDeepONet().fit({"a": stored, "b": 1.0}, s, points=x)
    with pytest.raises(InputError, match=r"got dict\. .* AutoELMDeepONet"):
        ELMDeepONet().fit({"a": stored, "b": u}, stored, points=x)
    wrong = np.where(np.arange(400)[:, None] == 333, np.nan, u)
    with pytest.raises(InputError, match="function 333"):
        AutoELMDeepONet().fit({"a": stored, "b": wrong}, s, points=x)


def test_few_functions_on_disk_are_read_at_once(tmp_path):
    zarr = pytest.importorskip("zarr")
    data = problems.antiderivative(n_train=60, n_test=1)
    group = zarr.open_group(tmp_path / "data.zarr", mode="w")
    u, s = (group.create_array(n, data=A) for n, A in (("u", data.u_train), ("s", data.s_train)))
    found = AutoELMDeepONet(random_state=0).fit(u, s, points=data.points)
    whole = AutoELMDeepONet(random_state=0).fit(data.u_train, data.s_train, points=data.points)
    np.testing.assert_array_equal(found.predict(data.u_test), whole.predict(data.u_test))


@pytest.mark.parametrize("settings", [{"layers": 2}, {"missing": "ignore"}])
def test_what_needs_memory_is_refused_on_disk(few, tmp_path, settings):
    zarr = pytest.importorskip("zarr")
    u, s = functions(400, 2)
    group = zarr.open_group(tmp_path / "data.zarr", mode="w")
    stored = [group.create_array(n, data=A) for n, A in (("u", u), ("s", s))]
    with pytest.raises(InputError, match="in blocks"):
        AutoELMDeepONet(**settings).fit(*stored, points=x)


def test_groups_are_held_out_together(few, quick_search):
    """Every function four times, with noise: left out alone, it would be predicted by its copies."""
    u, s = functions(80, 2)
    u, s = (np.repeat(A, 4, axis=0) for A in (u, s))
    s = s + 0.3 * np.repeat(rng.normal(size=(80, 20)), 4, axis=0)
    found = AutoELMDeepONet(random_state=0).fit(u, s, points=x, groups=np.repeat(np.arange(80), 4))
    u_new, s_new = functions(200, 3)
    error = relative_l2(found.predict(u_new), s_new + 0.3 * rng.normal(size=(200, 20)))
    assert found.error_kind_ == "held out"
    assert found.expected_error_ == pytest.approx(error, rel=0.3)


def test_logarithms_and_components(few):
    u, s = functions(600, 2)
    positive = np.exp(3 * s)
    found = AutoELMDeepONet(random_state=0, log_outputs=True).fit(u, positive, points=x)
    u_new, s_new = functions(1000, 3)
    error = relative_l2(found.predict(u_new), np.exp(3 * s_new))
    assert (found.predict(u_new) > 0).all()
    assert found.expected_error_ == pytest.approx(error, rel=0.4)
    two = AutoELMDeepONet(random_state=0).fit(u, {"a": s, "b": 100 * s[:, ::-1]}, points=x)
    predicted = two.predict(u_new)
    assert relative_l2(predicted["a"], s_new) < 0.08
    assert relative_l2(predicted["b"], 100 * s_new[:, ::-1]) < 0.08


def test_time_for_a_part_of_the_functions(few, monkeypatch):
    """A clock that runs out during the sums: the fit is that of fewer functions, and says so."""
    monkeypatch.setattr(comparison, "_WIDEST", 80)  # features, fewer than functions are summed
    u, s = functions(600, 2)
    fit_of = large.LargeFit._until
    monkeypatch.setattr(
        large.LargeFit, "_until", lambda self, part: 0.0 if part == large._SUM_TIME else fit_of(self, part)
    )
    found = AutoELMDeepONet(random_state=0, time_budget=1e6).fit(u, s, points=x)
    assert found.error_kind_ == "held out"
    assert found.leaderboard_[0]["functions"] < 600
    assert "of 600, for which there was time" in found.summary()
    u_new, s_new = functions(200, 3)
    assert found.expected_error_ == pytest.approx(relative_l2(found.predict(u_new), s_new), rel=0.4)


def test_images_are_compared_after_smoothing():
    """Edges whose places matter little: smoothing must beat the same kernel without."""
    from elmonet.auto.candidates import branches

    families = {candidate.family for candidate in branches((28, 28))}
    assert {"smooth0.84", "smooth1.7"} <= families


@pytest.mark.numerics
def test_of_very_many_functions_some_are_left_out(few, quick_search, monkeypatch):
    """Blocks spread over all functions: each error is that of a fit in which all are left out."""
    u, s = functions(2400, 2)
    u[1200:], s[1200:] = u[1200:] / 2, np.tanh(u[1200:] / 2) @ np.tril(np.ones((20, 20))).T / 20
    monkeypatch.setattr(large, "BLOCK_ROWS", 64)
    every = AutoELMDeepONet(random_state=0).fit(u, s, points=x)
    monkeypatch.setattr(large, "_KEPT_ERRORS", 1200)
    some = AutoELMDeepONet(random_state=0).fit(u, s, points=x)
    np.testing.assert_array_equal(every.predict(u[:5]), some.predict(u[:5]))
    assert some.error_kind_ == every.error_kind_ == "leave-one-out"
    assert some.best_model_.solution_.errors is None
    assert every.best_model_.solution_.errors.shape == (2400,)
    taken = np.isin(np.arange(2400) // 64, spread_blocks(38, 2400, 1200))
    assert 1150 <= taken.sum() < 1400
    sampled = some.best_model_.solution_.residual, every.best_model_.solution_.residual
    assert sampled[0] == pytest.approx(sampled[1], rel=0.1)
    assert some.expected_error_ == pytest.approx(every.expected_error_, rel=0.1)


@pytest.mark.parametrize(
    ("count", "functions_", "most"), [(489, 10**6, 10**5), (20, 10**6, 10**5), (3, 9, 2)]
)
def test_some_blocks_are_spread_over_all(count, functions_, most):
    taken = spread_blocks(count, functions_, most)
    assert taken[0] == 0
    assert taken[-1] == count - 1
    assert len(set(taken.tolist())) == len(taken) == min(count, max(16, -(-count * most // functions_)))
    assert np.ptp(np.diff(taken)) <= 1
    np.testing.assert_array_equal(spread_blocks(count, functions_, functions_), np.arange(count))


def test_the_best_kernel_is_tried_with_and_without_a_linear_block(few, quick_search):
    u, s = functions(350, 2)
    found = AutoELMDeepONet(random_state=0).fit(u, s, points=x)
    kernels = [row["branch"] for row in found.leaderboard_ if "landmarks" in row["branch"]]
    best, *others = [kernel.split("(")[0] for kernel in kernels]  # the last level moves the scale
    other = best.removeprefix("linear + ") if best.startswith("linear") else f"linear + {best}"
    assert other in others
