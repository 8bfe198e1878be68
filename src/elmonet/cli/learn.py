"""elmonet fit and elmonet predict."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

from elmonet._check import InputError
from elmonet.cli.telling import InputName, Json, OutputName, PointsName, Stopped, Told, require_place

__all__ = ["fit", "predict"]


def fit(
    data: Annotated[Path, typer.Argument(help="A file of functions; elmonet info tells what is in it.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="File of the model.")],
    input: InputName = None,
    output: OutputName = None,
    points: PointsName = None,
    sensors: Annotated[str | None, typer.Option(help="Name of the sensors' places.")] = None,
    index: Annotated[
        str | None, typer.Option(help="Name of the integers that say which function a value belongs to.")
    ] = None,
    missing: Annotated[
        str, typer.Option(help="What NaN in the outputs means: raise an error, or ignore.")
    ] = "raise",
    time_budget: Annotated[
        float | None, typer.Option(min=0, help="Seconds after which nothing new is tried.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of all that is random.")] = 0,
    width: Annotated[
        int | None,
        typer.Option(
            min=1, help="Choose nothing: so many random features.", rich_help_panel="More than memory holds"
        ),
    ] = None,
    activation: Annotated[
        str | None,
        typer.Option(help="Their activation.", show_default="tanh", rich_help_panel="More than memory holds"),
    ] = None,
    scale: Annotated[
        float | None,
        typer.Option(help="Their scale.", show_default="0.5", rich_help_panel="More than memory holds"),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            help="Read in blocks and take no more than this, as 2GB.",
            rich_help_panel="More than memory holds",
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="File that is written now and then, and gone on from.",
            rich_help_panel="More than memory holds",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Threads.", show_default="cores", rich_help_panel="More than memory holds"),
    ] = None,
    json: Json = False,
) -> None:
    """Fit an operator to the functions in a file, and save it.

    Everything is chosen by leave-one-out. A file that memory cannot hold, and any for which one of the last
    options is given, is read in blocks, with random features of a given width; with a checkpoint, such a fit
    goes on where it was stopped or killed.

    **Examples**

    elmonet fit data.npz -o operator.elmonet

    elmonet fit data.mat -o operator.elmonet --input f_train --output u_train

    elmonet fit big.zarr -o operator.elmonet --memory 2GB --checkpoint fit.ckpt
    """
    from elmonet.memory import available

    require_place(out)
    told = Told(json)
    names = {
        "input": _name(input),
        "output": _name(output),
        "points": points,
        "sensors": sensors,
        "index": index,
    }
    blockwise = {"memory": memory, "checkpoint": checkpoint, "workers": workers}
    network = {"width": width, "activation": activation, "scale": scale}
    asked = any(value is not None for value in (*blockwise.values(), *network.values()))
    begun = perf_counter()
    if asked or _stored_bytes(data) > available() / 4:
        model = _fit_blocks(told, data, names, blockwise, network, seed)
    else:
        model = _fit_auto(told, data, names, missing, time_budget, seed)
    model.save(out)
    seconds = perf_counter() - begun
    told.fact(seconds=seconds, wrote=str(out))
    told.line(f"{seconds:.1f} s; wrote {out}")
    told.end()


def _fit_auto(
    told: Told, path: Path, names: dict[str, Any], missing: str, budget: float | None, seed: int
) -> Any:
    from elmonet import AutoELMDeepONet, read
    from elmonet.data.read import open_roles
    from elmonet.progress import progress_bar

    arrays, roles = open_roles(path, **names)
    arrays.close()
    told.line(f"{path}:")
    for reason in roles.reasons:
        told.line(f"  {reason}")
    data = read(path, **names)
    with progress_bar() as progress:
        try:
            model = AutoELMDeepONet(
                time_budget=budget, progress=progress, missing=missing, random_state=seed
            ).fit(data.u_train, _named_outputs(data, data.s_train), data.points)
        except KeyboardInterrupt:
            raise Stopped("Stopped. With --time-budget SECONDS, the search ends by itself.") from None
    told.line(model.summary())
    told.fact(
        understood=list(roles.reasons),
        summary=model.summary(),
        loo_error=model.loo_error_,
        leaderboard=model.leaderboard_,
    )
    if data.u_test is not None:
        error = test_error(model, data.u_test, _named_outputs(data, data.s_test), data.points)
        told.fact(test_error=error)
        told.line(f"Error on the file's test functions: {error:.3g}.")
    return model


def _fit_blocks(
    told: Told,
    path: Path,
    names: dict[str, Any],
    blockwise: dict[str, Any],
    network: dict[str, Any],
    seed: int,
) -> Any:
    from elmonet import SLFN, ELMDeepONet, Linear, fit_blocks
    from elmonet.data.stored import open_pairs
    from elmonet.progress import progress_bar

    u, s, points = open_pairs(path, **names)
    functions, inputs, outputs = u.shape[0], tuple(u.shape[1:]), tuple(s.shape[1:])
    told.line(f"{path}: {functions:,} functions, inputs {inputs}, outputs {outputs}")
    features = SLFN(network["width"] or 1000, network["activation"] or "tanh", network["scale"] or 0.5)
    model, begun = ELMDeepONet(Linear() + features, random_state=seed), perf_counter()
    with progress_bar() as progress:
        try:
            fit_blocks(model, u, s, points, progress=progress, **blockwise)
        except KeyboardInterrupt:
            checkpoint = blockwise["checkpoint"]
            there = checkpoint is not None and checkpoint.exists()
            raise Stopped("Stopped." + (" The same command goes on." if there else "")) from None
    solution, rate = model.solution_, functions / (perf_counter() - begun)
    told.line(
        f"leave-one-out error {solution.loo_error:.3g}, alpha {solution.alpha:.2g} ({solution.method}), "
        f"{rate:,.0f} functions a second"
    )
    told.fact(functions=functions, loo_error=solution.loo_error, alpha=solution.alpha, rate=rate)
    return model


def predict(
    model: Annotated[Path, typer.Argument(help="File of a model, from elmonet fit.")],
    data: Annotated[Path, typer.Argument(help="File of input functions.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="File of the predictions: npz, h5, zarr, mat, nc, csv, npy.")
    ],
    input: InputName = None,
    points: Annotated[
        str | None,
        typer.Option(help="Where to predict: a npy or csv file.", show_default="the points of the training"),
    ] = None,
    json: Json = False,
) -> None:
    """Predict output functions for the input functions in a file.

    Writes the predictions s and their points. If the file holds output functions too, their error is told.

    **Examples**

    elmonet predict operator.elmonet new.npz -o predictions.npz

    elmonet predict operator.elmonet new.npz -o predictions.h5 --points grid.npy
    """
    from elmonet import load
    from elmonet.cli.inputs import read_inputs
    from elmonet.data.write import write_data

    require_place(out)
    told = Told(json)
    fitted = load(model)
    found = read_inputs(fitted, data, _name(input), points)
    told.line(f"{data}: {found.told}")
    begun = perf_counter()
    predicted = fitted.predict(found.u, points=found.points)
    seconds = perf_counter() - begun
    arrays = {**predicted} if isinstance(predicted, dict) else {"s": predicted}
    places: Any = fitted._places_given if found.points is None else found.points
    if hasattr(places, "index"):
        arrays["index"], places = places.index, places.points
    write_data(out, arrays | ({} if out.suffix == ".npy" else {"points": places}))
    shapes = {name: array.shape for name, array in arrays.items()}
    told.fact(functions=found.functions, shapes=shapes, seconds=seconds, wrote=str(out))
    told.line(
        f"{found.functions} functions in {1e3 * seconds:.3g} ms; wrote "
        + ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        + f" to {out}"
    )
    if found.truth is not None:
        error = test_error(fitted, found.u, found.truth, found.points)
        told.fact(error=error)
        told.line(f"relative error against the file's own outputs: {error:.3g}")
    told.end()


def test_error(model: Any, u: Any, s: Any, points: Any) -> float:
    """The mean relative error of a model on functions with known outputs, in any shape."""
    import numpy as np

    from elmonet import relative_l2
    from elmonet.data import Scattered
    from elmonet.metrics import reference_norms

    if isinstance(s, Scattered):
        predicted, truth = model.predict(u, points=s), s.values
        assert truth is not None
        squares = [
            np.bincount(s.index, (A.reshape(len(A), -1) ** 2).sum(axis=1)) for A in (predicted - truth, truth)
        ]
        known = np.bincount(s.index) > 0
        missed, norms = (np.sqrt(A[known]) for A in squares)
        return float(np.mean(missed / reference_norms(norms)))
    predicted = model.predict(u, points=points)
    if isinstance(s, dict):
        return float(np.mean([relative_l2(predicted[name], s[name]) for name in s]))
    s = np.asarray(s, dtype=float)
    return relative_l2(np.where(np.isnan(s), 0, predicted.reshape(s.shape)), np.nan_to_num(s))


def _named_outputs(data: Any, s: Any) -> Any:
    """Outputs with named components as a dictionary."""
    if data.components is None or not hasattr(s, "shape"):
        return s
    return {name: s[..., i] for i, name in enumerate(data.components)}


def _name(names: list[str] | None) -> Any:
    return names[0] if names and len(names) == 1 else names or None


def _stored_bytes(path: Path) -> int:
    """The size of a file or folder that can be read in blocks; 0 of any other."""
    if not path.exists():
        raise InputError(f"there is no file or folder {str(path)!r}.")
    if path.suffix.lower() not in (".zarr", ".h5", ".hdf5", "", ".npy"):
        return 0
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())
