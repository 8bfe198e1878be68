"""Several feature maps side by side."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import _BaseComposition

from elmonet._check import InputError
from elmonet.features.base import (
    FeatureMap,
    features,
    features_times,
    features_times_and_rest,
    fit_features,
    fit_map,
    in_unit_cube,
    jet_in_unit_cube,
    jet_of,
    learns_from,
)
from elmonet.features.jet import Jet
from elmonet.memory import require_features

__all__ = ["Concat"]


class Concat(FeatureMap, _BaseComposition):
    """The features of several maps, side by side: what ``Linear() + SLFN(5000)`` makes.

    Parameters
    ----------
    maps : list of (name, feature map); the names give access to nested settings, as in
        ``branch__slfn__width``.

    Examples
    --------
    >>> from elmonet.features import SLFN, Linear
    >>> both = Linear() + SLFN(5, random_state=0)
    >>> both.fit_transform(np.ones((3, 2))).shape
    (3, 8)
    >>> both.get_params()["slfn__width"]
    5
    """

    def __init__(self, maps: Any = ()):
        self.maps = maps

    @classmethod
    def of(cls, *parts: Any) -> Concat:
        """Concatenate maps, the parts, naming each after its class and flattening concatenations."""
        flat = []
        for part in parts:
            flat += [member for _, member in part.maps] if isinstance(part, Concat) else [part]
        kinds = [type(m).__name__.lower() for m in flat]
        names = [
            kind if kinds.count(kind) == 1 else f"{kind}{kinds[: i + 1].count(kind)}"
            for i, kind in enumerate(kinds)
        ]
        return cls(list(zip(names, flat, strict=True)))

    @property
    def width_(self) -> int:
        """The number of features of all maps together."""
        return int(self.ends_[-1])

    @property
    def learns_from(self) -> tuple[str, ...]:  # type: ignore[override]
        """What its maps learn from."""
        return tuple(sorted({what for _, member in self.maps for what in learns_from(member)}))

    @property
    def sees_given_points(self) -> bool:  # type: ignore[override]
        """Whether one of the maps wants the points as they are given; the others then see the unit cube."""
        return any(getattr(member, "sees_given_points", False) for _, member in self.maps)

    def fitted_arrays(self) -> dict[str, np.ndarray]:
        """The box of the points, if some maps see them as given and others in the unit cube."""
        return {} if self.box_ is None else {"box_": self.box_}

    def _prepare(self, X: np.ndarray, y: Any) -> None:
        self._fit_members(X, y)

    def _fit_transform(self, X: np.ndarray, y: Any) -> np.ndarray:
        self._see(X)
        ready = self._fit_members(X, y)
        require_features(len(X), self.width_)
        out = np.empty((len(X), self.width_), self.dtype_)
        for rows in self._blocks(len(X)):
            for i, own in enumerate(ready):
                columns = slice(self.ends_[i], self.ends_[i + 1])
                if own is not None:
                    out[rows, columns] = own[rows]
                else:
                    out[rows, columns] = features(self.members_[i], self._for_member(i, X[rows]))
        return out

    def _fit_members(self, X: np.ndarray, y: Any) -> list[np.ndarray | None]:
        """Fit every map to (X, y); the features of those that come with the fit."""
        if not self.maps:
            raise InputError('maps must be a list of (name, feature map), such as [("linear", Linear())].')
        self.box_ = np.stack([X.min(axis=0), X.max(axis=0)]) if self.sees_given_points else None
        self.members_ = [clone(member, safe=False) for _, member in self.maps]
        ready: list[np.ndarray | None] = []
        for i, member in enumerate(self.members_):
            own = self._for_member(i, X)
            at_once = getattr(member, "features_come_with_fit", False)
            ready.append(fit_features(member, own, y) if at_once else None)
            if not at_once:
                fit_map(member, own, y)
        # Any transformer may be a member, so ask for its width by example.
        widths = [features(m, self._for_member(i, X[:1])).shape[1] for i, m in enumerate(self.members_)]
        self.ends_ = np.cumsum([0, *widths])
        return ready

    def _for_member(self, i: int, X: np.ndarray) -> np.ndarray:
        """What of X member i sees: all of it, or points in the unit cube."""
        if self.box_ is None or getattr(self.members_[i], "sees_given_points", False):
            return X
        return in_unit_cube(X, self.box_)

    def derive(self) -> None:
        """Find which columns belong to which member, all of them feature maps of this library."""
        self.box_ = self.__dict__.get("box_")
        self.ends_ = np.cumsum([0] + [member.width_ for member in self.members_])

    def _write(self, X: np.ndarray, out: np.ndarray) -> None:
        for i, member in enumerate(self.members_):
            out[:, self.ends_[i] : self.ends_[i + 1]] = features(member, self._for_member(i, X))

    def _times(self, X: np.ndarray, R: np.ndarray) -> np.ndarray:
        ends = self.ends_
        return np.sum(
            [
                features_times(member, self._for_member(i, X), R[ends[i] : ends[i + 1]])
                for i, member in enumerate(self.members_)
            ],
            axis=0,
        )

    def _times_and_rest(self, X: np.ndarray, R: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        ends = self.ends_
        parts = [
            features_times_and_rest(member, self._for_member(i, X), R[ends[i] : ends[i + 1]])
            for i, member in enumerate(self.members_)
        ]
        rests = [rest for _, rest in parts if rest is not None]
        return np.sum([times for times, _ in parts], axis=0), np.sum(rests, axis=0) if rests else None

    def _jet(self, X: Jet) -> Jet:
        seen = X if self.box_ is None else jet_in_unit_cube(X, self.box_)
        parts = [
            jet_of(member, X if getattr(member, "sees_given_points", False) else seen)
            for member in self.members_
        ]
        return Jet(np.concatenate([part.coefficients for part in parts], axis=-1), X.orders)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Settings, with those of the members as ``name__setting`` if `deep`."""
        return self._get_params("maps", deep=deep)

    def set_params(self, **params: Any) -> Self:
        """Change settings to the params given, those of members as ``name__setting``."""
        self._set_params("maps", **params)
        return self
