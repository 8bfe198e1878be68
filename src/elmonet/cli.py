"""The command line: each verb calls one public function."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from elmonet import __version__
from elmonet._check import ElmonetError, FileError

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["app", "main"]

app = typer.Typer(
    name="elmonet",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _elmonet(
    version: Annotated[bool, typer.Option("--version", help="Print the version and end.")] = False,
    debug: Annotated[  # looked at in `main`
        bool, typer.Option("--debug", help="Show the traceback of an error.")
    ] = False,
) -> None:
    """Neural operators trained by one linear solve."""
    if version:
        typer.echo(f"elmonet {__version__}")
        raise typer.Exit


@app.command()
def reproduce(
    experiments: Annotated[
        list[str] | None,
        typer.Argument(
            help="antiderivative, nonlinear_ode, sensitivity, darcy, inverse_source; all if none is named.",
            show_default=False,
        ),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="10,000 epochs, ten trials, widths up to 10,000: about an hour.")
    ] = False,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of results and report.")] = Path("results"),
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in that folder.")] = False,
    json: Annotated[
        Path | None,
        typer.Option("--json", help="Write the numbers there too; - prints them instead of tables."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the data and the networks.")] = 0,
    seconds: Annotated[
        float | None, typer.Option(min=0, help="Limit for each training.", show_default="12, full: none")
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Limit for each training.", show_default="10000")
    ] = None,
    batch_size: Annotated[
        int | None, typer.Option(min=1, help="Functions in a step of that training.", show_default="all")
    ] = None,
    trials: Annotated[
        int | None, typer.Option(min=1, help="Draws that are averaged.", show_default="1, full 10")
    ] = None,
    functions: Annotated[
        int | None, typer.Option(min=2, help="Training functions, and test functions.", show_default="1000")
    ] = None,
) -> None:
    """Measure the paper's tables and figures, each number beside the printed one.

    Writes results.json, report.html, report.md and figures/ to the folder. Ctrl-C keeps what is finished.

    **Examples**

    elmonet reproduce

    elmonet reproduce antiderivative darcy --seconds 60

    elmonet reproduce --full --out results/full
    """
    from rich.console import Console

    from elmonet.paper import EXPERIMENTS, FULL, SHORT
    from elmonet.paper import reproduce as run
    from elmonet.paper.run import as_json
    from elmonet.progress import progress_bar
    from elmonet.store import write_bytes

    given = {
        "seconds": seconds,
        "epochs": epochs,
        "batch_size": batch_size,
        "trials": trials,
        "functions": functions,
    }
    effort = replace(FULL if full else SHORT, **{k: v for k, v in given.items() if v is not None})  # type: ignore[arg-type]
    chosen = [name.replace("-", "_") for name in experiments or EXPERIMENTS]
    with progress_bar() as progress:
        try:
            results = run(chosen, effort=effort, out=out, resume=resume, seed=seed, progress=progress)
        except KeyboardInterrupt:
            raise _Stopped(
                f"Stopped. What is finished is kept in {out}; the same command with --resume goes on."
            ) from None
    if str(json) == "-":
        sys.stdout.write(as_json(results))
    elif json is not None:
        write_bytes(json, as_json(results).encode())
    _report(results, out, Console(stderr=str(json) == "-"))


@app.command()
def fit(
    data: Annotated[
        Path, typer.Argument(help="A zarr group, an HDF5 file, or a folder of npy files: u, s and points.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="File of the model.")],
    width: Annotated[int, typer.Option(min=1, help="Random features, beside a linear block.")] = 1000,
    activation: Annotated[str, typer.Option(help="relu, tanh, cos, ...")] = "tanh",
    scale: Annotated[float, typer.Option(help="Of the random weights.")] = 0.5,
    memory: Annotated[
        str | None, typer.Option(help="What may be taken, as 2GB.", show_default="half of what is there")
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="File that is written now and then, and gone on from.")
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Threads.", show_default="cores")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the random features.")] = 0,
) -> None:
    """Fit an operator to functions on disk, more than memory holds, and save it.

    The file is read in blocks. With a checkpoint, a fit that was stopped or killed goes on where it was.

    **Examples**

    elmonet fit big.zarr -o operator.elmonet

    elmonet fit big.zarr -o operator.elmonet --memory 2GB --checkpoint fit.ckpt
    """
    from time import perf_counter

    from elmonet import SLFN, ELMDeepONet, Linear, fit_blocks
    from elmonet.data.stored import open_pairs
    from elmonet.progress import progress_bar

    u, s, points = open_pairs(data)
    if out.is_dir() or not out.parent.is_dir():
        raise FileError(f"cannot write {str(out)!r}: it must name a file in a folder that exists.")
    typer.echo(f"{data}: {u.shape[0]:,} functions, inputs {u.shape[1:]}, outputs at {s.shape[1]:,} points")
    model = ELMDeepONet(Linear() + SLFN(width, activation, scale), random_state=seed)
    begun = perf_counter()
    with progress_bar() as progress:
        try:
            options: dict[str, Any] = {"memory": memory, "checkpoint": checkpoint, "workers": workers}
            fit_blocks(model, u, s, points, progress=progress, **options)
        except KeyboardInterrupt:
            there = checkpoint is not None and checkpoint.exists()
            raise _Stopped("Stopped." + (" The same command goes on." if there else "")) from None
    model.save(out)
    seconds, solution = perf_counter() - begun, model.solution_
    typer.echo(
        f"leave-one-out error {solution.loo_error:.3g}, alpha {solution.alpha:.2g} ({solution.method}), "
        f"{seconds:.1f} s, {u.shape[0] / seconds:,.0f} functions a second"
    )
    typer.echo(f"wrote {out}")


def main() -> None:
    """Run the command line: errors of use in one plain line, Ctrl-C without a traceback."""
    try:
        app()
    except (ElmonetError, OSError) as error:
        if "--debug" in sys.argv:
            raise
        sys.exit(_complain(str(error), 1))
    except (_Stopped, KeyboardInterrupt) as stopped:
        sys.exit(_complain(str(stopped) or "Stopped.", 130))


class _Stopped(Exception):
    """Ctrl-C, with what to do next."""


def _complain(message: str, code: int) -> int:
    print(f"elmonet: {message}" if code == 1 else message, file=sys.stderr)
    return code


def _report(results: dict[str, Any], out: Path, console: Console) -> None:
    from rich import box
    from rich.table import Column, Table

    from elmonet.paper import write_report
    from elmonet.paper.tables import tables, verdicts

    for table in (*tables(results), verdicts(results)):
        if not table.rows:
            continue
        columns = [Column(name, overflow="fold") for name in table.columns]
        shown = Table(*columns, title=table.title, title_justify="left", box=box.SIMPLE_HEAD)
        for row in table.rows:
            shown.add_row(*(cell.replace(", ", "\n") for cell in row))
        console.print(shown)
        for note in table.notes:
            console.print(note, style="dim")
    for page in write_report(results, out):
        console.print(f"wrote {page}", highlight=False)
