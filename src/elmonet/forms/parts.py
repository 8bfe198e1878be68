"""Parts of the inputs: functions and numbers of different kinds, each seen by the branch in its own way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from elmonet.description import Graph
from elmonet.errors import InputError

MAX_NUMBERS = 32  # numbers in one array that are told apart
_MIN_FUNCTIONS = 8  # below which correlations of neighbouring columns say nothing
_NEIGHBOURS = 0.5  # correlation of neighbouring sensors of one function, at least
_SHORT = 8  # sensors of a function that lies side by side with numbers, at least
_MAX_STRETCHES = 12  # parts found in an array without names
_LOG_TAIL = 6.0  # standard deviations between the mean and the smallest logarithm of positive inputs, at most
_FAR_FROM_ZERO = 0.05  # smallest positive value, relative to the largest, that cannot be zero by chance
_FACTOR = 2.0  # ratio of the largest and the smallest value from which on logarithms are tried
_SIZES_VARY = 3.0  # ratio of the 95 % and the 5 % quantile of amplitudes from which on they are split off
_ANGLES = (2 * np.pi, 360.0, 180.0)  # directions and orientations, from zero or around zero
_TIMES = (24.0, 365.25)  # hours of a day, days of a year: from zero
_TURN = 0.8  # part of a period that angles fill, at least
_LEAP = 366 / 365.25  # part of a period that they fill at most: days of a year are counted from one


@dataclass(frozen=True)
class InputPart:
    """One part of the inputs, a function or a number, and how the branch sees it.

    Parameters
    ----------
    name : name of the part.
    size : number of values.
    logarithm : take logarithms of the values, which must be positive.
    amplitude : split a function into its shape, ``u / a``, and the logarithm of its amplitude, a = max |u|.
    period : the values are angles of this period; the branch sees cosines and sines.
    relevance : factor on the standardised values: how much the part matters to distances of inputs. With
        `amplitude`, one for the shape and one for the amplitude. 0 hides the part from the branch.

    Examples
    --------
    >>> InputPart("frequency", 1, logarithm=True).seen(np.array([[1.0], [np.e]])).ravel()
    array([0., 1.])
    """

    name: str
    size: int
    logarithm: bool = False
    amplitude: bool = False
    period: float | None = None
    relevance: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.logarithm + self.amplitude + (self.period is not None) > 1:
            raise InputError(
                f"the input {self.name!r} can have one of logarithm, amplitude and period; it has several."
            )
        given = np.atleast_1d(np.asarray(self.relevance, float)).ravel()
        relevance = tuple(given.tolist()) or (1.0,) * self.groups
        if len(relevance) != self.groups or not all(0 <= r < np.inf for r in relevance):
            count = "one number" if self.groups == 1 else "two numbers (shape, amplitude)"
            raise InputError(
                f"the relevance of the input {self.name!r} must be {count}, not negative; got {relevance}."
            )
        object.__setattr__(self, "relevance", relevance)

    @property
    def groups(self) -> int:
        """Number of groups of columns with a relevance each: two with the amplitude split off, else one."""
        return 1 + self.amplitude

    @property
    def widths(self) -> tuple[int, ...]:
        """Number of columns that the branch sees, in each group."""
        if self.amplitude:
            return self.size, 1
        return (self.size,) if self.period is None else (2 * self.size,)

    def seen(self, values: np.ndarray) -> np.ndarray:
        """Return values (N, size) as columns (N, sum of `widths`), before scaling."""
        if self.logarithm:
            if not (values > 0).all():
                inputs, X = (
                    (f"the input {self.name!r}", repr(self.name)) if self.name else ("its inputs", "X")
                )
                raise InputError(
                    f"this model takes logarithms of {inputs}, which must all be positive; the smallest "
                    f"value of {X} is {values.min():.4g}. Fit with log_inputs=False (also in "
                    "AutoELMDeepONet), or add a constant to the inputs."
                )
            return np.log(values)
        if self.amplitude:
            size = np.abs(values).max(axis=1, keepdims=True)
            size = np.maximum(size, np.finfo(values.dtype).tiny)  # a function that is zero has the shape zero
            return np.hstack([values / size, np.log(size)])
        if self.period is not None:
            angles = values * (2 * np.pi / self.period)
            return np.hstack([np.cos(angles), np.sin(angles)])
        return values

    def trace(self, graph: Graph, x: int) -> int:
        """Write `seen` as array operations of value x, added to `graph`."""
        if self.logarithm:
            return graph.elementwise(x, "log")
        if self.amplitude:
            return graph.amplitude(x)
        if self.period is not None:
            angles = graph.scale(x, 2 * np.pi / self.period)
            return graph.concat([graph.elementwise(angles, "cos"), graph.elementwise(angles, "sin")])
        return x

    def alternatives(self, values: np.ndarray) -> list[InputPart]:
        """Return the other ways in which the branch may see training values (N, size), of relevance one."""
        ways: list[dict[str, Any]] = [{}]
        far_from_zero = values.min() > _FAR_FROM_ZERO * values.max()
        if positive_by_nature(values) and (far_from_zero or even_in_logarithms(values)):
            ways.append({"logarithm": True})
        if self.size > 1 and sizes_vary(values, _SIZES_VARY):
            ways.append({"amplitude": True})
        if self.size == 1:
            ways += [{"period": period} for period in _ANGLES + _TIMES if _fills_turn(values, period)]
        others = [InputPart(self.name, self.size, **way) for way in ways]
        return [part for part in others if part != replace(self, relevance=())]

    def describe(self) -> str:
        """Return how the branch sees the part, in words."""
        how = "logarithm" * self.logarithm or "amplitude split off" * self.amplitude
        if self.period is not None:
            how = f"angle of period {self.period:.4g}"
        return how or "unchanged"

    def to_json(self) -> dict[str, Any]:
        """Return the part for the header of a file."""
        return asdict(self)


def restored_parts(record: Sequence[Mapping[str, Any]] | None) -> tuple[InputPart, ...] | None:
    """Invert `InputPart.to_json` for the parts of a form."""
    if record is None:
        return None
    return tuple(InputPart(**{**part, "relevance": tuple(part["relevance"])}) for part in record)


def whole(
    size: int, names: Sequence[str] | None, shapes: Sequence[tuple[int, ...]] | None
) -> tuple[InputPart, ...]:
    """Return one part for each input of a dictionary, or one for a single input of so many values."""
    if names is None or shapes is None:
        return (InputPart("", size),)
    return tuple(InputPart(name, prod(shape)) for name, shape in zip(names, shapes, strict=True))


def parts_of_settings(
    given: Any, log_inputs: bool | Mapping[str, bool], parts: tuple[InputPart, ...]
) -> tuple[InputPart, ...] | None:
    """Return the parts that an estimator's settings `parts` and `log_inputs` ask for; None: as they are.

    `parts` are those of the inputs, one for each name.
    """
    size, names = sum(part.size for part in parts), [part.name for part in parts]
    if given is not None:
        given = tuple(given)
        if not all(isinstance(part, InputPart) for part in given):
            raise InputError(f"parts must be InputPart objects, such as InputPart('k', 1); got {given!r}.")
        if log_inputs:
            raise InputError(
                "log_inputs and parts were both given: set InputPart(logarithm=True) instead of log_inputs."
            )
        if sum(part.size for part in given) != size:
            listed = ", ".join(f"{part.name} ({part.size})" for part in given)
            raise InputError(f"parts must cover the {size} values of an input, in order; got {listed}.")
        return given
    if not isinstance(log_inputs, Mapping):
        return tuple(replace(part, logarithm=True) for part in parts) if log_inputs else None
    unknown = [str(name) for name in log_inputs if str(name) not in names]
    if unknown:
        known = ", ".join(map(repr, names)) if names != [""] else "a single array without a name"
        raise InputError(
            f"log_inputs names the input {unknown[0]!r}, but the inputs are {known}. Give a dictionary of "
            "arrays to fit, or log_inputs=True for all of them."
        )
    wanted = {str(name): bool(log) for name, log in log_inputs.items()}
    return tuple(replace(part, logarithm=wanted.get(part.name, False)) for part in parts)


def find_parts(
    X: np.ndarray,
    names: Sequence[str] | None,
    shapes: Sequence[tuple[int, ...]] | None,
    columns: Sequence[str] | None = None,
) -> tuple[InputPart, ...]:
    """Return the parts that training inputs X (N, ...) have: by name, and numbers that lie side by side.

    An array of a few columns whose neighbours are not correlated holds numbers, not values of a function; so
    do single columns beside a stretch of columns that are.
    """
    parts: list[InputPart] = []
    flat, start = X.reshape(len(X), -1), 0
    for part in whole(flat.shape[1], names, shapes):
        own, shape = flat[:, start : start + part.size], X.shape[1:] if names is None else (part.size,)
        start += part.size
        stretches = [(0, part.size)] if len(shape) > 1 else _stretches(own)
        if len(stretches) == 1:
            parts.append(part)
            continue
        for first, end in stretches:
            label = str(first) if end == first + 1 else f"{first}:{end}"
            if names is not None:
                label = f"{part.name}[{label}]"
            elif columns is not None and end == first + 1:
                label = columns[first]
            parts.append(InputPart(label, end - first))
    return tuple(parts)


def are_numbers(X: np.ndarray) -> bool:
    """Return whether an array X (N, ...) holds a few numbers side by side, not values of a function."""
    if X.ndim != 2 or not 1 < X.shape[1] <= MAX_NUMBERS:
        return False
    varying = X[:, X.max(axis=0) > X.min(axis=0)]
    return varying.shape[1] > 0 and len(_stretches(varying)) == varying.shape[1]


def column_sizes(parts: Sequence[InputPart]) -> list[int]:
    """Return the number of columns that the branch sees of each group of each part."""
    return [width for part in parts for width in part.widths]


def positive_by_nature(X: np.ndarray) -> bool:
    """Whether inputs vary by factors, with no value much closer to zero than the others.

    Logarithms of values that may as well be zero or negative have a long left tail.
    """
    if not (X > 0).all() or X.max() <= _FACTOR * X.min():
        return False
    logarithms = np.log(X)
    return bool(logarithms.mean() - logarithms.min() <= _LOG_TAIL * logarithms.std())


def even_in_logarithms(values: np.ndarray) -> bool:
    """Whether positive values spread more evenly to both sides of their mean in logarithms than as they are.

    Numbers between zero and one do not, even if none of them happens to be near zero.
    """

    def skewness(A: np.ndarray) -> float:
        return float(abs(np.mean((A - A.mean()) ** 3)) / np.std(A) ** 3)

    return skewness(np.log(values / values.max())) < skewness(values / values.max())


def sizes_vary(X: np.ndarray, factor: float) -> bool:
    """Whether amplitudes of functions X (N, m) vary by this factor, from their 5 to their 95 % quantile."""
    sizes = np.abs(X.reshape(len(X), -1)).max(axis=1)
    low, high = np.quantile(sizes, [0.05, 0.95])
    return bool(sizes.min() > 0 and high > factor * low)


def spacing(values: np.ndarray) -> float:
    """Return the median distance of neighbouring distinct values (N,); inf if all are equal."""
    distinct = np.unique(values)
    gaps = np.diff(distinct)
    gaps = gaps[gaps > 1e-6 * np.ptp(distinct)] if len(gaps) else gaps
    return float(np.median(gaps)) if len(gaps) else np.inf


def _stretches(X: np.ndarray) -> list[tuple[int, int]]:
    """Return the stretches (start, end) of columns of X (N, m) that belong together."""
    m, all_columns = X.shape[1], [(0, X.shape[1])]
    if m == 1 or len(X) < _MIN_FUNCTIONS:
        return all_columns
    largest = np.abs(X).max(axis=0)
    centred = X / np.where(largest > 0, largest, 1.0)  # sums of 1e308 have no room
    centred -= centred.mean(axis=0)
    centred /= np.maximum(np.abs(centred).max(axis=0), np.finfo(float).tiny)
    norms = np.linalg.norm(centred, axis=0)
    products = np.abs(np.einsum("ij,ij->j", centred[:, 1:], centred[:, :-1]))
    constant = (norms[1:] == 0) | (norms[:-1] == 0)  # such as a boundary value, which belongs to its function
    cuts = ~constant & (products < _NEIGHBOURS * norms[1:] * norms[:-1])
    ends = [0, *(np.flatnonzero(cuts) + 1).tolist(), m]
    found = list(pairwise(ends))
    lengths = [end - start for start, end in found]
    if max(lengths) == 1:  # numbers
        return found if m <= MAX_NUMBERS else all_columns
    functions = [length for length in lengths if length >= _SHORT]
    # Stretches of equal length are the rows of an image.
    mixed = functions and len(set(functions)) == len(functions) and len(found) <= _MAX_STRETCHES
    return found if mixed else all_columns


def _fills_turn(values: np.ndarray, period: float) -> bool:
    """Whether numbers fill one turn of this period, from zero or (angles) around zero, and no more."""
    low, high = float(values.min()), float(values.max())
    starts = (0.0, -period / 2) if period in _ANGLES else (0.0,)
    inside = any(start <= low and high <= start + period * _LEAP for start in starts)
    return inside and high - low >= _TURN * period
