"""Every script in examples/ runs as a user would run it, prints, draws, and does what it says."""

import contextlib
import io
import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pyplot = pytest.importorskip("matplotlib.pyplot")

EXAMPLES = Path(__file__).parents[1] / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py"))


@pytest.mark.parametrize("name", NAMES)
def test_runs_as_a_script_and_does_what_it_says(name, tmp_path, monkeypatch):
    """One test for each example, so that it runs once, whichever process it falls to."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pyplot, "show", lambda: None)  # no windows
    pyplot.close("all")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        names = runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    drawn = len(pyplot.get_fignums())
    pyplot.close("all")
    assert printed.getvalue()
    assert drawn
    assert not list(tmp_path.iterdir())
    CHECKS[name](SimpleNamespace(**names, printed=printed.getvalue()))


@pytest.mark.parametrize("name", NAMES)
def test_begins_with_a_title_for_the_gallery(name):
    title, line = (EXAMPLES / f"{name}.py").read_text("utf-8").splitlines()[1:3]
    assert line == "=" * len(title)


def plain_elm_is_the_pseudoinverse_of_the_hidden_layer(found):
    model, y = found.model, found.y
    H, H_test = model[:-1].transform(found.X), model[:-1].transform(found.X_test)
    # LinearRegression drops singular values below 1e-6 of the largest: there are none.
    assert np.linalg.cond(H) < 1e5
    pinv_H = np.linalg.pinv(H)
    np.testing.assert_allclose(model.predict(found.X), H @ pinv_H @ y, atol=1e-10)
    np.testing.assert_allclose(model.predict(found.X_test), H_test @ pinv_H @ y, atol=1e-10)
    assert model.score(found.X_test, found.y_test) > 0.999


def four_problems_make_a_table(found):
    rows = [(name, method) for name, method, *_ in found.table]
    one_dimensional = ("antiderivative", "nonlinear_ode", "inverse_source", "noisy_source")
    assert rows == [
        *((name, method) for name in one_dimensional for method in ("paper", "ours")),
        ("darcy", "paper"),
        ("darcy", "ours"),
        ("darcy", "ours, log(kappa)"),
    ]
    for name, method, error, expected, seconds in found.table:
        assert 0 < error < 1
        assert error / 10 < expected < error * 10
        assert seconds > 0
        assert f"{name:15} {method:17} {error:10.1e}" in found.printed
    ours = {name: error for name, method, error, *_ in found.table if method == "ours"}
    paper = {name: error for name, method, error, *_ in found.table if method == "paper"}
    assert all(ours[name] < paper[name] for name in paper)


def your_own_data_survives_a_file(found):
    at_the_times, between = found.errors
    assert at_the_times < 1e-5
    assert between < 1e-4
    assert 0.2 < found.again.expected_error_ / at_the_times < 5


def unaligned_data(found):
    chosen, given = found.errors
    # The counts have errors of 1 %; the model is more accurate.
    assert chosen < 0.01 < found.lists.expected_error_ < 0.02
    assert given < 0.012


def images_to_fields_vanish_on_the_boundary(found):
    coarse, fine = found.errors
    assert found.largest == 0
    assert coarse < 0.015
    assert fine < 1.1 * coarse


def several_inputs_multiplied_are_best(found):
    default, side_by_side, multiplied = found.errors.values()
    assert multiplied < 0.005
    assert default < 0.04
    assert side_by_side > 0.1  # no sum of a function of f and one of k is near


def vector_outputs_count_alike(found):
    hares, lynxes = found.errors.values()
    assert found.same
    assert max(hares, lynxes) < 1e-3
    assert 0.5 < hares / lynxes < 2
    assert 0.3 < found.model.expected_error_ / hares < 3


def the_expected_error_of_noisy_data_is_right(found):
    table = found.table
    for name, (expected, on_noisy, on_truth) in table.items():
        assert on_truth <= on_noisy
        if "20 %" not in name:  # there, half of the training functions are worse than the test functions
            assert 0.8 < expected / on_noisy < 1.25
    alike, weighted, half = (row[2] for row in list(table.values())[-3:])
    assert weighted < 0.7 * alike
    assert weighted < 1.1 * half


def error_bars_hold(found):
    calibration = found.calibration
    np.testing.assert_allclose(calibration.points, calibration.asked, atol=0.06)
    np.testing.assert_allclose(calibration.functions, calibration.asked, atol=0.09)


def time_steps_stay_near_the_truth(found):
    assert found.one_step < 0.01
    assert np.isfinite(found.found).all()
    missed = np.linalg.norm(found.found[:, -1] - found.truth[:, -1], axis=1)
    assert (missed < 0.05 * np.linalg.norm(found.truth[:, -1], axis=1)).all()


def records_run_freely_and_say_where_they_cannot(found):
    assert found.error < 0.01 < 0.5 < found.whole_error
    assert "lead out of the range" in str(found.caught[0].message)
    width = (found.high - found.low)[0]
    assert width[-1] > 5 * width[:20].max()


def next_simulation_saves_simulations(found):
    errors = found.errors
    assert errors["suggested"][0] == errors["random"][0]
    assert min(errors["suggested"][:4]) < min(errors["random"])  # 40 suggested, better than 60 random


def inverse_problem_finds_the_source(found):
    assert found.error < 0.05
    assert found.inside > 0.7
    assert found.posterior.r_hat < 1.05
    assert 5 < found.posterior.determined < 20


def optimisation_loop_finds_the_solver_s_optimum(found):
    for target in found.targets:
        assert found.misses[target, "surrogate"] < 1.02 * found.misses[target, "solver"]
    assert found.cost["surrogate"][0] == 150  # for the training data, none in the loop
    assert found.cost["solver"][0] > 150


def physics_heat_needs_no_data(found):
    assert found.error < 1e-7
    assert found.model.expected_error_ > found.error / 10
    assert found.elsewhere < 1e-3


def physics_channel_flow_keeps_its_fluid(found):
    assert found.parabola < 2e-3
    assert found.lost < 5e-3


def physics_own_domain_is_exact_for_polynomials(found):
    assert found.error < 1e-9
    assert found.model.expected_error_ < 1e-9


CHECKS = {
    "error_bars": error_bars_hold,
    "four_problems": four_problems_make_a_table,
    "images_to_fields": images_to_fields_vanish_on_the_boundary,
    "next_simulation": next_simulation_saves_simulations,
    "noise": the_expected_error_of_noisy_data_is_right,
    "inverse_problem": inverse_problem_finds_the_source,
    "optimisation_loop": optimisation_loop_finds_the_solver_s_optimum,
    "physics_channel_flow": physics_channel_flow_keeps_its_fluid,
    "physics_heat": physics_heat_needs_no_data,
    "physics_own_domain": physics_own_domain_is_exact_for_polynomials,
    "plain_elm": plain_elm_is_the_pseudoinverse_of_the_hidden_layer,
    "records": records_run_freely_and_say_where_they_cannot,
    "several_inputs": several_inputs_multiplied_are_best,
    "time_steps": time_steps_stay_near_the_truth,
    "unaligned_data": unaligned_data,
    "vector_outputs": vector_outputs_count_alike,
    "your_own_data": your_own_data_survives_a_file,
}
