"""One layer: fitted by one linear solve, applied to fields on any resolution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elmonet.layers.features import Features, Fields, Recipe
from elmonet.layers.grid import Grid
from elmonet.layers.symmetry import Symmetry
from elmonet.layers.sums import Sums, in_threads, least_on

__all__ = ["Layer", "fit_layer"]

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
    images : symmetries T of the operator. The layer is the mean over all of T^-1 layer(T u, T s), and so has
        them itself: what it says of an image is the image of what it says.
    """

    features: Features
    coefficients: np.ndarray
    alpha: float
    images: tuple[Symmetry, ...] = ()

    def update(self, fields: Fields, grid: Grid) -> np.ndarray:
        """What the layer adds, (n, c, *shape)."""
        windows, n, M = self.features.windows(grid), len(fields.u), grid.size
        out = np.empty((n, self.coefficients.shape[1], *grid.shape))
        everywhere = np.arange(M)
        block = max(1, _ENTRIES // (len(self.coefficients) * M))

        def work(start: int) -> None:
            some = slice(start, min(n, start + block))
            own, total = fields.of(some), 0.0
            for image in (None, *self.images):
                seen = own if image is None else own.image(image)
                values = self.features(seen, windows, everywhere) @ self.coefficients
                update = np.moveaxis(values.reshape(-1, M, out.shape[1]), 1, 2).reshape(out[some].shape)
                total = total + (update if image is None else image.back(update))
            out[some] = total / (1 + len(self.images))

        in_threads(work, range(0, n, block))
        return out


def fit_layer(
    recipe: Recipe,
    seed: int,
    grid: Grid,
    fields: Fields,
    target: np.ndarray,
    held_out: np.ndarray,
    sizes: np.ndarray,
    rows: int,
    images: tuple[Symmetry, ...] = (),
) -> Layer:
    """The layer that brings s nearer to `target` (N, c, *shape), from the functions that are not held out.

    `held_out` (N,) says which functions are; only the ridge is chosen by them. `sizes` (N,): to what errors are
    relative. `rows`: at so many points of each function, drawn at random, the layer is fitted.
    """
    n, c, M = len(target), target.shape[1], grid.size
    looked_at = np.linspace(0, n - 1, min(n, max(8, _LOOKED_AT // M + 1))).astype(int)
    features = Features.of(recipe, seed, grid, fields.of(looked_at))
    windows = features.windows(grid)
    q = features(fields.of(slice(0, 1)), windows, np.arange(1)).shape[1]
    missing = target if fields.s is None else target - fields.s
    block = max(1, _ENTRIES // (q * min(rows, M)))
    # The functions that are not held out in some parts, one for each thread; sums of the parts are added.
    parts = [np.flatnonzero(held_out), *np.array_split(np.flatnonzero(~held_out), _PARTS)]
    sums = [Sums.empty(q, c) for _ in parts]

    def add(part: int) -> None:
        own, rng = parts[part], np.random.default_rng([seed, part])
        for start in range(0, len(own), block):
            some = own[start : start + block]
            at = np.sort(rng.choice(M, rows, replace=False)) if rows < M else np.arange(M)
            weight = np.repeat(1 / sizes[some], len(at))[:, None]
            for image in (None, *images):
                seen, t = fields.of(some), missing[some]
                if image is not None:
                    seen, t = seen.image(image), image(t)
                phi = features(seen, windows, at)
                phi *= weight
                t = t.reshape(len(some), c, M)[:, :, at].transpose(0, 2, 1).reshape(-1, c)
                sums[part].add(phi, t * weight)

    in_threads(add, range(len(parts)))
    fitted = sums[1]
    for other in sums[2:]:
        fitted += other
    return Layer(features, *least_on(sums[0], fitted), images)
