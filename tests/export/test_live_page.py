"""Live pages, in a real browser: strokes give the numbers that Python gives, and nothing else happens."""

import base64
import json
import re
import warnings
from functools import cache
from html import escape

import numpy as np
import pytest

from elmonet import (
    SLFN,
    ELMDeepONet,
    InputError,
    LayeredELMDeepONet,
    MarchingELMDeepONet,
    OperatorData,
    Ridge,
    load,
)
from elmonet.description.operations import evaluate
from elmonet.export import html_page
from elmonet.export.packing import PackedArrays
from elmonet.paper.live_page import training_tab, write_training_page

from .test_agree import MODELS, around, assert_agrees

rng = np.random.default_rng(0)
x = np.linspace(0, 1, 24)
waves = np.sin(np.pi * np.outer(np.arange(1, 6), x))
u = rng.normal(size=(60, 5)) @ waves
s = np.cumsum(u + 0.1 * u**2, axis=1) / 24
grid = np.stack(np.meshgrid(np.linspace(0, 1, 8), np.linspace(0, 1, 8), indexing="ij"), -1).reshape(-1, 2)
fields = 1 + rng.uniform(size=(60, 3)) @ np.stack([grid[:, 0], grid[:, 1], grid[:, 0] * grid[:, 1]])


@cache
def fitted(kind):
    """Return a model, and inputs like and unlike those it was fitted to."""
    if kind == "curve":
        return ELMDeepONet(SLFN(40, "tanh"), random_state=0).fit(u, s, points=x, sensors=x), u
    if kind == "field":
        model = ELMDeepONet(SLFN(40, "tanh"), random_state=0)
        return model.fit(fields.reshape(60, 8, 8), np.cumsum(fields, axis=1) / 64, points=grid), fields
    if kind == "numbers":
        inputs = {"k": rng.uniform(1, 2, 60), "load, <b>kN</b>": rng.uniform(1, 2000, 60), "f": u}
        outputs = {"a": s * inputs["k"][:, None], "b": s + 3}
        return ELMDeepONet(SLFN(40, "tanh"), random_state=0).fit(inputs, outputs, points=x), inputs
    if kind == "layers":
        return LayeredELMDeepONet("nothing", layers=2, width=20, random_state=0).fit(u, s, points=x), u
    return MarchingELMDeepONet(memory=(2, 2), random_state=0).fit(u, s, points=x), u


KINDS = ("curve", "field", "numbers", "layers", "record")


def flat(values):
    parts = values.values() if isinstance(values, dict) else [values]
    return np.hstack([np.reshape(part, (len(part), -1)) for part in parts])


def contents(path):
    found = re.search(r'id="record">(.*?)</script>', path.read_text("utf-8"), re.DOTALL)
    return json.loads(found[1])


def shown(browser):
    """Return all values of inputs and outputs that a page shows under Numbers."""
    browser.run("document.getElementById('numbers').open = true")
    browser.frame()
    values = "Array.from(document.querySelectorAll('#numbers textarea'), (own) => own.value)"
    return [np.array(text.split(), float) for text in browser.run(values)]


def given(kind, values):
    """Return flat inputs as the model takes them."""
    if kind == "field":
        return values.reshape(1, 8, 8)
    if kind == "numbers":
        return {"k": values[:1], "load, <b>kN</b>": values[1:2], "f": values[None, 2:]}
    return values[None]


@pytest.mark.parametrize("kind", KINDS)
def test_a_stroke_gives_the_numbers_of_predict(kind, browser, tmp_path):
    model, _ = fitted(kind)
    (page,) = model.export(tmp_path / "operator.html")
    browser.open(page)
    browser.frame()
    before, _ = shown(browser)
    browser.stroke("canvas.drawn", (0.3, 0.3), (0.5, 0.6), (0.7, 0.2))
    if kind == "numbers":
        for i in (1, 2):
            slider = f"document.querySelectorAll('#inputs .setting input[type=range]')[{i - 1}]"
            browser.run(f"{slider}.value = {300 * i}; {slider}.dispatchEvent(new Event('input'))")
        browser.frame()
    after, predicted = shown(browser)
    assert (before != after).sum() > 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = flat(model.predict(given(kind, after)))[0]
    assert_agrees(predicted, expected, 1e-9)
    assert browser.complaints() == []


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_knows_what_predict_warns_of(kind, tmp_path):
    model, inputs = fitted(kind)
    found = model._fitted().described_novelty()
    for factor in (1.0, 1.7, 4.0):
        some = (
            {n: factor * v[:8] for n, v in inputs.items()}
            if isinstance(inputs, dict)
            else factor * inputs[:8]
        )
        some = some.reshape(-1, 8, 8) if kind == "field" else some
        query = model._fitted().query(model, some)
        outside = model._fitted().outside(query)
        measured = evaluate(found, flat(some))[:, 0]
        assert (measured > 1).tolist() == outside.tolist()
    assert outside.any()


def test_a_page_says_what_is_unlike_the_training_data(browser, tmp_path):
    model, _ = fitted("curve")
    (page,) = model.export(tmp_path / "operator.html")
    browser.open(page)
    words = "document.getElementById('likeness').textContent"
    browser.frame()
    assert browser.run(words) == "Like the training data."
    browser.stroke("canvas.drawn", *[(i / 20, 0.1 + 0.7 * (i % 2)) for i in range(3, 18)])
    assert browser.run(words).startswith("Unlike the training data")


def test_examples_show_truth_and_error(browser, tmp_path):
    model, _ = fitted("curve")
    test_u = rng.normal(size=(4, 5)) @ waves
    test_s = np.cumsum(test_u + 0.1 * test_u**2, axis=1) / 24
    (page,) = model.export(tmp_path / "operator.html", X=test_u, y=test_s, title="A <b>title</b>")
    browser.open(page)
    assert browser.run("document.querySelector('h1').textContent") == "A <b>title</b>"
    labels = browser.run(
        "Array.from(document.querySelectorAll('#examples button'), (own) => own.textContent)"
    )
    assert labels[:3] == ["Smallest training input", "Median training input", "Largest training input"]
    assert labels[3:] == ["Test 1", "Test 2", "Test 3", "Test 4"]
    browser.run("document.querySelectorAll('#examples button')[4].click()")
    browser.frame()
    off = np.linalg.norm(model.predict(test_u[1:2]) - test_s[1]) / np.linalg.norm(test_s[1])
    notes = browser.run("document.getElementById('notes').textContent")
    stated = float(re.search(r"error of this function: ([\d.e-]+)", notes)[1]) / 100
    assert stated == pytest.approx(off, rel=0.06)
    assert np.array_equal(shown(browser)[0], test_u[1])


def test_every_model_gives_the_same_numbers_in_the_browser(browser, tmp_path):
    """One page for all of them: only what computes, and its answers."""
    cases = {}
    for name in MODELS:
        model, expected = around(name)
        writer = PackedArrays()
        own = writer.operations(model.description.operations)
        cases[name] = {"operations": own, "arrays": writer.found, "x": model.x.tolist()}, expected
    text = json.dumps({name: case for name, (case, _) in cases.items()})
    page = tmp_path / "all.html"
    page.write_text(f"<script>{html_page._file('operations.js')}; const cases = {text};</script>")
    browser.open(page)
    found = browser.run(
        "Object.fromEntries(Object.entries(cases).map(([name, { operations, arrays, x }]) => {"
        " const run = Operations.prepared(operations, arrays.map(Operations.decoded), x[0].length);"
        " return [name, x.map((row) => Array.from(run(Float64Array.from(row))))]; }))"
    )
    for name, (_, expected) in cases.items():
        assert_agrees(np.array(found[name]), expected, 1e-9)


def test_keys_draw_too_and_what_changes_is_announced(browser, tmp_path):
    (page,) = fitted("curve")[0].export(tmp_path / "operator.html")
    browser.open(page)
    before, _ = shown(browser)
    browser.run("document.querySelector('canvas.drawn').focus()")
    for key in ("ArrowRight", "ArrowUp", "ArrowUp"):
        browser.send("Input.dispatchKeyEvent", type="keyDown", key=key, code=key)
    browser.frame()
    after, _ = shown(browser)
    assert (after > before).any()
    browser.run("new Promise((done) => setTimeout(done, 800))")
    assert "from" in browser.run("document.getElementById('told').textContent")


def linked(browser):
    """Return the link that a page gives to what it shows."""
    browser.run("document.getElementById('copy').click()")
    browser.frame()
    return browser.run("document.getElementById('link').value")


@pytest.mark.parametrize("kind", KINDS)
def test_a_link_shares_a_drawing(kind, browser, tmp_path):
    model, _ = fitted(kind)
    (page,) = model.export(tmp_path / "operator.html")
    browser.open(page)
    browser.stroke("canvas.drawn", (0.3, 0.3), (0.5, 0.6), (0.7, 0.2))
    drawn, _ = shown(browser)
    address, fragment = linked(browser).split("#")
    assert address == page.as_uri()
    browser.open(page, f"#{fragment}")
    browser.frame()
    restored, predicted = shown(browser)
    np.testing.assert_allclose(restored, drawn, rtol=1e-4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_agrees(predicted, flat(model.predict(given(kind, restored)))[0], 1e-9)
    assert browser.complaints() == []


def test_a_link_to_an_example_keeps_its_truth(browser, tmp_path):
    (page,) = fitted("curve")[0].export(tmp_path / "operator.html", X=u[:2], y=s[:2])
    browser.open(page)
    browser.run("document.querySelectorAll('#examples button')[4].click()")
    fragment = linked(browser).split("#")[1]
    browser.open(page, f"#{fragment}")
    browser.frame()
    assert np.array_equal(shown(browser)[0], u[1])
    assert "truth" in browser.run("document.getElementById('notes').textContent")


@pytest.mark.parametrize(
    "values",
    ["1_2", "_".join(["1"] * 25), "_".join(["1"] * 23 + ["NaN"]), "_".join(["1"] * 23 + ["1e999"]),
     "alert(1)", "%3Cimg%20src=x%20onerror=alert(1)%3E", "_".join(["1"] * 23 + ["0x10"]), "1" * 100_000, ""],
)  # fmt: skip
def test_a_link_is_numbers_or_nothing(values, browser, tmp_path):
    (page,) = fitted("curve")[0].export(tmp_path / "operator.html")
    browser.open(page)
    expected = shown(browser)
    for name in ("u", "example", "train"):
        browser.open(page, f"#{name}={values}")
        for found, usual in zip(shown(browser), expected, strict=True):
            assert np.array_equal(found, usual)
        assert "ignored" in browser.run("document.getElementById('copied').textContent")
    assert browser.complaints() == []


def test_a_page_follows_the_colours_of_the_site_around_it(browser, tmp_path):
    """Only the window that holds a page may set them, and nothing but them."""
    (page,) = fitted("curve")[0].export(tmp_path / "operator.html")
    site = tmp_path / "site.html"
    other = "<script>onmessage = () => parent.frames[0].postMessage({ theme: 'light' }, '*')</script>"
    frames = (f'<iframe srcdoc="{escape(text)}"></iframe>' for text in (page.read_text("utf-8"), other))
    site.write_text("".join(frames), "utf-8")
    browser.open(site)
    colours = "getComputedStyle(frames[0].document.body).backgroundColor"

    def sent(message, to=0):
        browser.run(f"frames[{to}].postMessage({message}, '*')")
        browser.frame()
        return browser.run(colours)

    light, dark = sent("{ theme: 'light' }"), sent("{ theme: 'dark' }")
    assert (light, dark) == ("rgb(255, 255, 255)", "rgb(20, 23, 27)")
    assert sent("{ theme: 'red' }") == sent("'light'") == sent("null") == sent("0", to=1) == dark
    assert browser.complaints() == []


def test_a_large_page_is_small_and_exact(browser, tmp_path):
    """p1 = 2000 and M = 100: numbers lose no more bytes than predictions allow."""
    many = rng.normal(size=(200, 20)) @ np.sin(np.outer(np.arange(1, 21), np.linspace(0, 3, 100)))
    model = ELMDeepONet(SLFN(2000), random_state=0).fit(
        many, np.cumsum(many, axis=1), points=np.arange(100.0)
    )
    (page,) = model.export(tmp_path / "large.html")
    assert page.stat().st_size < 3e6
    browser.open(page)
    browser.stroke("canvas.drawn", (0.3, 0.3), (0.6, 0.5))
    after, predicted = shown(browser)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_agrees(predicted, model.predict(after[None])[0], 1e-9)


def test_the_tab_that_trains_solves_the_papers_system(browser, tmp_path):
    page = write_training_page(tmp_path / "paper.html", functions=60)
    browser.open(page)
    browser.run("document.getElementById('tab-train').click()")
    browser.run(
        "new Promise((done) => { const look = () => window.trained ? done() : setTimeout(look, 50);"
        " look(); })"
    )
    cells = browser.run("Array.from(document.querySelectorAll('td, tbody th'), (own) => own.textContent)")
    assert "2.12\u00a0%" in cells
    assert browser.complaints() == []
    tab = training_tab()
    sizes = {"p2": 20, "N": 120, "seed": 3, "tests": 10}
    for settings in ({"p1": 40, "alpha": 1e-2}, {"p1": 200, "alpha": 1e-4}):
        task = {**sizes, **settings, "x": tab.x, "modesU": tab.modes_u, "modesS": tab.modes_s}
        found = trained(browser, task)
        check_training(found, task)


def test_a_link_shares_the_settings_of_training(browser, tmp_path):
    page = write_training_page(tmp_path / "paper.html", functions=60)
    sizes = "[window.trained?.p1, window.trained?.p2, window.trained?.N]"
    wait = "new Promise((done) => setTimeout(done, 100))"
    browser.open(page, "#train=40_20_120_0.001_3")
    for _ in range(100):
        if browser.run(sizes) == [40, 20, 120]:
            break
        browser.run(wait)
    assert browser.run(sizes) == [40, 20, 120]
    assert linked(browser).split("#")[1] == "train=40_20_120_0.001_3"
    browser.open(page, "#train=40_20_-120_0.001_3")
    assert "ignored" in browser.run("document.getElementById('copied').textContent")
    assert browser.complaints() == []


def trained(browser, task):
    as_text = json.dumps({k: v.ravel().tolist() if isinstance(v, np.ndarray) else v for k, v in task.items()})
    found = browser.run(
        f"(() => {{ const task = {as_text}; for (const name of ['x', 'modesU', 'modesS']) task[name] = "
        "Float64Array.from(task[name]); const found = trainer().train(task); "
        "for (const [key, v] of Object.entries(found)) if (v.length) found[key] = Array.from(v);"
        " return found; })()"
    )
    return {key: np.array(value) for key, value in found.items()}


def check_training(found, task):
    """The solution and its leave-one-out error are those of `Ridge`; the data are antiderivatives."""
    N, p1, p2, M = task["N"], task["p1"], task["p2"], len(task["x"])
    T, B, W = found["T"].reshape(M, p2), found["F"].reshape(N, p1).T, found["W"].reshape(p2, p1)
    inputs, truth = found["inputs"].reshape(-1, M), found["truth"].reshape(-1, M)
    slopes = np.gradient(truth, task["x"], axis=1)[:, 2:-2]
    assert np.abs(slopes - inputs[:, 2:-2]).max() < 0.05 * np.abs(inputs).max()  # s' = u
    predicted = found["predicted"].reshape(-1, M)
    relative = np.linalg.norm(predicted - truth, axis=1) / np.linalg.norm(truth, axis=1)
    assert found["error"] == pytest.approx(relative.mean(), rel=1e-9)
    solution = Ridge(task["alpha"]).solve(T, B, found["outputs"].reshape(N, M).T)
    assert_agrees(T @ W @ B, T @ solution.W @ B, 1e-7)
    assert found["loo"] == pytest.approx(solution.loo_error, rel=1e-6)


def test_arrays_are_written_once_and_exactly():
    writer = PackedArrays()
    values = rng.normal(size=(3, 4))
    assert writer.array(values) == writer.array(values.copy())
    (only,) = writer.found
    assert np.array_equal(np.frombuffer(base64.b64decode(only["base64"])), values.ravel())


def test_a_saved_model_makes_a_page_too(tmp_path):
    fitted("curve")[0].save(tmp_path / "operator.elmonet")
    (page,) = load(tmp_path / "operator.elmonet").export(tmp_path / "operator.html")
    assert contents(page)["inputSize"] == 24


def test_names_and_units_are_those_of_the_data(tmp_path):
    units = {"power": "W", "temperature": "K", "time": "s"}
    names = {"input": "power", "output": "temperature", "axes": ("time",)}
    data = OperatorData(u, s, points=x[:, None], units=units, **names)
    (page,) = ELMDeepONet(SLFN(40, "tanh"), random_state=0).fit(data).export(tmp_path / "operator.html")
    (output,) = contents(page)["outputs"]
    assert (contents(page)["inputs"][0]["label"], output["label"], output["axis"]) == (
        "power [W]", "temperature [K]", "time [s]",
    )  # fmt: skip


def test_nothing_in_a_page_leads_elsewhere(tmp_path):
    (page,) = fitted("numbers")[0].export(tmp_path / "operator.html")
    text = page.read_text("utf-8")
    assert "<b>kN" not in text
    assert not re.search(r"(src|href)=|https?://|url\(|@import|fetch\(|XMLHttpRequest|innerHTML", text)
    assert "default-src 'none'" in text.replace("&#x27;", "'")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"X": u}, "X and y together"),
        ({"X": u[:3], "y": s[:2]}, "3 functions, y 2"),
        ({"X": u[:3], "y": {"s": s[:3]}}, "form of the training outputs"),
        ({"X": u[:3], "y": s[:3, :5]}, r"shape \(N, 24\)"),
    ],
)
def test_wrong_test_functions_say_so(wrong, message, tmp_path):
    with pytest.raises(InputError, match=message):
        fitted("curve")[0].export(tmp_path / "operator.html", **wrong)
    with pytest.raises(InputError, match="pages"):
        fitted("curve")[0].export(tmp_path / "operator.c", title="no page")
    assert not list(tmp_path.iterdir())
