"""Functions that come more than once: leave-one-out must leave them out together."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from elmonet.form.training import Training

__all__ = ["Repeats", "merge_repeats"]

_DIGITS = 10  # inputs that agree in this many digits of the largest value are the same


@dataclass(frozen=True)
class Repeats:
    """How many functions were repeats of others, and how much the outputs of the same input differ.

    `spread` is the root-mean-square deviation of repeated outputs from their mean, relative to the size of
    the outputs: an estimate of the noise in them. Zero without repeats. `left` is the noise of their means.
    """

    count: int
    spread: float
    left: float = 0.0


def merge_repeats(training: Training) -> tuple[Training, Repeats]:
    """Each input once, with the mean of its outputs, in the order in which they first come."""
    X, y = training.X, training.y
    largest = np.abs(X).max() or 1.0
    rows = np.round(X.reshape(len(X), -1) / largest, _DIGITS) + 0.0
    _, first, which = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    if len(first) == len(X):
        return training, Repeats(0, 0.0)
    order = np.argsort(first)
    which = np.argsort(order)[which.ravel()]
    counts = np.bincount(which)
    mean = np.zeros((len(first), *y.shape[1:]))
    np.add.at(mean, which, y)
    mean /= counts.reshape(-1, *[1] * (y.ndim - 1))
    repeated = counts[which] > 1
    freedom = max(1, int(counts[counts > 1].sum() - np.count_nonzero(counts > 1)))
    squares = np.sum((y - mean[which])[repeated] ** 2) / freedom
    per_function = np.mean(np.sum(y.reshape(len(y), -1) ** 2, axis=1)) or 1.0
    groups = None if training.groups is None else training.groups.of(np.sort(first))
    merged = replace(training, X=X[np.sort(first)], y=mean, groups=groups)
    spread = float(np.sqrt(squares / per_function))
    return merged, Repeats(len(X) - len(first), spread, spread * float(np.sqrt(np.mean(1 / counts))))
