"""Pictures of predictions with bands, and of how well bands hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from elmonet.errors import InputError
from elmonet.plot.axes import (
    BLUE,
    GREY,
    ORANGE,
    axis_labels,
    bare,
    colour_bar_below,
    coloured,
    few_numbers_on_logarithms,
    given,
    legend_on_top,
    new,
    on_a_plane,
    size,
    titled,
)
from elmonet.plot.functions import WithBand
from elmonet.uncertainty.calibration import Calibration

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["band", "band_field", "calibration", "in_a_plane", "on_a_line", "stated_error"]


def band(
    model: Any,
    u: Any,
    s: Any = None,
    index: int = 0,
    ax: Axes | None = None,
    *,
    coverage: float = 0.9,
    of: str = "function",
    points: Any = None,
    component: str | int | None = None,
) -> Axes:
    """Draw the prediction of one function on a line, with its band, and with the truth if it is known.

    Parameters
    ----------
    model : fitted model with bands.
    u, s : input functions, and their outputs in the shape of predictions; None: these are not known.
    index : which of them.
    ax : where to draw; None: in a new figure, with a panel below that shows band and truth minus the
        prediction: there a narrow band can be seen.
    coverage, of, points : as in `ELMDeepONet.interval`: "function" for a band that holds whole functions,
        "points" for one that holds single values; where to predict.
    component : of outputs with several, by name or number; None: the first.

    Returns
    -------
    The axes with the prediction.
    """
    return on_a_line(WithBand.of(model, u, s, index, coverage, of, points, component), ax)


def band_field(
    model: Any,
    u: Any,
    s: Any = None,
    index: int = 0,
    axes: Any = None,
    *,
    coverage: float = 0.9,
    of: str = "function",
    points: Any = None,
    component: str | int | None = None,
) -> np.ndarray:
    """Draw the prediction of one function on a plane, the half width of its band, and the error if known.

    Black dots mark where the truth leaves the band.

    Parameters
    ----------
    model, u, s, index, coverage, of, points, component : as in `plot.band`.
    axes : to draw in, two, or three if s is given; None: in a new figure.

    Returns
    -------
    Array of the two or three axes.
    """
    return in_a_plane(WithBand.of(model, u, s, index, coverage, of, points, component), axes)


def on_a_line(shown: WithBand, ax: Axes | None = None) -> Axes:
    """The picture of `band`."""
    _require_dimension(shown, 1)
    below: Axes | None = None
    if ax is not None:
        (ax,) = given(ax, 1)
    else:
        ax, below = new(2, 1, figsize=(5.5, 4.6), sharex=True, height_ratios=(2, 1))
    _draw(ax, shown, 0.0)
    titled(ax, f"{shown.name}: {shown.found}" if shown.found else shown.name)
    legend_on_top(ax)
    (x,) = axis_labels(shown.axes, 1)
    ax.set_ylabel(f"s({x})")
    if below is not None:
        _draw(below, shown, shown.predicted)
        below.set_ylabel("minus prediction")
        below.figure.align_ylabels()
    (ax if below is None else below).set_xlabel(x)
    return ax


def in_a_plane(shown: WithBand, axes: Any = None) -> np.ndarray:
    """The picture of `band_field`."""
    _require_dimension(shown, 2)
    count = 2 if shown.truth is None else 3
    if axes is not None:
        axes = given(axes, count)
    else:
        size = (3.1 * count, 3.9)
        axes = new(1, count, figsize=size, layout="compressed", sharex=True, sharey=True)
    half = (shown.high - shown.low) / 2
    drawn = [
        coloured(axes[0], shown.points, shown.predicted, cmap="viridis"),
        coloured(axes[1], shown.points, half, vmin=0, cmap="cividis"),
    ]
    titles = [f"{shown.name}: prediction", f"half width for {shown.holds}"]
    if shown.truth is not None:
        error = shown.predicted - shown.truth
        largest = float(np.nanmax(np.abs(error))) or 1.0
        drawn.append(coloured(axes[2], shown.points, error, vmin=-largest, vmax=largest, cmap="coolwarm"))
        axes[2].plot(*shown.points[shown.outside].T, ".", color="black", markersize=2)
        titles.append(shown.found)
    for ax, colours in zip(axes, drawn, strict=True):
        colour_bar_below([ax], colours)
    return on_a_plane(axes, tuple(titles), shown.axes)


def _draw(ax: Axes, shown: WithBand, middle: Any) -> None:
    """Band, truth and prediction, less the middle, on a line."""
    order = np.argsort(shown.points[:, 0])
    x, marker = shown.points[order, 0], "o" if len(order) == 1 else ""
    low, high, predicted = ((A - middle)[order] for A in (shown.low, shown.high, shown.predicted))
    if len(x) == 1:
        ax.vlines(x, low, high, color=ORANGE, alpha=0.3, linewidth=8, label=shown.holds)
    else:
        ax.fill_between(x, low, high, color=ORANGE, alpha=0.3, linewidth=0, label=shown.holds)
    if shown.truth is not None:
        truth = (shown.truth - middle)[order]
        ax.plot(x, truth, color=BLUE, linewidth=2, marker=marker, label="truth")
        if np.isnan(truth).any():  # between gaps, a value may have no neighbour
            ax.plot(x, truth, "o", color=BLUE, markersize=2.5)
    ax.plot(x, predicted, "--", color=ORANGE, marker=marker, label="prediction")
    bare(ax)


def _require_dimension(shown: WithBand, dimension: int) -> None:
    d = shown.points.shape[1]
    if d != dimension:
        hints = {1: "Use plot.band.", 2: "Use plot.band_field."}
        hint = hints.get(d, "Ask model.interval at points on a line or a plane, and draw that.")
        raise InputError(f"this plot needs points (M, {dimension}), got {shown.points.shape}. {hint}")
    if dimension == 2 and np.linalg.matrix_rank(shown.points - shown.points.mean(axis=0)) < 2:
        raise InputError(
            "plot.band_field needs points that spread over a plane, and these lie on one line. Draw "
            "model.interval(u, points=...) against the position on that line."
        )


def calibration(calibration: Calibration, ax: Axes | None = None) -> Axes:
    """Draw the coverage that was found against the one that was asked for: on the diagonal is perfect.

    The grey area is what chance gives whole functions of so few: two standard deviations,
    ``sqrt(p (1 - p) / n)``, for n independent test functions.

    Parameters
    ----------
    calibration : what ``model.calibration(u_test, s_test)`` gives.
    ax : where to draw; None: in a new figure.

    Returns
    -------
    The axes.
    """
    found = _checked(calibration)
    (ax,) = given(ax, 1) if ax is not None else new(1, 1, figsize=(4.4, 4.4))
    n, all_found = len(found.true), np.concatenate([found.points, found.functions])
    least = max(0.0, np.floor(10 * min(found.asked.min(), all_found.min()) - 0.3) / 10)
    p = np.linspace(least, 1, 101)
    chance = 2 * np.sqrt(p * (1 - p) / n)
    low, high = np.clip(p - chance, 0, 1), np.clip(p + chance, 0, 1)
    ax.fill_between(100 * p, 100 * low, 100 * high, color=GREY, alpha=0.2, linewidth=0, label="by chance")
    ax.plot([100 * least, 100], [100 * least, 100], color=GREY, linewidth=1)
    percent = 100 * found.asked
    ax.plot(percent, 100 * found.points, "o-", color=BLUE, markersize=5, label="single values")
    ax.plot(percent, 100 * found.functions, "s--", color=ORANGE, markersize=5, label="whole functions")
    ax.set(xlabel="coverage asked for (%)", ylabel="coverage found (%)", aspect="equal")
    ax.set(xlim=(100 * least, 101), ylim=(100 * least, 101))
    titled(ax, f"Bands of {n} test functions")
    below = all_found.mean() < found.asked.mean()
    place: Any = "upper left" if below else "lower right"
    ax.legend(frameon=False, loc=place, fontsize="small", handlelength=1.6, borderaxespad=0.1)
    bare(ax)
    return ax


def stated_error(calibration: Calibration, ax: Axes | None = None) -> Axes:
    """Draw the true error of every test function against the error that the model states for it.

    Both are root mean squares, in units of the outputs' root mean square. On the diagonal they are equal.

    Parameters
    ----------
    calibration : what ``model.calibration(u_test, s_test)`` gives.
    ax : where to draw; None: in a new figure.

    Returns
    -------
    The axes.
    """
    found = _checked(calibration)
    usable = (found.stated > 0) & (found.true > 0)
    if not usable.any():
        raise InputError("there is nothing to draw: all errors of the test functions are zero.")
    (ax,) = given(ax, 1) if ax is not None else new(1, 1, figsize=(4.4, 4.4))
    stated, true = found.stated[usable], found.true[usable]
    both = np.concatenate([stated, true])
    ends = both.min() / 1.5, both.max() * 1.5
    ax.loglog(ends, ends, color=GREY, linewidth=1)
    ax.loglog(stated, true, "o", color=BLUE, markersize=4, alpha=0.6, markeredgewidth=0)
    ax.set(xlabel="stated error", ylabel="true error", aspect="equal", xlim=ends, ylim=ends)
    room = min(size(ax))
    for axis in (ax.xaxis, ax.yaxis):
        few_numbers_on_logarithms(axis, room)
    more = "" if found.correlation is None else f": correlation {found.correlation:.2f}"
    titled(ax, f"{usable.sum()} test functions{more}")
    bare(ax)
    return ax


def _checked(given: Any) -> Calibration:
    if not isinstance(given, Calibration):
        raise InputError(f"this draws what model.calibration(u_test, s_test) gives; got {given!r}.")
    return given
