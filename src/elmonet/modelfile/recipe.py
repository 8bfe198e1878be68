"""Feature maps and solvers to JSON and arrays, and back: the content of a model's file.

Only classes listed here are ever built. Weights that follow from a seed are stored as that seed, with
a checksum of what was drawn.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from elmonet import features, solve
from elmonet.errors import FileError, InputError
from elmonet.features.base import FeatureMap, RandomMap
from elmonet.modelfile.store import digest

__all__ = ["build", "describe", "describe_map", "restore_map"]

_KNOWN = {
    cls.__name__: cls
    for module, names in ((features, features.__all__), (solve, ("Pinv", "Ridge")))
    for cls in (getattr(module, name) for name in names)
}


def describe(part: Any) -> dict[str, Any]:
    """The class and settings of a feature map or solver."""
    if type(part) is not _KNOWN.get(type(part).__name__):
        raise InputError(
            "only elmonet's own feature maps and solvers can be saved; this model holds a "
            f"{type(part).__name__}. Keep the data and fit again, or use one of {', '.join(_KNOWN)}."
        )
    settings = part.get_params(deep=False)
    if isinstance(part, features.Concat):
        names, members = zip(*part.maps, strict=True)
        fitted = getattr(part, "members_", members)  # these know their seeds
        settings["maps"] = [[n, describe(m)] for n, m in zip(names, fitted, strict=True)]
    if "random_state" in settings:
        settings["random_state"] = getattr(part, "seed_", settings["random_state"])
    if "trunk" in settings:
        settings["trunk"] = describe(part.members_[0] if hasattr(part, "members_") else part.trunk)
    if callable(settings.get("mask")):
        raise InputError("your own mask function cannot be saved: nothing in a file is ever run.")
    return {"class": type(part).__name__, "settings": {k: _plain(v) for k, v in settings.items()}}


def build(record: dict[str, Any]) -> Any:
    """The inverse of `describe`: an object that is not fitted."""
    if record["class"] not in _KNOWN:
        raise FileError(f"the file names a class {record['class']!r} that this elmonet does not have.")
    given: dict[str, Any] = record["settings"]
    settings: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in given.items()}
    if issubclass(_KNOWN[record["class"]], features.Concat):
        settings["maps"] = [(name, build(member)) for name, member in settings["maps"]]
    if "trunk" in settings:
        settings["trunk"] = build(settings["trunk"])
    return _KNOWN[record["class"]](**settings)


def describe_map(
    part: FeatureMap, prefix: str, arrays: dict[str, np.ndarray], weights: bool
) -> dict[str, Any]:
    """A fitted feature map; what it learned from data goes to `arrays` under `prefix`."""
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
    """The inverse of `describe_map`: a fitted feature map."""
    part = build(record)
    part.input_shape_, part.dtype_ = tuple(record["input_shape"]), np.dtype(record["dtype"])
    part.n_features_in_ = part.input_shape_[0]
    for name in record["arrays"]:
        setattr(part, name, arrays[f"{prefix}.{name}"])
    if "members" in record:
        part.members_ = [
            restore_map(member, f"{prefix}.{i}", arrays) for i, member in enumerate(record["members"])
        ]
    if isinstance(part, RandomMap):
        part.seed_ = part.random_state
    if "n_weights" in record:
        part.weights_ = [arrays[f"{prefix}.weights_.{i}"] for i in range(record["n_weights"])]
    else:
        part.derive()
    if isinstance(part, RandomMap) and digest(part.weights_) != record["drawn"]:
        raise FileError(
            f"the random weights drawn here differ from the model's: this NumPy ({np.__version__}) draws "
            "other numbers. Load the file with the NumPy that wrote it and save it with weights=True."
        )
    return part


def _plain(value: Any) -> Any:
    """Numbers, strings, None, and lists of them."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple):
        return list(value)
    return value
