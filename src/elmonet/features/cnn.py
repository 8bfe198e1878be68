"""A convolutional network with fixed random weights, for image inputs."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from elmonet.checks import choice, number, positive_integer
from elmonet.description import Graph
from elmonet.errors import InputError
from elmonet.features.base import RandomMap
from elmonet.features.networks import ACTIVATIONS, draw_layer, layer, trace_layer


class CNN(RandomMap):
    """Convolutions and two dense layers with fixed random weights, as in the paper's Darcy example.

    Each convolution pads with zeros and moves by `stride`: an image of height H becomes one of height
    ceil(H / stride). A dense layer of `hidden` and one of `width` features follow. Each layer ends with the
    activation.

    Parameters
    ----------
    width : number of features.
    channels : output channels of the convolutions, one entry each.
    kernel, stride : size of the window (odd) and its step.
    hidden : size of the dense layer before the last one.
    activation, scale, random_state : as in `MLP`.
    shape : (height, width) or (channels, height, width) of the image, for flat inputs (N, m). Not needed for
        inputs (N, height, width) and (N, channels, height, width).

    Examples
    --------
    >>> CNN(5, channels=(2, 3), random_state=0).fit_transform(np.ones((4, 8, 8))).shape
    (4, 5)
    """

    def __init__(
        self,
        width: int = 1000,
        channels: tuple[int, ...] = (8, 16, 32),
        kernel: int = 3,
        stride: int = 2,
        hidden: int = 256,
        activation: str = "relu",
        scale: float = 1.0,
        *,
        shape: tuple[int, ...] | None = None,
        random_state: int | np.random.Generator | None = None,
    ):
        self.width = width
        self.channels = channels
        self.kernel = kernel
        self.stride = stride
        self.hidden = hidden
        self.activation = activation
        self.scale = scale
        self.shape = shape
        self.random_state = random_state

    def _image_shape(self) -> tuple[int, int, int]:
        """Return (channels, height, width) of one input."""
        given = self.input_shape_
        if self.shape is not None:
            shape = tuple(positive_integer(n, "each of shape") for n in self.shape)
            if len(given) > 1 and shape != given:
                raise InputError(f"shape is {shape}, but the images have the shape {given}: remove shape.")
            if np.prod(shape) != np.prod(given):
                raise InputError(
                    f"shape {shape} needs {np.prod(shape)} values per image, inputs have {np.prod(given)}."
                )
            given = shape
        return image_shape(given, "a CNN", "Reshape them, or give the CNN shape=(height, width).")

    def _draw_weights(self, rng: np.random.Generator) -> list[np.ndarray]:
        fan_in, height, width = self._image_shape()
        settings: dict[str, Any] = {
            "activation": choice(self.activation, "activation", ACTIVATIONS),
            "scale": number(self.scale, "scale", strict=True),
        }
        kernel, stride = positive_integer(self.kernel, "kernel"), positive_integer(self.stride, "stride")
        if kernel % 2 == 0:
            raise InputError(f"kernel must be odd, got {kernel}.")
        weights = []
        for count in self.channels:
            channels = positive_integer(count, "each of channels")
            weights.append(draw_layer(rng, fan_in * kernel**2, channels, **settings))
            fan_in, height, width = channels, ceil(height / stride), ceil(width / stride)
        hidden, last = positive_integer(self.hidden, "hidden"), positive_integer(self.width, "width")
        weights.append(draw_layer(rng, fan_in * height * width, hidden, **settings))
        weights.append(draw_layer(rng, hidden, last, **settings))
        return weights

    def _write(self, X: np.ndarray, out: np.ndarray) -> None:
        *convolutions, dense, last = self.weights_
        H = X.reshape(len(X), *self._image_shape()).transpose(0, 2, 3, 1)  # channels last
        for A in convolutions:  # windows gathered as rows: (n, h, w, c) to (n, h/stride, w/stride, c')
            windows = gather_windows(H, self.kernel, self.stride)
            rows = windows.reshape(-1, A.shape[1] - 1)
            H = layer(rows, A, self.activation).reshape(*windows.shape[:3], -1)
        layer(layer(H.reshape(len(H), -1), dense, self.activation), last, self.activation, out)

    def trace(self, graph: Graph, x: int) -> int:
        """Write the map as array operations: add to `graph` what turns value x into features."""
        *convolutions, dense, last = self.weights_
        index = np.arange(graph.sizes[x]).reshape(1, *self._image_shape()).transpose(0, 2, 3, 1)
        for A in convolutions:
            windows = gather_windows(index + 1, self.kernel, self.stride) - 1  # -1 for the zeros around it
            rows = int(np.prod(windows.shape[:3]))
            x = trace_layer(graph, graph.gather(x, windows), A, self.activation, rows)
            index = np.arange(graph.sizes[x]).reshape(*windows.shape[:3], -1)
        return trace_layer(graph, trace_layer(graph, x, dense, self.activation), last, self.activation)

    def _row_size(self) -> int:
        _, height, width = self._image_shape()
        sizes = [max(A.shape) for A in self.weights_[-2:]]
        for A in self.weights_[:-2]:  # a convolution holds a row of A for every output pixel
            height, width = ceil(height / self.stride), ceil(width / self.stride)
            sizes.append(height * width * max(A.shape))
        return max(sizes)


def image_shape(given: tuple[int, ...], who: str, advice: str) -> tuple[int, int, int]:
    """Return (channels, height, width) of inputs of the shape `given`, or raise `InputError`."""
    if len(given) == 2:
        given = (1, *given)
    if len(given) != 3:
        raise InputError(
            f"{who} takes images (N, height, width) or (N, channels, height, width); got inputs of "
            f"shape {('N', *given)}. {advice}"
        )
    return given


def gather_windows(H: np.ndarray, size: int, stride: int, edge: str = "constant") -> np.ndarray:
    """Return the windows around every pixel: (n, h, w, c) to (n, h/stride, w/stride, c, size, size)."""
    width = size // 2
    H = np.pad(H, ((0, 0), (width, width), (width, width), (0, 0)), mode=edge)  # type: ignore[call-overload]
    return sliding_window_view(H, (size, size), axis=(1, 2))[:, ::stride, ::stride]
