"""What all pictures share: axes, colours, titles and legends that fit them."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from elmonet.errors import InputError, MissingExtra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import Collection

__all__ = [
    "BLUE",
    "GREY",
    "ORANGE",
    "axis_labels",
    "bare",
    "colour_bar_below",
    "coloured",
    "few_numbers_on_logarithms",
    "given",
    "legend_on_top",
    "new",
    "on_a_plane",
    "size",
    "titled",
]

# From the palette of Okabe and Ito, which colour-blind people can tell apart.
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#767676"

_LETTER = 0.53  # the width of a usual letter, in units of the font's size
_HANDLE = 3.6  # the width of a legend's line and of the space around it, in the same units
_NUMBER = 50.0  # the room that a number on an axis takes, in points
_NARROW = 4.0  # sides of a plane that differ by more do not share a scale
_FEW_LETTERS = 18  # of a title in a line; if there is room for fewer, they are small
_BETWEEN = 36.0  # the height that numbers and name of an axis take, in points
_ROW = 1.5  # the height of a row of a legend


def given(axes: Any, count: int) -> np.ndarray:
    """The user's axes as an array (count,), if they can be drawn in."""
    found = np.array(axes, dtype=object).ravel()
    if len(found) != count or any(getattr(ax, "name", "") != "rectilinear" for ax in found):
        raise InputError(
            f"needs {count} matplotlib axes with straight x and y to draw in, got {axes!r}. Make them with "
            f"plt.subplots(1, {count})[1], or give none."
        )
    return found


def new(rows: int, columns: int, layout: str = "constrained", **settings: Any) -> np.ndarray:
    """The axes (rows * columns,) of a new figure."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise MissingExtra('plots need matplotlib: pip install "elmonet[plot]"') from error
    _, axes = pyplot.subplots(rows, columns, squeeze=False, layout=layout, **settings)
    return axes.ravel()


def coloured(ax: Axes, points: np.ndarray, values: np.ndarray, **settings: Any) -> Collection:
    """Draw values (M,) at points (M, 2) by colour; nothing where they are NaN."""
    x, y = (np.unique(column) for column in points.T)
    if len(x) * len(y) == len(points) == len(np.unique(points, axis=0)):
        grid = values[np.lexsort((points[:, 0], points[:, 1]))].reshape(len(y), len(x))
        return ax.pcolormesh(x, y, grid, shading="nearest", rasterized=True, **settings)
    known = np.isfinite(values)
    x, y = points[known].T
    return ax.tripcolor(x, y, values[known], shading="gouraud", rasterized=True, **settings)


def colour_bar_below(axes: list[Axes], drawn: Collection) -> None:
    """A colour bar under some axes, with no more numbers than it has room for."""
    room = sum(size(ax)[0] for ax in axes)  # before the bar takes some
    figure: Any = axes[0].figure.figure
    look: dict[str, Any] = {"location": "bottom", "aspect": 20 * len(axes)}
    if figure.get_layout_engine() is None:  # nobody makes room for the numbers and the name between them
        look["pad"] = _BETWEEN / size(axes[0])[1]
    bar: Any = axes[0].figure.colorbar(drawn, ax=axes, **look)
    bar.formatter.set_powerlimits((-1, 3))  # few digits, and the power of ten once
    bar.ax.locator_params(nbins=min(4, max(1, int(room / _NUMBER))))


def on_a_plane(axes: np.ndarray, titles: tuple[str, ...], names: tuple[str, ...] | None) -> np.ndarray:
    """Axes with coloured fields: their titles, ticks, and the names of the coordinates as labels."""
    x, y = axis_labels(names, 2)
    for ax, title in zip(axes, titles, strict=True):
        ax.set(xlabel=x, aspect="equal" if _alike(ax) else "auto")
        ax.margins(0)
        ax.locator_params(nbins=min(3, max(1, int(size(ax)[0] / _NUMBER))))
        ax.apply_aspect()
        titled(ax, title)
        ax.tick_params(labelleft=ax is axes[0])  # all show the same plane
    axes[0].set_ylabel(y)
    figure: Any = axes[0].figure.figure
    if figure.get_layout_engine() is not None:
        figure.draw_without_rendering()  # a layout needs the sides of its axes, which the first one finds
    return axes


def _alike(ax: Axes) -> bool:
    """Whether the two coordinates of what is drawn reach about as far, so that they may have one scale."""
    box = ax.dataLim
    return box.width < _NARROW * box.height and box.height < _NARROW * box.width


def axis_labels(names: tuple[str, ...] | None, dimension: int) -> tuple[str, ...]:
    """Labels for the coordinates of points: their names, or x, y and z."""
    return tuple(_as_written(name) for name in names) if names else tuple("xyz"[:dimension])


def _as_written(text: str) -> str:
    """A text that matplotlib takes as it is: a dollar begins no formula."""
    return text.replace("$", r"\$")


def titled(ax: Axes, title: str) -> None:
    """Set a title, in as many lines as the width of the axes takes."""
    text: Any = ax.set_title(title, fontsize="medium")
    letters = int(size(ax)[0] / (_LETTER * text.get_fontsize()))
    if letters < _FEW_LETTERS:
        text.set_fontsize("small")
        letters = int(size(ax)[0] / (_LETTER * text.get_fontsize()))
    parts = textwrap.wrap(title.replace("_", "_\0 "), max(12, letters))  # names of files break there, too
    text.set_text(_as_written("\n".join(parts).replace("\0 ", "").replace("\0", "")))


def few_numbers_on_logarithms(axis: Any, room: float) -> None:
    """1, 2 and 5 of each power of ten on a logarithmic axis, or fewer, if its room in points is small."""
    from matplotlib.ticker import FormatStrFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    most = room / _NUMBER / max(1e-9, np.log10(high / low))
    subs = next((s for s in ((1.0, 2.0, 5.0), (1.0, 3.0)) if len(s) <= most), (1.0,))
    axis.set_major_locator(LogLocator(subs=subs))
    axis.set_major_formatter(FormatStrFormatter("%g"))
    axis.set_minor_formatter(NullFormatter())


def legend_on_top(ax: Axes) -> None:
    """A legend inside, above all that is drawn: in one row if the width takes it, or in a column.

    After the title.
    """
    _, labels = ax.get_legend_handles_labels()
    first: Any = ax.legend().get_texts()[0]
    font = first.get_fontsize()
    width, height = size(ax)
    height -= 1.3 * font * ax.get_title().count("\n")  # the title takes it from the axes
    row = sum(_HANDLE + _LETTER * len(label) for label in labels) * font
    rows = 1 if row < width else len(labels)
    low, high = ax.get_ylim()
    part = min(0.6, (rows * _ROW + 0.5) * font / height)
    ax.set_ylim(low, low + (high - low) / (1 - part))
    ax.legend(frameon=False, loc="upper center", ncols=-(-len(labels) // rows), borderaxespad=0.2)


def bare(ax: Axes) -> None:
    """Without the frame's upper and right side."""
    ax.spines[["top", "right"]].set_visible(False)


def size(ax: Axes) -> tuple[float, float]:
    """Width and height of axes in points, before their layout."""
    pixels, dpi = ax.bbox, ax.figure.dpi
    return 72 * pixels.width / dpi, 72 * pixels.height / dpi
