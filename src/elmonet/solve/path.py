"""How alpha is chosen: the candidates, how far down they go, and which of them can be trusted.

A Gram matrix of B is cheap, but an alpha below its rounding, `gram_rounding`, needs the singular values of B
itself. These are asked for if the criterion still falls there, and then down to ``eps^2 s_max^2 / 16``: what
lies below the usual cut-off ``max(shape) eps`` may still carry data, and leave-one-out decides. An alpha at
which rounding hides more than a thousandth of the error is no candidate, unless that is below 1e-9 of the
functions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace

import numpy as np
from scipy.linalg import LinAlgError

from elmonet.solve.factor import Factor, Sweep, gram_rounding, trusted

__all__ = ["FINEST", "AlphaPath"]

FINEST = (float(np.finfo(np.float64).eps) / 4) ** 2  # part of s_max^2
_STILL_FALLING = 0.9  # a criterion that falls to less than this from one alpha to the next
_FLAT = 1.1  # a criterion within this factor of its least value
_RISING = 1.0005  # a criterion that rises by more than this to the next smaller alpha


class AlphaPath(ABC):
    """The criterion along the candidates for alpha.

    Attributes
    ----------
    alphas : (A,), ascending.
    criterion : (A,), of which the least is sought.
    factor, swept : the factorisation of B that was needed, and what it says at each alpha.
    left_out_at : (A,), the alphas at which functions were left out: larger, where those given are too small
        for that to be trusted.
    """

    alphas: np.ndarray
    criterion: np.ndarray
    factor: Factor
    swept: Sweep
    left_out_at: np.ndarray

    def __init__(self, shape: tuple[int, ...], penalty: np.ndarray):
        self.shape, self.penalty = shape, penalty
        self.weight = float(penalty.min())

    @abstractmethod
    def coarse(self) -> Factor:
        """Of the Gram matrix."""

    @abstractmethod
    def fine(self, least: float) -> Factor | None:
        """Of B itself, for alphas below `least`; None if that is not to be had."""

    @abstractmethod
    def sweep(self, factor: Factor, alphas: np.ndarray) -> Sweep:
        """What the factor says at each alpha."""

    @abstractmethod
    def measured(self, swept: Sweep) -> tuple[np.ndarray, np.ndarray]:
        """The criterion, and the relative error, at each alpha."""

    def choose(self, count: int) -> None:
        """Evaluate some `count` alphas between the largest eigenvalue and where nothing more is to be had."""
        factor, rounding = self.coarse(), gram_rounding(self.shape)
        top = (factor.largest or 1.0) / self.weight
        alphas = np.geomspace(rounding * top, top, count)
        self._take(factor, alphas)
        if self._may_fall_further(self.unseen(factor) or len(self.alphas) < count):
            fine = self.fine(float(alphas[0]))
            if fine is not None:
                lower = np.geomspace(FINEST * top, rounding * top, count)
                self._take(fine, np.concatenate([lower[:-1], alphas]))

    def evaluate(self, factor: Factor, alphas: np.ndarray, trusted: float | None = None) -> None:
        """Evaluate given alphas. Those that are too small leave functions out at an alpha that is `trusted`.

        Raises `LinAlgError` if there are such and no `trusted` is known.
        """
        self.factor, self.alphas, self.left_out_at = factor, alphas, alphas
        self.swept = self.sweep(factor, alphas)
        doubted = ~self._trusted()
        if doubted.any():
            if trusted is None:
                raise LinAlgError("alpha is too small for the factorisation")
            self.left_out_at = np.where(doubted, np.maximum(alphas, trusted / self.weight), alphas)
            self.swept = replace(self.sweep(factor, self.left_out_at), squared=self.swept.squared)
        self.criterion, _ = self.measured(self.swept)

    def best(self) -> int:
        """The number of the best alpha."""
        return int(np.argmin(self.criterion))

    def unseen(self, factor: Factor) -> bool:
        """Whether B may have directions that its Gram matrix cannot show."""
        return factor.rank is not None and factor.rank < min(self.shape)

    def _take(self, factor: Factor, alphas: np.ndarray) -> None:
        self.factor, self.swept = factor, self.sweep(factor, alphas)
        kept = self._trusted()
        self.swept = self.swept.at(kept)
        self.alphas = self.left_out_at = alphas[kept]
        self.criterion, _ = self.measured(self.swept)

    def _trusted(self) -> np.ndarray:
        return trusted(self.swept.doubt, self.measured(self.swept)[1])

    def _may_fall_further(self, unseen: bool) -> bool:
        """Whether alphas below the rounding of the Gram matrix are worth an SVD, from the criterion above it.

        They are if the criterion still falls there; and, unless noise makes it rise, if there are directions
        which the Gram matrix cannot see, because it may fall once these come in.
        """
        first, second, least = self.criterion[0], self.criterion[1], self.criterion.min()
        flat = first <= _FLAT * least and first <= _RISING * second
        return bool(first < _STILL_FALLING * second or (unseen and flat))
