"""elmonet info, elmonet make and elmonet convert."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from elmonet.checks import choice
from elmonet.cli.console import (
    IndexName,
    InputName,
    MaxSize,
    OutputName,
    PointsName,
    SensorsName,
    Told,
    Transpose,
    error_facts,
    expected_error,
)
from elmonet.cli.inputs import flags, is_model, require_data, require_data_place, require_file, understood
from elmonet.errors import InputError
from elmonet.summary import percent

__all__ = ["convert", "info", "make"]

_PROBLEMS = ("antiderivative", "nonlinear_ode", "inverse_source", "burgers", "darcy", "darcy_two_valued")


def info(
    file: Annotated[Path, typer.Argument(help="A model, or a file of functions.", metavar="FILE")],
    input: InputName = None,
    output: OutputName = None,
    points: PointsName = None,
    sensors: SensorsName = None,
    index: IndexName = None,
    transpose: Transpose = False,
    max_size: MaxSize = None,
    json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Print one JSON object and nothing else: kind (model or data), path, bytes; for a model "
            "input_shape, inputs, output_shape, components, points, low, high, branch, trunk, "
            "expected_error, expected_error_interval, error_kind, residual, alpha, condition; for data "
            "format, arrays, skipped, roles, reasons, error.",
        ),
    ] = False,
) -> None:
    """Show what is in a model or in a file of functions, and what elmonet fit would take as what.

    **Examples**

    elmonet info data.npz

    elmonet info operator.elmonet

    elmonet info data.mat --input f_train --output u_train
    """
    require_file(file)
    told = Told(json)
    if is_model(file):
        _tell_model(told, file)
    else:
        _tell_data(told, file, flags(locals()))
    told.end()


def make(
    problem: Annotated[
        str,
        typer.Argument(
            help=f"One of {', '.join(_PROBLEMS)}.", metavar="PROBLEM", autocompletion=lambda: _PROBLEMS
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            help="File to write: npz, h5, zarr, mat, nc, or a folder of npy (a name without ending).",
            metavar="FILE",
        ),
    ],
    n_train: Annotated[int, typer.Option(min=1, help="Training functions.", metavar="N")] = 1000,
    n_test: Annotated[int, typer.Option(min=1, help="Test functions.", metavar="N")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random functions.", metavar="N")] = 0,
    noise: Annotated[
        float,
        typer.Option(min=0, help="Relative noise on the inputs; inverse_source only.", metavar="NUMBER"),
    ] = 0.0,
    json: Annotated[
        bool,
        typer.Option(
            "--json", help="Print one JSON object and nothing else: problem, n_train, n_test, arrays, wrote."
        ),
    ] = False,
) -> None:
    """Make data to try elmonet with: problems of the paper and of the field, solved accurately.

    **Examples**

    elmonet make antiderivative -o data.npz

    elmonet make darcy --n-train 200 --n-test 50 -o darcy.h5
    """
    name = choice(problem.replace("-", "_"), "problem", _PROBLEMS)
    if noise and name != "inverse_source":
        raise InputError(f"--noise is for inverse_source; {name} has no noise. Remove --noise.")
    require_data_place(out, table=False)
    from elmonet import problems
    from elmonet.data.write import write_data

    told = Told(json)
    settings: dict[str, Any] = {"noise": noise} if noise else {}
    data = getattr(problems, name)(n_train, n_test, seed=seed, **settings)
    arrays = data.to_arrays()
    write_data(out, arrays)
    told.fact(problem=name, n_train=n_train, n_test=n_test, arrays={k: v.shape for k, v in arrays.items()})
    told.fact(wrote=str(out))
    told.line(f"{data!r}\nwrote {out}")
    told.end()


def convert(
    source: Annotated[Path, typer.Argument(help="A file of functions.", metavar="SOURCE")],
    out: Annotated[
        Path,
        typer.Argument(
            help="File to write: npz, h5, zarr, mat, nc, csv, or a folder of npy (a name without ending).",
            metavar="OUT",
        ),
    ],
    input: InputName = None,
    output: OutputName = None,
    points: PointsName = None,
    sensors: SensorsName = None,
    index: IndexName = None,
    transpose: Transpose = False,
    max_size: MaxSize = None,
    json: Annotated[
        bool,
        typer.Option("--json", help="Print one JSON object and nothing else: understood, arrays, wrote."),
    ] = False,
) -> None:
    """Write the functions of a file to a file of another kind, with names that need no guess.

    **Examples**

    elmonet convert data.mat data.h5

    elmonet convert in.mat out.zarr --input f_train --output u_train
    """
    from elmonet.data.write import write_data

    require_data(source)
    require_data_place(out, source)
    told = Told(json)
    names = flags(locals())
    written = understood(told, source, names).to_arrays()
    write_data(out, written)
    told.fact(arrays={k: v.shape for k, v in written.items()}, wrote=str(out))
    told.line("wrote " + ", ".join(f"{name} {array.shape}" for name, array in written.items()) + f" to {out}")
    told.end()


def _tell_model(told: Told, file: Path) -> None:
    from elmonet import load

    model = load(file)
    layout, points = model.outputs_, model.outputs_.points
    low, high = points.min(axis=0), points.max(axis=0)
    inputs = (
        {"": model.input_shape_}
        if model.inputs_.names is None
        else dict(zip(model.inputs_.names, model.inputs_.shapes or (), strict=True))
    )
    shown = ", ".join(f"{n} (N, {', '.join(map(str, s))})".strip() for n, s in inputs.items())
    where = (
        f"at any point in {points.shape[1]}-D; predict needs --points"
        if model.outputs_.scattered
        else f"(N, {', '.join(map(str, layout.shape))}) at {len(points)} points in {points.shape[1]}-D, or "
        "at any other"
    )
    told.line(f"{file}: a model of elmonet, {file.stat().st_size / 1024:,.0f} KiB")
    told.line(f"  input functions: {shown}")
    told.line(f"  output functions: {where}")
    if layout.components:
        told.line(f"  components: {', '.join(layout.names) if layout.names else layout.components}")
    told.line(f"  points from {_place(low)} to {_place(high)}")
    told.fact(
        kind="model",
        path=str(file),
        bytes=file.stat().st_size,
        input_shape=model.input_shape_,
        inputs=None if model.inputs_.names is None else inputs,
        output_shape=None if model.outputs_.scattered else layout.shape,
        components=layout.names or layout.components,
        points=points.shape,
        low=low,
        high=high,
        **error_facts(model),
    )
    if hasattr(model, "layers_"):
        _tell_layers(told, model)
    else:
        _tell_network(told, model)


def _tell_layers(told: Told, model: Any) -> None:
    first = "nothing" if model.first_ is None else " ".join(str(model.first_.branch_).split())
    told.line(f"  layers: {len(model.layers_)}, from {first}; up to {model.layers_[-1]['features']} features")
    told.line(f"  periodic: {', '.join('yes' if around else 'no' for around in model.periodic_)}")
    told.line(f"  expected error: {expected_error(model)}")
    told.fact(layers=model.layers_, first=first, periodic=model.periodic_)


def _tell_network(told: Told, model: Any) -> None:
    solution = model.solution_
    told.line(f"  branch: {' '.join(str(model.branch_).split())}, {model.branch_.width_} features")
    told.line(f"  trunk: {' '.join(str(model.trunk_).split())}, {model.trunk_.width_} functions")
    told.line(f"  expected error: {expected_error(model)}")
    if solution.residual is not None:
        told.line(f"  error on the training functions: {percent(solution.residual)}")
    condition = "not known" if solution.condition is None else f"{solution.condition:.2g}"
    told.line(f"  ridge alpha: {solution.alpha:.2g}; condition: {condition} ({solution.method})")
    told.fact(
        branch=str(model.branch_),
        trunk=str(model.trunk_),
        residual=solution.residual,
        alpha=solution.alpha,
        condition=solution.condition,
    )


def _place(point: Any) -> str:
    shown = ", ".join(f"{x:.4g}" for x in point)
    return f"({shown})" if len(point) > 1 else shown


def _tell_data(told: Told, file: Path, names: dict[str, Any]) -> None:
    from elmonet.data.reading import describe_file

    found = describe_file(file, **names)
    if names and found["error"]:
        raise InputError(found["error"])
    told.line(f"{file}: {found['format']}, {found['bytes'] / 1024:,.0f} KiB")
    for array in found["arrays"]:
        span = "" if array["min"] is None else f", {array['min']:.4g} to {array['max']:.4g}"
        gaps = f", {array['nan']} NaN" if array["nan"] else ""
        told.line(f"  {array['name']} {tuple(array['shape'])} {array['dtype']}{span}{gaps}")
    if found["skipped"]:
        told.line(f"  not numbers, left out: {', '.join(found['skipped'])}")
    if found["error"]:
        told.line(found["error"])
    elif found["reasons"]:
        told.line("elmonet fit would take:")
        for reason in found["reasons"]:
            told.line(f"  {reason}")
    told.fact(kind="data", **found)
