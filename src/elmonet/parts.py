"""What feature maps, solvers and estimators share: registration by name, and the error before `fit`."""

from __future__ import annotations

from typing import Any

from sklearn import exceptions

from elmonet.errors import ElmonetError

REGISTERED: dict[str, type[Any]] = {}  # the classes that a model file may name


class NotFittedError(ElmonetError, exceptions.NotFittedError):
    """A model or feature map was used before `fit`; also scikit-learn's `NotFittedError`."""


def require_fitted(estimator: Any, attribute: str) -> None:
    """Raise `NotFittedError` unless `estimator` has an attribute that `fit` sets."""
    if not hasattr(estimator, attribute):
        raise NotFittedError(
            f"this {type(estimator).__name__} is not fitted yet: call fit with training data first."
        )


def register(cls: type[Any]) -> None:
    """Add a class by its name; it replaces an earlier one, except that elmonet's own are never replaced."""
    earlier = REGISTERED.get(cls.__name__)
    if earlier is None or not _is_builtin(earlier) or _is_builtin(cls):
        REGISTERED[cls.__name__] = cls


def _is_builtin(cls: type[Any]) -> bool:
    return cls.__module__.startswith("elmonet.")
