"""Polynomials as a trunk."""

from __future__ import annotations

import warnings
from itertools import product
from math import comb, prod
from typing import Any

import numpy as np
from numpy.polynomial.legendre import legvander

from elmonet._check import ExtrapolationWarning, InputError, positive_integer
from elmonet.features.base import FeatureMap
from elmonet.features.jet import Jet

__all__ = ["Legendre"]


class Legendre(FeatureMap):
    """All polynomials up to a total degree, as products of Legendre polynomials: a trunk for smooth outputs.

    The box of the points seen in `fit` is mapped to [-1, 1]^d. In d dimensions there are
    ``(degree + d)! / (degree! d!)`` of them: 91 in two dimensions up to degree 12. Outside the box they
    grow fast, and a warning says so.

    Parameters
    ----------
    degree : the largest total degree; or a tuple, the largest degree in each coordinate: then all products.

    Examples
    --------
    >>> Legendre(2).fit([[0.0], [1.0]]).transform([[0.5], [1.0]])
    array([[ 1. ,  0. , -0.5],
           [ 1. ,  1. ,  1. ]])
    """

    def __init__(self, degree: int | tuple[int, ...] = 12):
        self.degree = degree

    @property
    def width_(self) -> int:
        """The number of polynomials."""
        if isinstance(self.degree, (tuple, list)):
            return prod(int(degree) + 1 for degree in self.degree)
        return comb(int(self.degree) + self._dimension(), self._dimension())

    def fitted_arrays(self) -> dict[str, np.ndarray]:
        """The box."""
        return {"box_": self.box_}

    def derive(self) -> None:
        """List the degrees in each coordinate, lowest total degree first."""
        each = self.degree if isinstance(self.degree, (tuple, list)) else (self.degree,) * self._dimension()
        each = tuple(positive_integer(degree, "degree", minimum=0) for degree in each)
        if len(each) != self._dimension():
            raise InputError(
                f"degree must hold one number for each of the {self._dimension()} coordinates, got {each}."
            )
        total = sum(each) if isinstance(self.degree, (tuple, list)) else each[0]
        powers = product(*(range(degree + 1) for degree in each))
        self.powers_ = np.array(sorted((p for p in powers if sum(p) <= total), key=lambda p: (sum(p), p)))

    def _prepare(self, X: np.ndarray, y: Any) -> None:
        points = X.reshape(len(X), -1).astype(np.float64)
        self.box_ = np.stack([points.min(axis=0), points.max(axis=0)])
        self.derive()

    def _write(self, X: np.ndarray, out: np.ndarray) -> None:
        low, high = self.box_
        middle, half = (low + high) / 2, np.where(high > low, (high - low) / 2, 1.0)
        x = (X.reshape(len(X), -1) - middle) / half
        # P_n(1 + e) is about I_0(n sqrt(2 e)): up to e = 1 / (2 n^2) it hardly grows.
        top = int(self.powers_.max())
        beyond = np.any(np.abs(x) > 1 + 0.5 / max(1, top) ** 2, axis=1)
        if beyond.any():
            warnings.warn(
                f"{int(beyond.sum())} of {len(x)} points lie outside the box of the training points, where "
                "polynomials grow fast. Train on points that cover the whole domain.",
                ExtrapolationWarning,
                stacklevel=4,
            )
        out[:] = 1
        for column, power in zip(x.T, self.powers_.T, strict=True):
            out *= legvander(column, top)[:, power]

    def _jet(self, X: Jet) -> Jet:
        low, high = self.box_
        half = np.where(high > low, (high - low) / 2, 1.0)
        x, n = (X + -(low + high) / 2) * (1 / half), int(self.powers_.max())
        found: Any = None
        for j, power in enumerate(self.powers_.T):
            own = x.part((slice(None), slice(j, j + 1)))
            # (k + 1) P_(k+1) = (2 k + 1) x P_k - k P_(k-1)
            P = [own * 0.0 + 1.0, own]
            for k in range(1, n):
                P.append((own * P[k]) * ((2 * k + 1) / (k + 1)) + P[k - 1] * (-k / (k + 1)))
            every = Jet(np.concatenate([p.coefficients for p in P[: n + 1]], axis=-1), X.orders)
            factor = every.part((slice(None), power))
            found = factor if found is None else found * factor
        return found

    def _dimension(self) -> int:
        return int(np.prod(self.input_shape_))
