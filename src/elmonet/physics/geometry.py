"""Boxes with named coordinates, domains of any form, and the points at which equations are asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from elmonet.checks import coordinates
from elmonet.errors import InputError
from elmonet.interpolation import grid_points

__all__ = ["Box", "Domain", "Part", "check_names", "check_points"]

_PLACE = re.compile(r"\s*(\w+)\s*=\s*([-+.\deE]+)\s*")


@dataclass(frozen=True)
class Part:
    """Points (M, d) of a domain, and outward normals (M, d) if they are on its boundary, and known."""

    points: np.ndarray
    normals: np.ndarray | None = None


class Box:
    """A box of one to three named coordinates: ``Box(x=(0, 1), t=(0, 1))``.

    The names are those of the derivatives, ``s.x``, ``s.xt``: so each is one letter.

    Parameters
    ----------
    ends : the two ends of each coordinate.
    periodic : the letters of coordinates whose two ends are the same place, as "x".
    """

    def __init__(self, *, periodic: str = "", **ends: tuple[float, float]):
        if not 1 <= len(ends) <= 3:
            raise InputError(f"a Box has one to three coordinates, such as Box(x=(0, 1)); got {len(ends)}.")
        check_names(tuple(ends))
        for name, pair in ends.items():
            if np.shape(pair) != (2,) or not (np.isfinite(pair).all() and pair[0] < pair[1]):
                raise InputError(f"{name} must go from a lower to a higher number, got {pair}.")
        if set(periodic) - set(ends):
            raise InputError(f"periodic names coordinates of the box, {', '.join(ends)}; got {periodic!r}.")
        self.names = tuple(ends)
        self.low, self.high = (np.array([pair[i] for pair in ends.values()], float) for i in (0, 1))
        self.periodic = tuple(name in periodic for name in self.names)

    def __repr__(self) -> str:
        pairs = zip(self.names, self.low, self.high, strict=True)
        ends = [f"{name}=({low:g}, {high:g})" for name, low, high in pairs]
        waves = "".join(name for name, own in zip(self.names, self.periodic, strict=True) if own)
        return f"Box({', '.join(ends + ([f'periodic={waves!r}'] if waves else []))})"

    @property
    def corners(self) -> np.ndarray:
        """The lowest and the highest corner, (2, d)."""
        return np.stack([self.low, self.high])

    @property
    def around(self) -> np.ndarray:
        """The corners of the box in whose polynomials functions are written: its own."""
        return self.corners

    def between(self, axis: int, low: float, high: float) -> Box:
        """The part of the box with coordinate `axis` between the numbers `low` and `high`."""
        ends: dict[str, Any] = dict(zip(self.names, self.corners.T, strict=True))
        ends[self.names[axis]] = (low, high)
        return Box(
            periodic="".join(n for n, own in zip(self.names, self.periodic, strict=True) if own), **ends
        )

    def inside(self, degrees: tuple[int, ...], more: int = 3) -> Part:
        """A grid of Gauss points, denser towards the faces, of uniform ones along periodic coordinates.

        There are `more` points than functions of the degrees in each coordinate.
        """
        return Part(grid_points(self._axes(degrees, more)))

    def part(self, name: str, degrees: tuple[int, ...], more: int = 3) -> Part:
        """Points on a face, with a name as "x=0", or on an edge, "x=0, y=0".

        `degrees`, `more`: see `inside`.
        """
        fixed = self.fixed(name)
        axes = self._axes(degrees, more)
        for j, value in fixed.items():
            axes[j] = np.array([value])
        points, normals = grid_points(axes), None
        if len(fixed) == 1:
            ((j, value),) = fixed.items()
            normals = np.zeros_like(points)
            normals[:, j] = np.where(value == self.high[j], 1.0, -1.0)
        return Part(points, normals)

    def fixed(self, name: str) -> dict[int, float]:
        """The coordinates that have one value on the part `name`, with their values."""
        found = {}
        for own in str(name).split(","):
            place = _PLACE.fullmatch(own)
            if not place or place[1] not in self.names:
                raise InputError(
                    f'a condition belongs to a face, such as "{self.names[0]}={self.low[0]:g}"; got {name!r}.'
                )
            j, value = self.names.index(place[1]), float(place[2])
            ends = (self.low[j], self.high[j])
            near = [float(end) for end in ends if np.isclose(value, end, atol=1e-9 * (ends[1] - ends[0]))]
            if not near:
                raise InputError(
                    f"{name!r} is not a face of {self!r}: {place[1]} is {ends[0]:g} or {ends[1]:g} there."
                )
            if self.periodic[j]:
                raise InputError(
                    f"{name!r} is not a face of {self!r}: it has no ends in {place[1]}, which is periodic. "
                    "Remove this condition."
                )
            found[j] = near[0]
        return found

    def grid(self, count: int) -> np.ndarray:
        """A uniform grid with `count` points in each coordinate, the ends included."""
        return grid_points([np.linspace(low, high, count) for low, high in self.corners.T])

    def _axes(self, degrees: tuple[int, ...], more: int) -> list[np.ndarray]:
        axes = []
        for n, low, high, waves in zip(degrees, self.low, self.high, self.periodic, strict=True):
            count = n + 1 + more
            unit = np.arange(count) / count if waves else (1 + np.polynomial.legendre.leggauss(count)[0]) / 2
            axes.append(low + (high - low) * unit)
        return axes


def check_points(domain: Any, points: np.ndarray) -> None:
    """Nothing is known outside a box, or the box around a domain."""
    low, high = domain.corners
    room = 1e-9 * (high - low)
    outside = ((points < low - room) | (points > high + room)) & ~np.array(domain.periodic)
    if outside.any():
        row = int(np.flatnonzero(outside.any(axis=1))[0])
        raise InputError(
            f"points must lie in the domain, {', '.join(domain.names)} from {_numbers(low)} to "
            f"{_numbers(high)}; row {row} is {_numbers(points[row])}."
        )


def _numbers(values: np.ndarray) -> str:
    return f"({', '.join(f'{own:g}' for own in values)})"


def check_names(names: tuple[str, ...]) -> None:
    """Coordinates are letters, other than those of the functions."""
    for name in names:
        if len(name) != 1 or name in "sun" or not name.isalpha():
            raise InputError(
                f"a coordinate is named by one letter other than s, u and n, such as x or t; got {name!r}."
            )


_AROUND = 0.15  # of the bounding box, on each side


class Domain:
    """A domain given by points inside it and on its boundary.

    Parameters
    ----------
    inside : (M, d), where the equation must hold; spread evenly, and several times as many as polynomials.
    boundary : points (m, d) by the name of each part of the boundary, as ``{"wall": ..., "inlet": ...}``.
    normals : outward unit normals (m, d) by the same names, for conditions with ``nx``, ``ny``; may be left
        out.
    names : the letters of the coordinates, one for each column.

    Examples
    --------
    >>> angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    >>> circle = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> inside = np.concatenate([r * circle for r in (0.1, 0.3, 0.5, 0.7, 0.9)])
    >>> Domain(inside, {"circle": circle}, {"circle": circle})
    Domain of 300 points inside, 'circle' of 60
    """

    def __init__(
        self,
        inside: Any,
        boundary: Mapping[str, Any],
        normals: Mapping[str, Any] | None = None,
        names: str | None = None,
    ):
        self._inside = coordinates(inside)
        d = self._inside.shape[1]
        self.names = tuple("xyz"[:d] if names is None else names)
        check_names(self.names)
        if len(self.names) != d:
            raise InputError(f"names must hold one letter for each of the {d} coordinates, got {names!r}.")
        self.boundary = {name: coordinates(points, dimension=d) for name, points in boundary.items()}
        self.normals = {}
        for name, own in (normals or {}).items():
            if name not in self.boundary or np.shape(own) != self.boundary[name].shape:
                raise InputError(
                    f"normals must have the names and shapes of the boundary's points; look at {name!r}."
                )
            self.normals[name] = np.asarray(own, float)
        self.periodic = (False,) * d

    def __repr__(self) -> str:
        parts = ", ".join(f"{name!r} of {len(points)}" for name, points in self.boundary.items())
        return f"Domain of {len(self._inside)} points inside, {parts}"

    @property
    def points(self) -> np.ndarray:
        """All its points."""
        return np.concatenate([self._inside, *self.boundary.values()])

    @property
    def corners(self) -> np.ndarray:
        """The lowest and the highest corner of its bounding box, (2, d)."""
        return np.stack([self.points.min(axis=0), self.points.max(axis=0)])

    @property
    def around(self) -> np.ndarray:
        """The corners of a larger box, in whose polynomials functions of the domain are written."""
        low, high = self.corners
        return np.stack([low - _AROUND * (high - low), high + _AROUND * (high - low)])

    def inside(self, degrees: tuple[int, ...]) -> Part:
        """The points inside, whatever the degrees."""
        return Part(self._inside)

    def part(self, name: str, degrees: tuple[int, ...]) -> Part:
        """The points on the part `name` of the boundary, whatever the degrees."""
        if name not in self.boundary:
            raise InputError(
                f"a condition belongs to a part of the boundary, {', '.join(self.boundary)}; got {name!r}."
            )
        return Part(self.boundary[name], self.normals.get(name))
