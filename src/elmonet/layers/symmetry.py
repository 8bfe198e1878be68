"""Symmetries that an operator may have: images of a function whose outputs are the images of its outputs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from elmonet.layers.grid import Grid

__all__ = ["Symmetry", "symmetries_of"]


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
