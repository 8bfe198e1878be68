"""Pictures of predictions, and of how alpha was chosen. They need matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from elmonet._check import InputError, MissingExtra, positive_integer
from elmonet._fitted import require_fitted
from elmonet.data import OperatorData
from elmonet.metrics import relative_l2
from elmonet.solve import Solution

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import Collection

__all__ = ["field", "parity", "prediction", "ridge_path"]

# From the palette of Okabe and Ito, which colour-blind people can tell apart.
_BLUE, _ORANGE, _GREY = "#0072B2", "#D55E00", "#767676"


def prediction(model: Any, data: OperatorData, index: int = 0, ax: Axes | None = None) -> Axes:
    """Draw the truth and the prediction of one test function on a line.

    Parameters
    ----------
    model : fitted model.
    data : `OperatorData` with points (M, 1).
    index : which test function.
    ax : where to draw; None: in a new figure, with the input function in a small panel below.

    Returns
    -------
    The axes with the truth and the prediction.
    """
    truth, predicted = _test_function(model, data, index, dimension=1)
    if ax is not None:
        (ax,) = _given(ax, 1)
        ax.set_xlabel("x")
    else:
        ax = _new_with_input(data, index)
    order = np.argsort(data.points[:, 0])
    x, marker = data.points[order, 0], "o" if len(order) == 1 else ""
    ax.plot(x, truth[order], color=_BLUE, linewidth=2.5, marker=marker, label="truth")
    ax.plot(x, predicted[order], "--", color=_ORANGE, marker=marker, label="prediction")
    ax.set_ylabel("s(x)")
    ax.set_title(
        f"{_name(data, index)}: relative error {_relative_error(predicted, truth)}", fontsize="medium"
    )
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    return ax


def field(model: Any, data: OperatorData, index: int = 0, axes: Any = None) -> np.ndarray:
    """Draw the truth, the prediction and their difference for one test function on a plane.

    Truth and prediction share their colours. Values on a full grid are drawn as cells; between
    scattered points they are interpolated linearly.

    Parameters
    ----------
    model : fitted model.
    data : `OperatorData` with points (M, 2).
    index : which test function.
    axes : three axes to draw in; None: in a new figure.

    Returns
    -------
    Array of the three axes.
    """
    truth, predicted = _test_function(model, data, index, dimension=2)
    if np.linalg.matrix_rank(data.points - data.points.mean(axis=0)) < 2:
        raise InputError(
            "plot.field needs points that spread over a plane, and these lie on one line. Give the "
            "data points (M, 1), the position on that line, and use plot.prediction."
        )
    if axes is not None:
        axes = _given(axes, 3)
    else:
        axes = _new(1, 3, figsize=(9.5, 3.2), layout="compressed", sharex=True, sharey=True)
    error = predicted - truth
    both = np.stack([truth, predicted])
    shared = {"vmin": both.min(), "vmax": both.max(), "cmap": "viridis"}
    largest = np.abs(error).max() or 1.0
    _colours(axes[0], data.points, truth, **shared)
    values = _colours(axes[1], data.points, predicted, **shared)
    errors = _colours(axes[2], data.points, error, vmin=-largest, vmax=largest, cmap="RdBu_r")
    axes[1].figure.colorbar(values, ax=list(axes[:2]))
    axes[2].figure.colorbar(errors, ax=axes[2])
    titles = (
        f"{_name(data, index)}: truth",
        "prediction",
        f"error (relative: {_relative_error(predicted, truth)})",
    )
    for ax, title in zip(axes, titles, strict=True):
        ax.set_title(title, fontsize="medium")
        ax.set(xlabel="$x_1$", aspect="equal")
        ax.margins(0)
        ax.locator_params(nbins=3)
    axes[0].set_ylabel("$x_2$")
    return axes


def parity(truth: Any, predicted: Any, ax: Axes | None = None) -> Axes:
    """Draw predicted against true values, wherever they are known.

    Parameters
    ----------
    truth, predicted : arrays of the same shape.
    ax : where to draw; None: in a new figure.

    Returns
    -------
    The axes.
    """
    truth, predicted = (np.ravel(np.asarray(values, float)) for values in (truth, predicted))
    if truth.shape != predicted.shape or truth.size == 0:
        raise InputError(
            f"parity needs as many predicted as true values, got {predicted.shape} and {truth.shape}."
        )
    (ax,) = _given(ax, 1) if ax is not None else _new(1, 1, figsize=(4.2, 4.2))
    both = np.concatenate([truth, predicted])
    ends = both.min(), both.max()
    ax.plot(ends, ends, color=_GREY, linewidth=1)
    ax.plot(truth, predicted, ".", color=_BLUE, markersize=4)
    ax.set(xlabel="truth", ylabel="prediction", aspect="equal")
    ax.set_title(
        f"{len(truth)} values: relative error {_relative_error(predicted, truth)}", fontsize="medium"
    )
    ax.spines[["top", "right"]].set_visible(False)
    return ax


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
    (ax,) = _given(ax, 1) if ax is not None else _new(1, 1, figsize=(5.5, 3.6))
    best = np.argmin(np.abs(alphas - solution.alpha))
    ax.loglog(alphas, path, ".-", color=_BLUE)
    chosen = f"chosen: alpha = {solution.alpha:.2g}"
    ax.loglog(alphas[best], path[best], "o", color=_ORANGE, markersize=9, label=chosen)
    by_loo = solution.error_kind == "leave-one-out" and np.isclose(path[best], solution.loo_error, rtol=1e-9)
    ax.set(xlabel="alpha", ylabel="leave-one-out error" if by_loo else "criterion")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    return ax


def _test_function(
    model: Any, data: OperatorData, index: int, dimension: int
) -> tuple[np.ndarray, np.ndarray]:
    """Truth and prediction (M,) of one test function, if its points have that dimension."""
    d = data.points.shape[1]
    if d != dimension:
        hints = {1: "Use plot.prediction.", 2: "Use plot.field."}
        hint = hints.get(d, "Predict on a line or a plane and draw that.")
        raise InputError(f"this plot needs points (M, {dimension}), got {data.points.shape}. {hint}")
    if positive_integer(index, "index", minimum=0) >= len(data.s_test):
        raise InputError(
            f"index must be below the number of test functions, {len(data.s_test)}; got {index}."
        )
    truth, u = data.s_test[index], data.u_test[index : index + 1]
    # Any regressor works; one that knows its points predicts at those of the data.
    elsewhere = not np.array_equal(getattr(model, "points_", data.points), data.points)
    predicted = np.asarray(model.predict(u, points=data.points) if elsewhere else model.predict(u))
    if predicted.shape != (1, len(truth)):
        raise InputError(
            f"the model predicts {predicted.shape} where the data hold (1, {len(truth)}): it was "
            "fitted to other data."
        )
    return truth, predicted[0]


def _solution(model: Any) -> Solution:
    if isinstance(model, Solution):
        return model
    if not hasattr(model, "fit"):
        raise InputError(f"ridge_path draws a fitted model or a Solution; got {model!r}.")
    require_fitted(model, "solution_")
    return model.solution_


def _given(axes: Any, count: int) -> np.ndarray:
    """The user's axes as an array (count,), if they can be drawn in."""
    given = np.array(axes, dtype=object).ravel()
    if len(given) != count or any(getattr(ax, "name", "") != "rectilinear" for ax in given):
        raise InputError(
            f"needs {count} matplotlib axes with straight x and y to draw in, got {axes!r}. "
            f"Make them with plt.subplots(1, {count})[1], or leave them out."
        )
    return given


def _new(rows: int, columns: int, layout: str = "constrained", **settings: Any) -> np.ndarray:
    """The axes (rows * columns,) of a new figure."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise MissingExtra('plots need matplotlib: pip install "elmonet[plot]"') from error
    _, axes = pyplot.subplots(rows, columns, squeeze=False, layout=layout, **settings)
    return axes.ravel()


def _new_with_input(data: OperatorData, index: int) -> Axes:
    """Axes in a new figure, above a panel of the input function if that lives on a line too."""
    if data.sensors.shape[1] != 1:
        (ax,) = _new(1, 1, figsize=(5.5, 3.6))
        ax.set_xlabel("x")
        return ax
    ax, below = _new(2, 1, figsize=(5.5, 4.4), sharex=True, height_ratios=(3, 1))
    order = np.argsort(data.sensors[:, 0])
    u = data.u_test[index].ravel()
    below.plot(data.sensors[order, 0], u[order], color=_GREY, linewidth=1)
    below.set(xlabel="x", ylabel="u(x)")
    below.spines[["top", "right"]].set_visible(False)
    below.figure.align_ylabels()
    return ax


def _colours(ax: Axes, points: np.ndarray, values: np.ndarray, **settings: Any) -> Collection:
    """Draw values (M,) at points (M, 2) by colour."""
    x, y = (np.unique(column) for column in points.T)
    if len(x) * len(y) == len(points) == len(np.unique(points, axis=0)):
        grid = values[np.lexsort((points[:, 0], points[:, 1]))].reshape(len(y), len(x))
        return ax.pcolormesh(x, y, grid, shading="nearest", rasterized=True, **settings)
    return ax.tripcolor(points[:, 0], points[:, 1], values, shading="gouraud", rasterized=True, **settings)


def _name(data: OperatorData, index: int) -> str:
    return f"{data.name}, test {index}" if data.name else f"test function {index}"


def _relative_error(predicted: np.ndarray, truth: np.ndarray) -> str:
    return f"{relative_l2(predicted[None], truth[None]):.2g}"
