"""One layer: a linear readout of features that all points share, fitted by its normal equations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from os import cpu_count
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.linalg import LinAlgError
from threadpoolctl import threadpool_limits

from elmonet.description import Graph
from elmonet.layered.features import LayerFeatures
from elmonet.layered.grid import Grid, Symmetry
from elmonet.layered.readout import Readout, trace_readout
from elmonet.layered.settings import Fields, LayerSettings, TracedFields
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
_MOST_HELD_OUT_ROWS = 20_000  # points of held-out functions by which the ridge is chosen
_ROUNDING = 0.01  # of the residual: updates are computed in single precision if rounding is below
_LOST = 4.0  # rounding errors of a feature in single precision, in units of the last place
_PARTS = 2  # of the sums, computed in parallel
_STANDARDISED_OVER = 4096  # points for the means and deviations of the features


@dataclass(frozen=True)
class Layer:
    """s(y) + sum_j c_j phi_j(windows around y), with one vector c for all points and functions.

    Attributes
    ----------
    features : phi.
    coefficients : (q, c), for c components.
    alpha : the ridge, relative to each feature's own size.
    images : symmetries T of the operator. The layer is the mean over all of T layer(T u, T s), where
        T T = 1, and so has the symmetries itself.
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
                total = total + (update if image is None else image(update))
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
                parts.append(x if image is None else _trace_image(graph, image, x, own))
        return [graph.scale(graph.sum(parts), 1 / len(parts)) for parts in found]


def updated_together(grid: Grid) -> int:
    """Return how many functions on a grid are updated at a time."""
    return max(1, (_UPDATED_OF_ONE if len(grid.shape) == 1 else _UPDATED) // grid.size)


def _trace_image(graph: Graph, image: Symmetry, x: int, grid: Grid) -> int:
    """Write the image of one field on a grid."""
    index = np.arange(grid.size).reshape(1, 1, *grid.shape)
    return graph.scale(graph.gather(x, np.abs(image(index))), float(image.sign))


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
) -> Layer:
    """Fit a layer that reduces the error of s, at random points of each function.

    Parameters
    ----------
    settings, seed : of the features.
    grid : the training grid.
    fitted, held_out : the functions for the coefficients, and those by which the ridge is chosen.
    rows : points of each function.
    images : symmetries of the operator. Of many functions, each is shown as one of its images in turn; of
        few, as all of them.
    """
    n, c, M = len(fitted.target), fitted.target.shape[1], grid.size
    some = np.linspace(0, n - 1, min(n, max(8, _STANDARDISED_OVER // M + 1))).astype(int)
    features = LayerFeatures.of(settings, seed, grid, fitted.fields.of(some))
    windows, q, kernels = features.windows(grid), features.size, settings.kernels
    views = (None, *images)
    in_turn = shown_in_turn(n, M)
    rows = min(M, rows if in_turn else max(_FEWEST_ROWS, rows // len(views)))
    block = max(1, _BLOCK // (q * rows + features.counts[3] * M))

    def weighted(samples: LayerSamples, own: np.ndarray, stream: int) -> Iterator[tuple[np.ndarray, Any]]:
        """Yield features (q, R) and targets (c, R) of blocks of functions, divided by their sizes."""
        rng = np.random.default_rng([seed, stream])
        for view, image in enumerate(views):
            shown = own[view :: len(views)] if in_turn else own
            for start in range(0, len(shown), _SAME_POINTS):
                at = np.sort(rng.choice(M, rows, replace=False)) if rows < M else np.arange(M)
                smooth = [kernel.rows(at, grid, grid) for kernel in kernels]
                together = shown[start : start + _SAME_POINTS]
                for first in range(0, len(together), block):
                    functions = together[first : first + block]
                    inputs, t = samples.fields.of(functions), samples.target[functions]
                    t = t if inputs.s is None else t - inputs.s
                    if image is not None:
                        inputs, t = inputs.image(image), image(t)
                    weight = np.repeat(1 / samples.sizes[functions], rows)
                    phi = features(inputs, windows, at, smooth)
                    phi *= weight
                    t = t.reshape(-1, c, M)[:, :, at].transpose(1, 0, 2).reshape(c, -1)
                    yield phi, t * weight

    # The fitted functions in a few parts, summed in parallel. Some share their points, and so the kernels.
    parts = np.array_split(np.arange(n), _PARTS)
    sums = [NormalEquations.empty(q, c) for _ in parts]
    held_rows: list[tuple[np.ndarray, np.ndarray]] = []

    def add(part: int) -> None:
        if part == len(parts):
            judged = min(len(held_out.target), max(1, _MOST_HELD_OUT_ROWS // rows))
            own = np.linspace(0, len(held_out.target) - 1, judged).astype(int)
            held_rows.extend(weighted(held_out, own, part))
            return
        for phi, t in weighted(fitted, parts[part], part):
            sums[part].add(phi, t)

    in_threads(add, range(len(parts) + 1))
    total = sums[0]
    for other in sums[1:]:
        total += other

    def error(coefficients: np.ndarray) -> float:
        return sum(float(np.sum((t - coefficients.T @ phi) ** 2)) for phi, t in held_rows)

    coefficients, alpha = choose_ridge(total, error)
    single = bool(kernels) and total.rounding(coefficients) < _ROUNDING
    return Layer(features, coefficients, alpha, images, single)


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
            squared = np.inf if c is None else held_out_error(c)
            if squared < best[0]:
                best = squared, c, float(alpha)
            elif squared > _RISING * best[0]:
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
