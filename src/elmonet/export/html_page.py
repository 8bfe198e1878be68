"""One HTML page from a description: inputs are drawn, painted or set, and the outputs follow.

The page holds the model and its own script. It loads nothing: its policy lets no request leave, and only this
script run. Names from the data are text in JSON, which the script shows as text.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np

from elmonet.description import Description, Port
from elmonet.export.packing import PackedArrays, rounded
from elmonet.interpolation import as_grid

_NUMBERS = 8  # at most so many values without places are numbers, each with a slider
_LEVELS = 6  # at most so many different values of a field are levels to paint with
_PICTURES = 12  # curves and fields of outputs that are shown
_EXAMPLES = (("smallest", 0.0), ("median", 0.5), ("largest", 1.0))
_SEEN = 200  # training inputs whose predictions tell the range of the axes


@dataclass(frozen=True, eq=False)
class TrainingTab:
    """A linear operator that a page trains itself: random networks, and one linear solve.

    Attributes
    ----------
    x : (M,), sensors and points.
    modes_u, modes_s : (M, K), inputs and outputs are sums of their columns, with normal coefficients.
    rows : model, error and seconds of what the result is shown beside.
    """

    x: np.ndarray
    modes_u: np.ndarray
    modes_s: np.ndarray
    rows: Sequence[dict[str, Any]] = ()


@dataclass(frozen=True, eq=False)
class Beside:
    """What a page shows that is not in a description.

    Attributes
    ----------
    rows : (N, m), training inputs, flat as the description takes them; None if they are not known.
    half : (k,), half-width of the band of each output; None if it is not known.
    coverage : part of all values that lie within such a band.
    sensors : (m, d), where a single input is known; None if it is not known.
    parts : names and sizes of the parts of a single input; empty if it is one function.
    axis : name of the axis of curves.
    X, y : (n, m) and (n, k), functions with known outputs, flat; None if there are none.
    training : a second tab, which trains; None for none.
    """

    rows: np.ndarray | None = None
    half: np.ndarray | None = None
    coverage: float = 0.9
    sensors: np.ndarray | None = None
    parts: tuple[tuple[str, int], ...] = ()
    axis: str = "x"
    X: np.ndarray | None = None
    y: np.ndarray | None = None
    training: TrainingTab | None = None


@dataclass(frozen=True, eq=False)
class Part:
    """A number, curve or field of the inputs or outputs.

    Attributes
    ----------
    label : its name.
    index : (n,), which of the flat values.
    at : (n, 1) or (n, 2), where they are; None for numbers.
    axis : name of the axis.
    """

    label: str
    index: np.ndarray
    at: np.ndarray | None = None
    axis: str = "x"

    @property
    def kind(self) -> str:
        """How it is shown."""
        return "number" if self.at is None else ("curve", "field")[self.at.shape[1] - 1]


def page(description: Description, title: str, beside: Beside | None = None) -> str:
    """Return the text of a page of this title.

    >>> from elmonet.description import Graph
    >>> graph = Graph(2)
    >>> ports = (Port("u", (2,)),), (Port("s", (2,)),)
    >>> twice = Description(graph.finished(graph.scale(0, 2.0)), *ports, np.zeros((2, 1)))
    >>> text = page(twice, "twice <b>")
    >>> "<title>twice &lt;b&gt;</title>" in text
    True
    """
    beside = beside or Beside()
    trains = beside.training is not None
    names = ["operations", "pictures", "links", "page", *(["trainer", "training"] if trains else [])]
    script, style = "".join(_file(f"{name}.js") for name in names), _file("page.css")
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        f"{'worker-src blob:; ' if trains else ''}base-uri 'none'; form-action 'none'"
    )
    record = json.dumps(contents(description, title, beside), allow_nan=False, separators=(",", ":"))
    # Neither an end of the element nor a comment can come from a name.
    record = record.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    parts = {"title": escape(title), "policy": escape(policy, quote=True), "style": style, "script": script}
    text = _file("page.html")
    for name, value in {**parts, "record": record}.items():
        before, after = text.split(f"<!--{name}-->")
        text = before + value + after
    return text


def contents(description: Description, title: str, beside: Beside) -> dict[str, Any]:
    """Return all that the script of a page reads, for JSON."""
    description = rounded(description, beside.rows)
    writer = PackedArrays()
    rows, examples = beside.rows, _examples(description, beside)
    inputs = _input_parts(description, beside)
    outputs = _output_parts(description, beside)
    known = rows if rows is not None and len(rows) else np.array([x for _, x, _ in examples])
    some = known[np.linspace(0, len(known) - 1, min(len(known), _SEEN)).astype(int)]
    predicted = description(some)
    error = description.facts.get("expected relative error")
    operations, novelty = (writer.operations(own) for own in (description.operations, description.novelty))
    return {
        "title": title,
        "inputSize": description.input_size,
        "outputSize": description.output_size,
        "inputs": [_shown(part, known, writer, rows is not None) for part in inputs],
        "outputs": [_shown(part, predicted, writer) for part in outputs],
        "inputNames": [port.name for port in description.inputs],
        "outputNames": [port.name for port in description.outputs],
        "operations": operations,
        "novelty": novelty or None,
        "shared": _alike(operations, novelty),
        "training": None if beside.training is None else _training(beside.training, writer),
        "half": None if beside.half is None else writer.array(beside.half),
        "coverage": beside.coverage,
        "error": None if error is None or not np.isfinite(error) else float(error),
        "errorKind": description.facts.get("error estimated by"),
        "examples": [
            {
                "label": label,
                "values": writer.array(x),
                "truth": None if truth is None else writer.array(truth),
            }
            for label, x, truth in examples
        ],
        "arrays": writer.found,
    }


def _alike(a: list[dict[str, Any]], b: list[dict[str, Any]]) -> int:
    """Return with how many operations two lists begin alike."""
    return next(
        (i for i, pair in enumerate(zip(a, b, strict=False)) if pair[0] != pair[1]), min(len(a), len(b))
    )


def _training(tab: TrainingTab, writer: PackedArrays) -> dict[str, Any]:
    named = {"x": tab.x, "modesU": tab.modes_u, "modesS": tab.modes_s}
    return {name: writer.array(values) for name, values in named.items()} | {"paper": list(tab.rows)}


def _file(name: str) -> str:
    return (files("elmonet.export") / "page" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


# What is shown


def _examples(description: Description, beside: Beside) -> list[tuple[str, np.ndarray, np.ndarray | None]]:
    """Return labels, inputs and known outputs of examples."""
    found: list[tuple[str, np.ndarray, np.ndarray | None]] = []
    if beside.rows is not None and len(beside.rows):
        sizes = np.linalg.norm(beside.rows / (np.abs(beside.rows).max() or 1.0), axis=1)
        order = np.argsort(sizes, kind="stable")
        places = dict.fromkeys(int(order[round(part * (len(order) - 1))]) for _, part in _EXAMPLES)
        names = [name for name, _ in _EXAMPLES] if len(places) == len(_EXAMPLES) else [""] * len(places)
        for name, i in zip(names, places, strict=True):
            found.append((f"{name} training input".strip().capitalize(), beside.rows[i], None))
    if beside.X is not None and beside.y is not None:
        for i, (x, y) in enumerate(zip(beside.X[:6], beside.y[:6], strict=True)):
            found.append((f"Test {i + 1}", x, y))
    return found or [("Zero", np.zeros(description.input_size), None)]


def _input_parts(description: Description, beside: Beside) -> list[Part]:
    """Return how the inputs are shown, one after another."""
    if len(description.inputs) == 1 and len(beside.parts) > 1:
        ports: Sequence[Port] = [Port(name, (size,)) for name, size in beside.parts]
    else:
        ports = description.inputs
    found, at = [], 0
    for port in ports:
        index = at + np.arange(port.size)
        at += port.size
        found += _parts(port, index, _places(port, description, beside, len(ports)), beside.axis)
    return found


def _places(port: Port, description: Description, beside: Beside, ports: int) -> np.ndarray | None:
    """Return where the values of an input are, (n, d); None if that is not known."""
    sensors, points = beside.sensors, description.points
    if ports == 1 and sensors is not None and port.size % len(sensors) == 0:
        return sensors
    if port.size <= _NUMBERS and (len(points) != port.size or points.shape[1] != 1):
        return None
    if len(port.shape) >= 2:
        return None
    return points if len(points) == port.size else None


def _output_parts(description: Description, beside: Beside) -> list[Part]:
    found, at = [], 0
    for port in description.outputs:
        index = at + np.arange(port.size)
        at += port.size
        places = description.points if port.size % max(1, len(description.points)) == 0 else None
        if len(description.points) == 1:
            places = None
        found += _parts(port, index, places, beside.axis)
    return found[:_PICTURES]


def _parts(port: Port, index: np.ndarray, at: np.ndarray | None, axis: str) -> list[Part]:
    """Return numbers, curves or fields of a port; several of one name are numbered."""
    if at is not None and at.shape[1] <= 2:
        groups = _components(port, index, len(at))
        return [Part(label, own, *_placed(at, axis)) for label, own in groups]
    if port.size <= _NUMBERS:
        return [Part(port.name if port.size == 1 else f"{port.name} {i}", index[i : i + 1])
                for i in range(port.size)]  # fmt: skip
    shape = port.shape
    if len(shape) == 2 and min(shape) > _NUMBERS:  # an image; rows from the top, as arrays are printed
        rows, columns = np.indices(shape)
        where = np.stack([columns.ravel(), (shape[0] - 1 - rows).ravel()], axis=1).astype(float)
        return [Part(port.name, index, where, "column and row")]
    count = max(shape[0], shape[-1]) if len(shape) == 2 else port.size
    groups = _components(port, index, count)
    return [Part(label, own, np.arange(float(count))[:, None], f"number of the value, {axis}" if axis != "x"
                 else "number of the value") for label, own in groups]  # fmt: skip


def _placed(at: np.ndarray, axis: str) -> tuple[np.ndarray, str]:
    return at, axis if at.shape[1] == 1 else "x, y"


def _components(port: Port, index: np.ndarray, count: int) -> list[tuple[str, np.ndarray]]:
    """Return labels and indices of functions of `count` values each, which come first or last in a port."""
    c = port.size // count
    if c == 1:
        return [(port.name, index)]
    last = port.shape[-1] == c
    each = index.reshape(count, c).T if last else index.reshape(c, count)
    return [(f"{port.name} {i}", own) for i, own in enumerate(each)]


def _shown(part: Part, known: np.ndarray, writer: PackedArrays, trained: bool = True) -> dict[str, Any]:
    """Return a part for JSON, with the range of known values (n, .)."""
    values = known[:, part.index]
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (-1.0, 1.0)
    if not trained or low == high:
        low, high = low - max(1.0, abs(low)), high + max(1.0, abs(high))
    found: dict[str, Any] = {
        "label": part.label, "kind": part.kind, "axis": part.axis, "low": low, "high": high,
        "index": writer.array(part.index), "levels": [], "logarithmic": bool(low > 0 and high > 30 * low),
    }  # fmt: skip
    if part.at is None:
        return found
    levels = np.unique(finite[:20_000])
    if 1 < len(levels) <= _LEVELS and finite.size > 50 * len(levels):
        found["levels"] = levels.tolist()
    found["x"] = writer.array(part.at[:, 0].astype(float))
    if part.kind == "field":
        found["y"] = writer.array(part.at[:, 1].astype(float))
        axes = as_grid(part.at)[0]
        found["grid"] = None if axes is None else [len(axis) for axis in axes]
    return found
