"""The features of a layer times their coefficients, on a whole grid: what a layer adds to a prediction."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elmonet.description import Graph
from elmonet.layered.features import LayerFeatures, activate
from elmonet.layered.settings import Fields, TracedFields
from elmonet.layered.windows import Windows, box_of_offsets

_CACHE = 2**20  # bytes of random features that are evaluated at a time, so that they stay in the cache


class Shares(NamedTuple):
    """The coefficients of features, for the c components of the result and of what each kernel smooths.

    z, random, u : (., c (1 + kernels)), of the columns of z, of random features and of windows of u.
    products : (c (1 + kernels), windows of u, windows of s).
    """

    z: np.ndarray
    random: np.ndarray
    u: np.ndarray
    products: np.ndarray

    @classmethod
    def of(cls, features: LayerFeatures, coefficients: np.ndarray) -> Shares:
        """Sort the coefficients (q, c) of features by what they are multiplied by."""
        (columns, p, products, smoothed), r = features.counts, features.settings
        (a, b), c, K = features.factors, coefficients.shape[1], 1 + len(r.kernels)
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
        return cls(flat[0], flat[1], flat[2], weights.reshape(K * c, a, b))


class Readout:
    """The map from fields (n functions) to features times coefficients (q, c), (n, c, *shape), on one grid.

    Made once for many functions. Features are multiplied by their coefficients before anything is summed over
    the domain: each kernel smooths one field of each component, and no product is formed. Means and
    deviations of the columns of z are part of the weights. It computes in the precision `dtype`, that of the
    fields.
    """

    def __init__(self, features: LayerFeatures, windows: Windows, coefficients: np.ndarray, dtype: np.dtype):
        self.features, self.windows, self.components = features, windows, coefficients.shape[1]
        shares = Shares.of(features, coefficients)
        self._of_z = np.ascontiguousarray(features.for_raw_columns(shares.z).T, dtype)
        self._of_u = np.ascontiguousarray(shares.u.T, dtype)
        self._of_random = np.ascontiguousarray(shares.random.T, dtype)
        # Products: (the window of u, times its coefficients) . the window of s.
        self._of_products = [np.ascontiguousarray(own.T, dtype) for own in shares.products if own.size]
        A = features.for_raw_columns(features.affine)
        p = features.settings.width
        self._A, self._patterns = (np.ascontiguousarray(part.T, dtype) for part in (A[:, :p], A[:, p:]))

    def __call__(self, fields: Fields) -> np.ndarray:
        """Return the features times their coefficients at all points of the windows' grid."""
        r, (n, shape) = self.features.settings, (len(fields.u), self.windows.grid.shape)
        local = self.features.raw(fields, self.windows, None)
        z, a, b = (part.reshape(len(part), n * self.windows.grid.size) for part in local)
        if r.patterns and len(a):
            activate(np.matmul(self._patterns, z, out=a[len(a) - r.patterns :]), r.activation)
        total = self._of_z @ z
        total += self._of_u @ a
        chunk = max(16, _CACHE // (z.itemsize * z.shape[1]))
        found = np.empty((min(chunk, r.width), z.shape[1]), z.dtype)
        for first in range(0, r.width, chunk):
            some = slice(first, min(r.width, first + chunk))
            own = found[: some.stop - first]
            total += self._of_random[:, some] @ activate(np.matmul(self._A[some], z, out=own), r.activation)
        for own, weights in zip(total, self._of_products, strict=False):
            own += np.einsum("km,km->m", weights @ a, b)
        parts = total.reshape(1 + len(r.kernels), self.components, n, *shape)
        update = parts[0]
        for part, kernel in zip(parts[1:], r.kernels, strict=True):
            update += kernel(part, self.features.training)
        return np.moveaxis(update, 0, 1)


def trace_readout(
    graph: Graph, features: LayerFeatures, fields: TracedFields, windows: Windows, coefficients: np.ndarray
) -> list[int]:
    """Write the readout of one function as array operations: a value (M,) for each component."""
    (far, near), r, M = features.offsets, features.settings, windows.grid.size
    centre = np.arange(M)[None]
    of_u = [windows.trace(graph, u, far, False) for u in fields.u]
    of_s = [windows.trace(graph, s, far, True) for s in fields.s]
    of_updates = [windows.trace(graph, update, near, True) for update in fields.updates]
    blocks = of_u + of_s + of_updates
    blocks += [(s, centre) for s in fields.s] if r.differences else []
    coordinates = windows.coordinates
    blocks.append((graph.constant(coordinates), np.arange(coordinates.size).reshape(M, -1).T))
    z = _trace_columns(graph, blocks)
    if r.differences:  # the centre is subtracted from the windows of s, and from nothing else
        subtracted = [(0, np.full_like(index, -1)) for _, index in blocks]
        for i, s in enumerate(fields.s, start=len(of_u)):
            subtracted[i] = s, np.repeat(centre, len(far), axis=0)
        z = graph.sum([z, graph.scale(_trace_columns(graph, subtracted), -1.0)])
    z = graph.scale(z, 1 / features.deviation, before=features.mean, rows=M)
    (A, b), shares = features.weights, Shares.of(features, coefficients)
    p = r.width
    random = graph.elementwise(graph.affine(z, A[:, :p].T, b[:p], M), r.activation)
    parts = [graph.affine(z, shares.z.T, rows=M), graph.affine(random, shares.random.T, rows=M)]
    if shares.u.size:
        box = box_of_offsets(r.products, r.spacing)
        factors = [windows.trace(graph, u, box, False) for u in fields.u]
        factors += [
            (kernel.trace(graph, field, windows.grid, features.training), centre)
            for field in (*fields.u, *fields.s)
            for kernel in r.potentials
        ]
        if r.patterns:
            patterns = graph.elementwise(graph.affine(z, A[:, p:].T, b[p:], M), r.activation)
            factors.append((patterns, np.arange(M * r.patterns).reshape(M, -1).T))
        u = _trace_columns(graph, factors)
        parts.append(graph.affine(u, shares.u.T, rows=M))
    if shares.products.size:
        box = box_of_offsets(r.factors or r.radius, r.spacing)
        seen = [windows.trace(graph, s, box, True) for s in fields.s]
        seen = seen or [windows.trace(graph, u, box, False) for u in fields.u]
        last = of_updates[: len(fields.s)]
        w = _trace_columns(graph, seen + last)
        if r.differences and fields.s:
            taken = [(s, np.repeat(centre, len(box), axis=0)) for s in fields.s]
            taken += [(0, np.full_like(index, -1)) for _, index in last]
            w = graph.sum([w, graph.scale(_trace_columns(graph, taken), -1.0)])
        ones = np.ones((1, shares.products.shape[2]))
        mixed = [graph.product([graph.affine(u, own.T, rows=M), w]) for own in shares.products]
        each = graph.concat([graph.affine(product, ones, rows=M) for product in mixed])
        parts.append(graph.gather(each, np.arange(len(mixed) * M).reshape(-1, M).T))
    total, found = graph.sum(parts), []
    columns, c = shares.z.shape[1], coefficients.shape[1]
    own = [graph.gather(total, np.arange(M) * columns + i) for i in range(columns)]
    for i in range(c):
        smooth = [
            kernel.trace(graph, own[c * k + i], windows.grid, features.training)
            for k, kernel in enumerate(r.kernels, start=1)
        ]
        found.append(graph.sum([own[i], *smooth]))
    return found


def _trace_columns(graph: Graph, blocks: list[tuple[int, np.ndarray]]) -> int:
    """Write columns side by side (M, .), each gathered from one value by its indices (K, M); -1 is 0."""
    sources = list(dict.fromkeys(value for value, _ in blocks))
    starts = dict(zip(sources, np.cumsum([0, *(graph.sizes[value] for value in sources)])[:-1], strict=True))
    index = np.concatenate([np.where(index < 0, -1, index + starts[value]) for value, index in blocks])
    return graph.gather(graph.concat(sources), index.T)
