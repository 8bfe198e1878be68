"""Pictures of what was chosen: the leaderboard and the path of alpha."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from elmonet.errors import InputError, require_fitted
from elmonet.plot.axes import (
    BLUE,
    GREY,
    ORANGE,
    bare,
    few_numbers_on_logarithms,
    given,
    legend_on_top,
    new,
    size,
    titled,
)
from elmonet.solve import Solution

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["leaderboard", "ridge_path"]

_ROW = 0.27  # the height of a row, in inches
_LEAST_ROW = 11.0  # the least height of a row, in points
_AROUND = 70.0  # what title and legend take of the height, in points
_SETTINGS = re.compile(r"\([^()]*\)")  # such as (0.1, width 500)
_FLOOR = 1e-17  # an error of zero has no logarithm


def leaderboard(model: Any, ax: Axes | None = None, *, most: int = 12) -> Axes:
    """Draw the errors of all candidates that an automatic choice has tried, and mark the chosen one.

    A row is a kind of branch, the best on top. Its dots are what was tried of it: scales, widths, logarithms.
    Candidates that were tried on fewer functions are grey: their errors are larger for that reason alone.

    Parameters
    ----------
    model : fitted `AutoELMDeepONet`, or the ``leaderboard_`` of one.
    ax : where to draw; None: in a new figure.
    most : how many kinds to show.

    Returns
    -------
    The axes.
    """
    trials = _trials(model)
    kinds: dict[str, list[dict[str, Any]]] = {}
    for trial in trials:  # the best first
        kinds.setdefault(_SETTINGS.sub("", trial["branch"]), []).append(trial)
    if ax is not None:
        (ax,) = given(ax, 1)
        most = min(most, int((size(ax)[1] - _AROUND) / _LEAST_ROW))
    shown = list(kinds.items())[: max(1, most)]
    height = 1.6 + _ROW * len(shown)
    if ax is None:
        (ax,) = new(1, 1, figsize=(6.0, height))
    _draw(ax, [tried for _, tried in shown], trials[0])
    ax.set_yticks(range(len(shown)), [kind for kind, _ in shown], fontsize="small")
    ax.set_ylim(len(shown) - 0.5, -0.5)
    ax.set_xlabel("relative error")
    figure: Any = ax.figure.figure
    figure.draw_without_rendering()  # now the width that the names of the rows leave is known
    few_numbers_on_logarithms(ax.xaxis, size(ax)[0])
    hidden = len(kinds) - len(shown)
    more = f", {hidden} worse kinds not shown" if hidden else ""
    tried = "1 candidate" if len(trials) == 1 else f"{len(trials)} candidates"
    best, error = trials[0]["branch"], trials[0]["error"]
    titled(ax, f"{tried}{more}. Chosen: {best}, error {error:.2g}")
    bare(ax)
    legend_on_top(ax)
    return ax


def _draw(ax: Axes, rows: list[list[dict[str, Any]]], chosen: dict[str, Any]) -> None:
    """The dots of each row."""
    whole, low, high = chosen["functions"], np.inf, 0.0
    on_all = {"color": BLUE, "markersize": 5, "label": f"on {whole} functions"}
    on_fewer = {"color": GREY, "markersize": 4, "label": "on fewer"}
    for all_of_them, look in ((False, on_fewer), (True, on_all)):
        dots = [
            (max(trial["error"], _FLOOR), row)
            for row, tried in enumerate(rows)
            for trial in tried
            if (trial["functions"] == whole) == all_of_them
        ]
        if dots:
            errors, at = np.array(dots).T
            ax.semilogx(errors, at, ".", **look)
            low, high = min(low, errors.min()), max(high, errors.max())
    ax.semilogx(max(chosen["error"], _FLOOR), 0, "o", color=ORANGE, markersize=8, label="chosen")
    room = 1.3 * max(1.0, np.sqrt(10 * low / high))  # a power of ten at least, for numbers on the axis
    ax.set_xlim(low / room, high * room)
    ax.grid(axis="y", linewidth=0.4)
    ax.set_axisbelow(True)


def _trials(model: Any) -> list[dict[str, Any]]:
    if isinstance(model, list):
        trials = model
    elif hasattr(model, "leaderboard_"):
        trials = model.leaderboard_
    elif type(model).__name__ == "AutoELMDeepONet":
        require_fitted(model, "leaderboard_")
    else:
        raise InputError(
            f"plot.leaderboard draws a fitted AutoELMDeepONet, or its leaderboard_; got {model!r}. A model "
            "that was loaded from a file has no leaderboard."
        )
    if not trials:
        raise InputError("there is nothing to draw: an empty leaderboard was given.")
    return trials


def ridge_path(model: Any, ax: Axes | None = None) -> Axes:
    """Draw the criterion by which alpha was chosen against alpha, and mark the choice.

    Parameters
    ----------
    model : fitted model, or the `Solution` of a solver, that chose alpha: ``Ridge("loo")``.
    ax : where to draw; None: in a new figure.

    Returns
    -------
    The axes.
    """
    solution = _solution(model)
    alphas, path = solution.alphas, solution.path
    if alphas is None or path is None:
        raise InputError(
            f"there is no path to draw: alpha = {solution.alpha:g} was not chosen among others. "
            'Fit with solver=Ridge("loo"), which tries many.'
        )
    (ax,) = given(ax, 1) if ax is not None else new(1, 1, figsize=(5.5, 3.6))
    best = np.argmin(np.abs(alphas - solution.alpha))
    ax.loglog(alphas, path, ".-", color=BLUE)
    chosen = f"chosen: alpha = {solution.alpha:.2g}"
    ax.loglog(alphas[best], path[best], "o", color=ORANGE, markersize=9, label=chosen)
    by_loo = solution.error_kind == "leave-one-out" and np.isclose(path[best], solution.loo_error, rtol=1e-9)
    ax.set(xlabel="alpha", ylabel="leave-one-out error" if by_loo else "criterion")
    bare(ax)
    ax.legend(frameon=False)
    return ax


def _solution(model: Any) -> Solution:
    if isinstance(model, Solution):
        return model
    if not hasattr(model, "fit"):
        raise InputError(f"ridge_path draws a fitted model or a Solution; got {model!r}.")
    require_fitted(model, "solution_")
    return model.solution_
