"""What a live page shows beside the model: training inputs, a band, and functions with known outputs."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from elmonet.data.dataset import Labels
from elmonet.description import Description, Port
from elmonet.errors import InputError
from elmonet.export import Beside
from elmonet.fitting.fitted import FittedModel
from elmonet.prior import Prior

_COVERAGE = 0.9
_DRAWN = 32  # inputs whose bands tell the typical one
_SEED = 0


def beside(
    estimator: Any,
    model: FittedModel,
    description: Description,
    points: Any,
    steps: int | None,
    X: Any,
    y: Any,
) -> Beside:
    """Return what the page of a model shows besides its description."""
    if (X is None) != (y is None):
        raise InputError("give X and y together: functions, and their known outputs.")
    rows, inputs = model.training_inputs(steps), model.inputs
    known: dict[str, Any] = {}
    if X is not None:
        known = {"X": model.flat_inputs(estimator, X), "y": _flat(y, description)}
        if len(known["X"]) != len(known["y"]):
            raise InputError(f"X holds {len(known['X'])} functions, y {len(known['y'])}.")
        if known["X"].shape[1] != description.input_size:
            raise InputError(
                f"records of X must have the {description.inputs[0].shape[0]} steps of the page: see steps=."
            )
    parts = () if inputs.parts is None or inputs.order is not None else inputs.parts
    coverage, half = band(estimator, model, description, points, rows)
    axes: tuple[str, ...] = estimator.labels_.axes_with_units or ()
    return Beside(
        rows=rows,
        half=half,
        coverage=coverage,
        sensors=inputs.sensors,
        parts=tuple((part.name, part.size) for part in parts),
        axis=axes[0] if len(axes) == 1 else "t" if model.takes_lists else "x",
        **known,
    )


def named(description: Description, labels: Labels) -> Description:
    """Return a description whose inputs and outputs are called as in the data, with their units."""

    def shown(ports: tuple[Port, ...], single: str) -> tuple[Port, ...]:
        only = single if len(ports) == 1 else ""
        return tuple(replace(port, name=labels.with_unit(only or port.name)) for port in ports)

    inputs, outputs = (shown(description.inputs, labels.input), shown(description.outputs, labels.output))
    return replace(description, inputs=inputs, outputs=outputs)


def with_bands(
    estimator: Any, model: FittedModel, description: Description, points: Any, steps: int | None
) -> Description:
    """Return a description with the novelty of inputs and typical bands of outputs, as far as known."""
    coverage, half = band(estimator, model, description, points, model.training_inputs(steps))
    return replace(description, novelty=model.described_novelty(steps), half=half, coverage=coverage)


def band(
    estimator: Any, model: FittedModel, description: Description, points: Any, rows: np.ndarray | None
) -> tuple[float, np.ndarray | None]:
    """Return the coverage and typical half-width (k,) of a band: from left-out errors, else of new inputs.

    Bands at the training inputs themselves may be narrower than elsewhere, except for records: a step has far
    fewer features than there are steps.
    """
    errors = model.left_out_errors(points)
    if errors is not None and errors.shape[1] == description.output_size:
        return _COVERAGE, np.asarray(np.quantile(np.abs(errors), _COVERAGE, axis=0))
    bars = model.error_bars
    if rows is None or bars is None:
        return _COVERAGE, None
    if model.takes_lists:
        x = rows[np.linspace(0, len(rows) - 1, min(len(rows), _DRAWN)).astype(int)]
    else:
        prior = Prior.learned(model.inputs, rows)
        x = prior.inputs(np.random.default_rng(_SEED).normal(size=(_DRAWN, prior.directions)))
        x = np.clip(x, rows.min(axis=0), rows.max(axis=0))  # a model below layers may take logarithms
    named = {port.name: part for port, part in description.split(x, description.inputs)}
    X = named if model.inputs.names is not None else next(iter(named.values()))
    coverage = min(_COVERAGE, bars.independent / (bars.independent + 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        low, high = (_flat(end, description) for end in estimator.interval(X, coverage, points=points))
    return coverage, np.asarray(np.median(high - low, axis=0) / 2)


def _flat(y: Any, description: Description) -> np.ndarray:
    """Return outputs (n, k) in the order of a description."""
    if isinstance(y, dict) != (len(description.outputs) > 1) or (
        isinstance(y, dict) and {str(name) for name in y} != {port.name for port in description.outputs}
    ):
        raise InputError("y must be in the form of the training outputs: an array, or a dictionary by name.")
    named = {str(name): part for name, part in y.items()} if isinstance(y, dict) else {}
    parts = []
    for port in description.outputs:
        part = np.asarray(named.get(port.name, y), np.float64)
        if part.shape[1:] != port.shape and part[0].size != port.size:
            raise InputError(
                f"the outputs {port.name!r} must have the shape (N, {', '.join(map(str, port.shape))}), that "
                f"of predictions at the points of the page; got {part.shape}."
            )
        parts.append(part.reshape(len(part), -1))
    return np.hstack(parts)
