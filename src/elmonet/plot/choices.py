"""Figures of model selection: the leaderboard, the criterion against alpha, and suspect training pairs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from elmonet.errors import InputError
from elmonet.fitting.suspects import Suspects
from elmonet.forms.inputs import InputForm
from elmonet.parts import require_fitted
from elmonet.plot.axes import (
    BLUE,
    GREY,
    ORANGE,
    bare,
    checked_axes,
    few_numbers_on_logarithms,
    given_or_new,
    legend_on_top,
    new,
    size,
    titled,
)
from elmonet.solve import Solution
from elmonet.summary import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from elmonet.estimators.base import OperatorEstimator

_ROW_HEIGHT = 0.27  # inches
_MIN_ROW_HEIGHT = 11.0  # points
_TITLE_AND_LEGEND = 70.0  # their height in points
_SETTINGS = re.compile(r"\([^()]*\)")  # such as (0.1, width 500)
_SMALLEST_ERROR = 1e-17  # drawn instead of zero, which has no logarithm


def leaderboard(
    model: OperatorEstimator | list[dict[str, Any]], ax: Axes | None = None, *, most: int = 12
) -> Axes:
    """Draw the errors of all candidates of an automatic search, and mark the chosen one.

    Each row is a kind of branch, the best on top. Its dots are the variants that were tried: scales, widths,
    logarithms. Candidates that were tried on fewer functions are grey, because their errors are larger for
    that reason alone.

    Parameters
    ----------
    model : fitted `AutoELMDeepONet`, or the ``leaderboard_`` of one.
    ax : axes to draw in; None: a new figure.
    most : largest number of kinds to show.

    Returns
    -------
    The axes.

    Raises
    ------
    InputError : if there is no leaderboard, or an empty one.
    """
    trials = _trials(model)
    kinds: dict[str, list[dict[str, Any]]] = {}
    for trial in trials:  # the best first
        kinds.setdefault(_SETTINGS.sub("", trial["branch"]), []).append(trial)
    if ax is not None:
        (ax,) = checked_axes(ax, 1)
        most = min(most, int((size(ax)[1] - _TITLE_AND_LEGEND) / _MIN_ROW_HEIGHT))
    shown = list(kinds.items())[: max(1, most)]
    if ax is None:
        (ax,) = new(1, 1, figsize=(6.0, 1.6 + _ROW_HEIGHT * len(shown)))
    _draw_rows(ax, [tried for _, tried in shown], trials[0])
    ax.set_yticks(range(len(shown)), [kind for kind, _ in shown], fontsize="small")
    ax.set_ylim(len(shown) - 0.5, -0.5)
    ax.set_xlabel("relative error")
    figure: Any = ax.figure.figure
    figure.draw_without_rendering()  # so that the width left by the row labels is known
    few_numbers_on_logarithms(ax.xaxis, size(ax)[0])
    hidden = len(kinds) - len(shown)
    more = f", {plural(hidden, 'worse kind')} not shown" if hidden else ""
    chosen = f"Chosen: {trials[0]['branch']}, error {trials[0]['error']:.2g}"
    titled(ax, f"{plural(len(trials), 'candidate')}{more}. {chosen}")
    bare(ax)
    legend_on_top(ax)
    return ax


def _trials(model: Any) -> list[dict[str, Any]]:
    """Return the rows of a leaderboard, the best first."""
    if type(model).__name__ == "AutoELMDeepONet":
        require_fitted(model, "leaderboard_")
    trials = model if isinstance(model, list) else getattr(model, "leaderboard_", None)
    if trials is None:
        raise InputError(
            f"plot.leaderboard draws a fitted AutoELMDeepONet, or its leaderboard_; got {model!r}. A model "
            "loaded from a file has no leaderboard."
        )
    if not trials:
        raise InputError("there is nothing to draw: an empty leaderboard was given.")
    return trials


def _draw_rows(ax: Axes, rows: list[list[dict[str, Any]]], chosen: dict[str, Any]) -> None:
    """Draw a dot for each candidate, in the row of its kind."""
    functions, low, high = chosen["functions"], np.inf, 0.0
    on_all = {"color": BLUE, "markersize": 5, "label": f"on {plural(functions, 'function')}"}
    on_fewer = {"color": GREY, "markersize": 4, "label": "on fewer"}
    for complete, look in ((False, on_fewer), (True, on_all)):
        dots = [
            (max(trial["error"], _SMALLEST_ERROR), row)
            for row, tried in enumerate(rows)
            for trial in tried
            if (trial["functions"] == functions) == complete
        ]
        if dots:
            errors, at = np.array(dots).T
            ax.semilogx(errors, at, ".", **look)
            low, high = min(low, errors.min()), max(high, errors.max())
    ax.semilogx(max(chosen["error"], _SMALLEST_ERROR), 0, "o", color=ORANGE, markersize=8, label="chosen")
    margin = 1.3 * max(1.0, np.sqrt(10 * low / high))  # show at least one power of ten, for tick labels
    ax.set_xlim(low / margin, high * margin)
    ax.grid(axis="y", linewidth=0.4)
    ax.set_axisbelow(True)


def ridge_path(model: OperatorEstimator, ax: Axes | None = None) -> Axes:
    """Draw the selection criterion against alpha, and mark the chosen alpha.

    Parameters
    ----------
    model : fitted model, or the `Solution` of a solver, that chose alpha: ``Ridge("loo")``.
    ax : axes to draw in; None: a new figure.

    Returns
    -------
    The axes.

    Raises
    ------
    InputError : if alpha was given, not chosen.
    """
    if not isinstance(model, Solution):
        if not hasattr(model, "fit"):
            raise InputError(f"ridge_path draws a fitted model or a Solution; got {model!r}.")
        require_fitted(model, "solution_")
    solution: Solution = model if isinstance(model, Solution) else model.solution_
    alphas, path = solution.alphas, solution.path
    if alphas is None or path is None:
        raise InputError(
            f"there is no path to draw: alpha = {solution.alpha:g} was not chosen among others. "
            'Fit with solver=Ridge("loo"), which tries many.'
        )
    (ax,) = given_or_new(ax, 1, figsize=(5.5, 3.6))
    best = np.argmin(np.abs(alphas - solution.alpha))
    ax.loglog(alphas, path, ".-", color=BLUE)
    label = f"chosen: alpha = {solution.alpha:.2g}"
    ax.loglog(alphas[best], path[best], "o", color=ORANGE, markersize=9, label=label)
    by_loo = solution.error_kind == "leave-one-out" and np.isclose(path[best], solution.loo_error, rtol=1e-9)
    ax.set(xlabel="alpha", ylabel="leave-one-out error" if by_loo else "criterion")
    bare(ax)
    ax.legend(frameon=False)
    return ax


def relevance(model: OperatorEstimator | InputForm, ax: Axes | None = None) -> Axes:
    """Draw how much each part of the inputs matters to a model, or where along the sensors a function does.

    Parameters
    ----------
    model : fitted model whose inputs have parts with scales of their own, or a metric; or its `inputs_`.
    ax : axes to draw in; None: a new figure.

    Returns
    -------
    The axes.

    Raises
    ------
    InputError : if all inputs count alike in this model.
    """
    form = model if isinstance(model, InputForm) else getattr(model, "inputs_", None)
    if form is None:
        raise InputError(f"plot.relevance draws a fitted model; got {model!r}.")
    found = form.relevance()
    if not form.has_relevance:
        raise InputError("in this model all values of an input count alike: there is nothing to compare.")
    if len(found) == 1:  # one function
        (values,) = found.values()
        (ax,) = given_or_new(ax, 1, figsize=(5.5, 3.2))
        along = form.sensors is not None and form.sensors.shape == (len(values), 1)
        ax.plot(
            np.asarray(form.sensors)[:, 0] if along else np.arange(len(values)),
            values / values.max(),
            color=BLUE,
        )
        ax.set(xlabel="sensor", ylabel="relevance", ylim=(0, 1.05))
        titled(ax, "Where the input matters")
    else:
        sizes = {name: float(np.linalg.norm(values)) for name, values in found.items()}
        names = sorted(sizes, key=lambda name: -sizes[name])
        (ax,) = given_or_new(ax, 1, figsize=(6.0, 1.1 + _ROW_HEIGHT * len(names)))
        ax.barh(range(len(names)), [sizes[n] / (sizes[names[0]] or 1.0) for n in names], 0.6, color=BLUE)
        ax.set_yticks(range(len(names)), names, fontsize="small")
        ax.set_ylim(len(names) - 0.4, -0.6)
        ax.set_xlabel("relevance, relative to the largest")
        titled(ax, "Which parts of the inputs matter")
    bare(ax)
    return ax


def suspects(model: OperatorEstimator | Suspects, ax: Axes | None = None, *, most: int = 12) -> Axes:
    """Draw the residual of every training pair, and mark those that contradict the rest.

    Parameters
    ----------
    model : fitted model, or what its ``suspects()`` returned.
    ax : axes to draw in; None: a new figure.
    most : largest number of suspects to label with their rows.

    Returns
    -------
    The axes.

    Raises
    ------
    InputError : if the model cannot judge its training pairs.
    """
    if not isinstance(model, Suspects) and not hasattr(model, "suspects"):
        raise InputError(
            f"plot.suspects draws a fitted model, or what its suspects() returned; got {model!r}."
        )
    found: Suspects = model if isinstance(model, Suspects) else model.suspects()
    (ax,) = given_or_new(ax, 1, figsize=(6.5, 3.6))
    sizes = np.maximum(found.residuals, _SMALLEST_ERROR)
    accused = np.isin(found.judged, found.functions)
    ax.semilogy(found.judged[~accused], sizes[~accused], ".", color=BLUE, label="training pairs")
    if len(found):
        ax.semilogy(found.functions, found.scores, "o", color=ORANGE, label="suspects")
    for row, score in zip(found.functions[:most].tolist(), found.scores.tolist(), strict=False):
        ax.annotate(str(row), (row, score), (4, 3), textcoords="offset points", fontsize="small")
    ax.set(xlabel="row", ylabel="residual / typical residual")
    titled(ax, f"{len(found)} of {found.n} training pairs contradict the rest")
    bare(ax)
    legend_on_top(ax)
    return ax
