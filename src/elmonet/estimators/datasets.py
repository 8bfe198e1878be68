"""Predictions for an ``xarray.Dataset``, as one: with dimensions, coordinates, names and units."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from elmonet.data.limits import require_extra
from elmonet.errors import InputError
from elmonet.fitting.fitted import FittedModel
from elmonet.interpolation import as_grid

_STD = "_std"  # follows the names of standard deviations


def is_dataset(X: Any) -> bool:
    """Return whether X is an ``xarray.Dataset``."""
    return hasattr(X, "data_vars") and hasattr(X, "coords")


def predict_dataset(predict: Callable[..., Any], model: FittedModel, dataset: Any, **options: Any) -> Any:
    """Predict for the inputs in a Dataset, by the names that the model was fitted to; return a Dataset.

    Outputs have the dimension of the runs first, and then those of the grid, or "point".

    Raises
    ------
    InputError : if the Dataset has not the inputs of the model, or points are given as `Scattered`.
    """
    X, runs = _inputs(model, dataset)
    points, with_std = options.get("points"), options.get("return_std", False)
    if points is not None and not isinstance(points, np.ndarray):
        raise InputError("for a Dataset, points must be an array (M, d).")
    found = predict(X, **options)
    where = model.outputs.given_points if points is None else np.atleast_2d(points)
    dims, coords = _coordinates(model, where)
    labels, variables = model.labels, {}
    for end, values in zip(("", _STD), found if with_std else (found,), strict=False):
        named = values if isinstance(values, Mapping) else {labels.output or "s": values}
        if labels.components and not isinstance(values, Mapping):
            named = {name: np.asarray(values)[..., k] for k, name in enumerate(labels.components)}
        for name, array in named.items():
            sizes = [len(coords[dim][1]) if dim in coords else len(where) for dim in dims]
            own, rest = np.asarray(array), len(where)
            more = ("component",) if own[0].size > rest else ()
            shape = (len(own), *sizes, *((own[0].size // rest,) if more else ()))
            unit = labels.units.get(name, "")
            attributes = {"units": unit} if unit else {}
            variables[f"{name}{end}"] = ((runs, *dims, *more), own.reshape(shape), attributes)
    if runs in dataset.coords:
        coords[runs] = dataset.coords[runs]
    return require_extra("xarray").Dataset(variables, coords)


def _inputs(model: FittedModel, dataset: Any) -> tuple[Any, str]:
    """Return the inputs, and the dimension that counts the runs."""
    names = list(model.inputs.names or ([model.labels.input] if model.labels.input else []))
    names = names or [str(name) for name in dataset.data_vars]
    missing = [name for name in names if name not in dataset]
    if missing or (model.inputs.names is None and len(names) > 1):
        wanted = ", ".join(model.inputs.names or [model.labels.input or "one variable"])
        there = ", ".join(map(str, dataset.data_vars))
        raise InputError(f"the Dataset must have the inputs of the model, {wanted}; it has {there}.")
    parts = {name: dataset[name] for name in names}
    first = next(iter(parts.values()))
    if not first.dims:
        raise InputError(f"{names[0]} must have a first dimension that counts the functions.")
    runs = str(first.dims[0])
    arrays = {name: np.asarray(part) for name, part in parts.items()}
    arrays = {name: part[:, None] if part.ndim == 1 else part for name, part in arrays.items()}
    return (arrays if model.inputs.names is not None else arrays[names[0]]), runs


def _coordinates(model: FittedModel, where: np.ndarray) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Return the dimensions of the outputs, and their coordinates: axes of a grid, or those of points."""
    labels, d = model.labels, where.shape[1]
    names = labels.axes if labels.axes is not None and len(labels.axes) == d else None
    names = names or (("x",) if d == 1 else tuple(f"x{k + 1}" for k in range(d)))
    units = [{"units": labels.units[name]} if labels.units.get(name) else {} for name in names]
    axes, order = as_grid(where) if d > 1 else ([where[:, 0]], np.arange(len(where)))
    if axes is not None and np.array_equal(order, np.arange(len(where))):
        return names, {name: ((name,), axes[k], units[k]) for k, name in enumerate(names)}
    return ("point",), {name: (("point",), where[:, k], units[k]) for k, name in enumerate(names)}
