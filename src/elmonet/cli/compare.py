"""elmonet compare."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer

from elmonet.cli.console import IndexName, InputName, MaxSize, OutputName, PointsName, Told, Transpose
from elmonet.cli.inputs import flags, is_model, open_model, relative_errors, require_data, require_file
from elmonet.errors import FileError, InputError
from elmonet.summary import percent

__all__ = ["Pair", "compare", "pairs_with_best", "verdict"]

_CERTAINTY = 0.95
_ROUNDING = 1e-12  # errors below this differ by rounding alone


@dataclass(frozen=True)
class Pair:
    """The best model and another one; the errors of function i are e_i (the best's) and f_i.

    difference : ``mean_i (f_i - e_i)``, which is not negative.
    standard_error : of that mean, ``std_i (f_i - e_i) / sqrt(n)``; None if there is one function only.
        Some functions are hard for both models. Their difference does not contain that, so this is much
        less than the standard errors of the two means.
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
        """Whether chance gives such a difference in less than 5 % of cases (Student's t, both sides)."""
        from scipy.special import stdtrit

        if self.standard_error is None or self.difference == 0:
            return False
        quantile = stdtrit(self.functions - 1, (1 + _CERTAINTY) / 2)
        return bool(self.difference > quantile * self.standard_error)

    def in_words(self) -> str:
        """One sentence."""
        if self.difference == 0:
            return f"{self.better} and {self.worse} have the same error."
        if self.largest < _ROUNDING:
            return f"{self.better} and {self.worse} are both exact up to rounding."
        if self.standard_error is None:
            return (
                f"{self.better} has the lower error, by {percent(self.difference, 2)}, on this one function. "
                "More functions are needed to tell which model is better."
            )
        found = (
            f"the error is lower by {percent(self.difference, 2)} (standard error "
            f"{percent(self.standard_error, 1)}), on {self.better_on} of {self.functions} functions"
        )
        if self.clear:
            return f"{self.better} is better than {self.worse}: {found}."
        return f"{self.better} is not clearly better than {self.worse}: {found}."


def pairs_with_best(names: list[str], errors: list[Any]) -> list[Pair]:
    """The model with the lowest mean error against every other one, the nearest first.

    errors : for each model those of the functions, (N,); NaN where a function has no known value.
    """
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


def verdict(pairs: list[Pair]) -> str:
    """One sentence about all pairs with the best."""
    if len(pairs) == 1:
        return pairs[0].in_words()
    best = pairs[0].better
    near = [pair.worse for pair in pairs if not pair.clear or pair.largest < _ROUNDING]
    if not near:
        return f"Best: {best}."
    return f"Lowest error: {best}, but it is not clearly better than {', '.join(near)}."


_TIMED = 3  # predictions, of which the fastest counts
_LONG = 1.0  # seconds, after which one is enough
_COLUMNS = ("error", "worst", "expected", "seconds", "size")


def compare(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Two models or more, from elmonet fit, then one file of functions.",
            metavar="FILES",
        ),
    ],
    input: InputName = None,
    output: OutputName = None,
    points: PointsName = None,
    index: IndexName = None,
    transpose: Transpose = False,
    max_size: MaxSize = None,
    json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Print one JSON object and nothing else: data, functions, models (path, error, worst, "
            "worst_function, expected_error, seconds, bytes, training_functions), pairs (better, worse, "
            "better_on, functions, difference, standard_error, clear), verdict.",
        ),
    ] = False,
) -> None:
    """Compare the errors of saved models on the same functions.

    Shows for each model the mean and the largest relative error, the error that it expects, the seconds for
    all predictions and the size of its file. Then which is better, on how many functions, and by how much,
    with the standard error of that. If the file has test functions, these are used.

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
    told = Told(json)
    names = flags(locals())
    measured = [_measure(model, path, data, names) for model, path in zip(models, paths, strict=True)]
    _require_same_functions(measured, data)
    first = measured[0]
    told.line(f"{data}: {first.told}")
    told.line("".join(f"{column:>10}" for column in _COLUMNS) + "  model")
    for one in measured:
        told.line(one.row())
    for one in measured:
        if one.seen:
            told.line(
                f"note: {one.seen} of these are training functions of {one.path}; its error on new ones is "
                "larger."
            )
    pairs = pairs_with_best([str(one.path) for one in measured], [one.errors for one in measured])
    said = verdict(pairs)
    if len(pairs) > 1:
        told.line("\n".join(pair.in_words() for pair in pairs))
    told.line(said)
    told.fact(data=str(data), functions=len(first.errors), models=[one.facts() for one in measured])
    told.fact(pairs=[vars(pair) | {"clear": pair.clear} for pair in pairs], verdict=said)
    told.end()


@dataclass(frozen=True)
class _Measured:
    """What one model does on the functions of the file."""

    path: Path
    told: str
    errors: Any
    expected: float | None
    seconds: float
    seen: int

    def row(self) -> str:
        """A line of the table."""
        from elmonet.memory import readable

        facts = self.facts()
        errors = [facts["error"], facts["worst"], facts["expected_error"]]
        cells = ["-" if error is None else percent(error) for error in errors] + [f"{self.seconds:.3g}"]
        return "".join(f"{cell:>10}" for cell in (*cells, readable(facts["bytes"]))) + f"  {self.path}"

    def facts(self) -> dict[str, Any]:
        """The same for programs."""
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
            "training_functions": self.seen,
        }


def _measure(model: Any, path: Path, data: Path, names: dict[str, Any]) -> _Measured:
    import numpy as np

    from elmonet.cli.inputs import read_inputs, training_functions

    try:
        found = read_inputs(model, data, **names)
    except InputError as error:
        raise InputError(f"{str(path)!r} does not fit {str(data)!r}: {error}") from None
    if found.truth is None:
        raise InputError(
            f"models are compared with known output functions, and {str(data)!r} holds none for "
            f"{str(path)!r}: {found.why or 'there are input functions only.'}"
        )
    seconds: list[float] = []
    while len(seconds) < _TIMED and sum(seconds) < _LONG:
        begun = perf_counter()
        predicted = model.predict(found.u, points=found.points)
        seconds.append(perf_counter() - begun)
    errors = relative_errors(predicted, found.truth)
    if errors is None:
        raise InputError(
            f"{str(path)!r} predicts other output functions than {str(data)!r} holds, in number of values or "
            "in names of components. Say which to use: --output NAME."
        )
    if np.isnan(errors).all():
        raise InputError(f"{str(data)!r} holds no known output value: all are NaN.")
    expected = getattr(model, "expected_error_", None)
    seen = training_functions(model, found.u)[0]
    return _Measured(path, found.told, errors, expected, min(seconds), seen)


def _require_same_functions(measured: list[_Measured], data: Path) -> None:
    for one in measured[1:]:
        if len(one.errors) != len(measured[0].errors):
            raise InputError(
                f"in {str(data)!r}, {len(measured[0].errors)} functions fit {str(measured[0].path)!r} and "
                f"{len(one.errors)} fit {str(one.path)!r}. Say which to use: --input NAME --output NAME."
            )
