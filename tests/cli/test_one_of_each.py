"""Numbers in words: the plural of one, and percentages that a person would write."""

import json
import re

import numpy as np
import pytest

from elmonet import ELMDeepONet, Linear, OperatorData, errors
from elmonet.memory import readable
from elmonet.summary import duration, percent, plural, rounded

ONE_OF_MANY = re.compile(r"(?<![\d.,'-])1 (?:[a-z]+ )?(?!(?:is|as|of|s|features=)\b)[a-z]+s\b")


@pytest.fixture
def single(tmp_path):
    """Files with one function, one point, one test function; a model of them."""
    rng = np.random.default_rng(0)
    u = rng.standard_normal((9, 1))
    arrays = {"u_train": u, "s_train": 2 * u, "u_test": u[:1] + 1, "s_test": 2 * u[:1] + 2}
    np.savez(tmp_path / "data.npz", **arrays, points=np.zeros((1, 1)))
    np.savez(tmp_path / "new.npz", u=u[:1])
    ELMDeepONet(Linear()).fit(u, 2 * u, np.zeros((1, 1))).save(tmp_path / "m.elmonet")
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        "fit data.npz -o fit.elmonet --width 1 --report fit.html",
        "predict m.elmonet data.npz -o p.npz",
        "predict m.elmonet new.npz -o p.npz",
        "compare m.elmonet m.elmonet data.npz",
        "plot m.elmonet data.npz -o p.png",
        "info m.elmonet",
        "info data.npz",
        "make antiderivative --n-train 1 --n-test 1 -o d.npz",
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_one_is_no_plural(command, run, single):
    code, out, err = run(*command.split())
    assert code == 0, err
    page = single / "fit.html"
    text = out + err + (re.sub(r"<[^>]*>", "\n", page.read_text()) if page.exists() else "")
    assert not ONE_OF_MANY.findall(text)
    assert "e+0" not in text


def test_one_is_no_plural_in_python():
    data = OperatorData(
        np.ones((1, 1)), np.ones((1, 1)), np.ones((1, 1)), np.ones((1, 1)), points=np.zeros((1, 1))
    )
    assert not ONE_OF_MANY.findall(repr(data))
    assert plural(0, "function") == "0 functions"


def test_percentages_have_no_power_of_ten_between_tiny_and_huge():
    for digits in (1, 2, 3):
        for error in np.geomspace(1e-6, 9999, 2001):
            shown = percent(error, digits)
            assert "e" not in shown
            assert float(shown.removesuffix(" %")) == pytest.approx(
                100 * error, rel=0.5 * 10.0 ** (1 - digits)
            )
    assert percent(1e22) == "1e+22"
    assert [rounded(99.6, 2), rounded(1e-20, 2), duration(2.0), duration(0.1)] == [
        "100",
        "1e-20",
        "2 s",
        "100 ms",
    ]
    assert readable(1020 * 1024) == "1020 KiB"


def test_where_to_report_a_bug(run, single, monkeypatch):
    def fail(*_, **__):
        raise KeyError("surprise")

    monkeypatch.setattr("elmonet.data.reading.describe_file", fail)
    told = "elmonet: KeyError: 'surprise'. This is a bug in elmonet. "
    assert run("info", "data.npz")[2] == (
        f"{told}If you report it, include what the same command prints with --debug.\n"
    )
    monkeypatch.setattr(errors, "ISSUES", "https://example.org/issues")
    assert run("info", "data.npz")[2] == (
        f"{told}Please report it at https://example.org/issues, with what the same command prints with "
        "--debug.\n"
    )


def test_flags_have_no_type_in_the_help(run):
    for verb in ("", "fit", "info", "reproduce"):
        out = run(*verb.split(), "--help")[1]
        assert "bool" not in out.lower()
        assert json.dumps(out).count("--help") >= 1
