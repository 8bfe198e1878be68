"""Branch, trunk and solver as a user gives them: checked, seeded, and asked for features."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from elmonet._check import InputError
from elmonet.features import POD, Masked, PerComponent

__all__ = ["checked_features", "features_of", "learns_outputs", "require_methods", "seeded"]


def seeded(part: Any, seed: np.random.SeedSequence, role: str) -> Any:
    """A copy that is not fitted, with seeds for those of its random maps that have none."""
    require_methods(part, role, "fit", "transform")
    part = clone(part, safe=False)
    if hasattr(part, "get_params"):
        settings = part.get_params(deep=True)
        names = [n for n in sorted(settings) if n.split("__")[-1] == "random_state"]
        unset = [n for n in names if settings[n] is None]
        drawn = seed.generate_state(len(unset)) if unset else ()
        part.set_params(**{n: int(s) for n, s in zip(unset, drawn, strict=True)})
    return part


def require_methods(part: Any, role: str, *methods: str) -> None:
    """Raise unless `part` is an object with these methods."""
    if isinstance(part, type) or not all(hasattr(part, method) for method in methods):
        raise InputError(
            f"{role} must be an object with {' and '.join(methods)}, such as "
            f"{'Ridge()' if role == 'solver' else 'SLFN(1000)'}; got {part!r}."
        )


def learns_outputs(trunk: Any) -> bool:
    """Whether a trunk learns its functions from outputs at common points."""
    while isinstance(trunk, (Masked, PerComponent)):
        trunk = trunk.trunk
    return isinstance(trunk, POD)


def features_of(part: Any, X: np.ndarray, role: str) -> np.ndarray:
    """The features of X, whoever made the part."""
    return checked_features(np.asarray(part.transform(X)), part, X, role)


def checked_features(features: np.ndarray, part: Any, X: np.ndarray, role: str) -> np.ndarray:
    """Features as a matrix with a row for each of X, or an error that names the part."""
    if features.ndim != 2 or len(features) != len(X):
        raise InputError(
            f"the {role} {part!r} must transform {len(X)} rows to ({len(X)}, width); it gave "
            f"{features.shape}."
        )
    return features
