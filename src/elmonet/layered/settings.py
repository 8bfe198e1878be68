"""What a layer sees, the settings of its features, and those of a chain: the default and others to try."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from elmonet.layered.grid import Grid, Symmetry
from elmonet.layered.smoothing import Boundary, SmoothingKernel

_HEAT = 0.1  # width of the heat kernel that is tried, in units of the longest axis
_PATTERNS = 16  # random features of the windows of u in products, where they help
_SMOOTHED = 3  # one of so many random features is smoothed too
_RADIUS = 31  # of a window of one axis, at most
_WIDTH = 5000  # random features, for fields of one axis
_WIDTH_OF_MORE = 1500  # and of more axes
_FIRST_NARROWER = 2  # times fewer features in the first layer from zero, for fields of one axis
_WIDTH_OF_SMOOTHING = 300  # and where kernels smooth them: benchmarks/layers.py gains nothing from more
_ROWS_PER_FEATURE = 20  # values per random feature
FEWEST_FEATURES = 50
_ROWS_OF_MORE = (48, 200)  # points of a function of more axes: a quarter of them, but at least and at most
_MOST_ROWS = 200_000  # points of all functions at which a layer is fitted
_FEWEST_ROWS = 8  # points of each function


class Fields(NamedTuple):
    """What a layer sees of n functions on a grid.

    Attributes
    ----------
    u : (n, C, *shape), the input channels.
    s : (n, c, *shape), the prediction so far; None before the first layer.
    updates : what the last layers added to it, (n, c, *shape) each, the latest first.
    """

    u: np.ndarray
    s: np.ndarray | None = None
    updates: tuple[np.ndarray, ...] = ()

    def of(self, rows: slice | np.ndarray) -> Fields:
        """Return some of the functions."""
        s = None if self.s is None else self.s[rows]
        return Fields(self.u[rows], s, tuple(update[rows] for update in self.updates))

    @property
    def single(self) -> Fields:
        """The fields in single precision."""
        s = None if self.s is None else self.s.astype(np.float32)
        return Fields(self.u.astype(np.float32), s, tuple(u.astype(np.float32) for u in self.updates))

    def image(self, symmetry: Symmetry) -> Fields:
        """Return their images under a symmetry."""
        s = None if self.s is None else symmetry(self.s)
        return Fields(symmetry(self.u), s, tuple(symmetry(update) for update in self.updates))

    def potentials(self, kernels: tuple[SmoothingKernel, ...], training: Grid) -> Iterator[np.ndarray]:
        """Yield kernel after kernel of each channel of u and of s, (n, *shape)."""
        for field in (self.u,) if self.s is None else (self.u, self.s):
            for channel in np.moveaxis(field, 1, 0) if kernels else ():
                yield from (kernel(channel, training) for kernel in kernels)

    def after(self, update: np.ndarray, history: int) -> Fields:
        """Return the fields with a layer's update added; the last `history` updates are kept."""
        s = update if self.s is None else self.s + update
        updates = () if self.s is None else (update, *self.updates)[:history]
        return Fields(self.u, s, updates)


class TracedFields(NamedTuple):
    """Numbers of the values that hold what a layer sees: one (M,) for each channel, as in `Fields`."""

    u: list[int]
    s: list[int]
    updates: list[int]


@dataclass(frozen=True)
class LayerSettings:
    """The settings of a layer's features.

    Attributes
    ----------
    radius, spacing : of the windows of u and s, along each axis: 2 radius + 1 values, `spacing` steps of the
        training grid apart.
    near : radius of the windows of the updates.
    products : radius of the windows of u whose products with those of s and of its last update are features;
        empty: no products.
    widths : of the Gaussians that random weights are multiplied by, in units of the domain; 0: flat.
    width : number of random features.
    activation : "tanh" or "relu".
    scale : of the random weights.
    differences : whether the window of s holds differences from its centre.
    history : number of updates that a layer sees.
    kernels : by which products, and the windows of u in them, are smoothed: further features.
    smoothed : number of random features that are smoothed too.
    factors : radius of the windows of s in products; empty: `radius`.
    patterns : number of random features of the windows of u alone that join them in products: what an
        effective coefficient, which depends on a whole window, times a gradient looks like.
    potentials : kernels of u and of s, whose values at the point join the windows of u in products: the
        velocity of a vorticity, the force of a density. Before there is an s, products are those with u.
    """

    radius: tuple[int, ...]
    spacing: tuple[int, ...]
    near: tuple[int, ...]
    products: tuple[int, ...] = ()
    widths: tuple[float, ...] = (0.0,)
    width: int = 800
    activation: str = "relu"
    scale: float = 1.0
    differences: bool = False
    history: int = 2
    kernels: tuple[SmoothingKernel, ...] = ()
    smoothed: int = 0
    factors: tuple[int, ...] = ()
    patterns: int = 0
    potentials: tuple[SmoothingKernel, ...] = ()

    @property
    def reach(self) -> tuple[int, ...]:
        """How far the windows reach, in steps of the training grid, along each axis."""
        return tuple(max(pair) * h for *pair, h in zip(self.radius, self.near, self.spacing, strict=True))


@dataclass(frozen=True)
class Plan:
    """The settings of a chain.

    Attributes
    ----------
    first : settings of the first layer, if the chain starts from zero.
    other : settings of the other layers.
    rows : points per function at which layers are fitted.
    symmetries : that all layers have.
    source : whether layers see a fixed field, see `fit_source`, as a further input channel.
    """

    first: LayerSettings
    other: LayerSettings
    rows: int
    symmetries: tuple[Symmetry, ...] = ()
    source: bool = False

    def rows_of(self, n: int) -> int:
        """Return the points of each of n functions at which a layer is fitted."""
        return max(_FEWEST_ROWS, min(self.rows, _MOST_ROWS // n))

    def settings(self, layers: int, from_zero: bool) -> list[LayerSettings]:
        """Return the settings of each layer."""
        return [self.first if k == 0 and from_zero else self.other for k in range(layers)]

    def with_width(self, width: int, first: int | None = None) -> Plan:
        """Return the plan with this many random features per layer; `first`: in a first layer from zero."""

        def wide(settings: LayerSettings, width: int) -> LayerSettings:
            return replace(settings, width=width, smoothed=width // _SMOOTHED if settings.kernels else 0)

        return replace(self, first=wide(self.first, first or width), other=wide(self.other, width))


def default_plan(grid: Grid, steps: bool = False) -> Plan:
    """Return settings that suit many fields: windows as wide as one axis, small windows of more axes.

    Where outputs are `steps` of fields of more axes, something may be carried along by its own potential.
    """
    d = len(grid.shape)
    if d == 1:
        half = (grid.shape[0] - 1) // 2
        spacing = max(1, round(half / _RADIUS))
        window = (min(_RADIUS, half // spacing),)
        shared: dict[str, Any] = {"activation": "tanh", "history": 2}
        first = LayerSettings(window, (spacing,), window, widths=(0.1, 0.2), scale=0.8, **shared)
        return Plan(first, replace(first, widths=(0.05, 0.1), scale=0.5), rows=48)
    radius, products = ((2,) * d, (1,) * d) if d == 2 else ((1,) * d, (0,) * d)
    box: dict[str, Any] = {"products": products, "factors": products, "differences": True}
    inverse = SmoothingKernel(_boundary(grid, "zero"))
    other = LayerSettings(radius, (1,) * d, (1,) * d, **box, history=2, kernels=(inverse,))
    if steps:  # a gradient needs a wide window, what carries it the value at the point
        carried: dict[str, Any] = {"products": (0,) * d, "factors": radius}
        other = replace(other, potentials=_potentials(inverse), **carried)
    return Plan(other, other, rows=int(np.clip(grid.size // 4, *_ROWS_OF_MORE)))


def _boundary(grid: Grid, border: Boundary) -> tuple[Boundary, ...]:
    """Return the waves along each axis, with those of a border where it is not periodic."""
    return tuple("periodic" if around else border for around in grid.periodic)


def _potentials(kernel: SmoothingKernel) -> tuple[SmoothingKernel, ...]:
    """Return the kernel and its slopes along all axes."""
    return kernel, *(kernel.slope(axis) for axis in range(len(kernel.boundary)))


def default_width(grid: Grid, n: int, smooths: bool) -> tuple[int, int]:
    """Return the random features of a layer fitted to n functions, and of a first layer from zero."""
    one_axis = len(grid.shape) == 1
    most = _WIDTH if one_axis else _WIDTH_OF_SMOOTHING if smooths else _WIDTH_OF_MORE
    width = int(max(FEWEST_FEATURES, min(most, n * grid.size // _ROWS_PER_FEATURE)))
    return width, min(width, most // _FIRST_NARROWER) if one_axis else width


def _both(plan: Plan, **changes: Any) -> Plan:
    return replace(plan, first=replace(plan.first, **changes), other=replace(plan.other, **changes))


def _other_widths(plan: Plan, grid: Grid) -> Iterator[Plan]:
    """Windows of half and of twice the width."""
    widths = np.array(plan.other.widths)
    for factor in (0.5, 2.0):
        yield replace(plan, other=replace(plan.other, widths=tuple((factor * widths).tolist())))


def _other_scale(plan: Plan, grid: Grid) -> Iterator[Plan]:
    yield replace(plan, other=replace(plan.other, scale=2 * plan.other.scale))


def _other_kernels(plan: Plan, grid: Grid) -> Iterator[Plan]:
    """No smoothing, and that with zero slopes at borders."""
    yield _both(plan, kernels=(), factors=(), history=4)
    if not all(grid.periodic):
        free = SmoothingKernel(_boundary(grid, "free"))
        yield _both(plan, kernels=(free,), potentials=_potentials(free) if plan.other.potentials else ())


def _more_kernels(plan: Plan, grid: Grid) -> Iterator[Plan]:
    """Further kernels: slopes along each axis, or a heat kernel."""
    if known := plan.other.kernels:
        yield _both(plan, kernels=(*known, *(known[0].slope(axis) for axis in range(len(grid.shape)))))
        yield _both(plan, kernels=(*known, SmoothingKernel(known[0].boundary, 0.0, width=_HEAT)))


def _no_potentials(plan: Plan, grid: Grid) -> Iterator[Plan]:
    if plan.other.potentials:
        yield replace(default_plan(grid), symmetries=plan.symmetries, source=plan.source)


def _with_patterns(plan: Plan, grid: Grid) -> Iterator[Plan]:
    """Effective coefficients, which depend on the window, in products."""
    if plan.other.kernels:
        yield _both(plan, patterns=_PATTERNS)


def _other_spacing(plan: Plan, grid: Grid) -> Iterator[Plan]:
    for h in (2, 4):
        if h <= min(grid.shape) // 8:
            yield _both(plan, spacing=(h,) * len(grid.shape))


def _smooth_activation(plan: Plan, grid: Grid) -> Iterator[Plan]:
    yield _both(plan, activation="tanh", scale=0.5)


# For each setting in turn, the plans in which it is changed.
CHANGES_OF_ONE = (_other_widths, _other_scale)
CHANGES_OF_MORE = (
    _no_potentials,
    _other_kernels,
    _more_kernels,
    _other_spacing,
    _smooth_activation,
    _with_patterns,
)
