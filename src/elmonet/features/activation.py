"""Activation functions, applied in place."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from scipy.special import expit, ndtr

__all__ = ["ACTIVATIONS", "activate", "bias_width"]

_WORTH_A_THREAD = 1 << 17  # entries


def _relu(z: np.ndarray) -> None:
    # NumPy compares two arrays four times as fast as an array and a number, if both are in cache.
    flat, zeros = z.reshape(-1), np.zeros(1 << 14, z.dtype)
    for start in range(0, flat.size, zeros.size):
        part = flat[start : start + zeros.size]
        np.maximum(part, zeros[: part.size], out=part)


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


def activate(name: str, z: np.ndarray) -> None:
    """Apply the activation to the C-contiguous array z, in place, on all cores if that pays."""
    threads = min(os.cpu_count() or 1, z.size // _WORTH_A_THREAD, len(z))
    if threads < 2 or name == "relu":  # which is as fast as memory on one core
        ACTIVATIONS[name](z)
        return
    with ThreadPoolExecutor(threads) as pool:  # NumPy's functions let other threads run
        list(pool.map(ACTIVATIONS[name], np.array_split(z, threads)))


def bias_width(activation: str, fan_in: int) -> float:
    """Half the width of the uniform distribution of biases.

    relu: ``1/sqrt(fan_in)``, PyTorch's default, which reproduces the paper. sin, cos: pi, a uniform
    phase, so that SLFN is a random Fourier feature map. The other ones: 1, since a smooth activation
    without a bias of order one is nearly an odd or even function.
    """
    if activation == "relu":
        return float(1 / np.sqrt(fan_in))
    return float(np.pi) if activation in ("sin", "cos") else 1.0
