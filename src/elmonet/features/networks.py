"""Networks with fixed random weights: activations, one dense layer, `SLFN` and `MLP`."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import expit, ndtr

from elmonet.checks import choice, number, positive_integer
from elmonet.description import Graph
from elmonet.features.base import RandomMap
from elmonet.features.jet import TAYLOR, Jet
from elmonet.linalg import product

DISTRIBUTIONS = ("uniform", "normal", "student1", "student3", "student5")

_ROWS = 1 << 11  # most rows of a temporary block
_BLOCK = 1 << 22  # most entries of a temporary block (32 MiB in float64)
_ENTRIES_PER_THREAD = 1 << 17  # least entries of an array to activate in a thread of its own


def _relu(z: np.ndarray) -> None:
    # NumPy compares two arrays four times as fast as an array with a number, if both are in the cache.
    flat, zeros = z.reshape(-1), np.zeros(1 << 14, z.dtype)
    for start in range(0, flat.size, zeros.size):
        part = flat[start : start + zeros.size]
        np.maximum(part, zeros[: part.size], out=part)


ACTIVATIONS: dict[str, Callable[[np.ndarray], object]] = {
    "relu": _relu,
    "tanh": lambda z: np.tanh(z, out=z),
    "sin": lambda z: np.sin(z, out=z),
    "cos": lambda z: np.cos(z, out=z),
    "gelu": lambda z: np.multiply(z, ndtr(z), out=z),
    "sigmoid": lambda z: expit(z, out=z),
    "softplus": lambda z: np.logaddexp(z, 0, out=z),
}


def activate(name: str, z: np.ndarray) -> None:
    """Apply the activation to the C-contiguous array z in place, on all cores if that pays off."""
    threads = min(os.cpu_count() or 1, z.size // _ENTRIES_PER_THREAD, len(z))
    if threads < 2 or name == "relu":  # one core saturates the memory with relu
        ACTIVATIONS[name](z)
        return
    with ThreadPoolExecutor(threads) as pool:  # NumPy's functions release the interpreter lock
        list(pool.map(ACTIVATIONS[name], np.array_split(z, threads)))


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
    """Draw weights (width, fan_in + 1), with the biases in the last column.

    Weights are uniform in ``+-scale/sqrt(fan_in)`` or normal with that standard deviation; for "student" and
    its degrees of freedom, those of a feature follow Student's t distribution in fan_in dimensions. Biases
    are uniform in ``+-bias``. By default, relu: ``1/sqrt(fan_in)``, PyTorch's, which reproduces the paper;
    sin, cos: pi, a uniform phase, as of random Fourier features; the others: 1, since a smooth activation
    without a bias of order one is nearly an odd or even function.
    """
    if bias is None:
        bias = {"relu": float(1 / np.sqrt(fan_in)), "sin": np.pi, "cos": np.pi}.get(activation, 1.0)
    A = np.empty((width, fan_in + 1))
    if distribution != "uniform":
        rng.standard_normal(out=A)
        A[:, -1] = rng.random(width) - 0.5
        half_width = 1.0
        if distribution != "normal":
            freedom = int(distribution.removeprefix("student"))
            A[:, :-1] *= np.sqrt(freedom / rng.chisquare(freedom, size=(width, 1)))
    else:
        rng.random(out=A)
        A -= 0.5
        half_width = 2.0
    A[:, :-1] *= half_width * scale / np.sqrt(fan_in)
    A[:, -1] *= 2 * bias
    return A


def layer(X: np.ndarray, A: np.ndarray, activation: str, out: np.ndarray | None = None) -> np.ndarray:
    """Return ``activation([X, 1] A')`` for X (n, fan_in), written to `out` (n, width) if given."""
    out = product(with_ones(X), A.T, out)
    activate(activation, out)
    return out


def layer_times(X: np.ndarray, A: np.ndarray, activation: str, R: np.ndarray) -> np.ndarray:
    """Return ``layer(X, A, activation) @ R`` for R (width, k), in blocks of rows and features."""
    total = np.empty((len(X), R.shape[1]), X.dtype)
    for top in range(0, len(X), _ROWS):
        rows = with_ones(X[top : top + _ROWS])
        # Few features at a time, for the cache, but enough to justify another pass over the rows.
        step = min(max(1024, 2 * A.shape[1]), _BLOCK // len(rows))
        for start in range(0, len(A), step):
            H = product(rows, A[start : start + step].T)
            activate(activation, H)
            product(H, R[start : start + step], total[top : top + _ROWS], add=start > 0)
    return total


def layer_jet(X: Jet, A: np.ndarray, activation: str) -> Jet:
    """Return ``layer(X, A, activation)`` with its derivatives, in double precision."""
    A = A.astype(np.float64, copy=False)
    return (X.times_matrix(A[:, :-1].T) + A[:, -1]).through(TAYLOR[activation])


def trace_layer(graph: Graph, x: int, A: np.ndarray, activation: str, rows: int = 1) -> int:
    """Write ``layer(X, A, activation)`` as array operations, for each of some rows of x."""
    return graph.elementwise(graph.affine(x, A[:, :-1], A[:, -1], rows), activation)


def with_ones(X: np.ndarray) -> np.ndarray:
    """Return ``[X, 1]``: the bias becomes one more weight, added by the same product."""
    return np.concatenate([X, np.ones((len(X), 1), X.dtype)], axis=1)


class SLFN(RandomMap):
    """Single-layer network with fixed random weights, ``activation(X A + b)``.

    Parameters
    ----------
    width : number of features, p1 as a branch and p2 as a trunk.
    activation : "relu", "tanh", "sin", "cos", "gelu", "sigmoid" or "softplus".
    scale : factor on the weights. 1 with relu is the paper's network. Small scales (0.05 to 0.5) with a
        smooth activation, next to a `Linear` block, are far more accurate for smooth operators.
    distribution : "uniform" in ``+-scale/sqrt(m)``, or "normal" with that standard deviation (with
        activation="cos": random Fourier features of a Gaussian kernel with the length 1/scale in the
        root-mean-square distance of functions), or "student1", "student3", "student5", Student's t
        distribution with 1, 3 or 5 degrees of freedom (with "cos": of a Matern kernel of half that order).
        `InfiniteWidth` computes their limits.
    bias : biases are uniform in +-bias. None: ``1/sqrt(m)`` for relu (the paper), pi for sin and cos,
        1 for the others.
    random_state : seed; None inside a model: drawn from the model's seed.

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
        random_state: int | np.random.Generator | None = None,
    ):
        self.width = width
        self.activation = activation
        self.scale = scale
        self.distribution = distribution
        self.bias = bias
        self.random_state = random_state

    def _draw_weights(self, rng: np.random.Generator) -> list[np.ndarray]:
        fan_in = int(np.prod(self.input_shape_))
        width, scale = positive_integer(self.width, "width"), number(self.scale, "scale", strict=True)
        bias = None if self.bias is None else number(self.bias, "bias")
        activation = choice(self.activation, "activation", ACTIVATIONS)
        distribution = choice(self.distribution, "distribution", DISTRIBUTIONS)
        how: dict[str, Any] = {"activation": activation, "distribution": distribution}
        return [draw_layer(rng, fan_in, width, scale=scale, bias=bias, **how)]

    def _write(self, X: np.ndarray, out: np.ndarray) -> None:
        layer(X.reshape(len(X), -1), self.weights_[0], self.activation, out)

    def _times(self, X: np.ndarray, R: np.ndarray) -> np.ndarray:
        return layer_times(X.reshape(len(X), -1), self.weights_[0], self.activation, R)

    def _jet(self, X: Jet) -> Jet:
        return layer_jet(X, self.weights_[0], self.activation)

    def trace(self, graph: Graph, x: int) -> int:
        """Write the map as array operations: add to `graph` what turns value x into features."""
        return trace_layer(graph, x, self.weights_[0], self.activation)


class MLP(RandomMap):
    """Fully connected network of `depth` layers with fixed random weights.

    Every layer ends with the activation, like the hidden layer of an extreme learning machine: W takes the
    place of the last linear layer.

    Parameters
    ----------
    width : number of features, the size of the last layer.
    depth : number of layers.
    hidden : size of the layers before the last one; None: as wide as the last one, as in the paper. Set it
        for wide branches: hidden layers of size 10000 hold 10^8 weights each.
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
        random_state: int | np.random.Generator | None = None,
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

    def trace(self, graph: Graph, x: int) -> int:
        """Write the map as array operations: add to `graph` what turns value x into features."""
        for A in self.weights_:
            x = trace_layer(graph, x, A, self.activation)
        return x

    def _row_size(self) -> int:
        return max(max(A.shape) for A in self.weights_)
