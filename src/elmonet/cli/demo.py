"""elmonet demo: the paper's four problems in four ways, in about a minute."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from elmonet.cli.paths import require_folder
from elmonet.cli.picture import without_windows
from elmonet.cli.tables import show_table

__all__ = ["demo"]


def demo(
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder of the page with the pictures.", metavar="FOLDER")
    ] = Path("results"),
    seconds: Annotated[
        float, typer.Option(min=0, help="Seconds of training for each DeepONet.", metavar="SECONDS")
    ] = 3.0,
    functions: Annotated[
        int, typer.Option(min=20, help="Training functions, and test functions.", metavar="N")
    ] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the data and the networks.", metavar="N")] = 0,
) -> None:
    """Show what elmonet does, in about a minute: the paper's four problems in four ways.

    As the paper prints it, with our solver, chosen automatically, and a DeepONet trained for some seconds.
    Prints a table and writes index.html with pictures to the folder. For all tables of the paper: elmonet
    reproduce.

    **Examples**

    elmonet demo

    elmonet demo --functions 200 --seconds 1 -o small
    """
    from rich.console import Console

    from elmonet.paper.demo import demo as run
    from elmonet.paper.demo import demo_table
    from elmonet.paper.demo_page import write_demo
    from elmonet.progress import progress_bar

    require_folder(out)
    without_windows()
    with progress_bar() as progress:
        found = run(seconds=seconds, functions=functions, seed=seed, progress=progress)
    console = Console()
    show_table(demo_table(found), console)
    skipped = {shown.records["DeepONet"].get("skipped") for shown in found} - {None}
    for why in skipped:
        console.print(f"DeepONet was not run: {why}", style="dim", markup=False)
    page = write_demo(found, out).resolve()
    typer.echo(f'With pictures: "{_python()}" -m webbrowser "{page.as_uri()}"')


def _python() -> str:
    """How this Python is called from here."""
    here, python = Path.cwd(), Path(sys.executable)
    return str(python.relative_to(here) if python.is_relative_to(here) else python)
