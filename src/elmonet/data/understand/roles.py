"""What is what in a file: the names of the arrays in their roles, and the sentences that say so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

__all__ = ["TRANSPOSE", "Axes", "Roles", "doubt", "sentences"]

Axes = str | tuple[str | None, ...] | None
TRANSPOSE = "--transpose, or in Python read(file, transpose=True)"
_MOST_LISTED = 20


@dataclass(frozen=True)
class Roles:
    """Names of the arrays in their roles.

    Inputs are one name, or a dict of names for several input functions; outputs are one name, or a list for
    the components of a vector. `points` and `sensors` are one name, or one for each axis of a grid (None
    where an axis has no coordinates). `index` says to which function a value belongs, where each has its own
    point.
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
    """Each value has its own point. Without an index the inputs are repeated for each value."""
    evolution: bool = False
    """Inputs and outputs are the same array over time: its first time, and the later ones."""
    components: bool = False
    """The last axis of the outputs holds the components of a vector."""
    transpose: bool = False
    """The functions are in columns: the last axis of inputs and outputs counts them."""
    doubt: str = field(default="", compare=False)
    """Why the functions may be in columns although they are taken as rows."""
    reasons: tuple[str, ...] = field(default=(), compare=False)

    @property
    def places_fit(self) -> bool:
        """Whether points or sensors are in the file, for every axis."""
        return _complete(self.points) or _complete(self.sensors)


def doubt(arrays: Mapping[str, Any], roles: Roles, in_columns: Roles) -> str:
    """Why functions that are taken as rows may be columns, for which points or sensors fit; "" if not."""
    if (roles.u_train, roles.s_train) != (in_columns.u_train, in_columns.s_train):
        return ""
    u, s = (arrays[_names(names)[0]] for names in (roles.u_train, roles.s_train))
    if roles.scattered:
        # Values with their own points have few components, the inputs many sensors: as many of both is odd.
        if roles.index is not None or s.ndim != 2 or s.shape[1] == 1 or u.shape[1:] != s.shape[1:]:
            return ""
    elif roles.evolution or roles.places_fit:
        return ""
    fits = in_columns.points if _complete(in_columns.points) else in_columns.sensors
    return (
        f"{_show(arrays, [*_names(roles.u_train), *_names(roles.s_train)])} are taken as {s.shape[0]} "
        f"functions, one per row, but {_places(arrays, fits)} fits their columns and not their rows. If each "
        f"column is a function: {TRANSPOSE}."
    )


def sentences(arrays: Mapping[str, Any], roles: Roles) -> tuple[str, ...]:
    """What was taken as what, and what was left out."""
    show = partial(_show, arrays)
    said = [f"input functions: {show(roles.u_train)}"]
    if roles.evolution:
        said = [f"input functions: the first time of {show(roles.u_train)}"]
        said.append(f"output functions: the later times of {show(roles.s_train)}")
    elif roles.scattered:
        how = f"by {show(roles.index)}" if roles.index else "by equal inputs"
        said.append(f"scattered outputs, each value at its own point: {show(roles.s_train)}, assigned {how}")
    else:
        several = "components of the output" if isinstance(roles.s_train, list) else "output functions"
        said.append(f"{several}: {show(roles.s_train)}")
    if roles.transpose:
        said.append("each column is a function, as --transpose says")
    if roles.doubt:
        said.append(f"look here: {roles.doubt}")
    if roles.u_test is not None:
        said.append(f"test functions: {show(roles.u_test)} -> {show(roles.s_test)}")
    missing = " in the file; --points gives them" if roles.points is None else ""
    said.append(f"points: {_places(arrays, roles.points)}{missing}")
    said.append(f"sensors: {_places(arrays, roles.sensors)}")
    if roles.components and not isinstance(roles.s_train, list):
        said.append(f"components: the last axis of {roles.s_train}")
    used = {name for key, value in vars(roles).items() if key != "doubt" for name in _names(value)}
    ignored = [name for name in arrays if name not in used]
    if ignored:
        said.append(f"ignored: {', '.join(ignored)}")
    if skipped := getattr(arrays, "skipped", None):
        more = " ..." if len(skipped) > _MOST_LISTED else ""
        said.append(f"not arrays of numbers: {', '.join(skipped[:_MOST_LISTED])}{more}")
    return tuple(said)


def _complete(names: Axes) -> bool:
    return isinstance(names, str) or (names is not None and None not in names)


def _show(arrays: Mapping[str, Any], names: Any) -> str:
    return " and ".join(f"{name} {tuple(arrays[name].shape)}" for name in _names(names))


def _places(arrays: Mapping[str, Any], names: Any) -> str:
    if names is None:
        return "none"
    each = [names] if isinstance(names, str) else names
    said = [f"{n} {tuple(arrays[n].shape)}" if n else "an axis spaced evenly from 0 to 1" for n in each]
    return said[0] if len(said) == 1 else f"the grid of {', '.join(said[:-1])} and {said[-1]}"


def _names(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    values = value.values() if isinstance(value, Mapping) else value
    return [n for n in values if isinstance(n, str)] if isinstance(value, (Mapping, list, tuple)) else []
