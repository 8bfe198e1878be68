"""Exports run: in torch, in onnxruntime, compiled by a C compiler, in Octave."""

import ctypes
import json
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

from elmonet.export import export, to_torch
from elmonet.export.names import unique_identifiers

COMPILER = shutil.which("cc") or shutil.which("gcc")
FORTRAN = shutil.which("gfortran")
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


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync", "--disable-extensions",
    "--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe",
]  # fmt: skip


class Browser:
    """A headless Chromium, driven over its debugging pipe: messages of JSON that end with a zero byte."""

    def __init__(self, folder):
        (commands, write), (read, answers) = os.pipe(), os.pipe()
        words = [CHROMIUM, *FLAGS, f"--user-data-dir={folder}", "about:blank"]
        # It reads from 3 and writes to 4, which either of the pipes may have already: out of the way first.
        away = f"a, b = (fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in ({commands}, {answers}))"
        move = f"import fcntl, os; {away}; os.dup2(a, 3); os.dup2(b, 4); "
        self.process = subprocess.Popen(
            [sys.executable, "-c", f"{move}os.execv({CHROMIUM!r}, {words!r})"],
            pass_fds=(commands, answers),
            stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(answers)
        self.out, self.into = os.fdopen(write, "wb", 0), os.fdopen(read, "rb")
        self.count, self.session, self.events, self.rest = 0, None, [], b""
        page = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")
        size = {"width": 1280, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.send("Emulation.setDeviceMetricsOverride", **size)

    def send(self, method, **parameters):
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        if self.session is not None:
            message["sessionId"] = self.session
        self.out.write(json.dumps(message).encode() + b"\0")
        while (answer := self.receive()).get("id") != self.count:
            self.events.append(answer)
        assert "error" not in answer, (method, answer)
        return answer["result"]

    def receive(self):
        while b"\0" not in self.rest:
            more = os.read(self.into.fileno(), 1 << 20)
            assert more, "Chromium has ended"
            self.rest += more
        first, _, self.rest = self.rest.partition(b"\0")
        return json.loads(first)

    def open(self, path, fragment=""):
        if fragment:  # within a page, a fragment alone would load nothing
            self.send("Page.navigate", url="about:blank")
            self.run("0")
        self.events.clear()
        self.send("Page.navigate", url=path.as_uri() + fragment)
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(self.receive())

    def run(self, expression):
        """Return the value of an expression, or of what it promises."""
        how = {"awaitPromise": True, "returnByValue": True}
        found = self.send("Runtime.evaluate", expression=expression, **how)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def frame(self):
        """Wait until two frames have been painted."""
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def stroke(self, selector, *places):
        """Draw with the mouse, from place to place of an element, as parts of its width and height."""
        self.run(f"document.querySelector({selector!r}).scrollIntoView({{block: 'center'}})")
        box = self.run(f"document.querySelector({selector!r}).getBoundingClientRect().toJSON()")
        for i, (x, y) in enumerate(places):
            at = {"x": box["x"] + x * box["width"], "y": box["y"] + y * box["height"], "button": "left"}
            kinds = (["mousePressed"] if i == 0 else []) + ["mouseMoved"]
            for kind in kinds + (["mouseReleased"] if i == len(places) - 1 else []):
                self.send("Input.dispatchMouseEvent", type=kind, buttons=1, clickCount=1, **at)
        self.frame()

    def complaints(self):
        """Return errors and warnings of the console, and requests for anything that is not in the page."""
        found = []
        for event in self.events:
            own = event.get("params", {})
            if event["method"] == "Runtime.exceptionThrown":
                found.append(own["exceptionDetails"])
            elif event["method"] == "Log.entryAdded" or event["method"] == "Runtime.consoleAPICalled":
                found.append(own)
            elif event["method"] == "Network.requestWillBeSent":
                url = own["request"]["url"]
                if not url.startswith(("file:", "blob:", "data:")):
                    found.append(url)
        return found

    def close(self):
        self.process.kill()
        self.process.wait()
        self.out.close()
        self.into.close()


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    if CHROMIUM is None:
        pytest.skip("there is no Chromium")
    found = Browser(tmp_path_factory.mktemp("profile"))
    yield found
    found.close()
