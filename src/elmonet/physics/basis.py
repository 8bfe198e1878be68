"""Functions of points with all their derivatives: polynomials, and waves along periodic coordinates."""

from __future__ import annotations

from functools import reduce

import numpy as np

__all__ = ["Basis"]


class Basis:
    """Products of Legendre polynomials; along periodic coordinates, of waves.

    Parameters
    ----------
    corners : (2, d), the lowest and the highest corner of the box that is mapped to [-1, 1]^d.
    degrees : the highest degree in each coordinate; of waves, ``degree // 2`` cosines and sines.
    periodic : whether each coordinate is.
    total : only the products up to the total degree ``max(degrees)``.
    """

    def __init__(
        self,
        corners: np.ndarray,
        degrees: tuple[int, ...],
        periodic: tuple[bool, ...],
        total: bool = False,
    ):
        self.corners, self.degrees, self.periodic = corners, degrees, periodic
        counts = [n // 2 * 2 + 1 if waves else n + 1 for n, waves in zip(degrees, periodic, strict=True)]
        powers = np.indices(counts).reshape(len(counts), -1)
        self._kept = powers.sum(axis=0) <= max(degrees) if total else np.ones(powers.shape[1], bool)
        self.width_ = int(self._kept.sum())

    def derivative(self, points: np.ndarray, orders: tuple[int, ...]) -> np.ndarray:
        """The derivatives (M, p) of these orders at points (M, d)."""
        tables = []
        for j, (n, waves, order) in enumerate(zip(self.degrees, self.periodic, orders, strict=True)):
            low, high = self.corners[:, j]
            x, half = (points[:, j] - (low + high) / 2) / ((high - low) / 2), (high - low) / 2
            tables.append((_waves if waves else _legendre)(x, n, order) / half**order)
        every = reduce(lambda a, b: (a[:, :, None] * b[:, None, :]).reshape(len(points), -1), tables)
        return every if self._kept.all() else every[:, self._kept]


def _legendre(x: np.ndarray, n: int, order: int) -> np.ndarray:
    """The derivatives (M, n + 1) of the Legendre polynomials up to degree n.

    (k + 1) P_(k+1) = (2 k + 1) x P_k - k P_(k-1), and P'_(k+1) = P'_(k-1) + (2 k + 1) P_k for derivatives.
    """
    found = np.polynomial.legendre.legvander(x, n)
    for _ in range(order):
        lower, found = found, np.zeros_like(found)
        for k in range(n):
            found[:, k + 1] = (2 * k + 1) * lower[:, k] + (found[:, k - 1] if k else 0)
    return found


def _waves(x: np.ndarray, n: int, order: int) -> np.ndarray:
    """The derivatives (M, 2 (n // 2) + 1) of 1, cos(pi k x) and sin(pi k x), which have the period 2."""
    k = np.pi * np.arange(1, n // 2 + 1)
    turned = np.outer(x, k) + order * np.pi / 2
    found = np.empty((len(x), 2 * len(k) + 1))
    found[:, 0] = order == 0
    found[:, 1::2], found[:, 2::2] = k**order * np.cos(turned), k**order * np.sin(turned)
    return found
