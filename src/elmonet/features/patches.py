"""Random cosines of the patches of an image: one convolution, for a kernel to compare."""

from __future__ import annotations

from typing import Any

import numpy as np

from elmonet._check import InputError, number, positive_integer
from elmonet.features.base import RandomMap
from elmonet.features.cnn import gather_windows, image_shape
from elmonet.features.dense import draw_layer, layer

__all__ = ["Patches"]


class Patches(RandomMap):
    """``cos(A p + b)`` of the patch p around every pixel of an image: `channels` features a pixel.

    Distances of these features compare images patch by patch. ``InfiniteWidth("rbf", inner=Patches())`` is
    a convolution with a wide dense layer on top; it suits images whose small structures matter, such as
    two-phase media.

    Parameters
    ----------
    channels : random features a pixel.
    size : side of the patches, odd. At the border the image is continued by its last pixels.
    scale : factor on the weights, which are normal.
    random_state : seed.

    Examples
    --------
    >>> Patches(4, random_state=0).fit_transform(np.ones((3, 8, 8))).shape
    (3, 256)
    """

    def __init__(self, channels: int = 64, size: int = 5, scale: float = 1.0, *, random_state: Any = None):
        self.channels = channels
        self.size = size
        self.scale = scale
        self.random_state = random_state

    @property
    def width_(self) -> int:
        """Channels times pixels."""
        _, height, width = self._image_shape()
        return int(self.channels) * height * width

    def _image_shape(self) -> tuple[int, int, int]:
        return image_shape(self.input_shape_, "Patches", "Reshape them.")

    def _draw_weights(self, rng: np.random.Generator) -> list[np.ndarray]:
        colours, size = self._image_shape()[0], positive_integer(self.size, "size")
        if size % 2 == 0:
            raise InputError(f"size must be odd, got {size}.")
        settings = {"activation": "cos", "scale": number(self.scale, "scale", strict=True)}
        channels = positive_integer(self.channels, "channels")
        return [draw_layer(rng, colours * size**2, channels, distribution="normal", **settings)]  # type: ignore[arg-type]

    def _write(self, X: np.ndarray, out: np.ndarray) -> None:
        H = X.reshape(len(X), *self._image_shape()).transpose(0, 2, 3, 1)  # channels last
        rows = gather_windows(H, self.size, 1, edge="edge").reshape(-1, self.weights_[0].shape[1] - 1)
        out[:] = layer(rows, self.weights_[0], "cos").reshape(len(X), -1)

    def _row_size(self) -> int:
        colours, height, width = self._image_shape()
        return height * width * max(int(self.channels), colours * int(self.size) ** 2 + 1)
