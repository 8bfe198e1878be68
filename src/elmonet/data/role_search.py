"""The search for roles: inputs and outputs first, then what fits them."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from elmonet._check import InputError
from elmonet.data.arrays import COMPONENT_DIMS
from elmonet.data.axes import coordinate_axes, count_points, fit
from elmonet.data.conventions import INDEX, POINTS, SENSORS, Table
from elmonet.data.guess import PARTS, Pair, guess_pair
from elmonet.data.role_names import Names, Roles

__all__ = ["Search"]

_MOST_COMPONENTS = 16


class Search:
    """One file; the pair of inputs and outputs is found first, the rest must fit it."""

    pair: Pair

    def __init__(self, arrays: Mapping[str, Any], index: Names):
        self.arrays, self.table = arrays, Table(arrays)
        self.index = self.named(index, "index")

    def named(self, names: Names, flag: str) -> list[str]:
        """The arrays that a flag names, in full or without "train", "test", ..."""
        return [self.one(name, flag) for name in ([names] if isinstance(names, str) else names or ())]

    def one(self, name: str, flag: str) -> str:
        """The array that one name means."""
        found = [name] if name in self.arrays else self.table.first([name, name.lower()], *PARTS)
        if found:
            return found[0]
        close = difflib.get_close_matches(name, list(self.arrays), n=1, cutoff=0.4)
        raise InputError(
            f"--{flag} {name}: there is no such array."
            + (f" Did you mean {close[0]!r}?" if close else "")
            + f" There are: {self.listed()}."
        )

    def listed(self) -> str:
        """All arrays with their shapes."""
        return ", ".join(f"{n} {tuple(a.shape)}" for n, a in self.arrays.items()) or "none at all"

    def functions(self, inputs: list[str], outputs: list[str]) -> Roles:
        """Roles of the inputs and outputs alone."""
        pair = guess_pair(self.arrays, self.table, inputs, outputs, self.index)
        if pair is None:
            raise InputError(
                "cannot tell which arrays are the input and the output functions. Both hold one function a "
                f"row. There are: {self.listed()}. Say which: --input NAME --output NAME --points NAME, or "
                "in Python read(file, input=..., output=..., points=...)."
            )
        for name in (*pair.inputs.values(), *pair.outputs):
            if not self.arrays[name].shape or 0 in self.arrays[name].shape:
                raise InputError(f"{name} is empty: its shape is {tuple(self.arrays[name].shape)}.")
        if len({tuple(self.arrays[name].shape) for name in pair.outputs}) > 1:
            listed = ", ".join(f"{n} {tuple(self.arrays[n].shape)}" for n in pair.outputs)
            raise InputError(f"components of the output must have the same shape, got {listed}.")
        self.pair = pair
        self.used = {*pair.inputs.values(), *pair.outputs}
        u, s = _parted(pair)
        evolution = list(pair.inputs.values()) == pair.outputs
        if evolution and (len(self.shape(pair.outputs[0])) < 3 or self.shape(pair.outputs[0])[1] < 2):
            raise InputError(
                f"{pair.outputs[0]} is both input and output: then it is taken over time and must be (N, T, "
                f"...) with two times or more, got {self.shape(pair.outputs[0])}."
            )
        return Roles(u, s, evolution=evolution)

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of an array."""
        return tuple(int(n) for n in self.arrays[name].shape)

    def dims(self, name: str) -> tuple[str, ...]:
        """The names of an array's dimensions, if it has any."""
        return getattr(self.arrays, "dims", {}).get(name, ())

    def output_shape(self, evolution: bool) -> tuple[int, ...]:
        """The shape of the outputs, (N, ...)."""
        N, *rest = self.shape(self.pair.outputs[0])
        return (N, rest[0] - 1, *rest[1:]) if evolution else (N, *rest)

    def with_points(self, roles: Roles, given: list[str]) -> Roles:
        """Add the output points, where outputs are known."""
        shape = self.output_shape(roles.evolution)
        dims = self.dims(self.pair.outputs[0])
        several = len(self.pair.outputs) > 1
        stacked = len(shape) > 2 and bool(dims) and dims[-1] in COMPONENT_DIMS
        if len(given) > 1:
            return replace(roles, points=tuple(given), components=several or stacked)
        hints = [*given, *([self.pair.points] if self.pair.points else [])]
        vectors = []
        for name in hints or self.table.first(POINTS, self.pair.part, ""):
            if not hints and name in self.used:
                continue
            n_points = count_points(self.shape(name))
            how = "scattered" if n_points == shape[0] and self.index_of(shape[0]) else fit(n_points, shape)
            if how == "scattered" and (hints or self.table.key[name] != "x"):
                found = self.with_index(roles, name)
                if found is not None:
                    return found
            if how == "aligned" and not self.index:
                return replace(roles, points=name, components=several)
            if how == "components" and not self.index and (hints or shape[-1] <= _MOST_COMPONENTS):
                vectors.append(replace(roles, points=name, components=True))
        if (given or self.index) and not vectors:
            raise InputError(
                f"the points {', '.join(given) or 'of the file'} do not fit {self.pair.outputs[0]} "
                f"{shape}: expected one row for each of the {math.prod(shape[1:])} values of a function, or, "
                f"with --index, one for each value. There are: {self.listed()}."
            )
        on_grid = self.with_axes(roles, several, stacked)
        whole = isinstance(on_grid.points, tuple) and None not in on_grid.points
        return vectors[0] if vectors and (hints or not whole) else on_grid

    def index_of(self, n_values: int) -> str | None:
        """The array that says to which function each of so many values belongs."""
        names = self.index or self.table.first(INDEX, self.pair.part, "")
        return next((name for name in names if count_points(self.shape(name)) == n_values), None)

    def with_index(self, roles: Roles, points: str) -> Roles | None:
        """Roles of values that each have a point, if it is known to which function each belongs."""
        n_values = self.shape(self.pair.outputs[0])[0]
        name = self.index_of(n_values)
        if name is None and any(self.shape(u)[0] != n_values for u in self.pair.inputs.values()):
            return None
        many = len(self.pair.outputs) > 1 or self.shape(self.pair.outputs[0])[1:] not in ((), (1,))
        return replace(roles, points=points, index=name, scattered=True, components=many)

    def with_axes(self, roles: Roles, several: bool, stacked: bool) -> Roles:
        """Take the coordinates of a grid's axes as points."""
        full = self.shape(self.pair.outputs[0])[1:]
        sizes = full[:-1] if stacked else full
        first = roles.evolution or self.table.key[self.pair.outputs[0]] == "tensor"
        dims = self.dims(self.pair.outputs[0])[1:]
        axes = coordinate_axes(self.arrays, self.table, sizes, dims, used=self.used, time_first=first)
        if axes is not None and not stacked and not several and len(axes) > 1 and None not in axes[:-1]:
            last = [n for n in sizes if n > 1][-1]
            stacked = axes[-1] is None and last <= _MOST_COMPONENTS
            axes = axes[:-1] if stacked else axes
        return replace(roles, points=axes, components=several or stacked)

    def with_sensors(self, roles: Roles, given: list[str]) -> Roles:
        """Add the sensors, where inputs are known."""
        if len(self.pair.inputs) > 1:
            return roles
        (name,) = self.pair.inputs.values()
        sizes = self.shape(name)[2:] if roles.evolution else self.shape(name)[1:]
        if roles.evolution and roles.components and len(self.pair.outputs) == 1:
            sizes = sizes[:-1]
        if len(given) > 1:
            return replace(roles, sensors=tuple(given))
        for sensors in given or self.table.first(SENSORS, self.pair.part, ""):
            fits = count_points(self.shape(sensors)) == math.prod(sizes)
            if fits and (given or sensors not in self.used):
                return replace(roles, sensors=sensors)
        if given:
            raise InputError(
                f"the sensors {given[0]} {self.shape(given[0])} do not fit the inputs {name} "
                f"{self.shape(name)}: expected {math.prod(sizes)} rows, one for each value of a function."
            )
        dims = self.dims(name)[2 if roles.evolution else 1 :]
        axes = coordinate_axes(self.arrays, self.table, sizes, dims, used=self.used)
        return replace(roles, sensors=axes) if axes is not None and None not in axes else roles

    def with_test(self, roles: Roles) -> Roles:
        """Add the test functions of the same names, if there are any that fit."""
        if self.pair.part == "test":
            return roles
        there = [
            self.table.get(self.table.key[n], "test")
            for n in (*self.pair.inputs.values(), *self.pair.outputs)
        ]
        names = [name for name in there if name is not None]
        if len(names) < len(there) or any(not self.shape(name) or 0 in self.shape(name) for name in names):
            return roles
        k = len(self.pair.inputs)
        u, s = _parted(Pair(dict(zip(self.pair.inputs, names[:k], strict=True)), names[k:], "test"))
        alike = all(
            self.shape(own)[1:] == self.shape(other)[1:]
            for own, other in zip(self.pair.inputs.values(), names, strict=False)
        )
        same = self.shape(names[k])[1:] == self.shape(self.pair.outputs[0])[1:]
        where = (
            self.table.get(self.table.key[roles.points], "test") if isinstance(roles.points, str) else None
        )
        how = fit(count_points(self.shape(where)), self.shape(names[k])) if where else None
        index = self.table.get(self.table.key[roles.index], "test") if roles.index else None
        if roles.scattered:
            fits = alike and how == "scattered" and (index is not None) == (roles.index is not None)
        else:
            fits = alike and (same or how == "aligned")
            where = where if how in ("aligned", "components") else None
        return replace(roles, u_test=u, s_test=s, points_test=where, index_test=index) if fits else roles


def _parted(pair: Pair) -> tuple[Any, Any]:
    u = dict(pair.inputs) if len(pair.inputs) > 1 else next(iter(pair.inputs.values()))
    return u, pair.outputs if len(pair.outputs) > 1 else pair.outputs[0]
