"""Activation functions, applied in place."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import expit, ndtr

__all__ = ["ACTIVATIONS", "bias_width"]


def _relu(z: np.ndarray) -> None:
    np.maximum(z, 0, out=z)


def _gelu(z: np.ndarray) -> None:
    z *= ndtr(z)


def _softplus(z: np.ndarray) -> None:
    np.logaddexp(z, 0, out=z)


ACTIVATIONS: dict[str, Callable[[np.ndarray], object]] = {
    "relu": _relu,
    "tanh": lambda z: np.tanh(z, out=z),
    "sin": lambda z: np.sin(z, out=z),
    "cos": lambda z: np.cos(z, out=z),
    "gelu": _gelu,
    "sigmoid": lambda z: expit(z, out=z),
    "softplus": _softplus,
}


def bias_width(activation: str, fan_in: int) -> float:
    """Half the width of the uniform distribution of biases.

    relu: ``1/sqrt(fan_in)``, PyTorch's default, which reproduces the paper. sin, cos: pi, a uniform
    phase, so that SLFN is a random Fourier feature map. The other ones: 1, since a smooth activation
    without a bias of order one is nearly an odd or even function.
    """
    if activation == "relu":
        return float(1 / np.sqrt(fan_in))
    return float(np.pi) if activation in ("sin", "cos") else 1.0
