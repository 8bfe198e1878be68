"""Bands of outputs and the novelty of inputs go with the exports."""

import ctypes
import subprocess
import warnings

import numpy as np
import pytest

from elmonet import (
    SLFN,
    ELMDeepONet,
    ExtrapolationWarning,
    LayeredELMDeepONet,
    Linear,
    MarchingELMDeepONet,
)
from elmonet.description.operations import evaluate

from .conftest import COMPILER, OCTAVE, call, compiled

M = 10
x = np.linspace(0, 1, M)
rng = np.random.default_rng(0)
MODES = np.stack([np.ones(M), x, np.sin(3 * x), np.cos(5 * x)])
z = rng.normal(size=(700, 4))
u, k = z @ MODES, rng.uniform(1, 2, 700)
ERRORS = 0.05 * (1 + x) * rng.normal(size=u.shape)  # of known size at each point
s = np.cumsum(u, axis=1) / M * k[:, None] + ERRORS
TRAINED, NEW = slice(0, 200), slice(200, None)


@pytest.fixture(scope="module")
def model():
    """Return a model of two inputs and two components."""
    fitted = ELMDeepONet(Linear() + SLFN(20, "tanh"), random_state=0)
    outputs = {"a": s[TRAINED], "b": 3 * s[TRAINED]}
    return fitted.fit({"u": u[TRAINED], "k": k[TRAINED]}, outputs, points=x)


@pytest.fixture(scope="module")
def inputs():
    """Return inputs further and further away from the training inputs."""
    far = np.array([0.1, 1.0, 2.0, 4.0, 50.0])[:, None]
    return {"u": far * u[200:201], "k": np.full(5, 1.5)}


def warned(model, inputs):
    found = []
    for i in range(5):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            model.predict({name: part[i : i + 1] for name, part in inputs.items()})
        found.append(any(issubclass(own.category, ExtrapolationWarning) for own in told))
    return np.array(found)


def in_torch(model, inputs, folder):
    torch = pytest.importorskip("torch")
    module = model.to_torch()
    band = module.band()
    return band["a"], band["b"], module.novelty({n: torch.from_numpy(part) for n, part in inputs.items()})


def in_onnxruntime(model, inputs, folder):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    model.export(folder / "model.onnx")
    session = runtime.InferenceSession(folder / "model.onnx", providers=["CPUExecutionProvider"])
    return session.run(["a_band", "b_band", "novelty"], inputs | {"k": inputs["k"][:, None]})


def in_c(model, inputs, folder):
    if COMPILER is None:
        pytest.skip("there is no C compiler")
    model.export(folder / "model.c")
    library, work, novelty = compiled(folder / "model.c"), np.empty(10_000), np.empty(5)
    for i, row in enumerate(np.hstack([inputs["u"], inputs["k"][:, None]])):
        call(library.model_novelty, row, novelty[i : i + 1], work)
    band = np.ctypeslib.as_array((ctypes.c_double * (2 * M)).in_dll(library, "model_band"))
    return band[:M], band[M:], novelty


def in_octave(model, inputs, folder):
    if OCTAVE is None:
        pytest.skip("there is no Octave")
    model.export(folder / "model.m")
    np.savetxt(folder / "x.txt", np.hstack([inputs["u"], inputs["k"][:, None]]), fmt="%.17g")
    code = (
        "[y, half, novelty] = model(load('x.txt')); f = fopen('y.txt', 'w'); "
        "fprintf(f, '%.17g\\n', [half(:); novelty(:)]); fclose(f);"
    )
    subprocess.run([OCTAVE, "--norc", "--no-window-system", "--eval", code], cwd=folder, check=True)
    found = np.loadtxt(folder / "y.txt")
    return found[:M], found[M : 2 * M], found[2 * M :]


@pytest.mark.parametrize("run", [in_torch, in_onnxruntime, in_c, in_octave])
def test_bands_hold_new_outputs_and_novelty_tells_what_predict_warns_of(run, model, inputs, tmp_path):
    a, b, novelty = (np.asarray(part) for part in run(model, inputs, tmp_path))
    np.testing.assert_allclose(b, 3 * a, rtol=1e-8)
    new = {"u": u[NEW], "k": k[NEW]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExtrapolationWarning)
        off = np.abs(model.predict(new)["a"] - s[NEW])
    assert np.mean(off <= a) == pytest.approx(0.9, abs=0.03)
    np.testing.assert_array_equal(novelty > 1, warned(model, inputs))
    assert (np.diff(novelty[1:]) > 0).all()
    assert set(novelty > 1) == {True, False}


def test_layers_on_a_model_that_takes_logarithms(tmp_path):
    positive = np.exp(3 * u[:40])
    first = ELMDeepONet(Linear(), log_inputs=True, random_state=0)
    own = LayeredELMDeepONet(first, layers=1, width=20, random_state=0).fit(positive, s[:40], points=x)
    own.export(tmp_path / "own.c")
    assert "own_band" in (tmp_path / "own.h").read_text()


@pytest.mark.parametrize(
    "own",
    [
        MarchingELMDeepONet(memory=(2, 2), random_state=0),
        LayeredELMDeepONet("nothing", layers=1, width=20, random_state=0),
    ],
)
def test_records_and_layers_have_bands_and_novelty(own, tmp_path):
    """In all formats that of the description, which is above 1 where predict warns."""
    torch, runtime = pytest.importorskip("torch"), pytest.importorskip("onnxruntime")
    own.fit(u[:60], s[:60], points=x)
    rows = np.array([0.1, 1.0, 50.0])[:, None] * u[200:201]
    fitted = own._fitted()
    expected = evaluate(fitted.described_novelty(), rows)[:, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExtrapolationWarning)
        outside = fitted.outside(fitted.query(own, rows))
    np.testing.assert_array_equal(expected > 1, outside)
    assert outside.any()
    np.testing.assert_allclose(own.to_torch().novelty(torch.from_numpy(rows)), expected, rtol=1e-8)
    own.export(tmp_path / "own.onnx")
    session = runtime.InferenceSession(tmp_path / "own.onnx", providers=["CPUExecutionProvider"])
    (found,) = session.run(["novelty"], {session.get_inputs()[0].name: rows})
    np.testing.assert_allclose(found.ravel(), expected, rtol=1e-8)
    own.export(tmp_path / "own.c")
    assert "extern const double own_band[OWN_OUTPUTS];" in (tmp_path / "own.h").read_text()
    if OCTAVE is not None:
        own.export(tmp_path / "own.m")
        np.savetxt(tmp_path / "x.txt", rows, fmt="%.17g")
        code = "[y, half, novelty] = own(load('x.txt')); save('-ascii', '-double', 'n.txt', 'novelty');"
        subprocess.run([OCTAVE, "--norc", "--no-window-system", "--eval", code], cwd=tmp_path, check=True)
        np.testing.assert_allclose(np.loadtxt(tmp_path / "n.txt"), expected, rtol=1e-8)
    if COMPILER is not None:
        library, work, found = compiled(tmp_path / "own.c"), np.empty(100_000), np.empty(3)
        for i, row in enumerate(rows):
            call(library.own_novelty, row, found[i : i + 1], work)
        np.testing.assert_allclose(found, expected, rtol=1e-8)
