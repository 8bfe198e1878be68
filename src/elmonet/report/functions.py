"""Pictures of functions that a fit has not seen, and of the errors over their domain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from elmonet.plot.axes import BLUE, GREY, ORANGE, bare, colour_bar_below, coloured, on_a_plane, titled
from elmonet.plot.bands import on_a_line
from elmonet.plot.one_function import WithBand
from elmonet.plot.predictions import parity
from elmonet.report.account import Unseen
from elmonet.report.drawing import drawn, one

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["domain", "function"]

_BINS = 25


def function(shown: WithBand) -> bytes:
    """One component of one function: truth, prediction and band."""
    kind = _kind(shown.points)
    if kind == "line":
        return drawn(lambda axes: _line(shown, axes), 2, 1, 5.5, 4.4, sharex=True, height_ratios=(2, 1))
    if kind == "plane":
        shared = {"sharex": True, "sharey": True}
        return drawn(lambda axes: _plane(shown, axes), 1, 4, 11.5, 3.8, layout="compressed", **shared)
    return one(lambda ax: _values(shown, ax), 4.2, 4.2)


def domain(unseen: Unseen, component: int) -> bytes:
    """The error of a component over the domain."""
    places, typical = unseen.places, unseen.typical[:, component]
    known = np.isfinite(typical)
    places, typical = places[known], typical[known]
    if _kind(places) == "plane" and not unseen.own_points:

        def draw(ax: Axes) -> None:
            colour_bar_below(ax, coloured(ax, places, typical, vmin=0, cmap="cividis"))
            on_a_plane(np.array([ax]), ("root mean square of the error",))

        return one(draw, 4.4, 4.6)
    d = places.shape[1]

    def each(axes: np.ndarray) -> None:
        for k, ax in enumerate(axes):
            _along(ax, places[:, k], typical, unseen.own_points or d > 1, "x" if d == 1 else f"$x_{k + 1}$")
        axes[0].set_ylabel("size of the error")

    return drawn(each, 1, d, max(5.5, 3.2 * d), 3.2, sharey=True)


def _kind(points: np.ndarray) -> str:
    """How values at points (M, d) are drawn: on a line, on a plane, or as values alone."""
    M, d = points.shape
    if d == 1 and M > 1:
        return "line"
    plane = d == 2 and M > 2 and np.linalg.matrix_rank(points - points.mean(axis=0)) == 2
    return "plane" if plane else "values"


def _line(shown: WithBand, axes: np.ndarray) -> None:
    """The function, and below it band and truth without the prediction, where a narrow band is seen."""
    on_a_line(shown, axes[0])
    axes[0].set_xlabel("")
    order = np.argsort(shown.points[:, 0], kind="stable")
    x, truth, low, high = (
        A[order] for A in (shown.points[:, 0], *(own - shown.predicted for own in _lines(shown)))
    )
    axes[1].fill_between(x, low, high, color=ORANGE, alpha=0.3, linewidth=0)
    axes[1].plot(x, truth, color=BLUE)
    axes[1].axhline(0, color=ORANGE, linestyle="--")
    axes[1].set(xlabel="x", ylabel="minus prediction")
    axes[1].ticklabel_format(axis="y", scilimits=(-3, 4))
    bare(axes[1])


def _lines(shown: WithBand) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    assert shown.truth is not None
    return shown.truth, shown.low, shown.high


def _plane(shown: WithBand, axes: np.ndarray) -> None:
    """Truth and prediction in the same colours, the error with dots where it leaves the band, the band."""
    truth = _lines(shown)[0]
    both = np.concatenate([truth, shown.predicted])
    colours = {"vmin": both.min(), "vmax": both.max(), "cmap": "viridis"}
    error, half = shown.predicted - truth, (shown.high - shown.low) / 2
    largest = float(np.abs(error).max()) or 1.0
    panels = (
        coloured(axes[0], shown.points, truth, **colours),
        coloured(axes[1], shown.points, shown.predicted, **colours),
        coloured(axes[2], shown.points, error, vmin=-largest, vmax=largest, cmap="coolwarm"),
        coloured(axes[3], shown.points, half, vmin=0, cmap="cividis"),
    )
    axes[2].plot(*shown.points[shown.outside].T, ".", color="black", markersize=2)
    for ax, panel in zip(axes, panels, strict=True):
        colour_bar_below(ax, panel)
    titles = (f"{shown.name}: truth", "prediction", f"error: {shown.found}", f"half width, {shown.holds}")
    on_a_plane(axes, titles)


def _values(shown: WithBand, ax: Axes) -> None:
    """Predicted against true values, with the band of each."""
    truth = _lines(shown)[0]
    parity(truth, shown.predicted, ax)
    ax.vlines(truth, shown.low, shown.high, color=ORANGE, alpha=0.3)
    titled(ax, f"{shown.name}: {shown.found}")


def _along(ax: Axes, x: np.ndarray, typical: np.ndarray, dots: bool, name: str) -> None:
    """The error along one coordinate: a line, or dots and their root mean square."""
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
