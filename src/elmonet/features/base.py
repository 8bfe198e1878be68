"""What all feature maps share: scikit-learn's `fit` and `transform`, in blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from elmonet._blas import product
from elmonet._check import functions, positive_integer
from elmonet._fitted import require_fitted
from elmonet.memory import require_features

__all__ = ["FeatureMap", "RandomMap", "features_times", "fit_features", "seed_from"]

_BLOCK = 1 << 22  # entries of a temporary block


class FeatureMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A fixed map of functions (N, m) or points (M, d) to features (N or M, width).

    A scikit-learn transformer. As a branch it is fitted to ``(X, y)``, inputs and outputs; as a trunk
    to ``(points, y.T)``, one row a point. `a + b` puts the features of a and b side by side.

    A subclass gives `_write` (the features of a few rows) and, where needed, `width_` (how many features,
    if no setting `width` says so), `derive` (check the settings, make what follows from them and the shape
    of one input) and `_prepare` (learn from data).
    """

    features_come_with_fit = False  # whether `fit_transform` is cheaper than `fit` and `transform`

    def fit(self, X: Any, y: Any = None) -> Self:
        """Look at the shape of X (and at y, if the map learns from data); return self."""
        self._prepare(self._seen(X), y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Fit to (X, y) and give the features of X."""
        X = self._seen(X)
        return self._prepare_and_transform(X, y)

    def transform(self, X: Any) -> np.ndarray:
        """The features (N, width_) of X, in the floating-point type seen in `fit`."""
        require_fitted(self, "dtype_")
        X = functions(self, X, reset=False).astype(self.dtype_, copy=False)
        out = np.empty((len(X), self.width_), self.dtype_)
        for rows in self._blocks(len(X)):
            self._write(X[rows], out[rows])
        return out

    def times(self, X: np.ndarray, R: np.ndarray) -> np.ndarray:
        """``transform(X) @ R`` for R (width_, k), without ever holding all features.

        For callers that have checked X: an array of the shape and type seen in `fit`.
        """
        out = np.empty((len(X), R.shape[1]), self.dtype_)
        for rows in self._blocks(len(X)):
            features = np.empty((len(X[rows]), self.width_), self.dtype_)
            self._write(X[rows], features)
            product(features, R, out[rows])
        return out

    def __add__(self, other: Any) -> FeatureMap:
        from elmonet.features.concat import Concat

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

    def _seen(self, X: Any) -> np.ndarray:
        """X checked, its shape and type kept."""
        X = functions(self, X, reset=True)
        self.dtype_ = X.dtype
        return X

    def _prepare(self, X: np.ndarray, y: Any) -> None:
        self.derive()

    def _prepare_and_transform(self, X: np.ndarray, y: Any) -> np.ndarray:
        self._prepare(X, y)
        require_features(len(X), self.width_)
        return self.transform(X)

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


def fit_features(part: Any, X: np.ndarray, y: np.ndarray | None = None) -> np.ndarray:
    """Fit any transformer and give the features of X: at once, if it knows how."""
    if hasattr(part, "fit_transform"):
        return np.asarray(part.fit_transform(X, y))
    return np.asarray(part.fit(X, y).transform(X))


def features_times(part: Any, X: np.ndarray, R: np.ndarray) -> np.ndarray:
    """``part.transform(X) @ R`` for any transformer, in bounded memory if it is one of ours."""
    if isinstance(part, FeatureMap):
        return part.times(X, R)
    return product(np.asarray(part.transform(X), R.dtype), R)
