"""One prediction in Python, torch, onnxruntime and C, in one run; a marching step in C; gradients.

    python benchmarks/export.py
    python benchmarks/export.py agree [problem ...]

CPU seconds of one thread, medians. `agree`: agreement of exports of the automatic choice with `predict`,
relative to the largest output, beside how much `predict` itself changes if each function is predicted alone.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path
from time import process_time

import numpy as np
from scipy.optimize import minimize

from elmonet import SLFN, AutoELMDeepONet, ELMDeepONet, MarchingELMDeepONet, Ridge, problems
from elmonet.estimators.derivatives import Linearised
from elmonet.marching.step import Series, Settings, Step


def seconds(work, least=0.2):
    """Return the median CPU seconds of one call."""
    work()
    times, count, begin = [], 1, process_time()
    while len(times) < 5 or process_time() - begin < least:
        start = process_time()
        for _ in range(count):
            work()
        took = process_time() - start
        if took > 2e-3:
            times.append(took / count)
        else:
            count *= 4
    return float(np.median(times))


def c_function(model, folder, name="operator_c", points=None):
    files = model.export(Path(folder) / f"{name}.c", points)
    library = Path(folder) / f"{name}.so"
    subprocess.run(
        ["cc", "-O3", "-march=native", "-shared", "-fPIC", files[0], "-o", library, "-lm"], check=True
    )
    return ctypes.CDLL(library), files[1].read_text()


def pointer(array):
    return array.ctypes.data_as(ctypes.POINTER(ctypes.c_double))


def one_prediction(folder):
    import onnxruntime
    import torch

    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    x = np.linspace(0, 1, 100)
    u = rng.normal(size=(400, 6)) @ np.stack([np.sin((k + 1) * x) for k in range(6)])
    s = np.cumsum(u + 0.1 * u**2, axis=1) / 100
    model = ELMDeepONet(SLFN(1000, "tanh", 0.5), solver=Ridge(1e-8), random_state=0).fit(u, s, points=x)
    one = u[:1].copy()
    module, tensor = model.to_torch(), torch.from_numpy(one)
    model.export(Path(folder) / "operator.onnx")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        Path(folder) / "operator.onnx", options, providers=["CPUExecutionProvider"]
    )
    library, header = c_function(model, folder)
    work = np.empty(int(re.search(r"_WORK (\d+)", header)[1]))
    y = np.empty(100)
    call, arguments = library.operator_c, (pointer(one), pointer(y), pointer(work))
    description = model._fitted().description()
    with torch.no_grad():
        times = {
            "Python, predict": seconds(lambda: model.predict(one)),
            "Python, array operations": seconds(lambda: description(one)),
            "torch": seconds(lambda: module(tensor)),
            "onnxruntime": seconds(lambda: session.run(None, {"u": one})),
            "C": seconds(lambda: call(*arguments)),
        }
    print(
        f"One prediction, p1 = 1000, M = 100 (agreement of C {np.abs(y - model.predict(one)[0]).max():.1e}):"
    )
    for name, took in times.items():
        print(f"  {name:26} {1e3 * took:8.4f} ms   {took / times['C']:7.1f} times C")
    for count in (1, 100):
        many, g = u[:count], s[:count]
        base = seconds(lambda many=many: model.predict(many))
        forward = seconds(lambda many=many: model.jvp(many, many))
        back = seconds(lambda many=many, g=g: model.vjp(many, g))
        print(f"jvp and vjp of {count} functions: {forward / base:.2f} and {back / base:.2f} predictions")
    return model, u, s


def marching_step(folder):
    rng = np.random.default_rng(0)
    u = rng.normal(size=(20, 200)).cumsum(axis=1) / 10
    s = np.zeros_like(u)
    for k in range(1, 200):
        s[:, k] = 0.9 * s[:, k - 1] + 0.1 * np.tanh(u[:, k])
    model = MarchingELMDeepONet(memory=(2, 2), random_state=0).fit(u, s, points=0.1 * np.arange(200.0))
    fitted = model._fitted()
    # Whatever was chosen, 200 features: the time does not depend on the coefficients.
    ahead = [(np.r_[0.0, a][:, None], np.r_[0.0, 0.0, b][:, None]) for a, b in zip(u, s, strict=True)]
    series = [Series(a, b, np.empty(0)) for a, b in ahead]
    step = Step.of(Settings(2, 2, "tanh", 195, 0.5), series, 0)
    coefficients = 1e-3 * rng.normal(size=(step.count, 1))
    model._adopt(replace(fitted, step=step, coefficients=coefficients, companions=coefficients[None]))
    library, header = c_function(model, folder, "record_c")
    seen = np.zeros(int(re.search(r"_STEP_SEES (\d+)", header)[1]))
    work, y = np.empty(int(re.search(r"_WORK (\d+)", header)[1])), np.empty(1)
    arguments = pointer(seen), pointer(y), pointer(work)
    step = seconds(lambda: library.record_c_step(*arguments))
    x, run = u[:1].copy(), np.empty(200)
    whole = seconds(lambda: library.record_c(pointer(x), pointer(run), pointer(work)))
    count = model._fitted().step.count
    print(f"A marching step in C, {count} features: {1e6 * step:.2f} us called from Python;", end=" ")
    print(f"{1e6 * whole / 200:.2f} us in a run of 200 steps")


def recovered_source(model, u, s):
    """Recover a 100-value input by L-BFGS, with exact gradients and with finite differences."""
    target, start = s[:1], np.zeros(100)
    weight = 1e-4

    def loss(v):
        return 0.5 * np.sum((model.predict(v[None]) - target) ** 2) + 0.5 * weight * np.sum(v**2)

    def with_gradient(v):
        residual = model.predict(v[None]) - target
        return (
            0.5 * np.sum(residual**2) + 0.5 * weight * np.sum(v**2),
            model.vjp(v[None], residual)[0] + weight * v,
        )

    settings = {"method": "L-BFGS-B", "options": {"maxiter": 50, "maxfun": 10**6}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begin = process_time()
        exact = minimize(with_gradient, start, jac=True, **settings)
        middle = process_time()
        differences = minimize(loss, start, **settings)
        end = process_time()
    fast, slow = middle - begin, end - middle
    print(f"L-BFGS, 100 values, 50 iterations: exact {fast:.3f} s (loss {exact.fun:.3e}),", end=" ")
    print(f"differences {slow:.3f} s (loss {differences.fun:.3e}): {slow / fast:.0f} times as fast")


PROBLEMS = {
    **{
        name: (getattr(problems, name), 200, 20)
        for name in (
            "antiderivative",
            "nonlinear_ode",
            "burgers",
            "darcy",
            "darcy_two_valued",
            "inverse_source",
        )
    },
    "burgers_steps": (problems.burgers_steps, 20, 4),
    **{name: (getattr(problems, name), 10, 10) for name in ("bouc_wen", "duffing", "tanks")},
}


def in_onnxruntime(model, u, folder, dtype):
    import onnxruntime

    model.export(Path(folder) / "a.onnx", dtype=dtype)
    session = onnxruntime.InferenceSession(Path(folder) / "a.onnx", providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: u.astype(dtype)})[0]


def in_c(model, x, size, folder, name):
    library, header = c_function(model, folder, f"a_{name}")
    work, y = np.empty(int(re.search(r"_WORK (\d+)", header)[1])), np.empty((len(x), size))
    for row, out in zip(np.ascontiguousarray(x), y, strict=True):
        getattr(library, f"a_{name}")(pointer(row), pointer(out), pointer(work))
    return y


def in_octave(model, x, folder):
    model.export(Path(folder) / "a.m")
    np.savetxt(Path(folder) / "x.txt", x, fmt="%.17g")
    code = (
        "y = a(load('x.txt')); f = fopen('y.txt', 'w'); "
        "fprintf(f, [repmat('%.17g ', 1, columns(y)) '\\n'], y.'); fclose(f);"
    )
    subprocess.run(["octave-cli", "--norc", "--eval", code], cwd=folder, check=True, capture_output=True)
    return np.loadtxt(Path(folder) / "y.txt", ndmin=2)


def agreement(folder, names):
    import torch

    print("Agreement with predict:                   alone | torch, onnxruntime, C, Octave | onnx float32")
    for name in names:
        make, n_train, n_test = PROBLEMS[name]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            data = make(n_train, n_test)
            model = AutoELMDeepONet(random_state=0).fit(data.u_train, data.s_train, points=data.points)
            u = np.asarray(data.u_test)
            around = Linearised(model, model._fitted(), u)
            expected = np.asarray(model.predict(u)).reshape(len(u), -1)
            alone = np.stack([np.asarray(model.predict(u[i : i + 1])).ravel() for i in range(len(u))])
            # Single precision rounds the inputs: what matters is the same prediction for the same inputs.
            rounded = np.asarray(model.predict(u.astype("float32").astype(float))).reshape(expected.shape)
            found = [
                model.to_torch()(torch.from_numpy(u)).numpy(),
                in_onnxruntime(model, u, folder, "float64"),
                in_c(model, around.x, expected.shape[1], folder, name),
            ]
            if shutil.which("octave-cli"):
                found.append(in_octave(model, around.x, folder))
            single = in_onnxruntime(model, u, folder, "float32").reshape(expected.shape)
        size = np.abs(expected).max()
        errors = [f"{np.abs(own.reshape(expected.shape) - expected).max() / size:.1e}" for own in found]
        changed = f"{np.abs(alone - expected).max() / size:.1e}"
        last = f"{np.abs(single - rounded).max() / size:.1e}"
        kind = type(model.best_model_).__name__
        print(f"{name:18} {kind:20} {changed} |", *errors, "|", last, flush=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        if "agree" in sys.argv[1:]:
            agreement(folder, sys.argv[2:] or PROBLEMS)
        else:
            recovered_source(*one_prediction(folder))
            marching_step(folder)
