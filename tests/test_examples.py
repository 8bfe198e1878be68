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
    for *_, error, left_out, seconds in table:
        assert 0 < error < 1
        assert error / 10 < left_out < error * 10
        assert seconds > 0
    printed = capsys.readouterr().out
    for name, method, error, *_ in table:
        assert f"{name:15} {method:17} {error:10.1e}" in printed

    pictures = {path.name: path for path in (tmp_path / "new" / "folder").iterdir()}
    assert set(pictures) == {f"{name}.png" for name in (*one_dimensional, "darcy", "ridge_path")}
    for path in pictures.values():
        assert np.ptp(pyplot.imread(path)) > 0.5
