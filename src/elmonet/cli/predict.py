"""elmonet predict."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

from elmonet._check import InputError
from elmonet.cli.interval import Interval, band_asked, coverage_found, of_option, tell_coverage
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
from elmonet.summaries import percent

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
    interval: Interval = None,
    of: Annotated[str | None, of_option("points")] = None,
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
            "wrote; with --interval, coverage and of; if the file holds outputs, error and coverage_found.",
        ),
    ] = False,
) -> None:
    """Predict output functions for the input functions in a file.

    Writes the predictions s and their points; to csv and npy, the predictions alone. If the file has test
    functions, these are predicted. If it holds output functions too, the error is printed. With --interval,
    the ends of bands are written too, as s_low and s_high. If the outputs are known, it is printed how many
    of them lie inside.

    **Examples**

    elmonet predict operator.elmonet new.npz -o predictions.npz

    elmonet predict operator.elmonet new.npz -o predictions.h5 --points grid.npy

    elmonet predict operator.elmonet new.npz -o predictions.npz --interval 0.9 --of function
    """
    from elmonet.cli.inputs import points_from, read_inputs, training_functions
    from elmonet.data import Scattered
    from elmonet.data.write import write_data

    band = band_asked(interval, of, default="points")
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
    ends = None if band is None else fitted.interval(found.u, band.coverage, band.of, points=where)
    seconds = perf_counter() - begun
    arrays = _named(predicted)
    if ends is not None:
        arrays |= _named(ends[0], "_low") | _named(ends[1], "_high")
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
    known = found.truth is not None and points is None
    if known:
        error = relative_error(predicted, found.truth)
        if error is not None:
            told.fact(error=error)
            told.line(f"relative error against the file's own outputs: {percent(error)}")
    if band is not None and ends is not None:
        low, high = ends
        tell_coverage(told, band, coverage_found(low, high, found.truth) if known else None)
    told.end()


def _named(values: Any, more: str = "") -> dict[str, Any]:
    """Components by their names; a plain function is s."""
    return {f"{name}{more}": A for name, A in (values if isinstance(values, dict) else {"s": values}).items()}
