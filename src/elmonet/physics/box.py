"""A box with named coordinates, and the points at which an equation and its conditions are asked for."""

from __future__ import annotations

import re

import numpy as np

from elmonet._check import InputError
from elmonet.interpolation import grid_points

__all__ = ["Box"]

_FACE = re.compile(r"^\s*(\w+)\s*=\s*([-+.\deE]+)\s*$")


class Box:
    """A box of one to three named coordinates: ``Box(x=(0, 1), t=(0, 1))``.

    The names are those of the derivatives, ``s.x``, ``s.xt``: so each is one letter.
    """

    def __init__(self, **ends: tuple[float, float]):
        if not 1 <= len(ends) <= 3:
            raise InputError(f"a Box has one to three coordinates, as Box(x=(0, 1)); got {len(ends)}.")
        for name, (low, high) in ends.items():
            if len(name) != 1 or name in "su":
                raise InputError(
                    f"a coordinate is named by one letter other than s and u, as x or t; got {name!r}."
                )
            if not (np.isfinite([low, high]).all() and low < high):
                raise InputError(f"{name} must go from a lower to a higher number, got ({low}, {high}).")
        self.names = tuple(ends)
        self.low, self.high = (np.array([pair[i] for pair in ends.values()], float) for i in (0, 1))

    def __repr__(self) -> str:
        pairs = zip(self.names, self.low, self.high, strict=True)
        return f"Box({', '.join(f'{name}=({low:g}, {high:g})' for name, low, high in pairs)})"

    @property
    def corners(self) -> np.ndarray:
        """The lowest and the highest corner, (2, d)."""
        return np.stack([self.low, self.high])

    def orders(self, name: str) -> tuple[int, ...]:
        """How often to differentiate in each coordinate, for a name such as "xxt"."""
        if set(name) - set(self.names):
            raise InputError(
                f"s.{name} is no derivative: its letters must be coordinates, {', '.join(self.names)}."
            )
        return tuple(name.count(own) for own in self.names)

    def inside(self, counts: tuple[int, ...]) -> np.ndarray:
        """Points (M, d) of a grid of Gauss points, which are denser towards the faces."""
        return grid_points(self._axes(counts))

    def on_face(self, face: str, counts: tuple[int, ...]) -> np.ndarray:
        """Points (M, d) on a face, which is named as "x=0"."""
        found = _FACE.match(face)
        if not found or found[1] not in self.names:
            raise InputError(
                f'a condition belongs to a face, named as "{self.names[0]}={self.low[0]:g}"; got {face!r}.'
            )
        j, value = self.names.index(found[1]), float(found[2])
        if not (np.isclose(value, self.low[j]) or np.isclose(value, self.high[j])):
            raise InputError(
                f"{face!r} is no face of {self!r}: {found[1]} is {self.low[j]:g} or {self.high[j]:g} there."
            )
        axes = self._axes(counts)
        axes[j] = np.array([value])
        return grid_points(axes)

    def coordinates(self, points: np.ndarray) -> dict[str, np.ndarray]:
        """The coordinates (M,) of points, by name."""
        return dict(zip(self.names, points.T, strict=True))

    def _axes(self, counts: tuple[int, ...]) -> list[np.ndarray]:
        nodes = [(1 + np.polynomial.legendre.leggauss(count)[0]) / 2 for count in counts]
        return [low + (high - low) * unit for low, high, unit in zip(self.low, self.high, nodes, strict=True)]
