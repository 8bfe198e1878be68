"""Uniform grids, periodic or not, and the symmetries that an operator on a grid may have."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from math import prod

import numpy as np

from elmonet.errors import InputError
from elmonet.interpolation import as_grid, grid_points

_STEP_TOLERANCE = 1e-3  # relative deviation of the steps of a uniform axis
_END_TOLERANCE = 1e-5  # difference of the two ends of a periodic field, relative to its size
_SEAM_ROUGHNESS = 2.0  # fields that are rougher by this factor across the ends than inside have a border
_FEWEST_FOR_SEAM = 8  # points along an axis that it takes to tell


@dataclass(frozen=True)
class Grid:
    """A uniform grid of d axes, on which layers compute.

    If both ends of a periodic axis are given, the last point repeats the first, and layers leave it out.

    Attributes
    ----------
    start, step : (d,), the first point and the step along each axis.
    given : points along each axis, as in the data.
    periodic : whether the fields are periodic along each axis.
    repeats : whether the last point along each axis repeats the first.
    """

    start: tuple[float, ...]
    step: tuple[float, ...]
    given: tuple[int, ...]
    periodic: tuple[bool, ...]
    repeats: tuple[bool, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Points along each axis, without repeated points."""
        return tuple(n - twice for n, twice in zip(self.given, self.repeats, strict=True))

    @property
    def size(self) -> int:
        """The number of points, without repeated ones."""
        return prod(self.shape)

    @property
    def axes(self) -> list[np.ndarray]:
        """The coordinates along each axis, without repeated points."""
        return [x + h * np.arange(n) for x, h, n in zip(self.start, self.step, self.shape, strict=True)]

    @property
    def points(self) -> np.ndarray:
        """All points (M, d), as in the data."""
        parts = zip(self.start, self.step, self.given, strict=True)
        return grid_points([x + h * np.arange(n) for x, h, n in parts])

    @property
    def exchanged(self) -> Grid:
        """The same grid with its axes in the opposite order."""
        start, step, given = self.start[::-1], self.step[::-1], self.given[::-1]
        return Grid(start, step, given, self.periodic[::-1], self.repeats[::-1])

    def without_repeats(self, fields: np.ndarray) -> np.ndarray:
        """Return fields (..., *given) as (..., *shape)."""
        first = fields.ndim - len(self.given)
        for axis, n in enumerate(self.shape):
            fields = fields.take(np.arange(n), axis=first + axis) if self.repeats[axis] else fields
        return fields

    def with_repeats(self, fields: np.ndarray) -> np.ndarray:
        """Return fields (..., *shape) as (..., *given)."""
        first = fields.ndim - len(self.given)
        for axis, n in enumerate(self.shape):
            if self.repeats[axis]:
                fields = fields.take(np.arange(n + 1) % n, axis=first + axis)
        return fields

    def of_same_domain(self, points: np.ndarray) -> tuple[Grid, np.ndarray]:
        """Return the grid that points (M, d) of the same domain form, and the order that sorts them."""
        grid, order = find_grid(points)
        for axis, h, x, n, around in zip(
            grid.axes, self.step, self.start, self.given, self.periodic, strict=True
        ):
            end = x + h * (n - 1)
            if (
                axis[0] < x - 1.01 * h
                or axis[-1] > end + 1.01 * h
                or (not around and (axis[0] > x + 1.01 * h or axis[-1] < end - 1.01 * h))
            ):
                raise InputError(
                    f"a layered model works on grids of the domain it was trained on, {x:g} to {end:g} along "
                    f"this axis; these points go from {axis[0]:g} to {axis[-1]:g}."
                )
        # The period is that of the training grid; whether the last point repeats the first follows from it.
        periods = [h * n for h, n in zip(self.step, self.shape, strict=True)]
        repeats = tuple(
            around and abs(step * (n - 1) - period) < 0.5 * step
            for around, step, n, period in zip(self.periodic, grid.step, grid.given, periods, strict=True)
        )
        grid = replace(grid, periodic=self.periodic, repeats=repeats)
        for around, step, n, period in zip(self.periodic, grid.step, grid.shape, periods, strict=True):
            if around and abs(step * n - period) > _STEP_TOLERANCE * period:
                raise InputError(
                    f"the period of this model is {period:g}; a periodic grid of step {step:g} with {n} "
                    f"points has {step * n:g}. Give the points of one whole period."
                )
        return grid, order

    def within(self, training: Grid) -> Grid:
        """Return the grid itself, or one like it that spans just the domain of the training grid.

        Points beyond that are left out. Where the others do not end where it ends, steps change a little.
        """
        axes = []
        for x, h, n, low, step, count, around in zip(
            self.start, self.step, self.given, training.start, training.step, training.given, self.periodic,
            strict=True,
        ):  # fmt: skip
            length, off = step * (count - 1) / h, (low - x) / h
            steps = max(1, round(length))
            aligned = max(abs(length - steps), abs(off - round(off))) < _STEP_TOLERANCE
            spans = aligned and round(off) == 0 and steps == n - 1
            axes.append(
                (x, h, n) if around or spans else (low, h if aligned else h * length / steps, steps + 1)
            )
        start, step, given = map(tuple, zip(*axes, strict=True))
        return replace(self, start=start, step=step, given=given)


def find_grid(points: np.ndarray) -> tuple[Grid, np.ndarray]:
    """Return the grid that points (M, d) form, not periodic yet, and the order that sorts them.

    Raises `InputError` if they form none, or one that is not uniform.
    """
    axes, order = as_grid(points)
    if axes is None:
        raise InputError(
            f"layers need fields on a grid, but these {len(points)} points do not form one. Use "
            "elmonet.resample to get functions on a grid, or ELMDeepONet, which takes any points."
        )
    steps = tuple(float((axis[-1] - axis[0]) / max(1, len(axis) - 1)) or 1.0 for axis in axes)
    for axis, step in zip(axes, steps, strict=True):
        if len(axis) > 1 and np.ptp(np.diff(axis)) > _STEP_TOLERANCE * step:
            raise InputError(
                "layers need a uniform grid; along one axis, the steps of these points go from "
                f"{np.diff(axis).min():g} to {np.diff(axis).max():g}. Use elmonet.resample to get functions "
                "on a uniform grid."
            )
    no = (False,) * len(axes)
    return Grid(tuple(float(a[0]) for a in axes), steps, tuple(len(a) for a in axes), no, no), order


def find_periodic(grid: Grid, fields: np.ndarray, periodic: bool | None) -> Grid:
    """Return the grid, periodic where all fields (N, C, *given) are, or along all axes or none as given."""
    d = len(grid.given)
    closed = [_ends_agree(fields, 2 + axis) for axis in range(d)]
    if periodic is None:
        around = tuple(_smooth_across_ends(fields, 2 + axis, closed[axis]) for axis in range(d))
    else:
        around = (bool(periodic),) * d
    return replace(grid, periodic=around, repeats=tuple(a and c for a, c in zip(around, closed, strict=True)))


def _ends_agree(fields: np.ndarray, axis: int) -> bool:
    """Whether the last values along an axis repeat the first."""
    moved = np.moveaxis(fields, axis, -1)
    size = np.abs(moved).max(axis=tuple(i for i in range(moved.ndim) if i != 1), keepdims=True)
    return bool(np.all(np.abs(moved[..., 0] - moved[..., -1]) <= _END_TOLERANCE * size[..., 0]))


def _smooth_across_ends(fields: np.ndarray, axis: int, closed: bool) -> bool:
    """Whether every channel is as smooth across the ends of an axis as inside.

    Compares second differences f_(i-1) - 2 f_i + f_(i+1), as root mean squares over functions: those across
    the ends against the largest inside. At a border where fields vanish, values agree but slopes do not; at
    other borders, neither does.
    """
    f = np.moveaxis(fields, axis, -1)
    f = f[..., :-1] if closed else f
    if f.shape[-1] < _FEWEST_FOR_SEAM:
        return False
    rough = np.sqrt(np.mean((np.roll(f, 1, -1) - 2 * f + np.roll(f, -1, -1)) ** 2, axis=0))  # (C, ..., n)
    rough = np.sqrt(np.mean(rough**2, axis=tuple(range(1, rough.ndim - 1))))  # (C, n)
    inside = rough[:, 1:-1].max(axis=1)
    return bool(np.all(rough[:, [0, -1]].max(axis=1) <= _SEAM_ROUGHNESS * inside))


@dataclass(frozen=True)
class Symmetry:
    """A reflection: an axis reversed or two axes exchanged, and values perhaps times -1; its own inverse.

    If G(T u) = T G(u), the images of training functions under T are training functions too. Shifts along
    periodic axes are not among them: every layer commutes with them by construction.
    """

    reversed: tuple[bool, ...]
    exchanged: bool = False
    sign: int = 1

    def __call__(self, fields: np.ndarray) -> np.ndarray:
        """Return the image of fields (n, c, *shape)."""
        axes = tuple(2 + axis for axis, back in enumerate(self.reversed) if back)
        fields = np.flip(fields, axes) if axes else fields
        fields = np.swapaxes(fields, -1, -2) if self.exchanged else fields
        return -fields if self.sign < 0 else fields

    def after(self, other: Symmetry) -> Symmetry | None:
        """Return the product with another; None if it is no reflection, or depends on their order."""
        back = self.reversed[::-1] if other.exchanged else self.reversed
        there = other.reversed[::-1] if self.exchanged else other.reversed
        exchanged = self.exchanged != other.exchanged
        flips = tuple(a != b for a, b in zip(other.reversed, back, strict=True))
        if flips != tuple(a != b for a, b in zip(self.reversed, there, strict=True)):
            return None
        return Symmetry(flips, exchanged, self.sign * other.sign)

    def __str__(self) -> str:
        parts = [f"axis {axis + 1} reversed" for axis, back in enumerate(self.reversed) if back]
        parts += ["axes exchanged"] if self.exchanged else []
        parts += ["values times -1"] if self.sign < 0 else []
        return ", ".join(parts)


def symmetries_of(grid: Grid) -> list[Symmetry]:
    """Return the symmetries to test on a grid, each by itself."""
    d = len(grid.shape)
    square = d == 2 and grid.shape[0] == grid.shape[1] and grid.periodic[0] == grid.periodic[1]
    flips = [tuple(axis == i for axis in range(d)) for i in range(d)]
    found = [Symmetry(flip, sign=sign) for flip, sign in product(flips, (1, -1))]
    if square:
        found.append(Symmetry((False,) * d, exchanged=True))
    return [*found, Symmetry((False,) * d, sign=-1)]
