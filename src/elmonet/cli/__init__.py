"""The command line: each verb calls a few public functions."""

from __future__ import annotations

import sys
from typing import Annotated

import click
import typer

from elmonet import __version__
from elmonet._check import ElmonetError
from elmonet.cli.files import convert, info, make
from elmonet.cli.learn import fit, predict
from elmonet.cli.picture import plot
from elmonet.cli.reproduce import reproduce
from elmonet.cli.telling import Stopped, complain, plain_warnings

__all__ = ["app", "main"]

app = typer.Typer(
    name="elmonet",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for verb in (fit, predict, info, plot, make, convert, reproduce):
    app.command()(verb)


@app.callback(invoke_without_command=True)
def _elmonet(
    version: Annotated[bool, typer.Option("--version", help="Print the version and end.")] = False,
    debug: Annotated[  # looked at in `main`
        bool, typer.Option("--debug", help="Show the traceback of an error.")
    ] = False,
) -> None:
    """Neural operators trained by one linear solve.

    elmonet fit data.npz -o operator.elmonet

    elmonet predict operator.elmonet new.npz -o predictions.npz
    """
    if version:
        typer.echo(f"elmonet {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line: errors in one or two plain lines, Ctrl-C without a traceback.

    Exit codes: 0 done, 1 something is wrong with a file or its content, 2 with the command, 130 stopped.
    """
    if "--debug" in sys.argv:
        app()
        return
    try:
        plain_warnings()
        sys.exit(app(standalone_mode=False) or 0)
    except click.exceptions.NoArgsIsHelpError as help_text:
        sys.exit(complain_with_help(help_text))
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx is not None else "elmonet"
        sys.exit(complain(f"{error.format_message()} See: {where} --help", 2))
    except (ElmonetError, OSError, click.ClickException) as error:
        sys.exit(complain(str(error), 1))
    except MemoryError:
        sys.exit(
            complain("there is not enough memory. Try fewer functions, or fit in blocks: --memory 2GB.", 1)
        )
    except (Stopped, KeyboardInterrupt, click.Abort) as stopped:
        sys.exit(complain(str(stopped) or "Stopped.", 130))


def complain_with_help(error: click.UsageError) -> int:
    """The help, for a command without arguments."""
    typer.echo(error.format_message())
    return 0
