"""The multi-layer network of the paper's trunk and of its Darcy branch."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from elmonet._check import choice, number, positive_integer
from elmonet.features.activation import ACTIVATIONS
from elmonet.features.base import RandomMap
from elmonet.features.dense import draw_layer, layer, layer_jet
from elmonet.features.jet import Jet

__all__ = ["MLP"]


class MLP(RandomMap):
    """Fully connected network of `depth` layers with fixed random weights.

    Every layer ends with the activation, as the hidden layer of an extreme learning machine does: W
    takes the place of the last linear layer.

    Parameters
    ----------
    width : number of features, the size of the last layer.
    depth : number of layers.
    hidden : size of the layers before the last one; None: as wide as the last one, as in the paper.
        (Wide branches want it: hidden layers of size 10000 hold 10^8 weights each.)
    activation, scale, random_state : as in `SLFN`; `scale` is a factor on the weights of every layer.

    Examples
    --------
    >>> MLP(5, hidden=8, random_state=0).fit_transform(np.ones((3, 2))).shape
    (3, 5)
    """

    def __init__(
        self,
        width: int = 100,
        depth: int = 3,
        hidden: int | None = None,
        activation: str = "relu",
        scale: float = 1.0,
        *,
        random_state: Any = None,
    ):
        self.width = width
        self.depth = depth
        self.hidden = hidden
        self.activation = activation
        self.scale = scale
        self.random_state = random_state

    def _draw_weights(self, rng: np.random.Generator) -> list[np.ndarray]:
        width, depth = positive_integer(self.width, "width"), positive_integer(self.depth, "depth")
        hidden = width if self.hidden is None else positive_integer(self.hidden, "hidden")
        activation = choice(self.activation, "activation", ACTIVATIONS)
        scale = number(self.scale, "scale", strict=True)
        sizes = [int(np.prod(self.input_shape_)), *[hidden] * (depth - 1), width]
        return [
            draw_layer(rng, fan_in, fan_out, activation=activation, scale=scale)
            for fan_in, fan_out in pairwise(sizes)
        ]

    def _write(self, X: np.ndarray, out: np.ndarray) -> None:
        H = X.reshape(len(X), -1)
        for A in self.weights_[:-1]:
            H = layer(H, A, self.activation)
        layer(H, self.weights_[-1], self.activation, out)

    def _jet(self, X: Jet) -> Jet:
        for A in self.weights_:
            X = layer_jet(X, A, self.activation)
        return X

    def _row_size(self) -> int:
        return max(max(A.shape) for A in self.weights_)
