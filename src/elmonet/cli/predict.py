"""elmonet predict."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer

from elmonet._check import InputError
from elmonet.cli.paths import open_model, require_data, require_data_place
from elmonet.cli.telling import (
    IndexName,
    InputName,
    MaxSize,
    OutputName,
    Told,
    Transpose,
)
from elmonet.cli.understanding import flags, relative_error

__all__ = ["predict"]


def predict(
    model: Annotated[Path, typer.Argument(help="File of a model, from elmonet fit.", metavar="MODEL")],
    data: Annotated[Path, typer.Argument(help="File of input functions.", metavar="DATA")],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            help="File of the predictions to write: npz, h5, zarr, mat, nc, csv, npy.",
            metavar="FILE",
        ),
    ],
    points: Annotated[
        str | None,
        typer.Option(
            help="Where to predict: an npy or csv file, or a name in DATA.",
            metavar="FILE",
            show_default="the training points",
        ),
    ] = None,
    input: InputName = None,
    output: OutputName = None,
    index: IndexName = None,
    transpose: Transpose = False,
    max_size: MaxSize = None,
    json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Print one JSON object and nothing else: functions, training_functions, shapes, seconds, "
            "wrote, and, if the file holds outputs, error.",
        ),
    ] = False,
) -> None:
    """Predict output functions for the input functions in a file.

    Writes the predictions s and their points; to csv and npy, the predictions alone. If the file has test
    functions, these are predicted. If it holds output functions too, the error is printed.

    **Examples**

    elmonet predict operator.elmonet new.npz -o predictions.npz

    elmonet predict operator.elmonet new.npz -o predictions.h5 --points grid.npy
    """
    from elmonet.cli.inputs import points_from, read_inputs, training_functions
    from elmonet.data import Scattered
    from elmonet.data.write import write_data

    fitted = open_model(model)
    require_data(data)
    require_data_place(out, model, data)
    told = Told(json)
    names = {
        **flags(locals()),
        "points": None,
    }  # here --points says where to predict
    found = read_inputs(fitted, data, **names)
    where = found.points if points is None else points_from(fitted, points, data, max_size)
    if where is None and fitted.outputs_.scattered:
        raise InputError(
            "the model was fitted to outputs at scattered points. Say where to predict: --points FILE, an "
            f"array (M, {fitted.outputs_.points.shape[1]}) with one point per row."
        )
    seen, about = training_functions(fitted, found.u)
    told.line(f"{data}: {found.told}{about}")
    begun = perf_counter()
    predicted = fitted.predict(found.u, points=where)
    seconds = perf_counter() - begun
    arrays = {**predicted} if isinstance(predicted, dict) else {"s": predicted}
    shapes = {name: array.shape for name, array in arrays.items()}
    if isinstance(where, Scattered):
        arrays |= {"index": where.index, "points": where.points}
    elif out.suffix.lower() not in (".npy", ".csv"):
        arrays["points"] = fitted.outputs_.points if where is None else where
    write_data(out, arrays)
    told.fact(
        functions=found.functions, training_functions=seen, shapes=shapes, seconds=seconds, wrote=str(out)
    )
    told.line(
        f"{found.functions} functions in {1e3 * seconds:.3g} ms; wrote "
        + ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        + f" to {out}"
    )
    if found.truth is not None and points is None:
        error = relative_error(predicted, found.truth)
        if error is not None:
            told.fact(error=error)
            told.line(f"relative error against the file's own outputs: {error:.3g}")
    told.end()
