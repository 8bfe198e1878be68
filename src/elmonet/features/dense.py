"""One fully connected layer with fixed random weights: what SLFN, MLP and CNN are made of."""

from __future__ import annotations

import numpy as np

from elmonet.features.activation import ACTIVATIONS, bias_width

__all__ = ["draw_layer", "layer"]


def draw_layer(
    rng: np.random.Generator,
    fan_in: int,
    width: int,
    *,
    activation: str,
    scale: float = 1.0,
    distribution: str = "uniform",
    bias: float | None = None,
) -> np.ndarray:
    """Weights (fan_in + 1, width), the last row the biases.

    Weights are uniform in ``+-scale/sqrt(fan_in)`` or normal with that standard deviation; biases are
    uniform in ``+-bias``, by default as in `bias_width`.
    """
    A = np.empty((fan_in + 1, width))
    if distribution == "normal":
        rng.standard_normal(out=A[:-1])
    else:
        A[:-1] = rng.uniform(-1, 1, (fan_in, width))
    A[:-1] *= scale / np.sqrt(fan_in)
    A[-1] = rng.uniform(-1, 1, width) * (bias_width(activation, fan_in) if bias is None else bias)
    return A


def layer(X: np.ndarray, A: np.ndarray, activation: str, out: np.ndarray | None = None) -> np.ndarray:
    """``activation([X, 1] A)`` for X (n, fan_in), written to `out` (n, width) if given."""
    out = np.matmul(X, A[:-1], out=out)
    out += A[-1]
    ACTIVATIONS[activation](out)
    return out
