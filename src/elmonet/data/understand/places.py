"""Which arrays are coordinates: the points of the outputs, the sensors of the inputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from elmonet._check import InputError
from elmonet.data.arrays import COMPONENT_DIMS
from elmonet.data.understand.functions import Functions
from elmonet.data.understand.names import POINTS, SENSORS, Contents, axis_rank, n_points
from elmonet.data.understand.roles import Axes, Roles

__all__ = ["match", "with_points", "with_sensors"]

_MOST_COMPONENTS = 16
_TIME = axis_rank("t") or 0  # this rank and beyond


def match(points: int, shape: Sequence[int]) -> str | None:
    """How this number of points belongs to outputs of this shape.

    "aligned": all functions (N, ...) have these points; "components": the same, with several values at each
    point, in the last axis; "scattered": each value has its own point.

    >>> match(800, (5, 40, 20)), match(40, (5, 40, 2)), match(5, (5,)), match(7, (5, 8))
    ('aligned', 'components', 'scattered', None)
    """
    if points == math.prod(shape[1:]) and len(shape) > 1:
        return "aligned"
    if len(shape) > 2 and points == math.prod(shape[1:-1]):
        return "components"
    few = math.prod(shape[1:]) <= _MOST_COMPONENTS and len(shape) <= 2
    return "scattered" if few and points == shape[0] else None


def with_points(file: Contents, found: Functions, roles: Roles, given: list[str]) -> Roles:
    """Add the points of the outputs: named, in one array that fits, or the axes of a grid."""
    N, *sizes = file.functions_first(found.outputs[0])
    shape = (N, sizes[0] - 1, *sizes[1:]) if roles.evolution else (N, *sizes)
    dims = file.dims(found.outputs[0])
    several = len(found.outputs) > 1
    stacked = len(shape) > 2 and bool(dims) and dims[-1] in COMPONENT_DIMS
    if len(given) > 1:
        return replace(roles, points=tuple(given), components=several or stacked)
    named = [*given, *([found.points] if found.points else [])]
    usual = [name for name in file.first(POINTS, found.part, "") if name not in _used(found)]
    vector = None
    for name in named or usual:
        count = n_points(file.shape(name))
        own_point = count == N and file.index_of(N, found.part) is not None
        how = "scattered" if own_point else match(count, shape)
        if how == "scattered" and (named or file.key[name] != "x"):
            scattered = _scattered(file, found, roles, name)
            if scattered is not None:
                return scattered
        if how == "aligned" and not file.index:
            return replace(roles, points=name, components=several)
        few = named or shape[-1] <= _MOST_COMPONENTS
        if how == "components" and not file.index and few and vector is None:
            vector = replace(roles, points=name, components=True)
    if (given or file.index) and vector is None:
        raise InputError(
            f"the points {', '.join(given) or 'of the file'} do not fit {found.outputs[0]} {shape}: expected "
            f"one row for each of the {math.prod(shape[1:])} values of a function, or, with --index, one for "
            f"each value. There are: {file.listed()}."
        )
    grid = _with_grid(file, found, roles, several, stacked)
    whole = isinstance(grid.points, tuple) and None not in grid.points
    return vector if vector is not None and (named or not whole) else grid


def with_sensors(file: Contents, found: Functions, roles: Roles, given: list[str]) -> Roles:
    """Add the sensors of the inputs; of several input functions they are not asked for."""
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


def _used(found: Functions) -> set[str]:
    return {*found.inputs.values(), *found.outputs}


def _scattered(file: Contents, found: Functions, roles: Roles, points: str) -> Roles | None:
    """Values that each have their own point, if it is clear to which function each belongs."""
    n_values, *sizes = file.functions_first(found.outputs[0])
    index = file.index_of(n_values, found.part)
    if index is None and any(file.functions_first(u)[0] != n_values for u in found.inputs.values()):
        return None
    vector = len(found.outputs) > 1 or sizes not in ([], [1])
    return replace(roles, points=points, index=index, scattered=True, components=vector)


def _with_grid(file: Contents, found: Functions, roles: Roles, several: bool, stacked: bool) -> Roles:
    """Take the coordinates of a grid's axes as points."""
    _, *sizes = file.functions_first(found.outputs[0])
    sizes = sizes[:-1] if stacked else sizes
    time_first = roles.evolution or file.key[found.outputs[0]] == "tensor"
    axes = _axes(file, found, sizes, file.dims(found.outputs[0])[1:], time_first=time_first)
    if axes is not None and not stacked and not several and len(axes) > 1 and None not in axes[:-1]:
        last = [n for n in sizes if n > 1][-1]
        stacked = axes[-1] is None and last <= _MOST_COMPONENTS
        axes = axes[:-1] if stacked else axes
    return replace(roles, points=axes, components=several or stacked)


def _axes(
    file: Contents, found: Functions, sizes: Sequence[int], dims: Sequence[str], *, time_first: bool = False
) -> Axes:
    """For each axis of the functions the name of its coordinates, or None; None if no axis has any.

    `sizes` are the lengths of the axes (those of length 1 do not count); `dims`, if the file says them, their
    names.
    """
    pairs = [(dim, n) for dim, n in zip(dims, sizes, strict=False) if n > 1]
    named = tuple(dim if dim in file.arrays and file.shape(dim) == (n,) else None for dim, n in pairs)
    if any(named):
        return named
    ranks = {n: axis_rank(file.key[n]) for n in file.arrays if n not in _used(found) and file.part[n] == ""}
    ordered = [(rank, n) for n, rank in ranks.items() if rank is not None]
    ordered.sort(key=lambda entry: entry[0])
    if time_first:
        ordered.sort(key=lambda entry: entry[0] < _TIME)
    times = {n for rank, n in ordered if rank >= _TIME}
    free = {n: length for _, n in ordered if (length := _length(file.shape(n))) is not None}
    sizes = [n for n in sizes if n > 1]
    if len(sizes) == 1 and sizes[0] not in free.values() and len(free) > 1:
        return tuple(free) if math.prod(free.values()) == sizes[0] else None
    axes: list[str | None] = []
    for size in sizes:
        # A time axis may have one entry more than the array has times (PDEBench).
        fits = (n for n, length in free.items() if length == size or (n in times and length == size + 1))
        axes.append(next(fits, None))
        free.pop(axes[-1] or "", None)
    return tuple(axes) if any(axes) else None


def _length(shape: Sequence[int]) -> int | None:
    """How long a vector of this shape is, (n,), (1, n) or (n, 1); None for other shapes."""
    long = [n for n in shape if n > 1]
    return long[0] if len(long) == 1 and len(shape) <= 2 else None
