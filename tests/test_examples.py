"""Every script in examples/ runs as a user would run it, and does what it says."""

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

pyplot = pytest.importorskip("matplotlib.pyplot")

EXAMPLES = Path(__file__).parents[1] / "examples"
SMALL = {"four_problems": ["--n", "8"]}


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    yield
    pyplot.close("all")


def load(name):
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_runs_as_a_script(path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [str(path), *SMALL.get(path.stem, [])])
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out


def test_plain_elm_is_the_pseudoinverse_of_the_hidden_layer():
    model, X, y, X_test, y_test = load("plain_elm")["main"]()
    H, H_test = model[:-1].transform(X), model[:-1].transform(X_test)
    # LinearRegression drops singular values below 1e-6 of the largest: there are none.
    assert np.linalg.cond(H) < 1e5
    pinv_H = np.linalg.pinv(H)
    np.testing.assert_allclose(model.predict(X), H @ pinv_H @ y, atol=1e-10)
    np.testing.assert_allclose(model.predict(X_test), H_test @ pinv_H @ y, atol=1e-10)
    assert model.score(X_test, y_test) > 0.999


def test_four_problems_prints_a_table_and_saves_pictures(tmp_path, capsys):
    table = load("four_problems")["main"](["--n", "60", "--out", str(tmp_path / "new" / "folder")])
    rows = [(name, method) for name, method, *_ in table]
    one_dimensional = ("antiderivative", "nonlinear_ode", "inverse_source", "noisy_source")
    assert rows == [
        *((name, method) for name in one_dimensional for method in ("paper", "ours")),
        ("darcy", "paper"),
        ("darcy", "ours"),
        ("darcy", "ours, log(kappa)"),
    ]
    for *_, error, expected, seconds in table:
        assert 0 < error < 1
        assert error / 10 < expected < error * 10
        assert seconds > 0
    printed = capsys.readouterr().out
    for name, method, error, *_ in table:
        assert f"{name:15} {method:17} {error:10.1e}" in printed

    pictures = {path.name: path for path in (tmp_path / "new" / "folder").iterdir()}
    assert set(pictures) == {f"{name}.png" for name in (*one_dimensional, "darcy", "ridge_path")}
    for path in pictures.values():
        assert np.ptp(pyplot.imread(path)) > 0.5


def test_your_own_data_survives_a_file():
    at_the_times, between, expected = load("your_own_data")["main"]()
    assert at_the_times < 1e-5
    assert between < 1e-4
    assert 0.2 < expected / at_the_times < 5


def test_unaligned_data():
    chosen, given, expected = load("unaligned_data")["main"]()
    assert chosen < 0.01 < expected < 0.02  # the counts have errors of 1 %; the model is more accurate
    assert given < 0.012


def test_images_to_fields_vanish_on_the_boundary():
    coarse, fine, largest = load("images_to_fields")["main"]()
    assert largest == 0
    assert coarse < 0.015
    assert fine < 1.1 * coarse


def test_several_inputs_multiplied_are_best():
    default, side_by_side, multiplied = load("several_inputs")["main"]()
    assert multiplied < 0.005
    assert default < 0.04
    assert side_by_side > 0.1  # no sum of a function of f and one of k is near


def test_vector_outputs_count_alike():
    (hares, lynxes, expected), same = load("vector_outputs")["main"]()
    assert same
    assert max(hares, lynxes) < 1e-3
    assert 0.5 < hares / lynxes < 2
    assert 0.3 < expected / hares < 3


def test_the_expected_error_of_noisy_data_is_right():
    table = load("noise")["main"]()
    for name, (expected, on_noisy, on_truth) in table.items():
        assert on_truth <= on_noisy
        if "20 %" not in name:  # there, half of the training functions are worse than the test functions
            assert 0.8 < expected / on_noisy < 1.25
    alike, weighted, half = (row[2] for row in list(table.values())[-3:])
    assert weighted < 0.7 * alike
    assert weighted < 1.1 * half


def test_next_simulation_saves_simulations():
    errors = load("next_simulation")["main"]()
    assert errors["suggested"][0] == errors["random"][0]
    assert min(errors["suggested"][:4]) < min(errors["random"])  # 40 suggested, better than 60 random


def test_optimisation_loop_finds_the_solver_s_optimum():
    misses, cost = load("optimisation_loop")["main"]()
    for target in {name for name, _ in misses}:
        assert misses[target, "surrogate"] < 1.02 * misses[target, "solver"]
    assert cost["surrogate"][0] == 150  # for the training data, none in the loop
    assert cost["solver"][0] > 150


def test_physics_heat_needs_no_data():
    error, expected, elsewhere = load("physics_heat")["main"]()
    assert error < 1e-7
    assert expected > error / 10
    assert elsewhere < 1e-3


def test_physics_channel_flow_keeps_its_fluid():
    parabola, lost = load("physics_channel_flow")["main"]()
    assert parabola < 2e-3
    assert lost < 5e-3


def test_physics_own_domain_is_exact_for_polynomials():
    error, expected = load("physics_own_domain")["main"]()
    assert error < 1e-9
    assert expected < 1e-9
