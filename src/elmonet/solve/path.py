"""The choice of alpha: the candidates, how far down they go, and which of them can be trusted.

A Gram matrix of B is cheap, but an alpha below its rounding, `gram_rounding`, needs the singular values of B
itself. These are computed if the criterion still falls there, and then down to ``eps^2 s_max^2 / 16``: what
lies below the usual cut-off ``max(shape) eps`` may still carry data, and leave-one-out decides. An alpha at
which rounding hides more than a thousandth of the error is not a candidate, unless that is below 1e-9 of the
functions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace

import numpy as np
from scipy.linalg import LinAlgError

from elmonet.solve.factor import Factor, Sweep, gram_rounding, trusted

FINEST = (float(np.finfo(np.float64).eps) / 4) ** 2  # the smallest candidate, relative to s_max^2
_STILL_FALLING = 0.9  # the criterion falls at an alpha if it is below this times that at the next larger one
_FLAT = 1.1  # the criterion is flat within this factor of its least value
_RISING = 1.0005  # the criterion rises if it exceeds that at the next larger alpha by this factor
_REFINED_FROM = 500  # functions from which the best alpha is known better than the steps are wide
_PER_STEP = 8  # parts of the step between two alphas, to which the one between them is rounded
_APART = 3  # of a rough path, every third alpha is evaluated first, then all between those next to the best


class AlphaPath(ABC):
    """The criterion along the candidates for alpha.

    Attributes
    ----------
    alphas : (A,), ascending.
    criterion : (A,), to be minimised.
    factor, scores : the factorisation of B that was needed, and its `Sweep` over the alphas.
    left_out_at : (A,), the alphas at which functions were left out: larger than given, where leave-one-out
        could not be trusted.
    """

    alphas: np.ndarray
    criterion: np.ndarray
    factor: Factor
    scores: Sweep
    left_out_at: np.ndarray

    def __init__(self, shape: tuple[int, ...], penalty: np.ndarray):
        self.shape, self.penalty = shape, penalty
        self.weight = float(penalty.min())

    @abstractmethod
    def coarse(self) -> Factor:
        """Factorise the Gram matrix."""

    @abstractmethod
    def fine(self, least: float) -> Factor | None:
        """Factorise B itself, for alphas below `least`; None if that is not possible."""

    def known_fine(self) -> Factor | None:
        """Return the factor of B itself if there is one already."""
        return None

    @abstractmethod
    def sweep(self, factor: Factor, alphas: np.ndarray) -> Sweep:
        """Return the scores of the factor at each alpha."""

    @abstractmethod
    def measured(self, scores: Sweep) -> tuple[np.ndarray, np.ndarray]:
        """Return the criterion and the relative error at each alpha."""

    def choose(self, count: int, rough: bool = False) -> None:
        """Evaluate `count` alphas down from the largest eigenvalue, and as many below if worthwhile.

        With many functions, one more is evaluated between those next to the best.

        If B itself was factorised before, all of them are evaluated with that. With `rough`, only some of
        those that need it are, around the best.
        """
        fine = self.known_fine()
        factor, rounding = self.coarse() if fine is None else fine, gram_rounding(self.shape)
        top = (factor.largest or 1.0) / self.weight
        alphas = np.geomspace(rounding * top, top, count)
        if fine is None:
            self._take(factor, alphas)
            if self._may_fall_further(self.hides_directions(factor) or len(self.alphas) < count):
                fine = self.fine(float(alphas[0]))
        if fine is not None:
            lower = np.geomspace(FINEST * top, rounding * top, count)
            alphas = np.concatenate([lower[:-1], alphas])
            self._take(fine, alphas[self._around_best(fine, alphas)] if rough else alphas)
        self._refine()

    def evaluate(self, factor: Factor, alphas: np.ndarray, least_trusted: float | None = None) -> None:
        """Evaluate given alphas; where they cannot be trusted, leave functions out at `least_trusted`.

        Raises `LinAlgError` if there are such alphas and `least_trusted` is None.
        """
        self.factor, self.alphas, self.left_out_at = factor, alphas, alphas
        self.scores = self.sweep(factor, alphas)
        doubted = ~self._trusted()
        if doubted.any():
            if least_trusted is None:
                raise LinAlgError("alpha is too small for the factorisation")
            self.left_out_at = np.where(doubted, np.maximum(alphas, least_trusted / self.weight), alphas)
            self.scores = replace(self.sweep(factor, self.left_out_at), squared=self.scores.squared)
        self.criterion, _ = self.measured(self.scores)

    def best(self) -> int:
        """Return the index of the best alpha."""
        return int(np.argmin(self.criterion))

    def hides_directions(self, factor: Factor) -> bool:
        """Return whether B may have directions that its Gram matrix does not resolve."""
        return factor.rank is not None and factor.rank < min(self.shape)

    def _take(self, factor: Factor, alphas: np.ndarray) -> None:
        """Evaluate these alphas and keep those that can be trusted."""
        self.factor, self.scores = factor, self.sweep(factor, alphas)
        kept = self._trusted()
        self.scores = self.scores.at(kept)
        self.alphas = self.left_out_at = alphas[kept]
        self.criterion, _ = self.measured(self.scores)

    def _refine(self) -> None:
        """Evaluate the alpha at the vertex of a parabola through the best one and its neighbours.

        At an alpha that is off by a factor of two, the error is half a percent larger, which hides how it
        changes with the scale of a kernel (Darcy flow of benchmarks/peers.py).
        """
        best = self.best()
        few = self.shape[1] < _REFINED_FROM
        if few or not 0 < best < len(self.alphas) - 1 or self.criterion[best] <= 0:
            return
        x, f = (np.log(A[best - 1 : best + 2]) for A in (self.alphas, self.criterion))
        slope, curvature = np.polyfit(x - x[1], f, 2)[1::-1]
        step = min(x[1] - x[0], x[2] - x[1]) / _PER_STEP
        parts = np.rint(-slope / (2 * curvature) / step) if curvature > 0 else 0
        if not parts or abs(parts) > _PER_STEP // 2:
            return
        alpha = self.alphas[best : best + 1] * np.exp(parts * step)
        scores = self.sweep(self.factor, alpha)
        criterion, error = self.measured(scores)
        if criterion[0] >= self.criterion[best] or not trusted(scores.doubt, error)[0]:
            return
        order = np.argsort(np.append(self.alphas, alpha))
        self.alphas = self.left_out_at = np.append(self.alphas, alpha)[order]
        self.criterion = np.append(self.criterion, criterion)[order]
        self.scores = self.scores.joined(scores).at(order)

    def _around_best(self, factor: Factor, alphas: np.ndarray) -> slice:
        """Return the alphas between those next to the best of every third one; all if none is trusted."""
        scores = self.sweep(factor, alphas[::_APART])
        criterion, error = self.measured(scores)
        criterion = np.where(trusted(scores.doubt, error), criterion, np.inf)
        best = _APART * int(np.argmin(criterion))
        return slice(max(best - _APART + 1, 0), best + _APART) if criterion.min() < np.inf else slice(None)

    def _trusted(self) -> np.ndarray:
        return trusted(self.scores.doubt, self.measured(self.scores)[1])

    def _may_fall_further(self, hidden: bool) -> bool:
        """Return whether alphas below the rounding of the Gram matrix are worth an SVD.

        They are if the criterion still falls there; and, unless noise makes it rise, if there are directions
        that the Gram matrix does not resolve, because it may fall once these come in.
        """
        first, second, least = self.criterion[0], self.criterion[1], self.criterion.min()
        flat = first <= _FLAT * least and first <= _RISING * second
        return bool(first < _STILL_FALLING * second or (hidden and flat))
