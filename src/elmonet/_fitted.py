"""The error for a model used before it was fitted."""

from __future__ import annotations

from typing import Any

from sklearn import exceptions

from elmonet._check import ElmonetError

__all__ = ["NotFittedError", "require_fitted"]


class NotFittedError(ElmonetError, exceptions.NotFittedError):
    """A model or feature map was used before `fit`; also scikit-learn's error of that name."""


def require_fitted(estimator: Any, attribute: str) -> None:
    """Raise `NotFittedError` unless `estimator` has the attribute that `fit` gives it."""
    if not hasattr(estimator, attribute):
        raise NotFittedError(
            f"this {type(estimator).__name__} is not fitted yet: call fit with training data first."
        )
