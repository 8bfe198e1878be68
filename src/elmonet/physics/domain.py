"""Domains of any form, given by points."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from elmonet._check import InputError, coordinates
from elmonet.physics.box import Part, check_names

__all__ = ["Domain"]

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
