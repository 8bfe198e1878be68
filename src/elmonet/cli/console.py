"""What all verbs share: options, and how they print results, for people or for programs."""

from __future__ import annotations

import json
import math
import re
import shutil
import sys
import textwrap
import warnings
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from elmonet.summary import percent

__all__ = [
    "IndexName",
    "InputName",
    "MaxSize",
    "OutputName",
    "PointsName",
    "SensorsName",
    "Stopped",
    "Told",
    "Transpose",
    "complain",
    "error_facts",
    "expected_error",
    "one_or_more",
    "plain_warnings",
]


def _name(flag: str, help: str) -> Any:
    return typer.Option(flag, help=help, metavar="NAME", show_default="guessed")


InputName = Annotated[
    list[str] | None, _name("--input", "Name of the input functions; repeat the option for several.")
]
OutputName = Annotated[
    list[str] | None, _name("--output", "Name of the output functions; repeat it for components.")
]
PointsName = Annotated[
    str | None, _name("--points", "Name of the output points, or an npy or csv file of them.")
]
SensorsName = Annotated[str | None, _name("--sensors", "Name of the input sensors, or a file of them.")]
IndexName = Annotated[
    str | None, _name("--index", "Name of the integers that say to which function a value belongs.")
]
Transpose = Annotated[
    bool,
    typer.Option("--transpose", help="Each column is a function, not each row."),
]
MaxSize = Annotated[
    str | None,
    typer.Option(
        "--max-size",
        help="How large the unpacked file may be, such as 4GB.",
        metavar="SIZE",
        show_default="200 times the file, at least 1GB",
    ),
]
_NARROWEST = 40
_INSIDE_A_NUMBER = re.compile(r"(?<=[\dN],) (?=\d)|(?<=\d) (?=%)")  # or a shape
_UNBROKEN = "\N{NO-BREAK SPACE}"


class Stopped(Exception):
    """Ctrl-C, with what to do next."""


class Told:
    """What a verb prints: lines for people as they come, or one JSON object at the end."""

    def __init__(self, as_json: bool):
        self.as_json = as_json
        self.facts: dict[str, Any] = {}

    def line(self, text: str = "") -> None:
        """A line for people, or some, no wider than the terminal."""
        if not self.as_json:
            typer.echo(_wrapped(text))

    def fact(self, **facts: Any) -> None:
        """Something for programs."""
        self.facts |= facts

    def end(self) -> None:
        """The object, if it is wanted."""
        if self.as_json:
            typer.echo(json.dumps(_plain(self.facts), indent=1, allow_nan=False))


def complain(message: str, code: int) -> int:
    """Say what is wrong on standard error, in one line; the exit code."""
    _to_stderr(f"elmonet: {message}" if code in (1, 2) else message)
    return code


def plain_warnings() -> None:
    """Warnings as one line on standard error, each once."""

    def show(message: Any, *_: Any, **__: Any) -> None:
        _to_stderr(f"note: {message}")

    warnings.simplefilter("once")
    warnings.showwarning = show


def one_or_more(names: list[str] | None) -> Any:
    """The names given to an option that may come several times: None, one name, or a list."""
    return names[0] if names and len(names) == 1 else names or None


def _to_stderr(text: str) -> None:
    """Lines as they are, for programs to search; for people in a terminal, wrapped."""
    print(_wrapped(text) if sys.stderr.isatty() else text, file=sys.stderr)


def _wrapped(text: str) -> str:
    """Lines that fit the terminal; what belongs to the same one is indented."""
    width = max(_NARROWEST, shutil.get_terminal_size().columns)
    lines = []
    for line in text.split("\n"):
        inner = " " * (len(line) - len(line.lstrip()) + 2)
        kept = _INSIDE_A_NUMBER.sub(_UNBROKEN, line)
        filled = textwrap.wrap(
            kept, width, subsequent_indent=inner, break_long_words=False, break_on_hyphens=False
        )
        lines += filled or [""]
    return "\n".join(lines).replace(_UNBROKEN, " ")


def _plain(value: Any) -> Any:
    """What JSON can hold; NaN and infinity, which it cannot, as null."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def expected_error(model: Any) -> str:
    """What a model says of its error, for people."""
    from elmonet.estimators.base import kind_in_words

    if model.expected_error_ is None:
        return "not known"
    return f"{percent(model.expected_error_)} ({kind_in_words(model.error_kind_)})"


def error_facts(model: Any) -> dict[str, Any]:
    """What a model says of its error, for programs."""
    error, kind = model.expected_error_, model.error_kind_
    facts = {"expected_error": error, "expected_error_interval": model.expected_error_interval_}
    return facts | {"error_kind": kind} | ({"loo_error": error} if kind == "leave-one-out" else {})
