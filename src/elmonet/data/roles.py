"""Which array of a file is what: guessed from names and shapes, and said in plain sentences."""

from __future__ import annotations

import difflib
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from elmonet.errors import InputError

__all__ = [
    "EVOLUTIONS",
    "PAIRS",
    "PARTS",
    "POINTS",
    "SENSORS",
    "TRANSPOSE",
    "Axes",
    "Contents",
    "Names",
    "Roles",
    "axis_rank",
    "doubt",
    "n_points",
    "sentences",
]

Names = str | Sequence[str] | None

# Inputs and outputs that belong together, the more telling pairs first. Names without "train", "test", ...
_PAIRS = """
u s, branch output, branch outputs, branch target, branch_input output, branch_inputs outputs, input output,
inputs outputs, input target, inputs targets, coeff sol, nu tensor, f u, k u, a u, kappa u, u0 u, x y
"""
PAIRS = [(pair.split()[0], pair.split()[1]) for pair in _PAIRS.split(",")]
# One array over time: its first time is the input, the later ones are the output.
EVOLUTIONS = ("tensor", "data")
# In the order in which they are tried; each must also have a shape that fits.
POINTS = (
    *("points", "y", "trunk", "trunk_input", "trunk_inputs", "coords", "coordinates", "xy", "xt", "grid"),
    *("nodes", "mesh", "locations", "query_points", "x"),
)
SENSORS = ("sensors", "sensor_points", "x")
_INDEX = ("index", "idx", "indices", "function_index")
_AXES = [
    *("x", "y", "z", "r", "theta", "phi", "lat", "latitude", "lon", "longitude", "depth", "height", "level"),
    *("t", "time"),
]
_MOST_DIMENSIONS = 4

# Where training functions are looked for; a file may hold test functions only.
PARTS = ("train", "", "test")
_PART_WORDS = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("test", "testing"), "test"),
    **dict.fromkeys(("val", "vali", "valid", "validation"), "validation"),
}
_WORDS = "|".join(sorted(_PART_WORDS, key=len, reverse=True))
_APART = re.compile(rf"(?:^|[_\-./ ])({_WORDS})(?=[_\-./ \[\d]|$)")
_JOINED = re.compile(rf"(?<=^[a-z])({_WORDS})$")


def parse(name: str) -> tuple[str, str]:
    """A name without its part, and the part: "train", "test", "validation", or "" if it names none.

    >>> parse("X_train0"), parse("train/x"), parse("X[1]"), parse("f_vali")
    (('x0', 'train'), ('x', 'train'), ('x1', ''), ('f', 'validation'))
    """
    lower = name.lower()
    found = _APART.search(lower) or _JOINED.search(lower)
    part = _PART_WORDS[found[1]] if found else ""
    rest = lower[: found.start()] + lower[found.end() :] if found else lower
    return re.sub(r"[_\[]*(\d+)\]?$", r"\1", rest.strip("_-/. ")), part


def axis_rank(key: str) -> int | None:
    """The place of a coordinate's name in the usual order of axes; None if it is not a coordinate's name.

    >>> axis_rank("t-coordinate") > axis_rank("grid/x"), axis_rank("u")
    (True, None)
    """
    base = re.sub(r"^grid[/_]?|[-_]?(coordinates?|coords?|grid)$", "", key)
    return _AXES.index(base) if base in _AXES else None


def n_points(shape: Sequence[int]) -> int:
    """How many points an array of this shape lists: (n, d), (n,), (1, n) or a grid (..., d); 0 if none.

    >>> n_points((7, 2)), n_points((1, 7)), n_points((4, 3, 2)), n_points((7, 100))
    (7, 7, 12, 0)
    """
    if len(shape) < 2 or (len(shape) == 2 and shape[0] == 1 and shape[1] > 1):
        return math.prod(shape)
    return math.prod(shape[:-1]) if shape[-1] <= _MOST_DIMENSIONS else 0


class Contents:
    """The arrays of a file by what their names say.

    `columns`: the functions are in columns, which means that the last axis of inputs and outputs counts them.
    """

    def __init__(self, arrays: Mapping[str, Any], *, index: Names = None, columns: bool = False):
        parsed = {name: parse(name) for name in arrays}
        often = Counter(parsed.values())
        # Names that differ in upper and lower case only keep it.
        self.key = {name: key if often[key, part] == 1 else name for name, (key, part) in parsed.items()}
        self.part = {name: part for name, (_, part) in parsed.items()}
        self.arrays, self.columns = arrays, columns
        self._name = {(self.key[name], self.part[name]): name for name in arrays}
        self.index = self.asked(index, "index")

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of an array as it is in the file."""
        return tuple(int(n) for n in self.arrays[name].shape)

    def functions_first(self, name: str) -> tuple[int, ...]:
        """The shape of inputs or outputs with the axis that counts the functions first, (N, ...)."""
        return self._first(self.shape(name))

    def dims(self, name: str) -> tuple[str, ...]:
        """The names of the axes in `functions_first`, if the file says them."""
        return self._first(getattr(self.arrays, "dims", {}).get(name, ()))

    def _first(self, axes: tuple[Any, ...]) -> tuple[Any, ...]:
        return (*axes[-1:], *axes[:-1]) if self.columns else axes

    def get(self, key: str, part: str) -> str | None:
        """The array of this name in this part."""
        return self._name.get((key, part))

    def first(self, keys: Iterable[str], *parts: str) -> list[str]:
        """The arrays of these names, each in the first of the parts that has it."""
        found = ((self.get(key, part) for part in parts) for key in keys)
        return [name for names in found if (name := next(filter(None, names), None)) is not None]

    def numbered(self, key: str, part: str) -> list[str]:
        """The arrays key0, key1, ... of a part."""
        names: list[str] = []
        while (name := self.get(f"{key}{len(names)}", part)) is not None:
            names.append(name)
        return names

    def nested(self, key: str, part: str) -> dict[str, str]:
        """The arrays key.a, key.b, ... of a part, as a: name."""
        inside = ((k.removeprefix(f"{key}."), k, p, name) for (k, p), name in self._name.items())
        return {short: name for short, k, p, name in inside if p == part and short != k}

    def index_of(self, n_values: int, part: str) -> str | None:
        """The array that says to which function each of `n_values` values belongs."""
        names = self.index or self.first(_INDEX, part, "")
        return next((name for name in names if n_points(self.shape(name)) == n_values), None)

    def asked(self, names: Names, flag: str) -> list[str]:
        """The arrays that an option names, in full or without "train", "test", ..."""
        return [self._asked(name, flag) for name in ([names] if isinstance(names, str) else names or ())]

    def _asked(self, name: str, flag: str) -> str:
        found = [name] if name in self.arrays else self.first([name, name.lower()], *PARTS)
        if found:
            return found[0]
        close = difflib.get_close_matches(name, list(self.arrays), n=1, cutoff=0.4)
        raise InputError(
            f"--{flag} {name}: there is no such array."
            + (f" Did you mean {close[0]!r}?" if close else "")
            + f" There are: {self.listed()}."
        )

    def listed(self, names: Iterable[str] | None = None) -> str:
        """Some arrays, or all, with their shapes."""
        chosen = self.arrays if names is None else names
        return ", ".join(f"{name} {self.shape(name)}" for name in chosen) or "none at all"


Axes = str | tuple[str | None, ...] | None
TRANSPOSE = "--transpose, or in Python read(file, transpose=True)"
_MOST_LISTED = 20


@dataclass(frozen=True)
class Roles:
    """Names of the arrays in their roles.

    Inputs are one name, or a dict of names for several input functions; outputs are one name, or a list for
    the components of a vector. `points` and `sensors` are one name, or one for each axis of a grid (None
    where an axis has no coordinates). `index` says to which function a value belongs, where each has its own
    point.
    """

    u_train: str | dict[str, str]
    s_train: str | list[str]
    u_test: str | dict[str, str] | None = None
    s_test: str | list[str] | None = None
    points: Axes = None
    sensors: Axes = None
    index: str | None = None
    points_test: str | None = None
    index_test: str | None = None
    scattered: bool = False
    """Each value has its own point. Without an index the inputs are repeated for each value."""
    evolution: bool = False
    """Inputs and outputs are the same array over time: its first time, and the later ones."""
    components: bool = False
    """The last axis of the outputs holds the components of a vector."""
    transpose: bool = False
    """The functions are in columns: the last axis of inputs and outputs counts them."""
    doubt: str = field(default="", compare=False)
    """Why the functions may be in columns although they are taken as rows."""
    reasons: tuple[str, ...] = field(default=(), compare=False)

    @property
    def places_fit(self) -> bool:
        """Whether points or sensors are in the file, for every axis."""
        return _complete(self.points) or _complete(self.sensors)


def doubt(arrays: Mapping[str, Any], roles: Roles, in_columns: Roles) -> str:
    """Why functions that are taken as rows may be columns, for which points or sensors fit; "" if not."""
    if (roles.u_train, roles.s_train) != (in_columns.u_train, in_columns.s_train):
        return ""
    u, s = (arrays[_names(names)[0]] for names in (roles.u_train, roles.s_train))
    if roles.scattered:
        # Values with their own points have few components, the inputs many sensors: as many of both is odd.
        if roles.index is not None or s.ndim != 2 or s.shape[1] == 1 or u.shape[1:] != s.shape[1:]:
            return ""
    elif roles.evolution or roles.places_fit:
        return ""
    fits = in_columns.points if _complete(in_columns.points) else in_columns.sensors
    return (
        f"{_show(arrays, [*_names(roles.u_train), *_names(roles.s_train)])} are taken as {s.shape[0]} "
        f"functions, one per row, but {_places(arrays, fits)} fits their columns and not their rows. If each "
        f"column is a function: {TRANSPOSE}."
    )


def sentences(arrays: Mapping[str, Any], roles: Roles) -> tuple[str, ...]:
    """What was taken as what, and what was left out."""
    show = partial(_show, arrays)
    said = [f"input functions: {show(roles.u_train)}"]
    if roles.evolution:
        said = [f"input functions: the first time of {show(roles.u_train)}"]
        said.append(f"output functions: the later times of {show(roles.s_train)}")
    elif roles.scattered:
        how = f"by {show(roles.index)}" if roles.index else "by equal inputs"
        said.append(f"scattered outputs, each value at its own point: {show(roles.s_train)}, assigned {how}")
    else:
        several = "components of the output" if isinstance(roles.s_train, list) else "output functions"
        said.append(f"{several}: {show(roles.s_train)}")
    if roles.transpose:
        said.append("each column is a function, as --transpose says")
    if roles.doubt:
        said.append(f"look here: {roles.doubt}")
    if roles.u_test is not None:
        said.append(f"test functions: {show(roles.u_test)} -> {show(roles.s_test)}")
    missing = " in the file; --points gives them" if roles.points is None else ""
    said.append(f"points: {_places(arrays, roles.points)}{missing}")
    said.append(f"sensors: {_places(arrays, roles.sensors)}")
    if roles.components and not isinstance(roles.s_train, list):
        said.append(f"components: the last axis of {roles.s_train}")
    used = {name for key, value in vars(roles).items() if key != "doubt" for name in _names(value)}
    ignored = [name for name in arrays if name not in used]
    if ignored:
        said.append(f"ignored: {', '.join(ignored)}")
    if skipped := getattr(arrays, "skipped", None):
        more = " ..." if len(skipped) > _MOST_LISTED else ""
        said.append(f"not arrays of numbers: {', '.join(skipped[:_MOST_LISTED])}{more}")
    return tuple(said)


def _complete(names: Axes) -> bool:
    return isinstance(names, str) or (names is not None and None not in names)


def _show(arrays: Mapping[str, Any], names: Any) -> str:
    return " and ".join(f"{name} {tuple(arrays[name].shape)}" for name in _names(names))


def _places(arrays: Mapping[str, Any], names: Any) -> str:
    if names is None:
        return "none"
    each = [names] if isinstance(names, str) else names
    said = [f"{n} {tuple(arrays[n].shape)}" if n else "an axis spaced evenly from 0 to 1" for n in each]
    return said[0] if len(said) == 1 else f"the grid of {', '.join(said[:-1])} and {said[-1]}"


def _names(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    values = value.values() if isinstance(value, Mapping) else value
    return [n for n in values if isinstance(n, str)] if isinstance(value, (Mapping, list, tuple)) else []
