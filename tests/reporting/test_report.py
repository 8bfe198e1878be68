"""The report of every kind of model: whole, harmless, and with what a reader asks for."""

import base64
import io
import pickle
import sys

import numpy as np
import pytest

from elmonet import (
    SLFN,
    AutoELMDeepONet,
    ELMDeepONet,
    FileError,
    InputError,
    InputPart,
    LayeredELMDeepONet,
    Legendre,
    Linear,
    MissingExtra,
    NotFittedError,
    Scattered,
    load,
    problems,
)
from elmonet.physics import PDE, Box
from elmonet.reporting import figures as drawing
from elmonet.reporting.html import element, page, picture, table

HEADINGS = (
    "Expected error",
    "The data",
    "Selected model",
    "Calibration of the bands",
    "Best, median and worst function",
    "Reproducing this fit",
)
NAMES = ("<script>alert(1)</script>", "\"'><img src=x onerror=alert(2)>&amp;$\\frac{$")


@pytest.fixture(scope="module")
def data():
    return problems.antiderivative(n_train=24, n_test=12, n_sensors=20, n_points=20, length_scale=0.4, seed=2)


@pytest.fixture(scope="module")
def small(data):
    model = ELMDeepONet(Linear() + SLFN(40), random_state=7)
    return model.fit(data.u_train, data.s_train, points=data.points)


def test_the_relevance_of_parts_is_shown_where_they_differ(small, reported):
    rng = np.random.default_rng(0)
    u, x = rng.random((20, 2)), np.linspace(0, 1, 8)
    parts = (InputPart("load", 1, relevance=3.0), InputPart("speed", 1, relevance=0.5))
    model = ELMDeepONet(Linear(), parts=parts, random_state=0).fit(u, np.sin(u[:, :1] + x), points=x)
    words = "Relevance of each part of the inputs"
    assert words in reported(model).text
    assert words not in reported(small).text


def test_a_fit_on_a_line(data, small, reported):
    read = reported(small, data.u_test, data.s_test)
    for heading in (*HEADINGS, "Error over the domain"):
        assert heading in read.text
    assert f"{100 * small.expected_error_:.3g} %" in read.text or f"{small.expected_error_:.2g}" in read.text
    for words in ("On 12 test functions", "24 training functions, left out", "numpy", "scikit-learn"):
        assert words in read.text
    assert "random_state=7" in read.text
    assert "points=points)  # 24 functions" in read.text
    assert all(line in read.text for line in small.summary().splitlines())
    image = pytest.importorskip("matplotlib.image")
    assert len(read.pictures) == 8  # errors, alpha, bands twice, three functions, the domain
    for attributes in read.pictures:
        pixels = image.imread(io.BytesIO(base64.b64decode(attributes["src"].split(",", 1)[1])))
        assert pixels[..., :3].std() > 0.02


def test_the_choice_of_auto_and_hostile_names(data, reported):
    inputs = {NAMES[0]: data.u_train, NAMES[1]: data.u_train[:, :3]}
    outputs = {NAMES[1]: data.s_train, NAMES[0]: data.s_train**2}
    model = AutoELMDeepONet(time_budget=0.2, layers=0, random_state=0)
    model.fit(inputs, outputs, points=data.points)
    read = reported(model)
    for heading in HEADINGS:
        assert heading in read.text
    assert ", ".join(outputs) in read.text  # as text, to the letter
    assert "AutoELMDeepONet(layers=0, random_state=0, time_budget=0.2)" in read.text
    assert model.leaderboard_[0]["branch"] in read.text
    assert any("candidate" in attributes["alt"] for attributes in read.pictures)
    assert sum(name in attributes["alt"] for name in NAMES for attributes in read.pictures) == 8


def test_a_plane(reported):
    data = problems.darcy(n_train=8, n_test=1, seed=1, n_points=8)
    model = ELMDeepONet(SLFN(50), random_state=0).fit(data.u_train, data.s_train, points=data.points)
    assert "x1 from 0 to 1, x2 from 0 to 1" in reported(model).text


def test_a_loaded_model(data, small, reported, tmp_path, quick_pictures):
    small.save(tmp_path / "model.elmonet")
    loaded = load(tmp_path / "model.elmonet")
    read = reported(loaded)
    for words in (
        "Not known: this model was loaded from a file",
        "not kept in the file",
        "the call of fit is not known",
    ):
        assert words in read.text
    shown = reported(loaded, data.u_test, data.s_test)
    assert "12 test functions: each is predicted" in shown.text
    assert len(shown.pictures) == 7


def test_scattered_numbers_and_more_dimensions(data, reported):
    rng = np.random.default_rng(0)
    index, places = np.repeat(np.arange(24), 8), rng.random((192, 2))
    values = places[:, 0] * data.s_train[index, -1]
    model = ELMDeepONet(SLFN(20), Legendre(2), random_state=0).fit(
        data.u_train, Scattered(index, places, values)
    )
    assert "held out: each is predicted" in reported(model).text
    model = ELMDeepONet(SLFN(20), random_state=0).fit(data.u_train, data.s_train[:, -1])
    assert "True and predicted values" in " ".join(a["alt"] for a in reported(model).pictures)
    cube = rng.random((20, 3))
    model = ELMDeepONet(SLFN(20), random_state=0).fit(data.u_train, data.s_train, points=cube)
    assert "x3 from" in reported(model).text


def test_layers(data, reported, tmp_path, quick_pictures):
    model = LayeredELMDeepONet(layers=2, width=30, random_state=0)
    model.fit(data.u_train, data.s_train, points=data.points)
    read = reported(model)
    assert "functions held out of all layers" in read.text
    assert "too few functions to test the bands" in read.text
    model.save(tmp_path / "model.elmonet")
    assert "Not known: this model was loaded from a file" in reported(load(tmp_path / "model.elmonet")).text


def test_an_equation(data, reported, quick_pictures):
    pde = PDE(Box(x=(0, 1)), lambda s, u: s.x - u, {"x=0": lambda s, u: s})
    model = AutoELMDeepONet(layers=0, time_budget=0.2).fit(
        data.u_train, pde, data.points, sensors=data.sensors
    )
    read = reported(model)
    assert all(line in read.text for line in str(model.physics_).splitlines())
    assert "It includes the error of the equation's solutions themselves" in read.text
    assert "model.fit(u, pde, points=points, sensors=sensors)" in read.text
    assert f"{model.global_model_.random_state}, drawn for this fit" in read.text


@pytest.mark.parametrize("n", [1, 2])
def test_few_functions(data, reported, n):
    model = ELMDeepONet(Linear(), random_state=0).fit(data.u_train[:n], data.s_train[:n], points=data.points)
    text = reported(model).text
    assert ("Not known: this fit leaves no function out" in text) == (n == 1)


def test_blocks(data, reported, quick_pictures):
    model = ELMDeepONet(SLFN(10)).partial_fit(data.u_train, data.s_train, points=data.points)
    assert "fitted in blocks" in reported(model).text


def test_the_old_file_stays_if_writing_fails(small, tmp_path, monkeypatch, quick_pictures):
    path = tmp_path / "fit.html"
    path.write_text("old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(FileError, match="unchanged"):
        pickle.loads(pickle.dumps(small)).report(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_name_that_is_no_text(data, reported):
    """As a file name that is not UTF-8, which Python holds with half a surrogate pair."""
    model = ELMDeepONet(Linear()).fit({"a\udcff": data.u_train[:1]}, data.s_train[:1], points=data.points)
    assert "a\\udcff" in reported(model).text


def test_wrong_calls(data, small, tmp_path, monkeypatch):
    with pytest.raises(InputError, match="give both or none"):
        small.report(tmp_path / "fit.html", data.u_test)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        ELMDeepONet().report(tmp_path / "fit.html")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtra, match="pip install"):
        drawing.require_pictures()
    with pytest.raises(MissingExtra, match="pip install"):
        small.report(tmp_path / "fit.html")
    assert not list(tmp_path.iterdir())


def test_all_text_of_a_page_is_escaped(harmless):
    bad = '</title><script>alert(\'x\')</script>"<b onclick="x">'
    parts = [element("p", bad, class_=bad), table([(bad, bad)], (bad, bad)), picture(b"", bad), bad]
    read = harmless(page(bad, *parts))
    assert read.text.count(bad) == 8
    assert [a["alt"] for a in read.pictures] == [bad]
