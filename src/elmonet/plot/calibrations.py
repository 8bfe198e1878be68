"""Pictures of how well bands hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from elmonet._check import InputError
from elmonet.calibration import Calibration
from elmonet.plot.axes import BLUE, GREY, ORANGE, bare, few_numbers_on_logarithms, given, new, size, titled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["calibration", "stated_error"]


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
