"""Records in time from the command line: fit, info and predict."""

import sys

import numpy as np
import pytest

from elmonet import cli, problems


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
