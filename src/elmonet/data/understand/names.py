"""How people name the arrays of an operator, and the arrays of a file by what their names say."""

from __future__ import annotations

import difflib
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from elmonet._check import InputError

__all__ = ["EVOLUTIONS", "PAIRS", "PARTS", "POINTS", "SENSORS", "Contents", "Names", "axis_rank", "n_points"]

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
