"""Boxes with named coordinates, domains of any shape, and their collocation points."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import ArrayLike

from elmonet.checks import coordinates
from elmonet.errors import InputError
from elmonet.interpolation import grid_points

_EQUALS = re.compile(r"\s*(\w+)\s*=\s*([-+.\deE]+)\s*")
_EXTRA_POINTS = 3  # collocation points in each coordinate of a box, beyond the number of polynomials
_BASIS_MARGIN = 0.15  # of a domain's bounding box, added on each side for its polynomials


@dataclass(frozen=True)
class CollocationPoints:
    """Points (M, d) at which a residual must vanish, with outward normals (M, d) on a boundary if known."""

    points: np.ndarray
    normals: np.ndarray | None = None


class Box:
    """A box of one to three named coordinates: ``Box(x=(0, 1), t=(0, 1))``.

    The names also denote derivatives, ``s.x``, ``s.xt``: each is one letter.

    Parameters
    ----------
    ends : the two ends of each coordinate.
    periodic : the letters of periodic coordinates, such as "x": their two ends are the same point.

    Raises
    ------
    InputError : if a name is not one letter, or an interval is empty.
    """

    def __init__(self, *, periodic: str = "", **ends: tuple[float, float]):
        if not 1 <= len(ends) <= 3:
            raise InputError(f"a Box has one to three coordinates, such as Box(x=(0, 1)); got {len(ends)}.")
        _check_names(tuple(ends))
        for name, pair in ends.items():
            if np.shape(pair) != (2,) or not (np.isfinite(pair).all() and pair[0] < pair[1]):
                raise InputError(f"{name} must go from a lower to a higher number, got {pair}.")
        if set(periodic) - set(ends):
            raise InputError(
                f"periodic must name coordinates of the box, {', '.join(ends)}; got {periodic!r}."
            )
        self.names = tuple(ends)
        self.low, self.high = (np.array([pair[i] for pair in ends.values()], float) for i in (0, 1))
        self.periodic = tuple(name in periodic for name in self.names)

    def __repr__(self) -> str:
        pairs = zip(self.names, self.low, self.high, strict=True)
        ends = [f"{name}=({low:g}, {high:g})" for name, low, high in pairs]
        periodic = [f"periodic={self._periodic_letters!r}"] if any(self.periodic) else []
        return f"Box({', '.join(ends + periodic)})"

    @property
    def corners(self) -> np.ndarray:
        """The lowest and the highest corner, (2, d)."""
        return np.stack([self.low, self.high])

    @property
    def basis_corners(self) -> np.ndarray:
        """The corners (2, d) of the box on which polynomials are defined: its own."""
        return self.corners

    @property
    def _periodic_letters(self) -> str:
        return "".join(name for name, periodic in zip(self.names, self.periodic, strict=True) if periodic)

    def between(self, axis: int, low: float, high: float) -> Box:
        """Return the slab of the box with coordinate `axis` between `low` and `high`."""
        ends: dict[str, Any] = dict(zip(self.names, self.corners.T, strict=True))
        ends[self.names[axis]] = (low, high)
        return Box(periodic=self._periodic_letters, **ends)

    def inside(self, degrees: tuple[int, ...]) -> CollocationPoints:
        """Return a grid of Gauss points, uniform along periodic coordinates, for polynomials of `degrees`."""
        return CollocationPoints(grid_points(self._axes(degrees)))

    def part(self, name: str, degrees: tuple[int, ...]) -> CollocationPoints:
        """Return points on the face `name`, "x=0", or the edge "x=0, y=0", for polynomials of `degrees`."""
        fixed = self.fixed(name)
        axes = self._axes(degrees)
        for j, value in fixed.items():
            axes[j] = np.array([value])
        points, normals = grid_points(axes), None
        if len(fixed) == 1:
            ((j, value),) = fixed.items()
            normals = np.zeros_like(points)
            normals[:, j] = np.where(value == self.high[j], 1.0, -1.0)
        return CollocationPoints(points, normals)

    def fixed(self, name: str) -> dict[int, float]:
        """Return the index and value of each coordinate that is constant on the face or edge `name`."""
        values = {}
        for condition in str(name).split(","):
            match = _EQUALS.fullmatch(condition)
            if not match or match[1] not in self.names:
                raise InputError(
                    f'a condition belongs to a face, such as "{self.names[0]}={self.low[0]:g}"; got {name!r}.'
                )
            j, value = self.names.index(match[1]), float(match[2])
            ends = (self.low[j], self.high[j])
            near = [float(end) for end in ends if np.isclose(value, end, atol=1e-9 * (ends[1] - ends[0]))]
            if not near:
                raise InputError(
                    f"{name!r} is not a face of {self!r}: {match[1]} is {ends[0]:g} or {ends[1]:g} there."
                )
            if self.periodic[j]:
                raise InputError(
                    f"{name!r} is not a face of {self!r}: it has no ends in {match[1]}, which is periodic. "
                    "Remove this condition."
                )
            values[j] = near[0]
        return values

    def grid(self, count: int) -> np.ndarray:
        """Return a uniform grid, ends included.

        Parameters
        ----------
        count : number of points in each coordinate.

        Returns
        -------
        points : (count^d, d).
        """
        return grid_points([np.linspace(low, high, count) for low, high in self.corners.T])

    def _axes(self, degrees: tuple[int, ...]) -> list[np.ndarray]:
        axes = []
        for n, low, high, fourier in zip(degrees, self.low, self.high, self.periodic, strict=True):
            count = n + 1 + _EXTRA_POINTS
            unit = np.arange(count) / count if fourier else (1 + leggauss(count)[0]) / 2
            axes.append(low + (high - low) * unit)
        return axes


class Domain:
    """A domain given by points inside it and on its boundary.

    Parameters
    ----------
    inside : (M, d), where the equation must hold; evenly spread, several times as many as polynomials.
    boundary : points (m, d) by the name of each part of the boundary, as ``{"wall": ..., "inlet": ...}``.
    normals : outward unit normals (m, d) by the same names, for conditions that use ``nx``, ``ny``;
        optional.
    names : the letters of the coordinates, one for each column.

    Raises
    ------
    InputError : if names or shapes do not match.

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
        inside: ArrayLike,
        boundary: Mapping[str, ArrayLike],
        normals: Mapping[str, ArrayLike] | None = None,
        names: str | None = None,
    ):
        self._inside = coordinates(inside)
        d = self._inside.shape[1]
        self.names = tuple("xyz"[:d] if names is None else names)
        _check_names(self.names)
        if len(self.names) != d:
            raise InputError(f"names must hold one letter for each of the {d} coordinates, got {names!r}.")
        self.boundary = {name: coordinates(points, dimension=d) for name, points in boundary.items()}
        self.normals = {}
        for name, vectors in (normals or {}).items():
            if name not in self.boundary or np.shape(vectors) != self.boundary[name].shape:
                raise InputError(
                    f"normals must have the names and shapes of the boundary's points; check {name!r}."
                )
            self.normals[name] = np.asarray(vectors, float)
        self.periodic = (False,) * d

    def __repr__(self) -> str:
        parts = ", ".join(f"{name!r} of {len(points)}" for name, points in self.boundary.items())
        return f"Domain of {len(self._inside)} points inside, {parts}"

    @property
    def points(self) -> np.ndarray:
        """All points (M, d): inside, then on each part of the boundary."""
        return np.concatenate([self._inside, *self.boundary.values()])

    @property
    def corners(self) -> np.ndarray:
        """The lowest and the highest corner of the bounding box, (2, d)."""
        return np.stack([self.points.min(axis=0), self.points.max(axis=0)])

    @property
    def basis_corners(self) -> np.ndarray:
        """The corners (2, d) of the box on which polynomials are defined: larger than the bounding box."""
        low, high = self.corners
        return np.stack([low - _BASIS_MARGIN * (high - low), high + _BASIS_MARGIN * (high - low)])

    def inside(self, degrees: tuple[int, ...]) -> CollocationPoints:
        """Return the points inside; they do not depend on `degrees`."""
        return CollocationPoints(self._inside)

    def part(self, name: str, degrees: tuple[int, ...]) -> CollocationPoints:
        """Return the points on the part `name` of the boundary; they do not depend on `degrees`."""
        if name not in self.boundary:
            raise InputError(
                f"a condition belongs to a part of the boundary, {', '.join(self.boundary)}; got {name!r}."
            )
        return CollocationPoints(self.boundary[name], self.normals.get(name))


def check_points(domain: Box | Domain, points: np.ndarray) -> None:
    """Raise `InputError` if points (M, d) lie outside a box, or outside the bounding box of a domain."""
    low, high = domain.corners
    margin = 1e-9 * (high - low)
    outside = ((points < low - margin) | (points > high + margin)) & ~np.array(domain.periodic)
    if outside.any():
        row = int(np.flatnonzero(outside.any(axis=1))[0])
        low_text, high_text, got = (
            f"({', '.join(f'{v:g}' for v in point)})" for point in (low, high, points[row])
        )
        raise InputError(
            f"points must lie in the domain, {', '.join(domain.names)} from {low_text} to {high_text}; row "
            f"{row} is {got}."
        )


def _check_names(names: tuple[str, ...]) -> None:
    """Require one-letter coordinates that do not clash with s, u and the normal n."""
    for name in names:
        if len(name) != 1 or name in "sun" or not name.isalpha():
            raise InputError(
                f"a coordinate is named by one letter other than s, u and n, such as x or t; got {name!r}."
            )
