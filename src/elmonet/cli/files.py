"""elmonet info, elmonet make and elmonet convert."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from elmonet._check import FileError, InputError, choice
from elmonet.cli.telling import InputName, Json, OutputName, PointsName, Told

__all__ = ["convert", "info", "make"]

_PROBLEMS = ("antiderivative", "nonlinear_ode", "inverse_source", "darcy")


def info(
    file: Annotated[Path, typer.Argument(help="A model, or a file of functions.")],
    input: InputName = None,
    output: OutputName = None,
    points: PointsName = None,
    json: Json = False,
) -> None:
    """Tell what is in a model or in a file of functions.

    **Examples**

    elmonet info operator.elmonet

    elmonet info data.h5
    """
    if not file.exists():
        raise FileError(f"there is no file or folder {str(file)!r}.")
    told = Told(json)
    if _is_model(file):
        _tell_model(told, file)
    else:
        names = {"input": _names(input), "output": _names(output), "points": points}
        _tell_data(told, file, {key: value for key, value in names.items() if value is not None})
    told.end()


def make(
    problem: Annotated[str, typer.Argument(help=", ".join(_PROBLEMS))],
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write: npz, h5, zarr, mat, nc.")],
    n_train: Annotated[int, typer.Option(min=1, help="Training functions.")] = 1000,
    n_test: Annotated[int, typer.Option(min=1, help="Test functions.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Of the random functions.")] = 0,
    noise: Annotated[
        float, typer.Option(min=0, help="Relative noise on the inputs; inverse_source only.")
    ] = 0.0,
    json: Json = False,
) -> None:
    """Make one of the paper's problems, solved accurately, as a file.

    **Examples**

    elmonet make darcy --n-train 1000 -o darcy.h5
    """
    from elmonet import problems
    from elmonet.data.write import write_data

    name = choice(problem.replace("-", "_"), "problem", _PROBLEMS)
    if noise and name != "inverse_source":
        raise InputError("noise is for inverse_source; the other problems are made without.")
    told = Told(json)
    settings: dict[str, Any] = {"noise": noise} if noise else {}
    data = getattr(problems, name)(n_train, n_test, seed=seed, **settings)
    write_data(out, data.to_arrays())
    told.fact(problem=name, n_train=n_train, n_test=n_test, wrote=str(out))
    told.line(f"{data!r}\nwrote {out}")
    told.end()


def convert(
    source: Annotated[Path, typer.Argument(help="A file of functions.")],
    out: Annotated[
        Path, typer.Argument(help="File to write: npz, h5, zarr, mat, nc, csv, or a folder of npy.")
    ],
    input: InputName = None,
    output: OutputName = None,
    points: PointsName = None,
    json: Json = False,
) -> None:
    """Write the functions of a file to one of another kind, with names that need no guess.

    **Examples**

    elmonet convert in.mat out.zarr --input f_train --output u_train
    """
    from elmonet import read
    from elmonet.data.read import open_roles
    from elmonet.data.write import write_data

    told = Told(json)
    names = {"input": _names(input), "output": _names(output), "points": points}
    arrays, roles = open_roles(source, **names)
    arrays.close()
    told.line(f"{source}:")
    for reason in roles.reasons:
        told.line(f"  {reason}")
    written = read(source, **names).to_arrays()
    write_data(out, written)
    told.fact(understood=list(roles.reasons), wrote=str(out), arrays={k: v.shape for k, v in written.items()})
    told.line("wrote " + ", ".join(f"{name} {array.shape}" for name, array in written.items()) + f" to {out}")
    told.end()


def _is_model(file: Path) -> bool:
    """Whether a file is of safetensors, as models are: eight bytes of length, then JSON."""
    if file.is_dir():
        return False
    with file.open("rb") as opened:
        start = opened.read(9)
    return file.suffix == ".elmonet" or (len(start) == 9 and start[8:] == b"{" and start[7] == 0)


def _tell_model(told: Told, file: Path) -> None:
    from elmonet import load

    model = load(file)
    solution, layout = model.solution_, model._layout
    points = model._places_given
    inputs = (
        f"(N, {', '.join(map(str, model.input_shape_))})"
        if model._inputs is None
        else ", ".join(
            f"{n} (N, {', '.join(map(str, s))})"
            for n, s in zip(model._inputs.names, model._inputs.shapes, strict=True)
        )
    )
    where = (
        f"at any point in {points.shape[1]}-D"
        if model._needs_points
        else f"(N, {', '.join(map(str, layout.shape))}) at {len(points)} points in {points.shape[1]}-D, or "
        "at any other"
    )
    told.line(f"{file}: a model of elmonet, {file.stat().st_size / 1024:,.0f} KiB")
    told.line(f"  input functions: {inputs}")
    told.line(f"  output functions: {where}")
    if layout.components:
        told.line(f"  components: {', '.join(layout.names) if layout.names else layout.components}")
    told.line(f"  points from {points.min(axis=0).tolist()} to {points.max(axis=0).tolist()}")
    told.line(f"  branch: {' '.join(str(model.branch_).split())}, {model.branch_.width_} features")
    told.line(f"  trunk: {' '.join(str(model.trunk_).split())}, {model.trunk_.width_} functions")
    told.line(
        f"  leave-one-out error {solution.loo_error:.3g}, residual {solution.residual:.3g}, alpha "
        f"{solution.alpha:.2g}, condition {solution.condition:.2g} ({solution.method})"
    )
    told.fact(
        kind="model",
        input_shape=list(model.input_shape_),
        output_shape=list(layout.shape),
        points=list(points.shape),
        branch=str(model.branch_),
        trunk=str(model.trunk_),
        loo_error=solution.loo_error,
        residual=solution.residual,
        alpha=solution.alpha,
    )


def _tell_data(told: Told, file: Path, names: dict[str, Any]) -> None:
    from elmonet.data.describe import describe_file

    found = describe_file(file, **names)
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


def _names(names: list[str] | None) -> Any:
    return names[0] if names and len(names) == 1 else names or None
