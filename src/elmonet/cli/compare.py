"""elmonet compare."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

from elmonet.cli import console
from elmonet.cli.paths import is_model, open_model, require_data, require_file
from elmonet.errors import FileError, InputError
from elmonet.summary import percent, plural, rounded

_MAX_TIMINGS = 3  # predictions per model, of which the fastest counts
_ENOUGH_SECONDS = 1.0  # of timing
_CONFIDENCE = 0.95  # of the paired t test
_ROUNDING = 1e-12  # errors below this differ by rounding alone


def compare(
    files: Annotated[
        list[Path],
        typer.Argument(help="Two or more models, from elmonet fit, then one data file.", metavar="FILES"),
    ],
    input: console.InputName = None,
    output: console.OutputName = None,
    points: console.PointsName = None,
    index: console.IndexName = None,
    transpose: console.Transpose = False,
    max_size: console.MaxSize = None,
    json: Annotated[
        bool,
        console.json_option(
            "data, functions, models (path, error, worst, worst_function, expected_error, seconds, bytes, "
            "training_functions), pairs (better, worse, better_on, functions, difference, standard_error, "
            "clear), verdict"
        ),
    ] = False,
) -> None:
    """Compare the errors of saved models on the same functions.

    Prints for each model the mean and the largest relative error, its expected error, the seconds for all
    predictions and the size of its file; then which model is better, on how many functions, and by
    how much, with the standard error of the difference. If the file has test functions, these are used.

    **Examples**

    elmonet compare a.elmonet b.elmonet data.npz

    elmonet compare a.elmonet b.elmonet c.elmonet data.npz --json
    """
    if len(files) < 3:
        raise InputError(
            f"elmonet compare takes two models or more and then one file of functions; got {len(files)} "
            f"file{'s' if len(files) > 1 else ''}: elmonet compare a.elmonet b.elmonet data.npz."
        )
    *paths, data = files
    models = [open_model(path) for path in paths]
    require_file(data)
    if is_model(data):
        raise FileError(f"{str(data)!r} is a model. The file of functions comes last.")
    require_data(data)
    printer, options = console.Printer(json), console.read_options(locals())
    measured = [_measure(model, path, data, options) for model, path in zip(models, paths, strict=True)]
    first = measured[0]
    for other in measured[1:]:
        if len(other.errors) != len(first.errors):
            raise InputError(
                f"in {str(data)!r}, {len(first.errors)} functions fit {str(first.path)!r} and "
                f"{len(other.errors)} fit {str(other.path)!r}. Say which to use: --input NAME --output NAME."
            )
    columns = ("error", "worst", "expected", "seconds", "size")
    printer.line(f"{data}: {first.description}")
    printer.line("".join(f"{column:>10}" for column in columns) + "  model")
    for one in measured:
        printer.line(one.row())
    for one in measured:
        if one.trained_on:
            printer.line(
                f"note: {one.trained_on} of these are training functions of {one.path}; its error on new "
                "ones is larger."
            )
    pairs = pairs_with_best([str(one.path) for one in measured], [one.errors for one in measured])
    conclusion = verdict(pairs)
    if len(pairs) > 1:
        printer.line("\n".join(pair.in_words() for pair in pairs))
    printer.line(conclusion)
    printer.value(data=str(data), functions=len(first.errors), models=[one.values() for one in measured])
    printer.value(pairs=[vars(pair) | {"clear": pair.clear} for pair in pairs], verdict=conclusion)
    printer.finish()


@dataclass(frozen=True)
class _Measured:
    """The errors (N,) of one model on the functions of the file, and the time they took."""

    path: Path
    description: str
    errors: Any
    expected: float | None
    seconds: float
    trained_on: int

    def row(self) -> str:
        """Return a line of the table."""
        from elmonet.memory import readable

        values = self.values()
        errors = [values["error"], values["worst"], values["expected_error"]]
        cells = ["-" if error is None else percent(error) for error in errors] + [rounded(self.seconds)]
        return "".join(f"{cell:>10}" for cell in (*cells, readable(values["bytes"]))) + f"  {self.path}"

    def values(self) -> dict[str, Any]:
        """Return the same for programs."""
        import numpy as np

        worst = int(np.nanargmax(self.errors))
        return {
            "path": str(self.path),
            "error": float(np.nanmean(self.errors)),
            "worst": float(self.errors[worst]),
            "worst_function": worst,
            "expected_error": self.expected,
            "seconds": self.seconds,
            "bytes": self.path.stat().st_size,
            "training_functions": self.trained_on,
        }


def _measure(model: Any, path: Path, data: Path, options: dict[str, Any]) -> _Measured:
    """Predict the functions of a file that fit the model, and measure errors and time."""
    import numpy as np

    from elmonet.cli.inputs import count_training_functions, other_outputs, read_inputs
    from elmonet.forms.components import errors_of_functions

    try:
        inputs = read_inputs(model, data, **options)
    except InputError as error:
        raise InputError(f"{str(path)!r} does not fit {str(data)!r}: {error}") from None
    if inputs.truth is None:
        raise InputError(
            f"models are compared with known output functions, and {str(data)!r} holds none for "
            f"{str(path)!r}: {inputs.why_no_truth or 'there are input functions only.'}"
        )
    seconds: list[float] = []
    while len(seconds) < _MAX_TIMINGS and sum(seconds) < _ENOUGH_SECONDS:
        begun = perf_counter()
        predicted = model.predict(inputs.u, points=inputs.points)
        seconds.append(perf_counter() - begun)
    errors = errors_of_functions(predicted, inputs.truth, model.outputs_.given_volumes)
    if errors is None:
        raise InputError(other_outputs(path, data))
    if np.isnan(errors).all():
        raise InputError(f"{str(data)!r} holds no known output value: all are NaN.")
    trained_on, _ = count_training_functions(model, inputs.u)
    return _Measured(path, inputs.description, errors, model.expected_error_, min(seconds), trained_on)


def pairs_with_best(names: list[str], errors: list[Any]) -> list[Pair]:
    """Pair the model of the lowest mean error with every other one, the nearest first.

    errors : of each model, (N,); NaN where a function has no known value.
    """
    import numpy as np

    known = np.isfinite(np.stack(errors)).all(axis=0)
    kept = [np.asarray(each)[known] for each in errors]
    order = np.argsort([each.mean() for each in kept], kind="stable")
    best, n = order[0], int(known.sum())
    pairs = []
    for other in order[1:]:
        difference = kept[other] - kept[best]
        pairs.append(
            Pair(
                better=names[best],
                worse=names[other],
                better_on=int((difference > 0).sum()),
                functions=n,
                difference=float(difference.mean()),
                standard_error=float(difference.std(ddof=1) / np.sqrt(n)) if n > 1 else None,
                largest=float(kept[other].mean()),
            )
        )
    return pairs


@dataclass(frozen=True)
class Pair:
    """A paired comparison of two models with errors e_i (of the better one) and f_i on function i.

    difference : ``mean_i (f_i - e_i)``, which is not negative.
    standard_error : of that mean, ``std_i (f_i - e_i) / sqrt(n)``; None for a single function. Functions that
        are hard for both models cancel in the difference, so this is much smaller than the standard errors of
        the two means.
    better_on : on how many of the `functions` e_i is smaller.
    largest : the larger of the two mean errors.
    """

    better: str
    worse: str
    better_on: int
    functions: int
    difference: float
    standard_error: float | None
    largest: float

    @property
    def clear(self) -> bool:
        """Whether the difference is significant at 5 % (Student's t, two-sided)."""
        from scipy.special import stdtrit

        if self.standard_error is None or self.difference == 0:
            return False
        quantile = stdtrit(self.functions - 1, (1 + _CONFIDENCE) / 2)
        return bool(self.difference > quantile * self.standard_error)

    def in_words(self) -> str:
        """Return the result in one sentence."""
        if self.difference == 0:
            return f"{self.better} and {self.worse} have the same error."
        if self.largest < _ROUNDING:
            return f"{self.better} and {self.worse} are both exact up to rounding."
        if self.standard_error is None:
            return (
                f"{self.better} has the lower error, by {percent(self.difference, 2)}, on this one function. "
                "More functions are needed to tell which model is better."
            )
        clearly = "" if self.clear else "not clearly "
        return (
            f"{self.better} is {clearly}better than {self.worse}: the error is lower by "
            f"{percent(self.difference, 2)} (standard error {percent(self.standard_error, 1)}), on "
            f"{self.better_on} of {plural(self.functions, 'function')}."
        )


def verdict(pairs: list[Pair]) -> str:
    """Return one sentence about all pairs with the best model."""
    if len(pairs) == 1:
        return pairs[0].in_words()
    best = pairs[0].better
    near = [pair.worse for pair in pairs if not pair.clear or pair.largest < _ROUNDING]
    if not near:
        return f"Best: {best}."
    return f"Lowest error: {best}, but it is not clearly better than {', '.join(near)}."
