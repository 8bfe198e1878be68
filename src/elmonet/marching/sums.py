"""Sums over steps, from which the coefficients of a step follow; of all records, or without some of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from elmonet.linalg import add_gram, product
from elmonet.marching.step import Series, Step


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over steps that determine the coefficients: of ``phi phi'`` (lower triangle) and ``phi y'``."""

    gram: np.ndarray
    right: np.ndarray

    @classmethod
    def of(cls, step: Step, series: Sequence[Series]) -> Self:
        """Return the sums over all steps of some series, with their weights."""
        found = cls(np.zeros((step.count, step.count), order="F"), np.zeros((step.count, step.sizes[0])))
        for one in series:
            for B, y in step.rows([one]):
                if one.weight != 1:
                    B *= one.weight
                    y = y * one.weight
                found.add(B, y)
        return found

    def add(self, B: np.ndarray, y: np.ndarray) -> None:
        """Add the steps with features B (F, n) and targets y (c, n)."""
        add_gram(self.gram, B)
        self.right[:] += product(B, np.ascontiguousarray(y.T))

    def __add__(self, other: Sums) -> Sums:
        return Sums(self.gram + other.gram, self.right + other.right)

    def solve(self, alpha: float) -> np.ndarray | None:
        """Return coefficients (F, c) of the ridge with features scaled to norm 1; None if it is singular."""
        norms = np.sqrt(np.diag(self.gram))
        D = 1 / np.where(norms > 0, norms, 1.0)
        scaled = self.gram * D[:, None] * D
        scaled.flat[:: len(D) + 1] += alpha
        try:
            factor = cho_factor(scaled, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            return None
        found = cho_solve(factor, self.right * D[:, None], check_finite=False) * D[:, None]
        return found if np.isfinite(found).all() else None


def fold_coefficients(
    step: Step, series: Sequence[Series | None], folds: np.ndarray, alphas: Sequence[float]
) -> np.ndarray:
    """Return coefficients (K, A, F, c) of fits without each fold; NaN where a ridge is singular."""
    sums = fold_sums(step, series, folds)
    K = len(sums)
    out = np.full((K, len(alphas), step.count, step.sizes[0]), np.nan)
    for k in range(K):
        others = total([own for j, own in enumerate(sums) if j != k])
        for a, alpha in enumerate(alphas):
            C = others.solve(alpha)
            if C is not None:
                out[k, a] = C
    return out


def fold_sums(step: Step, series: Sequence[Series | None], folds: np.ndarray) -> list[Sums]:
    """Return the sums over the steps of each fold."""
    own: list[list[Series]] = [[] for _ in range(int(folds.max()) + 1)]
    for one, fold in zip(series, folds, strict=True):
        if one is not None:
            own[fold].append(one)
    return [Sums.of(step, part) for part in own]


def total(sums: Sequence[Sums]) -> Sums:
    """Return the sum of all."""
    found = Sums(sums[0].gram.copy(order="F"), sums[0].right.copy())
    for own in sums[1:]:
        found.gram[:] += own.gram
        found.right[:] += own.right
    return found
