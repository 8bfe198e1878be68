"""Symmetries that an operator may have: images of a function whose outputs are the images of its outputs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from elmonet.layers.grid import Grid

__all__ = ["Symmetry", "all_images", "symmetries_of"]


@dataclass(frozen=True)
class Symmetry:
    """Axes reversed, the two axes exchanged, values times -1: applied in this order.

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

    def back(self, fields: np.ndarray) -> np.ndarray:
        """The inverse: exchanging first, then reversing."""
        fields = np.swapaxes(fields, -1, -2) if self.exchanged else fields
        axes = tuple(2 + axis for axis, back in enumerate(self.reversed) if back)
        fields = np.flip(fields, axes) if axes else fields
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


def all_images(symmetries: tuple[Symmetry, ...], d: int) -> tuple[Symmetry, ...]:
    """All that follow from some symmetries of fields of d axes, without the identity."""
    example = np.arange(1.0, 1 + 3**d).reshape(1, 1, *[3] * d)
    every = [
        Symmetry(back, exchanged, sign)
        for back in product((False, True), repeat=d)
        for exchanged in ((False, True) if d == 2 else (False,))
        for sign in (1, -1)
    ]
    known = {symmetry(example).tobytes(): symmetry for symmetry in every}
    found = {example.tobytes(): example}
    new = [example]
    while new:
        images = [symmetry(field) for field in new for symmetry in symmetries]
        new = [image for image in images if image.tobytes() not in found]
        found |= {image.tobytes(): image for image in new}
    return tuple(known[key] for key in list(found)[1:])
