"""The features of one layer: windows of fields, and random functions of their values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from elmonet.description import Graph
from elmonet.layered.grid import Grid
from elmonet.layered.settings import Fields, LayerSettings, TracedFields
from elmonet.layered.windows import Windows, box_of_offsets

_CONSTANT = 1e-9  # a column whose deviation is below this part of its size counts as constant
_CACHE = 2**20  # bytes of random features that are evaluated at a time, so that they stay in the cache


class _Local(NamedTuple):
    """What a layer sees at R points of n functions.

    z : (columns, n, R), standardised columns: windows, coordinates, 1.
    of_u, of_s : (., n, R), windows whose products are features, as they are.
    """

    z: np.ndarray
    of_u: np.ndarray
    of_s: np.ndarray

    def products(self, out: np.ndarray) -> None:
        """Write all products of the windows, (., n, R)."""
        a, b = self.of_u, self.of_s
        np.multiply(a[:, None], b[None], out=out.reshape(len(a), len(b), *out.shape[1:]))


class _Shares(NamedTuple):
    """The coefficients of features, for the c components of the result and of what each kernel smooths.

    z, random, u : (., c (1 + kernels)), of the columns of z, of random features and of windows of u.
    products : (c (1 + kernels), windows of u, windows of s).
    """

    z: np.ndarray
    random: np.ndarray
    u: np.ndarray
    products: np.ndarray


@dataclass(frozen=True)
class LayerFeatures:
    """The q features of a layer at any points: phi = [z, act(A'z + b), products, K_1 f, K_2 f, ...].

    z holds the window values of all channels, the coordinates along axes that are not periodic, and 1. Its
    columns are standardised over the training functions. The kernels K smooth f: the windows of u in
    products, the products, and the first random features.

    Attributes
    ----------
    settings, seed : the settings, and the seed of A and b.
    training : the training grid, whose steps are the unit of the windows.
    channels : numbers of channels of u, of s, and of updates.
    mean, deviation : of the columns of z.
    stored : A and b from a file; None to draw them from the seed.
    """

    settings: LayerSettings
    seed: int
    training: Grid
    channels: tuple[int, int, int]
    mean: np.ndarray
    deviation: np.ndarray
    stored: tuple[np.ndarray, np.ndarray] | None = None

    @classmethod
    def of(cls, settings: LayerSettings, seed: int, training: Grid, fields: Fields) -> LayerFeatures:
        """Standardise the columns over some training functions."""
        s = 0 if fields.s is None else fields.s.shape[1]
        channels = fields.u.shape[1], s, s * len(fields.updates)
        empty = cls(replace(settings, patterns=0), seed, training, channels, np.zeros(1), np.ones(1))
        z = empty._local(fields, empty.windows(training), None).z.reshape(empty._columns, -1)
        mean, deviation = z.mean(axis=1), z.std(axis=1)
        constant = deviation <= _CONSTANT * np.abs(z).max(axis=1)
        mean[-1] = 0  # the column of ones stays
        return cls(settings, seed, training, channels, mean, np.where(constant, 1.0, deviation))

    def windows(self, grid: Grid) -> Windows:
        """Return the windows on a grid of the same domain."""
        return Windows(grid, self.training, self.settings.reach)

    @cached_property
    def counts(self) -> tuple[int, int, int, int]:
        """The number of columns of z, of random features, of products, and of what each kernel smooths."""
        of_u, of_s = self._factors
        smoothed = of_u + of_u * of_s + self.settings.smoothed
        return self._columns, self.settings.width, of_u * of_s, smoothed if self.settings.kernels else 0

    @property
    def size(self) -> int:
        """The number q of features."""
        columns, width, products, smoothed = self.counts
        return columns + width + products + len(self.settings.kernels) * smoothed

    def __call__(
        self, fields: Fields, windows: Windows, rows: np.ndarray, kernels: Sequence[np.ndarray] = ()
    ) -> np.ndarray:
        """Return the features (q, n R) of n functions at points of the windows' grid.

        Parameters
        ----------
        fields, windows : of the functions.
        rows : (R,), the points, as flat indices.
        kernels : the rows (R, M) of each kernel there, see `SmoothingKernel.rows`.
        """
        local = self._local(fields, windows, rows)
        columns, p, products, smoothed = self.counts
        out = np.empty((self.size, *local.z.shape[1:]))
        out[:columns] = local.z
        self._activate(local.z, slice(0, p), out=out[columns : columns + p])
        local.products(out[columns + p : columns + p + products])
        if smoothed:
            sources = self._sources(fields, windows)
            first = columns + p + products
            for k, matrix in enumerate(kernels):
                own = out[first + k * smoothed : first + (k + 1) * smoothed]
                np.matmul(sources.reshape(-1, windows.grid.size), matrix.T, out=own.reshape(-1, len(rows)))
        return out.reshape(self.size, -1)

    def _sources(self, fields: Fields, windows: Windows) -> np.ndarray:
        """Return what kernels smooth, (., n, M), at all points."""
        local, r = self._local(fields, windows, None), self.settings
        a, b = len(local.of_u), len(local.of_s)
        out = np.empty((self.counts[3], *local.z.shape[1:]))
        out[:a] = local.of_u
        local.products(out[a : a + a * b])
        self._activate(local.z, slice(0, r.smoothed), out=out[a + a * b :])
        return out

    def readout(self, fields: Fields, windows: Windows, coefficients: np.ndarray) -> np.ndarray:
        """Return the features times coefficients (q, c) at all points of the windows' grid, (n, c, *shape).

        Features are multiplied by their coefficients before anything is summed over the domain: each kernel
        smooths one field of each component, and no product is formed. It computes in the precision
        of the fields.
        """
        local, dtype = self._local(fields, windows, None), fields.u.dtype
        c, n, kernels = coefficients.shape[1], len(fields.u), self.settings.kernels
        z, a, b = (part.reshape(len(part), n * windows.grid.size) for part in local)
        shares = self._shares(coefficients)
        total = shares.z.T.astype(dtype) @ z
        total += shares.u.T.astype(dtype) @ a
        chunk = max(16, _CACHE // (z.itemsize * z.shape[1]))
        for first in range(0, self.settings.width, chunk):
            some = slice(first, min(self.settings.width, first + chunk))
            total += shares.random[some].T.astype(dtype) @ self._activate(z, some)
        # Products: (the window of u, times its coefficients) . the window of s.
        for own, weights in zip(total, shares.products, strict=True):
            if weights.size:
                own += np.einsum("km,km->m", weights.T.astype(dtype) @ a, b)
        parts = total.reshape(1 + len(kernels), c, n, *windows.grid.shape)
        update = parts[0]
        for part, kernel in zip(parts[1:], kernels, strict=True):
            update += kernel(part, self.training)
        return np.moveaxis(update, 0, 1)

    def trace(self, graph: Graph, fields: TracedFields, windows: Windows, C: np.ndarray) -> list[int]:
        """Write `readout` of one function as array operations: a value (M,) for each component."""
        (far, near), r, M = self._offsets, self.settings, windows.grid.size
        centre = np.arange(M)[None]
        of_u = [windows.trace(graph, u, far, False) for u in fields.u]
        of_s = [windows.trace(graph, s, far, True) for s in fields.s]
        of_updates = [windows.trace(graph, update, near, True) for update in fields.updates]
        blocks = of_u + of_s + of_updates
        blocks += [(s, centre) for s in fields.s] if r.differences else []
        coordinates = self._coordinates(windows.grid)
        blocks.append((graph.constant(coordinates), np.arange(coordinates.size).reshape(M, -1).T))
        z = _trace_columns(graph, blocks)
        if r.differences:  # the centre is subtracted from the windows of s, and from nothing else
            subtracted = [(0, np.full_like(index, -1)) for _, index in blocks]
            for i, s in enumerate(fields.s, start=len(of_u)):
                subtracted[i] = s, np.repeat(centre, len(far), axis=0)
            z = graph.sum([z, graph.scale(_trace_columns(graph, subtracted), -1.0)])
        z = graph.scale(z, 1 / self.deviation, before=self.mean, rows=M)
        (A, b), shares = self.weights, self._shares(C)
        p = r.width
        random = graph.elementwise(graph.affine(z, A[:, :p].T, b[:p], M), r.activation)
        parts = [graph.affine(z, shares.z.T, rows=M), graph.affine(random, shares.random.T, rows=M)]
        if shares.u.size:
            box = box_of_offsets(r.products, r.spacing)
            factors = [windows.trace(graph, u, box, False) for u in fields.u]
            if r.patterns:
                patterns = graph.elementwise(graph.affine(z, A[:, p:].T, b[p:], M), r.activation)
                factors.append((patterns, np.arange(M * r.patterns).reshape(M, -1).T))
            u = _trace_columns(graph, factors)
            parts.append(graph.affine(u, shares.u.T, rows=M))
        if shares.products.size:
            box = box_of_offsets(r.factors or r.radius, r.spacing)
            seen = [windows.trace(graph, s, box, True) for s in fields.s]
            last = of_updates[: len(fields.s)]
            w = _trace_columns(graph, seen + last)
            if r.differences:
                taken = [(s, np.repeat(centre, len(box), axis=0)) for s in fields.s]
                taken += [(0, np.full_like(index, -1)) for _, index in last]
                w = graph.sum([w, graph.scale(_trace_columns(graph, taken), -1.0)])
            ones = np.ones((1, shares.products.shape[2]))
            mixed = [graph.product([graph.affine(u, own.T, rows=M), w]) for own in shares.products]
            each = graph.concat([graph.affine(product, ones, rows=M) for product in mixed])
            parts.append(graph.gather(each, np.arange(len(mixed) * M).reshape(-1, M).T))
        total, found = graph.sum(parts), []
        columns, c = shares.z.shape[1], C.shape[1]
        own = [graph.gather(total, np.arange(M) * columns + i) for i in range(columns)]
        for i in range(c):
            smooth = [
                kernel.trace(graph, own[c * k + i], windows.grid, self.training)
                for k, kernel in enumerate(r.kernels, start=1)
            ]
            found.append(graph.sum([own[i], *smooth]))
        return found

    def _shares(self, coefficients: np.ndarray) -> _Shares:
        """Sort the coefficients (q, c) of features by what they are multiplied by."""
        (columns, p, products, smoothed), r = self.counts, self.settings
        (a, b), c, K = self._factors, coefficients.shape[1], 1 + len(r.kernels)
        ends = np.cumsum([columns, p, products, *[smoothed] * (K - 1)])
        of_z, of_random, of_products, *of_sources = np.split(coefficients, ends[:-1])
        z, random, u = (np.zeros((count, K, c)) for count in (columns, p, a))
        weights = np.zeros((K, c, a, b))
        z[:, 0], random[:, 0] = of_z, of_random
        weights[0] = np.moveaxis(of_products.reshape(a, b, c), -1, 0)
        for k, source in enumerate(of_sources, start=1):
            u[:, k] = source[:a]
            weights[k] = np.moveaxis(source[a : a + a * b].reshape(a, b, c), -1, 0)
            random[: r.smoothed, k] = source[a + a * b :]
        flat = [part.reshape(len(part), K * c) for part in (z, random, u)]
        return _Shares(flat[0], flat[1], flat[2], weights.reshape(K * c, a, b))

    def _activate(self, z: np.ndarray, some: slice, out: np.ndarray | None = None) -> np.ndarray:
        """Return some of the random features (p, ...) of columns z (., ...)."""
        A, flat = self._affine[z.dtype.char], z.reshape(len(z), -1)
        found = np.matmul(
            A[:, some].T, flat, out=None if out is None else out.reshape(len(out), flat.shape[1])
        )
        if self.settings.activation == "tanh":
            np.tanh(found, out=found)
        else:
            np.maximum(found, 0, out=found)
        return found.reshape(len(found), *z.shape[1:])

    @cached_property
    def weights(self) -> tuple[np.ndarray, np.ndarray]:
        """A (columns of z, p), normal times Gaussian windows, and b (p,), uniform; patterns are the last."""
        if self.stored is not None:
            return self.stored
        r, rng = self.settings, np.random.default_rng(self.seed)
        A = rng.standard_normal((len(self.mean), r.width))
        b = rng.uniform(-1, 1, r.width) * r.scale
        # The features are shared out among the widths of the windows. Columns outside of windows
        # (coordinates, the centre of s) have the weight 1; each feature has the same variance.
        for width, own in zip(r.widths, np.array_split(np.arange(r.width), len(r.widths)), strict=True):
            window = self._window(width)
            A[:, own] *= (r.scale / np.sqrt(np.sum(window**2)) * window)[:, None]
        if not r.patterns:
            return A, b
        seen = self.channels[0] * len(self._offsets[0])  # the windows of u come first
        of_u = np.zeros((len(A), r.patterns))
        of_u[:seen] = rng.standard_normal((seen, r.patterns)) * (r.scale / np.sqrt(seen))
        return np.hstack([A, of_u]), np.append(b, rng.uniform(-1, 1, r.patterns) * r.scale)

    @cached_property
    def _affine(self) -> dict[str, np.ndarray]:
        """A in both precisions, with b in its last row, as the last column of z is 1."""
        A, b = self.weights
        A = np.vstack([A[:-1], A[-1] + b])
        return {"d": A, "f": A.astype(np.float32)}

    def _window(self, width: float) -> np.ndarray:
        """Return the weight of each column of z in a Gaussian window of a width; 0: all equal."""
        far, near = self._offsets
        inputs, outputs, updates = self.channels
        offsets = np.concatenate([far] * (inputs + outputs) + [near] * updates)
        distance = np.linalg.norm(offsets / np.array(self.training.shape), axis=1)
        window = np.ones(len(self.mean))
        if width:
            window[: len(offsets)] = np.exp(-((distance / width) ** 2) / 2)
        return window

    @cached_property
    def _offsets(self) -> tuple[np.ndarray, np.ndarray]:
        r = self.settings
        return box_of_offsets(r.radius, r.spacing), box_of_offsets(r.near, r.spacing)

    @cached_property
    def _columns(self) -> int:
        """The number of columns of z."""
        (far, near), (inputs, outputs, updates) = self._offsets, self.channels
        coordinates = 1 + 2 * sum(not around for around in self.training.periodic)
        centres = outputs if self.settings.differences else 0
        return (inputs + outputs) * len(far) + updates * len(near) + centres + coordinates

    @cached_property
    def _factors(self) -> tuple[int, int]:
        """The number of window values of u, and of s and its last update, that products are made of."""
        r, (inputs, outputs, updates) = self.settings, self.channels
        if not r.products:
            return 0, 0
        of_s = outputs * len(box_of_offsets(r.factors or r.radius, r.spacing))
        of_s += min(outputs, updates) * len(self._offsets[1])
        of_u = inputs * len(box_of_offsets(r.products, r.spacing)) + r.patterns
        return of_u if of_s or r.kernels else 0, of_s

    def from_pairs(self, coefficients: np.ndarray) -> np.ndarray:
        """Return coefficients (q, c) in the order of the features.

        In files of version 0.2, those of products are sorted by pairs of channels of u and of s.
        """
        columns, p, products, _ = self.counts
        (far, near), (inputs, outputs, updates) = self._offsets, self.channels
        a, b = self._factors
        channel = np.repeat(np.arange(inputs), a // max(1, inputs))
        sizes = [len(far)] * outputs + [len(near)] * min(outputs, updates)
        factor = np.repeat(np.arange(len(sizes)), sizes)[:b]
        pair = (channel[:, None] * len(sizes) + factor).ravel()
        found, first = coefficients.copy(), columns + p
        found[first + np.argsort(pair, kind="stable")] = coefficients[first : first + products]
        return found

    def _local(self, fields: Fields, windows: Windows, rows: np.ndarray | None) -> _Local:
        """Return what is seen at the points `rows`; None: at all points."""
        (far, near), r, grid = self._offsets, self.settings, windows.grid
        n, dtype = len(fields.u), fields.u.dtype
        R = grid.size if rows is None else len(rows)
        z = np.empty((self._columns, n, R), dtype)
        of_u, of_s = (np.empty((count, n, R), dtype) for count in self._factors)
        box = box_of_offsets(r.products, r.spacing) if len(of_u) else far[:0]
        factors = box_of_offsets(r.factors or r.radius, r.spacing) if len(of_s) else far[:0]
        done, u_done, s_done = 0, 0, 0
        for i in range(fields.u.shape[1]):
            padded = windows.extrapolated(fields.u[:, i], False)
            windows.gather(padded, far, rows, z[done : done + len(far)])
            windows.gather(padded, box, rows, of_u[u_done : u_done + len(box)])
            done, u_done = done + len(far), u_done + len(box)
        centres: list[np.ndarray] = []
        for state in () if fields.s is None else np.moveaxis(fields.s, 1, 0):
            padded = windows.extrapolated(state, True)
            flat = state.reshape(n, -1)
            centres.append(flat if rows is None else flat[:, rows])
            for offsets, out in (
                (far, z[done : done + len(far)]),
                (factors, of_s[s_done : s_done + len(factors)]),
            ):
                windows.gather(padded, offsets, rows, out)
                if r.differences:
                    out -= centres[-1]
            done, s_done = done + len(far), s_done + len(factors)
        for k, update in enumerate(fields.updates):
            for i in range(update.shape[1]):
                own = z[done : done + len(near)]
                windows.gather(windows.extrapolated(update[:, i], True), near, rows, own)
                if k == 0 and len(of_s):
                    of_s[s_done : s_done + len(near)] = own
                    s_done += len(near)
                done += len(near)
        for centre in centres if r.differences else ():
            z[done] = centre
            done += 1
        places = self._coordinates(grid).T
        z[done:] = (places if rows is None else places[:, rows])[:, None]
        z -= self.mean.astype(dtype)[:, None, None]
        z /= self.deviation.astype(dtype)[:, None, None]
        if u_done < len(of_u):
            self._activate(z, slice(r.width, r.width + r.patterns), out=of_u[u_done:])
        return _Local(z, of_u, of_s)

    def _coordinates(self, grid: Grid) -> np.ndarray:
        """Return columns (M, .): x and 1 - x^2 for each axis that is not periodic, x in [-1, 1]; and 1."""
        axes = np.meshgrid(*grid.axes, indexing="ij")
        columns = []
        for x, low, h, n, around in zip(
            axes, self.training.start, self.training.step, self.training.given, grid.periodic, strict=True
        ):
            if not around:
                scaled = 2 * (x.ravel() - low) / (h * max(1, n - 1)) - 1
                columns += [scaled, 1 - scaled**2]
        return np.stack([*columns, np.ones(grid.size)], axis=1)


def _trace_columns(graph: Graph, blocks: list[tuple[int, np.ndarray]]) -> int:
    """Write columns side by side (M, .), each gathered from one value by its indices (K, M); -1 is 0."""
    sources = list(dict.fromkeys(value for value, _ in blocks))
    starts = dict(zip(sources, np.cumsum([0, *(graph.sizes[value] for value in sources)])[:-1], strict=True))
    index = np.concatenate([np.where(index < 0, -1, index + starts[value]) for value, index in blocks])
    return graph.gather(graph.concat(sources), index.T)
