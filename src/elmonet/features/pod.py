"""Proper orthogonal decomposition: the data's own principal functions as a trunk."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.linalg import qr, svd

from elmonet._check import ExtrapolationWarning, InputError, number, positive_integer
from elmonet.features.base import FeatureMap
from elmonet.interpolation import as_grid, interpolate

__all__ = ["POD"]


class POD(FeatureMap):
    """The left singular vectors of the training outputs ``G = Z S V'``: an orthonormal trunk.

    No other trunk of the same width represents the training outputs better. At the training points
    the modes are exact; elsewhere they are interpolated: by cubic splines if the points form a grid,
    by cubic radial basis functions if they are scattered.

    Parameters
    ----------
    rank : number of modes; None: all that are above rounding.
    energy : instead of `rank`, the part of ``||G||^2`` to keep, in (0, 1].

    Examples
    --------
    >>> x = np.linspace(0, 1, 50)[:, None]
    >>> values = np.hstack([np.sin(x), 3 * np.sin(x), np.exp(x)])  # three functions, of two shapes
    >>> POD().fit(x, values).width_
    2
    """

    learns_from = ("outputs",)

    def __init__(self, rank: int | None = None, energy: float | None = None):
        self.rank = rank
        self.energy = energy

    @property
    def width_(self) -> int:
        """The number of modes."""
        return int(self.modes_.shape[1])

    def fitted_arrays(self) -> dict[str, np.ndarray]:
        """The training points and the modes there."""
        return {"points_": self.points_, "modes_": self.modes_}

    def _prepare(self, X: np.ndarray, y: Any) -> None:
        y = None if y is None else np.asarray(y)
        if y is None or y.ndim not in (1, 2) or len(y) != len(X):
            raise InputError(
                "POD is a trunk and learns its functions from outputs: fit(points, values) with values "
                f"(M, N), one row per point; got points {X.shape} and values of shape {np.shape(y)}."
            )
        y = y.reshape(len(y), -1)
        modes, s = _principal(y.astype(self.dtype_, copy=False))
        modes = modes[:, : self._how_many(s, max(np.shape(y)))]
        self.points_ = np.asarray(X, np.float64)
        # Signs are arbitrary: make the largest entry of each mode positive.
        top = np.abs(modes).argmax(axis=0)
        self.modes_ = np.ascontiguousarray(modes * np.sign(modes[top, np.arange(modes.shape[1])]))

    def _how_many(self, s: np.ndarray, n: int) -> int:
        if self.rank is not None and self.energy is not None:
            raise InputError("give POD a rank or an energy, not both.")
        if self.rank is not None:
            rank = positive_integer(self.rank, "rank")
            if rank > len(s):
                raise InputError(f"rank must be at most min(M, N) = {len(s)}, got {rank}.")
            return rank
        if self.energy is not None:
            energy = number(self.energy, "energy", strict=True)
            if energy > 1:
                raise InputError(f"energy must be at most 1, got {energy}.")
            part = np.cumsum(s**2) / max(np.sum(s**2), np.finfo(s.dtype).tiny)
            return min(int(np.searchsorted(part, energy * (1 - 1e-15))) + 1, len(s))
        return max(1, int(np.count_nonzero(s > n * np.finfo(s.dtype).eps * s[0])))

    def _write(self, X: np.ndarray, out: np.ndarray) -> None:
        out[:] = self._interpolate(X)

    def _features(self, X: np.ndarray) -> np.ndarray:
        return self.modes_ if np.array_equal(X, self.points_) else super()._features(X)

    def _interpolate(self, X: np.ndarray) -> np.ndarray:
        X = X.astype(np.float64, copy=False)
        low, high = self.points_.min(axis=0), self.points_.max(axis=0)
        beyond = np.any((low - X > 1e-9 * (high - low)) | (X - high > 1e-9 * (high - low)), axis=1)
        if beyond.any():
            warnings.warn(
                f"{int(beyond.sum())} of {len(X)} points lie outside the box of the training points: POD "
                "modes are extrapolated there. Train on points that cover the whole domain, or use another "
                "trunk.",
                ExtrapolationWarning,
                stacklevel=4,
            )
        return interpolate(self.points_, self.modes_, X)

    def _row_size(self) -> int:
        axes, _ = as_grid(self.points_)
        widest = len(self.points_) if axes is None else len(self.points_) // len(axes[0]) * self.width_
        return max(widest, self.width_)


def _principal(G: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Left singular vectors and singular values of G (M, N), without forming the right ones."""
    largest = np.abs(G).max()
    if largest > 0:
        G = G / largest
    if G.shape[0] <= G.shape[1]:
        G = qr(G.T, mode="r", check_finite=False)[0][: G.shape[0]].T
    Z, s, _ = svd(G, full_matrices=False, check_finite=False)
    return Z, s
