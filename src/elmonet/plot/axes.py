"""Axes, colours, titles and legends shared by all figures."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from elmonet.errors import InputError, MissingExtra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import Collection

# From the colour-blind safe palette of Okabe and Ito.
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#767676"

_LETTER_WIDTH = 0.53  # of an average letter, in font sizes
_HANDLE_WIDTH = 3.6  # of a legend's line with the space around it, in font sizes
_LEGEND_ROW = 1.5  # height of a row of a legend, in font sizes
_TICK_LABEL = 50.0  # width of a tick label, in points
_TICKS_AND_LABEL = 36.0  # height of tick labels and axis label, in points
_MIN_TITLE_LETTERS = 18  # per line; use a smaller font if fewer fit
_MAX_ASPECT = 4.0  # sides of a plane that differ by more get different scales


def new(rows: int, columns: int, layout: str = "constrained", **settings: Any) -> np.ndarray:
    """Return the axes (rows * columns,) of a new figure."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise MissingExtra('plots need matplotlib: pip install "elmonet[plot]"') from error
    _, axes = pyplot.subplots(rows, columns, squeeze=False, layout=layout, **settings)
    return axes.ravel()


def checked_axes(axes: Any, count: int) -> np.ndarray:
    """Return the user's axes as an array (count,), or raise if they cannot be drawn in."""
    found = np.array(axes, dtype=object).ravel()
    if len(found) != count or any(getattr(ax, "name", "") != "rectilinear" for ax in found):
        raise InputError(
            f"needs {count} matplotlib axes with straight x and y to draw in, got {axes!r}. Make them with "
            f"plt.subplots(1, {count})[1], or give none."
        )
    return found


def given_or_new(axes: Any, count: int, **settings: Any) -> np.ndarray:
    """Return the user's axes (count,), or else a row of new ones."""
    return new(1, count, **settings) if axes is None else checked_axes(axes, count)


def colour_bar_below(axes: list[Axes], drawn: Collection, label: str = "") -> None:
    """Draw a colour bar below some axes, with as many tick labels as fit, and name and unit of its values."""
    room = sum(size(ax)[0] for ax in axes)  # before the bar takes some
    figure: Any = axes[0].figure.figure
    look: dict[str, Any] = {"location": "bottom", "aspect": 20 * len(axes)}
    if figure.get_layout_engine() is None:  # nothing else makes room for tick labels and axis label
        look["pad"] = _TICKS_AND_LABEL / size(axes[0])[1]
    bar: Any = axes[0].figure.colorbar(drawn, ax=axes, **look)
    if label:
        bar.set_label(_escaped(label))
    bar.formatter.set_powerlimits((-1, 3))  # few digits, and the power of ten once
    bar.ax.locator_params(nbins=min(4, max(1, int(room / _TICK_LABEL))))


def on_a_plane(axes: np.ndarray, titles: tuple[str, ...], names: tuple[str, ...] | None) -> np.ndarray:
    """Finish axes with coloured fields: titles, ticks, and coordinate names as labels."""
    x, y = axis_labels(names, 2)[:2]
    for ax, title in zip(axes, titles, strict=True):
        ax.set(xlabel=x, aspect="equal" if similar_extents(ax) else "auto")
        ax.margins(0)
        ax.locator_params(nbins=min(3, max(1, int(size(ax)[0] / _TICK_LABEL))))
        ax.apply_aspect()
        titled(ax, title)
        ax.tick_params(labelleft=ax is axes[0])  # all show the same plane
    axes[0].set_ylabel(y)
    figure: Any = axes[0].figure.figure
    if figure.get_layout_engine() is not None:
        figure.draw_without_rendering()  # the layout needs the sizes of the axes, which the first pass finds
    return axes


def similar_extents(ax: Axes) -> bool:
    """Whether both coordinates extend about as far, so that they can share a scale."""
    box = ax.dataLim
    return box.width < _MAX_ASPECT * box.height and box.height < _MAX_ASPECT * box.width


def axis_labels(names: tuple[str, ...] | None, dimension: int) -> tuple[str, ...]:
    """Return labels for the coordinates of points: their names, or x, y and z."""
    return tuple(_escaped(name) for name in names) if names else tuple("xyz"[:dimension])


def titled(ax: Axes, title: str) -> None:
    """Set a title, wrapped to the width of the axes."""
    text: Any = ax.set_title(title, fontsize="medium")
    letters = int(size(ax)[0] / (_LETTER_WIDTH * text.get_fontsize()))
    if letters < _MIN_TITLE_LETTERS:
        text.set_fontsize("small")
        letters = int(size(ax)[0] / (_LETTER_WIDTH * text.get_fontsize()))
    lines = textwrap.wrap(title.replace("_", "_\0 "), max(12, letters))  # file names may break at "_"
    text.set_text(_escaped("\n".join(lines).replace("\0 ", "").replace("\0", "")))


def _escaped(text: str) -> str:
    """Escape dollar signs, which start a formula in matplotlib."""
    return text.replace("$", r"\$")


def few_numbers_on_logarithms(axis: Any, room: float) -> None:
    """Label 1, 2 and 5 of each power of ten on a logarithmic axis, or fewer if its room (points) is small."""
    from matplotlib.ticker import FormatStrFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    most = room / _TICK_LABEL / max(1e-9, np.log10(high / low))
    subs = next((s for s in ((1.0, 2.0, 5.0), (1.0, 3.0)) if len(s) <= most), (1.0,))
    axis.set_major_locator(LogLocator(subs=subs))
    axis.set_major_formatter(FormatStrFormatter("%g"))
    axis.set_minor_formatter(NullFormatter())


def legend_on_top(ax: Axes) -> None:
    """Draw a legend inside the axes, above the data: in one row if it fits, else in a column.

    Call it after the title is set.
    """
    _, labels = ax.get_legend_handles_labels()
    first: Any = ax.legend().get_texts()[0]
    font = first.get_fontsize()
    width, height = size(ax)
    height -= 1.3 * font * ax.get_title().count("\n")  # the title takes it from the axes
    row = sum(_HANDLE_WIDTH + _LETTER_WIDTH * len(label) for label in labels) * font
    rows = 1 if row < width else len(labels)
    low, high = ax.get_ylim()
    part = min(0.6, (rows * _LEGEND_ROW + 0.5) * font / height)
    logarithmic = ax.get_yscale() == "log"
    top = low * (high / low) ** (1 / (1 - part)) if logarithmic else low + (high - low) / (1 - part)
    ax.set_ylim(low, top)
    ax.legend(frameon=False, loc="upper center", ncols=-(-len(labels) // rows), borderaxespad=0.2)


def bare(ax: Axes) -> None:
    """Hide the top and right spines."""
    ax.spines[["top", "right"]].set_visible(False)


def size(ax: Axes) -> tuple[float, float]:
    """Return width and height of axes in points, before their layout."""
    pixels, dpi = ax.bbox, ax.figure.dpi
    return 72 * pixels.width / dpi, 72 * pixels.height / dpi
