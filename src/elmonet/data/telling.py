"""Roles in plain sentences, for the command line to print."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from elmonet.data.role_names import Roles

__all__ = ["reasons"]


def reasons(arrays: Mapping[str, Any], roles: Roles) -> tuple[str, ...]:
    """What was taken as what, and what was left out."""

    def show(names: Any) -> str:
        return " and ".join(f"{name} {tuple(arrays[name].shape)}" for name in _names(names))

    said = [f"input functions: {show(roles.u_train)}"]
    if roles.evolution:
        said = [f"input functions: the first time of {show(roles.u_train)}"]
        said.append(f"output functions: the later times of {show(roles.s_train)}")
    elif roles.scattered:
        how = f"by {show(roles.index)}" if roles.index else "by finding inputs that are repeated"
        said.append(f"output values, each at a point of its own: {show(roles.s_train)}, assigned {how}")
    else:
        several = "components of the output" if isinstance(roles.s_train, list) else "output functions"
        said.append(f"{several}: {show(roles.s_train)}")
    if roles.u_test is not None:
        said.append(f"test functions: {show(roles.u_test)} -> {show(roles.s_test)}")
    missing = " in the file; --points gives them" if roles.points is None else ""
    said.append(f"points: {_where(arrays, roles.points)}{missing}")
    said.append(f"sensors: {_where(arrays, roles.sensors)}")
    if roles.components and not isinstance(roles.s_train, list):
        said.append(f"components: the last axis of {roles.s_train}")
    used = {name for value in vars(roles).values() for name in _names(value)}
    ignored = [name for name in arrays if name not in used]
    if ignored:
        said.append(f"ignored: {', '.join(ignored)}")
    if skipped := getattr(arrays, "skipped", None):
        said.append(f"no arrays of numbers: {', '.join(skipped[:20])}{' ...' if len(skipped) > 20 else ''}")
    return tuple(said)


def _where(arrays: Mapping[str, Any], names: Any) -> str:
    if names is None:
        return "none"
    if isinstance(names, str):
        return f"{names} {tuple(arrays[names].shape)}"
    if len(names) == 1:
        return _where(arrays, names[0])
    said = [f"{n} {tuple(arrays[n].shape)}" if n else "an axis spaced evenly from 0 to 1" for n in names]
    return f"the grid of {', '.join(said[:-1])} and {said[-1]}"


def _names(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return list(value.values())
    return [name for name in value if isinstance(name, str)] if isinstance(value, (list, tuple)) else []
