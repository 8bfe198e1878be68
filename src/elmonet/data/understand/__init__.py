"""Which array of a file is what: guessed from names and shapes, and said in plain sentences.

`names` reads the names, `functions` finds inputs and outputs, `places` their points and sensors, and
`roles` holds the outcome and the sentences about it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from elmonet._check import InputError
from elmonet.data.understand.axes import axis_names
from elmonet.data.understand.functions import Functions, find_functions
from elmonet.data.understand.names import Contents, Names, n_points
from elmonet.data.understand.places import match, with_points, with_sensors
from elmonet.data.understand.roles import TRANSPOSE, Roles, doubt, sentences

__all__ = ["Contents", "Roles", "axis_names", "find_roles"]


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
    """Find inputs, outputs and coordinates among named arrays; what is given by name is taken as it is.

    `transpose`: each column is a function, not each row. Raises `InputError` that lists every array if
    nothing fits.

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
        roles = replace(roles, doubt=doubt(arrays, roles, in_columns))
    return replace(roles, reasons=sentences(arrays, roles))


def _in_columns(arrays: Mapping[str, Any], names: dict[str, Names], index: Names) -> Roles | None:
    """Roles with each column as a function, if points or sensors then fit; None if they do not."""
    try:
        roles = _search(Contents(arrays, index=index, columns=True), names)
    except InputError:
        return None
    return roles if roles.places_fit and not roles.scattered and not roles.evolution else None


def _search(file: Contents, names: dict[str, Names]) -> Roles:
    given = {flag: file.asked(name, flag) for flag, name in names.items()}
    found = find_functions(file, given["input"], given["output"])
    roles = Roles(found.u, found.s, evolution=found.evolution, transpose=file.columns)
    roles = with_points(file, found, roles, given["points"])
    roles = with_sensors(file, found, roles, given["sensors"])
    return _with_test(file, found, roles)


def _with_test(file: Contents, found: Functions, roles: Roles) -> Roles:
    """Add the test functions of the same names, if there are any that fit."""

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
    how = match(n_points(file.shape(points)), file.functions_first(names[k])) if points else None
    if roles.scattered:
        fits = how == "scattered" and (index is None) == (roles.index is None)
    else:
        fits = alike[k] or how == "aligned"
        points = points if how in ("aligned", "components") else None
    if not fits or not all(alike[:k]):
        return roles
    test = Functions(dict(zip(found.inputs, names[:k], strict=True)), names[k:], "test")
    return replace(roles, u_test=test.u, s_test=test.s, points_test=points, index_test=index)
