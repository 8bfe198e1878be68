"""The command line: each verb calls a few public functions."""

from __future__ import annotations

import difflib
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core

from elmonet import __version__
from elmonet.cli import apply, check, compare, doctor, files, fit, plot, predict, reproduce
from elmonet.cli.console import Stopped, complain, plain_warnings
from elmonet.errors import ElmonetError, how_to_report

__all__ = ["app", "main"]


class _PlainFlags:
    """Commands whose help shows no type for flags, which take no value; newer typer shows <bool>."""

    def get_params(self, ctx: Any) -> Any:
        """Return the parameters, as typer calls it."""
        parameters = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            if getattr(parameter, "is_flag", False) and parameter.metavar is None:
                parameter.metavar = ""
        return parameters


class _Command(_PlainFlags, typer.core.TyperCommand):
    pass


class _Group(_PlainFlags, typer.core.TyperGroup):
    pass


app = typer.Typer(
    name="elmonet",
    cls=_Group,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for verb in (
    fit.fit,
    predict.predict,
    compare.compare,
    predict.suggest,
    files.info,
    check.check,
    plot.plot,
    apply.export,
    apply.invert,
    apply.sensitivity,
    files.make,
    files.convert,
    reproduce.demo,
    reproduce.reproduce,
    doctor.doctor,
):
    app.command(cls=_Command)(verb)

# Of click, a package of its own for older versions of typer and a part of newer ones.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]
_ClickError: type[Exception] = typer.BadParameter.__mro__[2]
_INTERRUPTED = 130  # exit code after Ctrl-C
_PYTHON_NAMES = {"X holds": "the input functions hold", "y holds": "the output functions hold"}


@app.callback(invoke_without_command=True)
def _elmonet(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
    debug: Annotated[  # looked at in `main`, after any verb too
        bool, typer.Option("--debug", help="Show the traceback of errors.")
    ] = False,
) -> None:
    """Neural operators trained by one linear solve.

    **Examples**

    elmonet info data.npz

    elmonet fit data.npz -o operator.elmonet

    elmonet predict operator.elmonet new.npz -o predictions.npz

    No data yet? elmonet demo, or elmonet make antiderivative -o data.npz

    Something wrong? elmonet doctor
    """
    if version:
        typer.echo(f"elmonet {__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help(), nl=False)


def main() -> None:
    """Run the command line: errors in one or two plain lines, Ctrl-C without a traceback.

    Exit codes: 0 done, 1 something is wrong with a file or its content, 2 with the command, 130 stopped.
    """
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    if len(arguments) < len(sys.argv) - 1:
        app(arguments, prog_name="elmonet")
        return
    plain_warnings()
    if "" in arguments:  # mostly a variable of the shell that is not set
        empty = f"argument {arguments.index('') + 1} is empty. Give a name, or leave it out."
        sys.exit(complain(f"{empty} See: elmonet --help", 2))
    try:
        code = app(arguments, prog_name="elmonet", standalone_mode=False) or 0
        message = "Stopped." if code == _INTERRUPTED else ""
    except Exception as error:
        message, code = _explained(error, arguments)
    except KeyboardInterrupt:
        message, code = "Stopped.", _INTERRUPTED
    sys.exit(complain(message, code) if message else code)


def _explained(error: Exception, arguments: list[str]) -> tuple[str, int]:
    """Return the message for an error, and the exit code."""
    if isinstance(error, _UsageError):
        return _usage(error, arguments), 2
    if isinstance(error, (Stopped, typer.Abort)):
        return str(error) or "Stopped.", _INTERRUPTED
    if isinstance(error, (ElmonetError, _ClickError)):
        message = str(error)
        for python, words in _PYTHON_NAMES.items():
            if message.startswith(python):
                message = words + message.removeprefix(python)
        return message, 1
    if isinstance(error, OSError):
        if error.filename is None or not error.strerror:
            return str(error), 1
        advice = "Look at its permissions." if isinstance(error, PermissionError) else "Name another file."
        return f"{str(error.filename)!r} cannot be read or written: {error.strerror.lower()}. {advice}", 1
    if isinstance(error, MemoryError):
        advice = "Try fewer functions or, in elmonet fit, a smaller --width, or blocks: --memory 2GB."
        return f"there is not enough memory. {advice}", 1
    return (
        f"{type(error).__name__}: {' '.join(str(error).split()).rstrip('.')}. This is a bug in elmonet. "
        f"{how_to_report('what the same command prints with --debug')}",
        1,
    )


def _usage(error: Any, arguments: list[str]) -> str:
    """Return what is wrong with the command, and where to read more."""
    message = " ".join(error.format_message().split()).rstrip(".")
    parameter = getattr(error, "param", None)
    help, given = getattr(parameter, "help", None), _given(parameter, arguments)
    if help and message.startswith("Missing"):
        message = f"{message}: {help[0].lower()}{help[1:].rstrip('.')}"
    elif given is not None and repr(given) not in message:
        message = f"{message}; got {given!r}"
    verbs = [command.callback.__name__ for command in app.registered_commands if command.callback]
    verb = f" {arguments[0]}" if arguments and arguments[0] in verbs else ""
    files = [argument for argument in arguments if Path(argument).exists()]
    if message.startswith("No such option") and files and files[0].startswith("-"):
        message = f"{message}. A file whose name begins with a hyphen is written './{files[0]}'"
    elif arguments[:1] == files[:1] and files and not verb:
        message = f"{message}. Say what to do with the file, such as: elmonet info {shlex.quote(files[0])}"
    close = difflib.get_close_matches(arguments[0], verbs, n=1) if arguments and not verb else []
    if close and "Did you mean" not in message:
        message = f"{message}. Did you mean {close[0]!r}?"
    return f"{message}{'' if message.endswith('?') else '.'} See: elmonet{verb} --help"


def _given(parameter: Any, arguments: list[str]) -> str | None:
    """Return the value that an option was given."""
    for at, argument in enumerate(arguments):
        name, _, value = argument.partition("=")
        if name in getattr(parameter, "opts", ()):
            return value or (arguments[at + 1] if at + 1 < len(arguments) else None)
    return None
