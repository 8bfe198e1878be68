"""What the file calls the coordinates of its points."""

from __future__ import annotations

import re
from typing import Any

from elmonet.data.understand.names import axis_rank, parse
from elmonet.data.understand.roles import Axes

__all__ = ["axis_names"]

_AROUND = re.compile(r"^.*[/.]|^grid_|[-_]?(coordinates?|coords?|grid)$", re.IGNORECASE)


def axis_names(arrays: Any, points: Axes, dimension: int) -> tuple[str, ...] | None:
    """The names of the coordinates of points, as many as their dimension; None if the file does not say.

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
    elif said := _said(arrays, points):
        named = list(said)
    else:
        key, _ = parse(points)
        letters = [key] if dimension == 1 else list(key)
        known = all(axis_rank(letter) is not None for letter in letters)
        named = ([_short(points)] if dimension == 1 else list(letters)) if known else []
    names = tuple(name for name in named if name)
    return names if len(names) == dimension == len(set(names)) else None


def _said(arrays: Any, points: str) -> tuple[str, ...]:
    """The names that the file gives the columns of a list of points."""
    dims = getattr(arrays, "dims", {}).get(points, ())
    labels = getattr(arrays, "labels", {}).get(dims[-1], ()) if dims else ()
    return labels or getattr(arrays, "columns", {}).get(points, ())


def _short(name: str) -> str:
    """Without folders and words such as "grid" around it; the whole name if nothing else is left."""
    return _AROUND.sub("", _AROUND.sub("", name)) or name
