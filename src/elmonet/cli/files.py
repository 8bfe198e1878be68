"""elmonet info, elmonet make and elmonet convert."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from elmonet.checks import choice
from elmonet.cli.console import (
    BadRuns,
    IndexName,
    InputName,
    MaxSize,
    OutputName,
    PointsName,
    Printer,
    RunTable,
    SensorsName,
    Transpose,
    error_in_words,
    error_values,
    json_option,
    out_option,
    read_options,
    seed_option,
    shapes_in_words,
)
from elmonet.cli.paths import WRITTEN, data_source, existing, files_of, is_model, require_data_place
from elmonet.data.field_files import FIELD_ENDINGS, require_field_place, write_fields
from elmonet.data.run_files import Runs
from elmonet.errors import InputError
from elmonet.summary import percent, plural, rounded

_PROBLEMS = ("antiderivative", "nonlinear_ode", "inverse_source", "burgers", "darcy", "darcy_two_valued")


def info(
    file: Annotated[
        list[Path],
        typer.Argument(
            help="A model, a file of functions, or files with one run each; see elmonet fit.", metavar="FILE"
        ),
    ],
    input: InputName = None,
    output: OutputName = None,
    points: PointsName = None,
    sensors: SensorsName = None,
    index: IndexName = None,
    transpose: Transpose = False,
    max_size: MaxSize = None,
    table: RunTable = None,
    bad_runs: BadRuns = "raise",
    json: Annotated[
        bool,
        json_option(
            "kind (model or data), path, bytes; for a model input_shape, inputs, output_shape, components, "
            "points, low, high, file_names, branch, trunk, residual, alpha, condition, expected_error, "
            "expected_error_interval, error_quantiles (median, 95 %), error_kind; for data format, arrays, "
            "skipped, roles, reasons, error"
        ),
    ] = False,
) -> None:
    """Show the contents of a model or of a file of functions, and how elmonet fit would use it.

    The exit code is 1 if the roles of the arrays cannot be determined.

    **Examples**

    elmonet info data.npz

    elmonet info operator.elmonet

    elmonet info data.mat --input f_train --output u_train
    """
    printer, options = Printer(json), read_options(locals())
    if len(file) == 1 and file[0].is_file() and is_model(file[0]):
        if options:
            raise InputError(f"{str(file[0])!r} is a model; --input and the like are for files of functions.")
        _print_model(printer, file[0])
        printer.finish()
    else:
        _print_data(printer, data_source(file, table, bad_runs), options)


def _print_model(printer: Printer, file: Path) -> None:
    from elmonet import load
    from elmonet.cli.inputs import name_in_file

    model = load(file)
    inputs, outputs, points = model.inputs_, model.outputs_, model.outputs_.points
    low, high = points.min(axis=0), points.max(axis=0)
    shapes = {name_in_file(model, "input", ""): model.input_shape_}
    if inputs.names is not None:
        shapes = dict(zip(inputs.names, inputs.shapes or (), strict=True))
    taken = ", ".join(f"{name} {_batch(shape)}".strip() for name, shape in shapes.items())
    d = points.shape[1]
    if outputs.scattered:
        given = f"at any point in {d}-D; predict needs --points"
    else:
        name, count = name_in_file(model, "output", ""), plural(len(points), "point")
        given = f"{name} {_batch(outputs.shape)} at {count} in {d}-D, or at any other".lstrip()
    size = file.stat().st_size
    printer.line(f"{file}: elmonet model, {size / 1024:,.0f} KiB")
    printer.line(f"  input functions: {taken}")
    printer.line(f"  output functions: {given}")
    if outputs.components:
        printer.line(f"  components: {', '.join(outputs.names) if outputs.names else outputs.components}")
    printer.line(f"  points from {_point(low)} to {_point(high)}")
    printer.value(
        kind="model",
        path=str(file),
        bytes=size,
        input_shape=model.input_shape_,
        inputs=None if inputs.names is None else shapes,
        output_shape=None if outputs.scattered else outputs.shape,
        components=outputs.names or outputs.components,
        points=points.shape,
        low=low,
        high=high,
        file_names=model.file_names_,
        **error_values(model),
    )
    if hasattr(model, "layers_"):
        _print_layers(printer, model)
    elif hasattr(model, "step_"):
        _print_step(printer, model)
    else:
        _print_network(printer, model)


def _batch(shape: tuple[int, ...]) -> str:
    return f"(N, {', '.join(map(str, shape))})"


def _point(point: Any) -> str:
    numbers = ", ".join(f"{x:.4g}" for x in point)
    return f"({numbers})" if len(point) > 1 else numbers


def _print_layers(printer: Printer, model: Any) -> None:
    first = "nothing" if model.first_ is None else " ".join(str(model.first_.branch_).split())
    widest = f"; up to {plural(model.layers_[-1]['features'], 'feature')}" if model.layers_ else ""
    printer.line(f"  layers: {len(model.layers_)}, from {first}{widest}")
    printer.line(f"  periodic: {', '.join('yes' if around else 'no' for around in model.periodic_)}")
    printer.line(f"  expected error: {error_in_words(model)}")
    printer.value(layers=model.layers_, first=first, periodic=model.periodic_)


def _print_step(printer: Printer, model: Any) -> None:
    printer.line(f"  step in time, {rounded(model.time_step_, 4)} apart, {model.step_}")
    printer.line(f"  expected error: {error_in_words(model)}")
    printer.value(step=model.step_, time_step=model.time_step_)


def _print_network(printer: Printer, model: Any) -> None:
    solution = model.solution_
    printer.line(
        f"  branch: {' '.join(str(model.branch_).split())}, {plural(model.branch_.width_, 'feature')}"
    )
    printer.line(f"  trunk: {' '.join(str(model.trunk_).split())}, {plural(model.trunk_.width_, 'function')}")
    printer.line(f"  expected error: {error_in_words(model)}")
    if solution.residual is not None:
        printer.line(f"  error on the training functions: {percent(solution.residual)}")
    condition = "not known" if solution.condition is None else rounded(solution.condition, 2)
    printer.line(f"  ridge alpha: {rounded(solution.alpha, 2)}; condition: {condition} ({solution.method})")
    printer.value(
        branch=str(model.branch_),
        trunk=str(model.trunk_),
        residual=solution.residual,
        alpha=solution.alpha,
        condition=solution.condition,
    )


def _print_data(printer: Printer, file: Path | Runs, options: dict[str, Any]) -> None:
    from elmonet.data.reading import describe_file

    found = describe_file(file, **options)
    if options and found["error"]:
        raise InputError(found["error"])
    printer.line(f"{file}: {found['format']}, {found['bytes'] / 1024:,.0f} KiB")
    for array in found["arrays"]:
        span = "" if array["min"] is None else f", {array['min']:.4g} to {array['max']:.4g}"
        gaps = f", {array['nan']} NaN" if array["nan"] else ""
        printer.line(f"  {array['name']} {tuple(array['shape'])} {array['dtype']}{span}{gaps}")
    if found["skipped"]:
        printer.line(f"  not numbers, left out: {', '.join(found['skipped'])}")
    if found["reasons"]:
        printer.line("\n".join(["elmonet fit would take:", *(f"  {reason}" for reason in found["reasons"])]))
    printer.value(kind="data", **found)
    printer.finish()
    if found["error"]:  # after what is in the file
        raise InputError(found["error"])


def make(
    problem: Annotated[
        str,
        typer.Argument(
            help=f"One of {', '.join(_PROBLEMS)}.", metavar="PROBLEM", autocompletion=lambda: _PROBLEMS
        ),
    ],
    out: Annotated[
        Path, out_option(f"File to write: {WRITTEN}, or a folder of npy (a name without ending).")
    ],
    n_train: Annotated[int, typer.Option(min=1, help="Training functions.", metavar="N")] = 1000,
    n_test: Annotated[int, typer.Option(min=1, help="Test functions.", metavar="N")] = 1000,
    seed: Annotated[int, seed_option("Seed of the random functions.")] = 0,
    noise: Annotated[
        float,
        typer.Option(min=0, help="Relative noise on the inputs; inverse_source only.", metavar="NUMBER"),
    ] = 0.0,
    json: Annotated[bool, json_option("problem, n_train, n_test, arrays, wrote")] = False,
) -> None:
    """Generate example data: problems of the paper and of the field, solved accurately.

    **Examples**

    elmonet make antiderivative -o data.npz

    elmonet make darcy --n-train 200 --n-test 50 -o darcy.h5
    """
    from elmonet import problems
    from elmonet.data.write import write_data

    name = choice(problem.replace("-", "_"), "problem", _PROBLEMS)
    if noise and name != "inverse_source":
        raise InputError(f"--noise is for inverse_source; {name} has no noise. Remove --noise.")
    require_data_place(out, table=False)
    printer = Printer(json)
    settings: dict[str, Any] = {"noise": noise} if noise else {}
    data = getattr(problems, name)(n_train, n_test, seed=seed, **settings)
    arrays = data.to_arrays()
    out = printer.save(lambda place: write_data(place, arrays), out)
    shapes = {name: array.shape for name, array in arrays.items()}
    printer.value(problem=name, n_train=n_train, n_test=n_test, arrays=shapes, wrote=str(out))
    printer.line(f"{data!r}\nwrote {out}")
    printer.finish()


def convert(
    source: Annotated[
        list[Path],
        typer.Argument(
            help="A file of functions, or files with one run each; see elmonet fit.", metavar="SOURCE"
        ),
    ],
    out: Annotated[
        Path,
        typer.Argument(
            help=f"File to write: {WRITTEN}, csv, parquet; vtu or xdmf for one function on a mesh; a name "
            "without ending for a folder of vtu files if there is a mesh, else of npy.",
            metavar="OUT",
        ),
    ],
    long: Annotated[
        bool, typer.Option("--long", help="For csv and parquet: a row for each value, not for each function.")
    ] = False,
    input: InputName = None,
    output: OutputName = None,
    points: PointsName = None,
    sensors: SensorsName = None,
    index: IndexName = None,
    transpose: Transpose = False,
    max_size: MaxSize = None,
    table: RunTable = None,
    bad_runs: BadRuns = "raise",
    json: Annotated[bool, json_option("understood, arrays, wrote")] = False,
) -> None:
    """Convert one or more files of functions to a file of another format.

    Names and units are kept. A note in the file records the role of each array, so that it is read back
    unchanged.

    **Examples**

    elmonet convert data.mat data.h5

    elmonet convert in.mat out.zarr --input f_train --output u_train

    elmonet convert design.csv "runs/*.vtu" all.h5
    """
    from elmonet.cli.inputs import read_functions
    from elmonet.data.named import named_arrays
    from elmonet.data.write import write_data

    given = data_source(source, table, bad_runs)
    if out.suffix.lower() in FIELD_ENDINGS:
        require_field_place(out)
    else:
        require_data_place(out, *files_of(given), *existing(points, sensors))
    if long and out.suffix.lower() not in (".csv", ".parquet"):
        raise InputError("--long is for tables: write csv or parquet.")
    printer = Printer(json)
    data, _ = read_functions(printer, given, read_options(locals()))
    if out.suffix.lower() in FIELD_ENDINGS or (not out.suffix and data.mesh is not None):
        _write_runs(printer, data, out)
        return
    arrays, note = named_arrays(data, long=long)
    out = printer.save(lambda place: write_data(place, arrays, note), out)
    printer.value(arrays={name: array.shape for name, array in arrays.items()}, wrote=str(out))
    printer.line(f"wrote {shapes_in_words(arrays)} to {out}")
    printer.finish()


def _write_runs(printer: Printer, data: Any, out: Path) -> None:
    """Write output functions as fields on their mesh, and the numbers that are their inputs as a table."""
    import numpy as np

    from elmonet.data.lazy import load

    if data.u_test is not None or isinstance(data.s_train, list) or data.points is None:
        raise InputError("fields on a mesh are one set of functions at common points. Write npz, h5 or nc.")
    u = data.u_train if isinstance(data.u_train, dict) else {data.input or "u": data.u_train}
    table = {name: load(part) for name, part in u.items() if np.ndim(part) <= 2}
    values = {"": load(data.s_train)}
    names: list[str] = []

    def write(place: Path) -> None:
        names.extend(write_fields(place, data.labels, data.points, values, table))

    out = printer.save(write, out)
    printer.value(fields=names, wrote=str(out))
    printer.line(f"wrote {plural(len(data.s_train), 'function')}, {', '.join(names)}, to {out}")
    printer.finish()
