"""The figures of a report."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from elmonet.data.mesh import Mesh
from elmonet.errors import MissingExtra
from elmonet.plot.axes import (
    BLUE,
    GREY,
    ORANGE,
    bare,
    colour_bar_below,
    few_numbers_on_logarithms,
    size,
    titled,
)
from elmonet.plot.bands import calibration as draw_calibration
from elmonet.plot.bands import on_a_line, stated_error
from elmonet.plot.fields import coloured, coloured_error, finish_fields, in_picture, is_drawn
from elmonet.plot.functions import parity
from elmonet.plot.predicted import WithBand
from elmonet.reporting.data import Shown, TestScore
from elmonet.reporting.html import Markup, element, folded, picture, table
from elmonet.summary import plural
from elmonet.uncertainty.calibration import Calibration

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DPI = 110


def require_pictures() -> None:
    """Raise `MissingExtra` without matplotlib."""
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
    """Return the PNG of what a function draws on axes (rows * columns,), without a window."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout=layout)
    draw(figure.subplots(rows, columns, squeeze=False, **settings).ravel())
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=_DPI)
    return out.getvalue()


def one(draw: Callable[[Axes], Any], width: float = 5.5, height: float = 3.6) -> bytes:
    """Return a figure of one panel."""
    return drawn(lambda axes: draw(axes[0]), 1, 1, width, height)


_BINS = 25  # of the histogram of errors, and along a coordinate


def error_spread(shown: Shown, expected: float | None, interval: tuple[float, float] | None) -> bytes:
    """Draw the distribution of relative errors, and the expected error."""

    def draw(ax: Axes) -> None:
        errors = shown.errors[shown.errors > 0]
        if len(errors):
            low, high = errors.min(), errors.max()
            low, high = (low / 1.2, high * 1.2) if high <= low * 1.01 else (low, high)
            ax.hist(errors, bins=list(np.geomspace(low, high, _BINS)), color=BLUE, alpha=0.7)
        ax.set_xscale("log")
        ax.locator_params(axis="y", integer=True)
        if interval is not None and np.isfinite(interval[1]) and interval[0] > 0:
            ax.axvspan(*interval, color=ORANGE, alpha=0.25, linewidth=0, zorder=0, label="90 % interval")
        if expected:
            ax.axvline(expected, color=ORANGE, linewidth=2, label="expected error")
            ax.legend(frameon=False, fontsize="small")
        low, high = ax.get_xlim()
        ax.set_xlim(min(low, high / 10), high)
        few_numbers_on_logarithms(ax.xaxis, size(ax)[0])
        ax.set(xlabel="relative error of a function", ylabel="functions")
        bare(ax)

    return one(draw)


def layers(records: Sequence[dict[str, Any]]) -> bytes:
    """Draw the error of held-out functions after each layer."""

    def draw(ax: Axes) -> None:
        ax.plot(range(1, len(records) + 1), [record["error"] for record in records], "o-", color=BLUE)
        ax.set_yscale("log")
        ax.set_xticks(range(1, len(records) + 1))
        ax.set(xlabel="layers", ylabel="held-out error")
        bare(ax)

    return one(draw)


def function(shown: WithBand) -> bytes:
    """Draw one component of one function: truth, prediction and band."""
    kind = _kind(shown.points, shown.mesh)
    if kind == "line":
        return drawn(lambda axes: on_a_line(shown, *axes), 2, 1, 5.5, 4.4, sharex=True, height_ratios=(2, 1))
    if kind == "plane":
        shared = {"sharex": True, "sharey": True}
        return drawn(lambda axes: _plane(shown, axes), 1, 4, 11.5, 3.8, layout="compressed", **shared)
    return one(lambda ax: _values(shown, ax), 4.2, 4.2)


def domain(shown: Shown, component: int) -> bytes:
    """Draw the error of a component over the domain."""
    places, typical = shown.places, shown.typical[:, component]
    known = np.isfinite(typical)
    places, typical = places[known], typical[known]
    if _kind(places, shown.mesh) == "plane" and not shown.own_points:
        where, names = in_picture(places, shown.axes)
        label = shown.labels[component] if component < len(shown.labels) else ""

        def draw(ax: Axes) -> None:
            colour_bar_below([ax], coloured(ax, where, typical, shown.mesh, vmin=0, cmap="cividis"), label)
            finish_fields(np.array([ax]), ("root mean square of the error",), names)

        return one(draw, 4.4, 4.6)
    d = places.shape[1]

    def each(axes: np.ndarray) -> None:
        for k, ax in enumerate(axes):
            name = shown.axes[k] if shown.axes else "x" if d == 1 else f"$x_{k + 1}$"
            _along(ax, places[:, k], typical, shown.own_points or d > 1, name)
        axes[0].set_ylabel("size of the error")

    return drawn(each, 1, d, max(5.5, 3.2 * d), 3.2, sharey=True)


def _kind(points: np.ndarray, mesh: Mesh | None) -> str:
    """Return how values at points (M, d) are drawn: on a line, on a plane or surface, or as values alone."""
    if points.shape[1] == 3 and is_drawn(mesh, points):
        return "plane"
    M, d = points.shape
    if d == 1 and M > 1:
        return "line"
    plane = d == 2 and M > 2 and np.linalg.matrix_rank(points - points.mean(axis=0)) == 2
    return "plane" if plane else "values"


def _plane(shown: WithBand, axes: np.ndarray) -> None:
    """Draw truth and prediction in the same colours, the error with dots outside the band, and the band."""
    assert shown.truth is not None
    both, mesh = np.concatenate([shown.truth, shown.predicted]), shown.mesh
    points, names = in_picture(shown.points, shown.axes)
    colours = {"vmin": both.min(), "vmax": both.max(), "cmap": "viridis"}
    panels = (
        coloured(axes[0], points, shown.truth, mesh, **colours),
        coloured(axes[1], points, shown.predicted, mesh, **colours),
        coloured_error(axes[2], points, shown.predicted - shown.truth, "coolwarm", mesh),
        coloured(axes[3], points, (shown.high - shown.low) / 2, mesh, vmin=0, cmap="cividis"),
    )
    axes[2].plot(*points[shown.outside].T, ".", color="black", markersize=2)
    for ax, panel in zip(axes, panels, strict=True):
        colour_bar_below([ax], panel, shown.output if shown.output != "s" else "")
    titles = (f"{shown.name}: truth", "prediction", f"error: {shown.found}", f"half width, {shown.holds}")
    finish_fields(axes, titles, names)


def _values(shown: WithBand, ax: Axes) -> None:
    """Draw predicted against true values, with the band of each."""
    assert shown.truth is not None
    parity(shown.truth, shown.predicted, ax)
    ax.vlines(shown.truth, shown.low, shown.high, color=ORANGE, alpha=0.3)
    titled(ax, f"{shown.name}: {shown.found}")


def _along(ax: Axes, x: np.ndarray, typical: np.ndarray, dots: bool, name: str) -> None:
    """Draw the error along one coordinate: a line, or dots and their root mean square."""
    if not dots and len(np.unique(x)) == len(x) > 1:
        order = np.argsort(x)
        ax.plot(x[order], typical[order], color=BLUE)
        ax.set_ylim(bottom=0)
    else:
        ax.plot(x, typical, ".", color=GREY, markersize=2, alpha=0.5)
        ends = np.linspace(x.min(), x.max() if np.ptp(x) else x.min() + 1, _BINS + 1)
        bins = np.clip(np.searchsorted(ends, x, side="right") - 1, 0, _BINS - 1)
        count = np.bincount(bins, minlength=_BINS)
        square = np.bincount(bins, typical**2, minlength=_BINS)
        there = count > 0
        middle = (ends[1:] + ends[:-1])[there] / 2
        ax.plot(middle, np.sqrt(square[there] / count[there]), "o-", color=BLUE, markersize=4)
    ax.set_xlabel(name)
    bare(ax)


def bands_section(shown: Shown | None, tested: TestScore | None) -> list[Markup]:
    """Return nominal against observed coverage, on test functions and on halves of the training functions."""
    parts = [element("h2", "Calibration of the bands")]
    found = None if tested is None else tested.calibration
    if tested is not None and found is not None:
        parts += _found(found, f"On {plural(tested.functions, 'test function')}.")
    halves = None if shown is None else shown.calibration
    if shown is not None and halves is not None:
        how = f"On {shown.count(len(halves.true))}."
        parts += _found(halves, f"{how} Bands from one half of them, tested on the other half.")
    if found is None and halves is None:
        why = "Not known."
        if shown is not None:
            why = f"Not known: too few functions to test the bands, {shown.count(len(shown.errors))}."
        parts.append(element("p", f"{why} Pass functions with known outputs: model.report(path, X, y)."))
    return parts


def _found(found: Calibration, where: str) -> list[Markup]:
    rows = [
        (f"{100 * asked:.0f} %", f"{100 * points:.1f} %", f"{100 * functions:.1f} %")
        for asked, points, functions in zip(found.asked, found.points, found.functions, strict=True)
    ]
    can_compare = bool(((found.stated > 0) & (found.true > 0)).any())

    def draw(axes: np.ndarray) -> None:
        first, *rest = axes
        draw_calibration(found, first)
        titled(first, "Coverage")
        for ax in rest:
            stated_error(found, ax)
            more = "" if found.correlation is None else f": correlation {found.correlation:.2f}"
            titled(ax, f"Error of each function{more}")

    columns = 2 if can_compare else 1
    return [
        element("p", where),
        picture(
            drawn(draw, 1, columns, 4.6 * columns, 4.6),
            "Observed against nominal coverage; true error against stated error, if known.",
        ),
        folded("Coverage as a table", table(rows, ("nominal", "of all values", "of whole functions"))),
    ]
