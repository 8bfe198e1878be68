"""elmonet reproduce: the paper's tables and figures, and those of physics."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from elmonet._check import InputError, choice
from elmonet.cli.paths import require_folder, require_place
from elmonet.cli.physics import PHYSICS, reproduce_physics
from elmonet.cli.tables import show_table
from elmonet.cli.telling import Stopped

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["reproduce"]


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
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder of results and report.", metavar="FOLDER")
    ] = Path("results"),
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in that folder.")] = False,
    json: Annotated[
        Path | None,
        typer.Option(
            "--json",
            help="Also write the numbers to this file; - prints them instead of tables.",
            metavar="FILE",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the data and the networks.", metavar="N")] = 0,
    seconds: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="At most so many seconds for each training.",
            metavar="SECONDS",
            show_default="12, full: none",
        ),
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(
            min=1, help="At most so many epochs for each training.", metavar="N", show_default="10000"
        ),
    ] = None,
    batch_size: Annotated[
        int | None,
        typer.Option(
            min=1, help="How many functions are in one step of training.", metavar="N", show_default="all"
        ),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(
            min=1, help="How many random draws to average.", metavar="N", show_default="1, full: 10"
        ),
    ] = None,
    functions: Annotated[
        int | None,
        typer.Option(
            min=2,
            help="Training functions, and test functions; of physics, training functions alone.",
            metavar="N",
            show_default="1000; physics: 2000 for advection",
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            help="Of physics, one problem: antiderivative, reaction, poisson, laplace, advection, burgers, "
            "stokes; repeat the option for several.",
            metavar="NAME",
            show_default="all",
        ),
    ] = None,
) -> None:
    """Measure the paper's tables and figures, each number beside the printed one.

    Writes results.json, report.html, report.md and figures/ to the folder; physics writes physics.json and
    figures/. Ctrl-C keeps what is finished.

    **Examples**

    elmonet reproduce

    elmonet reproduce antiderivative darcy --seconds 60

    elmonet reproduce --full --out results/full

    elmonet reproduce physics --only burgers
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
    chosen = [
        choice(name.replace("-", "_"), "experiment", (*EXPERIMENTS, PHYSICS))
        for name in experiments or EXPERIMENTS
    ]
    if json is not None and str(json) != "-":
        require_place(json)
    require_folder(out)
    if chosen == [PHYSICS]:
        paper = {f"--{name.replace('_', '-')}": value for name, value in given.items() if name != "functions"}
        paper |= {"--full": full, "--resume": resume}
        return reproduce_physics(
            only=only or [], functions=functions, seed=seed, out=out, json=json, meaningless=paper
        )
    if PHYSICS in chosen:
        raise InputError(
            "physics is a run of its own: elmonet reproduce physics. Name the other experiments in another "
            "command."
        )
    if only:
        raise InputError("--only is for elmonet reproduce physics. Name the experiments without it.")
    effort = replace(FULL if full else SHORT, **{k: v for k, v in given.items() if v is not None})  # type: ignore[arg-type]
    with progress_bar() as progress:
        try:
            results = run(chosen, effort=effort, out=out, resume=resume, seed=seed, progress=progress)
        except KeyboardInterrupt:
            raise Stopped(
                f"Stopped. What is finished is kept in {out}; the same command with --resume continues."
            ) from None
    if str(json) == "-":
        sys.stdout.write(as_json(results))
    elif json is not None:
        write_bytes(json, as_json(results).encode())
    _report(results, out, Console(stderr=str(json) == "-"))


def _report(results: dict[str, Any], out: Path, console: Console) -> None:
    from elmonet.paper import write_report
    from elmonet.paper.tables import tables, verdicts

    for table in (*tables(results), verdicts(results)):
        if table.rows:
            show_table(table, console)
    for page in write_report(results, out):
        console.print(f"wrote {page}", highlight=False)
