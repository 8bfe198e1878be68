"""Derivatives of predictions by the inputs, exact, from the array operations of a fitted model."""

from __future__ import annotations

from typing import Any

import numpy as np

from elmonet.checks import finite, plain
from elmonet.description import Description
from elmonet.errors import InputError
from elmonet.fitting.fitted import FittedModel
from elmonet.forms.inputs import count_of


class Linearised:
    """A fitted model around inputs: what goes in and out, as flat rows.

    Attributes
    ----------
    x : (N, m), the inputs.
    description : the model as array operations, for inputs like these, with outputs at the points.
    """

    def __init__(self, estimator: Any, model: FittedModel, X: Any, points: Any = None):
        X = model.inputs.one_case(X)
        self.model, self.x = model, model.flat_inputs(estimator, X)
        named = model.inputs.names is not None and isinstance(X, dict)
        self.shapes = {str(name): np.shape(part) for name, part in X.items()} if named else {}
        self.description: Description = model.description(points, model.steps_of(X))

    def changes(self, dX: Any) -> np.ndarray:
        """Return changes of the inputs as rows (N, m)."""
        dx = self.model.inputs.flat(self.model.inputs.one_case(dX), "dX")
        if dx.shape != self.x.shape:
            raise InputError(f"dX must have the shape of X: {len(self.x)} functions; got {len(dx)}.")
        return dx

    def output_rows(self, ds: Any) -> np.ndarray:
        """Return values in the form of the outputs as rows (N, k)."""
        ports = self.description.outputs
        if self.model.outputs.names is not None:
            if not isinstance(ds, dict) or {str(name) for name in ds} != {port.name for port in ports}:
                names = ", ".join(port.name for port in ports)
                raise InputError(f"ds must hold the components {names}, in the form of the outputs.")
            named = {str(name): part for name, part in ds.items()}
            parts = [named[port.name] for port in ports]
        else:
            parts = [ds]
        rows = []
        for port, part in zip(ports, parts, strict=True):
            values = np.asarray(plain(part), np.float64)
            if values.shape != (len(self.x), *port.shape):
                shape = ", ".join(map(str, (len(self.x), *port.shape)))
                raise InputError(f"ds must have the shape of the outputs, ({shape}); got {values.shape}.")
            finite(values, "ds")
            rows.append(values.reshape(len(values), -1))
        return np.hstack(rows)

    def as_outputs(self, rows: np.ndarray) -> Any:
        """Return rows (N, k) in the form of the outputs."""
        found = {port.name: part for port, part in self.description.split(rows, self.description.outputs)}
        return found if self.model.outputs.names is not None else next(iter(found.values()))

    def as_inputs(self, rows: np.ndarray) -> Any:
        """Return rows (N, m) in the form of the inputs."""
        parts = self.description.split(rows, self.description.inputs)
        found = {port.name: part.reshape(self.shapes.get(port.name, part.shape)) for port, part in parts}
        return found if self.model.inputs.names is not None else next(iter(found.values()))


def jvp(estimator: Any, model: FittedModel, X: Any, dX: Any, points: Any = None) -> Any:
    """Return changes of the outputs; lists of records one by one."""
    if _is_list(model, X):
        return [
            jvp(estimator, model, np.asarray(x)[None], np.asarray(dx)[None], points)[0]
            for x, dx in zip(X, dX, strict=True)
        ]
    around = Linearised(estimator, model, X, points)
    return around.as_outputs(around.description.jvp(around.x, around.changes(dX)))


def vjp(estimator: Any, model: FittedModel, X: Any, ds: Any, points: Any = None) -> Any:
    """Return gradients by the inputs; lists of records one by one."""
    if _is_list(model, X):
        return [
            vjp(estimator, model, np.asarray(x)[None], np.asarray(g)[None], points)[0]
            for x, g in zip(X, ds, strict=True)
        ]
    around = Linearised(estimator, model, X, points)
    return around.as_inputs(around.description.vjp(around.x, around.output_rows(ds)))


def jacobian(estimator: Any, model: FittedModel, X: Any, points: Any = None) -> Any:
    """Return derivatives (N, *outputs, *inputs), by name where there are several inputs or components."""
    around = Linearised(estimator, model, X, points)
    description = around.description
    J, n = description.jacobian(around.x), count_of(around.x)
    found: dict[str, Any] = {}
    rows = np.cumsum([0, *(port.size for port in description.outputs)])
    columns = np.cumsum([0, *(port.size for port in description.inputs)])
    for i, out in enumerate(description.outputs):
        own = {}
        for j, given in enumerate(description.inputs):
            part = J[:, rows[i] : rows[i + 1], columns[j] : columns[j + 1]]
            own[given.name] = part.reshape(n, *out.shape, *given.shape)
        found[out.name] = own if model.inputs.names is not None else own[description.inputs[0].name]
    return found if model.outputs.names is not None else found[description.outputs[0].name]


def _is_list(model: FittedModel, X: Any) -> bool:
    return model.steps_of(X) is None and isinstance(X, (list, tuple)) and model.takes_lists
