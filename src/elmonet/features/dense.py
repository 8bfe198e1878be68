"""One fully connected layer with fixed random weights: what SLFN, MLP and CNN are made of."""

from __future__ import annotations

import numpy as np

from elmonet._blas import product
from elmonet.features.activation import activate, bias_width
from elmonet.features.jet import TAYLOR, Jet

__all__ = ["DISTRIBUTIONS", "draw_layer", "layer", "layer_jet", "layer_times"]

DISTRIBUTIONS = ("uniform", "normal", "student1", "student3", "student5")

_ROWS = 1 << 11  # most rows, and most entries, of a temporary block
_BLOCK = 1 << 22


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
    """Weights (width, fan_in + 1), the last column the biases.

    Weights are uniform in ``+-scale/sqrt(fan_in)`` or normal with that standard deviation; those of
    a feature come from Student's t distribution in fan_in dimensions if `distribution` is "student" and its
    degrees of freedom. Biases are uniform in ``+-bias``, by default as in `bias_width`.
    """
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
    A[:, -1] *= 2 * (bias_width(activation, fan_in) if bias is None else bias)
    return A


def layer(X: np.ndarray, A: np.ndarray, activation: str, out: np.ndarray | None = None) -> np.ndarray:
    """``activation([X, 1] A')`` for X (n, fan_in), written to `out` (n, width) if given."""
    out = product(with_ones(X), A.T, out)
    activate(activation, out)
    return out


def layer_times(X: np.ndarray, A: np.ndarray, activation: str, R: np.ndarray) -> np.ndarray:
    """``layer(X, A, activation) @ R`` for R (width, k), some rows and some features at a time."""
    total = np.empty((len(X), R.shape[1]), X.dtype)
    for top in range(0, len(X), _ROWS):
        rows = with_ones(X[top : top + _ROWS])
        # Few features at a time, for the cache, but enough to be worth another pass over the rows.
        step = min(max(1024, 2 * A.shape[1]), _BLOCK // len(rows))
        for start in range(0, len(A), step):
            H = product(rows, A[start : start + step].T)
            activate(activation, H)
            product(H, R[start : start + step], total[top : top + _ROWS], add=start > 0)
    return total


def layer_jet(X: Jet, A: np.ndarray, activation: str) -> Jet:
    """``layer(X, A, activation)`` with its derivatives, in double precision."""
    A = A.astype(np.float64, copy=False)
    return (X.times_matrix(A[:, :-1].T) + A[:, -1]).through(TAYLOR[activation])


def with_ones(X: np.ndarray) -> np.ndarray:
    """``[X, 1]``: with the bias as one more weight, the product adds it as well."""
    return np.concatenate([X, np.ones((len(X), 1), X.dtype)], axis=1)
