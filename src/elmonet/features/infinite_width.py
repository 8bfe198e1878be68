"""Random networks of infinite width: branches that are known by their Gram matrix alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import get_lapack_funcs
from sklearn.base import clone

from elmonet._blas import product
from elmonet._check import InputError, choice, number
from elmonet.features.base import FeatureMap, RandomMap

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
    inner : a random feature map whose features the kernel compares, in units of their spread over the
        training functions; None: the functions themselves. With `Patches`, images are compared by patches.

    Attributes
    ----------
    centres_ : (width_, ...), the training functions that the pivots are.
    factor_ : (width_, width_), the Cholesky factor of their kernel matrix.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(6, 3))
    >>> B = InfiniteWidth("rbf").fit_transform(X)
    >>> distances = ((X[:, None] - X) ** 2).mean(axis=2)
    >>> bool(np.allclose(B @ B.T, np.exp(-distances / 2)))
    True
    """

    def __init__(self, kernel: str = "matern52", scale: float = 1.0, *, inner: Any = None):
        self.kernel = kernel
        self.scale = scale
        self.inner = inner

    @property
    def width_(self) -> int:
        """The rank of the training functions' kernel matrix."""
        return len(self.centres_)

    def fitted_arrays(self) -> dict[str, np.ndarray]:
        """The centres, their Cholesky factor, and the unit of distances."""
        return {"centres_": self.centres_, "factor_": self.factor_, "unit_": self.unit_}

    def derive(self) -> None:
        """Check the settings; make what the kernel compares of the centres."""
        choice(self.kernel, "kernel", KERNELS)
        number(self.scale, "scale", strict=True)
        if self.inner is not None and not isinstance(self.inner, RandomMap):
            raise InputError(f"inner must be a random feature map such as Patches(), got {self.inner!r}.")
        if hasattr(self, "centres_"):
            self._fit_inner(self.centres_)
            self._compared = self._compare(self.centres_)

    def _prepare(self, X: np.ndarray, y: Any) -> None:
        self.__dict__.pop("centres_", None)
        self.derive()
        self._fit_inner(X)
        self.unit_ = np.ones(1)
        Z = self._compare(X)
        if self.inner is not None:
            spread = float(np.sqrt(np.mean((Z - Z.mean(axis=0)) ** 2)))
            self.unit_ = np.array([spread or 1.0])
            Z = Z / self.unit_
        K = np.asfortranarray(self._kernel(Z, Z))
        (pstrf,) = get_lapack_funcs(("pstrf",), (K,))
        # Pivots below N eps of the largest entry are rounding.
        tolerance = len(K) * np.finfo(K.dtype).eps * float(K.diagonal().max())
        factor, pivots, rank, _ = pstrf(K, tol=tolerance, lower=True, overwrite_a=True)
        self.centres_ = np.ascontiguousarray(X[pivots[:rank] - 1])
        self._compared = Z[pivots[:rank] - 1]
        self.factor_ = np.tril(factor[:rank, :rank])

    def _fit_inner(self, X: np.ndarray) -> None:
        self.inner_ = None if self.inner is None else clone(self.inner).fit(X)

    def _compare(self, X: np.ndarray) -> np.ndarray:
        """What the kernel compares (n, m): the functions, or their inner features."""
        Z = X.reshape(len(X), -1) if self.inner_ is None else self.inner_.transform(X)
        Z = Z.astype(np.float64, copy=False)
        return Z if self.inner_ is None else Z / self.unit_

    def _write(self, X: np.ndarray, out: np.ndarray) -> None:
        k = self._kernel(self._compare(X), self._compared)
        (trtrs,) = get_lapack_funcs(("trtrs",), (self.factor_,))
        features, _ = trtrs(self.factor_, k.T, lower=True, overwrite_b=True)
        out[:] = features.T

    def _row_size(self) -> int:
        return max(2 * self.width_, self._compared.shape[1], int(np.prod(self.input_shape_)))

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
