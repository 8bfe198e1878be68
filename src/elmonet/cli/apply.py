"""elmonet export, elmonet invert and elmonet sensitivity: a fitted model at work elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from elmonet.cli import console
from elmonet.cli.paths import open_model, require_data, require_data_place, require_place
from elmonet.errors import InputError
from elmonet.summary import plural

_Points = Annotated[
    Path | None,
    console.option("Where the outputs are: an npy or csv file of points.", "FILE", "the training points"),
]


def export(
    model: console.ModelFile,
    out: Annotated[
        Path, console.out_option("File to write: .onnx, .c (with a header .h), .m, .fmu or .html.")
    ],
    points: _Points = None,
    single: Annotated[
        bool, typer.Option("--float32", help="ONNX with inputs and outputs in single precision.")
    ] = False,
    steps: Annotated[
        int | None, console.option("Length of records in time.", "N", "as in training", min=1)
    ] = None,
    test: Annotated[
        Path | None,
        console.option("Functions with known outputs that a page shows, with their errors.", "FILE", "none"),
    ] = None,
    title: Annotated[str | None, console.option("Heading of a page.", "TEXT", "name of the file")] = None,
    json: Annotated[bool, console.json_option("wrote, inputs, outputs")] = False,
) -> None:
    """Export a model for other programs: ONNX, C (also for Fortran), MATLAB, FMU, or an interactive page.

    The output points are fixed in the file, which does not need elmonet. A page (.html) is one file for any
    browser, on which you draw, paint or set inputs and see the prediction.

    **Examples**

    elmonet export operator.elmonet -o operator.onnx

    elmonet export operator.elmonet -o operator.c --points grid.npy

    elmonet export operator.elmonet -o operator.html --test known.npz --title "Heated body"
    """
    fitted = open_model(model)
    require_place(out, model)
    printer = console.Printer(json)
    where = _points(fitted, points, model)
    known = _known(fitted, test) if test is not None else {}
    dtype = "float32" if single else "float64"
    files = fitted.export(out, where, dtype=dtype, steps=steps, title=title, **known)
    description = fitted._fitted().description(where, steps)
    printer.value(wrote=[str(file) for file in files])
    for key, ports in (("inputs", description.inputs), ("outputs", description.outputs)):
        printer.value(**{key: {port.name: list(port.shape) for port in ports}})
        printer.line(f"{key}: {', '.join(f'{port.name!r} {port.shape}' for port in ports)}")
    printer.line(f"wrote {', '.join(map(str, files))}")
    printer.finish()


def _known(fitted: Any, path: Path) -> dict[str, Any]:
    """Return functions with known outputs from a file."""
    from elmonet.cli.inputs import read_inputs

    require_data(path)
    found = read_inputs(fitted, path)
    if found.truth is None:
        raise InputError(f"{path} holds no outputs to compare with. {found.why_no_truth}")
    return {"X": found.u, "y": found.truth}


def invert(
    model: console.ModelFile,
    data: Annotated[
        Path, typer.Argument(help="File of measurements of one output: npy, csv, npz, ...", metavar="DATA")
    ],
    noise: Annotated[float, console.option("Standard deviation of the measurements.", "NUMBER")],
    out: Annotated[
        Path | None,
        console.out_option("File for estimate, bands and samples: npz, h5, mat.", show_default="none"),
    ] = None,
    points: _Points = None,
    coverage: Annotated[float, console.option("Coverage of the bands.", "NUMBER")] = 0.9,
    samples: Annotated[int, console.option("Number of samples of the posterior.", "N", min=2)] = 1000,
    seed: Annotated[int, console.seed_option("Seed of the sampler.")] = 0,
    json: Annotated[
        bool,
        console.json_option("determined, directions, misfit, contradiction, r_hat, ess, undetermined, wrote"),
    ] = False,
) -> None:
    """Estimate the input that explains measurements of an output, with bands.

    The file holds one array, or one array for each measured component, by name. NaN marks values that were
    not measured.

    **Examples**

    elmonet invert operator.elmonet measured.npy --noise 0.02 -o posterior.npz

    elmonet invert operator.elmonet measured.csv --noise 0.02 --points where.csv
    """
    from elmonet.cli.inputs import real_numbers
    from elmonet.data.formats import open_arrays
    from elmonet.data.lazy import load
    from elmonet.data.write import write_data

    fitted = open_model(model)
    require_data(data)
    if out is not None:
        require_data_place(out, model, data, table=False)
    printer = console.Printer(json)
    with open_arrays(data) as arrays:
        found: dict[str, Any] = {name: real_numbers(load(array), name) for name, array in arrays.items()}
    names = fitted.outputs_.names
    if names is not None:
        measured: Any = {name: values for name, values in found.items() if name in names}
    elif len(found) == 1:
        measured = next(iter(found.values()))
    else:
        raise InputError(f"{str(data)!r} must hold one array of measurements; it holds {', '.join(found)}.")
    if names is None and np.ndim(measured) == 2 and 1 in np.shape(measured):
        measured = np.ravel(measured)
    where = _points(fitted, points, data)
    posterior = fitted.invert(measured, where, noise=noise, n_samples=samples, random_state=seed)
    printer.line(str(posterior))
    keys = ("determined", "directions", "misfit", "contradiction", "r_hat", "ess", "undetermined")
    printer.value(**{key: getattr(posterior, key) for key in keys})
    if out is not None:
        low, high = posterior.interval(coverage)
        parts = {"": posterior.estimate, "_low": low, "_high": high, "_samples": posterior.samples}
        result = {
            f"{name}{end}": np.atleast_1d(values)
            for end, part in parts.items()
            for name, values in (part if isinstance(part, dict) else {"u": part}).items()
        }
        out = printer.save(lambda place: write_data(place, result), out)
        printer.line(f"wrote {console.shapes_in_words(result)} to {out}")
    printer.value(wrote=None if out is None else str(out))
    printer.finish()


def sensitivity(
    model: console.ModelFile,
    points: _Points = None,
    n: Annotated[int, typer.Option("-n", min=64, help="Points of each sample.", metavar="N")] = 4096,
    directions: Annotated[
        int, console.option("Principal directions of functions that get their own indices.", "N", min=0)
    ] = 3,
    seed: Annotated[int, console.seed_option("Seed of the sample.")] = 0,
    json: Annotated[
        bool, console.json_option("first, total, low, high, surrogate_error, evaluations")
    ] = False,
) -> None:
    """Compute the sensitivity of the outputs to each input: Sobol indices with bands.

    Inputs vary like the training inputs, independently of each other.

    **Examples**

    elmonet sensitivity operator.elmonet

    elmonet sensitivity operator.elmonet -n 16384 --json
    """
    fitted = open_model(model)
    printer = console.Printer(json)
    found = fitted.sensitivity(
        points=_points(fitted, points, model), n=n, directions=directions, random_state=seed
    )
    printer.line(str(found))
    printer.line(f"({plural(found.evaluations, 'prediction')})")
    printer.value(first=found.first_overall, total=found.total_overall, low=found.low, high=found.high)
    printer.value(surrogate_error=found.surrogate_error, evaluations=found.evaluations)
    printer.finish()


def _points(fitted: Any, points: Path | None, beside: Path) -> np.ndarray | None:
    from elmonet.cli.inputs import points_from
    from elmonet.cli.paths import require_file

    if points is None:
        return None
    require_file(points)
    return points_from(fitted, str(points), beside, None)
