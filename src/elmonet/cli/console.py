"""Options that verbs share, and how verbs print: lines for people, or one JSON object for programs."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import os
import re
import shutil
import sys
import tempfile
import textwrap
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from elmonet.errors import FileError
from elmonet.store import refusal
from elmonet.summary import percent


def option(help: str, metavar: str, default: str | bool = True, **settings: Any) -> Any:
    """Return an option of a verb; `default` is what the help shows."""
    return typer.Option(help=help, metavar=metavar, show_default=default, **settings)


def out_option(help: str, metavar: str = "FILE", **settings: Any) -> Any:
    """Return the option --out of a verb."""
    return typer.Option("--out", "-o", help=help, metavar=metavar, **settings)


def seed_option(help: str) -> Any:
    """Return the option --seed of a verb."""
    return option(help, "N", min=0)


def json_option(keys: str) -> Any:
    """Return the option --json of a verb that prints these keys."""
    return typer.Option("--json", help=f"Print one JSON object and nothing else: {keys}.")


def _name(flag: str, help: str) -> Any:
    return typer.Option(flag, help=help, metavar="NAME", show_default="inferred")


ModelFile = Annotated[Path, typer.Argument(help="Model file, from elmonet fit.", metavar="MODEL")]
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
    str | None, _name("--index", "Name of the integers that assign each scattered value to its function.")
]
RunTable = Annotated[
    Path | None,
    option(
        "Table with a row for each run: csv, tsv, xlsx, parquet. It may also come before the runs.",
        "FILE",
        "none",
    ),
]
BadRuns = Annotated[
    str,
    option("What to do with runs that cannot be read, differ or have no row: raise or skip.", "WORD"),
]
Transpose = Annotated[bool, typer.Option("--transpose", help="Each column is a function, not each row.")]
MaxSize = Annotated[
    str | None,
    option(
        "Limit for the size of the unpacked file, such as 4GB.", "SIZE", "200 times the file, at least 1GB"
    ),
]


def read_options(options: dict[str, Any]) -> dict[str, Any]:
    """Return those options of a verb that were given and that `elmonet.read` takes, under its names."""
    found = {name: options.get(name) for name in ("points", "sensors", "index", "transpose")}
    for name in ("input", "output"):
        given = options.get(name) or None
        found[name] = given[0] if given and len(given) == 1 else given
    found["max_bytes"] = options["max_size"]  # table and bad runs are in the source
    return {name: value for name, value in found.items() if value is not None and value is not False}


class Printer:
    """Prints lines for people as they come, or one JSON object at the end."""

    def __init__(self, as_json: bool = False):
        self.as_json = as_json
        self.values: dict[str, Any] = {}
        self.failures: list[str] = []

    def line(self, text: str = "") -> None:
        """Print text for people, wrapped to the terminal."""
        if not self.as_json:
            typer.echo(_wrapped(text))

    def value(self, **values: Any) -> None:
        """Keep values for the JSON object."""
        self.values |= values

    def save(self, write: Callable[[Path], Any], out: Path) -> Path:
        """Write a result to `out` or, if that fails, to a new name in the current or the temporary folder.

        `write` is called with the place, which is returned. `finish` raises what went wrong. If nothing can
        be written anywhere, the first error is raised at once.
        """
        try:
            write(out)
            return out
        except FileError as error:
            failed = error
        except OSError as error:
            failed = FileError(f"cannot write {str(out)!r}: {refusal(error)}")
        for folder in (Path(), Path(tempfile.gettempdir())):
            place = _unused(folder / out.name)
            with contextlib.suppress(FileError, OSError):
                write(place)
                self.failures.append(f"{failed} It is saved as {str(place)!r} instead.")
                return place
        raise failed

    def finish(self) -> None:
        """Print the JSON object, if it was asked for; raise if something was not written where it should."""
        if self.as_json:
            typer.echo(json.dumps(_jsonable(self.values), indent=1, allow_nan=False))
        if self.failures:
            raise FileError(" ".join(self.failures))


def _unused(path: Path) -> Path:
    """Return this path or, if something is there, one with a number before its ending."""
    numbered = (path.with_stem(f"{path.stem}-{n}") for n in itertools.count(2))
    return next(each for each in itertools.chain([path], numbered) if not os.path.lexists(each))


def _jsonable(value: Any) -> Any:
    """Return what JSON can hold; NaN and infinity, which it cannot, become null."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _jsonable(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_jsonable(entry) for entry in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def shapes_in_words(arrays: Mapping[str, Any]) -> str:
    """Return the names and shapes of arrays, such as "u (20, 100), s (20, 50)"."""
    return ", ".join(f"{name} {tuple(array.shape)}" for name, array in arrays.items())


def error_in_words(model: Any) -> str:
    """Return the expected error of a model, for people."""
    from elmonet.uncertainty.error_estimate import ErrorEstimate

    if model.expected_error_ is None:
        reason = model._fitted().estimate.reason
        return f"not known{': ' if reason else ''}{reason}"
    return f"{percent(model.expected_error_)} ({ErrorEstimate(kind=model.error_kind_).kind_in_words})"


def error_values(model: Any) -> dict[str, Any]:
    """Return the expected error of a model, for programs."""
    error, kind = model.expected_error_, model.error_kind_
    values = {
        "expected_error": error,
        "expected_error_interval": model.expected_error_interval_,
        "error_quantiles": model.error_quantiles_,
    }
    return values | {"error_kind": kind} | ({"loo_error": error} if kind == "leave-one-out" else {})


class Stopped(Exception):
    """Ctrl-C, with advice on how to continue."""


def complain(message: str, code: int) -> int:
    """Print an error on standard error, and return the exit code."""
    _to_stderr(f"elmonet: {message}" if code in (1, 2) else message)
    return code


def plain_warnings() -> None:
    """Print each warning once, as one line on standard error."""

    def show(message: Any, *_: Any, **__: Any) -> None:
        _to_stderr(f"note: {message}")

    warnings.simplefilter("once")
    warnings.showwarning = show


def _to_stderr(text: str) -> None:
    """Print to standard error: wrapped in a terminal, else in one line, for programs to search."""
    print(_wrapped(text) if sys.stderr.isatty() else text, file=sys.stderr)


_MIN_WIDTH = 40  # characters
_INSIDE_NUMBER = re.compile(r"(?<=[\dN],) (?=\d)|(?<=\d) (?=%)")  # of a shape, or before a percent sign
_NO_BREAK = "\N{NO-BREAK SPACE}"


def _wrapped(text: str) -> str:
    """Wrap lines to the width of the terminal, with a hanging indent; shapes and percentages stay whole."""
    width = max(_MIN_WIDTH, shutil.get_terminal_size().columns)
    wrapper = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False)
    lines = []
    for line in text.split("\n"):
        wrapper.subsequent_indent = " " * (len(line) - len(line.lstrip()) + 2)
        lines += wrapper.wrap(_INSIDE_NUMBER.sub(_NO_BREAK, line)) or [""]
    return "\n".join(lines).replace(_NO_BREAK, " ")
