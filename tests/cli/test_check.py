"""elmonet check: training pairs that contradict the rest."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from elmonet import problems
from elmonet.cli import app


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    data = problems.antiderivative(n_train=60, n_test=5, n_sensors=20, n_points=20)
    data.s_train[[7, 31]] = data.s_train[[31, 7]]
    path = tmp_path_factory.mktemp("check") / "data.npz"
    np.savez(path, **data.to_arrays())
    return path


def run(*arguments):
    result = CliRunner().invoke(app, ["check", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_swapped_pairs_are_named(file, tmp_path):
    picture = tmp_path / "suspects.png"
    printed = run(file, "--picture", picture)
    assert "2 suspects among 60 functions" in printed
    assert "output: fits the input of row 31" in printed
    assert picture.stat().st_size > 5000


def test_json(file):
    found = json.loads(run(file, "--json"))
    assert found["functions"] == 60
    assert {row["row"] for row in found["suspects"]} == {7, 31}
    assert {row["kind"] for row in found["suspects"]} == {"pair"}


def test_a_picture_of_another_kind(file, tmp_path):
    result = CliRunner().invoke(app, ["check", str(file), "--picture", str(tmp_path / "suspects.docx")])
    assert "docx" in str(result.exception)


def test_a_fit_without_suspects(file, tmp_path):
    out = str(tmp_path / "model.elmonet")
    errors = {}
    for options in ((), ("--without-suspects",)):
        result = CliRunner().invoke(app, ["fit", str(file), "-o", out, "--layers", "0", "--json", *options])
        assert result.exit_code == 0, result.output
        errors[options] = json.loads(result.stdout)["test_error"]
    assert {row["row"] for row in json.loads(result.stdout)["suspects"]} == {7, 31}
    assert errors["--without-suspects",] < 0.01 * errors[()]
