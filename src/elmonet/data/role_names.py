"""The names of the arrays in their roles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

__all__ = ["Axes", "Names", "Roles"]

Names = str | Sequence[str] | None
Axes = str | tuple[str | None, ...] | None


@dataclass(frozen=True)
class Roles:
    """Names of the arrays in their parts.

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
    reasons: tuple[str, ...] = field(default=(), compare=False)
