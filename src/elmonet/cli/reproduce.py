"""elmonet reproduce and elmonet demo."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from elmonet.checks import choice
from elmonet.cli.console import Printer, Stopped, option, out_option, seed_option
from elmonet.cli.paths import require_folder, require_place
from elmonet.cli.plot import without_windows
from elmonet.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from elmonet.paper.tables import Table


def reproduce(
    experiments: Annotated[
        list[str] | None,
        typer.Argument(
            help="antiderivative, nonlinear_ode, sensitivity, darcy, inverse_source; all these if none is "
            "named. Or physics alone: operators from equations, without outputs.",
            metavar="NAMES",
            show_default=False,
        ),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="10,000 epochs, ten trials, widths up to 10,000: about an hour.")
    ] = False,
    out: Annotated[Path, out_option("Folder of results and report.", "FOLDER")] = Path("results"),
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in that folder.")] = False,
    json: Annotated[
        Path | None, option("Also write the numbers to this file; - prints them instead of tables.", "FILE")
    ] = None,
    seed: Annotated[int, seed_option("Seed of the data and the networks.")] = 0,
    seconds: Annotated[
        float | None, option("Time limit of each training.", "SECONDS", "12, full: none", min=0)
    ] = None,
    epochs: Annotated[int | None, option("Limit of epochs of each training.", "N", "10000", min=1)] = None,
    batch_size: Annotated[int | None, option("Functions per step of training.", "N", "all", min=1)] = None,
    trials: Annotated[int | None, option("Random draws to average.", "N", "1, full: 10", min=1)] = None,
    functions: Annotated[
        int | None,
        option(
            "Training functions, and test functions; of physics, training functions alone.",
            "N",
            "1000; physics: 2000 for advection",
            min=2,
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        option(
            "Of physics, one problem: antiderivative, reaction, poisson, laplace, advection, burgers, "
            "stokes; repeat the option for several.",
            "NAME",
            "all",
        ),
    ] = None,
) -> None:
    """Reproduce the paper's tables and figures, each number beside the printed one.

    Writes results.json, report.html, report.md and figures/ to the folder; physics writes physics.json and
    figures/. Ctrl-C keeps what is finished.

    **Examples**

    elmonet reproduce

    elmonet reproduce antiderivative darcy --seconds 60

    elmonet reproduce --full --out results/full

    elmonet reproduce physics --only burgers
    """
    from elmonet.paper import EXPERIMENTS, FULL, SHORT, write_report
    from elmonet.paper import reproduce as run
    from elmonet.paper.tables import tables, verdicts

    chosen = [
        choice(name.replace("-", "_"), "experiment", (*EXPERIMENTS, "physics"))
        for name in experiments or EXPERIMENTS
    ]
    if json is not None and str(json) != "-":
        require_place(json)
        if json.resolve() == out.resolve():
            raise InputError(f"--json and --out are the same, {str(out)!r}: a file and a folder. Name two.")
    require_folder(out)
    effort = {"seconds": seconds, "epochs": epochs, "batch_size": batch_size, "trials": trials}
    if chosen == ["physics"]:
        given = {f"--{name.replace('_', '-')}": value for name, value in effort.items()}
        given |= {"--full": full, "--resume": resume}
        return _reproduce_physics(only or [], functions, seed, out, json, given)
    if "physics" in chosen:
        raise InputError(
            "physics is a run of its own: elmonet reproduce physics. Name the other experiments in another "
            "command."
        )
    if only:
        raise InputError("--only is for elmonet reproduce physics. Name the experiments without it.")
    changes = {
        name: value for name, value in (effort | {"functions": functions}).items() if value is not None
    }
    settings: dict[str, Any] = {"out": out, "resume": resume, "seed": seed}
    printer = Printer()
    results, console = _run(
        printer,
        lambda progress: run(
            chosen,
            effort=replace(FULL if full else SHORT, **changes),  # type: ignore[arg-type]
            progress=progress,
            **settings,
        ),
        json,
        f"What is finished is kept in {out}; the same command with --resume continues.",
    )
    for table in (*tables(results), verdicts(results)):
        if table.rows:
            _print_table(table, console)
    pages: list[Path] = []
    printer.save(lambda place: pages.extend(write_report(results, place)), out)
    for page in pages:
        console.print(f"wrote {page}", highlight=False)
    printer.finish()


def _reproduce_physics(
    only: list[str],
    functions: int | None,
    seed: int,
    out: Path,
    json: Path | None,
    of_experiments: dict[str, Any],
) -> None:
    """Run the gallery of equations; options `of_experiments` must not be given."""
    from elmonet.equations.gallery import GALLERY
    from elmonet.paper.physics import physics_table, reproduce_physics

    given = [flag for flag, value in of_experiments.items() if value not in (None, False)]
    if given:
        raise InputError(
            f"{', '.join(given)}: this is for the paper's experiments. physics takes --only, --functions, "
            "--seed, --out and --json."
        )
    names = [choice(name, "--only", GALLERY) for name in only] or list(GALLERY)
    without_windows()
    printer = Printer()
    results, console = _run(
        printer,
        lambda progress: reproduce_physics(names, functions=functions, seed=seed, out=out, progress=progress),
        json,
        f"Problems that are finished are kept in {out / 'physics.json'}; --only NAME runs one of them.",
    )
    _print_table(physics_table(results), console)
    if "figures" in results:
        console.print(f"figures: {results['figures']}", style="dim", markup=False)
    console.print(f"wrote {out / 'physics.json'}", highlight=False)
    printer.finish()


def _run(
    printer: Printer, experiments: Callable[..., dict[str, Any]], json: Path | None, after_stop: str
) -> tuple[dict[str, Any], Console]:
    """Run experiments with a progress bar, write their results to --json, and return them.

    The console for tables is standard error if the results go to standard output.
    """
    from rich.console import Console

    from elmonet.paper.run import as_json
    from elmonet.progress import progress_bar
    from elmonet.store import write_bytes

    with progress_bar() as progress:
        try:
            results = experiments(progress)
        except KeyboardInterrupt:
            raise Stopped(f"Stopped. {after_stop}") from None
    to_stdout = str(json) == "-"
    if to_stdout:
        sys.stdout.write(as_json(results))
    elif json is not None:
        printer.save(lambda place: write_bytes(place, as_json(results).encode()), json)
    return results, Console(stderr=to_stdout)


def _print_table(table: Table, console: Console) -> None:
    """Print a table, as narrow as possible, with its notes below."""
    from rich import box
    from rich import table as rich_table

    columns = [rich_table.Column(name, overflow="fold") for name in table.columns]
    shown = rich_table.Table(*columns, title=table.title, title_justify="left", box=box.SIMPLE_HEAD)
    for row in table.rows:
        shown.add_row(*(cell.replace(", ", "\n") for cell in row))
    console.print(shown)
    for note in table.notes:
        console.print(note, style="dim", markup=False)


def demo(
    out: Annotated[Path, out_option("Folder of the page with the pictures.", "FOLDER")] = Path("results"),
    seconds: Annotated[float, option("Seconds of training for each DeepONet.", "SECONDS", min=0)] = 3.0,
    functions: Annotated[int, option("Training functions, and test functions.", "N", min=20)] = 1000,
    seed: Annotated[int, seed_option("Seed of the data and the networks.")] = 0,
) -> None:
    """Show what elmonet does, in about a minute: the paper's four problems in four ways.

    The four ways are the recipe as printed in the paper, our solver, the automatic choice, and a DeepONet
    trained for a few seconds. Prints a table, and writes index.html with pictures and for each problem an
    interactive page, on which you draw inputs and see the prediction. elmonet reproduce has all tables of
    the paper.

    **Examples**

    elmonet demo

    elmonet demo --functions 200 --seconds 1 -o small
    """
    from rich.console import Console

    from elmonet.paper.demo import demo as run
    from elmonet.paper.demo import demo_table, live_name, write_demo
    from elmonet.progress import progress_bar

    require_folder(out)
    without_windows()
    with progress_bar() as progress:
        found = run(seconds=seconds, functions=functions, seed=seed, progress=progress)
    console = Console()
    _print_table(demo_table(found), console)
    skipped = {shown.records["DeepONet"].get("skipped") for shown in found} - {None}
    for reason in skipped:
        console.print(f"DeepONet was not run: {reason}", style="dim", markup=False)
    printer = Printer()
    folder = printer.save(lambda place: write_demo(found, place), out).resolve()
    python, here = Path(sys.executable), Path.cwd()
    python = python.relative_to(here) if python.is_relative_to(here) else python
    typer.echo(f'With pictures: "{python}" -m webbrowser "{(folder / "index.html").as_uri()}"')
    live = (folder / live_name(found[0].data.name)).as_uri()
    typer.echo(f'Draw an input, and what was just trained follows: "{python}" -m webbrowser "{live}"')
    printer.finish()
