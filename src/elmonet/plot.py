"""Pictures of predictions and of the choice of alpha; they need matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from elmonet._check import ElmonetError, InputError, positive_integer
from elmonet._fitted import require_fitted
from elmonet.data import OperatorData
from elmonet.metrics import relative_l2
from elmonet.solve import Solution

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import Collection

__all__ = ["field", "prediction", "ridge_path"]

# From the palette of Okabe and Ito, which colour-blind people can tell apart.
_BLUE, _ORANGE, _GREY = "#0072B2", "#D55E00", "#767676"


def prediction(model: Any, data: OperatorData, index: int = 0, ax: Axes | None = None) -> Axes:
    """Draw the truth and the prediction of one test function on a line, and its input above.

    Parameters
    ----------
    model : fitted model.
    data : `OperatorData` with points (M, 1). The input is left out if its sensors are not (m, 1).
    index : which test function.
    ax : where to draw; None: in a new figure.

    Returns
    -------
    The axes with the truth and the prediction; the panel of the input is its only child.
    """
    truth, predicted = _test_function(model, data, index, dimension=1)
    (ax,) = _axes([ax] if ax is not None else None, 1, figsize=(5.5, 4.2), layout="constrained")
    order = np.argsort(data.points[:, 0])
    x, marker = data.points[order, 0], "o" if len(order) == 1 else ""
    ax.plot(x, truth[order], color=_BLUE, linewidth=2, marker=marker, label="truth")
    ax.plot(x, predicted[order], "--", color=_ORANGE, marker=marker, label="prediction")
    ax.set(xlabel="x", ylabel="s(x)")
    ax.set_title(_title(data, index, f"relative error {_relative_error(predicted, truth)}"))
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    if data.sensors.shape[1] == 1:
        _input_below(ax, data.sensors[:, 0], data.u_test[index].ravel())
    return ax


def field(model: Any, data: OperatorData, index: int = 0, axes: Any = None) -> np.ndarray:
    """Draw the truth, the prediction and their difference for one test function on a plane.

    The first two share their colours. Values on a full grid are drawn as they are; between scattered
    points they are interpolated linearly.

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
            "plot.field needs points that spread over a plane; all of these lie on one line. Draw "
            "them with plot.prediction and one coordinate: points (M, 1)."
        )
    axes = _axes(axes, 3, figsize=(10, 3.3), layout="compressed", sharex=True, sharey=True)
    error = predicted - truth
    low, high = min(truth.min(), predicted.min()), max(truth.max(), predicted.max())
    largest = np.abs(error).max() or 1.0
    _colours(axes[0], data.points, truth, vmin=low, vmax=high, cmap="viridis")
    values = _colours(axes[1], data.points, predicted, vmin=low, vmax=high, cmap="viridis")
    errors = _colours(axes[2], data.points, error, vmin=-largest, vmax=largest, cmap="RdBu_r")
    axes[1].figure.colorbar(values, ax=list(axes[:2]), shrink=0.9)
    axes[2].figure.colorbar(errors, ax=axes[2], shrink=0.9)
    axes[0].set_title(_title(data, index, "truth"))
    axes[1].set_title("prediction")
    axes[2].set_title(f"error, relative {_relative_error(predicted, truth)}")
    for ax in axes:
        ax.set(xlabel="$x_1$", aspect="equal")
    axes[0].set_ylabel("$x_2$")
    return axes


def ridge_path(model: Any, ax: Axes | None = None) -> Axes:
    """Draw the criterion by which alpha was chosen against alpha, and mark the choice.

    Parameters
    ----------
    model : fitted model or `Solution`, with a solver that chose alpha: ``Ridge("loo")``.
    ax : where to draw; None: in a new figure.

    Returns
    -------
    The axes.
    """
    if not isinstance(model, Solution):
        require_fitted(model, "solution_")
    solution = model if isinstance(model, Solution) else model.solution_
    if solution.alphas is None or solution.path is None:
        raise InputError(
            f"there is no path to draw: alpha = {solution.alpha:g} was given, not chosen. Fit with "
            'solver=Ridge("loo"), which tries many.'
        )
    (ax,) = _axes([ax] if ax is not None else None, 1, figsize=(5.5, 3.6), layout="constrained")
    by_loo = np.isclose(solution.path.min(), solution.loo_error, rtol=1e-9, atol=0)
    chosen = np.argmin(np.abs(solution.alphas - solution.alpha))
    ax.loglog(solution.alphas, solution.path, ".-", color=_BLUE)
    ax.loglog(
        solution.alphas[chosen],
        solution.path[chosen],
        "o",
        color=_ORANGE,
        markersize=9,
        label=f"chosen: alpha = {solution.alpha:.2g}",
    )
    ax.set(xlabel="alpha", ylabel="leave-one-out error" if by_loo else "criterion")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    return ax


def _test_function(
    model: Any, data: OperatorData, index: int, dimension: int
) -> tuple[np.ndarray, np.ndarray]:
    """Truth and prediction (M,) of one test function, in the dimension that the plot can draw."""
    d = data.points.shape[1]
    if d != dimension:
        other = {1: "Use plot.prediction.", 2: "Use plot.field."}
        hint = other.get(d, "Draw a section: a model can predict at other points.")
        raise InputError(f"this plot needs points (M, {dimension}), got {data.points.shape}. {hint}")
    if positive_integer(index, "index", minimum=0) >= len(data.s_test):
        raise InputError(
            f"index must be below the number of test functions, {len(data.s_test)}, got {index}."
        )
    truth, u = data.s_test[index], data.u_test[index : index + 1]
    # Other regressors may not know about points; ours are asked for those of the data.
    elsewhere = not np.array_equal(getattr(model, "points_", data.points), data.points)
    predicted = np.asarray(model.predict(u, points=data.points) if elsewhere else model.predict(u))
    if predicted.shape != (1, len(truth)):
        raise InputError(
            f"the model predicts {predicted.shape} values where the data have (1, {len(truth)}). Fit "
            "it to data of the same kind."
        )
    return truth, predicted[0]


def _axes(axes: Any, count: int, **settings: Any) -> np.ndarray:
    """The given axes, checked, or those of a new figure, (count,)."""
    try:
        from matplotlib import pyplot
        from matplotlib.axes import Axes
    except ImportError as error:
        raise ElmonetError('plots need matplotlib: pip install "elmonet[plot]"') from error
    if axes is None:
        return pyplot.subplots(1, count, squeeze=False, **settings)[1][0]
    given = np.array(axes, dtype=object).ravel()
    if len(given) != count or any(getattr(a, "name", "") != "rectilinear" for a in given):
        raise InputError(
            f"needs {count} matplotlib axes (rectilinear, not polar or 3-D) to draw in, got {axes!r}. "
            f"Make them with plt.subplots(1, {count})[1], or leave them out."
        )
    assert all(isinstance(a, Axes) for a in given)
    return given


def _input_below(ax: Axes, sensors: np.ndarray, u: np.ndarray) -> None:
    """Draw u in a small panel that takes the lower part of `ax`."""
    from mpl_toolkits.axes_grid1 import make_axes_locatable

    order = np.argsort(sensors)
    panel = make_axes_locatable(ax).append_axes("bottom", size="30%", pad=0.15, sharex=ax)
    panel.plot(sensors[order], u[order], color=_GREY, linewidth=1)
    panel.set(xlabel="x", ylabel="u(x)")
    panel.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelbottom=False)
    ax.set_xlabel("")


def _colours(ax: Axes, points: np.ndarray, values: np.ndarray, **settings: Any) -> Collection:
    """Draw values (M,) at points (M, 2) by colour."""
    x, y = (np.unique(column) for column in points.T)
    if len(x) * len(y) == len(np.unique(points, axis=0)) == len(points):
        grid = values[np.lexsort((points[:, 0], points[:, 1]))].reshape(len(y), len(x))
        return ax.pcolormesh(x, y, grid, shading="nearest", rasterized=True, **settings)
    return ax.tripcolor(*points.T, values, shading="gouraud", rasterized=True, **settings)


def _relative_error(predicted: np.ndarray, truth: np.ndarray) -> str:
    return f"{relative_l2(predicted[None], truth[None]):.1e}"


def _title(data: OperatorData, index: int, what: str) -> str:
    return f"{data.name} {index}: {what}" if data.name else f"test function {index}: {what}"
