"""Roles of the arrays in a file: naming conventions, the roles themselves, and sentences about them."""

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

Names = str | Sequence[str] | None
Axes = str | tuple[str | None, ...] | None

# Names of inputs and outputs that belong together, without "train", "test", ...; specific pairs first.
_PAIRS = """
u s, branch output, branch outputs, branch target, branch_input output, branch_inputs outputs, input output,
inputs outputs, input target, inputs targets, coeff sol, nu tensor, f u, k u, a u, kappa u, u0 u, x y
"""
PAIRS = [(pair.split()[0], pair.split()[1]) for pair in _PAIRS.split(",")]
# One array over time: its first time step is the input, the later ones are the output.
EVOLUTIONS = ("tensor", "data")
# In the order in which they are tried; the shape must match as well.
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
MAX_DIMENSION = 4  # of the points; an array of more columns is not a list of points

# In the order in which training functions are looked for: a file may hold only a test set.
PARTS = ("train", "", "test")
_PART_WORDS = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("test", "testing"), "test"),
    **dict.fromkeys(("val", "vali", "valid", "validation"), "validation"),
}
_WORDS = "|".join(sorted(_PART_WORDS, key=len, reverse=True))
_SEPARATE_PART = re.compile(rf"(?:^|[_\-./ ])({_WORDS})(?=[_\-./ \[\d]|$)")
_JOINED_PART = re.compile(rf"(?<=^[a-z])({_WORDS})$")
_AXIS_AFFIXES = re.compile(r"^.*[/.]|^grid_|[-_]?(coordinates?|coords?|grid)$", re.IGNORECASE)
_MAX_LISTED = 20  # names of skipped arrays in one sentence


def parse(name: str) -> tuple[str, str]:
    """Split a name into a lower-case key and the part: "train", "test", "validation", or "" if none is named.

    >>> parse("X_train0"), parse("train/x"), parse("X[1]"), parse("f_vali")
    (('x0', 'train'), ('x', 'train'), ('x1', ''), ('f', 'validation'))
    """
    label, part = split_part(name)
    return _key(label), part


def _key(label: str) -> str:
    return re.sub(r"[_\[]*(\d+)\]?$", r"\1", label.lower())


def split_part(name: str) -> tuple[str, str]:
    """Split a name into itself without the word for its part, and the part.

    >>> split_part("T_bc_train"), split_part("train/K0"), split_part("X[0]")
    (('T_bc', 'train'), ('K0', 'train'), ('X0', ''))
    """
    found = _SEPARATE_PART.search(name.lower()) or _JOINED_PART.search(name.lower())
    rest = name[: found.start()] + name[found.end() :] if found else name
    label = re.sub(r"\[(\d+)\]$", r"\1", rest.strip("_-/. "))
    return label or name, _PART_WORDS[found[1]] if found else ""


def axis_rank(key: str) -> int | None:
    """Return the position of a coordinate in the usual order of axes; None if it is not a coordinate.

    >>> axis_rank("t-coordinate") > axis_rank("grid/x"), axis_rank("u")
    (True, None)
    """
    base = re.sub(r"^grid[/_]?|[-_]?(coordinates?|coords?|grid)$", "", key)
    return _AXES.index(base) if base in _AXES else None


def n_points(shape: Sequence[int]) -> int:
    """Return how many points an array of shape (n, d), (n,), (1, n) or (..., d) lists; 0 if it cannot.

    >>> n_points((7, 2)), n_points((1, 7)), n_points((4, 3, 2)), n_points((7, 100))
    (7, 7, 12, 0)
    """
    if len(shape) < 2 or (len(shape) == 2 and shape[0] == 1 and shape[1] > 1):
        return math.prod(shape)
    return math.prod(shape[:-1]) if shape[-1] <= MAX_DIMENSION else 0


def _without_folder(names: Iterable[str]) -> dict[str, str]:
    """Return names without a folder that all are in, such as a struct of MATLAB; "train/" counts as a part.

    >>> _without_folder(["run/u", "run/s"])["run/u"], _without_folder(["train/u", "train/s"])["train/u"]
    ('u', 'train/u')
    """
    folders = {name.rpartition("/")[0] for name in names}
    only = folders.pop() if len(folders) == 1 else ""
    return {name: name if split_part(only)[1] else name.removeprefix(f"{only}/") for name in names}


class Contents:
    """The arrays of a file, by the key and part that their names give.

    `columns`: each column is a function, so that the last axis of inputs and outputs counts the functions.
    """

    def __init__(self, arrays: Mapping[str, Any], *, index: Names = None, columns: bool = False):
        own = _without_folder(arrays)
        parsed = {name: parse(own[name]) for name in arrays}
        counts = Counter(parsed.values())
        # Names that differ only in case keep their case.
        self.key = {name: key if counts[key, part] == 1 else name for name, (key, part) in parsed.items()}
        self.label = {n: split_part(own[n])[0] if counts[parsed[n]] == 1 else n for n in arrays}
        self.part = {name: part for name, (_, part) in parsed.items()}
        self.arrays, self.columns = arrays, columns
        self._name = {(self.key[name], self.part[name]): name for name in arrays}
        self.index = self.asked(index, "index")

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of an array as it is in the file."""
        return tuple(int(n) for n in self.arrays[name].shape)

    def functions_first(self, name: str) -> tuple[int, ...]:
        """Return the shape (N, ...) of inputs or outputs, with the axis that counts the functions first."""
        return self._first(self.shape(name))

    def dims(self, name: str) -> tuple[str, ...]:
        """Return the names of the axes of `functions_first`, if the file has them."""
        return self._first(getattr(self.arrays, "dims", {}).get(name, ()))

    def _first(self, axes: tuple[Any, ...]) -> tuple[Any, ...]:
        return (*axes[-1:], *axes[:-1]) if self.columns else axes

    def get(self, key: str, part: str) -> str | None:
        """Return the name of the array with this key in this part."""
        return self._name.get((key, part))

    def first(self, keys: Iterable[str], *parts: str) -> list[str]:
        """Return the arrays with these keys, each from the first of the parts that has it."""
        found = ((self.get(key, part) for part in parts) for key in keys)
        return [name for names in found if (name := next(filter(None, names), None)) is not None]

    def numbered(self, key: str, part: str) -> list[str]:
        """Return the arrays key0, key1, ... of a part."""
        names: list[str] = []
        while (name := self.get(f"{key}{len(names)}", part)) is not None:
            names.append(name)
        return names

    def nested(self, key: str, part: str) -> dict[str, str]:
        """Return the arrays key.a, key.b, ... of a part, by a, b, ..."""
        inside = [name for (k, p), name in self._name.items() if p == part and k.startswith(f"{key}.")]
        return {self.label[name][len(key) + 1 :]: name for name in inside}

    def index_of(self, n_values: int, part: str) -> str | None:
        """Return the array that assigns each of `n_values` values to a function."""
        names = self.index or self.first(_INDEX, part, "")
        return next((name for name in names if n_points(self.shape(name)) == n_values), None)

    def asked(self, names: Names, flag: str) -> list[str]:
        """Return the arrays that an option names, in full or without "train", "test", ..."""
        return [self._asked(name, flag) for name in ([names] if isinstance(names, str) else names or ())]

    def find(self, name: str) -> str | None:
        """Return the array of this name, in full or without "train", "test", ...; None if there is none."""
        return name if name in self.arrays else next(iter(self.first([name, _key(name)], *PARTS)), None)

    def _asked(self, name: str, flag: str) -> str:
        found = self.find(name) or abbreviated(name, list(self.arrays))
        if found is not None:
            return found
        if name in getattr(self.arrays, "skipped", ()):
            raise InputError(
                f"--{flag} {name}: it holds no numbers. Convert dates and times to seconds, words to numbers."
            )
        close = difflib.get_close_matches(name, list(self.arrays), n=1, cutoff=0.4)
        raise InputError(
            f"--{flag} {name}: there is no such array."
            + (f" Did you mean {close[0]!r}?" if close else "")
            + f" There are: {self.listed()}."
        )

    def listed(self, names: Iterable[str] | None = None) -> str:
        """List some arrays, or all, with their shapes."""
        chosen = self.arrays if names is None else names
        return ", ".join(f"{name} {self.shape(name)}" for name in chosen) or "none at all"


def abbreviated(name: str, names: Sequence[str]) -> str | None:
    """Return the only one of some names that is short for a name, or that it is short for.

    >>> abbreviated("displacement", ["t", "force", "disp"])
    'disp'
    """
    asked, names = name.lower(), [each for each in names if each.isalpha()] if name.isalpha() else []
    fits = [
        each
        for each in names
        if min(len(each), len(asked)) > 2
        and (asked.startswith(each.lower()) or each.lower().startswith(asked))
    ]
    return fits[0] if len(fits) == 1 else None


TRANSPOSE = "--transpose, or in Python read(file, transpose=True)"


@dataclass(frozen=True)
class Roles:
    """Names of the arrays in their roles.

    Inputs are one name, or a dict of names for several input functions; outputs are one name, or a list of
    names for the components of a vector. `points` and `sensors` are one name, or one for each axis of a grid
    (None for an axis without coordinates), or of scattered outputs one for each coordinate. `index` assigns
    the values of scattered outputs to functions.
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
    """Each value has its own point. Without an index, the inputs are repeated for each value."""
    evolution: bool = False
    """Inputs and outputs are the first and the later time steps of one array."""
    components: bool = False
    """The last axis of the outputs holds the components of a vector."""
    transpose: bool = False
    """Each column is a function: the last axis of inputs and outputs counts the functions."""
    doubt: str = field(default="", compare=False)
    """Why the functions may be in columns although they are taken as rows; "" if there is no doubt."""
    reasons: tuple[str, ...] = field(default=(), compare=False)
    """What was taken as what, in sentences."""
    names: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """Options of `read` that find the same arrays again, also in a file of other functions."""

    @property
    def has_coordinates(self) -> bool:
        """Whether the file holds points or sensors, for every axis."""
        return _complete(self.points) or _complete(self.sensors)


def doubt_about_rows(arrays: Mapping[str, Any], roles: Roles, in_columns: Roles) -> str:
    """Say why functions that are taken as rows may be columns, whose coordinates match; "" if not."""
    if (roles.u_train, roles.s_train) != (in_columns.u_train, in_columns.s_train):
        return ""
    u, s = (arrays[_names(names)[0]] for names in (roles.u_train, roles.s_train))
    if roles.scattered:
        # Scattered values have few components and inputs many sensors, so equal numbers of both are suspect.
        if roles.index is not None or s.ndim != 2 or s.shape[1] == 1 or u.shape[1:] != s.shape[1:]:
            return ""
    elif roles.evolution or roles.has_coordinates:
        return ""
    matching = in_columns.points if _complete(in_columns.points) else in_columns.sensors
    return (
        f"{_show(arrays, [*_names(roles.u_train), *_names(roles.s_train)])} are taken as {s.shape[0]} "
        f"functions, one per row, but {_show_coordinates(arrays, matching)} fits their columns and not their "
        f"rows. If each column is a function: {TRANSPOSE}."
    )


def explain(arrays: Mapping[str, Any], roles: Roles) -> tuple[str, ...]:
    """Say in sentences what was taken as what, and what was left out."""
    show = partial(_show, arrays)
    sentences = [f"input functions: {show(roles.u_train)}"]
    if roles.evolution:
        sentences = [f"input functions: the first time step of {show(roles.u_train)}"]
        sentences.append(f"output functions: the later time steps of {show(roles.s_train)}")
    elif roles.scattered:
        how = f"by {show(roles.index)}" if roles.index else "by matching inputs"
        sentences.append(
            f"scattered outputs, each value at its own point: {show(roles.s_train)}, assigned {how}"
        )
    else:
        title = "components of the output" if isinstance(roles.s_train, list) else "output functions"
        sentences.append(f"{title}: {show(roles.s_train)}")
    if roles.transpose:
        sentences.append("each column is a function (--transpose)")
    if roles.doubt:
        sentences.append(f"please check: {roles.doubt}")
    if roles.u_test is not None:
        sentences.append(f"test functions: {show(roles.u_test)} -> {show(roles.s_test)}")
    missing = " in the file; give them with --points NAME or FILE" if roles.points is None else ""
    shown = show(roles.points) if roles.scattered else _show_coordinates(arrays, roles.points)
    sentences.append(f"points: {shown}{missing}")
    sentences.append(f"sensors: {_show_coordinates(arrays, roles.sensors)}")
    if roles.components and not isinstance(roles.s_train, list):
        sentences.append(f"components: the last axis of {roles.s_train}")
    about = ("doubt", "reasons", "names")
    sentences = [*getattr(arrays, "notes", ()), *sentences]
    used = {name for key, value in vars(roles).items() if key not in about for name in _names(value)}
    ignored = [name for name in arrays if name not in used]
    if ignored:
        sentences.append(f"ignored: {', '.join(ignored)}")
    if skipped := getattr(arrays, "skipped", None):
        more = " ..." if len(skipped) > _MAX_LISTED else ""
        sentences.append(f"not numeric arrays: {', '.join(skipped[:_MAX_LISTED])}{more}")
    return tuple(sentences)


def names_to_find(file: Contents, roles: Roles) -> dict[str, Any]:
    """Return the options of `read` that find the arrays of these roles, without "train", "test", ..."""
    found = {"input": _names(roles.u_train), "output": _names(roles.s_train), "index": _names(roles.index)}
    found |= {"points": _names(roles.points), "sensors": _names(roles.sensors)}
    names: dict[str, Any] = {flag: [file.label[name] for name in given] for flag, given in found.items()}
    for flag, axes in (("points", roles.points), ("sensors", roles.sensors)):
        if not _complete(axes):
            names.pop(flag)
    flags = {flag: given[0] if len(given) == 1 else given for flag, given in names.items() if given}
    return flags | ({"transpose": True} if roles.transpose else {})


def _complete(names: Axes) -> bool:
    return isinstance(names, str) or (names is not None and None not in names)


def _show(arrays: Mapping[str, Any], names: Any) -> str:
    return " and ".join(f"{name} {tuple(arrays[name].shape)}" for name in _names(names))


def _show_coordinates(arrays: Mapping[str, Any], names: Axes) -> str:
    if names is None:
        return "none"
    each = [names] if isinstance(names, str) else names
    shown = [_show(arrays, n) if n else "an evenly spaced axis from 0 to 1" for n in each]
    return shown[0] if len(shown) == 1 else f"the grid of {', '.join(shown[:-1])} and {shown[-1]}"


def _names(value: Any) -> list[str]:
    """Return the names in a role: one, or those in a list or dict."""
    if isinstance(value, str):
        return [value]
    values = value.values() if isinstance(value, Mapping) else value
    return [n for n in values if isinstance(n, str)] if isinstance(value, (Mapping, list, tuple)) else []


def axis_names(arrays: Any, points: Axes, dimension: int) -> tuple[str, ...] | None:
    """Return the names of the coordinates of points, as many as their dimension; None if the file has none.

    They are the names of a grid's axes, of the columns of a list of points, or letters, as in "xt".

    >>> axis_names({}, ("x-coordinate", "grid/t"), 2), axis_names({}, "xt", 2), axis_names({}, "time", 1)
    (('x', 't'), ('x', 't'), ('time',))
    >>> axis_names({}, "points", 2), axis_names({}, (None, "t"), 2)
    (None, None)
    """
    if points is None:
        return None
    if not isinstance(points, str):
        named = [None if name is None else _short(name) for name in points]
    elif labels := _column_labels(arrays, points):
        named = list(labels)
    else:
        key, _ = parse(points.rpartition("/")[2])
        letters = [key] if dimension == 1 else list(key)
        known = all(axis_rank(letter) is not None for letter in letters)
        named = ([_short(points)] if dimension == 1 else list(letters)) if known else []
    names = tuple(name for name in named if name)
    return names if len(names) == dimension == len(set(names)) else None


def _column_labels(arrays: Any, points: str) -> tuple[str, ...]:
    """Return the names that the file gives to the columns of a list of points."""
    dims = getattr(arrays, "dims", {}).get(points, ())
    labels = getattr(arrays, "labels", {}).get(dims[-1], ()) if dims else ()
    return labels or getattr(arrays, "columns", {}).get(points, ())


def _short(name: str) -> str:
    """Return a name without folders and affixes such as "grid", unless nothing is left."""
    return _AXIS_AFFIXES.sub("", _AXIS_AFFIXES.sub("", name)) or name
