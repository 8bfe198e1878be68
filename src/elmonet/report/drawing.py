"""A picture of a report, as PNG. Names from the data are never drawn: they stand in captions."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from elmonet._check import MissingExtra

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["drawn", "one", "require_pictures"]

_DPI = 110


def require_pictures() -> None:
    """Raise `MissingExtra` if nothing can be drawn."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise MissingExtra('a report needs matplotlib: pip install "elmonet[plot]"') from error


def drawn(
    draw: Callable[[np.ndarray], Any],
    rows: int,
    columns: int,
    width: float,
    height: float,
    layout: Any = "constrained",
    **settings: Any,
) -> bytes:
    """The picture that a function draws on axes (rows * columns,), without a window."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout=layout)
    draw(figure.subplots(rows, columns, squeeze=False, **settings).ravel())
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=_DPI)
    return out.getvalue()


def one(draw: Callable[[Axes], Any], width: float = 5.5, height: float = 3.6) -> bytes:
    """A picture of one panel."""
    return drawn(lambda axes: draw(axes[0]), 1, 1, width, height)
