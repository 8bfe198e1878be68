"""What all feature maps share: scikit-learn's `fit` and `transform`, in blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from elmonet.checks import functions, positive_integer
from elmonet.errors import InputError, require_fitted
from elmonet.features.jet import Jet
from elmonet.linalg import product
from elmonet.memory import require_features

__all__ = [
    "FeatureMap",
    "RandomMap",
    "checked_features",
    "checked_orders",
    "features",
    "features_of",
    "features_times",
    "features_times_and_rest",
    "fit_features",
    "fit_map",
    "in_unit_cube",
    "jet_in_unit_cube",
    "jet_of",
    "learns_from",
    "seed_from",
]

_BLOCK = 1 << 22  # entries of a temporary block


class FeatureMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A fixed map of functions (N, m) or points (M, d) to features (N or M, width).

    A scikit-learn transformer. As a branch it is fitted to ``(X, y)``, inputs and outputs; as a trunk
    to ``(points, y.T)``, one row per point. `a + b` puts the features of a and b side by side.

    A subclass gives `_write` (the features of a few rows) and, where needed, `width_` (how many features,
    if no setting `width` says so), `derive` (check the settings, make what follows from them and the shape
    of one input) and `_prepare` (learn from data). It declares what others must know of it:

    Attributes
    ----------
    learns_from : what `fit` learns from: "inputs" (all functions or points, not only their shape and box),
        "outputs" (of these only ``y y'``: a fit in blocks gives the map another y with the same
        ``y y'``). A map that learns from inputs cannot be fitted in blocks.
    sees_given_points : as a trunk, it wants the points as the user gives them, not in the unit cube.
    features_come_with_fit : `fit_transform` is cheaper than `fit` and `transform`.
    """

    learns_from: tuple[str, ...] = ()
    sees_given_points: bool = False
    features_come_with_fit: bool = False

    def fit(self, X: Any, y: Any = None) -> Self:
        """Look at the shape of X (and at y, if the map learns from data); return self."""
        return self._fit(functions(self, X, reset=True), y)

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Fit to (X, y) and give the features of X."""
        return self._fit_transform(functions(self, X, reset=True), y)

    def transform(self, X: Any) -> np.ndarray:
        """The features (N, width_) of X, in the floating-point type seen in `fit`."""
        require_fitted(self, "dtype_")
        return self._features(functions(self, X, reset=False).astype(self.dtype_, copy=False))

    def derivative(self, X: Any, orders: Any) -> np.ndarray:
        """Derivatives of the features (M, width_) at points X (M, d), exact.

        `orders` (d,): how often in each coordinate, as (1, 0) for the first. In double precision.
        """
        require_fitted(self, "dtype_")
        X = functions(self, X, reset=False)
        X = X.reshape(len(X), -1)
        return self._jet(Jet.coordinates(X, checked_orders(orders, X.shape[1]))).derivative()

    # The same for callers that have checked X: an array of the shape and type seen in `fit`.

    def _fit(self, X: np.ndarray, y: Any) -> Self:
        self._see(X)
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
        """``features @ R`` for R (width_, k), without ever holding all features."""
        out = np.empty((len(X), R.shape[1]), self.dtype_)
        for rows in self._blocks(len(X)):
            features = np.empty((len(X[rows]), self.width_), self.dtype_)
            self._write(X[rows], features)
            product(features, R, out[rows])
        return out

    def _times_and_rest(self, X: np.ndarray, R: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """``features @ R`` and what of ``k(x, x)`` (N,) the features miss; None: nothing.

        A map that is known by its kernel k has features of functions in the span of the training functions;
        of a new one they miss ``k(x, x) - |b(x)|^2``.
        """
        return self._times(X, R), None

    def _jet(self, X: Jet) -> Jet:
        """The features (n, width_) of coordinates (n, d), with their derivatives."""
        raise InputError(
            f"{type(self).__name__} has no derivatives. Trunks that have are Legendre, Sinusoid, SLFN and "
            "MLP with a smooth activation, and these masked or side by side."
        )

    def __add__(self, other: Any) -> FeatureMap:
        from elmonet.features.combine import Concat

        if not (hasattr(other, "fit") and hasattr(other, "transform")):
            return NotImplemented
        return Concat.of(self, other)

    def zero_on_boundary(self, sides: Any = None) -> FeatureMap:
        """This trunk, made to vanish on the boundary of the box of the training points; see `Masked`."""
        from elmonet.features.masked import Masked

        return Masked(self, sides=sides)

    def fitted_arrays(self) -> dict[str, np.ndarray]:
        """What `fit` learned from data and cannot be drawn again: arrays, by attribute name."""
        return {}

    def derive(self) -> None:
        """Make what follows from the settings and `input_shape_`; raise if a setting is wrong."""

    @property
    def width_(self) -> int:
        """The number of features."""
        return int(self.width)

    @property
    def _n_features_out(self) -> int:  # scikit-learn's name for it
        return self.width_

    def _see(self, X: np.ndarray) -> None:
        """Keep the shape and the type of X."""
        self.input_shape_, self.dtype_, self.n_features_in_ = X.shape[1:], X.dtype, X.shape[1]

    def _prepare(self, X: np.ndarray, y: Any) -> None:
        self.derive()

    def _write(self, X: np.ndarray, out: np.ndarray) -> None:
        raise NotImplementedError

    def _blocks(self, n: int) -> Iterator[slice]:
        step = max(1, _BLOCK // self._row_size())
        return (slice(start, start + step) for start in range(0, n, step))

    def _row_size(self) -> int:
        """The largest number of values that one row needs on its way through `_write`."""
        return max(self.width_, int(np.prod(self.input_shape_)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class RandomMap(FeatureMap):
    """A feature map whose weights follow from a seed and the shape of its input.

    A subclass gives `_draw_weights`, which returns the list `weights_`.
    """

    def _prepare(self, X: np.ndarray, y: Any) -> None:
        self.seed_ = seed_from(self.random_state)
        self.derive()

    def derive(self) -> None:
        """Draw `weights_` from `seed_`: the same seed gives the same bits."""
        drawn = self._draw_weights(np.random.default_rng(self.seed_))
        self.weights_ = [w.astype(self.dtype_, copy=False) for w in drawn]

    def _draw_weights(self, rng: np.random.Generator) -> list[np.ndarray]:
        raise NotImplementedError


def seed_from(random_state: Any) -> int:
    """An integer seed from None (fresh), an integer, a `RandomState` or a `Generator`."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    return positive_integer(random_state, "random_state", minimum=0)


def learns_from(part: Any) -> tuple[str, ...]:
    """What any transformer learns from; one that does not declare it is taken to learn from everything."""
    return getattr(part, "learns_from", ("inputs", "outputs"))


def fit_features(part: Any, X: np.ndarray, y: np.ndarray | None = None) -> np.ndarray:
    """Fit any transformer to checked X and give its features: at once, if it knows how."""
    if isinstance(part, FeatureMap):
        return part._fit_transform(X, y)
    if hasattr(part, "fit_transform"):
        return np.asarray(part.fit_transform(X, y))
    return np.asarray(part.fit(X, y).transform(X))


def fit_map(part: Any, X: np.ndarray, y: np.ndarray | None = None) -> Any:
    """Fit any transformer to checked X; return it."""
    return part._fit(X, y) if isinstance(part, FeatureMap) else part.fit(X, y)


def features(part: Any, X: np.ndarray) -> np.ndarray:
    """The features of checked X by any fitted transformer."""
    return part._features(X) if isinstance(part, FeatureMap) else np.asarray(part.transform(X))


def features_of(part: Any, X: np.ndarray, role: str) -> np.ndarray:
    """The features of X, of a map of this library or of any other transformer."""
    return checked_features(features(part, X), part, X, role)


def checked_features(found: np.ndarray, part: Any, X: np.ndarray, role: str) -> np.ndarray:
    """Features as a matrix with one row for each row of X, or an error that names the part."""
    if found.ndim != 2 or len(found) != len(X):
        raise InputError(
            f"the {role} {part!r} must transform {len(X)} rows to ({len(X)}, width); it gave {found.shape}."
        )
    return found


def features_times(part: Any, X: np.ndarray, R: np.ndarray) -> np.ndarray:
    """``features(part, X) @ R``, in bounded memory if the map is one of ours."""
    if isinstance(part, FeatureMap):
        return part._times(X, R)
    return product(np.asarray(part.transform(X), R.dtype), R)


def features_times_and_rest(part: Any, X: np.ndarray, R: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """``features(part, X) @ R``, and what of ``k(x, x)`` (N,) the features miss, if anything."""
    if isinstance(part, FeatureMap):
        return part._times_and_rest(X, R)
    return features_times(part, X, R), None


def checked_orders(orders: Any, d: int) -> tuple[int, ...]:
    """How often to differentiate in each of d coordinates."""
    given = (orders,) if np.ndim(orders) == 0 else tuple(orders)
    if len(given) != d:
        raise InputError(
            f"orders must hold one number for each of the {d} coordinates, such as {(1,) + (0,) * (d - 1)} "
            f"for the first derivative in the first; got {orders!r}."
        )
    return tuple(positive_integer(order, "each of orders", minimum=0) for order in given)


def in_unit_cube(X: np.ndarray, box: np.ndarray) -> np.ndarray:
    """Points X (M, d) of a box (2, d), its lowest and its highest corner, as points of the unit cube."""
    low, high = box.astype(X.dtype)
    return (X - low) / np.where(high > low, high - low, 1)


def jet_in_unit_cube(X: Jet, box: np.ndarray) -> Jet:
    """`in_unit_cube`, of jets of points."""
    low, high = box.astype(np.float64)
    return (X + -low) * (1 / np.where(high > low, high - low, 1))


def jet_of(part: Any, X: Jet) -> Jet:
    """The features of a map with their derivatives, if it is one of ours."""
    if not isinstance(part, FeatureMap):
        raise InputError(f"the derivatives of {part!r} are not known: it is no feature map of elmonet.")
    return part._jet(X)
