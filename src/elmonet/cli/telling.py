"""What all verbs share: options, and how they tell things, to people or to programs."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from elmonet._check import FileError

__all__ = [
    "InputName",
    "Json",
    "OutputName",
    "PointsName",
    "Stopped",
    "Told",
    "complain",
    "plain_warnings",
    "require_place",
]

InputName = Annotated[
    list[str] | None,
    typer.Option(
        "--input", help="Name of the input functions; twice or more for several.", show_default="guessed"
    ),
]
OutputName = Annotated[
    list[str] | None,
    typer.Option(
        "--output", help="Name of the output functions; several are components.", show_default="guessed"
    ),
]
PointsName = Annotated[
    str | None,
    typer.Option(
        "--points", help="Name of the output points, or a npy or csv file of them.", show_default="guessed"
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, and nothing else.")]


class Stopped(Exception):
    """Ctrl-C, with what to do next."""


class Told:
    """What a verb has to tell: lines for people as they come, or one JSON object at the end."""

    def __init__(self, as_json: bool):
        self.as_json = as_json
        self.facts: dict[str, Any] = {}

    def line(self, text: str = "") -> None:
        """A line for people."""
        if not self.as_json:
            typer.echo(text)

    def fact(self, **facts: Any) -> None:
        """Something for programs."""
        self.facts |= facts

    def end(self) -> None:
        """The object, if it is wanted."""
        if self.as_json:
            typer.echo(json.dumps(self.facts, indent=1, default=_as_json))


def complain(message: str, code: int) -> int:
    """Say what is wrong on standard error; the exit code."""
    print(f"elmonet: {message}" if code in (1, 2) else message, file=sys.stderr)
    return code


def require_place(out: Path) -> None:
    """Raise before anything is computed if a file cannot be written there."""
    if out.is_dir() or not out.parent.is_dir():
        raise FileError(f"cannot write {str(out)!r}: it must name a file in a folder that exists.")


def plain_warnings() -> None:
    """Warnings as one line on standard error, each once."""

    def show(message: Any, *_: Any, **__: Any) -> None:
        print(f"note: {message}", file=sys.stderr)

    warnings.simplefilter("once")
    warnings.showwarning = show


def _as_json(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    return str(value)
