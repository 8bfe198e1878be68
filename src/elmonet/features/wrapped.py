"""Trunks around other trunks: one per output component, or masked to vanish where the outputs must."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import TransformerMixin, clone

from elmonet.description import Graph
from elmonet.errors import ExtrapolationWarning, InputError
from elmonet.features.base import (
    FeatureMap,
    features,
    fit_map,
    in_unit_cube,
    jet_in_unit_cube,
    jet_of,
    learns_from,
    trace_in_unit_cube,
    trace_of,
)
from elmonet.features.jet import Jet

_ENDS = ("low", "high")


class _Wrapper(FeatureMap):
    """A map around another one; the fitted copies of that are `members_`."""

    def __init__(self, trunk: FeatureMap | TransformerMixin | None = None):
        self.trunk = trunk

    @property
    def learns_from(self) -> tuple[str, ...]:  # type: ignore[override]
        """What the trunk learns from."""
        return learns_from(self.trunk)

    def settings_to_store(self) -> dict[str, Any]:
        """Return the settings; the trunk is a fitted one, which knows its seed."""
        trunk = self.members_[0] if hasattr(self, "members_") else self.trunk
        return super().settings_to_store() | {"trunk": trunk}


class PerComponent(_Wrapper):
    """One trunk per output component.

    The last coordinate of a point is the index of a component: a function of y with c components is one
    function of (y, 0), ..., (y, c - 1). Its features at (y, i) are those of trunk i at y, and zero for the
    other trunks. `ELMDeepONet` wraps its trunk in this if the outputs have components.

    Parameters
    ----------
    trunk : the feature map; each component gets a copy.

    Examples
    --------
    >>> from elmonet.features import Legendre
    >>> PerComponent(Legendre(1)).fit_transform([[0.0, 0], [1.0, 0], [0.0, 1], [1.0, 1]])
    array([[ 1., -1.,  0.,  0.],
           [ 1.,  1.,  0.,  0.],
           [ 0.,  0.,  1., -1.],
           [ 0.,  0.,  1.,  1.]])
    """

    @property
    def width_(self) -> int:
        """The total number of features."""
        return int(self.ends_[-1])

    @property
    def sees_given_points(self) -> bool:  # type: ignore[override]
        """Whether the trunk takes the points as given."""
        return getattr(self.trunk, "sees_given_points", False)

    def fitted_arrays(self) -> dict[str, np.ndarray]:
        """Return the values of the last coordinate, one per component."""
        return {"levels_": self.levels_}

    def _prepare(self, X: np.ndarray, y: Any) -> None:
        if X.ndim != 2 or X.shape[1] < 2:
            raise InputError(
                f"PerComponent needs points (M, d + 1), the index of the component last; got {X.shape}."
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
        """Compute which columns belong to which component."""
        self.ends_ = np.cumsum([0] + [member.width_ for member in self.members_])

    def _features(self, X: np.ndarray) -> np.ndarray:
        # All points at once: POD knows its own, and would interpolate to blocks of them. Members make blocks.
        out = np.empty((len(X), self.width_), self.dtype_)
        self._write(X, out)
        return out

    def _write(self, X: np.ndarray, out: np.ndarray) -> None:
        out[:] = 0
        component = np.abs(X[:, -1:] - self.levels_).argmin(axis=1)
        for i, member in enumerate(self.members_):
            own = component == i
            if own.any():
                out[own, self.ends_[i] : self.ends_[i + 1]] = features(member, X[own, :-1])

    def _jet(self, X: Jet) -> Jet:
        if X.orders[-1]:
            raise InputError("the last coordinate is the index of a component: its order must be 0.")
        found = np.zeros((*X.coefficients.shape[:-1], self.width_))
        component = np.abs(X.value[:, -1:] - self.levels_).argmin(axis=1)
        for i, member in enumerate(self.members_):
            own = component == i
            if own.any():
                points = Jet(X.coefficients[..., 0, own, :-1], X.orders[:-1])
                found[..., 0, own, self.ends_[i] : self.ends_[i + 1]] = jet_of(member, points).coefficients
        return Jet(found, X.orders)


class Masked(_Wrapper):
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

    def __init__(
        self,
        trunk: FeatureMap | TransformerMixin | None = None,
        mask: str | Callable[[np.ndarray], np.ndarray] = "box",
        sides: Sequence[tuple[int, str]] | None = None,
    ):
        self.trunk = trunk
        self.mask = mask
        self.sides = sides

    @property
    def width_(self) -> int:
        """The number of the trunk's features."""
        return int(self.members_[0].width_)

    def fitted_arrays(self) -> dict[str, np.ndarray]:
        """Return the bounding box."""
        return {"box_": self.box_}

    def settings_to_store(self) -> dict[str, Any]:
        """Return the settings, unless the mask is a function."""
        if callable(self.mask):
            raise InputError(
                "a model file cannot hold your own mask function: nothing in a file is ever run. Save with "
                'mask="box", or keep the data and fit again.'
            )
        return super().settings_to_store()

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

    def trace(self, graph: Graph, x: int) -> int:
        """Write the map as array operations: add to `graph` what turns value x into features."""
        if self.mask != "box":
            raise InputError(
                'a mask function of your own has no derivatives and cannot be exported: use mask="box".'
            )
        low, high = self.box_
        parts = [trace_of(self.members_[0], graph, trace_in_unit_cube(graph, x, self.box_))]
        for axis, end in self._sides(len(low)):
            width, sign = (high[axis] - low[axis]) or 1.0, 1.0 if end == "low" else -1.0
            own = graph.gather(x, np.full(self.width_, axis))
            away = graph.scale(own, 2 * sign / width, before=low[axis] if end == "low" else high[axis])
            parts.append(graph.elementwise(away, "relu"))
        return graph.product(parts)

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
        sides = [(side[0], side[1]) if len(side) == 2 else side for side in self.sides]
        for side in sides:
            if len(side) != 2 or side[0] not in range(d) or side[1] not in _ENDS:
                raise InputError(
                    f'sides must be pairs of a coordinate (0 to {d - 1}) and "low" or "high", got {side!r}.'
                )
        return sides
