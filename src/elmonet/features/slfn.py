"""The single-layer network of the paper's branch."""

from __future__ import annotations

from typing import Any

import numpy as np

from elmonet._check import choice, number, positive_integer
from elmonet.features.activation import ACTIVATIONS
from elmonet.features.base import RandomMap
from elmonet.features.dense import DISTRIBUTIONS, draw_layer, layer, layer_jet, layer_times
from elmonet.features.jet import Jet

__all__ = ["SLFN"]


class SLFN(RandomMap):
    """Single-layer network with fixed random weights, ``activation(X A + b)``.

    Parameters
    ----------
    width : number of features, p1 as a branch and p2 as a trunk.
    activation : "relu", "tanh", "sin", "cos", "gelu", "sigmoid" or "softplus".
    scale : factor on the weights. At 1 and with relu this is the paper's network. Small scales
        (0.05 to 0.5) with a smooth activation, beside a `Linear` block, are far more accurate for
        smooth operators.
    distribution : "uniform" in ``+-scale/sqrt(m)``, or "normal" with that standard deviation (with
        activation="cos": random Fourier features of a Gaussian kernel with the length 1/scale in the
        root-mean-square distance of functions), or "student1", "student3", "student5", Student's t
        distribution with 1, 3 or 5 degrees of freedom (with "cos": of a Matern kernel of half that order).
        `InfiniteWidth` has their limits.
    bias : biases are uniform in +-bias. None: ``1/sqrt(m)`` for relu (the paper), pi for sin and cos,
        1 for the others.
    random_state : seed; inside a model, None means that the model's own seed decides.

    Examples
    --------
    >>> SLFN(5, random_state=0).fit_transform(np.ones((3, 2))).shape
    (3, 5)
    """

    def __init__(
        self,
        width: int = 1000,
        activation: str = "relu",
        scale: float = 1.0,
        *,
        distribution: str = "uniform",
        bias: float | None = None,
        random_state: Any = None,
    ):
        self.width = width
        self.activation = activation
        self.scale = scale
        self.distribution = distribution
        self.bias = bias
        self.random_state = random_state

    def _draw_weights(self, rng: np.random.Generator) -> list[np.ndarray]:
        fan_in = int(np.prod(self.input_shape_))
        A = draw_layer(
            rng,
            fan_in,
            positive_integer(self.width, "width"),
            activation=choice(self.activation, "activation", ACTIVATIONS),
            scale=number(self.scale, "scale", strict=True),
            distribution=choice(self.distribution, "distribution", DISTRIBUTIONS),
            bias=None if self.bias is None else number(self.bias, "bias"),
        )
        return [A]

    def _write(self, X: np.ndarray, out: np.ndarray) -> None:
        layer(X.reshape(len(X), -1), self.weights_[0], self.activation, out)

    def _times(self, X: np.ndarray, R: np.ndarray) -> np.ndarray:
        # In blocks of rows and of features.
        return layer_times(X.reshape(len(X), -1), self.weights_[0], self.activation, R)

    def _jet(self, X: Jet) -> Jet:
        return layer_jet(X, self.weights_[0], self.activation)
