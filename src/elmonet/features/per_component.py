"""A trunk for each component of a vector-valued output."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from elmonet._check import InputError
from elmonet.features.base import FeatureMap, features, fit_map, jet_of, learns_from
from elmonet.features.jet import Jet

__all__ = ["PerComponent"]


class PerComponent(FeatureMap):
    """One trunk for each component of the outputs.

    The points have the number of the component as their last coordinate: a function of y with c components is
    one function of (y, 0), ..., (y, c - 1). Its features at (y, i) are those of trunk i at y, and zeros for
    the other trunks. `ELMDeepONet` puts this around its trunk if the outputs have components.

    Parameters
    ----------
    trunk : the feature map of which each component gets a copy.

    Examples
    --------
    >>> from elmonet.features import Legendre
    >>> PerComponent(Legendre(1)).fit_transform([[0.0, 0], [1.0, 0], [0.0, 1], [1.0, 1]])
    array([[ 1., -1.,  0.,  0.],
           [ 1.,  1.,  0.,  0.],
           [ 0.,  0.,  1., -1.],
           [ 0.,  0.,  1.,  1.]])
    """

    def __init__(self, trunk: Any = None):
        self.trunk = trunk

    @property
    def width_(self) -> int:
        """The number of features of all components together."""
        return int(self.ends_[-1])

    @property
    def learns_from(self) -> tuple[str, ...]:  # type: ignore[override]
        """What its trunk learns from."""
        return learns_from(self.trunk)

    @property
    def sees_given_points(self) -> bool:  # type: ignore[override]
        """As its trunk."""
        return getattr(self.trunk, "sees_given_points", False)

    def fitted_arrays(self) -> dict[str, np.ndarray]:
        """The values of the last coordinate, one for each component."""
        return {"levels_": self.levels_}

    def _prepare(self, X: np.ndarray, y: Any) -> None:
        if X.ndim != 2 or X.shape[1] < 2:
            raise InputError(
                f"PerComponent needs points (M, d + 1), the component's number last; got {X.shape}."
            )
        self.levels_ = np.unique(X[:, -1])
        self.members_ = []
        for level in self.levels_:
            own = X[:, -1] == level
            self.members_.append(
                fit_map(clone(self.trunk, safe=False), X[own, :-1], None if y is None else np.asarray(y)[own])
            )
        self.derive()

    def derive(self) -> None:
        """Find which columns belong to which component."""
        self.ends_ = np.cumsum([0] + [member.width_ for member in self.members_])

    def _write(self, X: np.ndarray, out: np.ndarray) -> None:
        out[:] = 0
        component = np.abs(X[:, -1:] - self.levels_).argmin(axis=1)
        for i, member in enumerate(self.members_):
            own = component == i
            if own.any():
                out[own, self.ends_[i] : self.ends_[i + 1]] = features(member, X[own, :-1])

    def _jet(self, X: Jet) -> Jet:
        if X.orders[-1]:
            raise InputError("the last coordinate is the number of a component: its order must be 0.")
        found = np.zeros((*X.coefficients.shape[:-1], self.width_))
        component = np.abs(X.value[:, -1:] - self.levels_).argmin(axis=1)
        for i, member in enumerate(self.members_):
            own = component == i
            if own.any():
                points = Jet(X.coefficients[..., 0, own, :-1], X.orders[:-1])
                found[..., 0, own, self.ends_[i] : self.ends_[i + 1]] = jet_of(member, points).coefficients
        return Jet(found, X.orders)
