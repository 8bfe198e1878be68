"""elmonet predict and elmonet suggest."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

from elmonet.checks import choice
from elmonet.cli.console import IndexName, InputName, MaxSize, OutputName, Told, Transpose
from elmonet.cli.inputs import flags, open_model, relative_error, require_data, require_data_place
from elmonet.errors import InputError
from elmonet.summary import percent

__all__ = [
    "Band",
    "Interval",
    "band_asked",
    "coverage_found",
    "of_option",
    "predict",
    "suggest",
    "tell_coverage",
]

_OF = ("points", "function")
_IN_WORDS = {"points": "of all values", "function": "of whole functions"}

Interval = Annotated[
    float | None,
    typer.Option(
        help="Also give bands that hold in this part of all cases: 0.9 for 90 %.",
        metavar="COVERAGE",
        show_default="no bands",
    ),
]


def of_option(default: str) -> Any:
    """The option --of of a verb."""
    return typer.Option(
        help="What the bands hold: points: this part of all values; function: this part of whole functions.",
        metavar="WORD",
        show_default=default,
    )


@dataclass(frozen=True)
class Band:
    """The coverage that is asked for, of single values ("points") or of whole functions ("function")."""

    coverage: float
    of: str


def band_asked(interval: float | None, of: str | None, default: str) -> Band | None:
    """What --interval and --of ask for; None: no bands."""
    if of is not None:
        choice(of, "--of", _OF)
    if interval is None:
        if of is not None:
            raise InputError(f"--of {of} says what the bands hold. Say also how often: --interval 0.9.")
        return None
    if not 0 < interval < 1:
        raise InputError(
            "--interval must be between 0 and 1, such as 0.9 for bands that hold in 90 % of all cases; got "
            f"{interval:g}."
        )
    return Band(interval, of or default)


def coverage_found(low: Any, high: Any, truth: Any) -> dict[str, float] | None:
    """The part of known values ("points"), and of functions, that lies in a band; None if these are others.

    The ends are as `interval` gives them, the truth is an array, a dictionary of components or a `Scattered`.
    """
    import numpy as np

    if not isinstance(truth, dict):
        if isinstance(low, dict):
            low, high = (np.stack(list(end.values()), axis=-1) for end in (low, high))
        low, high, truth = {"": low}, {"": high}, {"": truth}
    if not isinstance(low, dict) or set(low) != set(truth):
        return None
    counts = [_counts(low[name], high[name], truth[name]) for name in truth]
    if any(count is None for count in counts):
        return None
    known, outside = np.sum(counts, axis=0)
    there = known > 0
    if not there.any():
        return None
    return {"points": 1 - outside.sum() / known.sum(), "function": float(np.mean(outside[there] == 0))}


def tell_coverage(told: Told, band: Band, found: dict[str, float] | None) -> None:
    """Print what was asked for, and, where outputs are known, what was found."""
    told.fact(coverage=band.coverage, of=band.of)
    if found is not None:
        told.fact(coverage_found=found[band.of])
        words = _IN_WORDS[band.of]
        told.line(f"bands for {100 * band.coverage:.4g} % {words}: they hold {100 * found[band.of]:.1f} %")


def _counts(low: Any, high: Any, truth: Any) -> Any:
    """How many values of each function are known, and how many of these lie outside: (2, n)."""
    import numpy as np

    from elmonet.data import Scattered

    values: Any = truth.values if isinstance(truth, Scattered) else np.asarray(truth, float)
    if values.size != low.size:
        return None
    low, high = low.reshape(values.shape), high.reshape(values.shape)
    known = np.isfinite(values)
    counts = [A.reshape(len(A), -1).sum(axis=1) for A in (known, (values < low) | (values > high))]
    return np.stack([np.bincount(truth.index, A) if isinstance(truth, Scattered) else A for A in counts])


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


def suggest(
    model: Annotated[Path, typer.Argument(help="File of a model, from elmonet fit.", metavar="MODEL")],
    pool: Annotated[Path, typer.Argument(help="File of candidate input functions.", metavar="POOL")],
    n: Annotated[int, typer.Option("-n", min=1, help="How many to suggest.", metavar="N")] = 10,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="File of the suggested functions to write: npz, h5, zarr, mat, nc; csv and npy, the indices "
            "alone.",
            metavar="FILE",
            show_default="none",
        ),
    ] = None,
    input: InputName = None,
    transpose: Transpose = False,
    max_size: MaxSize = None,
    json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Print one JSON object and nothing else: candidates, training_functions, indices, wrote.",
        ),
    ] = False,
) -> None:
    """Suggest which input functions of a file to simulate next.

    Prints their row numbers, from 0. The first one lowers the uncertainty over the whole file most. If the
    file has test functions, only these are looked at.

    **Examples**

    elmonet suggest operator.elmonet pool.npz -n 10

    elmonet suggest operator.elmonet pool.npz -n 10 -o next.npz
    """
    from elmonet.cli.inputs import read_inputs
    from elmonet.data.write import write_data
    from elmonet.forms.inputs import rows_of

    fitted = open_model(model)
    require_data(pool)
    if out is not None:
        require_data_place(out, model, pool)
    told = Told(json)
    found = read_inputs(fitted, pool, **flags(locals()))
    indices = fitted.suggest(found.u, n)
    seen = int(fitted.is_training_function(found.u).sum())
    about = f", of which {seen} are training functions of the model" if seen else ""
    told.line(f"{pool}: {found.told}{about}")
    if out is not None:
        arrays = {"index": indices}
        if out.suffix.lower() not in (".npy", ".csv"):
            chosen = rows_of(found.u, indices)
            arrays |= chosen if isinstance(chosen, dict) else {"u": chosen}
        write_data(out, arrays)
        told.line(
            "wrote " + ", ".join(f"{name} {array.shape}" for name, array in arrays.items()) + f" to {out}"
        )
    told.fact(candidates=found.functions, training_functions=seen, indices=indices)
    told.fact(wrote=None if out is None else str(out))
    told.line("simulate next (rows, counted from 0; the most useful first):\n" + "\n".join(map(str, indices)))
    told.end()
