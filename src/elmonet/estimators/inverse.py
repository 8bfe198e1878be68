"""Inverse problems and sensitivities of a fitted model, from measurements as users give them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from elmonet.checks import plain, positive_integer
from elmonet.description import Description
from elmonet.errors import InputError
from elmonet.fitting.fitted import FittedModel
from elmonet.inversion import Posterior
from elmonet.inversion import invert as solve
from elmonet.prior import Prior
from elmonet.sensitivity import Sensitivity
from elmonet.sensitivity import sensitivity as indices

_JITTER = 1e-12  # of the mean variance, on the diagonal of a covariance


def invert(
    estimator: Any,
    model: FittedModel,
    s: Any,
    points: Any,
    noise: Any,
    prior: Any,
    n_samples: int,
    random_state: Any,
) -> Posterior:
    """Return the posterior of the input behind measurements; see `OperatorEstimator.invert`."""
    description = model.description(points)
    named = model.outputs.names is not None
    values = _measured(description, s, "s", named)
    deviations = _measured(description, noise, "noise", named)
    deviations = np.broadcast_to(deviations[:1], values[:1].shape)[0]
    known = ~np.isnan(values)
    count = known.sum(axis=0)
    which = np.flatnonzero(count)
    if not len(which):
        raise InputError("s holds no measurement: all values are NaN or missing.")
    if not (deviations[which] > 0).all() or not np.isfinite(deviations[which]).all():
        raise InputError(
            "noise must be the standard deviation of the measurements, positive and in their units: one "
            f"number, or one for each value; got {noise!r}."
        )
    y = np.where(known, values, 0).sum(axis=0)[which] / count[which]
    variances = deviations[which] ** 2 / count[which]
    before = Prior.learned(model.inputs, model.training_inputs(), prior)
    covariance = (
        np.diag(variances)
        + _model_errors(estimator, model, description, points, before)[np.ix_(which, which)]
    )
    covariance[np.diag_indices(len(which))] += _JITTER * np.trace(covariance) / len(which)
    count_of_samples = positive_integer(n_samples, "n_samples", minimum=2)
    return solve(
        description,
        before,
        y,
        covariance,
        which=which,
        n_samples=count_of_samples,
        seed=random_state,
        shaped=lambda x: _shaped(description, x, model.inputs.names is not None),
    )


def sensitivity(
    estimator: Any,
    model: FittedModel,
    X: Any,
    points: Any,
    n: int,
    directions: int,
    random_state: Any,
) -> Sensitivity:
    """Return Sobol indices of the inputs; see `OperatorEstimator.sensitivity`."""
    description = model.description(points)
    given = X if X is None or _is_prior(X) else None
    rows = model.training_inputs() if X is None or given is not None else model.inputs.flat(X)
    before = Prior.learned(model.inputs, rows, given)
    if before.directions == 0:
        raise InputError("all inputs are constant: there is nothing that outputs could be sensitive to.")
    shape = model.outputs.names is not None

    def shaped(values: np.ndarray) -> Any:
        found = {port.name: part[0] for port, part in description.split(values, description.outputs)}
        return found if shape else next(iter(found.values()))

    return indices(
        description,
        before,
        n=positive_integer(n, "n", minimum=64),
        seed=random_state,
        directions=positive_integer(directions, "directions", minimum=0),
        residuals=model.left_out_errors(points),
        shaped=shaped,
    )


def _is_prior(X: Any) -> bool:
    """Whether X gives bounds, (low, high), rather than inputs."""
    return isinstance(X, tuple) or (isinstance(X, Mapping) and any(isinstance(v, tuple) for v in X.values()))


def _measured(description: Description, s: Any, what: str, named: bool) -> np.ndarray:
    """Return measurements (R, k) of one input in the order of the flat outputs, NaN where there are none."""
    ports = description.outputs
    total = sum(port.size for port in ports)
    if what == "noise" and not isinstance(s, Mapping) and np.ndim(s) == 0:
        if isinstance(s, (str, bytes)) or s is None:
            raise InputError(f"noise must be numbers, the standard deviation of the measurements; got {s!r}.")
        return np.full((1, total), float(s))
    if named and not isinstance(s, Mapping):
        names = ", ".join(repr(port.name) for port in ports)
        raise InputError(f"{what} must be a dictionary with some of the components {names}.")
    given = {str(name): part for name, part in s.items()} if isinstance(s, Mapping) else {ports[0].name: s}
    unknown = set(given) - {port.name for port in ports}
    if unknown:
        names = ", ".join(repr(port.name) for port in ports)
        raise InputError(f"{what} names the component {sorted(unknown)[0]!r}; the components are {names}.")
    parts = []
    for port in ports:
        values = (
            np.asarray(plain(given[port.name]), float) if port.name in given else np.full(port.shape, np.nan)
        )
        if what == "noise" and values.ndim == 0:
            values = np.full(port.shape, float(values))
        if values.shape == port.shape:
            values = values[None]
        if values.shape[1:] != port.shape:
            raise InputError(
                f"{what} must have the shape {port.shape} of one prediction at the points, or "
                f"(repeats, {', '.join(map(str, port.shape))}); got {values.shape}. For measurements at "
                "other places give points=; NaN stands for what was not measured."
            )
        parts.append(values.reshape(len(values), -1))
    most = max(len(part) for part in parts)
    parts = [
        np.concatenate([part, np.full((most - len(part), part.shape[1]), np.nan)])
        if len(part) < most
        else part
        for part in parts
    ]
    if np.isinf(np.hstack(parts)).any():
        raise InputError(f"{what} holds infinite values.")
    return np.hstack(parts)


def _model_errors(
    estimator: Any, model: FittedModel, description: Description, points: Any, prior: Prior
) -> np.ndarray:
    """Return the covariance (k, k) of the model's own errors: of left-out functions, or from its bands."""
    errors = model.left_out_errors(points)
    if errors is not None:
        return np.asarray(errors.T @ errors) / len(errors)
    middle = _shaped(
        description, prior.inputs(np.zeros((1, prior.directions))), model.inputs.names is not None
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _, std = estimator.predict(middle, points=points, return_std=True)
    except InputError:  # no error bars: nothing is known of its errors
        return np.zeros((description.output_size,) * 2)
    flat = [np.asarray(part, float).ravel() for part in (std.values() if isinstance(std, dict) else [std])]
    return np.diag(np.concatenate(flat) ** 2)


def _shaped(description: Description, x: np.ndarray, named: bool) -> Any:
    found = {port.name: part for port, part in description.split(x, description.inputs)}
    return found if named else next(iter(found.values()))
