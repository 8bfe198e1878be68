"""Predicted functions as they are drawn: one component at its points or on its mesh, with truth and band."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from elmonet.checks import positive_integer
from elmonet.data.dataset import Labels
from elmonet.data.mesh import DISPLACEMENT, Mesh
from elmonet.errors import InputError
from elmonet.forms.inputs import count_of, rows_of
from elmonet.forms.outputs import OutputForm
from elmonet.forms.training import place_points
from elmonet.metrics import relative_l2

HOLDS = {"points": "{:g} % of all values", "function": "{:g} % of functions"}


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
        name = function.label or labels.output
        output = labels.with_unit(name) if labels.units.get(name) else "s"
        axes = labels.axes_with_units or (("t",) if model._fitted().takes_lists else None)
        return replace(shown, axes=axes, mesh=function.mesh, output=output)

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
    mesh : mesh that the points belong to, with its nodes moved as predicted if they move.
    """

    points: np.ndarray
    predicted: np.ndarray
    truth: np.ndarray | None
    index: int
    number: int
    label: str
    outputs: OutputForm
    mesh: Mesh | None = None

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
        mesh = predicted_mesh(model, predicted) if points is None else None
        where = where if mesh is None else mesh.points
        number, label = _component(outputs, getattr(model, "labels_", None), component, option)
        values = _values(predicted, outputs, number, len(where))
        truth = None if s is None else _truth(s, index, predicted, outputs, number, len(where))
        return cls(where, values, truth, index, number, label, outputs, mesh)

    @property
    def name(self) -> str:
        """Function and component as text."""
        return f"function {self.index}" + (f", {self.label}" if self.label else "")

    def component(self, values: Any) -> np.ndarray:
        """Return this component (M,) of values in the shape of a prediction."""
        return _values(values, self.outputs, self.number, len(self.points))


def predicted_mesh(model: Any, predicted: Any) -> Mesh | None:
    """Return the mesh of one predicted function, its nodes moved if the model learned that; None without."""
    labels: Labels = getattr(model, "labels_", Labels())
    mesh = labels.mesh
    if mesh is None or not mesh.moving:
        return mesh
    if not isinstance(predicted, dict):
        names = labels.components or ()
        predicted = {name: np.asarray(predicted)[..., k] for k, name in enumerate(names)}
    return moved_mesh(mesh, predicted)


def moved_mesh(mesh: Mesh, predicted: Mapping[str, Any]) -> Mesh:
    """Return a mesh moved by the displacements among the components (1, M) of one function."""
    moves = [predicted.get(f"{DISPLACEMENT}_{'xyz'[k]}") for k in mesh.coordinates]
    known = [np.ravel(move) for move in moves if move is not None]
    return mesh.moved(np.column_stack(known)) if len(known) == len(moves) else replace(mesh, moving=False)


def vector_components(model: Any, name: str) -> list[str]:
    """Return the components of a vector, velocity_x and velocity_y of "velocity"; raise if there is none."""
    names = model.outputs_.names or getattr(model.labels_, "components", None) or ()
    found = [f"{name}_{k}" for k in "xyz" if f"{name}_{k}" in names]
    if len(found) < 2:
        there = sorted({own[:-2] for own in names if own[-2:] == "_x" and f"{own[:-2]}_y" in names})
        which = (
            f"there are {', '.join(there)}" if there else "there is none: components must end in _x and _y"
        )
        raise InputError(f"there is no vector {name!r}; {which}.")
    return found


def _one_function(u: Any, index: int) -> Any:
    """Return one input function as a batch of one."""
    if positive_integer(index, "index", minimum=0) >= count_of(u):
        raise InputError(f"index must be below the number of functions, {count_of(u)}; got {index}.")
    return rows_of(u, slice(index, index + 1))


def _component(outputs: OutputForm, labels: Any, wanted: Any, option: str) -> tuple[int, str]:
    """Return number and label of a component that is given by name or number."""
    c = max(1, outputs.components)
    given = outputs.names or getattr(labels, "components", None) or ()
    names = list(given) if len(given) == c else [str(i) for i in range(c)]
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
