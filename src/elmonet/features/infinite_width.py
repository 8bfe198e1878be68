"""Random networks of infinite width: branches that are known by their Gram matrix alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import get_lapack_funcs

from elmonet._blas import product
from elmonet._check import choice, number
from elmonet.features.base import FeatureMap

__all__ = ["KERNELS", "InfiniteWidth"]

KERNELS = ("rbf", "matern12", "matern32", "matern52", "relu")


class InfiniteWidth(FeatureMap):
    """The limit of a wide `SLFN`: with more and more features, ``B'B / p1`` tends to a kernel K.

    Ridge regression needs of the features only ``B'B``, so that this limit can be had with N features
    instead of infinitely many: with ``K = L L'`` (Cholesky) they are

        b(u) = L^-1 k(u) ,       k_i(u) = K(u_i, u) ,       B = L' ,       B'B = K ,

    and a ridge with them is kernel ridge regression, with exact leave-one-out errors. Directions of K that
    are rounding are left out: the Cholesky factor is pivoted, and `width_` is the rank that it finds.

    Parameters
    ----------
    kernel : with r the root-mean-square distance of two functions times `scale`,
        "rbf": ``exp(-r^2 / 2)``, the limit of cosines with normal frequencies;
        "matern12", "matern32", "matern52": the limits of cosines with frequencies of Student's t
        distribution with 1, 3 and 5 degrees of freedom: ``exp(-r)``, ``(1 + a) exp(-a)`` with
        ``a = sqrt(3) r``, ``(1 + a + a^2 / 3) exp(-a)`` with ``a = sqrt(5) r``;
        "relu": the arc-cosine kernel of order one, the limit of relu with normal weights and biases.
    scale : as in `SLFN` with distribution="normal" or "student"; for relu, of weights against biases.

    Attributes
    ----------
    centres_ : (width_, m), the training functions that the pivots are.
    factor_ : (width_, width_), the Cholesky factor of their kernel matrix.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(6, 3))
    >>> B = InfiniteWidth("rbf").fit_transform(X)
    >>> distances = ((X[:, None] - X) ** 2).mean(axis=2)
    >>> bool(np.allclose(B @ B.T, np.exp(-distances / 2)))
    True
    """

    def __init__(self, kernel: str = "matern52", scale: float = 1.0):
        self.kernel = kernel
        self.scale = scale

    @property
    def width_(self) -> int:
        """The rank of the training functions' kernel matrix."""
        return len(self.centres_)

    def fitted_arrays(self) -> dict[str, np.ndarray]:
        """The centres and their Cholesky factor."""
        return {"centres_": self.centres_, "factor_": self.factor_}

    def derive(self) -> None:
        """Check the settings."""
        choice(self.kernel, "kernel", KERNELS)
        number(self.scale, "scale", strict=True)

    def _prepare(self, X: np.ndarray, y: Any) -> None:
        self.derive()
        X = X.reshape(len(X), -1).astype(np.float64, copy=False)
        K = np.asfortranarray(self._kernel(X, X))
        (pstrf,) = get_lapack_funcs(("pstrf",), (K,))
        # Pivots below N eps of the largest entry are rounding.
        tolerance = len(K) * np.finfo(K.dtype).eps * float(K.diagonal().max())
        factor, pivots, rank, _ = pstrf(K, tol=tolerance, lower=True, overwrite_a=True)
        self.centres_ = np.ascontiguousarray(X[pivots[:rank] - 1])
        self.factor_ = np.tril(factor[:rank, :rank])

    def _write(self, X: np.ndarray, out: np.ndarray) -> None:
        k = self._kernel(X.reshape(len(X), -1).astype(np.float64, copy=False), self.centres_)
        (trtrs,) = get_lapack_funcs(("trtrs",), (self.factor_,))
        features, _ = trtrs(self.factor_, k.T, lower=True, overwrite_b=True)
        out[:] = features.T

    def _row_size(self) -> int:
        return max(2 * self.width_, int(np.prod(self.input_shape_)))

    def _kernel(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """K (n, n') of the rows of X (n, m) and Y (n', m)."""
        scale = float(self.scale) / np.sqrt(X.shape[1])
        X, Y = X * scale, Y * scale
        XY = product(X, Y.T)
        x2, y2 = np.einsum("ij,ij->i", X, X)[:, None], np.einsum("ij,ij->i", Y, Y)
        if self.kernel == "relu":
            return _arc_cosine(XY + 1, np.sqrt(x2 + 1), np.sqrt(y2 + 1))
        r2 = np.maximum(x2 + y2 - 2 * XY, 0)
        if self.kernel == "rbf":
            return np.exp(r2 / -2)
        a = np.sqrt(r2 * {"matern12": 1, "matern32": 3, "matern52": 5}[self.kernel])
        polynomial = {"matern12": 1.0, "matern32": 1 + a, "matern52": 1 + a + a**2 / 3}[self.kernel]
        return polynomial * np.exp(-a)


def _arc_cosine(XY: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """``2 E[relu(w x) relu(w y)] = |x| |y| (sin t + (pi - t) cos t) / pi``, t the angle (Cho, Saul 2009)."""
    cosine = np.clip(XY / (x * y), -1, 1)
    angle = np.arccos(cosine)
    return x * y * (np.sqrt(1 - cosine**2) + (np.pi - angle) * cosine) / np.pi
