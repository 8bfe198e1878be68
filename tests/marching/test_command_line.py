"""Records in time from the command line: fit, info and predict."""

import sys
from pathlib import Path

import numpy as np
import pytest

from elmonet import cli, load, problems, read


def call(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["elmonet", *map(str, arguments)])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 0


@pytest.mark.filterwarnings("ignore::elmonet.errors.ExtrapolationWarning")
def test_records_are_fitted_described_and_predicted(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    data = problems.duffing(12, 4, n_steps=80)
    np.savez("records.npz", u_train=data.u_train, s_train=data.s_train, points=data.points[:, 0])
    np.savez("new.npz", u=data.u_test)
    call(monkeypatch, "fit", "records.npz", "-o", "model.elmonet")
    assert "with feedback" in capsys.readouterr().out
    call(monkeypatch, "info", "model.elmonet")
    assert "step in time, 0.1 apart, with feedback" in capsys.readouterr().out
    call(monkeypatch, "predict", "model.elmonet", "new.npz", "-o", "out.npz")
    with np.load("out.npz") as found:
        np.testing.assert_allclose(found["s"], data.s_test, rtol=0, atol=1e-3)


@pytest.mark.filterwarnings("ignore::elmonet.errors.ExtrapolationWarning")
def test_a_folder_with_one_table_per_record(tmp_path, monkeypatch, capsys):
    """Records of different lengths; what was found is said, and the model predicts tables again."""
    monkeypatch.chdir(tmp_path)
    Path("runs").mkdir()
    u = np.tanh(np.cumsum(np.random.default_rng(0).normal(size=(10, 50)), axis=1))
    s = np.zeros_like(u)
    for k in range(50):
        s[:, k] = 0.8 * s[:, k - 1] + 0.1 * u[:, k] if k else 0.1 * u[:, 0]
    for i in range(10):
        table = np.column_stack([0.1 * np.arange(50), u[i], s[i]])[: 40 + i]
        np.savetxt(f"runs/run_{i}.csv", table, delimiter=",", header="t,load,strain", comments="")
    call(monkeypatch, "fit", "runs", "-o", "model.elmonet")
    printed = capsys.readouterr().out
    assert "10 files" in printed
    assert "40 to 49 values" in printed
    assert "Step:             with feedback" in printed
    model = load("model.elmonet")
    np.testing.assert_allclose(model.predict([u[0]])[0], s[0], rtol=0, atol=1e-6)
    Path("new").mkdir()
    for i, end in enumerate((30, 50)):
        table = np.column_stack([0.1 * np.arange(50), u[i]])[:end]
        np.savetxt(f"new/run_{i}.csv", table, delimiter=",", header="t,load", comments="")
    call(monkeypatch, "predict", "model.elmonet", "new", "-o", "out.npz", "--interval", "0.8")
    assert "2 records" in capsys.readouterr().out
    with np.load("out.npz") as found:
        np.testing.assert_allclose(found["strain"], np.r_[s[0, :30], s[1]], rtol=0, atol=1e-6)
        assert (found["strain_low"] <= found["strain_high"]).all()
        np.testing.assert_array_equal(found["index"], np.repeat([0, 1], [30, 50]))
        np.testing.assert_allclose(found["points"][28:32, 0], [2.8, 2.9, 0, 0.1])
    call(monkeypatch, "predict", "model.elmonet", "runs", "-o", "again.csv", "--interval", "0.8")
    printed = " ".join(capsys.readouterr().out.split())
    assert "relative error against the file's own outputs" in printed
    assert "of all values" in printed
    call(monkeypatch, "plot", "model.elmonet", "runs", "-o", "run.png", "--function", "3")
    assert "function 3: relative error" in capsys.readouterr().out
    call(monkeypatch, "plot", "model.elmonet", "new", "-o", "band.png", "--interval", "0.8")
    assert Path("band.png").stat().st_size > 10_000


def test_a_level_beside_time_and_an_input_is_an_output(tmp_path):
    """Alone, "level" may be a coordinate of the atmosphere."""
    for i in range(3):
        table = np.random.default_rng(i).normal(size=(20 + i, 3))
        table[:, 0] = np.arange(20 + i)
        header = "time,voltage,level"
        np.savetxt(tmp_path / f"run_{i}.csv", table, delimiter=",", header=header, comments="")
    data = read(tmp_path)
    assert (data.input, data.output) == ("voltage", "level")
    assert [len(one) for one in data.s_train] == [20, 21, 22]
