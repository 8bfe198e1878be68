"""The arrays of a file by name, and what else the file says about them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from elmonet.data.size_limit import SizeLimit

__all__ = ["COMPONENT_DIMS", "Arrays"]

# Dimensions of this name hold the components of a vector.
COMPONENT_DIMS = ("component", "components", "channel", "channels", "variable")


class Arrays(dict[str, Any]):
    """Names and arrays: in memory, or on disk and read by slicing.

    Attributes
    ----------
    format : what kind of file it is, in words.
    dims : for some arrays the names of their dimensions (NetCDF).
    labels : for some dimensions the names of their entries (NetCDF).
    columns : for some lists of points the names of their coordinates.
    skipped : names of what is not an array of numbers.
    limit : how much may be unpacked from the file, if there is one.
    """

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.format = ""
        self.dims: dict[str, tuple[str, ...]] = {}
        self.labels: dict[str, tuple[str, ...]] = {}
        self.columns: dict[str, tuple[str, ...]] = {}
        self.skipped: list[str] = []
        self.limit: SizeLimit | None = None
        self._close: list[Callable[[], Any]] = []

    def keep_open(self, file: Any) -> None:
        """Remember a file that the arrays are read from."""
        self._close.append(file.close)

    def unpack(self, count: int) -> None:
        """Raise if `count` more bytes are too many to unpack from the file."""
        if self.limit is not None:
            self.limit.take(count)

    def close(self) -> None:
        """Close the file; arrays that were not read are lost."""
        while self._close:
            self._close.pop()()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
