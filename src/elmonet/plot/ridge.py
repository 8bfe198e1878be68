"""Pictures of how alpha was chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from elmonet._check import InputError
from elmonet._fitted import require_fitted
from elmonet.plot.axes import BLUE, ORANGE, bare, given, new
from elmonet.solve import Solution

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ridge_path"]


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
