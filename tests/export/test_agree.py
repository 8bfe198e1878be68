"""Every kind of model gives the same numbers in NumPy, torch, onnxruntime and C."""

import re
import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from elmonet import (
    CNN,
    MLP,
    POD,
    SLFN,
    ELMDeepONet,
    InfiniteWidth,
    InputPart,
    LayeredELMDeepONet,
    Legendre,
    Linear,
    MarchingELMDeepONet,
    Ridge,
    Several,
    Sinusoid,
)
from elmonet.estimators.derivatives import Linearised
from elmonet.export import export

from .conftest import COMPILER, FORTRAN, RUNS, call, compiled, in_octave, in_onnxruntime

pytestmark = pytest.mark.filterwarnings("ignore::elmonet.errors.NumericsWarning")
N, M = 40, 12
x = np.linspace(0, 1, M)
rng = np.random.default_rng(0)
u = rng.uniform(-1, 1, (N, 4)) @ np.stack([np.ones(M), x, np.sin(3 * x), np.cos(5 * x)])
s = np.cumsum(u + 0.1 * u**2, axis=1) / M
past = np.pad(u, ((0, 0), (2, 0)))
filtered = np.tanh(2 * u) + 0.5 * past[:, 1:-1] * u - 0.3 * np.tanh(past[:, :-2])  # forgets after two steps
k = rng.uniform(0.5, 2, N)
both = {"f": u, "k": k}
images = rng.normal(size=(N, 7, 6))
numbers = rng.uniform(-1, 1, (N, 2))
AT = np.array([[0.1], [0.55]])
# A step of a flow with a forcing, on a torus: layers with potentials and a source.
square = np.arange(9) / 9
waves = np.exp(2j * np.pi * np.outer(np.arange(-2, 3), square))
flow = (waves.T @ (rng.normal(size=(N, 5, 5)) + 1j * rng.normal(size=(N, 5, 5))) @ waves).real / 10
after = flow - 0.1 * flow * (np.roll(flow, -1, 2) - np.roll(flow, 1, 2)) + 0.1 * np.cos(2 * np.pi * square)
torus = np.stack(np.meshgrid(square, square, indexing="ij"), axis=-1).reshape(-1, 2)


def operator(branch, trunk=None, **settings):
    return ELMDeepONet(branch, *([] if trunk is None else [trunk]), random_state=0, **settings)


def smooth(kernel, **settings):
    """Return a kernel whose matrix is well conditioned, so that rounding stays rounding."""
    return InfiniteWidth(kernel, 3.0, **settings)


MODELS = {
    **{f"SLFN {name}": (operator(SLFN(30, name)), u, s, x) for name in
       ("relu", "tanh", "sin", "cos", "gelu", "sigmoid", "softplus")},
    **{f"kernel {name}": (operator(Linear() + smooth(name)), u, s, x) for name in
       ("rbf", "matern12", "matern32", "matern52", "relu")},
    "MLP": (operator(MLP(20, activation="tanh")), u, s, x),
    "CNN": (operator(CNN(15, channels=(2, 3), hidden=10)), images, s, x),
    "patches": (operator(smooth("matern52", patch=3)), images, s, x),
    "smoothed": (operator(smooth("matern52", smooth=1.2)), images, s, x),
    "Legendre branch": (operator(Legendre(3)), numbers, s, x),
    "masked branch": (operator(Legendre(2).zero_on_boundary()), numbers, s, x),
    **{f"{basis} branch": (operator(Sinusoid(8, basis)), numbers, s, x) for basis in
       ("tensor", "cosine", "printed")},
    **{f"{type(trunk).__name__} trunk": (operator(SLFN(30, "tanh"), trunk), u, s, x) for trunk in
       (Legendre(6), POD(), MLP(10, activation="tanh"), Sinusoid(10, "cosine").zero_on_boundary(),
        SLFN(10, "tanh"), Sinusoid(8, "cosine") + Legendre(2))},
    "concatenated inputs": (operator(Several({"f": smooth("matern52"), "k": SLFN(9, "tanh")})), both, s, x),
    "multiplied inputs": (operator(Several({"f": SLFN(9, "tanh"), "k": SLFN(9, "tanh")}, "product")), both,
                          s, x),
    "logarithms": (operator(Linear() + SLFN(20, "tanh"), log_inputs={"k": True}, log_outputs=True), both,
                   np.exp(s), x),
    "amplitude": (operator(SLFN(20, "tanh"), parts=[InputPart("f", M, amplitude=True), InputPart("k", 1)]),
                  both, s, x),
    "angle": (operator(SLFN(20, "tanh"), parts=[InputPart("f", M), InputPart("k", 1, period=2.0)]), both,
              s, x),
    "metric": (operator(SLFN(20, "tanh"), metric=rng.normal(size=(M, 5))), u, s, x),
    "components": (operator(SLFN(20, "tanh")), u, {"a": s, "b": 300 + s**2}, x),
    "components last": (operator(SLFN(20, "tanh")), u, np.stack([s, s**2], axis=-1), x),
    "components first": (operator(SLFN(20, "tanh")), u, np.stack([s, s**2, s**3], axis=1), x),
    "lift": (operator(SLFN(20, "tanh"), lift=lambda p: 1 + p[:, 0]), u, s, x),
    "extreme": (operator(SLFN(20, "tanh")), 1e120 * u, 1e-150 * s, x),
    "numbers": (operator(SLFN(20, "tanh")), numbers, s[:, -1], None),
    "layers": (LayeredELMDeepONet("nothing", layers=2, width=20, random_state=0), u, s, x),
    "layers on a model": (LayeredELMDeepONet(operator(SLFN(20, "tanh")), layers=1, width=20, random_state=0),
                          u, s, x),
    "flow": (LayeredELMDeepONet("nothing", layers=2, width=20, time_budget=1e-3, random_state=0), flow,
             after.reshape(N, -1), torus),
    "record": (MarchingELMDeepONet(memory=(2, 2), random_state=0), u, s, x),
    "coarser record": (MarchingELMDeepONet(memory=(2, 2, 3), random_state=0), u, s, x),
    "record without feedback": (MarchingELMDeepONet(memory=(0, 4), random_state=0), u, filtered, x),
    "record with a parameter": (MarchingELMDeepONet(memory=(2, 2), random_state=0), both, s * k[:, None], x),
}  # fmt: skip


def few(X):
    """Return some inputs near training inputs: at these, "matern12" has a kink that shows rounding."""
    return (
        {name: few(part) for name, part in X.items()} if isinstance(X, dict) else 0.9 * X[:4] + 0.1 * X[4:8]
    )


@cache
def around(name):
    """Return a model around a few inputs, and its predictions, flat."""
    model, X, y, points = MODELS[name]
    model.fit(X, y, points=points)
    some = few(X)
    predicted = model.predict(some)
    parts = predicted.values() if isinstance(predicted, dict) else [predicted]
    return Linearised(model, model._fitted(), some), np.hstack([part.reshape(4, -1) for part in parts])


def assert_agrees(found, expected, tolerance):
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * np.abs(expected).max())


@pytest.mark.numerics
@pytest.mark.parametrize("name", MODELS)
def test_the_description_is_the_prediction(name):
    model, expected = around(name)
    assert_agrees(model.description(model.x), expected, 1e-12)


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("name", MODELS)
def test_every_export_is_the_prediction(name, run, tmp_path):
    model, expected = around(name)
    assert_agrees(RUNS[run](model.description, model.x, tmp_path), expected, 1e-10)


@pytest.mark.parametrize("name", ["SLFN gelu", "kernel relu", "components", "layers", "record"])
def test_onnx_in_single_precision(name, tmp_path):
    model, expected = around(name)
    assert_agrees(in_onnxruntime(model.description, model.x, tmp_path, "float32"), expected, 1e-5)


@pytest.mark.parametrize(
    "name", ["SLFN gelu", "kernel matern52", "patches", "amplitude", "layers", "record without feedback"]
)
def test_octave(name, tmp_path):
    model, expected = around(name)
    assert_agrees(in_octave(model.description, model.x, tmp_path), expected, 1e-10)


@pytest.mark.skipif(COMPILER is None or FORTRAN is None, reason="there is no compiler of C and Fortran")
def test_fortran_calls_what_c_compiles(tmp_path):
    """By the interface that the page on exports shows."""
    model, expected = around("components last")
    export(model.description, tmp_path / "operator.c")
    page = (Path(__file__).parents[2] / "docs" / "export.md").read_text("utf-8")
    interface = re.search(r"```fortran\n(.*?)```", page, re.DOTALL)[1]
    work = re.search(r"OPERATOR_WORK (\d+)", (tmp_path / "operator.h").read_text())[1]
    program = f"""program main
use iso_c_binding, only: c_double
implicit none
{interface}
real(c_double) :: u({model.x.shape[1]}), s({expected.shape[1]}), work({work})
integer :: i
do i = 1, {len(model.x)}
  read(*, *) u
  call operator(u, s, work)
  print '(*(ES25.16E3))', s
end do
end program
"""
    (tmp_path / "main.f90").write_text(program)
    built = [FORTRAN, "-O1", "main.f90", "operator.c", "-o", "main", "-lm"]
    subprocess.run(built, cwd=tmp_path, check=True)
    text = "\n".join(" ".join(map(repr, row)) for row in model.x.tolist())
    ran = subprocess.run([tmp_path / "main"], input=text, capture_output=True, text=True, check=True)
    assert_agrees(np.loadtxt(ran.stdout.splitlines()), expected, 1e-10)


@pytest.mark.parametrize("name", ["POD trunk", "components", "layers", "logarithms"])
def test_exports_at_other_points(name, tmp_path):
    model, X, _, _ = MODELS[name]
    around(name)
    some = few(X)
    model_at, predicted = Linearised(model, model._fitted(), some, AT), model.predict(some, points=AT)
    parts = predicted.values() if isinstance(predicted, dict) else [predicted]
    expected = np.hstack([part.reshape(4, -1) for part in parts])
    assert_agrees(model_at.description(model_at.x), expected, 1e-12)
    assert_agrees(in_onnxruntime(model_at.description, model_at.x, tmp_path), expected, 1e-10)


@cache
def nearly_one(kernel, scale):
    """Return a model, inputs and predictions: its kernel is nearly 1, with large coefficients that cancel."""
    own, t = np.random.default_rng(1), np.linspace(0, 1, 40)
    modes = np.stack([np.cos(np.pi * i * t) / np.sqrt(1 + i) for i in range(25)])
    X, some = own.normal(size=(150, 25)) @ modes, own.normal(size=(4, 25)) @ modes
    model = operator(Linear() + InfiniteWidth(kernel, scale), solver=Ridge(1e-20))
    model.fit(X, np.cumsum(np.sin(X), axis=1) / 40, points=t)
    return model, some, model.predict(some)


@pytest.mark.parametrize("run", [*RUNS.values(), in_octave])
@pytest.mark.parametrize(("kernel", "scale"), [("rbf", 0.1), ("matern52", 0.05)])
def test_kernels_that_are_nearly_one_keep_their_digits(kernel, scale, run, tmp_path):
    model, some, expected = nearly_one(kernel, scale)
    description = model._fitted().description()
    largest = max(np.abs(op.matrix).max() for op in description.operations if hasattr(op, "matrix"))
    assert largest > 1e4
    assert_agrees(run(description, some, tmp_path), expected, 1e-10)


@pytest.mark.numerics
@pytest.mark.parametrize(("kernel", "scale"), [("rbf", 0.1), ("matern52", 0.05)])
def test_a_function_is_predicted_alone_as_among_others(kernel, scale):
    model, some, expected = nearly_one(kernel, scale)
    assert_agrees(np.vstack([model.predict(own[None]) for own in some]), expected, 1e-10)


def test_torch_differentiates_like_jvp():
    torch = pytest.importorskip("torch")
    model, X, _, _ = MODELS["kernel matern52"]
    around("kernel matern52")
    module, start = model.to_torch(), torch.from_numpy(X[:3].copy()).requires_grad_()
    g = rng.normal(size=(3, M))
    (module(start) * torch.from_numpy(g)).sum().backward()
    np.testing.assert_allclose(start.grad.numpy(), model.vjp(X[:3], g), rtol=1e-9, atol=1e-12)
    assert torch.isfinite(start.grad).all()  # at centres of the kernel too
    assert model.to_torch(dtype="float32")(start.float().detach()).dtype == torch.float32


@pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
@pytest.mark.parametrize("name", ["record", "coarser record"])
def test_one_step_of_a_record_in_c(name, tmp_path):
    model = MODELS[name][0]
    around(name)
    model.export(tmp_path / "record.c")
    library = compiled(tmp_path / "record.c")
    step, found = model._fitted().step, np.zeros((M, 1))
    h, g = step.settings.past_outputs, step.settings.past_inputs
    past, work = np.zeros((h + M, 1)), np.empty(10_000)
    inputs = np.concatenate([np.zeros(g) if model._fitted().rest == "zero" else np.full(g, u[0, 0]), u[0]])
    past[:h] = model._fitted().level
    for i in range(M):
        seen = np.concatenate([past[i : i + h].ravel(), inputs[i : i + g + 1]])
        call(library.record_step, seen, past[h + i], work)
    found = past[h:, 0] * 2.0**model.outputs_.exponent
    assert_agrees(found[None], model.predict(u[:1]), 1e-12)
