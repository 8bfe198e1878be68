"""Learned time steps, applied repeatedly: alone, or with a forcing and parameters."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from elmonet.checks import FunctionValues, finite, plain
from elmonet.description import Port
from elmonet.errors import ExtrapolationWarning, InputError, warn
from elmonet.fitting.fitted import FittedModel
from elmonet.forms.inputs import InputForm, count_of
from elmonet.forms.outputs import OutputForm


def rollout(model: FittedModel, estimator: Any, X: Any, steps: int, forcing: Any = None) -> FunctionValues:
    """Return states (n, steps, *shape) from X (n, *shape); NaN where the rollout has stopped.

    `forcing` holds the other inputs of the step, see `OperatorEstimator.rollout`.
    """
    step = _find_step(model, forcing)
    state = step.given(X)
    n = count_of(next(iter(state.values())))
    others = {port.name: _over_time(values, port, n, steps) for port, values in step.others}

    def query(k: int, active: Any) -> Any:
        now = {name: values[active, min(k, values.shape[1] - 1)] for name, values in others.items()}
        return model.query(estimator, step.inputs(state | now))

    active = np.arange(n)
    out = {port.name: np.full((n, steps, *step.shape(port)), np.nan) for port in step.state}
    for k in range(steps):
        checked = query(k, active)
        outside = model.outside(checked)
        if outside.any():
            _warn_of_end(f"are unlike the training functions after {k} steps", active[outside], n)
            state = {name: values[~outside] for name, values in state.items()}
            active = active[~outside]
            if not len(active):
                break
            checked = query(k, active)
        new = step.new(model.finish(model.values(checked), checked), len(active))
        for name, values in new.items():
            out[name][active, k] = values
        state = step.moved(state, new)
        flat = [values.reshape(len(active), -1) for values in new.values()]
        ended = ~np.isfinite(np.concatenate(flat, axis=1)).all(axis=1)
        if ended.any():
            _warn_of_end(f"have no finite values after {k + 1} steps", active[ended], n)
            for name in out:
                out[name][active[ended], k] = np.nan
            state = {name: values[~ended] for name, values in state.items()}
            active = active[~ended]
        if not len(active):
            break
    return step.inputs(out) if step.inputs_by_name and len(out) > 1 else next(iter(out.values()))


def _warn_of_end(what: str, rows: np.ndarray, n: int) -> None:
    warn(
        f"{len(rows)} of {n} functions {what} (the first: row {rows[0]}). Their rollout stops there. "
        "Train on functions like these, or on more of them.",
        ExtrapolationWarning,
    )


@dataclass(frozen=True)
class _Step:
    """Which inputs of a model are the state of a time step, and how its outputs become the next one.

    Attributes
    ----------
    state : the inputs that make up the state.
    others : the other inputs, with their values.
    outputs : the form of the outputs.
    order : (M,), the points in the order of the sensors; None if these are the same.
    past : how many states an input holds, the newest last; 0 for one state without an axis for it.
    components_last : whether components are the last axis of a state, not the first.
    inputs_by_name : whether the model takes a dictionary.
    """

    state: tuple[Port, ...]
    others: list[tuple[Port, Any]]
    outputs: OutputForm
    order: np.ndarray | None
    past: int
    components_last: bool
    inputs_by_name: bool

    def given(self, X: Any) -> dict[str, Any]:
        """Return the initial state by name."""
        if not self.inputs_by_name or (len(self.state) == 1 and not isinstance(X, dict)):
            X = {self.state[0].name: X}
        names = [port.name for port in self.state]
        if not isinstance(X, dict) or set(X) != set(names):
            came = ", ".join(map(str, X)) if isinstance(X, dict) else type(X).__name__
            raise InputError(f"the initial state must be a dictionary with {', '.join(names)}; got {came}.")
        state = {port.name: np.asarray(plain(X[port.name]), np.float64) for port in self.state}
        for port in self.state:
            if state[port.name].shape[1:] != port.shape:
                expected = ", ".join(map(str, ("N", *port.shape)))
                raise InputError(
                    f"the initial state {port.name!r} must have the shape ({expected}); got "
                    f"{state[port.name].shape}."
                )
        return state

    def inputs(self, values: dict[str, np.ndarray]) -> Any:
        """Return values by name as the model takes inputs."""
        return values if self.inputs_by_name else values[self.state[0].name]

    def new(self, y: Any, n: int) -> dict[str, np.ndarray]:
        """Return outputs as new states, without past ones."""
        axis, found = self.outputs.axis, {}
        for port in self.state:
            if isinstance(y, dict):
                values = np.asarray(y[port.name] if len(y) > 1 else next(iter(y.values())))
            else:
                values = np.asarray(y) if axis is None else np.moveaxis(y, axis + 1, 1)
            values = values.reshape(n, -1, len(self.outputs.points))  # (n, components, M)
            values = values if self.order is None else values[..., self.order]
            values = np.moveaxis(values, 1, -1) if self.components_last else values
            found[port.name] = values.reshape(n, *self.shape(port))
        return found

    def shape(self, port: Port) -> tuple[int, ...]:
        """Return the shape of one state without past ones."""
        return port.shape[1:] if self.past else port.shape

    def moved(self, state: dict[str, np.ndarray], new: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the state with the new one in it."""
        if not self.past:
            return new
        return {name: np.concatenate([state[name][:, 1:], new[name][:, None]], axis=1) for name in state}


def _find_step(model: FittedModel, forcing: Any) -> _Step:
    """Return the roles of the inputs, or raise `InputError` if the model is no step u(t) -> u(t + h)."""
    inputs, outputs = model.inputs, model.outputs
    if model.takes_lists:
        raise InputError(
            "a model of records in time predicts step by step already: call predict with the inputs of all "
            "steps, and start= for the first outputs."
        )
    by_name = inputs.names is not None
    state, others = _roles(inputs.ports(), outputs.names or (), forcing, by_name)
    layouts = {_layout(port.shape, outputs) for port in state}
    layout = layouts.pop()
    if layouts or layout is None or outputs.holes is not None:
        raise InputError(
            "rollout needs a model whose outputs are like its inputs: a step u(t) -> u(t + h) at the same "
            f"points. The state is {', '.join(f'{port.name} {port.shape}' for port in state)}; the "
            f"outputs are {outputs.describe()}."
        )
    return _Step(state, others, outputs, _order(inputs, outputs), *layout, by_name)


def _layout(shape: tuple[int, ...], outputs: OutputForm) -> tuple[int, bool] | None:
    """Return how many states an input holds, 0 without an axis for them, and whether components come last.

    None if it is unlike the outputs.
    """
    if outputs.scattered:
        return None
    places = tuple(n for i, n in enumerate(outputs.shape) if i != outputs.axis)
    M, c = prod(places), 1 if outputs.names is not None and len(outputs.names) > 1 else outputs.components

    def at_points(own: tuple[int, ...]) -> bool:
        return prod(own) == M and (own == places or 1 in (len(own), len(places)))

    if c < 2:
        if at_points(shape) or at_points(tuple(n for n in shape if n > 1)):
            return 0, False
        return (shape[0], False) if at_points(shape[1:]) else None
    first, last = shape[0] == c and at_points(shape[1:]), shape[-1] == c and at_points(shape[:-1])
    if first and last:
        raise InputError(
            f"the state {shape} has {c} values along its first and its last axis: rollout cannot tell which "
            "are the components. Name them: fit({'a': a, 'b': b}, {'a': next_a, 'b': next_b})."
        )
    return (0, last) if first or last else None


def _roles(
    ports: tuple[Port, ...], components: tuple[str, ...], forcing: Any, by_name: bool
) -> tuple[tuple[Port, ...], list[tuple[Port, Any]]]:
    """Return which inputs of the model are the state, and the others with their values."""
    names = ", ".join(port.name for port in ports)
    state = ports[:1]
    if len(components) > 1:  # outputs by name say which inputs are the state
        state = tuple(port for port in ports if port.name in components)
        if len(state) < len(components):
            raise InputError(
                f"rollout needs an input for each output; the model has the inputs {names} and the outputs "
                f"{', '.join(components)}."
            )
    elif isinstance(forcing, dict):
        state = tuple(port for port in ports if port.name not in forcing)[:1] or state
    rest = [port for port in ports if port not in state]
    if forcing is None and rest:
        raise InputError(
            f"this model has the inputs {names}: rollout needs the initial state, and the others as "
            "forcing={name: values}."
        )
    if forcing is not None and not (rest and by_name):
        raise InputError("this model has no input but the state: fit a step with {'u': u, 'f': f} first.")
    if forcing is not None and not isinstance(forcing, dict):
        if len(rest) > 1:
            raise InputError(f"this model has the inputs {names}: give forcing={{name: values}}.")
        forcing = {rest[0].name: forcing}
    if forcing is not None and set(forcing) != {port.name for port in rest}:
        raise InputError(
            f"forcing must hold all inputs but the state; this model has {names}, got "
            f"{', '.join(map(str, forcing)) or 'none'}."
        )
    return state, [(port, forcing[port.name]) for port in rest]


def _order(inputs: InputForm, outputs: OutputForm) -> np.ndarray | None:
    """Return the order in which the values at the points are known at the sensors; None for the same."""
    sensors, points = inputs.sensors, outputs.points
    if sensors is None or np.array_equal(sensors, points):
        return None
    if sensors.shape == points.shape:
        at_sensors, at_points = np.lexsort(sensors.T), np.lexsort(points.T)
        if np.allclose(sensors[at_sensors], points[at_points]):
            order = np.empty_like(at_points)
            order[at_sensors] = at_points
            return order
    raise InputError(
        "rollout needs outputs where the inputs are known, but the points differ from the sensors. Move the "
        "inputs with elmonet.resample and fit again."
    )


def _over_time(values: Any, port: Port, n: int, steps: int) -> np.ndarray:
    """Return values (n, 1 or steps, *shape) of one input: constant, or one for each step."""
    array = np.asarray(plain(values), dtype=np.float64)
    finite(array, "forcing")
    shape, number = port.shape, prod(port.shape) == 1
    if array.shape == (n, *shape) or (number and array.shape == (n,)):
        return array.reshape(n, 1, *shape)
    if array.shape == (n, steps, *shape) or (number and array.shape == (n, steps)):
        return array.reshape(n, steps, *shape)
    constant, varying = (n, *shape), (n, steps, *shape)
    raise InputError(
        f"forcing {port.name!r} must have the shape {varying}, with the values of each step, or {constant}, "
        f"if it does not vary in time; got {array.shape}."
    )
