"""elmonet check."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from elmonet.checks import choice
from elmonet.cli import console
from elmonet.cli.fit import fit_functions, suspect_values
from elmonet.cli.paths import data_source, files_of
from elmonet.cli.plot import require_picture, save_picture, without_windows


def check(
    data: Annotated[
        list[Path],
        typer.Argument(
            help="A file of functions, or files with one run each; see elmonet fit.", metavar="DATA"
        ),
    ],
    input: console.InputName = None,
    output: console.OutputName = None,
    points: console.PointsName = None,
    sensors: console.SensorsName = None,
    index: console.IndexName = None,
    transpose: console.Transpose = False,
    max_size: console.MaxSize = None,
    table: console.RunTable = None,
    bad_runs: console.BadRuns = "raise",
    missing: Annotated[
        str, console.option("What to do with NaN in the outputs: raise or ignore.", "WORD")
    ] = "raise",
    picture: Annotated[
        Path | None, console.option("Picture to write: the residual of every pair.", "FILE")
    ] = None,
    seed: Annotated[int, console.seed_option("Seed of all random numbers.")] = 0,
    json: Annotated[
        bool,
        console.json_option("understood, functions, suspects (row, score, kind, reason), picture"),
    ] = False,
) -> None:
    """Find training pairs that contradict the rest: swapped, mislabelled, broken or noisy ones.

    A model is chosen automatically, without layers. Each pair is then compared with the prediction of a fit
    without this pair and without the most conspicuous other pairs. Rows are counted from 0. elmonet fit
    --without-suspects excludes these pairs from a fit.

    **Examples**

    elmonet check data.npz

    elmonet check data.npz --picture suspects.png
    """
    from elmonet import AutoELMDeepONet
    from elmonet.cli.inputs import read_functions
    from elmonet.plot import suspects
    from elmonet.progress import progress_bar

    source = data_source(data, table, bad_runs)
    choice(missing, "--missing", ("raise", "ignore"))
    if picture is not None:
        require_picture(picture, *files_of(source))
        without_windows()
    printer, options = console.Printer(json), console.read_options(locals())
    functions, _ = read_functions(printer, source, options)
    with progress_bar() as progress:
        model = AutoELMDeepONet(layers=0, missing=missing, progress=progress, random_state=seed)
        fit_functions(model, functions)
    found = model.suspects()
    printer.line(str(found))
    printer.value(functions=found.n, suspects=suspect_values(found))
    if picture is not None:
        axes = suspects(found)
        picture = printer.save(lambda place: save_picture(axes, place), picture)
        printer.value(picture=str(picture))
        printer.line(f"wrote {picture}")
    printer.finish()
