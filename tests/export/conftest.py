"""Exports run: in torch, in onnxruntime, compiled by a C compiler, in Octave."""

import ctypes
import re
import shutil
import subprocess

import numpy as np
import pytest

from elmonet.export import export, to_torch
from elmonet.export.names import unique_identifiers

COMPILER = shutil.which("cc") or shutil.which("gcc")
OCTAVE = shutil.which("octave-cli")
STRICT = ["-std=c99", "-O0", "-Wall", "-Wextra", "-Werror", "-pedantic"]


def in_torch(description, x, folder):
    torch = pytest.importorskip("torch")
    parts = {port.name: torch.from_numpy(part) for port, part in description.split(x, description.inputs)}
    found = to_torch(description)(parts if len(parts) > 1 else next(iter(parts.values())))
    parts = found.values() if isinstance(found, dict) else [found]
    return np.hstack([part.numpy().reshape(len(x), -1) for part in parts])


def in_onnxruntime(description, x, folder, dtype="float64"):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    export(description, folder / "model.onnx", dtype=dtype)
    session = runtime.InferenceSession(folder / "model.onnx", providers=["CPUExecutionProvider"])
    names = unique_identifiers(description.inputs)
    parts = zip(names, description.split(x, description.inputs), strict=True)
    found = session.run(None, {name: part.astype(dtype) for name, (_, part) in parts})
    return np.hstack([part.reshape(len(x), -1) for part in found])


def in_c(description, x, folder):
    if COMPILER is None:
        pytest.skip("there is no C compiler")
    export(description, folder / "model.c")
    library = compiled(folder / "model.c")
    work = np.empty(int(re.search(r"MODEL_WORK (\d+)", (folder / "model.h").read_text())[1]))
    y, x = np.empty((len(x), description.output_size)), np.ascontiguousarray(x)
    for row, out in zip(x, y, strict=True):
        call(library.model, row, out, work)
    return y


def compiled(source):
    library = source.with_suffix(".so")
    subprocess.run([COMPILER, *STRICT, "-shared", "-fPIC", source, "-o", library, "-lm"], check=True)
    return ctypes.CDLL(library)


def call(function, *arrays):
    pointer = ctypes.POINTER(ctypes.c_double)
    function(*(array.ctypes.data_as(pointer) for array in arrays))


def in_octave(description, x, folder):
    if OCTAVE is None:
        pytest.skip("there is no Octave")
    export(description, folder / "model.m")
    np.savetxt(folder / "x.txt", x, fmt="%.17g")
    code = (
        "x = load('x.txt'); y = model(x); f = fopen('y.txt', 'w'); "
        "fprintf(f, [repmat('%.17g ', 1, columns(y)) '\\n'], y.'); fclose(f);"
    )
    subprocess.run([OCTAVE, "--norc", "--no-window-system", "--eval", code], cwd=folder, check=True)
    return np.loadtxt(folder / "y.txt", ndmin=2)


RUNS = {"torch": in_torch, "onnxruntime": in_onnxruntime, "C": in_c}
