"""The command line, as a user meets it."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from elmonet import __version__, cli, load, problems, relative_l2
from elmonet.paper import measure

SMALL = ("reproduce", "inverse-source", "--functions", "20", "--epochs", "2")
needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs PyTorch")


def test_reproduce_prints_tables_and_writes_a_report(run, tmp_path):
    code, out, err = run(*SMALL, "--json", "numbers.json")
    assert code == 0
    assert "Inverse source" in out
    assert "2.77 %" in out
    assert "0% inverse source: making data" in err
    written = {path.name for path in (tmp_path / "results").iterdir()}
    assert written == {"results.json", "report.md", "report.html", "figures"}
    for line in out.splitlines():
        assert len(line) <= 80
    assert json.loads((tmp_path / "numbers.json").read_text())["experiments"] == ["inverse_source"]


def test_json_on_standard_output_is_json_alone(run):
    code, out, err = run(*SMALL, "--json", "-", "--out", "here")
    assert code == 0
    assert "inverse_source/ELM-DeepONet/ours" in json.loads(out)["done"]
    assert "Inverse source" in err


def test_ctrl_c_says_how_to_go_on_and_resume_does(run, monkeypatch, tmp_path):
    def stop(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(measure, "closed_form", stop)
        code, _, err = run(*SMALL, "-o", "kept")
    assert code == 130
    assert "What is finished is kept in kept" in err
    assert "--resume" in err
    assert "Traceback" not in err
    before = json.loads((tmp_path / "kept" / "results.json").read_text())["done"]

    code, _, err = run(*SMALL, "-o", "kept", "--seed", "3", "--resume")
    assert code == 1
    assert "another seed (0, now 3)" in err

    code, _, _ = run(*SMALL, "-o", "kept", "--resume")
    after = json.loads((tmp_path / "kept" / "results.json").read_text())["done"]
    assert code == 0
    assert {name: after[name] for name in before} == before
    assert len(after) > len(before)


@needs_torch
@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signal")
def test_a_real_signal_in_the_middle_of_training(tmp_path):
    endless = ("antiderivative", "--functions", "20", "--epochs", "1000000000", "--seconds", "1000000")
    process = subprocess.Popen(
        [sys.executable, "-c", "from elmonet.cli import main; main()", "reproduce", *endless],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(
            signal.SIGINT, signal.SIG_DFL
        ),  # a shell's background job ignores it
    )
    try:
        while not (tmp_path / "results" / "results.json").exists():  # the data are done, training is on
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "Stopped." in err
    assert "Traceback" not in err
    kept = json.loads((tmp_path / "results" / "results.json").read_text())
    assert list(kept["done"]) == ["antiderivative/data"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("reproduce", "burgers"), 1, "experiment must be one of"),
        (("reproduce", "--functions", "1"), 2, "functions"),
        (("reproduce", "--epochs", "many"), 2, "epochs"),
        pytest.param(
            ("reproduce", "--seconds", "0", "inverse_source", "--functions", "9"),
            1,
            "seconds must be",
            marks=needs_torch,
        ),
        (("reproduse",), 2, "reproduse"),
        ((*SMALL, "--json", "no/such/folder.json"), 1, "folder that exists"),
    ],
)
def test_mistakes_get_a_plain_answer(run, arguments, code, message):
    ended, _, err = run(*arguments)
    assert ended == code
    assert message in err
    assert "Traceback" not in err
    assert err.splitlines()[-1].startswith("elmonet: ")


def test_debug_shows_the_traceback(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["elmonet", "--debug", "reproduce", "burgers"])
    with pytest.raises(ValueError, match="experiment must be"):
        cli.main()


def test_version_and_help(run):
    assert run("--version")[:2] == (0, f"elmonet {__version__}\n")
    code, out, _ = run("reproduce", "--help")
    assert code == 0
    assert "--resume" in out
    assert "elmonet reproduce --full" in out


def test_help_loads_nothing_heavy():
    script = (
        "import sys\nfrom elmonet.cli import main\nsys.argv = ['elmonet', '--help']\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print([m for m in ('scipy', 'sklearn', 'torch', 'matplotlib') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[]"


@pytest.fixture
def folder(tmp_path):
    data = problems.nonlinear_ode(n_train=200, n_test=5)
    (tmp_path / "data").mkdir()
    for name, array in (("u", data.u_train), ("s", data.s_train), ("points", data.points)):
        np.save(tmp_path / "data" / f"{name}.npy", array)
    return data


def test_fit_from_disk(run, folder, tmp_path):
    code, out, _ = run("fit", "data", "-o", "operator.elmonet", "--width", "50", "--memory", "1GB")
    assert code == 0
    assert "200 functions, inputs (100,), outputs at 100 points" in out
    assert "(leave-one-out)" in out
    model = load(tmp_path / "operator.elmonet")
    assert relative_l2(model.predict(folder.u_test), folder.s_test) < 0.05


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere", "-o", "m"), "there is no file or folder 'nowhere'"),
        (("data", "-o", "no/such/folder/m"), "must name a file in a folder that exists"),
        (("data", "-o", "m", "--memory", "much"), 'memory must be a number of bytes or a text such as "2GB"'),
        (("data", "-o", "m", "--memory", "1MB"), "Allow more memory"),
        (("data", "-o", "m", "--activation", "cubic"), "activation must be one of"),
    ],
)
def test_wrong_fits_are_told_in_one_line(run, folder, arguments, message):
    code, _, err = run("fit", *arguments)
    assert code == 1
    assert message in err
    assert "Traceback" not in err
