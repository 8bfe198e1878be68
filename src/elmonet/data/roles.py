"""Which array of a file is what: guessed from names and shapes, and said in plain sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from elmonet.data.role_names import Names, Roles
from elmonet.data.role_search import Search
from elmonet.data.telling import reasons

__all__ = ["Roles", "find_roles"]


def find_roles(
    arrays: Mapping[str, Any],
    *,
    input: Names = None,
    output: Names = None,
    points: Names = None,
    sensors: Names = None,
    index: str | None = None,
) -> Roles:
    """Find inputs, outputs and coordinates among named arrays; what is given by name is taken as it is.

    Raises `InputError` that lists every array if nothing fits.

    >>> import numpy as np
    >>> roles = find_roles({"f": np.ones((5, 8)), "u": np.ones((5, 3)), "t": np.ones(3), "note": np.ones(1)})
    >>> print(*roles.reasons, sep="; ")
    input functions: f (5, 8); output functions: u (5, 3); points: t (3,); sensors: none; ignored: note
    """
    search = Search(arrays, index)
    roles = search.functions(search.named(input, "input"), search.named(output, "output"))
    roles = search.with_points(roles, search.named(points, "points"))
    roles = search.with_sensors(roles, search.named(sensors, "sensors"))
    roles = search.with_test(roles)
    return replace(roles, reasons=reasons(arrays, roles))
