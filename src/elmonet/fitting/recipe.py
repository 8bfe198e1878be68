"""Convert feature maps and solvers to JSON and arrays, and back: the content of a model file.

Only registered classes are ever built: elmonet's own, and those that derive from `FeatureMap` or `Solver`.
Weights that follow from a seed are stored as that seed, with a checksum of the weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import elmonet.features  # noqa: F401  (registers its classes)
from elmonet.errors import FileError, InputError
from elmonet.features.base import FeatureMap, RandomMap
from elmonet.parts import REGISTERED
from elmonet.solve import Solver
from elmonet.store import digest


def describe(part: FeatureMap | Solver) -> dict[str, Any]:
    """Return the class and the settings of a feature map or solver, as JSON."""
    name = type(part).__name__
    if REGISTERED.get(name) is not type(part):
        raise InputError(
            f"a model file can hold feature maps and solvers only; this model holds a {name}. Derive it from "
            "elmonet.features.FeatureMap or elmonet.solve.Solver, with a class name of its own, or use one "
            f"of {', '.join(REGISTERED)}."
        )
    settings = part.settings_to_store() if isinstance(part, FeatureMap) else part.get_params(deep=False)
    return {"class": name, "settings": {key: _to_json(value, key, name) for key, value in settings.items()}}


def build(record: dict[str, Any]) -> Any:
    """Return the unfitted object that `describe` recorded."""
    kind = REGISTERED.get(record["class"])
    if kind is None:
        raise FileError(
            f"the file names a class {record['class']!r} that this elmonet does not have. If it is a class "
            "of your own, define or import it before loading the file."
        )
    settings = {key: _from_json(value) for key, value in record["settings"].items()}
    settings = {key: tuple(value) if isinstance(value, list) else value for key, value in settings.items()}
    return kind.from_stored(settings) if issubclass(kind, FeatureMap) else kind(**settings)


def describe_map(
    part: FeatureMap, prefix: str, arrays: dict[str, np.ndarray], weights: bool
) -> dict[str, Any]:
    """Return the record of a fitted feature map; add what it learned from data to `arrays` under `prefix`."""
    record = describe(part)
    record["input_shape"] = list(part.input_shape_)
    record["dtype"] = np.dtype(part.dtype_).name
    learned = part.fitted_arrays()
    record["arrays"] = sorted(learned)
    arrays.update({f"{prefix}.{name}": array for name, array in learned.items()})
    if isinstance(part, RandomMap):
        record["drawn"] = digest(part.weights_)
        if weights:
            record["n_weights"] = len(part.weights_)
            for i, array in enumerate(part.weights_):
                arrays[f"{prefix}.weights_.{i}"] = array
    if hasattr(part, "members_"):
        record["members"] = [
            describe_map(member, f"{prefix}.{i}", arrays, weights) for i, member in enumerate(part.members_)
        ]
    return record


def restore_map(record: dict[str, Any], prefix: str, arrays: dict[str, np.ndarray]) -> FeatureMap:
    """Return the fitted feature map that `describe_map` recorded."""
    part = build(record)
    if not isinstance(part, FeatureMap):
        raise FileError(f"the file names {record['class']!r} as a feature map, and it is a solver.")
    fitted: dict[str, Any] = {name: arrays[f"{prefix}.{name}"] for name in record["arrays"]}
    if "members" in record:
        members = enumerate(record["members"])
        fitted["members_"] = [restore_map(member, f"{prefix}.{i}", arrays) for i, member in members]
    if "n_weights" in record:
        fitted["weights_"] = [arrays[f"{prefix}.weights_.{i}"] for i in range(record["n_weights"])]
    part.restore(tuple(record["input_shape"]), np.dtype(record["dtype"]), fitted)
    if isinstance(part, RandomMap) and digest(part.weights_) != record["drawn"]:
        raise FileError(
            f"the random weights drawn here differ from the model's: this NumPy ({np.__version__}) draws "
            "other numbers. Load the file with the NumPy that wrote it and save it with weights=True."
        )
    return part


def _to_json(value: Any, key: str, name: str) -> Any:
    """Return a setting as numbers, text, None, described maps and lists of these, or raise `InputError`."""
    if hasattr(value, "transform"):
        return describe(value)
    if isinstance(value, (list, tuple)):
        return [_to_json(member, key, name) for member in value]
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise InputError(
        f"a model file holds numbers, text and lists as settings; {key} of this {name} is a "
        f"{type(value).__name__}."
    )


def _from_json(value: Any) -> Any:
    """Return the setting that `_to_json` wrote."""
    if isinstance(value, dict):
        return build(value)
    return [_from_json(member) for member in value] if isinstance(value, list) else value
