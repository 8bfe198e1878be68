"""Random networks of infinite width: branches defined by a kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, sqrt
from typing import Any, Self

import numpy as np
from scipy.linalg import get_lapack_funcs, solve_triangular
from scipy.ndimage import gaussian_filter

from elmonet.checks import choice, number, positive_integer
from elmonet.description import Graph
from elmonet.errors import InputError
from elmonet.features.base import FeatureMap, seed_from
from elmonet.features.cnn import gather_windows, image_shape
from elmonet.linalg import product, solve_lower
from elmonet.memory import require_features

KERNELS = ("rbf", "matern12", "matern32", "matern52", "relu")
_BLOCK_ROWS = 64  # rows of a kernel matrix of patches that are computed together, for the cache
_MAX_PATCHES = 256  # places of an image at which patches are compared
_MIN_SAMPLE, _MAX_SAMPLE = 1000, 10_000  # functions among which landmarks are chosen
_PER_LANDMARK = 5  # of these, for each landmark
_PIVOTS_AT_ONCE = 64  # pivots that are drawn from the same residuals


class InfiniteWidth(FeatureMap):
    """The limit of a wide `SLFN`: as the number of features grows, ``B'B / p1`` tends to a kernel K.

    Ridge regression needs only ``B'B`` of the features, so that N features represent infinitely many: with
    ``K = L L'`` (Cholesky) they are

        b(u) = L^-1 k(u) ,       k_i(u) = K(u_i, u) ,       B = L' ,       B'B = K ,

    and ridge regression with them is kernel ridge regression, with exact leave-one-out errors. Directions of
    K at the level of rounding are dropped: the Cholesky factor is pivoted, and `width_` is its rank.

    Parameters
    ----------
    kernel : with r the root-mean-square distance of two functions times `scale`,
        "rbf": ``exp(-r^2 / 2)``, the limit of cosines with normal frequencies;
        "matern12", "matern32", "matern52": the limits of cosines with frequencies of Student's t
        distribution with 1, 3 and 5 degrees of freedom: ``exp(-r)``, ``(1 + a) exp(-a)`` with
        ``a = sqrt(3) r``, ``(1 + a + a^2 / 3) exp(-a)`` with ``a = sqrt(5) r``;
        "relu": the arc-cosine kernel of order one, the limit of relu with normal weights and biases.
    scale : as in `SLFN` with distribution="normal" or "student"; for relu, the scale of weights relative to
        biases.
    patch : for images: the side (odd) of square patches, which are compared instead of entire images. K is
        the mean over the positions of the patches, at most 256, evenly spaced; the image is extended by its
        border pixels. This is the limit of a convolution with many channels, and suits images with
        important small structures, such as two-phase media.
    smooth : for images: compare them after a Gaussian filter with this standard deviation, in pixels. It
        suits images with sharp edges whose exact places matter little.
    landmarks : largest number of features, for many functions (Nystroem's method): the kernel matrix is
        approximated from its columns at so many training functions, u_1 to u_p above, chosen among five
        times as many, 1000 to 10,000, by randomly pivoted Cholesky: a function is drawn with a probability
        proportional to what the others miss of ``K(u, u)`` (Chen, Epperly, Tropp, Webber: Randomly pivoted
        Cholesky, 2023). Such a branch can be fitted in blocks, as it learns from a sample of the functions.
        None: no limit.
    random_state : seed of that choice.

    Attributes
    ----------
    centres_ : (width_, ...), the training functions chosen as pivots.
    factor_ : (width_, width_), the Cholesky factor of their kernel matrix.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(6, 3))
    >>> B = InfiniteWidth("rbf").fit_transform(X)
    >>> distances = ((X[:, None] - X) ** 2).mean(axis=2)
    >>> bool(np.allclose(B @ B.T, np.exp(-distances / 2)))
    True
    """

    features_come_with_fit = True

    def __init__(
        self,
        kernel: str = "matern52",
        scale: float = 1.0,
        *,
        patch: int | None = None,
        smooth: float | None = None,
        landmarks: int | None = None,
        random_state: int | np.random.Generator | None = None,
    ):
        self.kernel = kernel
        self.scale = scale
        self.patch = patch
        self.smooth = smooth
        self.landmarks = landmarks
        self.random_state = random_state

    @property
    def learns_from(self) -> tuple[str, ...]:  # type: ignore[override]
        """What `fit` learns from: all inputs, or a sample of them if there are landmarks."""
        return ("inputs",) if self.landmarks is None else ("sample",)

    @property
    def width_(self) -> int:
        """The rank of the kernel matrix of the training functions."""
        return len(self.centres_)

    def fitted_arrays(self) -> dict[str, np.ndarray]:
        """Return the centres and their Cholesky factor."""
        return {"centres_": self.centres_, "factor_": self.factor_}

    def derive(self) -> None:
        """Check the settings, and cut the centres into patches."""
        choice(self.kernel, "kernel", KERNELS)
        number(self.scale, "scale", strict=True)
        if self.patch is not None and positive_integer(self.patch, "patch") % 2 == 0:
            raise InputError(f"patch must be odd; got {self.patch}.")
        if self.smooth is not None:
            number(self.smooth, "smooth", strict=True)
        if self.landmarks is not None:
            positive_integer(self.landmarks, "landmarks")
        if hasattr(self, "centres_"):
            self._keep(self.factor_)

    def _keep(self, factor: np.ndarray) -> None:
        """Keep the Cholesky factor, and the features if the kernel were 1."""
        self.factor_ = factor
        self._cut: list[np.ndarray] = []
        self._of_ones = solve_lower(factor, np.ones((len(factor), 1)))[:, 0]

    @property
    def _centre_parts(self) -> np.ndarray:
        """The parts of the centres, cut when first asked for: patches take much more memory than images."""
        if not self._cut:
            self._cut.append(np.ascontiguousarray(self._parts(self.centres_)))
        return self._cut[0]

    def _prepare(self, X: np.ndarray, y: Any) -> None:
        self._fit_transform(X, y)

    def _fit_transform(self, X: np.ndarray, y: Any) -> np.ndarray:
        self._record_input(X)
        self.__dict__.pop("centres_", None)
        self.derive()
        if self.landmarks is not None:
            self.seed_ = seed_from(self.random_state)
            rng = np.random.default_rng(self.seed_)
        if self.landmarks is not None and self.landmarks < len(X):
            most = int(np.clip(_PER_LANDMARK * self.landmarks, _MIN_SAMPLE, _MAX_SAMPLE))
            sample = X if len(X) <= most else X[np.sort(rng.permutation(len(X))[:most])]
            return self._choose_landmarks(sample, rng)._features(X)
        require_features(len(X), len(X))
        parts = self._parts(X)
        features, pivots = kernel_features(self._kernel(parts, parts))
        self.centres_ = np.ascontiguousarray(X[pivots])
        self._keep(np.tril(features[pivots]))
        return features.astype(self.dtype_, copy=False)

    def _choose_landmarks(self, X: np.ndarray, rng: np.random.Generator) -> Self:
        """Choose landmarks among functions X; directions of their kernel matrix at rounding are dropped."""
        count = positive_integer(self.landmarks, "landmarks")
        require_features(len(X), count)
        parts = self._parts(X)
        pivots = random_pivots(
            lambda some: self._kernel(parts, parts[:, some]), self._diagonal(X), count, rng
        )
        K = self._kernel(parts[:, pivots], parts[:, pivots])
        features, kept = kernel_features((K + K.T) / 2)
        self.centres_ = np.ascontiguousarray(X[pivots[kept]])
        self._keep(np.tril(features[kept]))
        return self

    def _parts(self, X: np.ndarray) -> np.ndarray:
        """Return what the kernel compares: functions (1, n, m), or their patches (places, n, pixels)."""
        X = X.astype(np.float64, copy=False)
        if self.smooth is not None:
            shape = image_shape(self.input_shape_, "smooth=", "Reshape them, or remove smooth.")
            X = gaussian_filter(X.reshape(len(X), *shape), (0, 0, self.smooth, self.smooth), mode="nearest")
            X = X.reshape(len(X), *self.input_shape_)
        if self.patch is None:
            return X.reshape(1, len(X), -1)
        shape = image_shape(self.input_shape_, "patch=", "Reshape them, or remove patch.")
        return self._patches(X.reshape(len(X), *shape))

    def _patches(self, images: np.ndarray) -> np.ndarray:
        """Return the patches (places, n, pixels) of images (n, channels, height, width)."""
        step = ceil(sqrt(images.shape[2] * images.shape[3] / _MAX_PATCHES))
        H = images.transpose(0, 2, 3, 1)  # channels last
        windows = gather_windows(H, self.patch or 1, step, edge="edge")
        windows = np.moveaxis(windows, 0, 2)
        return windows.reshape(windows.shape[0] * windows.shape[1], len(images), -1)

    def _kernel(self, X: np.ndarray, Y: np.ndarray, less_one: bool = False) -> np.ndarray:
        """Return K (n, n'), or K - 1, of the parts X (places, n, pixels) and Y (places, n', pixels)."""
        if len(X) == 1:
            return kernel_matrix(self.kernel, self.scale, Products.of(X[0], Y[0]), less_one)
        K = np.zeros((X.shape[1], Y.shape[1]))
        for start in range(0, len(K), _BLOCK_ROWS):
            rows = slice(start, start + _BLOCK_ROWS)
            columns = slice(start + _BLOCK_ROWS if X is Y else None)
            for x, y in zip(X[:, rows], Y[:, columns], strict=True):
                K[rows, columns] += kernel_matrix(self.kernel, self.scale, Products.of(x, y), less_one)
        K /= len(X)
        return np.tril(K) + np.tril(K, -1).T if X is Y else K

    def _write(self, X: np.ndarray, out: np.ndarray) -> None:
        # A kernel with a small scale is nearly 1 everywhere, and coefficients of 1e6 multiply what is left:
        # k - 1 keeps digits that k would round away.
        less_one = self._nearly_one
        k = self._kernel(self._parts(X), self._centre_parts, less_one)
        out[:] = solve_lower(self.factor_, k.T).T
        if less_one:
            out += self._of_ones

    @property
    def _nearly_one(self) -> bool:
        """Whether the kernel is 1 at equal functions, so that k - 1 is small near them."""
        return self.kernel != "relu"

    def _times_and_rest(self, X: np.ndarray, R: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        times, rest = np.empty((len(X), R.shape[1]), self.dtype_), np.empty(len(X))
        for rows in self._blocks(len(X)):
            features = np.empty((len(X[rows]), self.width_), self.dtype_)
            self._write(X[rows], features)
            product(features, R, times[rows])
            rest[rows] = self._diagonal(X[rows]) - np.einsum("ij,ij->i", features, features)
        return times, np.maximum(rest, 0)

    def _diagonal(self, X: np.ndarray) -> np.ndarray:
        """Return ``k(x, x)`` (n,): the mean over the parts of ``1 + scale^2 |x|^2`` for relu, else one."""
        if self.kernel != "relu":
            return np.ones(len(X))
        parts = self._parts(X)
        return 1 + self.scale**2 * np.mean(parts**2, axis=(0, 2))

    def trace(self, graph: Graph, x: int) -> int:
        """Write the map as array operations: add to `graph` what turns value x into features."""
        return self.trace_times(graph, x, np.eye(self.width_))

    def trace_times(self, graph: Graph, x: int, R: np.ndarray) -> int:
        """Write ``features @ R = k' L^-T R`` of value x to `graph`: only the kernel k is left."""
        k = self._trace_kernel(graph, x)
        R = R.astype(np.float64)
        dual = solve_triangular(self.factor_, R, lower=True, trans=1)
        return graph.affine(k, dual.T, self._of_ones @ R if self._nearly_one else None)

    def _trace_kernel(self, graph: Graph, x: int) -> int:
        if self.smooth is not None:
            shape = image_shape(self.input_shape_, "smooth=", "Reshape them, or remove smooth.")
            for axis in (1, 2):  # a Gaussian filter is a matrix along each axis
                sigma = (0, self.smooth)
                matrix = gaussian_filter(np.eye(shape[axis]), sigma, mode="nearest").T
                x = graph.along_axis(x, shape, axis, matrix)
        if self.patch is not None:
            shape = image_shape(self.input_shape_, "patch=", "Reshape them, or remove patch.")
            x = graph.gather(x, self._patches(np.arange(graph.sizes[x]).reshape(1, *shape))[:, 0])
        return graph.kernel(x, self._centre_parts, self.kernel, self.scale, less_one=self._nearly_one)

    def _row_size(self) -> int:
        return max(2 * self.width_, self._parts(self.centres_[:1]).size)


@dataclass(frozen=True)
class Products:
    """Mean products of function values: of every x with every y, and of x and y with themselves."""

    xy: np.ndarray  # (n, n')
    xx: np.ndarray  # (n, 1)
    yy: np.ndarray  # (n',)

    @classmethod
    def of(cls, X: np.ndarray, Y: np.ndarray) -> Products:
        """Return the products of functions X (n, m) and Y (n', m)."""
        xy = product(X, Y.T)
        xy /= X.shape[1]
        xx, yy = (np.einsum("ij,ij->i", A, A) / X.shape[1] for A in (X, Y))
        return cls(xy, xx[:, None], yy)


def kernel_matrix(kernel: str, scale: float, products: Products, less_one: bool = False) -> np.ndarray:
    """Return K (n, n') of the functions with these mean products, or K - 1 without cancellation."""
    xy, xx, yy, s2 = products.xy, products.xx, products.yy, scale**2
    if kernel == "relu":
        return _arc_cosine(s2 * xy + 1, np.sqrt(s2 * xx + 1), np.sqrt(s2 * yy + 1))
    r2 = xy * (-2 * s2)
    r2 += s2 * xx
    r2 += s2 * yy
    np.maximum(r2, 0, out=r2)
    if kernel == "rbf":
        r2 *= -0.5
        return np.expm1(r2, out=r2) if less_one else np.exp(r2, out=r2)
    r2 *= {"matern12": 1, "matern32": 3, "matern52": 5}[kernel]
    a = np.sqrt(r2)
    if less_one:
        K = np.expm1(-a)
        if kernel != "matern12":
            K += (1 + K) * (a if kernel == "matern32" else a + r2 / 3)
        return K
    K = np.exp(-a)
    if kernel == "matern32":
        K *= 1 + a
    if kernel == "matern52":
        K *= 1 + a + r2 / 3
    return K


def kernel_features(K: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return features F (N, rank) with ``F F' = K`` up to rounding, and the pivots, where F is triangular.

    K (N, N) is overwritten.
    """
    (pstrf,) = get_lapack_funcs(("pstrf",), (K,))
    # Pivots below N eps of the largest entry are rounding. K is symmetric, and its transpose Fortran-ordered.
    tolerance = len(K) * np.finfo(K.dtype).eps * float(K.diagonal().max())
    factor, pivots, rank, _ = pstrf(K.T, tol=tolerance, lower=True, overwrite_a=True)
    pivots = pivots - 1
    F = np.empty((len(K), rank))
    F[pivots] = np.tril(factor[:, :rank])
    return F, pivots[:rank]


def random_pivots(
    columns: Callable[[np.ndarray], np.ndarray], diagonal: np.ndarray, count: int, rng: np.random.Generator
) -> np.ndarray:
    """Return up to `count` pivots of a kernel matrix (n, n) by randomly pivoted Cholesky, some at a time.

    ``columns(pivots)`` returns columns (n, k) of the matrix. Each pivot is drawn with a probability
    proportional to the residual diagonal, what the features of the pivots before it miss of K(u, u). Among
    those drawn at once, nearly dependent ones are left out. There are fewer than `count` if nothing is
    missed but rounding.
    """
    n, rest = len(diagonal), diagonal.astype(float)
    F, pivots = np.zeros((n, count), order="F"), np.empty(0, int)
    rounding = n * float(np.finfo(float).eps) * float(diagonal.max())
    while len(pivots) < count and (possible := np.flatnonzero(rest > rounding)).size:
        k, own = len(pivots), rest[possible]
        at_once = min(_PIVOTS_AT_ONCE, count - k, len(possible))
        drawn = rng.choice(possible, at_once, replace=False, p=own / own.sum())
        missed = columns(drawn) - product(F[:, :k], F[drawn, :k].T)
        # Features of the rest: missed = new new' on the drawn rows, by a pivoted Cholesky factor.
        inside = missed[drawn]
        factor, kept = kernel_features((inside + inside.T) / 2)
        new = F[:, k : k + len(kept)]
        new[:] = solve_lower(np.tril(factor[kept]), missed[:, kept].T).T
        rest = np.maximum(rest - np.einsum("ij,ij->i", new, new), 0)
        rest[drawn] = 0
        pivots = np.append(pivots, drawn[kept])
    return pivots


def _arc_cosine(xy: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return ``2 E[relu(w x) relu(w y)] = |x| |y| (sin t + (pi - t) cos t) / pi``, t the angle.

    Cho, Saul: Kernel methods for deep learning, 2009.
    """
    cosine = np.clip(xy / (x * y), -1, 1)
    angle = np.arccos(cosine)
    return x * y * (np.sqrt(1 - cosine**2) + (np.pi - angle) * cosine) / np.pi
