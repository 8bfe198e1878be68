"""Figures of predicted functions: on a line, on a plane, and value by value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin

from elmonet.checks import Functions, positive_integer
from elmonet.data import OperatorData
from elmonet.data.mesh import Mesh
from elmonet.data.scattered import Scattered
from elmonet.errors import InputError
from elmonet.forms.inputs import rows_of
from elmonet.metrics import relative_l2
from elmonet.plot.axes import (
    BLUE,
    GREY,
    ORANGE,
    axis_labels,
    bare,
    checked_axes,
    colour_bar_below,
    given_or_new,
    new,
    titled,
)
from elmonet.plot.fields import arrows, coloured, coloured_error, finish_fields, in_picture, is_drawn
from elmonet.plot.predicted import PredictedFunction, vector_components
from elmonet.summary import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from elmonet.estimators.base import OperatorEstimator


def prediction(model: RegressorMixin, data: OperatorData, index: int = 0, ax: Axes | None = None) -> Axes:
    """Draw the truth and the prediction of one test function on a line.

    Parameters
    ----------
    model : fitted model.
    data : `OperatorData` with points (M, 1).
    index : which test function.
    ax : axes to draw in; None: a new figure, with the input function in a small panel below.

    Returns
    -------
    The axes with the truth and the prediction.

    Raises
    ------
    InputError : if the points are not on a line, or the model was fitted to other data.
    """
    truth, predicted, name = _test_function(model, data, index, dimension=1)
    inputs = (data.sensors, data.u_test[index].ravel()) if data.sensors.shape[1] == 1 else None
    return compare_on_line(data.points, truth, predicted, name, data.axes, inputs, ax)


def field(
    model: RegressorMixin,
    data: OperatorData,
    index: int = 0,
    axes: Axes | Sequence[Axes] | np.ndarray | None = None,
) -> np.ndarray:
    """Draw the truth, the prediction and their difference for one test function on a plane or a mesh.

    Truth and prediction share their colours. Values on a grid are drawn as cells, white where there is none;
    those on a mesh on its own cells, of solids on their surface; between scattered points they are
    interpolated linearly.

    Parameters
    ----------
    model : fitted model.
    data : `OperatorData` with points (M, 2).
    index : which test function.
    axes : three axes to draw in; None: a new figure.

    Returns
    -------
    Array of the three axes.

    Raises
    ------
    InputError : if the points are not on a plane, or the model was fitted to other data.
    """
    on_surface = data.mesh is not None and is_drawn(data.mesh, data.points) and data.points.shape[1] == 3
    truth, predicted, name = _test_function(model, data, index, dimension=3 if on_surface else 2)
    labels = data.labels
    more: dict[str, Any] = {
        "mesh": data.mesh,
        "label": labels.with_unit(data.output) if labels.units.get(data.output) else "",
    }
    return compare_on_plane(data.points, truth, predicted, name, labels.axes_with_units, axes, **more)


def vectors(
    model: OperatorEstimator,
    u: Functions,
    s: Functions | Scattered | None = None,
    index: int = 0,
    axes: Axes | Sequence[Axes] | np.ndarray | None = None,
    *,
    name: str,
    points: ArrayLike | Mesh | None = None,
) -> np.ndarray:
    """Draw a vector field on a plane or a mesh: its length by colour, and arrows.

    Parameters
    ----------
    model : fitted model with components such as velocity_x and velocity_y.
    u, s : input functions, and their outputs in the shape of predictions; None: not known.
    index : which of them.
    axes : an axis to draw in, or three if s is given; None: a new figure.
    name : of the vector: "velocity".
    points : where to predict; by default the training points.

    Returns
    -------
    Array of the axes: the prediction; if s is given, truth, prediction and the length of the error.

    Raises
    ------
    InputError : if there is no such vector, or the points are not on a plane.
    """
    parts = vector_components(model, name)
    each = [PredictedFunction.of(model, u, s, index, points, part) for part in parts]
    where, mesh = each[0].points, each[0].mesh
    require_fields(where, mesh, ("plot.prediction", "plot.vectors"), "Draw one component on a plane of it.")
    flat, names = in_picture(where, model.labels_.axes_with_units)
    predicted = np.column_stack([one.predicted for one in each])
    truth = None if s is None else np.column_stack([one.truth for one in each if one.truth is not None])
    shown = [predicted] if truth is None or truth.shape != predicted.shape else [truth, predicted]
    count = 3 if len(shown) > 1 else 1
    figure = {"figsize": (3.1 * count, 3.9), "layout": "compressed", "sharex": True, "sharey": True}
    axes = given_or_new(axes, count, **figure)
    top = float(np.nanmax([np.linalg.norm(own, axis=1) for own in shown])) or 1.0
    scale, drawn = None, []
    for ax, own in zip(axes, shown, strict=False):
        length = np.linalg.norm(own, axis=1)
        drawn.append(coloured(ax, flat, length, mesh, vmin=0, vmax=top, cmap="viridis"))
        scale = arrows(ax, flat, _in_picture_vectors(own, where, flat), mesh, scale)
    label = model.labels_.with_unit(parts[0]).replace(parts[0], f"|{name}|", 1)
    colour_bar_below(list(axes[: len(shown)]), drawn[0], label)
    title = f"{each[0].name.partition(',')[0]}, {name}"
    if len(shown) == 1:
        return finish_fields(axes, (f"{title}: prediction",), names)
    missed = np.linalg.norm(predicted - shown[0], axis=1)
    colour_bar_below([axes[2]], coloured(axes[2], flat, missed, mesh, vmin=0, cmap="cividis"))
    error = _relative_error(predicted.ravel(), shown[0].ravel())
    return finish_fields(axes, (f"{title}: truth", "prediction", f"error (relative: {error})"), names)


def _in_picture_vectors(vectors: np.ndarray, points: np.ndarray, flat: np.ndarray) -> np.ndarray:
    """Return vectors (M, d) as they are seen in the picture, (M, 2), in which points became flat."""
    if vectors.shape[1] == 3 or points.shape[1] == 3:
        space = np.column_stack([vectors, np.zeros((len(vectors), 3 - vectors.shape[1]))])
        return in_picture(space, None)[0]
    return vectors if np.array_equal(points, flat) else vectors[:, ::-1]


def parity(truth: ArrayLike, predicted: ArrayLike, ax: Axes | None = None) -> Axes:
    """Draw predicted against true values.

    Parameters
    ----------
    truth, predicted : arrays of the same shape.
    ax : axes to draw in; None: a new figure.

    Returns
    -------
    The axes.

    Raises
    ------
    InputError : if the arrays differ in shape, or are empty.
    """
    truth, predicted = (np.ravel(np.asarray(values, float)) for values in (truth, predicted))
    if truth.shape != predicted.shape or truth.size == 0:
        raise InputError(
            f"plot.parity needs as many predicted as true values, got {predicted.shape} and {truth.shape}."
        )
    (ax,) = given_or_new(ax, 1, figsize=(4.2, 4.2))
    both = np.concatenate([truth, predicted])
    ends = both.min(), both.max()
    ax.plot(ends, ends, color=GREY, linewidth=1)
    ax.plot(truth, predicted, ".", color=BLUE, markersize=4)
    ax.set(xlabel="truth", ylabel="prediction", aspect="equal")
    titled(ax, f"{plural(len(truth), 'value')}: relative error {_relative_error(predicted, truth)}")
    bare(ax)
    return ax


def compare_on_line(
    points: np.ndarray,
    truth: np.ndarray,
    predicted: np.ndarray,
    name: str,
    axes: tuple[str, ...] | None = None,
    inputs: tuple[np.ndarray, np.ndarray] | None = None,
    ax: Axes | None = None,
    functions: tuple[str, str] = ("u", "s"),
) -> Axes:
    """Draw truth and prediction (M,) at points (M, 1), and in a new figure the input function below.

    The inputs are sensors (m, 1) and values (m,). Their panel has its own horizontal axis if the coordinate
    has a name and the sensors cover another interval: then they may be another coordinate.
    """
    (label,), (u_name, s_name) = axis_labels(axes, 1), axis_labels(functions, 2)
    own_axis = True
    if ax is not None:
        (ax,) = checked_axes(ax, 1)
    elif inputs is None:
        (ax,) = new(1, 1, figsize=(5.5, 3.6))
    else:
        sensors, u = inputs
        ends = np.array([(places.min(), places.max()) for places in (sensors, points)])
        own_axis = axes is not None and bool(np.abs(ends[0] - ends[1]).max() > 0.05 * np.ptp(ends[1]))
        ax, below = new(2, 1, figsize=(5.5, 4.4), sharex=not own_axis, height_ratios=(3, 1))
        order = np.argsort(sensors[:, 0])
        below.plot(sensors[order, 0], u[order], color=GREY, linewidth=1)
        below.set(xlabel="sensor" if own_axis else label, ylabel=u_name if own_axis else f"{u_name}({label})")
        bare(below)
        below.figure.align_ylabels()
    if own_axis:
        ax.set_xlabel(label)
    draw_on_line(ax, points, truth, predicted, width=2.5)
    ax.set_ylabel(f"{s_name}({label})")
    titled(ax, f"{name}: relative error {_relative_error(predicted, truth)}")
    ax.legend(frameon=False)
    return ax


def compare_on_plane(
    points: np.ndarray,
    truth: np.ndarray,
    predicted: np.ndarray,
    name: str,
    names: tuple[str, ...] | None = None,
    axes: Axes | Sequence[Axes] | np.ndarray | None = None,
    mesh: Mesh | None = None,
    label: str = "",
) -> np.ndarray:
    """Draw truth, prediction and error (M,) at points (M, 2), whose coordinates have these names.

    On a mesh, if there is one; `label` is name and unit of the values.
    """
    points, names = in_picture(points, names)
    require_plane(points, "plot.field", "Give points (M, 1), the position on it, and use plot.prediction.")
    axes = given_or_new(axes, 3, figsize=(9.3, 3.9), layout="compressed", sharex=True, sharey=True)
    both = np.stack([truth, predicted])
    shared = {"vmin": np.nanmin(both), "vmax": np.nanmax(both), "cmap": "viridis"}
    coloured(axes[0], points, truth, mesh, **shared)
    values = coloured(axes[1], points, predicted, mesh, **shared)
    errors = coloured_error(axes[2], points, predicted - truth, "RdBu_r", mesh)
    colour_bar_below(list(axes[:2]), values, label)
    colour_bar_below([axes[2]], errors)
    titles = (f"{name}: truth", "prediction", f"error (relative: {_relative_error(predicted, truth)})")
    return finish_fields(axes, titles, names)


def draw_on_line(
    ax: Axes, points: np.ndarray, truth: np.ndarray | None, predicted: np.ndarray, width: float
) -> None:
    """Draw the truth as a solid line of this width, and the prediction dashed."""
    order = np.argsort(points[:, 0])
    x, marker = points[order, 0], "o" if len(order) == 1 else ""
    if truth is not None:
        ax.plot(x, truth[order], color=BLUE, linewidth=width, marker=marker, label="truth")
        if np.isnan(truth).any():  # a value between gaps has no neighbour to draw a line to
            ax.plot(x, truth[order], "o", color=BLUE, markersize=2.5)
    ax.plot(x, predicted[order], "--", color=ORANGE, marker=marker, label="prediction")
    bare(ax)


def require_dimension(points: np.ndarray, dimension: int, plots: tuple[str, str], otherwise: str) -> None:
    """Raise unless points have this dimension, naming the plot for a line or for a plane instead."""
    d = points.shape[1]
    if d != dimension:
        hint = f"Use {plots[d - 1]}." if d <= len(plots) else otherwise
        raise InputError(f"this plot needs points (M, {dimension}), got {points.shape}. {hint}")


def require_fields(points: np.ndarray, mesh: Mesh | None, plots: tuple[str, str], otherwise: str) -> None:
    """Raise unless values at points can be drawn by colour: on a plane, or on the surface of a mesh."""
    if points.shape[1] != 3 or not is_drawn(mesh, points):
        require_dimension(points, 2, plots, otherwise)


def require_plane(points: np.ndarray, plot: str, instead: str) -> None:
    """Raise if points (M, 2) lie on one line."""
    if np.linalg.matrix_rank(points - points.mean(axis=0)) < 2:
        raise InputError(
            f"{plot} needs points that spread over a plane, and these lie on one line. {instead}"
        )


def _test_function(
    model: Any, data: OperatorData, index: int, dimension: int
) -> tuple[np.ndarray, np.ndarray, str]:
    """Return truth (M,), prediction (M,) and name of one test function."""
    plots = ("plot.prediction", "plot.field")
    require_dimension(data.points, dimension, plots, "Predict on a line or a plane and draw that.")
    if positive_integer(index, "index", minimum=0) >= len(data.s_test):
        raise InputError(
            f"index must be below the number of test functions, {len(data.s_test)}; got {index}."
        )
    truth, u = data.s_test[index], rows_of(data.u_test, slice(index, index + 1))
    # Any regressor works; one that knows its points predicts at those of the data.
    known_at = model.outputs_.given_points if hasattr(model, "outputs_") else data.points
    elsewhere = not np.array_equal(known_at, data.points)
    predicted = np.asarray(model.predict(u, points=data.points) if elsewhere else model.predict(u))
    truth, predicted = truth.ravel(), predicted.reshape(len(predicted), -1)
    if predicted.shape != (1, len(truth)):
        raise InputError(
            f"the model predicts {predicted.shape} where the data hold (1, {len(truth)}): it was "
            "fitted to other data."
        )
    return truth, predicted[0], f"{data.name}, test {index}" if data.name else f"test function {index}"


def _relative_error(predicted: np.ndarray, truth: np.ndarray) -> str:
    return f"{relative_l2(predicted[None], truth[None]):.2g}"
