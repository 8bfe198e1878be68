"""A chain of layers, fitted layer by layer, with its error on functions held out of all of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from elmonet.errors import InputError
from elmonet.layered.grid import Grid, Symmetry
from elmonet.layered.layer import Layer, LayerSamples, fit_layer
from elmonet.layered.settings import Fields, LayerSettings
from elmonet.layered.source import fit_source
from elmonet.layered.windows import resampled
from elmonet.metrics import function_norms, output_sizes, reference_norms, relative_l2

_HELD_OUT_SHARE = 0.15  # of the functions
_MIN_FUNCTIONS = 8
_GAIN = 0.98  # error after a layer, relative to before: one that gains less is the last
_LEAST_GAIN = 0.02  # of the error before all layers: one that smooths and gains less is the last, too
_SCOUT = 8  # times narrower than a layer, fitted at half the points: whether the layer is worth its time
_HOPELESS = 1.0  # error of a scout, relative to before, that ends the chain


@dataclass(frozen=True)
class LayerRecord:
    """The account of one layer: error of held-out functions after it, seconds, features, ridge."""

    error: float
    seconds: float
    features: int
    alpha: float


@dataclass(frozen=True)
class LayerData:
    """Training functions on a grid: inputs u (N, C, *shape) and outputs s (N, c, *shape), of order 1.

    `first` (N, c, *shape) are left-out predictions of a global model; None to start from nothing.
    Functions with the same number in `groups` (N,) belong together. `units` (c,) are the sizes of components
    in the user's units, in which errors are stated; None if they count alike.
    """

    grid: Grid
    u: np.ndarray
    s: np.ndarray
    first: np.ndarray | None = None
    groups: np.ndarray | None = None
    units: np.ndarray | None = None

    def in_units(self, states: np.ndarray) -> np.ndarray:
        """Return outputs (n, c, *shape) in the units in which errors are stated."""
        return states if self.units is None else states * self.units.reshape(-1, *[1] * len(self.grid.shape))

    def of(self, rows: np.ndarray) -> LayerData:
        """Return some of the functions."""
        first = None if self.first is None else self.first[rows]
        groups = None if self.groups is None else np.unique(self.groups[rows], return_inverse=True)[1]
        return LayerData(self.grid, self.u[rows], self.s[rows], first, groups, self.units)


@dataclass(frozen=True)
class Chain:
    """Layers applied in turn, with the account of each.

    `errors` (n,) are those of the held-out functions after the last layer. `source` (., *shape) is a field on
    the training grid that layers see as further input channels, see `fit_source`; None if there is none.
    """

    layers: tuple[Layer, ...]
    records: tuple[LayerRecord, ...]
    errors: np.ndarray | None = None
    source: np.ndarray | None = None

    @property
    def error(self) -> float:
        """Error of the held-out functions after the last layer."""
        return self.records[-1].error if self.records else np.inf

    @property
    def least_error(self) -> float:
        """Error of the held-out functions after the best of the layers, where a full chain would end."""
        return min((record.error for record in self.records), default=np.inf)

    @property
    def sees_far(self) -> bool:
        """Whether a layer holds kernels, which know where the domain ends."""
        settings = [layer.features.settings for layer in self.layers]
        return any(own.kernels or own.potentials for own in settings)

    def __call__(self, u: np.ndarray, first: np.ndarray | None, grid: Grid) -> np.ndarray:
        """Return outputs (n, c, *shape) on a grid, for inputs u (n, C, *shape) and first predictions."""
        return self.with_last_update(u, first, grid)[0]

    def with_last_update(
        self, u: np.ndarray, first: np.ndarray | None, grid: Grid, *, fast: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the outputs and the update of the last layer; `fast` as in `Layer.update`."""
        return self.apply(self.fields(u, first, grid), grid, fast=fast)

    def fields(self, u: np.ndarray, first: np.ndarray | None, grid: Grid) -> Fields:
        """Return what the first layer sees, with the source among the input channels."""
        if self.source is None:
            return Fields(u, first)
        training = self.layers[0].features.training
        source = self.source if grid == training else resampled(self.source, training, grid)
        return Fields(with_source(u, source), first)

    def apply(self, fields: Fields, grid: Grid, *, fast: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Apply the layers to what the first one sees; return the outputs and the last update."""
        update = None
        for layer in self.layers:
            update = layer.update(fields, grid, fast=fast)
            fields = fields.after(update, layer.features.settings.history)
        assert fields.s is not None
        return fields.s, np.zeros_like(fields.s) if update is None else update


def with_source(u: np.ndarray, source: np.ndarray) -> np.ndarray:
    """Return input channels (n, C, *shape), followed by those of a field that all functions share."""
    return np.concatenate([u, np.broadcast_to(source, (len(u), *source.shape))], axis=1)


def held_out_of(n: int, seed: int, groups: np.ndarray | None = None) -> np.ndarray:
    """Return which of n functions (n,) are held out of all layers, in whole groups."""
    if n < _MIN_FUNCTIONS:
        raise InputError(
            f"layers need at least {_MIN_FUNCTIONS} functions, some of them to be held out; got {n}."
        )
    groups = (
        np.arange(n) if groups is None or np.ptp(groups) == 0 else np.unique(groups, return_inverse=True)[1]
    )
    count = np.bincount(groups)
    order = np.random.default_rng(seed).permutation(len(count))
    enough = int(np.searchsorted(np.cumsum(count[order]), round(_HELD_OUT_SHARE * n))) + 1
    return np.isin(groups, order[:enough])


def error_before(data: LayerData, seed: int) -> float:
    """Return the error of the first model's left-out predictions on the functions held out of all layers."""
    out = held_out_of(len(data.u), seed, data.groups)
    return np.inf if data.first is None else relative_l2(*map(data.in_units, (data.first[out], data.s[out])))


def fit_chain(
    data: LayerData,
    settings: list[LayerSettings],
    seed: int,
    *,
    rows: int,
    images: tuple[Symmetry, ...] = (),
    source: bool = False,
    all_layers: bool = False,
    deadline: float = np.inf,
    limit: float = np.inf,
    tell: Any = None,
) -> Chain:
    """Fit layer after layer until held-out functions no longer gain.

    Some functions are held out of all layers; the errors are theirs. The layers are not refitted with them
    afterwards: a later layer corrects the errors of these earlier ones, not those of refitted layers. Without
    `all_layers`, the chain ends where a layer gains little of the error before it, or, if it smooths, of the
    error before all layers (from nothing, after the first): the first ones gain nearly all, all take as long.
    Where the error exceeds `limit`, no layer follows; nor one that would end after the deadline if it took
    as long as the last.
    """
    truth = data.s.reshape(len(data.s), -1)
    sizes = reference_norms(function_norms(truth))
    held_out = held_out_of(len(truth), seed, data.groups)
    norms, rest = sizes[held_out], ~held_out
    u, fixed = data.u, fit_source(data.u[rest], data.s[rest], data.grid, settings[-1]) if source else None
    fields = Fields(u if fixed is None else with_source(u, fixed), data.first)
    held, fields = fields.of(held_out), fields.of(rest)
    layers: list[Layer] = []
    records: list[LayerRecord] = []

    def error(s: np.ndarray | None) -> float:
        if s is None:
            return np.inf
        return float(np.mean(function_norms(s.reshape(-1, truth.shape[1]) - truth[held_out]) / norms))

    def stated_errors(s: np.ndarray) -> np.ndarray:
        true = data.s[held_out]
        residuals, true = (data.in_units(A).reshape(len(true), -1) for A in (s - true, true))
        return np.asarray(function_norms(residuals) / output_sizes(true))

    last_errors, took = None, 0.0
    before = start = error(held.s)
    for k, setting in enumerate(settings):
        begin = perf_counter()
        if k > 0 and (begin + took > deadline or before > limit):
            break
        points = min(rows, data.grid.size)
        seen = LayerSamples(fields, data.s[rest], sizes[rest]), LayerSamples(held, data.s[held_out], norms)
        if k > 0 and not all_layers and not setting.kernels:
            narrow = replace(setting, width=max(1, setting.width // _SCOUT))
            scout = fit_layer(narrow, seed + 1 + k, data.grid, *seen, max(1, points // 2))
            if error(held.after(scout.update(held, data.grid), 0).s) > _HOPELESS * before:
                break
        layer = fit_layer(setting, seed + 1 + k, data.grid, *seen, points, images)
        after = held.after(layer.update(held, data.grid, fast=True), setting.history)
        now = error(after.s)
        if not all_layers and now >= before:
            break
        layers.append(layer)
        assert after.s is not None
        last_errors = stated_errors(after.s)
        start = now if start == np.inf else start
        least = _LEAST_GAIN * start if setting.kernels and k > 0 else 0.0
        gained = now < _GAIN * before and before - now >= least
        going = k + 1 < len(settings) and (all_layers or gained)
        if going:
            held, before = after, now
            fields = fields.after(layer.update(fields, data.grid, fast=True), setting.history)
        took, stated = perf_counter() - begin, float(np.mean(last_errors))
        records.append(LayerRecord(stated, took, len(layer.coefficients), layer.alpha))
        if tell is not None:
            tell(records[-1])
        if not going:
            break
    return Chain(tuple(layers), tuple(records), last_errors, fixed)
