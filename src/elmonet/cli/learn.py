"""elmonet fit and elmonet predict."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

from elmonet._check import InputError, choice, number
from elmonet.cli.paths import open_model, require_data, require_data_place, require_place
from elmonet.cli.telling import (
    IndexName,
    InputName,
    OutputName,
    PointsName,
    SensorsName,
    Stopped,
    Told,
    one_or_more,
)

__all__ = ["fit", "named_outputs", "predict", "relative_error"]

_BLOCKS = "In blocks: more than memory holds"
_NETWORK = "Random features, nothing chosen"


def fit(
    data: Annotated[
        Path,
        typer.Argument(help="A file of functions; elmonet info tells what is in it.", metavar="DATA"),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="File of the model to write.", metavar="FILE")],
    input: InputName = None,
    output: OutputName = None,
    points: PointsName = None,
    sensors: SensorsName = None,
    index: IndexName = None,
    missing: Annotated[
        str, typer.Option(help="What to do with NaN in the outputs: raise or ignore.", metavar="WORD")
    ] = "raise",
    time_budget: Annotated[
        float | None,
        typer.Option(min=0, help="Seconds after which nothing new is tried.", metavar="SECONDS"),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of all that is random.", metavar="N")] = 0,
    width: Annotated[
        int | None,
        typer.Option(
            min=1, help="Random features.", metavar="N", show_default="1000", rich_help_panel=_NETWORK
        ),
    ] = None,
    activation: Annotated[
        str | None,
        typer.Option(help="Their activation.", metavar="WORD", show_default="tanh", rich_help_panel=_NETWORK),
    ] = None,
    scale: Annotated[
        float | None,
        typer.Option(
            min=0, help="Their scale.", metavar="NUMBER", show_default="0.5", rich_help_panel=_NETWORK
        ),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            help="Take no more than this, as 2GB.",
            metavar="SIZE",
            show_default="half of what is free",
            rich_help_panel=_BLOCKS,
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="File that is written now and then, and gone on from.",
            metavar="FILE",
            rich_help_panel=_BLOCKS,
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Threads.", metavar="N", show_default="cores", rich_help_panel=_BLOCKS),
    ] = None,
    json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Print one JSON object and nothing else: understood, summary, loo_error, leaderboard, "
            "test_error; with a width understood, loo_error, alpha, test_error; in blocks understood, "
            "functions, loo_error, alpha, rate; seconds, wrote.",
        ),
    ] = False,
) -> None:
    """Fit an operator to the functions in a file, and save it.

    Everything is chosen by leave-one-out. With a width, activation or scale, the features are random, as
    given, and nothing is chosen but the ridge. So it is too for a file that memory cannot hold, and with
    --memory, --checkpoint or --workers: these are read in blocks. With a checkpoint, such a fit goes on where
    it was stopped or killed.

    **Examples**

    elmonet fit data.npz -o operator.elmonet

    elmonet fit data.mat -o operator.elmonet --input f_train --output u_train

    elmonet fit big.zarr -o operator.elmonet --memory 2GB --checkpoint fit.ckpt
    """
    from elmonet import SLFN, ELMDeepONet, Linear
    from elmonet.memory import available, bytes_of

    require_data(data)
    require_place(out, data, model=True)
    choice(missing, "--missing", ("raise", "ignore"))
    if time_budget is not None:
        number(time_budget, "--time-budget", strict=True)
    if scale is not None:
        number(scale, "--scale", strict=True)
    if memory is not None:
        bytes_of(memory)
    if checkpoint is not None:
        require_place(checkpoint, data)
    told = Told(json)
    names = {
        "input": one_or_more(input),
        "output": one_or_more(output),
        "points": points,
        "sensors": sensors,
        "index": index,
    }
    blockwise = {"memory": memory, "checkpoint": checkpoint, "workers": workers}
    asked = [f"--{name}" for name, value in blockwise.items() if value is not None]
    features = SLFN(width or 1000, activation or "tanh", scale or 0.5)
    begun = perf_counter()
    if asked or _stored_bytes(data) > available() / 4:
        _require_blocks(asked, missing, time_budget)
        model = _fit_blocks(told, data, names, blockwise, features, seed)
    elif any(value is not None for value in (width, activation, scale)):
        _require_no_search(time_budget, "with --width, --activation or --scale")
        model = _fit_in_memory(
            told, data, names, missing, ELMDeepONet(Linear() + features, missing=missing, random_state=seed)
        )
    else:
        model = _fit_auto(told, data, names, missing, time_budget, seed)
    model.save(out)
    if checkpoint is not None:
        checkpoint.unlink(missing_ok=True)
    seconds = perf_counter() - begun
    told.fact(seconds=seconds, wrote=str(out))
    told.line(f"{seconds:.1f} s; wrote {out}")
    told.end()


def _require_blocks(asked: list[str], missing: str, budget: float | None) -> None:
    """Raise if an option was given that a fit in blocks does not know."""
    because = f"with {asked[0]}" if asked else "because memory cannot hold them"
    if missing == "ignore":
        raise InputError(
            f"the functions are read in blocks, {because}, and there every value must be known: --missing "
            "ignore needs a fit in memory. Leave out the functions with NaN."
        )
    _require_no_search(budget, because)


def _require_no_search(budget: float | None, because: str) -> None:
    if budget is not None:
        raise InputError(
            f"--time-budget limits a search, and there is none {because}: nothing is chosen but the ridge. "
            "Leave one of them out."
        )


def _understood(told: Told, path: Path, names: dict[str, Any]) -> Any:
    """Tell what is taken as what; the roles."""
    from elmonet.data.read import open_roles

    arrays, roles = open_roles(path, **names)
    arrays.close()
    told.line(f"{path}:")
    for reason in roles.reasons:
        told.line(f"  {reason}")
    told.fact(understood=list(roles.reasons))
    return roles


def _fit_auto(
    told: Told, path: Path, names: dict[str, Any], missing: str, budget: float | None, seed: int
) -> Any:
    from elmonet import AutoELMDeepONet
    from elmonet.progress import progress_bar

    with progress_bar() as progress:
        search = AutoELMDeepONet(time_budget=budget, progress=progress, missing=missing, random_state=seed)
        try:
            return _fit_in_memory(told, path, names, missing, search)
        except KeyboardInterrupt:
            raise Stopped("Stopped. With --time-budget SECONDS, the search ends by itself.") from None


def _fit_in_memory(told: Told, path: Path, names: dict[str, Any], missing: str, model: Any) -> Any:
    """Fit a model to everything in a file, and tell what came of it."""
    from elmonet import read
    from elmonet.cli.usable import require_usable
    from elmonet.data import Scattered

    _understood(told, path, names)
    data = read(path, **names)
    require_usable(data, missing)
    model.fit(data.u_train, named_outputs(data, data.s_train), data.points)
    if hasattr(model, "summary"):
        told.line(model.summary())
        told.fact(summary=model.summary(), loo_error=model.loo_error_, leaderboard=model.leaderboard_)
    else:
        _tell_solution(told, model)
    if data.u_test is not None:
        truth = named_outputs(data, data.s_test)
        where = truth if isinstance(truth, Scattered) else data.points
        error = relative_error(model.predict(data.u_test, points=where), truth)
        if error is not None:
            told.fact(test_error=error)
            told.line(f"Error on the file's test functions: {error:.3g}.")
    return model


def _fit_blocks(
    told: Told,
    path: Path,
    names: dict[str, Any],
    blockwise: dict[str, Any],
    features: Any,
    seed: int,
) -> Any:
    from elmonet import ELMDeepONet, Linear, fit_blocks
    from elmonet.data.stored import open_pairs
    from elmonet.progress import progress_bar

    roles = _understood(told, path, names)
    if roles.scattered or isinstance(roles.u_train, dict):
        what = "values that each have a point of their own" if roles.scattered else "several input functions"
        raise InputError(
            f"{what} are fitted in memory, not in blocks: leave out --memory, --checkpoint and --workers, "
            "and give fewer functions if memory cannot hold them."
        )
    u, s, points = open_pairs(path, **names)
    functions, inputs, M = u.shape[0], tuple(u.shape[1:]), s.shape[1]
    components = f" with {s.shape[2]} components" if len(s.shape) > 2 else ""
    told.line(f"{functions:,} functions, inputs {inputs}, outputs at {M} points{components}")
    model, begun = ELMDeepONet(Linear() + features, random_state=seed), perf_counter()
    with progress_bar() as progress:
        try:
            fit_blocks(model, u, s, points, progress=progress, keep_checkpoint=True, **blockwise)
        except KeyboardInterrupt:
            checkpoint = blockwise["checkpoint"]
            there = checkpoint is not None and checkpoint.exists()
            raise Stopped("Stopped." + (" The same command goes on." if there else "")) from None
    rate = functions / (perf_counter() - begun)
    _tell_solution(told, model, f", {rate:,.0f} functions a second")
    told.fact(functions=functions, rate=rate)
    return model


def _tell_solution(told: Told, model: Any, more: str = "") -> None:
    solution = model.solution_
    told.line(
        f"leave-one-out error {solution.loo_error:.3g}, alpha {solution.alpha:.2g} ({solution.method}){more}"
    )
    told.fact(loo_error=solution.loo_error, alpha=solution.alpha)


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
            help="Where to predict: a npy or csv file, or a name in DATA.",
            metavar="FILE",
            show_default="the points of the training",
        ),
    ] = None,
    input: InputName = None,
    output: OutputName = None,
    index: IndexName = None,
    json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Print one JSON object and nothing else: functions, shapes, seconds, wrote, and, if the "
            "file holds outputs, error.",
        ),
    ] = False,
) -> None:
    """Predict output functions for the input functions in a file.

    Writes the predictions s and their points; to csv and npy, the predictions alone. Of a file with test
    functions, these are predicted. If the file holds output functions too, their error is told.

    **Examples**

    elmonet predict operator.elmonet new.npz -o predictions.npz

    elmonet predict operator.elmonet new.npz -o predictions.h5 --points grid.npy
    """
    from elmonet.cli.inputs import points_from, read_inputs
    from elmonet.data import Scattered
    from elmonet.data.write import write_data

    fitted = open_model(model)
    require_data(data)
    require_data_place(out, model, data)
    told = Told(json)
    found = read_inputs(fitted, data, input=one_or_more(input), output=one_or_more(output), index=index)
    where = found.points if points is None else points_from(fitted, points, data)
    if where is None and fitted._needs_points:
        raise InputError(
            "the model was fitted to outputs at scattered points. Say where to predict: --points FILE, an "
            f"array (M, {fitted._places_given.shape[1]}) with one point a row."
        )
    told.line(f"{data}: {found.told}")
    begun = perf_counter()
    predicted = fitted.predict(found.u, points=where)
    seconds = perf_counter() - begun
    arrays = {**predicted} if isinstance(predicted, dict) else {"s": predicted}
    shapes = {name: array.shape for name, array in arrays.items()}
    if isinstance(where, Scattered):
        arrays |= {"index": where.index, "points": where.points}
    elif out.suffix.lower() not in (".npy", ".csv"):
        arrays["points"] = fitted._places_given if where is None else where
    write_data(out, arrays)
    told.fact(functions=found.functions, shapes=shapes, seconds=seconds, wrote=str(out))
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


def relative_error(predicted: Any, truth: Any) -> float | None:
    """The mean relative error of predictions of functions with known outputs, None if these are others."""
    import numpy as np

    from elmonet import relative_l2
    from elmonet.data import Scattered
    from elmonet.metrics import reference_norms

    if isinstance(truth, dict):
        if not isinstance(predicted, dict) or set(predicted) != set(truth):
            return None
        parts = [relative_error(predicted[name], truth[name]) for name in truth]
        return None if None in parts else float(np.mean(np.array(parts, dtype=float)))
    predicted = np.stack(list(predicted.values()), axis=-1) if isinstance(predicted, dict) else predicted
    known: Any = truth.values if isinstance(truth, Scattered) else np.asarray(truth, dtype=float)
    if predicted.size != known.size:
        return None
    predicted = predicted.reshape(known.shape)
    if isinstance(truth, Scattered):
        squares = [
            np.bincount(truth.index, (A.reshape(len(A), -1) ** 2).sum(axis=1))
            for A in (predicted - known, known)
        ]
        there = np.bincount(truth.index) > 0
        missed, norms = (np.sqrt(A[there]) for A in squares)
        return float(np.mean(missed / reference_norms(norms)))
    return relative_l2(np.where(np.isnan(known), 0, predicted), np.nan_to_num(known))


def named_outputs(data: Any, s: Any) -> Any:
    """Outputs with named components as a dictionary."""
    if data.components is None or not hasattr(s, "shape"):
        return s
    return {name: s[..., i] for i, name in enumerate(data.components)}


def _stored_bytes(path: Path) -> int:
    """The size of a file or folder that can be read in blocks; 0 of any other."""
    if path.suffix.lower() not in (".zarr", ".h5", ".hdf5", "", ".npy"):
        return 0
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())
