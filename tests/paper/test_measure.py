"""Measurements of the paper's models, against plain NumPy."""

import numpy as np
import pytest

from elmonet import MLP, SLFN, Ridge, Sinusoid, problems, relative_l2
from elmonet.paper import measure


def ignore(_):
    pass


@pytest.fixture(scope="module")
def data(tiny):
    return problems.antiderivative(n_train=tiny.functions, n_test=tiny.functions)


def pinv32(A):
    return np.linalg.pinv(A, rcond=max(A.shape) * np.finfo(np.float32).eps)


@pytest.mark.parametrize("model", ["ELM-DeepONet", "Sinusoidal ELM-DeepONet"])
def test_sensitivity_is_two_pseudoinverses_in_single_precision(data, tiny, model):
    record = measure.sensitivity(data, ignore, model=model, trial=1, effort=tiny, seed=0)
    assert np.shape(record["printed"]) == np.shape(record["ours"]) == (3, 3)
    branch_seed, trunk_seed = (int(s) for s in np.random.SeedSequence((0, 1)).generate_state(2))
    for i, p1 in enumerate(tiny.widths):
        for j, p2 in enumerate(tiny.widths):
            trunk = MLP(p2, random_state=trunk_seed) if model == "ELM-DeepONet" else Sinusoid(p2)
            branch = SLFN(p1, random_state=branch_seed)
            single = [A.astype(np.float32) for A in (data.u_train, data.u_test, data.s_train, data.points)]
            B, B_test = branch.fit_transform(single[0]).T, branch.transform(single[1]).T
            T = trunk.fit_transform(single[3])
            by_hand = (T @ (pinv32(T) @ single[2].T @ pinv32(B)) @ B_test).T
            assert record["printed"][i][j] == pytest.approx(relative_l2(by_hand, data.s_test), rel=0.02)


def test_our_column_is_the_ridge_in_double_precision(data, tiny):
    record = measure.sensitivity(data, ignore, model="Sinusoidal ELM-DeepONet", trial=0, effort=tiny, seed=3)
    branch_seed, _ = (int(s) for s in np.random.SeedSequence((3, 0)).generate_state(2))
    branch = SLFN(50, random_state=branch_seed)
    B, B_test = branch.fit_transform(data.u_train).T, branch.transform(data.u_test).T
    T = Sinusoid(100).fit_transform(data.points)
    alpha = Ridge("loo").solve(T, B, data.s_train.T).alpha
    Q = np.linalg.svd(T, full_matrices=False)[0][:, : np.linalg.matrix_rank(T)]
    C = Q.T @ data.s_train.T @ np.linalg.solve(B.T @ B + alpha * np.eye(B.shape[1]), B.T)
    assert record["ours"][1][2] == pytest.approx(relative_l2((Q @ C @ B_test).T, data.s_test), rel=1e-5)


def test_widths_peak_where_p1_is_n_and_ridge_has_no_peak(data, tiny):
    record = measure.widths(data, ignore, effort=tiny, seed=0)
    assert record["functions"] == 20
    assert record["pinv64"][1] > 3 * max(record["pinv64"][0], record["pinv64"][2])
    assert record["ridge"][1] < 1.2 * record["ridge"][0]


def test_bases_are_ranks_and_projections(data, tiny):
    record = measure.bases(data, ignore, effort=tiny, seed=0)
    for i, p2 in enumerate(record["p2"]):
        for name, trunk in (("printed", Sinusoid(p2)), ("tensor", Sinusoid(p2, basis="tensor"))):
            T = trunk.fit_transform(data.points)
            coefficients = np.linalg.lstsq(T, data.s_test.T, rcond=None)[0]
            assert record[name]["rank"][i] == np.linalg.matrix_rank(T)
            assert record[name]["projection"][i] == pytest.approx(
                relative_l2((T @ coefficients).T, data.s_test), rel=1e-2, abs=1e-9
            )
    assert all(25 <= rank <= 27 for rank in record["printed"]["rank"][1:])


def test_the_printed_darcy_basis_has_a_quarter_of_its_rank(tiny):
    darcy = problems.darcy(n_train=4, n_test=8)
    record = measure.bases(darcy, ignore, effort=tiny, seed=0)
    assert record["printed"]["rank"] == [4, 6]
    assert record["tensor"]["rank"] == [16, 24]
    assert min(record["printed"]["projection"]) > 0.1
    assert max(record["tensor"]["projection"]) < 0.05


@pytest.mark.parametrize("p2", [50, 100, 300])
def test_the_printed_formula_is_what_single_precision_makes_of_it(data, p2):
    """pinv(T'T) T', computed in float32, loses the directions that we say it loses."""
    single = [A.astype(np.float32) for A in (data.u_train, data.u_test, data.s_train, data.points)]
    T = MLP(p2, random_state=0).fit_transform(single[3])
    branch = SLFN(60, random_state=0)
    B, B_test = branch.fit_transform(single[0]).T, branch.transform(single[1]).T
    values, V = np.linalg.eigh(T.T @ T)
    kept = values > p2 * np.finfo(np.float32).eps * values.max()
    T_plus = (V[:, kept] / values[kept]) @ V[:, kept].T @ T.T
    by_hand = (T @ (T_plus @ single[2].T @ pinv32(B)) @ B_test).T
    error = measure._test_error(measure._GramPinv(), T, B, B_test, measure._single_precision(data))
    assert error == pytest.approx(relative_l2(by_hand, data.s_test), rel=1e-3)


def test_the_search_takes_the_least_leave_one_out_error(tiny):
    darcy = problems.darcy(n_train=12, n_test=6)
    record = measure.closed_form(darcy, ignore, model="ELM-DeepONet CNN", solver="ours", effort=tiny, seed=0)
    assert [row[:2] for row in record["searched"]] == [[30, 16], [30, 24], [60, 16], [60, 24]]
    assert record["loo_error"] == min(row[2] for row in record["searched"])
    assert record["parameters"] == record["p1"] * record["p2"]
    assert np.shape(record["predictions"]) == (1, 2500)


def test_draws_differ_and_are_as_many_as_trials(tiny, monkeypatch):
    monkeypatch.setattr(measure, "_DRAWS_P1", 30)
    darcy = problems.darcy(n_train=12, n_test=6)
    record = measure.draws(darcy, ignore, effort=tiny, seed=0)
    for errors in record["error"].values():
        assert len(set(errors)) == tiny.trials


def test_progress_is_reported_in_order(data, tiny):
    seen = []
    measure.sensitivity(data, seen.append, model="ELM-DeepONet", trial=0, effort=tiny, seed=0)
    assert seen == sorted(seen)
    assert seen[0] == 0
    assert seen[-1] < 1


def test_records_hold_five_digits():
    assert measure._rounded(np.array([[1.23456789, -0.000123456789]])) == [[1.2346, -0.00012346]]
