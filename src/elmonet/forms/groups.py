"""Groups of functions that are left out together: given labels, steps of trajectories, near repeats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from elmonet.checks import plain
from elmonet.errors import InputError
from elmonet.forms.transforms import of_order_one

_NEAR = 1e-4  # distance of near repeats, relative to the spread of all functions
_TIGHT = 3.0  # diameter of a group of near repeats, relative to that distance
_DIRECTIONS = 3  # random projections along which functions are compared first
_MAX_PAIRS = 2_000_000  # pairs that are compared
_PAIRS_PER_BLOCK = 10_000


@dataclass(frozen=True)
class Groups:
    """A group number for each function (N,), and the reason for grouping, in words."""

    numbers: np.ndarray
    reason: str

    def of(self, rows: Any) -> Groups | None:
        """Return the groups of some functions; None if no two of them belong together."""
        return _together(self.numbers[rows], self.reason)


def given_groups(groups: Any, n: int) -> Groups | None:
    """Return groups from labels, one for each of n functions."""
    labels = np.asarray(plain(groups))
    if labels.shape != (n,):
        raise InputError(
            f"groups must hold one label for each of the {n} functions, such as the number of the run it "
            f"comes from; got the shape {labels.shape}."
        )
    numbers = np.unique(labels, return_inverse=True)[1].ravel()
    return _together(numbers, f"{len(set(numbers.tolist()))} groups, as given: each is left out as a whole")


def find_groups(X: np.ndarray, y: np.ndarray, sizes: Any = None) -> Groups | None:
    """Find steps of trajectories, where an output is the input of another function, and near repeats.

    A function whose neighbours in time, or a near copy of it, are in the training data is not new: leaving
    it out alone underestimates the error on new functions. `sizes` are those of several inputs side by side.
    """
    n = len(X)
    if n < 2 or y.dtype == object:
        return None
    X = X.reshape(n, -1)
    steps, near = _linked(X, y.reshape(n, -1)), near_repeats(X, sizes)
    reasons = []
    if len(steps):
        reasons.append("outputs are the inputs of other functions: each trajectory is left out as a whole")
    if len(near):
        reasons.append(f"{len(np.unique(near))} inputs are nearly repeats of others and left out with them")
    pairs = np.concatenate([steps, near])
    if not len(pairs):
        return None
    return _together(connected(pairs, n), "; ".join(reasons))


def _together(numbers: np.ndarray, reason: str) -> Groups | None:
    return None if len(np.unique(numbers)) == len(numbers) else Groups(numbers, reason)


def _linked(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return pairs (K, 2) of functions: the output of the first is the input of the second, bit for bit."""
    if X.shape[1] != y.shape[1]:
        return np.empty((0, 2), int)
    along = np.random.default_rng(0).standard_normal((1, X.shape[1]))
    inputs, outputs = (np.sum(rows * along, axis=1) for rows in (X, y))  # without BLAS: equal for equal rows
    order = np.argsort(inputs, kind="stable")
    place = np.minimum(np.searchsorted(inputs[order], outputs), len(X) - 1)
    follower = order[place]
    found = np.flatnonzero(inputs[follower] == outputs)
    found = found[[np.array_equal(y[i], X[follower[i]]) and follower[i] != i for i in found]]
    return np.stack([found, follower[found]], axis=1)


def near_repeats(X: np.ndarray, sizes: Any = None) -> np.ndarray:
    """Return pairs (K, 2) of functions whose distance is a small part of the spread."""
    n, X = len(X), of_order_one(X, sizes)
    centred = X - X.mean(axis=0)
    limit = _NEAR * float(np.sqrt(np.mean(np.einsum("ij,ij->i", centred, centred))))
    directions = np.random.default_rng(1).standard_normal((X.shape[1], _DIRECTIONS))
    directions /= np.linalg.norm(directions, axis=0)
    seen = centred @ directions  # differences along a unit vector are at most the distance
    order = np.argsort(seen[:, 0], kind="stable")
    ends = np.searchsorted(seen[order, 0], seen[order, 0] + limit, side="right")
    counts = ends - np.arange(n) - 1
    if limit == 0 or counts.sum() == 0 or counts.sum() > _MAX_PAIRS:
        return np.empty((0, 2), int)
    first = np.repeat(np.arange(n), counts)
    second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(counts) - counts, counts)
    pairs = order[np.stack([first, second], axis=1)]
    pairs = pairs[np.all(np.abs(seen[pairs[:, 0]] - seen[pairs[:, 1]]) <= limit, axis=1)]
    pairs = pairs[_distances(centred, pairs) <= limit]
    # A chain of near neighbours whose ends are far apart is a dense family of functions, not repeats.
    which = connected(pairs, n)
    _, leader = np.unique(which, return_index=True)
    members = np.unique(pairs)
    reach = np.zeros(len(leader))
    np.maximum.at(
        reach, which[members], _distances(centred, np.stack([members, leader[which[members]]], axis=1))
    )
    return pairs[reach[which[pairs[:, 0]]] <= _TIGHT * limit]


def _distances(X: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return the distances of pairs (K, 2) of rows, in blocks."""
    found = np.empty(len(pairs))
    for start in range(0, len(pairs), _PAIRS_PER_BLOCK):
        first, second = pairs[start : start + _PAIRS_PER_BLOCK].T
        found[start : start + _PAIRS_PER_BLOCK] = np.linalg.norm(X[first] - X[second], axis=1)
    return found


def connected(pairs: np.ndarray, n: int) -> np.ndarray:
    """Return the connected component (n,) of each function."""
    graph = coo_array((np.ones(len(pairs)), pairs.T), shape=(n, n))
    return connected_components(graph, directed=False)[1]
