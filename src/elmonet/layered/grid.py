"""Symmetries that an operator may have: images of a function whose outputs are the images of its outputs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from elmonet.errors import InputError
from elmonet.interpolation import as_grid, grid_points

__all__ = ["Grid", "Symmetry", "find_grid", "find_periodic", "symmetries_of"]

_UNIFORM = 1e-3  # part of a step by which points of a uniform axis may be off
_SAME = 1e-5  # part of a field's size by which its two ends may differ
_SEAM = 2.0  # times rougher than inside: more is a border


@dataclass(frozen=True)
class Grid:
    """A uniform grid of d axes, on which layers compute.

    On a periodic axis whose both ends are given, the last point repeats the first; layers leave it out.

    Attributes
    ----------
    start, step : (d,), the first point and the distance of neighbours, along each axis.
    given : points along each axis, as the data have them.
    periodic : whether the fields go on at the other end, along each axis.
    repeats : whether the last point is the first one again, along each axis.
    """

    start: tuple[float, ...]
    step: tuple[float, ...]
    given: tuple[int, ...]
    periodic: tuple[bool, ...]
    repeats: tuple[bool, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Points along each axis, without repeated ones."""
        return tuple(n - twice for n, twice in zip(self.given, self.repeats, strict=True))

    @property
    def size(self) -> int:
        """How many points."""
        return prod(self.shape)

    @property
    def axes(self) -> list[np.ndarray]:
        """The coordinates along each axis, without repeated points."""
        return [x + h * np.arange(n) for x, h, n in zip(self.start, self.step, self.shape, strict=True)]

    @property
    def points(self) -> np.ndarray:
        """All points (M, d) as the data have them."""
        parts = zip(self.start, self.step, self.given, strict=True)
        return grid_points([x + h * np.arange(n) for x, h, n in parts])

    @property
    def exchanged(self) -> Grid:
        """The same grid with its axes in the opposite order."""
        start, step, given = self.start[::-1], self.step[::-1], self.given[::-1]
        return Grid(start, step, given, self.periodic[::-1], self.repeats[::-1])

    def without_repeats(self, fields: np.ndarray) -> np.ndarray:
        """Fields (..., *given) as (..., *shape)."""
        first = fields.ndim - len(self.given)
        for axis, n in enumerate(self.shape):
            fields = fields.take(np.arange(n), axis=first + axis) if self.repeats[axis] else fields
        return fields

    def with_repeats(self, fields: np.ndarray) -> np.ndarray:
        """Fields (..., *shape) as (..., *given)."""
        first = fields.ndim - len(self.given)
        for axis, n in enumerate(self.shape):
            if self.repeats[axis]:
                fields = fields.take(np.arange(n + 1) % n, axis=first + axis)
        return fields

    def covers(self, points: np.ndarray) -> bool:
        """Whether points (M, d) are a grid of the same domain."""
        try:
            self.of_same_domain(points)
        except InputError:
            return False
        return True

    def of_same_domain(self, points: np.ndarray) -> tuple[Grid, np.ndarray]:
        """Another resolution of the same domain, and the order that sorts its points."""
        axes, order = _uniform_axes(points, "points")
        for axis, h, x, n, around in zip(axes, self.step, self.start, self.given, self.periodic, strict=True):
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
        start = tuple(float(axis[0]) for axis in axes)
        step = tuple(_step(axis) for axis in axes)
        given = tuple(len(axis) for axis in axes)
        # The period is the training grid's: whether the last point closes it follows.
        repeats = tuple(
            around and abs(fine * m - h * coarse) < 0.5 * fine
            for around, fine, m, h, coarse in zip(
                self.periodic, step, (n - 1 for n in given), self.step, self.shape, strict=True
            )
        )
        other = Grid(start, step, given, self.periodic, repeats)
        for around, fine, m, h, n in zip(
            self.periodic, step, other.shape, self.step, self.shape, strict=True
        ):
            if around and abs(fine * m - h * n) > _UNIFORM * h * n:
                raise InputError(
                    f"the period of this model is {h * n:g}; a periodic grid of step {fine:g} with {m} "
                    f"points has {fine * m:g}. Give the points of one whole period."
                )
        return other, order


def find_grid(points: np.ndarray) -> tuple[Grid, np.ndarray]:
    """The grid that points (M, d) form, not periodic yet, and the order that sorts them."""
    axes, order = _uniform_axes(points, "points")
    no = (False,) * len(axes)
    steps = tuple(_step(axis) for axis in axes)
    return Grid(tuple(float(a[0]) for a in axes), steps, tuple(len(a) for a in axes), no, no), order


def find_periodic(grid: Grid, fields: np.ndarray, periodic: bool | None) -> Grid:
    """The grid, periodic along the axes where all fields (N, C, *given) are, or as is said."""
    d = len(grid.given)
    whole = [_closes(fields, 2 + axis) for axis in range(d)]
    if periodic is None:
        around = tuple(_goes_on(fields, 2 + axis, whole[axis]) for axis in range(d))
    else:
        around = (bool(periodic),) * d
    repeats = tuple(a and w for a, w in zip(around, whole, strict=True))
    return Grid(grid.start, grid.step, grid.given, around, repeats)


def _closes(fields: np.ndarray, axis: int) -> bool:
    """Whether the last values along an axis are the first ones again."""
    moved = np.moveaxis(fields, axis, -1)
    size = np.abs(moved).max(axis=tuple(i for i in range(moved.ndim) if i != 1), keepdims=True)
    return bool(np.all(np.abs(moved[..., 0] - moved[..., -1]) <= _SAME * size[..., 0]))


def _goes_on(fields: np.ndarray, axis: int, closed: bool) -> bool:
    """Whether every channel is as smooth across the ends of an axis as inside.

    Second differences f_(i-1) - 2 f_i + f_(i+1), in the root mean square over functions: those that reach
    across the ends against the largest of those inside. A border where fields vanish joins values, but not
    slopes; a border elsewhere joins neither.
    """
    f = np.moveaxis(fields, axis, -1)
    f = f[..., :-1] if closed else f
    if f.shape[-1] < 8:
        return False
    rough = np.sqrt(np.mean((np.roll(f, 1, -1) - 2 * f + np.roll(f, -1, -1)) ** 2, axis=0))  # (C, ..., n)
    rough = np.sqrt(np.mean(rough**2, axis=tuple(range(1, rough.ndim - 1))))  # (C, n)
    inside = rough[:, 1:-1].max(axis=1)
    return bool(np.all(rough[:, [0, -1]].max(axis=1) <= _SEAM * inside))


def _uniform_axes(points: np.ndarray, name: str) -> tuple[list[np.ndarray], np.ndarray]:
    axes, order = as_grid(points)
    if axes is None:
        raise InputError(
            f"layers need fields on a grid, but these {len(points)} {name} do not form one. Use "
            "elmonet.resample to get functions on a grid, or ELMDeepONet, which takes any points."
        )
    for axis in axes:
        if len(axis) > 1 and np.ptp(np.diff(axis)) > _UNIFORM * _step(axis):
            raise InputError(
                f"layers need a uniform grid; along one axis the steps of these {name} go from "
                f"{np.diff(axis).min():g} to {np.diff(axis).max():g}. Use elmonet.resample to get functions "
                "on a uniform grid."
            )
    return axes, order


def _step(axis: np.ndarray) -> float:
    return float((axis[-1] - axis[0]) / max(1, len(axis) - 1)) or 1.0


@dataclass(frozen=True)
class Symmetry:
    """One axis reversed, or two axes exchanged, and perhaps values times -1: each its own inverse.

    If G(T u) = T G(u), the images of training functions under T are training functions too. Shifts along
    periodic axes are no matter here: every layer has them built in.
    """

    reversed: tuple[bool, ...]
    exchanged: bool = False
    sign: int = 1

    def __call__(self, fields: np.ndarray) -> np.ndarray:
        """Of fields (n, c, *shape)."""
        axes = tuple(2 + axis for axis, back in enumerate(self.reversed) if back)
        fields = np.flip(fields, axes) if axes else fields
        fields = np.swapaxes(fields, -1, -2) if self.exchanged else fields
        return -fields if self.sign < 0 else fields

    def __str__(self) -> str:
        words = [f"axis {axis + 1} reversed" for axis, back in enumerate(self.reversed) if back]
        words += ["axes exchanged"] if self.exchanged else []
        words += ["values times -1"] if self.sign < 0 else []
        return ", ".join(words)


def symmetries_of(grid: Grid) -> list[Symmetry]:
    """The symmetries that are worth a test on a grid, each by itself."""
    d = len(grid.shape)
    square = d == 2 and grid.shape[0] == grid.shape[1]
    flips = [tuple(axis == i for axis in range(d)) for i in range(d)]
    found = [Symmetry(flip, sign=sign) for flip, sign in product(flips, (1, -1))]
    if square:
        found.append(Symmetry((False,) * d, exchanged=True))
    return [*found, Symmetry((False,) * d, sign=-1)]
