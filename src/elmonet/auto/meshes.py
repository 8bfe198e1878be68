"""Functions on meshes of their own: scattered points or one common mesh, by errors of left-out functions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from elmonet.data.dataset import OperatorData
from elmonet.summary import Fact, percent


@dataclass(frozen=True)
class Compared:
    """The better of two fits, and what is said of the other.

    Attributes
    ----------
    model : the fitted estimator.
    data : the data it was fitted to.
    fact : for its summary.
    """

    model: Any
    data: OperatorData
    fact: Fact


def compare_meshes(estimator: Any, data: OperatorData) -> Compared:
    """Fit scattered points and functions on a common mesh; return the one with the smaller error.

    The error of a common mesh is that of functions left out there, and beside it that of interpolating to it
    and back: ``sqrt(left_out^2 + interpolation^2)``.
    """
    common, interpolation = data.on_common_mesh()
    scattered = replace(data, meshes=None)
    budget = estimator.time_budget
    models = []
    for own in (common, scattered):
        model = clone(estimator)
        model.set_params(time_budget=None if budget is None else budget / 2)
        models.append(model.fit(own))
    unknown = [np.inf if model.expected_error_ is None else model.expected_error_ for model in models]
    on_mesh, at_points = float(np.hypot(unknown[0], interpolation)), float(unknown[1])
    both = f"one common mesh {percent(on_mesh, 2)}, of it interpolation {percent(interpolation, 2)}"
    both += f"; scattered points {percent(at_points, 2)}"
    if on_mesh <= at_points:
        return Compared(
            models[0], common, Fact("Meshes", f"interpolated to the finest; expected errors: {both}")
        )
    return Compared(
        models[1], scattered, Fact("Meshes", f"treated as scattered points; expected errors: {both}")
    )
