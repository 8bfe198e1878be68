"""A branch for each of several input functions."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from elmonet._check import InputError, choice
from elmonet.features.base import FeatureMap, features
from elmonet.features.concat import Concat
from elmonet.features.jet import Jet

__all__ = ["Several"]


class Several(Concat):
    """One map for each of several input functions, their features side by side or multiplied.

    Multiplied, as in MIONet (Jin, Meng, Lu 2022), feature l is the product of feature l of every map, so that
    all must have the same width.

    Parameters
    ----------
    maps : dictionary of feature maps by the names of the input functions, or a list of (name, map).
    combine : "concat" or "product".
    shapes : the shape of each input function; None: those of the dictionary that `ELMDeepONet.fit` is given.

    Examples
    --------
    >>> from elmonet.features import SLFN
    >>> both = Several({"f": SLFN(5, random_state=0), "k": SLFN(5, random_state=1)}, "product", [(3,), (1,)])
    >>> both.fit_transform(np.ones((2, 4))).shape
    (2, 5)
    """

    def __init__(self, maps: Any = (), combine: str = "concat", shapes: Any = None):
        self.maps = list(maps.items()) if isinstance(maps, dict) else maps
        self.combine = combine
        self.shapes = shapes

    @property
    def width_(self) -> int:
        """The number of features: of all maps together, or, multiplied, of one."""
        return int(self.ends_[1] if self.combine == "product" else self.ends_[-1])

    def derive(self) -> None:
        """Find which inputs and which features belong to which map."""
        choice(self.combine, "combine", ("concat", "product"))
        if self.shapes is None or len(self.shapes) != len(self.maps):
            raise InputError(
                f"Several has {len(self.maps)} maps and must know the shapes of as many input functions: fit "
                "the model to a dictionary of arrays with the same names, or set shapes=."
            )
        super().derive()
        widths = np.diff(self.ends_)
        if self.combine == "product" and len(set(widths.tolist())) > 1:
            raise InputError(
                f"to be multiplied, all maps must have the same width; they have {widths.tolist()}."
            )
        self._derive_inputs()

    def _derive_inputs(self) -> None:
        self.shapes_ = [tuple(int(n) for n in shape) for shape in self.shapes]
        self._inputs = np.cumsum([0] + [prod(shape) for shape in self.shapes_])

    def _fit_members(self, X: np.ndarray, y: Any) -> list[np.ndarray | None]:
        if self.shapes is not None:
            self._derive_inputs()
        ready = super()._fit_members(X, y)
        self.derive()
        return ready

    def _for_member(self, i: int, X: np.ndarray) -> np.ndarray:
        own = X[:, self._inputs[i] : self._inputs[i + 1]]
        return own.reshape(len(X), *self.shapes_[i])

    def _fit_transform(self, X: np.ndarray, y: Any) -> np.ndarray:
        kind = Concat if self.combine == "concat" else FeatureMap
        return kind._fit_transform(self, X, y)

    def _write(self, X: np.ndarray, out: np.ndarray) -> None:
        if self.combine == "concat":
            super()._write(X, out)
            return
        out[:] = 1
        for i, member in enumerate(self.members_):
            out *= features(member, self._for_member(i, X))

    def _times(self, X: np.ndarray, R: np.ndarray) -> np.ndarray:
        return super()._times(X, R) if self.combine == "concat" else FeatureMap._times(self, X, R)

    def _times_and_rest(self, X: np.ndarray, R: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        kind = Concat if self.combine == "concat" else FeatureMap
        return kind._times_and_rest(self, X, R)

    def _jet(self, X: Jet) -> Jet:
        return FeatureMap._jet(self, X)  # of input functions, not of points
