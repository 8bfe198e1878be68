"""The classes that a model file may name: feature maps and solvers, registered when they are defined."""

from __future__ import annotations

from typing import Any

REGISTERED: dict[str, type[Any]] = {}


def register(cls: type[Any]) -> None:
    """Add a class by its name; it replaces an earlier one, except that elmonet's own are never replaced."""
    earlier = REGISTERED.get(cls.__name__)
    if earlier is None or not _is_builtin(earlier) or _is_builtin(cls):
        REGISTERED[cls.__name__] = cls


def _is_builtin(cls: type[Any]) -> bool:
    return cls.__module__.startswith("elmonet.")
