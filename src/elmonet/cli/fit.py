"""elmonet fit."""

from __future__ import annotations

import math
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer

from elmonet.checks import choice, number
from elmonet.cli.console import (
    IndexName,
    InputName,
    MaxSize,
    OutputName,
    PointsName,
    SensorsName,
    Stopped,
    Told,
    Transpose,
    error_facts,
    expected_error,
)
from elmonet.cli.inputs import (
    flags,
    named_outputs,
    relative_error,
    require_data,
    require_place,
    tell_roles,
    understood,
)
from elmonet.cli.predict import coverage_found
from elmonet.data import OperatorData, Scattered
from elmonet.errors import FileError, InputError
from elmonet.modelfile.store import writable_path
from elmonet.summary import percent

__all__ = ["fit", "require_report_place", "require_usable", "write_fit_report"]


def require_usable(data: OperatorData, missing: str) -> None:
    """Raise if there are complex numbers, NaN or infinity, or if the output points are not in the file."""
    inputs = data.u_train if isinstance(data.u_train, dict) else {"": data.u_train}
    for name, u in inputs.items():
        what = f"the input functions {name}".strip()
        _require_finite(what, u, "Remove these functions, or fill the gaps.")
    s = data.s_train
    if isinstance(s, Scattered):
        return
    if missing == "ignore":
        _require_finite("the output functions", np.where(np.isnan(s), 0, s), "Remove these functions.")
    else:
        advice = "With --missing ignore, NaN marks a missing value, which is left out of the fit."
        _require_finite("the output functions", s, advice)
    shape = s.shape[1:-1] if data.components else s.shape[1:]
    if data.points is None and math.prod(shape) > 1 and shape not in _guessed(data.u_train):
        raise InputError(
            f"the file does not say where the output functions, of shape {shape}, are given. Say it: "
            f"--points NAME or FILE, an array ({math.prod(shape)}, d) with one point for each value."
        )


def _require_finite(what: str, functions: np.ndarray, advice: str) -> None:
    if functions.dtype.kind == "c":
        raise InputError(f"{what} are complex numbers. Give real and imaginary parts as two arrays.")
    bad = ~np.isfinite(functions).reshape(len(functions), -1).all(axis=1)
    if bad.any():
        raise InputError(
            f"{what} hold NaN or infinity in {bad.sum()} of {len(bad)} functions, the first in row "
            f"{np.argmax(bad)}. {advice}"
        )


def _guessed(u: np.ndarray | dict[str, np.ndarray]) -> list[tuple[int, ...]]:
    """The shapes of outputs that are taken to have the sensors of the inputs as points."""
    if isinstance(u, dict):
        return [(sum(math.prod(part.shape[1:]) for part in u.values()),)]
    return [u.shape[1:], u.shape[2:]]


def require_report_place(report: Path, data: Path, out: Path) -> None:
    """Raise, before anything is fitted, if a report cannot be drawn, or written there."""
    from elmonet.reporting.figures import require_pictures

    require_pictures()
    require_place(report, data)
    if report.resolve() == out.resolve():
        raise FileError(f"cannot write both the model and its report to {str(out)!r}: name two files.")


def write_fit_report(told: Told, report: Path, model: Any, path: Path, test: Any) -> None:
    """Write what is known of a model, of the file it was fitted to, and of its test functions (or None)."""
    from elmonet.reporting import write_report
    from elmonet.reporting.report import how_it_does, with_test

    tested, account = None, model._account()
    if test is not None and test.u_test is not None:
        truth = named_outputs(test, test.s_test)
        tested = how_it_does(model, test.u_test, truth, test.points)
        account = with_test(account, model, test.u_test, truth)
    account = replace(
        account, data={"file": str(path)} | account.data, understood=tuple(told.facts.get("understood", ()))
    )
    write_report(report, account, tested, shlex.join(["elmonet", *sys.argv[1:]]))
    told.fact(report=str(report))


_BAND = 0.9  # the coverage that is tried on test functions
_BLOCKS = "In blocks: data larger than memory"
_NETWORK = "Random features instead of a search"


def fit(
    data: Annotated[
        Path,
        typer.Argument(help="A file of functions; elmonet info shows what is in it.", metavar="DATA"),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="File of the model to write.", metavar="FILE")],
    input: InputName = None,
    output: OutputName = None,
    points: PointsName = None,
    sensors: SensorsName = None,
    index: IndexName = None,
    transpose: Transpose = False,
    max_size: MaxSize = None,
    missing: Annotated[
        str, typer.Option(help="What to do with NaN in the outputs: raise or ignore.", metavar="WORD")
    ] = "raise",
    time_budget: Annotated[
        float | None,
        typer.Option(min=0, help="Time for the search; then nothing new is tried.", metavar="SECONDS"),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            help="Name of an array of labels, one for each function. Functions with the same label are left "
            "out together.",
            metavar="NAME",
        ),
    ] = None,
    layers: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="How many layers that all points share, for inputs and outputs on one grid; 0: none.",
            metavar="N",
            show_default="tried where they may help",
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(help="HTML page to write: what was fitted, and how good it is.", metavar="FILE"),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random numbers.", metavar="N")] = 0,
    width: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of random features.",
            metavar="N",
            show_default="1000",
            rich_help_panel=_NETWORK,
        ),
    ] = None,
    activation: Annotated[
        str | None,
        typer.Option(
            help="Activation of these features.",
            metavar="WORD",
            show_default="tanh",
            rich_help_panel=_NETWORK,
        ),
    ] = None,
    scale: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Scale of their weights.",
            metavar="NUMBER",
            show_default="0.5",
            rich_help_panel=_NETWORK,
        ),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            help="Memory that the fit may use, such as 2GB.",
            metavar="SIZE",
            show_default="half of what is free",
            rich_help_panel=_BLOCKS,
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="File for the state of the fit, to continue after a stop.",
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
            help="Print one JSON object and nothing else: understood, expected_error, "
            "expected_error_interval, error_kind, seconds, wrote, report (if asked); chosen automatically "
            "summary, leaderboard, test_error, test_coverage; with a width alpha, test_error, test_coverage; "
            "in blocks functions, alpha, rate. loo_error is there if the error is a leave-one-out error.",
        ),
    ] = False,
) -> None:
    """Fit an operator to the functions in a file, and save it.

    By default, everything is chosen: many models are tried, and the one with the smallest error on functions
    left out is saved. With --width, --activation or --scale nothing is searched: the features are random as
    given, and only the strength of the ridge is chosen. The same holds for a file that is larger than memory,
    and with --memory, --checkpoint or --workers: then the file is read in blocks. With --checkpoint, a fit in
    blocks that was stopped continues where it was.

    **Examples**

    elmonet fit data.npz -o operator.elmonet

    elmonet fit data.mat -o operator.elmonet --input f_train --output u_train

    elmonet fit data.npz -o operator.elmonet --report fit.html

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
    if report is not None:
        require_report_place(report, data, out)
    told = Told(json)
    names = flags(locals())
    blockwise = {"memory": memory, "checkpoint": checkpoint, "workers": workers}
    asked = [f"--{name}" for name, value in blockwise.items() if value is not None]
    features = SLFN(width or 1000, activation or "tanh", scale or 0.5)
    begun = perf_counter()
    if asked or _stored_bytes(data) > available() / 4:
        _require_blocks(asked, missing, time_budget, layers)
        if groups is not None:
            raise InputError("--groups is for functions in memory; here they are read in blocks.")
        model, functions = _fit_blocks(told, data, names, blockwise, features, seed), None
    elif any(value is not None for value in (width, activation, scale)):
        _require_no_search(time_budget, layers, "with --width, --activation or --scale")
        model, functions = _fit_in_memory(
            told,
            data,
            names,
            missing,
            ELMDeepONet(Linear() + features, missing=missing, random_state=seed),
            groups,
        )
    else:
        settings = {"missing": missing, "time_budget": time_budget, "layers": layers, "random_state": seed}
        model, functions = _fit_auto(told, data, names, settings, groups)
    model.save(out)
    if report is not None:
        write_fit_report(told, report, model, data, functions)
    if checkpoint is not None:
        writable_path(checkpoint).unlink(missing_ok=True)
    seconds = perf_counter() - begun
    told.fact(seconds=seconds, wrote=str(out))
    told.line(f"{seconds:.1f} s; wrote {out}" + (f" and {report}" if report else ""))
    told.end()


def _require_blocks(asked: list[str], missing: str, budget: float | None, layers: int | None) -> None:
    """Raise if an option was given that a fit in blocks does not have."""
    because = f"with {asked[0]}" if asked else "because memory cannot hold them"
    if missing == "ignore":
        raise InputError(
            f"the functions are read in blocks, {because}, so no value may be missing: --missing ignore "
            "needs a fit in memory. Remove the functions with NaN."
        )
    _require_no_search(budget, layers, because)


def _require_no_search(budget: float | None, layers: int | None, because: str) -> None:
    if budget is not None:
        raise InputError(
            f"--time-budget limits the search, and there is no search {because}: only alpha, the strength of "
            "the ridge, is chosen. Remove one of these options."
        )
    if layers:
        raise InputError(
            f"--layers is part of the search, and there is no search {because}. Remove one of these options."
        )


def _fit_auto(
    told: Told, path: Path, names: dict[str, Any], settings: dict[str, Any], groups: str | None
) -> tuple[Any, Any]:
    from elmonet import AutoELMDeepONet
    from elmonet.progress import progress_bar

    with progress_bar() as progress:
        search = AutoELMDeepONet(progress=progress, **settings)
        try:
            return _fit_in_memory(told, path, names, settings["missing"], search, groups)
        except KeyboardInterrupt:
            raise Stopped("Stopped. With --time-budget SECONDS, the search ends by itself.") from None


def _fit_in_memory(
    told: Told, path: Path, names: dict[str, Any], missing: str, model: Any, groups: str | None
) -> tuple[Any, Any]:
    """Fit a model to all functions of a file, and print how good it is; the model and the functions."""
    from elmonet.cli.inputs import labels_from

    pass
    from elmonet.data import Scattered

    data = understood(told, path, names)
    require_usable(data, missing)
    sensors = None if isinstance(data.u_train, dict) else data.sensors
    labels = None if groups is None else labels_from(groups, path, names.get("max_bytes"))
    model.fit(data.u_train, named_outputs(data, data.s_train), data.points, sensors=sensors, groups=labels)
    if hasattr(model, "leaderboard_"):
        told.line(model.summary())
        told.fact(summary=model.summary(), leaderboard=model.leaderboard_)
        told.fact(**error_facts(model))
    else:
        _tell_solution(told, model)
    if data.u_test is not None:
        truth = named_outputs(data, data.s_test)
        where = truth if isinstance(truth, Scattered) else data.points
        error = relative_error(model.predict(data.u_test, points=where), truth)
        if error is not None:
            told.fact(test_error=error)
            told.line(f"Error on the file's test functions: {percent(error)}.")
            _tell_bands(told, model, data.u_test, where, truth)
    return model, data


def _tell_bands(told: Told, model: Any, u: Any, where: Any, truth: Any) -> None:
    """How well the bands hold on test functions, if there are bands and enough functions for them."""
    try:
        ends = [model.interval(u, _BAND, of, points=where) for of in ("points", "function")]
    except InputError:
        return
    values, functions = (coverage_found(low, high, truth) for low, high in ends)
    if values is not None and functions is not None:
        inside = {"points": values["points"], "function": functions["function"]}
        told.fact(test_coverage={"asked": _BAND, **inside})
        told.line(
            f"Bands for {100 * _BAND:g} %: {100 * inside['points']:.1f} % of values and "
            f"{100 * inside['function']:.1f} % of whole functions inside."
        )


def _fit_blocks(
    told: Told,
    path: Path,
    names: dict[str, Any],
    blockwise: dict[str, Any],
    features: Any,
    seed: int,
) -> Any:
    from elmonet import ELMDeepONet, Linear, fit_blocks
    from elmonet.data.reading import open_pairs
    from elmonet.progress import progress_bar

    u, s, points, roles = open_pairs(path, **names)
    tell_roles(told, path, roles)
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
            raise Stopped("Stopped." + (" The same command continues." if there else "")) from None
    rate = functions / (perf_counter() - begun)
    _tell_solution(told, model, f", {rate:,.0f} functions per second")
    told.fact(functions=functions, rate=rate)
    return model


def _tell_solution(told: Told, model: Any, more: str = "") -> None:
    solution = model.solution_
    ridge = f"Ridge alpha: {solution.alpha:.2g} ({solution.method}){more}"
    told.line(f"Expected error: {expected_error(model)}. {ridge}")
    told.fact(alpha=solution.alpha, **error_facts(model))


def _stored_bytes(path: Path) -> int:
    """The size of a file or folder that can be read in blocks; 0 of any other."""
    from elmonet.data.formats import find_reader
    from elmonet.data.limits import stored_bytes

    return stored_bytes(path) if find_reader(path).on_disk else 0
