"""How alpha is chosen if leaving each function out would need a fit each: some functions are held out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["DECADES", "Choice", "UnalignedFit", "folds", "resolved"]

DECADES = 12  # of alpha, from s_max^2 down: what a Gram matrix of B resolves

_FOLDS = 5  # a fold holds out one function in so many
_ENOUGH = 100  # functions held out, in as many folds as that takes


@dataclass(frozen=True)
class Choice:
    """An alpha, the mean relative error on functions held out, and the path to it, ascending in alpha.

    `guess` is what an iteration at this alpha may begin with; None where there is no iteration.
    """

    alpha: float
    error: float
    alphas: np.ndarray
    path: np.ndarray
    guess: np.ndarray | None = None


@dataclass(frozen=True)
class UnalignedFit:
    """Coefficients C (r, p1) in the basis, an account as in `Solution`, and the steps of an iteration."""

    C: np.ndarray
    residual: float
    condition: float
    method: str
    rank_B: int | None = None
    cutoff: float = 0.0
    steps: int = 0


def folds(n: int) -> list[np.ndarray]:
    """Masks (n,) of the functions that are kept, while the others are held out."""
    order = np.random.default_rng(0).permutation(n)
    count = min(_FOLDS, n)
    masks = []
    for fold in range(min(count, -(-_ENOUGH * _FOLDS // n)) if n > 1 else 0):
        kept = np.ones(n, bool)
        kept[order[fold::count]] = False
        masks.append(kept)
    return masks


def resolved(alpha: float | None, largest: float) -> bool:
    """Whether a Gram matrix, given its largest eigenvalue, is good enough for alpha (None: to be chosen)."""
    return alpha is None or alpha >= 10.0**-DECADES * largest
