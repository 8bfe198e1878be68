"""One layer's normal equations, summed over blocks of rows: never are all rows in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from os import cpu_count
from typing import Any, Self

import numpy as np
from scipy.linalg import LinAlgError
from threadpoolctl import threadpool_limits

from elmonet._blas import add_gram, beside_others
from elmonet.solve.cholesky import Cholesky

__all__ = ["Sums", "in_threads", "least_on"]

_ALPHAS = 10.0 ** np.arange(-13, 0, 2)  # parts of a feature's own size
_WORSE = 1.02  # times the least error, beyond which smaller alphas are not tried


@dataclass
class Sums:
    """G = Phi' Phi (q, q), g = Phi' t (q, c) and t't over rows of features Phi and targets t."""

    gram: np.ndarray  # the lower triangle, Fortran-ordered
    cross: np.ndarray
    squares: float = 0.0

    @classmethod
    def empty(cls, q: int, c: int) -> Sums:
        """Of no rows yet."""
        return cls(np.zeros((q, q), order="F"), np.zeros((q, c)))

    def add(self, features: np.ndarray, target: np.ndarray) -> None:
        """Rows (R, q) of features and (R, c) of what they should give."""
        add_gram(self.gram, features.T)
        self.cross += features.T @ target
        self.squares += float(np.sum(target**2))

    def __iadd__(self, other: Sums) -> Self:
        self.gram += other.gram
        self.cross += other.cross
        self.squares += other.squares
        return self

    def missed(self, c: np.ndarray) -> float:
        """||t - Phi c||^2 = t't - 2 c'g + c'G c of coefficients (q, c)."""
        L = self.gram
        Gc = L @ c + L.T @ c - L.diagonal()[:, None] * c
        return self.squares - 2 * float(np.sum(c * self.cross)) + float(np.sum(c * Gc))

    def solved(self, alpha: float) -> np.ndarray | None:
        """The coefficients (q, c) at a ridge alpha; None if it is too small for double precision.

        Features are divided by their root sum of squares, D^-1, so that alpha is a part of each feature's own
        size: (D G D + alpha) D^-1 c = D g.
        """
        d = self.gram.diagonal().copy()
        d = 1 / np.sqrt(np.where(d > 0, d, 1.0))
        G = self.gram * d
        G *= d[:, None]
        try:
            return d[:, None] * Cholesky(G, alpha).solve(d[:, None] * self.cross)
        except LinAlgError:
            return None


def least_on(held_out: Sums, fitted: Sums) -> tuple[np.ndarray, float]:
    """The coefficients from the `fitted` rows at the alpha whose error on the rows held out is least."""
    best: tuple[float, Any, float] = (np.inf, None, 1.0)
    for alpha in _ALPHAS[::-1]:
        c = fitted.solved(alpha)
        missed = np.inf if c is None else held_out.missed(c)
        if missed < best[0]:
            best = missed, c, float(alpha)
        elif missed > _WORSE * best[0]:
            break
    return best[1], best[2]


def in_threads(work: Callable[[int], None], parts: Sequence[int]) -> None:
    """Do the parts of some work, one thread a core; each part must write where no other one does."""
    workers = min(len(parts), cpu_count() or 1)
    if workers <= 1:
        for part in parts:
            work(part)
        return

    def beside(part: int) -> None:
        with beside_others():
            work(part)

    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(workers) as pool:
        list(pool.map(beside, parts))
