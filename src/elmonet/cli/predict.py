"""elmonet predict and elmonet suggest, and what predict and plot share: the band that is asked for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

from elmonet.checks import choice
from elmonet.cli import console
from elmonet.cli.paths import (
    TABLES,
    WRITTEN,
    data_source,
    existing,
    files_of,
    open_model,
    require_data,
    require_data_place,
)
from elmonet.data.field_files import FIELD_ENDINGS, require_field_place, write_fields
from elmonet.errors import InputError
from elmonet.summary import duration, percent, plural

_WITH_COORDINATES = (".nc", ".zarr")  # files that xarray opens, with names, units and coordinates
_COVERAGE = 0.9  # of the bands that are written beside fields on a mesh

Interval = Annotated[
    float | None, console.option("Also give bands with this coverage: 0.9 for 90 %.", "COVERAGE", "no bands")
]


def of_option(default: str) -> Any:
    """Return the option --of of a verb."""
    help = "What the coverage counts: points: single values; function: whole functions."
    return console.option(help, "WORD", default)


def predict(
    model: console.ModelFile,
    data: Annotated[
        list[Path],
        typer.Argument(help="File of input functions, or files with one run each.", metavar="DATA"),
    ],
    out: Annotated[
        Path,
        console.out_option(
            f"File of the predictions to write: {WRITTEN}, csv, npy; vtu or xdmf for one function on a "
            "mesh, a folder for several."
        ),
    ],
    points: Annotated[
        str | None,
        console.option(
            "Where to predict: an npy or csv file, or a name in DATA.", "FILE", "the training points"
        ),
    ] = None,
    interval: Interval = None,
    of: Annotated[str | None, of_option("points")] = None,
    input: console.InputName = None,
    output: console.OutputName = None,
    index: console.IndexName = None,
    transpose: console.Transpose = False,
    max_size: console.MaxSize = None,
    json: Annotated[
        bool,
        console.json_option(
            "functions, training_functions, shapes, seconds, wrote; with --interval, coverage and of; if the "
            "file holds outputs, error and coverage_found"
        ),
    ] = False,
) -> None:
    """Predict output functions for the input functions in a file.

    Writes the predictions and their points; to csv and npy, only the predictions. They are named like the
    outputs in the file that the model was fitted to, or s. For fields on a mesh, --out is a folder with one
    vtu file for each function (prediction, lower, upper and half_width of 90 % bands) and a pvd file that
    lists them for ParaView. If the file has test functions, only these are predicted. Records of
    different lengths are written as one list of values, each with the index of its record and its time in
    points. If the file also holds output functions, the error is printed. With --interval, the lower and
    upper bounds of the bands are written as s_low and s_high and, if the outputs are known, their coverage
    is printed.

    **Examples**

    elmonet predict operator.elmonet new.npz -o predictions.npz

    elmonet predict operator.elmonet new.npz -o predictions.h5 --points grid.npy

    elmonet predict operator.elmonet new.npz -o predictions.npz --interval 0.9 --of function
    """
    import numpy as np

    from elmonet.cli.inputs import (
        count_training_functions,
        name_in_file,
        points_from,
        read_inputs,
        record_times,
    )
    from elmonet.data import Scattered
    from elmonet.data.named import named_predictions
    from elmonet.data.write import write_data
    from elmonet.forms.components import relative_error

    band = band_asked(interval, of, default="points")
    fitted = open_model(model)
    source = data_source(data)
    on_mesh = out.suffix.lower() in FIELD_ENDINGS or (not out.suffix and fitted.labels_.mesh is not None)
    if on_mesh and points is None:
        require_field_place(out)
        band = band or Band(_COVERAGE, "points")
    elif on_mesh:
        raise InputError(
            "fields on a mesh are predicted at its own points: leave out --points, or write npz."
        )
    else:
        require_data_place(out, model, *files_of(source), *existing(points))
    if out.suffix.lower() == ".npy" and (band is not None or fitted.outputs_.names is not None):
        raise InputError(
            f"{str(out)!r} can hold one array, and there will be more: {'bands' if band else 'components'}. "
            f"Name it {str(out.with_suffix('.npz'))!r}."
        )
    printer = console.Printer(json)
    options = console.read_options(locals()) | {"points": None}  # here --points says where to predict
    inputs = read_inputs(fitted, source, **options)
    where = inputs.points if points is None else points_from(fitted, points, source, max_size)
    if where is None and fitted.outputs_.scattered:
        raise InputError(
            "the model was fitted to outputs at scattered points. Say where to predict: --points FILE, an "
            f"array (M, {fitted.outputs_.points.shape[1]}) with one point per row."
        )
    trained_on, remark = count_training_functions(fitted, inputs.u)
    printer.line(f"{source}: {inputs.description}{remark}")
    begun = perf_counter()
    predicted = fitted.predict(inputs.u, points=where)
    ends = None if band is None else fitted.interval(inputs.u, band.coverage, band.of, points=where)
    seconds = perf_counter() - begun
    truth = inputs.truth if points is None else None
    if isinstance(predicted, list):  # records of different lengths: each value with its record and time
        where = Scattered.of(predicted, [record_times(fitted, len(one)) for one in predicted])
        predicted, ends = np.concatenate(predicted), None if ends is None else [*map(np.concatenate, ends)]
        truth = truth if truth is None else replace(where, values=np.concatenate(truth))
    output_name = name_in_file(fitted, "output", "s")
    if on_mesh:
        assert band is not None
        _write_on_mesh(printer, fitted, inputs, predicted, ends, out, seconds, band)
        return
    arrays = {
        f"{name}{end}": array
        for end, values in zip(("", "_low", "_high"), (predicted, *(ends or ())), strict=False)
        for name, array in (values if isinstance(values, dict) else {output_name: values}).items()
    }
    shapes = {name: array.shape for name, array in arrays.items()}
    if isinstance(where, Scattered):
        arrays |= {"index": where.index, "points": where.points}
    elif out.suffix.lower() not in TABLES:
        arrays["points"] = fitted.outputs_.given_points if where is None else where
    note = None
    if out.suffix.lower() in _WITH_COORDINATES and not isinstance(where, Scattered):
        at = arrays.pop("points")
        arrays, note = named_predictions(fitted.labels_, at, arrays, ("_low", "_high"))
    out = printer.save(lambda place: write_data(place, arrays, note), out)
    printer.value(
        functions=inputs.count, training_functions=trained_on, shapes=shapes, seconds=seconds, wrote=str(out)
    )
    wrote = f"wrote {console.shapes_in_words(arrays)} to {out}"
    printer.line(f"{plural(inputs.count, 'function')} in {duration(seconds)}; {wrote}")
    error = None if truth is None else relative_error(predicted, truth, fitted.outputs_.given_volumes)
    if error is not None:
        printer.value(error=error)
        printer.line(f"relative error against the file's own outputs: {percent(error)}")
    if band is not None:
        printer.value(coverage=band.coverage, of=band.of)
        found = None if truth is None else coverages(ends, truth)
        if found is not None:
            what = {"points": "of all values", "function": "of whole functions"}[band.of]
            printer.value(coverage_found=found[band.of])
            printer.line(f"bands for {100 * band.coverage:g} % {what}: {100 * found[band.of]:.1f} % inside")
    printer.finish()


def _write_on_mesh(
    printer: console.Printer,
    fitted: Any,
    inputs: Any,
    predicted: Any,
    ends: Any,
    out: Path,
    seconds: float,
    band: Band,
) -> None:
    """Write predictions and bands as fields on the mesh of the model."""
    from elmonet.forms.components import relative_error

    parts = [each if isinstance(each, dict) else {"": each} for each in (predicted, *ends)]
    half: Any = {name: (parts[2][name] - parts[1][name]) / 2 for name in parts[0]}
    half = half if isinstance(predicted, dict) else half[""]
    values = {"": predicted, "_lower": ends[0], "_upper": ends[1], "_half_width": half}
    names: list[str] = []
    where = fitted.outputs_.given_points

    def write(place: Path) -> None:
        names.extend(write_fields(place, fitted.labels_, where, values))

    out = printer.save(write, out)
    listed = not out.suffix and (fitted.labels_.mesh is None or fitted.labels_.mesh.times is None)
    more = " and predictions.pvd" if listed else ""
    printer.line(
        f"{plural(inputs.count, 'function')} in {duration(seconds)}; wrote {plural(inputs.count, 'file')}"
        f"{more} to {out}: {', '.join(names)}; the bands hold {100 * band.coverage:g} %"
    )
    printer.value(functions=inputs.count, fields=names, seconds=seconds, wrote=str(out))
    truth, volumes = inputs.truth, fitted.outputs_.given_volumes
    error = None if truth is None else relative_error(predicted, truth, volumes)
    if error is not None:
        printer.value(error=error)
        printer.line(f"relative error against the file's own outputs: {percent(error)}")
    printer.finish()


@dataclass(frozen=True)
class Band:
    """The coverage asked for, of single values ("points") or of whole functions ("function")."""

    coverage: float
    of: str


def band_asked(interval: float | None, of: str | None, default: str) -> Band | None:
    """Return what --interval and --of ask for; None: no bands."""
    if of is not None:
        choice(of, "--of", ("points", "function"))
    if interval is None:
        if of is not None:
            raise InputError(f"--of {of} needs a coverage. Say also how often: --interval 0.9.")
        return None
    if not 0 < interval < 1:
        raise InputError(
            "--interval must be between 0 and 1, such as 0.9 for bands with a coverage of 90 %; got "
            f"{interval:g}."
        )
    return Band(interval, of or default)


def coverages(ends: Any, truth: Any) -> dict[str, float] | None:
    """Return the fraction of known values ("points") and of whole functions ("function") inside a band.

    The ends are as `interval` gives them; the truth is an array, a dictionary of components or a `Scattered`.
    None if the truth has other values or components, or none that is known.
    """
    import numpy as np

    low, high = ends
    if not isinstance(truth, dict):
        if isinstance(low, dict):
            low, high = (np.stack(list(end.values()), axis=-1) for end in (low, high))
        low, high, truth = {"": low}, {"": high}, {"": truth}
    if not isinstance(low, dict) or set(low) != set(truth):
        return None
    counts = [_count_known_and_outside(low[name], high[name], truth[name]) for name in truth]
    if any(count is None for count in counts):
        return None
    known, outside = np.sum(counts, axis=0)
    if not known.any():
        return None
    return {"points": 1 - outside.sum() / known.sum(), "function": float(np.mean(outside[known > 0] == 0))}


def _count_known_and_outside(low: Any, high: Any, truth: Any) -> Any:
    """Return for each function how many values are known, and how many of these are outside: (2, n)."""
    import numpy as np

    from elmonet.data import Scattered

    values: Any = truth.values if isinstance(truth, Scattered) else np.asarray(truth, float)
    if values.size != low.size:
        return None
    low, high = low.reshape(values.shape), high.reshape(values.shape)
    counts = [
        A.reshape(len(A), -1).sum(axis=1) for A in (np.isfinite(values), (values < low) | (values > high))
    ]
    return np.stack([np.bincount(truth.index, A) if isinstance(truth, Scattered) else A for A in counts])


def suggest(
    model: console.ModelFile,
    pool: Annotated[Path, typer.Argument(help="File of candidate input functions.", metavar="POOL")],
    n: Annotated[int, typer.Option("-n", min=1, help="How many to suggest.", metavar="N")] = 10,
    out: Annotated[
        Path | None,
        console.out_option(
            f"File of the suggested functions to write: {WRITTEN}; csv and npy, the indices alone.",
            show_default="none",
        ),
    ] = None,
    input: console.InputName = None,
    transpose: console.Transpose = False,
    max_size: console.MaxSize = None,
    json: Annotated[bool, console.json_option("candidates, training_functions, indices, wrote")] = False,
) -> None:
    """Suggest which input functions of a file to simulate next.

    Prints their row numbers, counted from 0. The first one gives the largest reduction of the uncertainty.
    If the file has test functions, only these are considered.

    **Examples**

    elmonet suggest operator.elmonet pool.npz -n 10

    elmonet suggest operator.elmonet pool.npz -n 10 -o next.npz
    """
    from elmonet.cli.inputs import count_training_functions, name_in_file, read_inputs
    from elmonet.data.write import write_data
    from elmonet.forms.inputs import rows_of

    fitted = open_model(model)
    require_data(pool)
    if out is not None:
        require_data_place(out, model, pool)
    printer = console.Printer(json)
    inputs = read_inputs(fitted, pool, **console.read_options(locals()))
    indices = fitted.suggest(inputs.u, n)
    trained_on, _ = count_training_functions(fitted, inputs.u)
    remark = f", {plural(trained_on, 'training function')} of the model among them" if trained_on else ""
    printer.line(f"{pool}: {inputs.description}{remark}")
    if out is not None:
        arrays = {"index": indices}
        if out.suffix.lower() not in TABLES:
            chosen = rows_of(inputs.u, indices)
            arrays |= chosen if isinstance(chosen, dict) else {name_in_file(fitted, "input", "u"): chosen}
        out = printer.save(lambda place: write_data(place, arrays), out)
        printer.line(f"wrote {console.shapes_in_words(arrays)} to {out}")
    printer.value(candidates=inputs.count, training_functions=trained_on, indices=indices)
    printer.value(wrote=None if out is None else str(out))
    printer.line(
        "simulate next (rows, counted from 0; the most useful first):\n" + "\n".join(map(str, indices))
    )
    printer.finish()
