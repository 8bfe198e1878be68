"""The inputs themselves."""

from __future__ import annotations

import numpy as np

from elmonet.features.base import FeatureMap
from elmonet.features.jet import Jet

__all__ = ["Linear"]


class Linear(FeatureMap):
    """The sensors themselves and a constant: ``[X, 1]``.

    Alone it fits linear operators as exactly as least squares can; beside random features it takes
    the linear part of an operator off them.

    Examples
    --------
    >>> Linear().fit_transform([[2.0, 3.0]])
    array([[2., 3., 1.]])
    """

    @property
    def width_(self) -> int:
        """The number of features: sensors and one."""
        return int(np.prod(self.input_shape_)) + 1

    def _write(self, X: np.ndarray, out: np.ndarray) -> None:
        out[:, :-1] = X.reshape(len(X), -1)
        out[:, -1] = 1

    def _jet(self, X: Jet) -> Jet:
        one = X.part((slice(None), slice(0, 1))) * 0.0 + 1.0
        return Jet(np.concatenate([X.coefficients, one.coefficients], axis=-1), X.orders)
