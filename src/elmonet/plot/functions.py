"""Pictures of functions and their predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from elmonet.checks import positive_integer
from elmonet.data import OperatorData
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
    colour_bar_below,
    coloured,
    given,
    new,
    on_a_plane,
    titled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["HOLDS", "WithBand", "field", "parity", "prediction"]

HOLDS = {"points": "{:.3g} % of all values", "function": "{:.3g} % of functions"}


@dataclass(frozen=True)
class WithBand:
    """One component of one function at points (M, d): its prediction, band and truth, (M,) each.

    truth : NaN where it is not known; None: nowhere.
    name : which function, and which component.
    holds : what the band holds, in words.
    axes : names of the coordinates of the points, if they are known.
    """

    points: np.ndarray
    predicted: np.ndarray
    low: np.ndarray
    high: np.ndarray
    truth: np.ndarray | None
    name: str
    holds: str
    axes: tuple[str, ...] | None = None

    @classmethod
    def of(
        cls, model: Any, u: Any, s: Any, index: int, coverage: float, of: str, points: Any, component: Any
    ) -> WithBand:
        """Ask the model for one of the functions u, with outputs s if these are known."""
        if not hasattr(model, "interval"):
            raise InputError(f"this plot needs a model with bands, such as ELMDeepONet; got {model!r}.")
        if positive_integer(index, "index", minimum=0) >= count_of(u):
            raise InputError(f"index must be below the number of functions, {count_of(u)}; got {index}.")
        one = rows_of(u, slice(index, index + 1))
        predicted = model.predict(one, points=points)
        low, high = model.interval(one, coverage, of, points)
        outputs: OutputForm = getattr(model, "best_model_", model).outputs_
        where = outputs.points if points is None else outputs.checked(place_points(points)[0])
        chosen, called = _component(outputs, component)
        n = len(where)
        values, low, high = (_values(part, outputs, chosen, n) for part in (predicted, low, high))
        truth = None if s is None else _truth(s, index, predicted, outputs, chosen, n)
        name = f"function {index}" + (f", {called}" if called else "")
        return cls(where, values, low, high, truth, name, HOLDS[of].format(100 * coverage))

    @property
    def known(self) -> np.ndarray:
        """Where the truth is known, (M,)."""
        return np.zeros(len(self.points), bool) if self.truth is None else np.isfinite(self.truth)

    @property
    def outside(self) -> np.ndarray:
        """Where the truth is known and leaves the band, (M,)."""
        if self.truth is None:
            return np.zeros(len(self.points), bool)
        return (self.truth < self.low) | (self.truth > self.high)

    @property
    def error(self) -> float | None:
        """The relative error, where the truth is known."""
        if self.truth is None:
            return None
        return relative_l2(self.predicted[None, self.known], self.truth[None, self.known])

    @property
    def found(self) -> str:
        """How the truth lies in the band, in words."""
        out = int(self.outside.sum())
        lies = f"{out} of {self.known.sum()} outside" if out else "all inside"
        return "" if self.error is None else f"relative error {self.error:.2g}, {lies}"


def _component(outputs: OutputForm, wanted: Any) -> tuple[int, str]:
    """The number of a component that is given by name or number, and what it is called."""
    names = [str(i) for i in range(max(1, outputs.components))] if outputs.names is None else outputs.names
    chosen = names[0] if wanted is None else str(wanted)
    if chosen not in names and chosen.isdecimal() and int(chosen) < len(names):
        chosen = names[int(chosen)]
    if chosen not in names:
        there = f"are {', '.join(names)}" if len(names) > 1 else "is only one: remove component"
        raise InputError(f"there is no component {wanted!r}; there {there}.")
    called = f"component {chosen}" if chosen.isdecimal() else chosen
    return names.index(chosen), called if len(names) > 1 else ""


def _values(values: Any, outputs: OutputForm, chosen: int, n: int) -> np.ndarray:
    """One component (n,) of what a model gives for one function."""
    if isinstance(values, dict):
        values = list(values.values())[chosen]
    elif outputs.axis is not None:
        last = outputs.axis == len(outputs.shape) - 1
        values = np.asarray(values)[0].take(chosen, axis=-1 if last else 0)
    if np.size(values) != n:
        raise InputError(f"the model predicts {np.size(values)} values at {n} points: give points=(M, d).")
    return np.asarray(values, float).ravel()


def _truth(s: Any, index: int, predicted: Any, outputs: OutputForm, chosen: int, n: int) -> np.ndarray | None:
    """One component (n,) of the known outputs, None if all are NaN; s may be that component alone."""
    found = _found(s, index, predicted, outputs, chosen, n)
    return found if np.isfinite(found).any() else None


def _found(s: Any, index: int, predicted: Any, outputs: OutputForm, chosen: int, n: int) -> np.ndarray:
    if count_of(s) <= index:
        raise InputError(f"there are {count_of(s)} output functions, and function {index} is asked for.")
    own = rows_of(s, slice(index, index + 1))
    if isinstance(own, dict):
        if not isinstance(predicted, dict) or set(own) != set(predicted):
            raise InputError(f"the outputs have the components {', '.join(own)}, and the model has others.")
        own = {name: own[name] for name in predicted}
    elif np.size(own) == n:
        return np.asarray(own, float).ravel()
    elif isinstance(predicted, dict) or np.size(own) != np.size(predicted):
        raise InputError(
            f"the outputs s hold {np.size(own)} values for one function, and {n} points are drawn. Give "
            "outputs in the shape of predictions, at the same points."
        )
    else:
        own = np.reshape(own, np.shape(predicted))
    return _values(own, outputs, chosen, n)


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
    (label,) = axis_labels(data.axes, 1)
    if ax is not None:
        (ax,) = given(ax, 1)
        ax.set_xlabel(label)
    else:
        ax = _new_with_input(data, index, label)
    order = np.argsort(data.points[:, 0])
    x, marker = data.points[order, 0], "o" if len(order) == 1 else ""
    ax.plot(x, truth[order], color=BLUE, linewidth=2.5, marker=marker, label="truth")
    ax.plot(x, predicted[order], "--", color=ORANGE, marker=marker, label="prediction")
    ax.set_ylabel(f"s({label})")
    titled(ax, f"{_name(data, index)}: relative error {_relative_error(predicted, truth)}")
    bare(ax)
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
        axes = given(axes, 3)
    else:
        axes = new(1, 3, figsize=(9.3, 3.9), layout="compressed", sharex=True, sharey=True)
    error = predicted - truth
    both = np.stack([truth, predicted])
    shared = {"vmin": both.min(), "vmax": both.max(), "cmap": "viridis"}
    largest = np.abs(error).max() or 1.0
    coloured(axes[0], data.points, truth, **shared)
    values = coloured(axes[1], data.points, predicted, **shared)
    errors = coloured(axes[2], data.points, error, vmin=-largest, vmax=largest, cmap="RdBu_r")
    colour_bar_below(list(axes[:2]), values)
    colour_bar_below([axes[2]], errors)
    titles = (
        f"{_name(data, index)}: truth",
        "prediction",
        f"error (relative: {_relative_error(predicted, truth)})",
    )
    return on_a_plane(axes, titles, data.axes)


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
            f"plot.parity needs as many predicted as true values, got {predicted.shape} and {truth.shape}."
        )
    (ax,) = given(ax, 1) if ax is not None else new(1, 1, figsize=(4.2, 4.2))
    both = np.concatenate([truth, predicted])
    ends = both.min(), both.max()
    ax.plot(ends, ends, color=GREY, linewidth=1)
    ax.plot(truth, predicted, ".", color=BLUE, markersize=4)
    ax.set(xlabel="truth", ylabel="prediction", aspect="equal")
    titled(ax, f"{len(truth)} values: relative error {_relative_error(predicted, truth)}")
    bare(ax)
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


def _new_with_input(data: OperatorData, index: int, label: str) -> Axes:
    """Axes in a new figure, above a panel of the input function if that lives on a line too.

    The label is the name of the points' coordinate. Sensors that do not span the same line may have another
    one: then the panel has an axis of its own.
    """
    if data.sensors.shape[1] != 1:
        (ax,) = new(1, 1, figsize=(5.5, 3.6))
        ax.set_xlabel(label)
        return ax
    ends = np.array([(places.min(), places.max()) for places in (data.sensors, data.points)])
    same = data.axes is None or np.abs(ends[0] - ends[1]).max() <= 0.05 * np.ptp(ends[1])
    ax, below = new(2, 1, figsize=(5.5, 4.4), sharex=bool(same), height_ratios=(3, 1))
    order = np.argsort(data.sensors[:, 0])
    u = data.u_test[index].ravel()
    below.plot(data.sensors[order, 0], u[order], color=GREY, linewidth=1)
    if same:
        below.set(xlabel=label, ylabel=f"u({label})")
    else:
        ax.set_xlabel(label)
        below.set(xlabel="sensor", ylabel="u")
    bare(below)
    below.figure.align_ylabels()
    return ax


def _name(data: OperatorData, index: int) -> str:
    return f"{data.name}, test {index}" if data.name else f"test function {index}"


def _relative_error(predicted: np.ndarray, truth: np.ndarray) -> str:
    return f"{relative_l2(predicted[None], truth[None]):.2g}"
