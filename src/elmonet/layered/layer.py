"""One layer: its normal equations, summed over blocks, and the layer that they give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from os import cpu_count
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.linalg import LinAlgError
from threadpoolctl import threadpool_limits

from elmonet.layered.features import Features, Fields, Recipe
from elmonet.layered.grid import Grid, Symmetry
from elmonet.linalg import add_gram, beside_others
from elmonet.solve.cholesky import Cholesky

__all__ = ["Functions", "Layer", "Sums", "fit_layer", "in_threads", "least_on"]

_ALPHAS = 10.0 ** np.arange(-13, 0, 2)  # parts of a feature's own size
_WORSE = 1.02  # times the least error, beyond which smaller alphas are not tried


@dataclass
class Sums:
    """G = Phi' Phi (q, q), g = Phi' t (q, c) and t't over rows of features Phi and targets t."""

    gram: np.ndarray  # the lower triangle, Fortran-ordered
    cross: np.ndarray
    squares: float = 0.0

    @classmethod
    def empty(cls, q: int, c: int) -> Sums:
        """Of no rows yet."""
        return cls(np.zeros((q, q), order="F"), np.zeros((q, c)))

    def add(self, features: np.ndarray, target: np.ndarray) -> None:
        """Rows (R, q) of features and (R, c) of what they should give."""
        add_gram(self.gram, features.T)
        self.cross += features.T @ target
        self.squares += float(np.sum(target**2))

    def __iadd__(self, other: Sums) -> Self:
        self.gram += other.gram
        self.cross += other.cross
        self.squares += other.squares
        return self

    def missed(self, c: np.ndarray) -> float:
        """||t - Phi c||^2 = t't - 2 c'g + c'G c of coefficients (q, c)."""
        L = self.gram
        Gc = L @ c + L.T @ c - L.diagonal()[:, None] * c
        return self.squares - 2 * float(np.sum(c * self.cross)) + float(np.sum(c * Gc))

    def solved(self, alpha: float) -> np.ndarray | None:
        """The coefficients (q, c) at a ridge alpha; None if it is too small for double precision.

        Features are divided by their root sum of squares, D^-1, so that alpha is a part of each feature's own
        size: (D G D + alpha) D^-1 c = D g.
        """
        d = self.gram.diagonal().copy()
        d = 1 / np.sqrt(np.where(d > 0, d, 1.0))
        G = self.gram * d
        G *= d[:, None]
        try:
            return d[:, None] * Cholesky(G, alpha).solve(d[:, None] * self.cross)
        except LinAlgError:
            return None


def least_on(held_out: Sums, fitted: Sums) -> tuple[np.ndarray, float]:
    """The coefficients from the `fitted` rows at the alpha whose error on the rows held out is least."""
    best: tuple[float, Any, float] = (np.inf, None, 1.0)
    for alpha in _ALPHAS[::-1]:
        c = fitted.solved(alpha)
        missed = np.inf if c is None else held_out.missed(c)
        if missed < best[0]:
            best = missed, c, float(alpha)
        elif missed > _WORSE * best[0]:
            break
    return best[1], best[2]


def in_threads(work: Callable[[int], None], parts: Sequence[int]) -> None:
    """Do the parts of some work, one thread a core; each part must write where no other one does."""
    workers = min(len(parts), cpu_count() or 1)
    if workers <= 1:
        for part in parts:
            work(part)
        return

    def beside(part: int) -> None:
        with beside_others():
            work(part)

    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(workers) as pool:
        list(pool.map(beside, parts))


_ENTRIES = 4_000_000  # of a block of features, in each thread
_PARTS = 2  # of the sums, which threads make beside each other
_LOOKED_AT = 4096  # points for the means and deviations of the features


@dataclass(frozen=True)
class Layer:
    """s(y) + sum_j c_j phi_j(what is seen from y): one vector c for all points and functions.

    Attributes
    ----------
    features : phi.
    coefficients : (q, c), for c components.
    alpha : the ridge, as a part of each feature's own size.
    images : symmetries T of the operator. The layer is the mean over all of T layer(T u, T s), where
        T T = 1, and so has them itself: what it says of an image is the image of what it says.
    """

    features: Features
    coefficients: np.ndarray
    alpha: float
    images: tuple[Symmetry, ...] = ()

    def update(self, fields: Fields, grid: Grid) -> np.ndarray:
        """What the layer adds, (n, c, *shape)."""
        n, M = len(fields.u), grid.size
        # An image with exchanged axes lives on the grid with exchanged axes.
        grids = [grid, *(grid.exchanged if image.exchanged else grid for image in self.images)]
        windows = [self.features.windows(own) for own in grids]
        out = np.empty((n, self.coefficients.shape[1], *grid.shape))
        everywhere = np.arange(M)
        block = max(1, _ENTRIES // (len(self.coefficients) * M))

        def work(start: int) -> None:
            some = slice(start, min(n, start + block))
            own, total = fields.of(some), np.zeros(1)
            for image, window in zip((None, *self.images), windows, strict=True):
                seen = own if image is None else own.image(image)
                values = self.features(seen, window, everywhere) @ self.coefficients
                update = np.moveaxis(values.reshape(-1, M, out.shape[1]), 1, 2)
                update = update.reshape(*out[some].shape[:2], *window.grid.shape)
                total = total + (update if image is None else image(update))
            out[some] = total / (1 + len(self.images))

        in_threads(work, range(0, n, block))
        return out


class Functions(NamedTuple):
    """What a layer sees of some functions, what it should give, (n, c, *shape), and its sizes (n,)."""

    fields: Fields
    target: np.ndarray
    sizes: np.ndarray


def fit_layer(
    recipe: Recipe,
    seed: int,
    grid: Grid,
    fitted: Functions,
    held_out: Functions,
    rows: int,
    images: tuple[Symmetry, ...] = (),
) -> Layer:
    """The layer that brings s nearer to the target, from the `fitted` functions; the others choose its ridge.

    `rows`: at so many points of each function, drawn at random, the layer is fitted.
    """
    n, c, M = len(fitted.target), fitted.target.shape[1], grid.size
    looked_at = np.linspace(0, n - 1, min(n, max(8, _LOOKED_AT // M + 1))).astype(int)
    features = Features.of(recipe, seed, grid, fitted.fields.of(looked_at))
    windows = features.windows(grid)
    q = features(fitted.fields.of(slice(0, 1)), windows, np.arange(1)).shape[1]
    block = max(1, _ENTRIES // (q * min(rows, M)))
    # The fitted functions in some parts, one for each thread; their sums are added.
    parts = [(held_out, np.arange(len(held_out.target)))]
    parts += [(fitted, own) for own in np.array_split(np.arange(n), _PARTS)]
    sums = [Sums.empty(q, c) for _ in parts]

    def add(part: int) -> None:
        (functions, own), rng = parts[part], np.random.default_rng([seed, part])
        fields, target, sizes = functions
        for start in range(0, len(own), block):
            some = own[start : start + block]
            at = np.sort(rng.choice(M, rows, replace=False)) if rows < M else np.arange(M)
            weight = np.repeat(1 / sizes[some], len(at))[:, None]
            for image in (None, *images):
                seen = fields.of(some)
                t = target[some] if seen.s is None else target[some] - seen.s
                if image is not None:
                    seen, t = seen.image(image), image(t)
                phi = features(seen, windows, at)
                phi *= weight
                t = t.reshape(len(some), c, M)[:, :, at].transpose(0, 2, 1).reshape(-1, c)
                sums[part].add(phi, t * weight)

    in_threads(add, range(len(parts)))
    total = sums[1]
    for other in sums[2:]:
        total += other
    return Layer(features, *least_on(sums[0], total), images)
