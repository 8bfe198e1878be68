"""elmonet demo, as a user meets it."""

import re
import sys
from pathlib import Path

import pytest

from elmonet.paper import demo, tables

SMALL = ("demo", "--functions", "40", "--seconds", "0.2", "--out", "here")


def test_a_table_and_a_page_with_pictures(run, tmp_path, monkeypatch):
    """Of a problem on a line and one in the plane, with all methods."""
    pytest.importorskip("matplotlib")
    some = ("antiderivative", "darcy")
    monkeypatch.setattr(demo, "PROBLEMS", {name: demo.PROBLEMS[name] for name in some})
    code, out, err = run(*SMALL)
    assert code == 0, err
    for words in (*(tables.TITLES[name] for name in some), *demo.METHODS, "2.12 %", "5.65 %"):
        assert words in out
    assert all(len(line) <= 80 for line in out.splitlines()[:-2])
    assert "0% Antiderivative: as printed" in err
    page = tmp_path / "here" / "index.html"
    assert out.splitlines()[-2].endswith(f'-m webbrowser "{page.as_uri()}"')
    live = page.with_name("live-antiderivative.html")
    assert out.splitlines()[-1].endswith(f'-m webbrowser "{live.as_uri()}"')
    html = page.read_text()
    assert html.count("<img") == 1 + len(some)
    assert not re.search(r'src="(?!data:)', html)
    linked = re.findall(r'href="(.*?)"', html)
    assert linked == [f"live-{name}.html" for name in some]
    for name, title in zip(linked, ("Antiderivative", "Darcy"), strict=True):
        assert f"<title>{title}" in page.with_name(name).read_text("utf-8")


def test_without_matplotlib_and_torch_it_says_so(run, tmp_path, monkeypatch):
    for name in ("matplotlib", "matplotlib.figure", "torch"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "elmonet.baselines", raising=False)
    monkeypatch.setattr(demo, "PROBLEMS", {"antiderivative": demo.PROBLEMS["antiderivative"]})
    code, out, err = run(*SMALL)
    assert code == 0, err
    assert "not run" in out
    assert "baselines" in out
    html = (tmp_path / "here" / "index.html").read_text()
    assert "<img" not in html
    assert "elmonet[plot]" in html


def test_the_records_are_errors_on_the_test_functions(monkeypatch):
    monkeypatch.setattr(demo, "PROBLEMS", {"antiderivative": demo.PROBLEMS["antiderivative"]})
    (shown,) = demo.demo(functions=40, seconds=0.1, seed=2)
    data = demo.PROBLEMS["antiderivative"](n_train=40, n_test=40, seed=2)
    assert (shown.data.u_train == data.u_train).all()
    assert shown.records["automatic"]["error"] < 1e-12  # a linear operator
    assert 1e-4 < shown.records["our solver"]["error"] < 0.5
    (row,) = demo.demo_table([shown]).rows
    assert row[:2] == ("Antiderivative", "2.12 %")


def test_a_file_is_no_folder(run, tmp_path):
    Path(tmp_path / "here").write_text("")
    code, _, err = run(*SMALL)
    assert code == 1
    assert "it is a file" in err
