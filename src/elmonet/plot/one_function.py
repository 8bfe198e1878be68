"""One function with its band, as the pictures of bands need it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from elmonet._check import InputError, positive_integer
from elmonet.form.inputs import count_of, rows_of
from elmonet.form.outputs import OutputForm
from elmonet.form.training import place_points
from elmonet.metrics import relative_l2

__all__ = ["HOLDS", "WithBand"]

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
        there = f"are {', '.join(names)}" if len(names) > 1 else "is only one: leave it out"
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
