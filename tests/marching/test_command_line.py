"""Records in time from the command line: fit, info and predict."""

import sys
from pathlib import Path

import numpy as np
import pytest

from elmonet import cli, load, problems


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
