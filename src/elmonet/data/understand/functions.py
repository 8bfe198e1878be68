"""Which arrays are the input functions, and which the output functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from elmonet._check import InputError
from elmonet.data.understand.names import EVOLUTIONS, PAIRS, PARTS, Contents

__all__ = ["Functions", "find_functions"]

_MOST_DIMENSIONS = 4


@dataclass(frozen=True)
class Functions:
    """Names of the arrays: one for each input function, one for each component of the output.

    `part` is "train", "test" or "", as the names say; `points` is set where a convention names them too.
    """

    inputs: dict[str, str]
    outputs: list[str]
    part: str
    points: str | None = None

    @property
    def u(self) -> Any:
        """The name of the inputs, or a dict of names if there are several."""
        return dict(self.inputs) if len(self.inputs) > 1 else next(iter(self.inputs.values()))

    @property
    def s(self) -> Any:
        """The name of the outputs, or a list of names if these are components."""
        return self.outputs if len(self.outputs) > 1 else self.outputs[0]

    @property
    def evolution(self) -> bool:
        """Whether inputs and outputs are one array over time."""
        return list(self.inputs.values()) == self.outputs


def find_functions(file: Contents, inputs: list[str], outputs: list[str]) -> Functions:
    """The functions that are named, that complete what is named, or that a convention finds."""
    found = _guess(file, inputs, outputs)
    if found is None:
        row = "column" if file.columns else "row (with --transpose: a column)"
        raise InputError(
            "cannot tell which arrays are the input and the output functions. Both hold one function per "
            f"{row}. There are: {file.listed()}. Say which: --input NAME --output NAME --points NAME, or in "
            "Python read(file, input=..., output=..., points=...)."
        )
    for name in (*found.inputs.values(), *found.outputs):
        if not file.shape(name) or 0 in file.shape(name):
            raise InputError(f"{name} is empty: its shape is {file.shape(name)}.")
    if len({file.shape(name) for name in found.outputs}) > 1:
        raise InputError(
            f"components of the output must have the same shape, got {file.listed(found.outputs)}."
        )
    shape = file.functions_first(found.outputs[0])
    if found.evolution and (len(shape) < 3 or shape[1] < 2):
        raise InputError(
            f"{found.outputs[0]} is both input and output: then it is taken over time and must be (N, T, "
            f"...) with two times or more, got {shape}."
        )
    return found


def _guess(file: Contents, inputs: list[str], outputs: list[str]) -> Functions | None:
    if inputs and outputs:
        return Functions(_keyed(file, inputs), outputs, file.part[outputs[0]])
    if inputs or outputs:
        return _completed(file, inputs, outputs)
    found = (rule(file, part) for part in PARTS for rule in (_numbered, _nested, _paired, _evolution))
    return next((functions for functions in found if functions is not None), None)


def _completed(file: Contents, inputs: list[str], outputs: list[str]) -> Functions | None:
    """What is named with its usual partner, else with any of that kind that has as many functions."""
    at, given = (0, inputs[0]) if inputs else (1, outputs[0])
    part = file.part[given]
    usual = [pair[1 - at] for pair in PAIRS if pair[at] == file.key[given]]
    for name in file.first(dict.fromkeys([*usual, *(pair[1 - at] for pair in PAIRS)]), part):
        u, s = inputs or [name], outputs or [name]
        if name not in (*inputs, *outputs) and _belong(file, u[0], s[0], part):
            return Functions(_keyed(file, u), s, part)
    return None


def _numbered(file: Contents, part: str) -> Functions | None:
    """DeepXDE: X0, X1, ... and y, where the last X are the points."""
    names, output = file.numbered("x", part), file.get("y", part)
    if len(names) < 2 or output is None or not _belong(file, names[0], output, part):
        return None
    return Functions(_keyed(file, names[:-1]), [output], part, points=names[-1])


def _nested(file: Contents, part: str) -> Functions | None:
    """Several inputs u.a, u.b, ... and s."""
    inputs, output = file.nested("u", part), file.get("s", part)
    return Functions(inputs, [output], part) if inputs and output is not None else None


def _paired(file: Contents, part: str) -> Functions | None:
    """The first of the usual pairs that is there."""
    for u_key, s_key in PAIRS:
        u, s = file.get(u_key, part), file.get(s_key, part)
        if u is None or s is None or not _belong(file, u, s, part):
            continue
        shape = file.functions_first(u)
        if (u_key, part) == ("x", "") and len(shape) < 3 and max(shape[-1:], default=0) <= _MOST_DIMENSIONS:
            continue  # these are coordinates
        return Functions(_keyed(file, [u]), [s], part)
    return None


def _evolution(file: Contents, part: str) -> Functions | None:
    """One array (N, T, ...) over time."""
    for name in file.first(EVOLUTIONS, part):
        shape = file.functions_first(name)
        if len(shape) > 2 and shape[1] > 1:
            return Functions(_keyed(file, [name]), [name], part)
    return None


def _keyed(file: Contents, names: list[str]) -> dict[str, str]:
    """Names by what they say, if these differ."""
    keys = {file.key[name]: name for name in names}
    return keys if len(keys) == len(names) else {name: name for name in names}


def _belong(file: Contents, u: str, s: str, part: str) -> bool:
    """Whether there are as many inputs as outputs, or an index that says which belongs to which."""
    n_u, n_s = ((*file.functions_first(name), 0)[0] for name in (u, s))
    return n_u > 0 if n_u == n_s else file.index_of(n_s, part) is not None
