"""Inputs and outputs among named arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from elmonet.data.axes import count_points
from elmonet.data.conventions import EVOLUTIONS, INDEX, PAIRS, Table

__all__ = ["PARTS", "Pair", "guess_pair"]

PARTS = ("train", "", "test")  # where training functions are looked for; a file may have test functions only
_MOST_DIMENSIONS = 4


@dataclass(frozen=True)
class Pair:
    """Inputs (a name for each input function), outputs (a name for each component), and their part."""

    inputs: dict[str, str]
    outputs: list[str]
    part: str
    points: str | None = None


def guess_pair(
    arrays: Mapping[str, Any], table: Table, inputs: list[str], outputs: list[str], index: list[str]
) -> Pair | None:
    """The pair that is given, that completes what is given, or that a convention finds; or None.

    With the name of an index there need not be as many inputs as outputs.
    """
    guess = _Guess(arrays, table, index)
    if inputs and outputs:
        return Pair(guess.keyed(inputs), outputs, table.part[outputs[0]])
    if inputs or outputs:
        return guess.completed(inputs, outputs)
    rules = (guess.numbered, guess.nested, guess.paired, guess.evolution)
    found = (rule(part) for part in PARTS for rule in rules)
    return next((pair for pair in found if pair is not None), None)


class _Guess:
    def __init__(self, arrays: Mapping[str, Any], table: Table, index: list[str]):
        self.arrays, self.table, self.index = arrays, table, index

    def completed(self, inputs: list[str], outputs: list[str]) -> Pair | None:
        """What is given with its usual partner, else with any of that kind that has as many functions."""
        at, given = (0, inputs) if inputs else (1, outputs)
        part = self.table.part[given[0]]
        partners = [pair[1 - at] for pair in PAIRS if pair[at] == self.table.key[given[0]]]
        for name in self.table.first(dict.fromkeys([*partners, *(pair[1 - at] for pair in PAIRS)]), part):
            if name not in given and self.belong(*((given[0], name) if inputs else (name, given[0])), part):
                return Pair(self.keyed(inputs or [name]), outputs or [name], part)
        return None

    def numbered(self, part: str) -> Pair | None:
        """DeepXDE: X0, X1, ... and y, where the last X are the points."""
        names, output = self.table.numbered("x", part), self.table.get("y", part)
        if len(names) < 2 or output is None or not self.belong(names[0], output, part):
            return None
        return Pair(self.keyed(names[:-1]), [output], part, points=names[-1])

    def nested(self, part: str) -> Pair | None:
        """Several inputs u.a, u.b, ... and s."""
        inputs, output = self.table.nested("u", part), self.table.get("s", part)
        return Pair(inputs, [output], part) if inputs and output is not None else None

    def paired(self, part: str) -> Pair | None:
        """The first of the usual pairs that is there."""
        for u_key, s_key in PAIRS:
            u, s = self.table.get(u_key, part), self.table.get(s_key, part)
            if u is None or s is None or not self.belong(u, s, part):
                continue
            shape = self.arrays[u].shape
            if (u_key, part) == ("x", "") and len(shape) < 3 and shape[-1] <= _MOST_DIMENSIONS:
                continue  # these are coordinates
            return Pair(self.keyed([u]), [s], part)
        return None

    def evolution(self, part: str) -> Pair | None:
        """One array (N, T, ...) over time."""
        for name in self.table.first(EVOLUTIONS, part):
            shape = self.arrays[name].shape
            if len(shape) > 2 and shape[1] > 1:
                return Pair(self.keyed([name]), [name], part)
        return None

    def keyed(self, names: list[str]) -> dict[str, str]:
        """Names by what they say, if these differ."""
        keys = {self.table.key[name]: name for name in names}
        return keys if len(keys) == len(names) else {name: name for name in names}

    def belong(self, u: str, s: str, part: str) -> bool:
        """Whether there are as many inputs as outputs, or an index that says which belongs to which."""
        n_u, n_s = (self.arrays[name].shape[0] if self.arrays[name].shape else 0 for name in (u, s))
        if n_u == n_s:
            return n_u > 0
        index = self.index or self.table.first(INDEX, part, "")
        return any(count_points(self.arrays[name].shape) == n_s for name in index)
