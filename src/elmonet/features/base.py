"""The base classes of feature maps, and functions that accept any scikit-learn transformer in their place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from elmonet.checks import functions, positive_integer
from elmonet.description import Graph
from elmonet.errors import InputError
from elmonet.features.jet import Jet
from elmonet.linalg import product
from elmonet.memory import require_features
from elmonet.parts import register, require_fitted

_BLOCK = 1 << 22  # entries of a temporary block (32 MiB in float64)


class FeatureMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A fixed map of functions (N, m) or points (M, d) to features (N or M, width).

    A scikit-learn transformer. As a branch it is fitted to ``(X, y)``, inputs and outputs; as a trunk to
    ``(points, y.T)``, one row per point. ``a + b`` concatenates the features of a and b.

    To write one, derive a class and implement `_write` (compute the features of a few rows). Where needed,
    override `width_` (the number of features, unless there is a setting `width`), `derive` (check the
    settings, compute what follows from them and from `input_shape_`), `_prepare` (learn from data) and
    `fitted_arrays` (what was learned, for model files). The class registers itself by its name: models that
    use it can be saved, and loaded where the class has been defined. Three attributes describe it:

    Attributes
    ----------
    learns_from : what `fit` learns from: "inputs" (all functions or points, not just their shape and bounding
        box), "sample" (of the inputs, which is enough), "outputs" (through ``y y'`` only: a fit in blocks
        passes another y with the same ``y y'``). One that learns from all inputs is not fitted in blocks.
    sees_given_points : as a trunk, it takes the points as given by the user, not scaled to the unit cube.
    features_come_with_fit : `fit_transform` is cheaper than `fit` followed by `transform`.
    """

    learns_from: tuple[str, ...] = ()
    sees_given_points: bool = False
    features_come_with_fit: bool = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls._write is not FeatureMap._write:  # concrete
            register(cls)

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Record the shape of X, and learn from X and y if the map does.

        Parameters
        ----------
        X : functions (N, m) or (N, ..., height, width), or points (M, d).
        y : outputs, one row per row of X; most maps ignore them.

        Returns
        -------
        self : the fitted map.
        """
        return self._fit(functions(self, X, reset=True), y)

    def fit_transform(self, X: ArrayLike, y: ArrayLike | None = None) -> np.ndarray:
        """Fit to X and y, and return the features of X.

        Parameters
        ----------
        X, y : as in `fit`.

        Returns
        -------
        features : (N, width_), as `transform` returns them.
        """
        return self._fit_transform(functions(self, X, reset=True), y)

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Return the features of X.

        Parameters
        ----------
        X : rows of the same shape as in `fit`.

        Returns
        -------
        features : (N, width_), in the floating-point type seen in `fit`.
        """
        require_fitted(self, "dtype_")
        return self._features(functions(self, X, reset=False).astype(self.dtype_, copy=False))

    def derivative(self, X: ArrayLike, orders: Sequence[int]) -> np.ndarray:
        """Return exact derivatives of the features at points X, in double precision.

        Parameters
        ----------
        X : points (M, d).
        orders : (d,), the order of the derivative in each coordinate, such as (1, 0).

        Returns
        -------
        derivatives : (M, width_).

        Raises
        ------
        InputError : if the map is not differentiable that often.
        """
        require_fitted(self, "dtype_")
        X = functions(self, X, reset=False)
        X = X.reshape(len(X), -1)
        return self._jet(Jet.coordinates(X, checked_orders(orders, X.shape[1]))).derivative()

    def zero_on_boundary(self, sides: Sequence[tuple[int, str]] | None = None) -> FeatureMap:
        """Return this trunk masked to vanish on the bounding box of the training points; see `Masked`.

        Parameters
        ----------
        sides : the faces of the box, as in `Masked`. None: all.

        Returns
        -------
        trunk : a `Masked` map around this one.
        """
        from elmonet.features.wrapped import Masked

        return Masked(self, sides=sides)

    def __add__(self, other: Any) -> FeatureMap:
        from elmonet.features.combine import Concat

        if not (hasattr(other, "fit") and hasattr(other, "transform")):
            return NotImplemented
        return Concat.of(self, other)

    # The same for callers that have checked X: an array of the shape and type seen in `fit`.

    def _fit(self, X: np.ndarray, y: Any) -> Self:
        self._record_input(X)
        self._prepare(X, y)
        return self

    def _fit_transform(self, X: np.ndarray, y: Any) -> np.ndarray:
        self._fit(X, y)
        require_features(len(X), self.width_)
        return self._features(X)

    def _features(self, X: np.ndarray) -> np.ndarray:
        out = np.empty((len(X), self.width_), self.dtype_)
        for rows in self._blocks(len(X)):
            self._write(X[rows], out[rows])
        return out

    def _times(self, X: np.ndarray, R: np.ndarray) -> np.ndarray:
        """Return ``features @ R`` for R (width_, k), without ever holding all features."""
        out = np.empty((len(X), R.shape[1]), self.dtype_)
        for rows in self._blocks(len(X)):
            features = np.empty((len(X[rows]), self.width_), self.dtype_)
            self._write(X[rows], features)
            product(features, R, out[rows])
        return out

    def _times_and_rest(self, X: np.ndarray, R: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Return ``features @ R``, and the part of ``k(x, x)`` (N,) that the features miss (None: nothing).

        A map that is defined by a kernel k has features for functions in the span of the training functions;
        for a new function they miss ``k(x, x) - |b(x)|^2``.
        """
        return self._times(X, R), None

    # What a subclass implements or overrides.

    def _write(self, X: np.ndarray, out: np.ndarray) -> None:
        """Write the features of rows X (n, ...) to `out` (n, width_)."""
        raise NotImplementedError

    def _jet(self, X: Jet) -> Jet:
        """Return the features (n, width_) of coordinates (n, d), with their derivatives."""
        raise InputError(
            f"{type(self).__name__} has no derivatives. Trunks with derivatives are Legendre, Sinusoid, SLFN "
            "and MLP with a smooth activation, and masks and concatenations of these."
        )

    def trace(self, graph: Graph, x: int) -> int:
        """Write the map as array operations, for derivatives by the inputs and for exports.

        Parameters
        ----------
        graph : the list of operations to add to.
        x : number of the value that holds the input, flat.

        Returns
        -------
        features : number of the value that holds the features (width_).

        Raises
        ------
        InputError : if the map does not describe itself.
        """
        raise InputError(
            f"{type(self).__name__} does not say which array operations it consists of, so that a model with "
            "it has no derivatives by the inputs and cannot be exported. Implement trace(graph, x), or use "
            "another feature map."
        )

    def trace_times(self, graph: Graph, x: int, R: np.ndarray) -> int:
        """Write ``features @ R`` for R (width_, k), of value x, to `graph`; see `trace`."""
        return graph.affine(self.trace(graph, x), R.T)

    def derive(self) -> None:
        """Compute what follows from the settings and `input_shape_`; raise if a setting is invalid."""

    def _prepare(self, X: np.ndarray, y: Any) -> None:
        self.derive()

    @property
    def width_(self) -> int:
        """The number of features."""
        return int(self.width)

    def fitted_arrays(self) -> dict[str, np.ndarray]:
        """Return what `fit` learned from data and cannot be recomputed: arrays, by attribute name."""
        return {}

    def settings_to_store(self) -> dict[str, Any]:
        """Return the settings for a model file: plain values and feature maps."""
        settings = self.get_params(deep=False)
        if "random_state" in settings:
            settings["random_state"] = getattr(self, "seed_", settings["random_state"])
        return settings

    def restore(self, input_shape: tuple[int, ...], dtype: Any, fitted: dict[str, Any]) -> None:
        """Restore a fitted map of a file.

        Parameters
        ----------
        input_shape, dtype : shape of one input, and the dtype of features.
        fitted : what `fit` learned, by attribute name; the rest is derived, unless weights are among it.
        """
        self.input_shape_, self.n_features_in_, self.dtype_ = input_shape, input_shape[0], dtype
        self.__dict__.update(fitted)
        if "weights_" not in fitted:
            self.derive()

    @classmethod
    def from_stored(cls, settings: dict[str, Any]) -> Self:
        """Return an unfitted map from the settings of a model file, where sequences have become tuples."""
        return cls(**settings)

    @property
    def _n_features_out(self) -> int:  # scikit-learn's name for it
        return self.width_

    def _record_input(self, X: np.ndarray) -> None:
        self.input_shape_, self.dtype_, self.n_features_in_ = X.shape[1:], X.dtype, X.shape[1]

    def _blocks(self, n: int) -> Iterator[slice]:
        step = max(1, _BLOCK // self._row_size())
        return (slice(start, start + step) for start in range(0, n, step))

    def _row_size(self) -> int:
        """Return the largest number of values that `_write` holds for one row."""
        return max(self.width_, int(np.prod(self.input_shape_)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class RandomMap(FeatureMap):
    """A feature map whose weights follow from a seed and the shape of its input.

    A subclass also implements `_draw_weights`, which returns the list `weights_`.
    """

    def _prepare(self, X: np.ndarray, y: Any) -> None:
        self.seed_ = seed_from(self.random_state)
        self.derive()

    def restore(self, input_shape: tuple[int, ...], dtype: Any, fitted: dict[str, Any]) -> None:
        """Restore `fitted` with `input_shape` and `dtype`; a file keeps the seed as `random_state`."""
        self.seed_ = self.random_state
        super().restore(input_shape, dtype, fitted)

    def derive(self) -> None:
        """Draw `weights_` from `seed_`: the same seed gives the same bits."""
        drawn = self._draw_weights(np.random.default_rng(self.seed_))
        self.weights_ = [w.astype(self.dtype_, copy=False) for w in drawn]

    def _draw_weights(self, rng: np.random.Generator) -> list[np.ndarray]:
        raise NotImplementedError


def seed_from(random_state: Any) -> int:
    """Return an integer seed from None (fresh), an integer, a `RandomState` or a `Generator`."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    return positive_integer(random_state, "random_state", minimum=0)


# Functions of any transformer, and of X that has been checked.


def learns_from(part: Any) -> tuple[str, ...]:
    """Return what a transformer learns from: everything, unless it declares otherwise."""
    return getattr(part, "learns_from", ("inputs", "outputs"))


def fit_map(part: Any, X: np.ndarray, y: np.ndarray | None = None) -> Any:
    """Fit a transformer and return it."""
    return part._fit(X, y) if isinstance(part, FeatureMap) else part.fit(X, y)


def fit_features(part: Any, X: np.ndarray, y: np.ndarray | None = None) -> np.ndarray:
    """Fit a transformer and return the features of X, in one step where that is offered."""
    if isinstance(part, FeatureMap):
        return part._fit_transform(X, y)
    if hasattr(part, "fit_transform"):
        return np.asarray(part.fit_transform(X, y))
    return np.asarray(part.fit(X, y).transform(X))


def features(part: Any, X: np.ndarray) -> np.ndarray:
    """Return the features of X by a fitted transformer."""
    return part._features(X) if isinstance(part, FeatureMap) else np.asarray(part.transform(X))


def features_of(part: Any, X: np.ndarray, role: str) -> np.ndarray:
    """Return the features of X by a fitted transformer, with their shape checked."""
    return checked_features(features(part, X), part, X, role)


def checked_features(found: np.ndarray, part: Any, X: np.ndarray, role: str) -> np.ndarray:
    """Return `found` if it is a matrix with one row per row of X; else raise `InputError`."""
    if found.ndim != 2 or len(found) != len(X):
        raise InputError(
            f"the {role} {part!r} must transform {len(X)} rows to ({len(X)}, width); it returned "
            f"{found.shape}."
        )
    return found


def features_times(part: Any, X: np.ndarray, R: np.ndarray) -> np.ndarray:
    """Return ``features(part, X) @ R``, in bounded memory if the transformer is a `FeatureMap`."""
    if isinstance(part, FeatureMap):
        return part._times(X, R)
    return product(np.asarray(part.transform(X), R.dtype), R)


def features_times_and_rest(part: Any, X: np.ndarray, R: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Return ``features(part, X) @ R``, and the part of ``k(x, x)`` (N,) that the features miss, if any."""
    if isinstance(part, FeatureMap):
        return part._times_and_rest(X, R)
    return features_times(part, X, R), None


def trace_of(part: Any, graph: Graph, x: int, R: np.ndarray | None = None) -> int:
    """Write the features of a `FeatureMap` as array operations, or ``features @ R``."""
    if not isinstance(part, FeatureMap):
        raise InputError(
            f"{type(part).__name__} is not an elmonet feature map: a model with it has no derivatives by the "
            "inputs and cannot be exported. Use a FeatureMap with trace(graph, x)."
        )
    return part.trace(graph, x) if R is None else part.trace_times(graph, x, R)


def jet_of(part: Any, X: Jet) -> Jet:
    """Return the features of a `FeatureMap` with their derivatives."""
    if not isinstance(part, FeatureMap):
        raise InputError(f"the derivatives of {part!r} are not known: not an elmonet feature map.")
    return part._jet(X)


def checked_orders(orders: Any, d: int) -> tuple[int, ...]:
    """Return the order of a derivative in each of d coordinates, or raise `InputError`."""
    given = (orders,) if np.ndim(orders) == 0 else tuple(orders)
    if len(given) != d:
        raise InputError(
            f"orders must hold one number for each of the {d} coordinates, such as {(1,) + (0,) * (d - 1)} "
            f"for the first derivative in the first; got {orders!r}."
        )
    return tuple(positive_integer(order, "each of orders", minimum=0) for order in given)


def in_unit_cube(X: np.ndarray, box: np.ndarray) -> np.ndarray:
    """Scale points X (M, d) of a box (2, d), its lowest and highest corner, to the unit cube."""
    low, high = box.astype(X.dtype)
    return (X - low) / np.where(high > low, high - low, 1)


def trace_in_unit_cube(graph: Graph, x: int, box: np.ndarray) -> int:
    """Scale points as `in_unit_cube` does, as array operations."""
    low, high = box.astype(np.float64)
    return graph.scale(x, 1 / np.where(high > low, high - low, 1), before=low)


def jet_in_unit_cube(X: Jet, box: np.ndarray) -> Jet:
    """Scale jets of points as `in_unit_cube` does."""
    low, high = box.astype(np.float64)
    return (X + -low) * (1 / np.where(high > low, high - low, 1))
