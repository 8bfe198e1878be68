"""Concatenations of feature maps, and one map per input function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, Self

import numpy as np
from sklearn.base import TransformerMixin, clone
from sklearn.utils.metaestimators import _BaseComposition

from elmonet.checks import choice
from elmonet.description import Graph
from elmonet.errors import InputError
from elmonet.features.base import (
    FeatureMap,
    features,
    features_times_and_rest,
    fit_features,
    fit_map,
    in_unit_cube,
    jet_in_unit_cube,
    jet_of,
    learns_from,
    trace_in_unit_cube,
    trace_of,
)
from elmonet.features.jet import Jet
from elmonet.memory import require_features


class Concat(FeatureMap, _BaseComposition):
    """The concatenated features of several maps, such as ``Linear() + SLFN(5000)``.

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

    def __init__(self, maps: Sequence[tuple[str, FeatureMap | TransformerMixin]] = ()):
        self.maps = maps

    @classmethod
    def of(cls, *parts: FeatureMap | TransformerMixin) -> Concat:
        """Return the concatenation of `parts`, named after their classes; concatenations are flattened."""
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
        """The total number of features."""
        return int(self.ends_[-1])

    @property
    def learns_from(self) -> tuple[str, ...]:  # type: ignore[override]
        """What the maps learn from."""
        return tuple(sorted({what for _, member in self.maps for what in learns_from(member)}))

    @property
    def sees_given_points(self) -> bool:  # type: ignore[override]
        """Whether one of the maps takes the points as given; the others then see the unit cube."""
        return any(getattr(member, "sees_given_points", False) for _, member in self.maps)

    def fitted_arrays(self) -> dict[str, np.ndarray]:
        """Return the box of the points, if some maps take them as given and others in the unit cube."""
        return {} if self.box_ is None else {"box_": self.box_}

    def settings_to_store(self) -> dict[str, Any]:
        """Return the settings; the members are the fitted ones, which know their seeds."""
        fitted = getattr(self, "members_", [member for _, member in self.maps])
        maps = [[name, member] for (name, _), member in zip(self.maps, fitted, strict=True)]
        return super().settings_to_store() | {"maps": maps}

    @classmethod
    def from_stored(cls, settings: dict[str, Any]) -> Self:
        """Return an unfitted map from the settings of a model file."""
        return cls(**settings | {"maps": [(name, member) for name, member in settings["maps"]]})

    def _prepare(self, X: np.ndarray, y: Any) -> None:
        self._fit_members(X, y)

    def _fit_transform(self, X: np.ndarray, y: Any) -> np.ndarray:
        self._record_input(X)
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
        """Fit every map, and return the features of those maps that yield them with the fit."""
        if not self.maps:
            raise InputError(
                'maps must be a list of (name, feature map), such as [("linear", Linear())]; got none.'
            )
        self.box_ = np.stack([X.min(axis=0), X.max(axis=0)]) if self.sees_given_points else None
        self.members_ = [clone(member, safe=False) for _, member in self.maps]
        ready: list[np.ndarray | None] = []
        for i, member in enumerate(self.members_):
            own = self._for_member(i, X)
            at_once = getattr(member, "features_come_with_fit", False)
            ready.append(fit_features(member, own, y) if at_once else None)
            if not at_once:
                fit_map(member, own, y)
        # Any transformer may be a member: transform one row to learn its width.
        widths = [features(m, self._for_member(i, X[:1])).shape[1] for i, m in enumerate(self.members_)]
        self.ends_ = np.cumsum([0, *widths])
        return ready

    def _for_member(self, i: int, X: np.ndarray) -> np.ndarray:
        """Return the part of X that member i sees: X itself, or points in the unit cube."""
        if self.box_ is None or getattr(self.members_[i], "sees_given_points", False):
            return X
        return in_unit_cube(X, self.box_)

    def derive(self) -> None:
        """Compute which columns belong to which member; all members are `FeatureMap`s."""
        self.box_ = self.__dict__.get("box_")
        self.ends_ = np.cumsum([0] + [member.width_ for member in self.members_])

    def _write(self, X: np.ndarray, out: np.ndarray) -> None:
        for i, member in enumerate(self.members_):
            out[:, self.ends_[i] : self.ends_[i + 1]] = features(member, self._for_member(i, X))

    def _times(self, X: np.ndarray, R: np.ndarray) -> np.ndarray:
        return self._times_and_rest(X, R)[0]

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

    def trace(self, graph: Graph, x: int) -> int:
        """Write the map as array operations: add to `graph` what turns value x into features."""
        return graph.concat(
            [trace_of(member, graph, self._trace_for(i, graph, x)) for i, member in enumerate(self.members_)]
        )

    def trace_times(self, graph: Graph, x: int, R: np.ndarray) -> int:
        """Write ``features @ R``, a sum over the members, as operations of value x, added to `graph`."""
        ends = self.ends_
        return graph.sum(
            [
                trace_of(member, graph, self._trace_for(i, graph, x), R[ends[i] : ends[i + 1]])
                for i, member in enumerate(self.members_)
            ]
        )

    def _trace_for(self, i: int, graph: Graph, x: int) -> int:
        """Write what member i sees."""
        if self.box_ is None or getattr(self.members_[i], "sees_given_points", False):
            return x
        return trace_in_unit_cube(graph, x, self.box_)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings by name.

        Parameters
        ----------
        deep : include those of the members, as ``name__setting``.

        Returns
        -------
        settings : dictionary.
        """
        return self._get_params("maps", deep=deep)

    def set_params(self, **params: Any) -> Self:
        """Change settings.

        Parameters
        ----------
        params : new values by name; those of members as ``name__setting``.

        Returns
        -------
        self : this map.
        """
        self._set_params("maps", **params)
        return self


class Several(Concat):
    """One map per input function, with concatenated or multiplied features.

    With "product", as in MIONet (Jin, Meng, Lu 2022), feature l is the product of feature l of every map; all
    maps must have the same width.

    Parameters
    ----------
    maps : dictionary of feature maps by the names of the input functions, or a list of (name, map).
    combine : "concat" or "product".
    shapes : the shape of each input function; None: taken from the dictionary passed to `ELMDeepONet.fit`.

    Examples
    --------
    >>> from elmonet.features import SLFN
    >>> both = Several({"f": SLFN(5, random_state=0), "k": SLFN(5, random_state=1)}, "product", [(3,), (1,)])
    >>> both.fit_transform(np.ones((2, 4))).shape
    (2, 5)
    """

    def __init__(
        self,
        maps: Mapping[str, FeatureMap] | Sequence[tuple[str, FeatureMap]] = (),
        combine: str = "concat",
        shapes: Sequence[tuple[int, ...]] | None = None,
    ):
        self.maps = list(maps.items()) if isinstance(maps, Mapping) else maps
        self.combine = combine
        self.shapes = shapes

    @property
    def width_(self) -> int:
        """The number of features: the total, or, if multiplied, that of one map."""
        return int(self.ends_[1] if self.combine == "product" else self.ends_[-1])

    def derive(self) -> None:
        """Compute which inputs and which features belong to which map."""
        choice(self.combine, "combine", ("concat", "product"))
        if self.shapes is None or len(self.shapes) != len(self.maps):
            raise InputError(
                f"Several has {len(self.maps)} maps and needs the shapes of as many input functions: fit the "
                "model to a dictionary of arrays with the same names, or set shapes=."
            )
        super().derive()
        widths = np.diff(self.ends_)
        if self.combine == "product" and len(set(widths.tolist())) > 1:
            raise InputError(
                f'with combine="product", all maps must have the same width; they have {widths.tolist()}.'
            )
        self._derive_inputs()

    def _derive_inputs(self) -> None:
        self.shapes_ = [tuple(int(n) for n in shape) for shape in self.shapes or ()]
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
        return self._kind._fit_transform(self, X, y)

    @property
    def _kind(self) -> type[FeatureMap]:
        """The class whose methods serve: products have no features of single members."""
        return Concat if self.combine == "concat" else FeatureMap

    def _write(self, X: np.ndarray, out: np.ndarray) -> None:
        if self.combine == "concat":
            super()._write(X, out)
            return
        out[:] = 1
        for i, member in enumerate(self.members_):
            out *= features(member, self._for_member(i, X))

    def _times(self, X: np.ndarray, R: np.ndarray) -> np.ndarray:
        return self._kind._times(self, X, R)

    def _times_and_rest(self, X: np.ndarray, R: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        return self._kind._times_and_rest(self, X, R)

    def _jet(self, X: Jet) -> Jet:
        return FeatureMap._jet(self, X)  # raises: these are functions, not points

    def trace(self, graph: Graph, x: int) -> int:
        """Write the map as array operations: add to `graph` what turns value x into features."""
        if self.combine == "concat":
            return super().trace(graph, x)
        members = enumerate(self.members_)
        return graph.product([trace_of(member, graph, self._trace_for(i, graph, x)) for i, member in members])

    def trace_times(self, graph: Graph, x: int, R: np.ndarray) -> int:
        """Write ``features @ R`` as array operations of value x, added to `graph`."""
        return self._kind.trace_times(self, graph, x, R)

    def _trace_for(self, i: int, graph: Graph, x: int) -> int:
        return graph.part(x, int(self._inputs[i]), int(self._inputs[i + 1]))
