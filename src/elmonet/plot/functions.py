"""Figures of predicted functions: on a line, on a plane, and value by value."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from elmonet.checks import positive_integer
from elmonet.data import OperatorData
from elmonet.data.mesh import Mesh
from elmonet.errors import InputError
from elmonet.forms.inputs import count_of, rows_of
from elmonet.forms.outputs import OutputForm
from elmonet.forms.training import place_points
from elmonet.metrics import relative_l2
from elmonet.plot.axes import (
    BLUE,
    GREY,
    ORANGE,
    axis_labels,
    bare,
    checked_axes,
    colour_bar_below,
    coloured,
    coloured_error,
    given_or_new,
    new,
    on_a_plane,
    titled,
    upright,
)
from elmonet.summary import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HOLDS = {"points": "{:g} % of all values", "function": "{:g} % of functions"}


def prediction(model: Any, data: OperatorData, index: int = 0, ax: Axes | None = None) -> Axes:
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


def field(model: Any, data: OperatorData, index: int = 0, axes: Any = None) -> np.ndarray:
    """Draw the truth, the prediction and their difference for one test function on a plane.

    Truth and prediction share their colours. Values on a full grid are drawn as cells; between
    scattered points they are interpolated linearly.

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
    truth, predicted, name = _test_function(model, data, index, dimension=2)
    labels = data.labels
    more: dict[str, Any] = {
        "mesh": data.mesh,
        "label": labels.with_unit(data.output) if labels.units.get(data.output) else "",
    }
    return compare_on_plane(data.points, truth, predicted, name, labels.axes_with_units, axes, **more)


def parity(truth: Any, predicted: Any, ax: Axes | None = None) -> Axes:
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
    axes: Any = None,
    mesh: Mesh | None = None,
    label: str = "",
) -> np.ndarray:
    """Draw truth, prediction and error (M,) at points (M, 2), whose coordinates have these names.

    On a mesh, if there is one; `label` is name and unit of the values.
    """
    points, names = upright(points, names)
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
    return on_a_plane(axes, titles, names)


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


@dataclass(frozen=True)
class WithBand:
    """One component of one function at points (M, d): its prediction, band and truth, (M,) each.

    truth : NaN where it is not known; None: nowhere.
    name : which function, and which component.
    holds : coverage of the band, as text.
    axes : names of the coordinates, if they are known.
    output : name of the output function, with its unit.
    mesh : mesh that the points belong to.
    """

    points: np.ndarray
    predicted: np.ndarray
    low: np.ndarray
    high: np.ndarray
    truth: np.ndarray | None
    name: str
    holds: str
    axes: tuple[str, ...] | None = None
    output: str = "s"
    mesh: Mesh | None = None

    @classmethod
    def of(
        cls, model: Any, u: Any, s: Any, index: int, coverage: float, of: str, points: Any, component: Any
    ) -> WithBand:
        """Predict one of the functions u, with outputs s if these are known."""
        if not hasattr(model, "interval"):
            raise InputError(f"this plot needs a model with bands, such as ELMDeepONet; got {model!r}.")
        function = PredictedFunction.of(model, u, s, index, points, component)
        ends = model.interval(_one_function(u, index), coverage, of, points)
        low, high = (function.component(end) for end in ends)
        holds = HOLDS[of].format(100 * coverage)
        shown = cls(function.points, function.predicted, low, high, function.truth, function.name, holds)
        labels = model.labels_
        here = points is None and labels.mesh is not None and not labels.mesh.moving
        return replace(shown, axes=labels.axes_with_units, mesh=labels.mesh if here else None)

    @property
    def known(self) -> np.ndarray:
        """Where the truth is known, (M,)."""
        return np.zeros(len(self.points), bool) if self.truth is None else np.isfinite(self.truth)

    @property
    def outside(self) -> np.ndarray:
        """Where the truth is known and outside the band, (M,)."""
        if self.truth is None:
            return np.zeros(len(self.points), bool)
        return (self.truth < self.low) | (self.truth > self.high)

    @property
    def error(self) -> float | None:
        """Relative error over the points where the truth is known."""
        if self.truth is None:
            return None
        return relative_l2(self.predicted[None, self.known], self.truth[None, self.known])

    @property
    def found(self) -> str:
        """Error and coverage as text; empty if the truth is not known."""
        out = int(self.outside.sum())
        inside = f"{out} of {self.known.sum()} outside" if out else "all inside"
        return "" if self.error is None else f"relative error {self.error:.2g}, {inside}"


@dataclass(frozen=True)
class PredictedFunction:
    """One component of one function at points (M, d): prediction (M,), and truth (M,) or None.

    number, label : of the component; the label is empty if there is only one.
    """

    points: np.ndarray
    predicted: np.ndarray
    truth: np.ndarray | None
    index: int
    number: int
    label: str
    outputs: OutputForm

    @classmethod
    def of(
        cls, model: Any, u: Any, s: Any, index: int, points: Any, component: Any, option: str = "component"
    ) -> PredictedFunction:
        """Predict one of the functions u, with outputs s if these are known.

        The component is a name or a number; messages name the `option` that it was given by.
        """
        predicted = model.predict(_one_function(u, index), points=points)
        outputs: OutputForm = model.outputs_
        where = outputs.given_points if points is None else outputs.checked_points(place_points(points)[0])
        number, label = _component(outputs, component, option)
        values = _values(predicted, outputs, number, len(where))
        truth = None if s is None else _truth(s, index, predicted, outputs, number, len(where))
        return cls(where, values, truth, index, number, label, outputs)

    @property
    def name(self) -> str:
        """Function and component as text."""
        return f"function {self.index}" + (f", {self.label}" if self.label else "")

    def component(self, values: Any) -> np.ndarray:
        """Return this component (M,) of values in the shape of a prediction."""
        return _values(values, self.outputs, self.number, len(self.points))


def _one_function(u: Any, index: int) -> Any:
    """Return one input function as a batch of one."""
    if positive_integer(index, "index", minimum=0) >= count_of(u):
        raise InputError(f"index must be below the number of functions, {count_of(u)}; got {index}.")
    return rows_of(u, slice(index, index + 1))


def _component(outputs: OutputForm, wanted: Any, option: str) -> tuple[int, str]:
    """Return number and label of a component that is given by name or number."""
    names = [str(i) for i in range(max(1, outputs.components))] if outputs.names is None else outputs.names
    chosen = names[0] if wanted is None else str(wanted)
    if chosen not in names and chosen.isdecimal() and int(chosen) < len(names):
        chosen = names[int(chosen)]
    if chosen not in names:
        those = f"are {', '.join(names)}" if len(names) > 1 else f"is only one: remove {option}"
        raise InputError(f"there is no component {wanted!r}; there {those}.")
    label = f"component {chosen}" if chosen.isdecimal() else chosen
    return names.index(chosen), label if len(names) > 1 else ""


def _values(values: Any, outputs: OutputForm, number: int, n: int) -> np.ndarray:
    """Return one component (n,) of what a model predicts for one function."""
    if isinstance(values, dict):
        values = list(values.values())[number]
    elif outputs.axis is not None:
        last = outputs.axis == len(outputs.shape) - 1
        values = np.asarray(values)[0].take(number, axis=-1 if last else 0)
    if np.size(values) != n:
        raise InputError(f"the model predicts {np.size(values)} values at {n} points: give points=(M, d).")
    return np.asarray(values, float).ravel()


def _truth(s: Any, index: int, predicted: Any, outputs: OutputForm, number: int, n: int) -> np.ndarray | None:
    """Return one component (n,) of the outputs, or None if all are NaN; s may be that component alone."""
    if count_of(s) <= index:
        raise InputError(f"there are {count_of(s)} output functions, and function {index} is asked for.")
    own = rows_of(s, slice(index, index + 1))
    if isinstance(own, dict):
        if not isinstance(predicted, dict) or set(own) != set(predicted):
            raise InputError(f"the outputs have the components {', '.join(own)}, and the model has others.")
        truth = _values({name: own[name] for name in predicted}, outputs, number, n)
    elif np.size(own) == n:
        truth = np.asarray(own, float).ravel()
    elif isinstance(predicted, dict) or np.size(own) != np.size(predicted):
        raise InputError(
            f"the outputs s hold {np.size(own)} values for one function, and {n} points are drawn. Give "
            "outputs in the shape of predictions, at the same points."
        )
    else:
        truth = _values(np.reshape(own, np.shape(predicted)), outputs, number, n)
    return truth if np.isfinite(truth).any() else None
