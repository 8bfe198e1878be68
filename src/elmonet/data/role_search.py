"""Infer the roles of the arrays in a file from their names and shapes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from elmonet.data.lazy import COMPONENT_DIMS
from elmonet.data.roles import (
    EVOLUTIONS,
    MAX_DIMENSION,
    PAIRS,
    PARTS,
    POINTS,
    SENSORS,
    TRANSPOSE,
    Axes,
    Contents,
    Names,
    Roles,
    axis_rank,
    doubt_about_rows,
    explain,
    n_points,
    names_to_find,
)
from elmonet.errors import InputError

_ONLY_POINTS = ("points", "coords", "coordinates", "locations", "query_points")  # names of nothing else
_MAX_COMPONENTS = 16  # of a vector; a longer last axis belongs to a grid
_TIME_RANK = axis_rank("t") or 0  # axes of this rank and beyond are times


@dataclass(frozen=True)
class FunctionArrays:
    """Names of the arrays: one for each input function, one for each component of the output.

    `part` is "train", "test" or "", as the names say; `points` is set if a convention names them too.
    """

    inputs: dict[str, str]
    outputs: list[str]
    part: str
    points: str | None = None

    @property
    def u(self) -> Any:
        """Name of the inputs, or a dict of names for several input functions."""
        return dict(self.inputs) if len(self.inputs) > 1 else next(iter(self.inputs.values()))

    @property
    def s(self) -> Any:
        """Name of the outputs, or a list of names for components."""
        return self.outputs if len(self.outputs) > 1 else self.outputs[0]

    @property
    def evolution(self) -> bool:
        """Whether inputs and outputs are one array over time."""
        return list(self.inputs.values()) == self.outputs


def find_roles(
    arrays: Mapping[str, Any],
    *,
    input: Names = None,
    output: Names = None,
    points: Names = None,
    sensors: Names = None,
    index: str | None = None,
    transpose: bool = False,
) -> Roles:
    """Find inputs, outputs and coordinates among named arrays; what is given by name overrules the search.

    `transpose`: each column is a function, not each row. Raises an `InputError` that lists every array if
    nothing matches.

    >>> import numpy as np
    >>> roles = find_roles({"f": np.ones((5, 8)), "u": np.ones((5, 3)), "t": np.ones(3), "note": np.ones(1)})
    >>> print(*roles.reasons, sep="; ")
    input functions: f (5, 8); output functions: u (5, 3); points: t (3,); sensors: none; ignored: note
    """
    names = {"input": input, "output": output, "points": points, "sensors": sensors}
    in_columns = None if transpose else _in_columns(arrays, names, index)
    try:
        roles = _search(Contents(arrays, index=index, columns=transpose), names)
    except InputError as error:
        if in_columns is None:
            raise
        raise InputError(f"{error} It fits with each column as a function: {TRANSPOSE}.") from None
    if in_columns is not None:
        roles = replace(roles, doubt=doubt_about_rows(arrays, roles, in_columns))
    if roles.points is None and not roles.doubt:
        _refuse_other_points(Contents(arrays, columns=transpose), roles)
    return replace(
        roles, reasons=explain(arrays, roles), names=names_to_find(Contents(arrays, columns=transpose), roles)
    )


def _refuse_other_points(file: Contents, roles: Roles) -> None:
    """Raise if the file has points by name, but as many as fit no axis of the outputs."""
    s = roles.s_train if isinstance(roles.s_train, str) else roles.s_train[0]
    sizes = file.functions_first(s)[1:]
    for name in file.first(_ONLY_POINTS, file.part[s], ""):
        count = n_points(file.shape(name))
        if count not in (*sizes, math.prod(sizes[1:])) and math.prod(sizes) > 1:
            raise InputError(
                f"{file.listed([name])} does not fit the outputs {file.listed([s])}: expected "
                f"({math.prod(sizes)}, d), one point for each value of a function, got "
                f"{count or file.shape(name)}. Correct the file, or name other points: --points NAME, in "
                "Python read(file, points=...)."
            )


def _in_columns(arrays: Mapping[str, Any], names: dict[str, Names], index: Names) -> Roles | None:
    """Return the roles with each column as a function, if points or sensors then match; else None."""
    try:
        roles = _search(Contents(arrays, index=index, columns=True), names)
    except InputError:
        return None
    return roles if roles.has_coordinates and not roles.scattered and not roles.evolution else None


def _search(file: Contents, names: dict[str, Names]) -> Roles:
    given = {flag: file.asked(name, flag) for flag, name in names.items()}
    found = _find_functions(file, given["input"], given["output"])
    roles = Roles(found.u, found.s, evolution=found.evolution, transpose=file.columns)
    roles = _with_points(file, found, roles, given["points"])
    roles = _with_sensors(file, found, roles, given["sensors"])
    return _with_test(file, found, roles)


def _with_test(file: Contents, found: FunctionArrays, roles: Roles) -> Roles:
    """Add the test functions of the same names, if their shapes match."""

    def test_of(name: Any) -> str | None:
        return file.get(file.key[name], "test") if isinstance(name, str) else None

    train = [*found.inputs.values(), *found.outputs]
    names = [name for name in map(test_of, train) if name is not None]
    if found.part == "test" or len(names) < len(train) or any(0 in (file.shape(n) or [0]) for n in names):
        return roles
    alike = [
        file.functions_first(a)[1:] == file.functions_first(b)[1:] for a, b in zip(train, names, strict=True)
    ]
    k = len(found.inputs)
    points, index = test_of(roles.points), test_of(roles.index)
    how = _match(n_points(file.shape(points)), file.functions_first(names[k])) if points else None
    if roles.scattered:
        fits = how == "scattered" and (index is None) == (roles.index is None)
    else:
        fits = alike[k] or how == "aligned"
        points = points if how in ("aligned", "components") else None
    if not fits or not all(alike[:k]):
        return roles
    test = FunctionArrays(dict(zip(found.inputs, names[:k], strict=True)), names[k:], "test")
    return replace(roles, u_test=test.u, s_test=test.s, points_test=points, index_test=index)


def _find_functions(file: Contents, inputs: list[str], outputs: list[str]) -> FunctionArrays:
    """Return the functions that are named, completed or found by a convention."""
    if not file.arrays:
        raise InputError(
            "the file holds no array of numbers. It must hold input and output functions, one per row."
        )
    found = _guess(file, inputs, outputs)
    if found is None:
        row = "column" if file.columns else "row (with --transpose, per column)"
        if unequal := _unequal_pair(file, inputs, outputs):
            _require_values(file, unequal)
            raise InputError(_unequal_counts(file, *unequal))
        raise InputError(
            "cannot tell which arrays are the input and the output functions. Both hold one function per "
            f"{row}. There are: {file.listed()}. Say which: --input NAME --output NAME --points NAME, or in "
            "Python read(file, input=..., output=..., points=...)."
        )
    _require_values(file, (*found.inputs.values(), *found.outputs))
    for u in found.inputs.values():
        if not _matches(file, u, found.outputs[0], found.part):
            raise InputError(_unequal_counts(file, u, found.outputs[0]))
    if len({file.shape(name) for name in found.outputs}) > 1:
        raise InputError(
            f"components of the output must have the same shape, got {file.listed(found.outputs)}."
        )
    shape = file.functions_first(found.outputs[0])
    if found.evolution and (len(shape) < 3 or shape[1] < 2):
        raise InputError(
            f"{found.outputs[0]} is both input and output. It is then taken as a time series, (N, T, ...), "
            f"of two time steps or more; got {shape}."
        )
    return found


def _guess(file: Contents, inputs: list[str], outputs: list[str]) -> FunctionArrays | None:
    if inputs and outputs:
        return FunctionArrays(_keyed(file, inputs), outputs, file.part[outputs[0]])
    if inputs or outputs:
        return _completed(file, inputs, outputs)
    found = (rule(file, part) for part in PARTS for rule in (_numbered, _nested, _paired, _evolution))
    return next((functions for functions in found if functions is not None), None) or _by_dimensions(file)


def _require_values(file: Contents, names: tuple[str, ...]) -> None:
    for name in names:
        if not file.shape(name) or 0 in file.shape(name):
            raise InputError(
                f"{name} is empty: its shape is {file.shape(name)}. It must hold functions, one per row."
            )


def _unequal_pair(file: Contents, inputs: list[str], outputs: list[str]) -> tuple[str, str] | None:
    """Return inputs and outputs of the usual names, or as named, that only their numbers keep apart."""
    for part in PARTS:
        for u_key, s_key in PAIRS:
            u = inputs[0] if inputs else file.get(u_key, part)
            s = outputs[0] if outputs else file.get(s_key, part)
            is_list = u is not None and u_key == "x" and not inputs and n_points(file.shape(u))
            if u is not None and s is not None and u != s and not is_list and not _matches(file, u, s, part):
                return u, s
    return None


def _unequal_counts(file: Contents, u: str, s: str) -> str:
    n_u, n_s = ((*file.functions_first(name), 0)[0] for name in (u, s))
    kind = "column" if file.columns else "row"
    return (
        f"the inputs {file.listed([u])} and the outputs {file.listed([s])} must hold the same number of "
        f"functions, got {n_u} and {n_s}. {kind.title()} i of {s} is the output of {kind} i of {u}: remove "
        "those without a partner, or say which arrays to take: --input NAME --output NAME, in Python "
        "read(file, input=..., output=...). Scattered outputs need an --index."
    )


def _completed(file: Contents, inputs: list[str], outputs: list[str]) -> FunctionArrays | None:
    """Pair what is named with its usual partner, else with any that has as many functions."""
    at, given = (0, inputs[0]) if inputs else (1, outputs[0])
    part = file.part[given]
    usual = [pair[1 - at] for pair in PAIRS if pair[at] == file.key[given]]
    for name in file.first(dict.fromkeys([*usual, *(pair[1 - at] for pair in PAIRS)]), part):
        u, s = inputs or [name], outputs or [name]
        if name not in (*inputs, *outputs) and _matches(file, u[0], s[0], part):
            if not inputs and _other_numbers(file, name, outputs):
                return None
            return FunctionArrays(_keyed(file, u), s, part)
    return None


def _other_numbers(file: Contents, name: str, outputs: list[str]) -> list[str]:
    """Return columns of numbers that may be inputs as well as a column of numbers with a usual name."""
    shape = file.shape(name)
    others = (other for other in file.arrays if other not in (name, *outputs) and file.shape(other) == shape)
    return [other for other in others if len(shape) == 1 and axis_rank(file.key[other]) is None]


def _numbered(file: Contents, part: str) -> FunctionArrays | None:
    """Find DeepXDE's X0, X1, ... and y, where the last X are the points."""
    names, output = file.numbered("x", part), file.get("y", part)
    if len(names) < 2 or output is None or not _matches(file, names[0], output, part):
        return None
    return FunctionArrays(_keyed(file, names[:-1]), [output], part, points=names[-1])


def _nested(file: Contents, part: str) -> FunctionArrays | None:
    """Find several inputs u.a, u.b, ... and s."""
    inputs, output = file.nested("u", part), file.get("s", part)
    return FunctionArrays(inputs, [output], part) if inputs and output is not None else None


def _paired(file: Contents, part: str) -> FunctionArrays | None:
    """Find the first of the usual pairs."""
    for u_key, s_key in PAIRS:
        u, s = file.get(u_key, part), file.get(s_key, part)
        if u is None or s is None or not _matches(file, u, s, part):
            continue
        shape = file.functions_first(u)
        if (u_key, part) == ("x", "") and len(shape) < 3 and max(shape[-1:], default=0) <= MAX_DIMENSION:
            continue  # these are coordinates
        return FunctionArrays(_keyed(file, [u]), [s], part)
    return None


def _evolution(file: Contents, part: str) -> FunctionArrays | None:
    """Find one array (N, T, ...) over time."""
    for name in file.first(EVOLUTIONS, part):
        shape = file.functions_first(name)
        if len(shape) > 2 and shape[1] > 1:
            return FunctionArrays(_keyed(file, [name]), [name], part)
    return None


def _by_dimensions(file: Contents) -> FunctionArrays | None:
    """Find the one array with the most values for each entry of a named dimension; the others are inputs.

    Only where the file names its dimensions, and no two arrays are of that size.
    """
    dims = getattr(file.arrays, "dims", {})
    functions = [name for name in file.arrays if dims.get(name) and dims[name] != (name,)]
    if len(functions) < 2 or file.columns or len({dims[name][0] for name in functions}) > 1:
        return None
    first = dims[functions[0]][0]
    sizes = {name: math.prod(file.shape(name)[1:]) for name in functions if first not in dims[name][1:]}
    largest = max(sizes.values(), default=0)
    outputs = [name for name, size in sizes.items() if size == largest]
    inputs = [name for name in functions if name not in outputs]
    if len(outputs) != 1 or not inputs or largest < 2 or len(sizes) < len(functions):
        return None
    return FunctionArrays(_keyed(file, inputs), outputs, file.part[outputs[0]])


def _keyed(file: Contents, names: list[str]) -> dict[str, str]:
    """Return names without "train", "test", ... -> names, or by themselves if such keys repeat."""
    keys = {file.label[name]: name for name in names}
    return keys if len(keys) == len(names) else {name: name for name in names}


def _matches(file: Contents, u: str, s: str, part: str) -> bool:
    """Return whether there are as many inputs as outputs, or an index that assigns outputs to inputs."""
    n_u, n_s = ((*file.functions_first(name), 0)[0] for name in (u, s))
    return n_u > 0 if n_u == n_s else file.index_of(n_s, part) is not None


def _match(points: int, shape: Sequence[int]) -> str | None:
    """Return how a number of points matches outputs of this shape; None if it does not.

    "aligned": all functions (N, ...) share the points; "components": the same, with several values per point
    in the last axis; "scattered": each value has its own point.

    >>> _match(800, (5, 40, 20)), _match(40, (5, 40, 2)), _match(5, (5,)), _match(7, (5, 8))
    ('aligned', 'components', 'scattered', None)
    """
    if points == math.prod(shape[1:]) and len(shape) > 1:
        return "aligned"
    if len(shape) > 2 and points == math.prod(shape[1:-1]):
        return "components"
    few = math.prod(shape[1:]) <= _MAX_COMPONENTS and len(shape) <= 2
    return "scattered" if few and points == shape[0] else None


def _with_points(file: Contents, found: FunctionArrays, roles: Roles, given: list[str]) -> Roles:
    """Add the points of the outputs: as named, an array whose shape matches, or the axes of a grid."""
    N, *sizes = file.functions_first(found.outputs[0])
    shape = (N, sizes[0] - 1, *sizes[1:]) if roles.evolution else (N, *sizes)
    dims = file.dims(found.outputs[0])
    several = len(found.outputs) > 1
    stacked = len(shape) > 2 and bool(dims) and dims[-1] in COMPONENT_DIMS
    indexed = file.index_of(N, found.part) is not None
    if indexed and (len(given) > 1 or not given):  # one column for each coordinate
        own = given or _columns(file, found, N)
        if own and all(n_points(file.shape(name)) == N for name in own):
            scattered = _scattered(file, found, roles, own[0] if len(own) == 1 else tuple(own))
            if scattered is not None:
                return scattered
    if len(given) > 1:
        return replace(roles, points=tuple(given), components=several or stacked)
    named = [*given, *([found.points] if found.points else [])]
    located = getattr(file.arrays, "coordinates", {}).get(found.outputs[0])
    if not named and located is not None:
        named = [located]
    usual = [name for name in file.first(POINTS, found.part, "") if name not in _used(found)]
    vector = None
    for name in named or usual:
        count = n_points(file.shape(name))
        how = "scattered" if count == N and indexed else _match(count, shape)
        if how == "scattered" and (named or file.key[name] != "x"):
            scattered = _scattered(file, found, roles, name)
            if scattered is not None:
                return scattered
        if how == "aligned" and not file.index:
            return replace(roles, points=name, components=several)
        few = named or shape[-1] <= _MAX_COMPONENTS
        if how == "components" and not file.index and few and vector is None:
            vector = replace(roles, points=name, components=True)
    for name in file.index if vector is None else ():
        if math.prod(file.shape(name)) != max(file.shape(name), default=0):
            raise InputError(
                f"--index {name}: expected one integer for each value, the row of the input that it belongs "
                f"to; got an array {file.shape(name)}. There are: {file.listed()}."
            )
    if (given or file.index) and vector is None:
        raise InputError(
            f"the points {', '.join(given) or 'of the file'} do not fit {found.outputs[0]} {shape}: expected "
            f"one row for each of the {math.prod(shape[1:])} values of a function, or, with --index, one for "
            f"each value. There are: {file.listed()}."
        )
    grid = _with_grid(file, found, roles, several, stacked)
    complete = isinstance(grid.points, tuple) and None not in grid.points
    return vector if vector is not None and (named or not complete) else grid


def _with_sensors(file: Contents, found: FunctionArrays, roles: Roles, given: list[str]) -> Roles:
    """Add the sensors of the inputs, unless there are several input functions."""
    if len(found.inputs) > 1:
        return roles
    (name,) = found.inputs.values()
    begin = 2 if roles.evolution else 1
    sizes = file.functions_first(name)[begin:]
    if roles.evolution and roles.components and len(found.outputs) == 1:
        sizes = sizes[:-1]
    if len(given) > 1:
        return replace(roles, sensors=tuple(given))
    usual = [name for name in file.first(SENSORS, found.part, "") if name not in _used(found)]
    located = getattr(file.arrays, "coordinates", {}).get(name)
    usual = usual if located is None else [located]
    for sensors in given or usual:
        if n_points(file.shape(sensors)) == math.prod(sizes):
            return replace(roles, sensors=sensors)
    if given:
        raise InputError(
            f"the sensors {file.listed(given)} do not fit the inputs {file.listed([name])}: expected "
            f"{math.prod(sizes)} rows, one for each value of a function."
        )
    axes = _axes(file, found, sizes, file.dims(name)[begin:])
    return replace(roles, sensors=axes) if axes is not None and None not in axes else roles


def _used(found: FunctionArrays) -> set[str]:
    return {*found.inputs.values(), *found.outputs}


def _columns(file: Contents, found: FunctionArrays, N: int) -> list[str]:
    """Return the arrays (N,) that are named as coordinates, in the usual order, if no array lists points."""
    names = [name for name in file.arrays if name not in _used(found) and n_points(file.shape(name)) == N]
    vectors = [name for name in names if len(file.shape(name)) == 1]
    ranks = {name: rank for name in vectors if (rank := axis_rank(file.key[name])) is not None}
    others = [name for name in names if name not in ranks and file.key[name] in POINTS]
    return [] if others else sorted(ranks, key=lambda name: ranks[name])


def _scattered(file: Contents, found: FunctionArrays, roles: Roles, points: Axes) -> Roles | None:
    """Return the roles of scattered values, if it is clear to which function each belongs."""
    n_values, *sizes = file.functions_first(found.outputs[0])
    index = file.index_of(n_values, found.part)
    if index is None and any(file.functions_first(u)[0] != n_values for u in found.inputs.values()):
        return None
    vector = len(found.outputs) > 1 or sizes not in ([], [1])
    return replace(roles, points=points, index=index, scattered=True, components=vector)


def _with_grid(file: Contents, found: FunctionArrays, roles: Roles, several: bool, stacked: bool) -> Roles:
    """Add the coordinates of a grid's axes as points."""
    _, *sizes = file.functions_first(found.outputs[0])
    sizes = sizes[:-1] if stacked else sizes
    time_first = roles.evolution or file.key[found.outputs[0]] == "tensor"
    axes = _axes(file, found, sizes, file.dims(found.outputs[0])[1:], time_first=time_first)
    if axes is not None and not stacked and not several and len(axes) > 1 and None not in axes[:-1]:
        last = [n for n in sizes if n > 1][-1]
        stacked = axes[-1] is None and last <= _MAX_COMPONENTS
        axes = axes[:-1] if stacked else axes
    return replace(roles, points=axes, components=several or stacked)


def _axes(
    file: Contents,
    found: FunctionArrays,
    sizes: Sequence[int],
    dims: Sequence[str],
    *,
    time_first: bool = False,
) -> Axes:
    """Return the names of the coordinates of each axis, or None for an axis; None if no axis has any.

    `sizes` are the lengths of the axes (those of length 1 do not count), `dims` their names, if the file has
    them.
    """
    pairs = [(dim, n) for dim, n in zip(dims, sizes, strict=False) if n > 1]
    named = tuple(dim if dim in file.arrays and file.shape(dim) == (n,) else None for dim, n in pairs)
    if any(named):
        return named
    ranks = {n: axis_rank(file.key[n]) for n in file.arrays if n not in _used(found) and file.part[n] == ""}
    ordered = [(rank, n) for n, rank in ranks.items() if rank is not None]
    ordered.sort(key=lambda entry: entry[0])
    if time_first:
        ordered.sort(key=lambda entry: entry[0] < _TIME_RANK)
    times = {n for rank, n in ordered if rank >= _TIME_RANK}
    free = {n: length for _, n in ordered if (length := _length(file.shape(n))) is not None}
    sizes = [n for n in sizes if n > 1]
    if len(sizes) == 1 and sizes[0] not in free.values() and len(free) > 1:
        return tuple(free) if math.prod(free.values()) == sizes[0] else None
    axes: list[str | None] = []
    for size in sizes:
        # A time axis may have one entry more than the array has time steps (PDEBench).
        fits = (n for n, length in free.items() if length == size or (n in times and length == size + 1))
        axes.append(next(fits, None))
        free.pop(axes[-1] or "", None)
    return tuple(axes) if any(axes) else None


def _length(shape: Sequence[int]) -> int | None:
    """Return the length of a vector (n,), (1, n) or (n, 1); None for other shapes."""
    long = [n for n in shape if n > 1]
    return long[0] if len(long) == 1 and len(shape) <= 2 else None
