"""The command line: each verb calls a few public functions."""

from __future__ import annotations

import difflib
import sys
from typing import Annotated, Any

import typer

from elmonet import __version__
from elmonet.cli.compare import compare
from elmonet.cli.console import Stopped, complain, plain_warnings
from elmonet.cli.doctor import doctor
from elmonet.cli.files import convert, info, make
from elmonet.cli.fit import fit
from elmonet.cli.plot import plot
from elmonet.cli.predict import predict, suggest
from elmonet.cli.reproduce import demo, reproduce
from elmonet.errors import ElmonetError

__all__ = ["app", "main"]

app = typer.Typer(
    name="elmonet",
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for verb in (fit, predict, compare, suggest, info, plot, make, convert, demo, reproduce, doctor):
    app.command()(verb)

# Of click, which is a separate package for an older typer and a part of a newer one.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]
_ClickError: type[Exception] = typer.BadParameter.__mro__[2]
_INTERRUPTED = 130
_LETTERS = {"X holds": "the input functions hold", "y holds": "the output functions hold"}


@app.callback(invoke_without_command=True)
def _elmonet(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
    debug: Annotated[  # looked at in `main`, after any verb too
        bool, typer.Option("--debug", help="Show where in the code an error came from (traceback).")
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
    try:
        code = app(arguments, prog_name="elmonet", standalone_mode=False) or 0
        sys.exit(complain("Stopped.", code) if code == _INTERRUPTED else code)
    except _UsageError as error:
        sys.exit(complain(_usage(error, arguments), 2))
    except (ElmonetError, _ClickError) as error:
        sys.exit(complain(_without_letters(str(error)), 1))
    except OSError as error:
        sys.exit(complain(_system(error), 1))
    except MemoryError:
        sys.exit(
            complain("there is not enough memory. Try fewer functions, or fit in blocks: --memory 2GB.", 1)
        )
    except (Stopped, KeyboardInterrupt, typer.Abort) as stopped:
        sys.exit(complain(str(stopped) or "Stopped.", _INTERRUPTED))
    except Exception as error:
        said = " ".join(str(error).split())
        sys.exit(
            complain(
                f"{type(error).__name__}: {said}. This is a bug in elmonet: please report what it prints "
                "with --debug.",
                1,
            )
        )


def _usage(error: Any, arguments: list[str]) -> str:
    """What is wrong with the command, and where to read more."""
    said = " ".join(error.format_message().split()).rstrip(".")
    parameter = getattr(error, "param", None)
    missing, given = getattr(parameter, "help", None), _given(parameter, arguments)
    if missing and said.startswith("Missing"):
        said = f"{said}: {missing[0].lower()}{missing[1:].rstrip('.')}"
    elif given is not None and repr(given) not in said:
        said = f"{said}; got {given!r}"
    verbs = [command.callback.__name__ for command in app.registered_commands if command.callback]
    verb = f" {arguments[0]}" if arguments and arguments[0] in verbs else ""
    close = difflib.get_close_matches(arguments[0], verbs, n=1) if arguments and not verb else []
    if close and "Did you mean" not in said:
        said = f"{said}. Did you mean {close[0]!r}?"
    return f"{said}{'' if said.endswith('?') else '.'} See: elmonet{verb} --help"


def _given(parameter: Any, arguments: list[str]) -> str | None:
    """The value that an option was given."""
    for at, argument in enumerate(arguments):
        name, _, value = argument.partition("=")
        if name in getattr(parameter, "opts", ()):
            return value or (arguments[at + 1] if at + 1 < len(arguments) else None)
    return None


def _without_letters(message: str) -> str:
    """For people who type commands, what Python calls X and y."""
    for start, words in _LETTERS.items():
        message = words + message.removeprefix(start) if message.startswith(start) else message
    return message


def _system(error: OSError) -> str:
    """What the system says about a file."""
    if error.filename is None or not error.strerror:
        return str(error)
    return f"{str(error.filename)!r} cannot be read or written: {error.strerror.lower()}."
