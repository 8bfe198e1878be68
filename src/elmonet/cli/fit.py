"""elmonet fit."""

from __future__ import annotations

import math
import shlex
import sys
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from elmonet.checks import choice, number
from elmonet.cli import console
from elmonet.cli.paths import bytes_on_disk, data_source, existing, files_of, is_model, require_place
from elmonet.cli.predict import coverages
from elmonet.errors import FileError, InputError
from elmonet.summary import percent, plural, rounded

if TYPE_CHECKING:
    from elmonet.data import OperatorData
    from elmonet.data.run_files import Runs

_COVERAGE = 0.9  # of the bands that are checked on test functions
_LARGE_FILE = 1 << 30  # bytes of a file from which on it is read in blocks
_feature_option = partial(console.option, rich_help_panel="Random features instead of a search")
_block_option = partial(console.option, rich_help_panel="In blocks: data larger than memory")


def fit(
    data: Annotated[
        list[Path],
        typer.Argument(
            help="A file of functions, or files with one run each: a pattern in quotes, a folder, or their "
            "names; a table of their parameters first. elmonet info shows their contents.",
            metavar="DATA",
        ),
    ],
    out: Annotated[Path, console.out_option("File of the model to write.")],
    input: console.InputName = None,
    output: console.OutputName = None,
    points: console.PointsName = None,
    sensors: console.SensorsName = None,
    index: console.IndexName = None,
    transpose: console.Transpose = False,
    max_size: console.MaxSize = None,
    table: console.RunTable = None,
    bad_runs: console.BadRuns = "raise",
    missing: Annotated[
        str, console.option("What to do with NaN in the outputs: raise or ignore.", "WORD")
    ] = "raise",
    time_budget: Annotated[
        float | None,
        typer.Option("--time-budget", "--time", help="Time limit of the fit.", metavar="SECONDS", min=0),
    ] = None,
    groups: Annotated[
        str | None,
        console.option(
            "Name of an array of labels, one for each function. Functions with the same label are left out "
            "together.",
            "NAME",
        ),
    ] = None,
    without_suspects: Annotated[
        bool,
        typer.Option(
            "--without-suspects",
            help="Fit again without the training pairs that contradict the rest; elmonet check shows them.",
        ),
    ] = False,
    layers: Annotated[
        int | None,
        console.option(
            "Number of layers, which all points share, for inputs and outputs on one grid; 0: none.",
            "N",
            "tried where they may help",
            min=0,
        ),
    ] = None,
    report: Annotated[
        Path | None, console.option("HTML report to write: what was fitted, and how accurate it is.", "FILE")
    ] = None,
    seed: Annotated[int, console.seed_option("Seed of all random numbers.")] = 0,
    width: Annotated[int | None, _feature_option("Number of random features.", "N", "1000", min=1)] = None,
    activation: Annotated[
        str | None, _feature_option("Activation of these features.", "WORD", "tanh")
    ] = None,
    scale: Annotated[float | None, _feature_option("Scale of their weights.", "NUMBER", "0.5", min=0)] = None,
    memory: Annotated[
        str | None, _block_option("Memory that the fit may use, such as 2GB.", "SIZE", "half of what is free")
    ] = None,
    checkpoint: Annotated[
        Path | None, _block_option("File for the state of the fit, to continue after a stop.", "FILE")
    ] = None,
    workers: Annotated[int | None, _block_option("Threads.", "N", "cores", min=1)] = None,
    json: Annotated[
        bool,
        console.json_option(
            "understood, suspects (with --without-suspects), expected_error, expected_error_interval, "
            "error_quantiles (median, 95 %), error_kind, seconds, wrote, report (with --report); after a "
            "search summary, leaderboard, test_error, test_coverage; with a width alpha, "
            "test_error, test_coverage; in blocks functions, alpha, rate; loo_error for a leave-one-out error"
        ),
    ] = False,
) -> None:
    """Fit an operator to the functions in a file, and save it.

    By default, all settings are chosen automatically: many models are compared by cross-validation, and the
    one with the smallest error is saved. With --width, --activation or --scale there is no search: random
    features with these settings are used, and only the ridge alpha is chosen. There is no search with
    --memory, --checkpoint or --workers either, which read the file in blocks. With --checkpoint, an
    interrupted fit in blocks continues. A large file is always read in blocks: the search runs on a sample,
    and the selected model is fitted to all functions.

    **Examples**

    elmonet fit data.npz -o operator.elmonet

    elmonet fit data.mat -o operator.elmonet --input f_train --output u_train

    elmonet fit data.npz -o operator.elmonet --report fit.html

    elmonet fit design.csv "runs/*.vtu" -o operator.elmonet

    elmonet fit "records/*.csv" -o operator.elmonet --input force --output displacement

    elmonet fit big.zarr -o operator.elmonet --memory 2GB --checkpoint fit.ckpt
    """
    from elmonet import SLFN, ELMDeepONet, Linear
    from elmonet.memory import available, bytes_of

    source = data_source(data, table, bad_runs)
    _require_places(out, report, checkpoint, *files_of(source), *existing(points, sensors))
    choice(missing, "--missing", ("raise", "ignore"))
    if time_budget is not None:
        number(time_budget, "--time-budget", strict=True)
    if scale is not None:
        number(scale, "--scale", strict=True)
    if memory is not None:
        bytes_of(memory)
    printer, options = console.Printer(json), console.read_options(locals())
    block_options = {"memory": memory, "checkpoint": checkpoint, "workers": workers}
    given = [f"--{name}" for name, value in block_options.items() if value is not None]
    features = SLFN(width or 1000, activation or "tanh", scale or 0.5)
    begun = perf_counter()
    functions = None
    size, search = bytes_on_disk(source), all(value is None for value in (width, activation, scale))
    in_memory_only = missing == "ignore" or without_suspects or bool(layers)
    if given or (size > available() / 4 and (in_memory_only or not search)):
        _require_no_search(
            f"with {given[0]}" if given else "because memory cannot hold them",
            time_budget,
            layers,
            missing=missing,
            without_suspects=without_suspects,
        )
        model = _fit_blocks(printer, source, options, block_options, features, seed, groups)
    elif search and not in_memory_only and size > min(available() / 4, _LARGE_FILE):
        model = _search_blocks(printer, source, options, time_budget, seed, groups)
    elif not search:
        _require_no_search("with --width, --activation or --scale", time_budget, layers)
        model = ELMDeepONet(Linear() + features, missing=missing, random_state=seed)
        functions = _fit_in_memory(printer, source, options, missing, model, groups, without_suspects)
    else:
        settings = {"missing": missing, "time_budget": time_budget, "layers": layers, "random_state": seed}
        model, functions = _search(printer, source, options, settings, groups, without_suspects)
    wrote = [printer.save(model.save, out)]
    printer.value(wrote=str(wrote[0]))
    if report is not None:
        wrote.append(printer.save(partial(_write_report, printer, model, source, functions), report))
        printer.value(report=str(wrote[1]))
    if checkpoint is not None and wrote[0] == out:
        checkpoint.resolve().unlink(missing_ok=True)
    seconds = perf_counter() - begun
    printer.value(seconds=seconds)
    printer.line(f"{seconds:.1f} s; wrote {' and '.join(map(str, wrote))}")
    printer.finish()


def _require_places(out: Path, report: Path | None, checkpoint: Path | None, *read: Path) -> None:
    """Raise, before anything is fitted, if model, report or checkpoint cannot be written."""
    require_place(out, *read, model=True)
    if report is not None:
        from elmonet.reporting.figures import require_pictures

        require_pictures()
        require_place(report, *read)
    if checkpoint is not None:
        require_place(checkpoint, *read)
        if checkpoint.exists() and not is_model(checkpoint):
            raise FileError(f"{str(checkpoint)!r} is there and is no checkpoint of a fit. Name a new file.")
    places = [path for path in (out, report, checkpoint) if path is not None]
    if len({path.resolve() for path in places}) < len(places):
        raise FileError(
            "model, report and checkpoint must be different files; got "
            f"{', '.join(repr(str(path)) for path in places)}. Name one file for each."
        )


def _require_no_search(
    reason: str,
    time_budget: float | None,
    layers: int | None,
    *,
    missing: str = "raise",
    without_suspects: bool = False,
) -> None:
    """Raise if an option was given that only the search has, or only a fit in memory."""
    if missing == "ignore":
        raise InputError(
            f"the functions are read in blocks, {reason}, so no value may be missing: --missing ignore "
            "needs a fit in memory. Remove the functions with NaN."
        )
    if time_budget is not None:
        raise InputError(
            f"--time-budget limits the search, and there is no search {reason}: only alpha, the strength of "
            "the ridge, is chosen. Remove one of these options."
        )
    if layers:
        raise InputError(
            f"--layers is part of the search, and there is no search {reason}. Remove one of these options."
        )
    if without_suspects:
        raise InputError("--without-suspects is for functions in memory; here they are read in blocks.")


def _search(
    printer: console.Printer,
    path: Path | Runs,
    options: dict[str, Any],
    settings: dict[str, Any],
    groups: str | None,
    without_suspects: bool,
) -> tuple[Any, OperatorData]:
    """Fit the best of many models; return it and the functions of the file."""
    from elmonet import AutoELMDeepONet
    from elmonet.progress import progress_bar

    with progress_bar() as progress:
        model = AutoELMDeepONet(progress=progress, **settings)
        try:
            missing = settings["missing"]
            return model, _fit_in_memory(printer, path, options, missing, model, groups, without_suspects)
        except KeyboardInterrupt:
            raise console.Stopped("Stopped. With --time-budget SECONDS, the search ends by itself.") from None


def _search_blocks(
    printer: console.Printer,
    path: Path | Runs,
    options: dict[str, Any],
    time_budget: float | None,
    seed: int,
    groups: str | None,
) -> Any:
    """Fit the best of many models to a file that is read in blocks."""
    from elmonet import AutoELMDeepONet
    from elmonet.cli.inputs import labels_from, print_roles
    from elmonet.data.reading import open_pairs
    from elmonet.progress import progress_bar

    u, s, points, roles = open_pairs(path, **options)
    print_roles(printer, path, roles)
    labels = None if groups is None else labels_from(groups, path, options.get("max_bytes"))
    with progress_bar() as progress:
        model = AutoELMDeepONet(time_budget=time_budget, random_state=seed, progress=progress)
        try:
            model.fit(u, s, points, groups=labels)
        except KeyboardInterrupt:
            raise console.Stopped("Stopped. With --time-budget SECONDS, the search ends by itself.") from None
    model._with_file_names(roles.names)
    printer.line(model.summary())
    printer.value(summary=model.summary(), leaderboard=model.leaderboard_, **console.error_values(model))
    printer.value(functions=int(u.shape[0]))
    return model


def _fit_in_memory(
    printer: console.Printer,
    path: Path | Runs,
    options: dict[str, Any],
    missing: str,
    model: Any,
    groups: str | None,
    without_suspects: bool,
) -> OperatorData:
    """Fit a model to the functions of a file, print its error, and return the functions."""
    from elmonet.cli.inputs import labels_from, named_outputs, read_functions
    from elmonet.data import Scattered
    from elmonet.forms.components import relative_error

    data, roles = read_functions(printer, path, options)
    _validate(data, missing)
    labels = None if groups is None else labels_from(groups, path, options.get("max_bytes"))
    fit_functions(model, data, labels)
    if without_suspects:
        found = model.suspects()
        printer.line(str(found))
        printer.value(suspects=suspect_values(found))
        if len(found):
            fit_functions(model, data, labels, found.keep.nonzero()[0])
    model._with_file_names(roles.names)
    if hasattr(model, "leaderboard_"):
        printer.line(model.summary())
        printer.value(summary=model.summary(), leaderboard=model.leaderboard_, **console.error_values(model))
    else:
        _print_solution(printer, model)
    if data.u_test is not None:
        truth = named_outputs(data, data.s_test)
        points = truth if isinstance(truth, Scattered) else data.points
        volumes = model.outputs_.given_volumes
        error = relative_error(model.predict(data.u_test, points=points), truth, volumes)
        if error is not None:
            printer.value(test_error=error)
            printer.line(f"Error on the file's test functions: {percent(error)}.")
            _print_coverage(printer, model, data.u_test, points, truth)
    return data


def fit_functions(model: Any, data: OperatorData, groups: Any = None, rows: Any = None) -> Any:
    """Fit a model to the training functions of a file, or to some of them."""
    from elmonet.cli.inputs import named_outputs
    from elmonet.data import Scattered
    from elmonet.forms.inputs import rows_of

    if data.meshes is not None and hasattr(model, "time_budget") and rows is None and groups is None:
        return model.fit(data)
    u, s = data.u_train, named_outputs(data, data.s_train)
    if rows is not None:
        u, s = rows_of(u, rows), s.of_functions(rows) if isinstance(s, Scattered) else rows_of(s, rows)
        groups = None if groups is None else groups[rows]
    sensors = None if isinstance(u, dict) else data.sensors
    points = data.points if data.mesh is None else data.mesh
    return model.fit(u, s, points, sensors=sensors, groups=groups)._with_labels(data)


def suspect_values(found: Any) -> list[dict[str, Any]]:
    """Return suspects for programs."""
    names = ("row", "score", "kind", "reason")
    rows = zip(found.functions.tolist(), found.scores.tolist(), found.kinds, found.reasons, strict=True)
    return [dict(zip(names, row, strict=True)) for row in rows]


def _validate(data: OperatorData, missing: str) -> None:
    """Raise for complex numbers, NaN, infinity, and outputs without points."""
    import numpy as np

    from elmonet.data import Scattered

    u, s = data.u_train, data.s_train
    for name, part in (u if isinstance(u, dict) else {"": u}).items():
        what = f"the input functions {name}".strip()
        if isinstance(part, list):
            part = np.array([record.sum() for record in part])
        _require_finite(what, part, "Remove these functions, or fill the gaps.")
    if isinstance(s, list):
        totals = np.array([record.sum() for record in s])
        _require_finite("the records", totals, "Leave these runs out, or fill the gaps.")
    if isinstance(s, (Scattered, list)):
        return
    hole = np.isnan(s).all(axis=0)
    if hole.any() and not hole.all():  # points without a value in any function
        s = np.where(hole, 0, s)
    if missing == "ignore":
        _require_finite("the output functions", np.where(np.isnan(s), 0, s), "Remove these functions.")
    else:
        advice = "With --missing ignore, NaN marks a missing value, which is left out of the fit."
        _require_finite("the output functions", s, advice)
    shape = s.shape[1:-1] if data.components else s.shape[1:]
    if isinstance(u, dict):
        at_sensors = [(sum(math.prod(part.shape[1:]) for part in u.values()),)]
    else:
        at_sensors = [u.shape[1:], u.shape[2:]]
    if data.points is None and math.prod(shape) > 1 and shape not in at_sensors:
        raise InputError(
            f"the file does not say where the output functions, of shape {shape}, are given. Say it: "
            f"--points NAME or FILE, an array ({math.prod(shape)}, d) with one point for each value."
        )


def _require_finite(what: str, functions: Any, advice: str) -> None:
    import numpy as np

    if functions.dtype.kind == "c":
        raise InputError(f"{what} are complex numbers. Give real and imaginary parts as two arrays.")
    bad = ~np.isfinite(functions).reshape(len(functions), -1).all(axis=1)
    if bad.any():
        found = "NaN"
        if np.isinf(functions).any():
            found, advice = "NaN or infinity", "Remove these functions: infinity cannot be learned."
        raise InputError(
            f"{what} hold {found} in {bad.sum()} of {plural(len(bad), 'function')}, the first in row "
            f"{np.argmax(bad)}. {advice}"
        )


def _print_coverage(printer: console.Printer, model: Any, u: Any, points: Any, truth: Any) -> None:
    """Print the coverage of the bands on test functions, if there are bands."""
    found = {}
    for of in ("points", "function"):
        try:
            ends = model.interval(u, _COVERAGE, of, points=points)
        except InputError:  # no bands, or too few functions for this coverage
            return
        inside = coverages(ends, truth)
        if inside is None:
            return
        found[of] = inside[of]
    printer.value(test_coverage={"asked": _COVERAGE, **found})
    printer.line(
        f"Bands for {100 * _COVERAGE:g} %: {100 * found['points']:.1f} % of values and "
        f"{100 * found['function']:.1f} % of whole functions inside."
    )


def _fit_blocks(
    printer: console.Printer,
    path: Path | Runs,
    options: dict[str, Any],
    block_options: dict[str, Any],
    features: Any,
    seed: int,
    groups: str | None,
) -> Any:
    """Fit random features to a file that is read in blocks."""
    from elmonet import ELMDeepONet, Linear, fit_blocks
    from elmonet.cli.inputs import labels_from, print_roles
    from elmonet.data.reading import open_pairs
    from elmonet.progress import progress_bar

    u, s, points, roles = open_pairs(path, **options)
    print_roles(printer, path, roles)
    functions, inputs, M = u.shape[0], tuple(u.shape[1:]), s.shape[1]
    components = f" with {plural(s.shape[2], 'component')}" if len(s.shape) > 2 else ""
    printer.line(f"{functions:,} functions, inputs {inputs}, outputs at {plural(M, 'point')}{components}")
    labels = None if groups is None else labels_from(groups, path, options.get("max_bytes"))
    block_options = block_options | {"groups": labels}
    model, begun = ELMDeepONet(Linear() + features, random_state=seed), perf_counter()
    with progress_bar() as progress:
        try:
            fit_blocks(model, u, s, points, progress=progress, keep_checkpoint=True, **block_options)
        except KeyboardInterrupt:
            checkpoint = block_options["checkpoint"]
            saved = checkpoint is not None and checkpoint.exists()
            raise console.Stopped("Stopped." + (" The same command continues." if saved else "")) from None
    rate = functions / (perf_counter() - begun)
    model._with_file_names(roles.names)
    _print_solution(printer, model, f", {rate:,.0f} functions per second")
    printer.value(functions=functions, rate=rate)
    return model


def _print_solution(printer: console.Printer, model: Any, more: str = "") -> None:
    solution = model.solution_
    ridge = f"Ridge alpha: {rounded(solution.alpha, 2)} ({solution.method}){more}"
    printer.line(f"Expected error: {console.error_in_words(model)}. {ridge}")
    printer.value(alpha=solution.alpha, **console.error_values(model))


def _write_report(
    printer: console.Printer, model: Any, path: Path | Runs, functions: OperatorData | None, report: Path
) -> None:
    """Write the report of a model, of the file it was fitted to, and of the file's test functions."""
    from elmonet.cli.inputs import named_outputs
    from elmonet.reporting.report import report as write_report

    test: dict[str, Any] = {}
    if functions is not None and functions.u_test is not None:
        truth = named_outputs(functions, functions.s_test)
        test = {"X": functions.u_test, "y": truth, "points": functions.points}
    command, understood = shlex.join(["elmonet", *sys.argv[1:]]), printer.values.get("understood", ())
    write_report(model, report, **test, command=command, file=str(path), understood=understood)
