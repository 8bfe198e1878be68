"""One layer: a linear readout of features that all points share, fitted by its normal equations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from os import cpu_count
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.linalg import LinAlgError
from threadpoolctl import threadpool_limits

from elmonet.description import Graph
from elmonet.layered.features import LayerFeatures
from elmonet.layered.grid import Grid, Symmetry
from elmonet.layered.readout import Readout, trace_readout
from elmonet.layered.settings import Fields, LayerSettings, TracedFields, sobolev_weight
from elmonet.linalg import add_gram, beside_others
from elmonet.solve.cholesky import Cholesky

_ALPHAS = 10.0 ** np.arange(-13, 0, 2)  # candidates for the ridge, relative to a feature's own size
_RISING = 1.02  # further alphas are not tried once the error exceeds the least one by this factor
_BLOCK = 4_000_000  # entries of a block of features, in each thread
# Points at which an update is computed at a time, in each thread, so that they stay in the cache: of fields
# with one axis, whose windows are wide, and with more. From seconds of predictions of benchmarks/layers.py.
_UPDATED_OF_ONE, _UPDATED = 2048, 4096
_SAME_POINTS = 64  # functions that are fitted at the same random points
_ENOUGH_IN_TURN = 200  # functions from which on each is shown as one of its images, not as all of them
_VALUES_IN_TURN = 200_000  # output values, for which fewer functions are enough
_FEWEST_ROWS = 8  # points of each image of a function
_MOST_HELD_OUT_ROWS = 16_000  # points of held-out functions by which the ridge is chosen
_ROUNDING = 0.01  # of the residual: updates are computed in single precision if rounding is below
_LOST = 4.0  # rounding errors of a feature in single precision, in units of the last place
_PARTS = 2  # of the sums, computed in parallel, if there are no folds
_STANDARDISED_OVER = 4096  # points for the means and deviations of the features


@dataclass(frozen=True)
class Layer:
    """s(y) + sum_j c_j phi_j(windows around y), with one vector c for all points and functions.

    Attributes
    ----------
    features : phi.
    coefficients : (q, c), for c components.
    alpha : the ridge, relative to each feature's own size.
    images : symmetries T of the operator. The layer is the mean over all of T^-1 layer(T u, T s).
        With the identity they are a group, so that the layer has the symmetries itself.
    single : whether single precision is enough for updates: its rounding is far below the layer's error.
    """

    features: LayerFeatures
    coefficients: np.ndarray
    alpha: float
    images: tuple[Symmetry, ...] = ()
    single: bool = False

    def update(self, fields: Fields, grid: Grid, *, fast: bool = False) -> np.ndarray:
        """Return what the layer adds to s, (n, c, *shape); `fast`: in single precision if that is enough."""
        n = len(fields.u)
        # An image with exchanged axes lives on the grid with exchanged axes.
        grids = [grid, *(grid.exchanged if image.exchanged else grid for image in self.images)]
        views = [None, *self.images]
        dtype = np.dtype(np.float32 if fast and self.single else np.float64)
        features, C = self.features, self.coefficients
        readouts = {own: Readout(features, features.windows(own), C, dtype) for own in dict.fromkeys(grids)}
        out = np.empty((n, self.coefficients.shape[1], *grid.shape))
        block = updated_together(grid)

        def work(start: int) -> None:
            some = slice(start, min(n, start + block))
            own, total = fields.of(some), np.zeros(1)
            own = own.single if dtype == np.float32 else own
            for image, own_grid in zip(views, grids, strict=True):
                update = readouts[own_grid](own if image is None else own.image(image))
                total = total + (update if image is None else image.inverse(update))
            out[some] = total / (1 + len(self.images))

        in_threads(work, range(0, n, block))
        return out

    def trace(self, graph: Graph, fields: TracedFields, grid: Grid) -> list[int]:
        """Write `update` as array operations: one value (M,) for each component."""
        found: list[list[int]] = [[] for _ in range(self.coefficients.shape[1])]
        for image in (None, *self.images):
            own = grid.exchanged if image is not None and image.exchanged else grid
            mapped = (
                fields
                if image is None
                else TracedFields(*([_trace_image(graph, image, x, grid) for x in part] for part in fields))
            )
            windows = self.features.windows(own)
            values = trace_readout(graph, self.features, mapped, windows, self.coefficients)
            for x, parts in zip(values, found, strict=True):
                parts.append(x if image is None else _trace_image(graph, image.inverse, x, own))
        return [graph.scale(graph.sum(parts), 1 / len(parts)) for parts in found]


def updated_together(grid: Grid) -> int:
    """Return how many functions on a grid are updated at a time."""
    return max(1, (_UPDATED_OF_ONE if len(grid.shape) == 1 else _UPDATED) // grid.size)


def _trace_image(graph: Graph, image: Symmetry, x: int, grid: Grid) -> int:
    """Write the image of one field on a grid."""
    own = grid.exchanged if image.exchanged else grid
    return graph.scale(graph.gather(x, image.inverse.places(own.shape)), float(image.sign))


class LayerSamples(NamedTuple):
    """Functions to fit a layer to: their fields, targets (n, c, *shape), and the targets' sizes (n,)."""

    fields: Fields
    target: np.ndarray
    sizes: np.ndarray


def shown_in_turn(n: int, M: int) -> bool:
    """Return whether each of n functions of M points is shown as one of its images, not as all of them."""
    return n >= _ENOUGH_IN_TURN or n * M >= _VALUES_IN_TURN


def fit_layer(
    settings: LayerSettings,
    seed: int,
    grid: Grid,
    fitted: LayerSamples,
    held_out: LayerSamples,
    rows: int,
    images: tuple[Symmetry, ...] = (),
    folds: np.ndarray | None = None,
) -> FittedLayer:
    """Fit a layer that reduces the error of s, at random points of each function.

    Parameters
    ----------
    settings, seed : of the features.
    grid : the training grid.
    fitted, held_out : the functions for the coefficients, and those by which the ridge is chosen.
    rows : points of each function.
    images : symmetries of the operator. Of many functions, each is shown as one of its images in turn; of
        few, as all of them.
    folds : (n,), the fold of each fitted function, for coefficients without each fold; None: without none.
    """
    n, c, M = len(fitted.target), fitted.target.shape[1], grid.size
    some = np.linspace(0, n - 1, min(n, max(8, _STANDARDISED_OVER // M + 1))).astype(int)
    features = LayerFeatures.of(settings, seed, grid, fitted.fields.of(some))
    windows, q, kernels = features.windows(grid), features.size, settings.kernels
    views = (None, *images)
    in_turn = shown_in_turn(n, M)
    judged = min(M, rows)  # points of a held-out function
    rows = min(M, rows if in_turn else max(_FEWEST_ROWS, rows // len(views)))
    norm = sobolev_weight(grid, settings.order)
    everywhere = features.counts[3] + (0 if norm is None else sum(features.counts[:3]))
    block = max(1, _BLOCK // (q * rows + everywhere * M))

    def chosen(
        functions: np.ndarray, count: int, rng: np.random.Generator
    ) -> Iterator[tuple[np.ndarray, list[np.ndarray]]]:
        """Yield random points, and the functions that are seen there, in blocks."""
        for start in range(0, len(functions), _SAME_POINTS):
            at = np.sort(rng.choice(M, count, replace=False)) if count < M else np.arange(M)
            together = functions[start : start + _SAME_POINTS]
            yield at, [together[first : first + block] for first in range(0, len(together), block)]

    def missing(samples: LayerSamples, own: np.ndarray) -> tuple[Fields, np.ndarray]:
        """Return fields and what is missing in s."""
        inputs, t = samples.fields.of(own), samples.target[own]
        return inputs, t if inputs.s is None else t - inputs.s

    def rows_of(t: np.ndarray, size: np.ndarray) -> np.ndarray:
        return t.transpose(1, 0, 2).reshape(c, -1) * size

    def fitted_rows(part: np.ndarray, stream: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield features (q, R) and targets (c, R) of fitted functions, divided by their sizes.

        They are values at random points or, in a Sobolev norm, values there of the weighted fields.
        """
        rng = np.random.default_rng([seed, stream])
        for view, image in enumerate(views):
            shown = part[view :: len(views)] if in_turn else part
            for at, together in chosen(shown, rows, rng):
                weight = None if norm is None else norm.rows(at, grid, grid)
                if weight is None:
                    smooth = [kernel.rows(at, grid, grid) for kernel in kernels]
                else:
                    smooth = [kernel.before(weight.reshape(-1, *grid.shape), grid) for kernel in kernels]
                for own in together:
                    inputs, t = missing(fitted, own)
                    if image is not None:
                        inputs, t = inputs.image(image), image(t)
                    size = np.repeat(1 / fitted.sizes[own], rows)
                    phi = features(inputs, windows, at, smooth, weight)
                    phi *= size
                    t = t.reshape(-1, c, M)
                    yield phi, rows_of(t[:, :, at] if weight is None else t @ weight.T, size)

    def held_out_rows(some: np.ndarray, stream: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield features and targets of held-out functions; features are means over all images.

        A layer is this mean, which is less uncertain than each of its terms, and bears a smaller ridge.
        """
        for at, together in chosen(some, judged, np.random.default_rng([seed, stream])):
            seen = [at if image is None else image.places(grid.shape)[at] for image in views]
            smooth = [[kernel.rows(places, grid, grid) for kernel in kernels] for places in seen]
            for own in together:
                inputs, t = missing(held_out, own)
                phi = np.zeros((q, len(own) * judged))
                for image, places, matrices in zip(views, seen, smooth, strict=True):
                    shown = inputs if image is None else inputs.image(image)
                    term = features(shown, windows, places, matrices)
                    phi += term if image is None or image.sign > 0 else -term
                size = np.repeat(1 / held_out.sizes[own], judged)
                phi *= size / len(views)
                yield phi, rows_of(t.reshape(-1, c, M)[:, :, at], size)

    # The fitted functions in a few parts, summed in parallel. Some share their points, and so the kernels.
    if folds is None:
        parts = np.array_split(np.arange(n), _PARTS)
    else:
        parts = [np.flatnonzero(folds == fold) for fold in range(int(folds.max()) + 1)]
    sums = [NormalEquations.empty(q, c) for _ in parts]
    held_rows: list[tuple[np.ndarray, np.ndarray]] = []

    def add(part: int) -> None:
        if part < 0:
            count = min(len(held_out.target), max(1, _MOST_HELD_OUT_ROWS // judged))
            some = np.linspace(0, len(held_out.target) - 1, count).astype(int)
            held_rows.extend(held_out_rows(some, len(parts)))
            return
        for phi, t in fitted_rows(parts[part], part):
            sums[part].add(phi, t)

    in_threads(add, range(-1, len(parts)))
    total = NormalEquations.empty(q, c)
    for part in sums:
        total += part

    def error(coefficients: np.ndarray) -> float:
        """Return the sum of the functions' relative errors at their points."""
        residuals = ((t - coefficients.T @ phi).reshape(c, -1, judged) for phi, t in held_rows)
        return sum(float(np.sqrt(np.sum(r**2, axis=(0, 2))).sum()) for r in residuals)

    coefficients, alpha = choose_ridge(total, error)
    single = bool(kernels) and total.rounding(coefficients) < _ROUNDING
    layer = Layer(features, coefficients, alpha, images, single)
    without = () if folds is None else tuple(total.without(part).solve_from(alpha) for part in sums)
    return FittedLayer(layer, without)


class FittedLayer(NamedTuple):
    """A layer, and its coefficients fitted without each fold of the functions."""

    layer: Layer
    without: tuple[np.ndarray, ...]

    def training_update(self, fields: Fields, grid: Grid, folds: np.ndarray | None) -> np.ndarray:
        """Return what the layer adds to s of the fitted functions, (n, c, *shape), each fold left out.

        So the next layer sees them as it will see new functions. Coefficients that have seen a function
        follow its noise, and the next layer would learn to take that back.
        """
        if folds is None:
            return self.layer.update(fields, grid, fast=True)
        out = np.empty((len(fields.u), self.layer.coefficients.shape[1], *grid.shape))
        for fold, coefficients in enumerate(self.without):
            own = np.flatnonzero(folds == fold)
            out[own] = replace(self.layer, coefficients=coefficients).update(fields.of(own), grid, fast=True)
        return out


@dataclass
class NormalEquations:
    """Sums over rows of features Phi and targets t: G = Phi' Phi (q, q), g = Phi' t (q, c) and t't."""

    gram: np.ndarray  # the lower triangle, Fortran-ordered
    cross: np.ndarray
    squares: float = 0.0

    @classmethod
    def empty(cls, q: int, c: int) -> NormalEquations:
        """Return the sums over no rows."""
        return cls(np.zeros((q, q), order="F"), np.zeros((q, c)))

    def add(self, features: np.ndarray, target: np.ndarray) -> None:
        """Add features (q, R) and targets (c, R)."""
        add_gram(self.gram, features)
        self.cross += features @ target.T
        self.squares += float(np.sum(target**2))

    def __iadd__(self, other: NormalEquations) -> Self:
        self.gram += other.gram
        self.cross += other.cross
        self.squares += other.squares
        return self

    def without(self, part: NormalEquations) -> NormalEquations:
        """Return the sums over all rows but those of a part."""
        return NormalEquations(
            self.gram - part.gram, self.cross - part.cross, max(0.0, self.squares - part.squares)
        )

    def squared_residual(self, c: np.ndarray) -> float:
        """Return ``||t - Phi c||^2 = t't - 2 c'g + c'G c`` for coefficients (q, c)."""
        L = self.gram
        Gc = L @ c + L.T @ c - L.diagonal()[:, None] * c
        return self.squares - 2 * float(np.sum(c * self.cross)) + float(np.sum(c * Gc))

    def rounding(self, c: np.ndarray) -> float:
        """Return the rounding error of ``Phi c`` in single precision, relative to the residual."""
        terms = float(np.sum(c**2 * self.gram.diagonal()[:, None]))
        residual = self.squared_residual(c)
        return float(_LOST * np.finfo(np.float32).eps * np.sqrt(terms / residual)) if residual > 0 else np.inf

    def solve(self, alpha: float) -> np.ndarray | None:
        """Solve for coefficients (q, c) at a ridge alpha; None if it is too small for double precision.

        Features are divided by their root sum of squares, D^-1, so that alpha is relative to each feature's
        own size: (D G D + alpha) D^-1 c = D g.
        """
        d = self.gram.diagonal().copy()
        d = 1 / np.sqrt(np.where(d > 0, d, 1.0))
        G = self.gram * d
        G *= d[:, None]
        try:
            return d[:, None] * Cholesky(G, alpha).solve(d[:, None] * self.cross)
        except LinAlgError:
            return None

    def solve_from(self, alpha: float) -> np.ndarray:
        """Solve at a ridge alpha, or at the first larger candidate at which double precision suffices."""
        while (found := self.solve(alpha)) is None:
            alpha *= _ALPHAS[1] / _ALPHAS[0]
        return found


def choose_ridge(
    fitted: NormalEquations, held_out_error: Callable[[np.ndarray], float]
) -> tuple[np.ndarray, float]:
    """Return the coefficients of the `fitted` rows at the alpha of least held-out error, and that alpha.

    The error falls and then rises with alpha: smaller alphas than the middle one are tried first, and larger
    ones only if none of these is better. Each costs a Cholesky factor.
    """
    best: tuple[float, Any, float] = (np.inf, None, 1.0)
    middle = len(_ALPHAS) // 2
    for alphas in (_ALPHAS[middle::-1], _ALPHAS[middle + 1 :]):
        for alpha in alphas:
            c = fitted.solve(alpha)
            error = np.inf if c is None else held_out_error(c)
            if error < best[0]:
                best = error, c, float(alpha)
            elif error > _RISING * best[0]:
                break
        if best[2] < _ALPHAS[middle]:
            break
    return best[1], best[2]


def in_threads(work: Callable[[int], None], parts: Sequence[int]) -> None:
    """Call ``work(part)`` for all parts, one thread per core; parts must not write to the same memory."""
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
