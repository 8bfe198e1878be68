"""The features of one layer: windows of fields, and random functions of their values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from elmonet.layered.grid import Grid
from elmonet.layered.settings import Fields, LayerSettings
from elmonet.layered.windows import Windows, box_of_offsets

_CONSTANT = 1e-9  # a column whose deviation is below this part of its size counts as constant


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
        of_u, of_s = self.factors
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

    def _activate(self, z: np.ndarray, some: slice, out: np.ndarray) -> None:
        """Write some of the random features (p, ...) of columns z (., ...)."""
        A = self.affine[:, some].T.astype(z.dtype, copy=False)
        z = z.reshape(len(z), -1)
        found = np.matmul(A, z, out=out.reshape(len(out), z.shape[1]))
        activate(found, self.settings.activation)

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
        seen = self.channels[0] * len(self.offsets[0])  # the windows of u come first
        of_u = np.zeros((len(A), r.patterns))
        of_u[:seen] = rng.standard_normal((seen, r.patterns)) * (r.scale / np.sqrt(seen))
        return np.hstack([A, of_u]), np.append(b, rng.uniform(-1, 1, r.patterns) * r.scale)

    @cached_property
    def affine(self) -> np.ndarray:
        """A (columns of z, p) with b in its last row, as the last column of z is 1."""
        A, b = self.weights
        return np.vstack([A[:-1], A[-1] + b])

    def for_raw_columns(self, weights: np.ndarray) -> np.ndarray:
        """Return weights (columns of z, .) for columns that are not standardised."""
        own = weights / self.deviation[:, None]
        own[-1] -= self.mean @ own
        return own

    def _window(self, width: float) -> np.ndarray:
        """Return the weight of each column of z in a Gaussian window of a width; 0: all equal."""
        far, near = self.offsets
        inputs, outputs, updates = self.channels
        offsets = np.concatenate([far] * (inputs + outputs) + [near] * updates)
        distance = np.linalg.norm(offsets / np.array(self.training.shape), axis=1)
        window = np.ones(len(self.mean))
        if width:
            window[: len(offsets)] = np.exp(-((distance / width) ** 2) / 2)
        return window

    @cached_property
    def offsets(self) -> tuple[np.ndarray, np.ndarray]:
        """The offsets of the windows of u and s, and of those of updates."""
        r = self.settings
        return box_of_offsets(r.radius, r.spacing), box_of_offsets(r.near, r.spacing)

    @cached_property
    def _columns(self) -> int:
        """The number of columns of z."""
        (far, near), (inputs, outputs, updates) = self.offsets, self.channels
        coordinates = 1 + 2 * sum(not around for around in self.training.periodic)
        centres = outputs if self.settings.differences else 0
        return (inputs + outputs) * len(far) + updates * len(near) + centres + coordinates

    @cached_property
    def factors(self) -> tuple[int, int]:
        """The number of window values of u, and of s and its last update, that products are made of."""
        r, (inputs, outputs, updates) = self.settings, self.channels
        if not r.products:
            return 0, 0
        seen = inputs if r.potentials and not outputs else outputs
        of_s = seen * len(box_of_offsets(r.factors or r.radius, r.spacing))
        of_s += min(outputs, updates) * len(self.offsets[1])
        of_u = inputs * len(box_of_offsets(r.products, r.spacing)) + r.patterns
        of_u += (inputs + outputs) * len(r.potentials)
        return of_u if of_s or r.kernels else 0, of_s

    def from_pairs(self, coefficients: np.ndarray) -> np.ndarray:
        """Return coefficients (q, c) in the order of the features.

        In files of version 0.2, those of products are sorted by pairs of channels of u and of s.
        """
        columns, p, products, _ = self.counts
        (far, near), (inputs, outputs, updates) = self.offsets, self.channels
        a, b = self.factors
        channel = np.repeat(np.arange(inputs), a // max(1, inputs))
        sizes = [len(far)] * outputs + [len(near)] * min(outputs, updates)
        factor = np.repeat(np.arange(len(sizes)), sizes)[:b]
        pair = (channel[:, None] * len(sizes) + factor).ravel()
        found, first = coefficients.copy(), columns + p
        found[first + np.argsort(pair, kind="stable")] = coefficients[first : first + products]
        return found

    def _local(self, fields: Fields, windows: Windows, rows: np.ndarray | None) -> _Local:
        """Return what is seen at the points `rows`; None: at all points."""
        local, r = self.raw(fields, windows, rows), self.settings
        z, dtype = local.z, local.z.dtype
        z -= self.mean.astype(dtype)[:, None, None]
        z /= self.deviation.astype(dtype)[:, None, None]
        if r.patterns and len(local.of_u):
            self._activate(z, slice(r.width, None), local.of_u[-r.patterns :])
        return local

    def raw(self, fields: Fields, windows: Windows, rows: np.ndarray | None) -> _Local:
        """Return what is seen, with columns that are not standardised, and without patterns yet."""
        (far, near), r, grid = self.offsets, self.settings, windows.grid
        n, dtype = len(fields.u), fields.u.dtype
        R = grid.size if rows is None else len(rows)
        z = np.empty((self._columns, n, R), dtype)
        of_u, of_s = (np.empty((count, n, R), dtype) for count in self.factors)
        box = box_of_offsets(r.products, r.spacing) if len(of_u) else far[:0]
        factors = box_of_offsets(r.factors or r.radius, r.spacing) if len(of_s) else far[:0]
        done, u_done, s_done = 0, 0, 0
        for i in range(fields.u.shape[1]):
            padded = windows.extrapolated(fields.u[:, i], False)
            windows.gather(padded, far, rows, z[done : done + len(far)])
            windows.gather(padded, box, rows, of_u[u_done : u_done + len(box)])
            done, u_done = done + len(far), u_done + len(box)
            if fields.s is None and len(of_s):
                windows.gather(padded, factors, rows, of_s[s_done : s_done + len(factors)])
                s_done += len(factors)
        for potential in fields.potentials(r.potentials, self.training) if len(of_u) else ():
            flat = potential.reshape(n, -1)
            of_u[u_done] = flat if rows is None else flat[:, rows]
            u_done += 1
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
        places = windows.coordinates.T
        z[done:] = (places if rows is None else places[:, rows])[:, None]
        return _Local(z, of_u, of_s)


def activate(values: np.ndarray, activation: str) -> np.ndarray:
    """Apply the activation in place."""
    return np.tanh(values, out=values) if activation == "tanh" else np.maximum(values, 0, out=values)
