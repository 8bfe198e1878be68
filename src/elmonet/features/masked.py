"""Trunks that vanish where the outputs must, by a mask."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from elmonet.errors import ExtrapolationWarning, InputError
from elmonet.features.base import (
    FeatureMap,
    features,
    fit_map,
    in_unit_cube,
    jet_in_unit_cube,
    jet_of,
    learns_from,
)
from elmonet.features.jet import Jet

_ENDS = ("low", "high")


class Masked(FeatureMap):
    """A trunk multiplied by a mask: predictions vanish exactly where the mask does.

    ``Sinusoid(100, "cosine").zero_on_boundary()`` returns one. The mask sees the points as given; the trunk
    sees their bounding box as the unit cube.

    Parameters
    ----------
    trunk : the feature map that is multiplied.
    mask : "box", which vanishes on the faces of the bounding box of the training points; or your own
        function of points (M, d) to (M,), which a model file cannot hold.
    sides : for "box", the faces where the outputs vanish, as ``[(0, "low"), (0, "high"), (1, "low")]``: pairs
        of a coordinate and an end. None: all.

    Examples
    --------
    >>> from elmonet.features import Legendre
    >>> trunk = Legendre(1).zero_on_boundary().fit([[0.0], [2.0]])
    >>> trunk.transform([[0.0], [0.5], [2.0]])
    array([[ 0.   , -0.   ],
           [ 0.75 , -0.375],
           [ 0.   ,  0.   ]])
    """

    sees_given_points = True

    def __init__(self, trunk: Any = None, mask: Any = "box", sides: Any = None):
        self.trunk = trunk
        self.mask = mask
        self.sides = sides

    @property
    def width_(self) -> int:
        """The number of the trunk's features."""
        return int(self.members_[0].width_)

    @property
    def learns_from(self) -> tuple[str, ...]:  # type: ignore[override]
        """What the trunk learns from."""
        return learns_from(self.trunk)

    def fitted_arrays(self) -> dict[str, np.ndarray]:
        """Return the bounding box."""
        return {"box_": self.box_}

    def settings_to_store(self) -> dict[str, Any]:
        """Return the settings; the trunk is the fitted one, which knows its seed."""
        if callable(self.mask):
            raise InputError(
                "a model file cannot hold your own mask function: nothing in a file is ever run. Save with "
                'mask="box", or keep the data and fit again.'
            )
        trunk = self.members_[0] if hasattr(self, "members_") else self.trunk
        return super().settings_to_store() | {"trunk": trunk}

    def _prepare(self, X: np.ndarray, y: Any) -> None:
        self.box_ = np.stack([X.min(axis=0), X.max(axis=0)]).astype(np.float64)
        factors, P = self._factors(X), in_unit_cube(X, self.box_)
        self.members_ = [clone(self.trunk, safe=False)]
        inside = factors != 0
        if "outputs" in self.learns_from and y is not None and inside.any():
            # The trunk learns from the outputs divided by the mask.
            y = np.asarray(y)
            P, y = P[inside], y[inside] / factors[inside].reshape(-1, *[1] * (y.ndim - 1))
        fit_map(self.members_[0], P, y)

    def _write(self, X: np.ndarray, out: np.ndarray) -> None:
        low, high = self.box_
        room = 1e-9 * (high - low)
        within = bool(((low - room <= X) & (high + room >= X)).all())
        with warnings.catch_warnings():
            if within:  # POD modes fitted inside reach the boundary by a small extrapolation
                warnings.simplefilter("ignore", ExtrapolationWarning)
            inside = features(self.members_[0], in_unit_cube(X, self.box_))
        np.multiply(inside, self._factors(X)[:, None], out=out)

    def _jet(self, X: Jet) -> Jet:
        if self.mask != "box":
            raise InputError('derivatives need mask="box": those of your own mask function are not known.')
        low, high = self.box_
        found = jet_of(self.members_[0], jet_in_unit_cube(X, self.box_))
        for axis, end in self._sides(len(low)):
            x, width = X.part((slice(None), slice(axis, axis + 1))), (high[axis] - low[axis]) or 1.0
            found = found * ((x + -low[axis] if end == "low" else x * -1.0 + high[axis]) * (2 / width))
        return found

    def _factors(self, X: np.ndarray) -> np.ndarray:
        """Return the mask (M,) at points X (M, d)."""
        if callable(self.mask):
            factors = np.asarray(self.mask(X), dtype=X.dtype)
            if factors.shape != (len(X),) or not np.isfinite(factors).all():
                raise InputError(
                    f"the mask must return one finite number per point, ({len(X)},); it returned the shape "
                    f"{factors.shape}."
                )
            return factors
        if self.mask != "box":
            raise InputError(f'mask must be "box" or a function of points (M, d), got {self.mask!r}.')
        low, high = self.box_.astype(X.dtype)
        factors = np.ones(len(X), X.dtype)
        for axis, end in self._sides(X.shape[1]):
            width = high[axis] - low[axis]
            away = X[:, axis] - low[axis] if end == "low" else high[axis] - X[:, axis]
            factors *= 2 * np.maximum(away, 0) / (width or 1)
        return factors

    def _sides(self, d: int) -> list[tuple[int, str]]:
        if self.sides is None:
            return [(axis, end) for axis in range(d) for end in _ENDS]
        sides = [tuple(side) for side in self.sides]
        for side in sides:
            if len(side) != 2 or side[0] not in range(d) or side[1] not in _ENDS:
                raise InputError(
                    f'sides must be pairs of a coordinate (0 to {d - 1}) and "low" or "high", got {side!r}.'
                )
        return sides
