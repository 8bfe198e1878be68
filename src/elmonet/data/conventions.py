"""How people name the arrays of an operator: tables, and the reading of names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["EVOLUTIONS", "INDEX", "PAIRS", "POINTS", "SENSORS", "Table", "axis_rank", "parse"]

# Inputs and outputs that belong together, the more telling pairs first. Names without "train", "test", ...
PAIRS = (
    ("u", "s"),
    ("branch", "output"),
    ("branch", "outputs"),
    ("branch", "target"),
    ("branch_input", "output"),
    ("branch_inputs", "outputs"),
    ("input", "output"),
    ("inputs", "outputs"),
    ("input", "target"),
    ("inputs", "targets"),
    ("coeff", "sol"),
    ("nu", "tensor"),
    ("f", "u"),
    ("k", "u"),
    ("a", "u"),
    ("kappa", "u"),
    ("u0", "u"),
    ("x", "y"),
)
# One array over time: its first time is the input, the later ones are the output.
EVOLUTIONS = ("tensor", "data")
# In the order in which they are tried; each must also have a shape that fits.
POINTS = (
    *("points", "y", "trunk", "trunk_input", "trunk_inputs", "coords", "coordinates", "xy", "xt", "grid"),
    *("nodes", "mesh", "locations", "query_points", "x"),
)
SENSORS = ("sensors", "sensor_points", "x")
INDEX = ("index", "idx", "indices", "function_index")

_AXES = [
    "x",
    "y",
    "z",
    "r",
    "theta",
    "phi",
    "lat",
    "latitude",
    "lon",
    "longitude",
    "depth",
    "height",
    "level",
    "t",
    "time",
]
_PARTS = {
    "train": "train",
    "training": "train",
    "test": "test",
    "testing": "test",
    "val": "validation",
    "vali": "validation",
    "valid": "validation",
    "validation": "validation",
}
_WORDS = "|".join(sorted(_PARTS, key=len, reverse=True))
_APART = re.compile(rf"(?:^|[_\-./ ])({_WORDS})(?=[_\-./ \[\d]|$)")
_JOINED = re.compile(rf"(?<=^[a-z])({_WORDS})$")


def parse(name: str) -> tuple[str, str]:
    """A name without its part, and the part: "train", "test", "validation", or "" if it names none.

    >>> parse("X_train0"), parse("train/x"), parse("X[1]"), parse("f_vali")
    (('x0', 'train'), ('x', 'train'), ('x1', ''), ('f', 'validation'))
    """
    lower = name.lower()
    found = _APART.search(lower) or _JOINED.search(lower)
    part = _PARTS[found[1]] if found else ""
    rest = lower[: found.start()] + lower[found.end() :] if found else lower
    return re.sub(r"[_\[]*(\d+)\]?$", r"\1", rest.strip("_-/. ")), part


def axis_rank(key: str) -> int | None:
    """The place of a coordinate's name in the usual order of axes; None if it is no such name.

    >>> axis_rank("t-coordinate") > axis_rank("grid/x"), axis_rank("u")
    (True, None)
    """
    base = re.sub(r"^grid[/_]?|[-_]?(coordinates?|coords?|grid)$", "", key)
    return _AXES.index(base) if base in _AXES else None


class Table:
    """The names of a file's arrays, by what they say."""

    def __init__(self, arrays: Mapping[str, Any]):
        parsed = {name: parse(name) for name in arrays}
        often = Counter(parsed.values())
        # Names that differ in upper and lower case only keep it.
        self.key = {name: key if often[key, part] == 1 else name for name, (key, part) in parsed.items()}
        self.part = {name: part for name, (_, part) in parsed.items()}
        self._name = {(self.key[name], self.part[name]): name for name in arrays}

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
        start = f"{key}."
        return {
            k[len(start) :]: name for (k, p), name in self._name.items() if p == part and k.startswith(start)
        }
