"""Repeats and trajectories in fits from disk: left out together, as in memory and as in refits."""

import numpy as np
import pytest

from elmonet import SLFN, ELMDeepONet, InputError, Linear, Pinv, Ridge, fit_blocks, problems
from elmonet.errors import NumericsWarning
from elmonet.fitting.executors import whole_groups

pytestmark = pytest.mark.numerics


def model(solver=None, width=20):
    return ELMDeepONet(Linear() + SLFN(width, "tanh", 0.5), solver=solver, random_state=0)


@pytest.fixture(scope="module")
def repeated():
    """60 noisy functions, each of them five times."""
    data = problems.nonlinear_ode(n_train=60, n_test=20, n_sensors=12, n_points=9)
    noise = 0.1 * data.s_train.std() * np.random.default_rng(0).normal(size=data.s_train.shape)
    return data.u_train, data.s_train + noise, data.points


def refits(u, s, points, groups, alpha):
    """The mean relative error of functions, each predicted by a fit without its group."""
    errors = np.empty(len(u))
    B = np.asarray(model(Ridge(alpha)).fit(u, s, points=points).branch_.transform(standard(u))).T
    for label in np.unique(groups):
        own = groups == label
        X, Y = B[:, ~own], s[~own].T
        predicted = Y @ X.T @ np.linalg.solve(X @ X.T + alpha * np.eye(len(X)), B[:, own])
        errors[own] = np.linalg.norm(predicted - s[own].T, axis=0) / np.linalg.norm(s[own], axis=1)
    return errors.mean()


def standard(u):
    return (u - u.mean(axis=0)) / u.std(axis=0)


@pytest.mark.parametrize("order", ["next to each other", "one set after the other", "shuffled"])
@pytest.mark.parametrize("sums", ["gram", "tsqr"])
def test_repeats_are_found_and_left_out_together(order, sums, repeated, monkeypatch):
    """An error of 1e-14 was stated, and 22 % were true."""
    monkeypatch.setattr("elmonet.memory._MOST_ROWS", 23)
    u, s, points = repeated
    groups = np.repeat(np.arange(60), 5) if order == "next to each other" else np.tile(np.arange(60), 5)
    groups = np.random.default_rng(1).permutation(groups) if order == "shuffled" else groups
    u, s = u[groups], s[groups]
    whole = model().fit(u, s, points=points)
    found = fit_blocks(model(Ridge("loo", sums=sums)), u, s, points, workers=2)
    assert found.solution_.error_kind == whole.solution_.error_kind == "leave-group-out"
    assert found.expected_error_ == pytest.approx(whole.expected_error_, rel=1e-3)
    assert found.expected_error_ == pytest.approx(
        refits(u, s, points, groups, found.solution_.alpha), rel=1e-6
    )
    assert "repeats of others" in " ".join(found.summary().split())
    assert found._fitted().groups == 60


def test_steps_of_trajectories_are_found():
    data = problems.burgers_steps(n_train=8, n_test=2, n_steps=15, n_points=17, seed=0)
    u, s = data.u_train, data.s_train
    found, whole = fit_blocks(model(), u, s, data.points), model().fit(u, s, points=data.points)
    assert found.solution_.error_kind == "leave-group-out"
    assert found.expected_error_ == pytest.approx(whole.expected_error_, rel=1e-3)


@pytest.mark.parametrize("solver", [Ridge("loo"), Ridge("gcv"), Ridge(0.1)])
@pytest.mark.parametrize("width", [20, 400])  # sums over functions, or the functions themselves
def test_labels_are_taken(solver, width, repeated, monkeypatch):
    monkeypatch.setattr("elmonet.memory._MOST_ROWS", 17)
    u, s, points = repeated
    labels = np.random.default_rng(2).integers(0, 12, len(u)).astype(str)
    found = fit_blocks(model(solver, width), u, s, points, groups=labels, workers=2)
    alpha = found.solution_.alpha
    whole = model(Ridge(alpha), width).fit(u, s, points=points, groups=labels)
    assert found.solution_.error_kind == "leave-group-out"
    assert found.expected_error_ == pytest.approx(whole.expected_error_, rel=1e-6)
    alone = fit_blocks(model(Ridge(alpha), width), u, s, points)
    assert alone.expected_error_ != pytest.approx(whole.expected_error_, rel=1e-3)
    np.testing.assert_allclose(found.predict(u), whole.predict(u), atol=1e-8 * np.abs(s).max())


def test_labels_with_dask(repeated):
    da = pytest.importorskip("dask.array")
    u, s, points = repeated
    labels = np.random.default_rng(2).integers(0, 12, len(u))
    found = model().fit(da.from_array(u, (13, -1)), da.from_array(s, (13, -1)), points=points, groups=labels)
    whole = model(Ridge(found.solution_.alpha)).fit(u, s, points=points, groups=labels)
    assert found.expected_error_ == pytest.approx(whole.expected_error_, rel=1e-6)
    with pytest.raises(InputError, match="checkpoint has no effect on Dask arrays"):
        fit_blocks(model(), da.from_array(u), da.from_array(s), points, checkpoint="c.ckpt")


def test_labels_of_wrong_length(repeated):
    u, s, points = repeated
    with pytest.raises(InputError, match="one label for each of the 60 functions"):
        fit_blocks(model(), u, s, points, groups=np.arange(59))


def test_pseudoinverses_state_no_error_of_groups(repeated):
    u, s, points = repeated
    found = fit_blocks(model(Pinv()), u, s, points, groups=np.arange(60) // 4)
    assert found.expected_error_ is None
    assert found.solution_.error_kind is None


@pytest.mark.parametrize("order", ["next to each other", "one set after the other"])
def test_in_many_functions_a_sample_is_compared(order, repeated, monkeypatch):
    monkeypatch.setattr("elmonet.fitting.streamed._COMPARED_BYTES", 80 * 21 * 8)
    u, s, points = repeated
    which = np.repeat(np.arange(60), 4) if order == "next to each other" else np.tile(np.arange(60), 4)
    with pytest.warns(NumericsWarning, match="80 of 240 functions were compared: .* repeats"):
        found = fit_blocks(model(), u[which], s[which], points)
    assert found.expected_error_ is None
    assert "Give groups for all functions" in " ".join(found.summary().split())
    known = fit_blocks(model(), u[which], s[which], points, groups=which)  # no warning
    assert known.solution_.error_kind == "leave-group-out"


def test_what_was_compared_is_said(repeated, monkeypatch):
    u, s, points = repeated
    assert "compared" not in fit_blocks(model(), u, s, points).summary()
    monkeypatch.setattr("elmonet.fitting.streamed._COMPARED_BYTES", 32 * 21 * 8)
    found = fit_blocks(model(), u, s, points)
    assert found.expected_error_ is not None
    assert "32 of 60 functions were compared" in " ".join(found.summary().split())
    batches = model().partial_fit(u[:30], s[:30], points=points).partial_fit(u[30:], s[30:])
    assert "were not compared" in " ".join(batches.summary().split())


def test_groups_are_whole_in_blocks():
    rng = np.random.default_rng(0)
    for _ in range(20):
        groups, rows = rng.integers(0, 9, 40), int(rng.integers(1, 15))
        order, starts = whole_groups(groups, rows)
        assert sorted(order) == list(range(40))
        parts = np.split(groups[order], starts[1:])
        seen = [set(part) for part in parts]
        assert sum(len(own) for own in seen) == len(set(groups))
        assert all(len(part) <= rows or len(own) == 1 for part, own in zip(parts, seen, strict=True))
