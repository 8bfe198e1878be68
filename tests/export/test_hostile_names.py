"""Names from data neither run nor break generated text."""

import json
import re
import subprocess

import numpy as np
import pytest

from elmonet import SLFN, ELMDeepONet, InputError
from elmonet.export.names import identifier, in_comment
from elmonet.features import FeatureMap

from .conftest import COMPILER, STRICT, in_c, in_octave, in_onnxruntime, in_torch

NAMES = [
    "<script>alert(1)</script>",
    '"; system("touch owned"); x = "',
    "*/ int evil(void) { return 1; } /*",
    "a\nend\nsystem('touch owned')\n%",
    "%} system('touch owned') %{",
    "u'); unix('touch owned'); disp('",
    "\\",
    "??/",
    "é☃ \x00",
    "while",
    "u",
    "u ",
]


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    inputs = {name: rng.normal(size=(30, 2)) for name in NAMES}
    total = sum(inputs.values())
    outputs = {f"{name} out": total + i for i, name in enumerate(NAMES)}
    model = ELMDeepONet(SLFN(8, "tanh"), random_state=0)
    return model.fit(inputs, outputs, points=np.array([0.0, 1.0])), inputs


@pytest.mark.parametrize("run", [in_torch, in_onnxruntime, in_c, in_octave])
def test_every_export_works_and_runs_nothing_else(model, run, tmp_path):
    model, inputs = model
    few = {name: part[:3] for name, part in inputs.items()}
    expected = np.hstack([part.reshape(3, -1) for part in model.predict(few).values()])
    found = run(model._fitted().description(), np.hstack(list(few.values())), tmp_path)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * np.abs(expected).max())
    assert not list(tmp_path.glob("owned*"))


def test_c_has_no_other_functions_and_comments_are_one_line_each(model, tmp_path):
    model, _ = model
    model.export(tmp_path / "operator.c")
    source, header = ((tmp_path / f"operator.{end}").read_text() for end in "ch")
    for text in (source, header):
        assert text.isascii()
        assert "evil(void) { return" not in re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    assert len(re.findall(r"^(?:static )?void \w+\(", source, flags=re.M)) == source.count("void ")
    if COMPILER is not None:
        subprocess.run([COMPILER, *STRICT, "-c", "operator.c"], cwd=tmp_path, check=True)


def test_the_record_in_onnx_is_json_with_the_names_as_they_are(model, tmp_path):
    onnx = pytest.importorskip("onnx")
    model, _ = model
    model.export(tmp_path / "operator.onnx")
    loaded = onnx.load(tmp_path / "operator.onnx")
    record = json.loads(next(p.value for p in loaded.metadata_props if p.key == "description"))
    assert [port["name"] for port in record["inputs"]] == NAMES
    assert len({own.name for own in loaded.graph.input}) == len(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_names_become_identifiers_and_comments(name):
    assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", identifier(name))
    comment = in_comment(name)
    assert comment.isascii()
    assert comment.isprintable()
    for end in ("*/", "/*", "%}", "%{", "--", "??"):
        assert end not in comment


def test_the_name_of_a_file_becomes_that_of_the_function(model, tmp_path):
    model, _ = model
    files = model.export(tmp_path / "2 fast; rm -rf.c")
    assert [file.name for file in files] == ["2 fast; rm -rf.c", "2 fast; rm -rf.h"]
    assert "void x2_fast__rm__rf(" in files[1].read_text()
    with pytest.raises(InputError, match="name of its function"):
        model.export(tmp_path / "2fast.m")


class Own(FeatureMap):
    width_ = 1

    def _write(self, X, out):
        out[:] = X.reshape(len(X), -1).sum(axis=1, keepdims=True)


@pytest.mark.parametrize("path", ["operator.txt", "operator", "operator.onnx.zip"])
def test_an_unknown_ending_says_which_there_are(model, path, tmp_path):
    with pytest.raises(InputError, match=r"\.onnx.*\.c.*\.m"):
        model[0].export(tmp_path / path)
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_exported_says_so_by_name(tmp_path):
    X = np.random.default_rng(0).normal(size=(20, 3))
    own = ELMDeepONet(Own()).fit(X, X, points=np.arange(3.0))
    lifted = ELMDeepONet(SLFN(5), lift=lambda X, p: np.ones((len(X), len(p)))).fit(
        X, X, points=np.arange(3.0)
    )
    for model, name in ((own, "Own"), (lifted, "lift")):
        with pytest.raises(InputError, match=name):
            model.export(tmp_path / "operator.c")
        with pytest.raises(InputError, match=name):
            model.jvp(X, X)
    assert not list(tmp_path.iterdir())
