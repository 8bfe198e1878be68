"""Figures of predictions with bands, and of the calibration of bands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from elmonet.checks import Functions
from elmonet.data.mesh import Mesh
from elmonet.data.scattered import Scattered
from elmonet.errors import InputError
from elmonet.plot.axes import (
    BLUE,
    GREY,
    ORANGE,
    axis_labels,
    bare,
    checked_axes,
    colour_bar_below,
    few_numbers_on_logarithms,
    given_or_new,
    legend_on_top,
    new,
    size,
    titled,
)
from elmonet.plot.fields import coloured, coloured_error, finish_fields, in_picture
from elmonet.plot.functions import draw_on_line, require_dimension, require_fields, require_plane
from elmonet.plot.predicted import WithBand
from elmonet.summary import plural
from elmonet.uncertainty.calibration import Calibration

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from elmonet.estimators.base import OperatorEstimator

_PLOTS = ("plot.band", "plot.band_field")
_OTHERWISE = "Ask model.interval at points on a line or a plane, and draw that."


def band(
    model: OperatorEstimator,
    u: Functions,
    s: Functions | Scattered | None = None,
    index: int = 0,
    ax: Axes | None = None,
    *,
    coverage: float = 0.9,
    of: str = "function",
    points: ArrayLike | Mesh | None = None,
    component: str | int | None = None,
) -> Axes:
    """Draw the prediction of one function on a line with its band, and the truth if it is known.

    Parameters
    ----------
    model : fitted model with bands.
    u, s : input functions, and their outputs in the shape of predictions; None: not known.
    index : which of them.
    ax : axes to draw in; None: a new figure, with a second panel of band and truth minus the prediction,
        where a narrow band is visible.
    coverage, of, points : as in `ELMDeepONet.interval`: "function" for a band that holds whole functions,
        "points" for one that holds single values; where to predict.
    component : of outputs with several, by name or number; None: the first.

    Returns
    -------
    The axes with the prediction.

    Raises
    ------
    InputError : if the points are not on a line, or the model cannot give this band.
    """
    return on_a_line(WithBand.of(model, u, s, index, coverage, of, points, component), ax)


def band_field(
    model: OperatorEstimator,
    u: Functions,
    s: Functions | Scattered | None = None,
    index: int = 0,
    axes: Axes | Sequence[Axes] | np.ndarray | None = None,
    *,
    coverage: float = 0.9,
    of: str = "function",
    points: ArrayLike | Mesh | None = None,
    component: str | int | None = None,
) -> np.ndarray:
    """Draw the prediction of one function on a plane, the half-width of its band, and the error if known.

    Black dots mark where the truth is outside the band.

    Parameters
    ----------
    model, u, s, index, coverage, of, points, component : as in `plot.band`.
    axes : two axes to draw in, or three if s is given; None: a new figure.

    Returns
    -------
    Array of the two or three axes.

    Raises
    ------
    InputError : if the points are not on a plane, or the model cannot give this band.
    """
    return on_plane(WithBand.of(model, u, s, index, coverage, of, points, component), axes)


def on_a_line(shown: WithBand, ax: Axes | None = None, below: Axes | None = None) -> Axes:
    """Draw the figure of `band`; if there are axes below, band and truth minus the prediction in these."""
    require_dimension(shown.points, 1, _PLOTS, _OTHERWISE)
    if ax is not None:
        (ax,) = checked_axes(ax, 1)
    else:
        ax, below = new(2, 1, figsize=(5.5, 4.6), sharex=True, height_ratios=(2, 1))
    _draw(ax, shown, 0.0)
    titled(ax, f"{shown.name}: {shown.found}" if shown.found else shown.name)
    legend_on_top(ax)
    (x,), (s,) = axis_labels(shown.axes, 1), axis_labels((shown.output,), 1)
    ax.set_ylabel(f"{s}({x})")
    if below is not None:
        _draw(below, shown, shown.predicted)
        below.set_ylabel("minus prediction")
        below.ticklabel_format(axis="y", scilimits=(-3, 4))
        below.figure.align_ylabels()
    (ax if below is None else below).set_xlabel(x)
    return ax


def _draw(ax: Axes, shown: WithBand, centre: Any) -> None:
    """Draw band, truth and prediction, each minus the centre."""
    order = np.argsort(shown.points[:, 0])
    x, low, high = (A[order] for A in (shown.points[:, 0], shown.low - centre, shown.high - centre))
    if len(x) == 1:
        ax.vlines(x, low, high, color=ORANGE, alpha=0.3, linewidth=8, label=shown.holds)
    else:
        ax.fill_between(x, low, high, color=ORANGE, alpha=0.3, linewidth=0, label=shown.holds)
    truth = None if shown.truth is None else shown.truth - centre
    draw_on_line(ax, shown.points, truth, shown.predicted - centre, width=2)


def on_plane(shown: WithBand, axes: Any = None) -> np.ndarray:
    """Draw the figure of `band_field`."""
    require_fields(shown.points, shown.mesh, _PLOTS, _OTHERWISE)
    points, names = in_picture(shown.points, shown.axes)
    instead = "Draw model.interval(u, points=...) against the position on it."
    require_plane(points, "plot.band_field", instead)
    count = 2 if shown.truth is None else 3
    figure = {"figsize": (3.1 * count, 3.9), "layout": "compressed", "sharex": True, "sharey": True}
    axes = given_or_new(axes, count, **figure)
    half, mesh = (shown.high - shown.low) / 2, shown.mesh
    drawn = [
        coloured(axes[0], points, shown.predicted, mesh, cmap="viridis"),
        coloured(axes[1], points, half, mesh, vmin=0, cmap="cividis"),
    ]
    titles = [f"{shown.name}: prediction", f"half width for {shown.holds}"]
    if shown.truth is not None:
        drawn.append(coloured_error(axes[2], points, shown.predicted - shown.truth, "coolwarm", mesh))
        axes[2].plot(*points[shown.outside].T, ".", color="black", markersize=2)
        titles.append(shown.found)
    unit = shown.output if "[" in shown.output else ""
    for ax, colours in zip(axes, drawn, strict=True):
        colour_bar_below([ax], colours, unit)
    return finish_fields(axes, tuple(titles), names)


def calibration(calibration: Calibration, ax: Axes | None = None) -> Axes:
    """Draw empirical against nominal coverage; a perfect model lies on the diagonal.

    The grey area is the chance variation of the coverage of whole functions: two standard deviations,
    ``2 sqrt(p (1 - p) / n)``, for n independent test functions.

    Parameters
    ----------
    calibration : result of ``model.calibration(u_test, s_test)``.
    ax : axes to draw in; None: a new figure.

    Returns
    -------
    The axes.

    Raises
    ------
    InputError : if this is not a `Calibration`.
    """
    found = _checked(calibration)
    (ax,) = given_or_new(ax, 1, figsize=(4.4, 4.4))
    n, empirical = len(found.true), np.concatenate([found.points, found.functions])
    least = max(0.0, np.floor(10 * min(found.asked.min(), empirical.min()) - 0.3) / 10)
    p = np.linspace(least, 1, 101)
    chance = 2 * np.sqrt(p * (1 - p) / n)
    low, high = np.clip(p - chance, 0, 1), np.clip(p + chance, 0, 1)
    ax.fill_between(100 * p, 100 * low, 100 * high, color=GREY, alpha=0.2, linewidth=0, label="by chance")
    ax.plot([100 * least, 100], [100 * least, 100], color=GREY, linewidth=1)
    percent = 100 * found.asked
    ax.plot(percent, 100 * found.points, "o-", color=BLUE, markersize=5, label="single values")
    ax.plot(percent, 100 * found.functions, "s--", color=ORANGE, markersize=5, label="whole functions")
    ax.set(xlabel="nominal coverage (%)", ylabel="observed coverage (%)", aspect="equal")
    ax.set(xlim=(100 * least, 101), ylim=(100 * least, 101))
    titled(ax, f"Bands of {plural(n, 'test function')}")
    corner: Any = "upper left" if empirical.mean() < found.asked.mean() else "lower right"
    ax.legend(frameon=False, loc=corner, fontsize="small", handlelength=1.6, borderaxespad=0.1)
    bare(ax)
    return ax


def stated_error(calibration: Calibration, ax: Axes | None = None) -> Axes:
    """Draw the true error of every test function against the error that the model states for it.

    Both are root mean squares, relative to the root mean square of the outputs. They are equal on the
    diagonal.

    Parameters
    ----------
    calibration : result of ``model.calibration(u_test, s_test)``.
    ax : axes to draw in; None: a new figure.

    Returns
    -------
    The axes.

    Raises
    ------
    InputError : if this is not a `Calibration`, or all errors are zero.
    """
    found = _checked(calibration)
    positive = (found.stated > 0) & (found.true > 0)
    if not positive.any():
        raise InputError("there is nothing to draw: all errors of the test functions are zero.")
    (ax,) = given_or_new(ax, 1, figsize=(4.4, 4.4))
    stated, true = found.stated[positive], found.true[positive]
    both = np.concatenate([stated, true])
    ends = both.min() / 1.5, both.max() * 1.5
    ax.loglog(ends, ends, color=GREY, linewidth=1)
    ax.loglog(stated, true, "o", color=BLUE, markersize=4, alpha=0.6, markeredgewidth=0)
    ax.set(xlabel="stated error", ylabel="true error", aspect="equal", xlim=ends, ylim=ends)
    room = min(size(ax))
    for axis in (ax.xaxis, ax.yaxis):
        few_numbers_on_logarithms(axis, room)
    more = "" if found.correlation is None else f": correlation {found.correlation:.2f}"
    titled(ax, f"{plural(positive.sum(), 'test function')}{more}")
    bare(ax)
    return ax


def _checked(given: Any) -> Calibration:
    if not isinstance(given, Calibration):
        raise InputError(f"this draws what model.calibration(u_test, s_test) gives; got {given!r}.")
    return given
