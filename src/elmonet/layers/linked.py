"""Functions that belong together: steps of a trajectory, the output of one the input of the next."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from elmonet.novelty import fingerprints_of

__all__ = ["linked_groups"]


def linked_groups(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """A number (N,) for each function, the same for those that a chain of outputs and inputs links.

    Steps of one trajectory are so alike that a function whose neighbours in time are known is not new: whole
    trajectories must be held out.
    """
    n = len(X)
    if X[0].size != y[0].size:
        return np.arange(n)
    inputs, outputs = fingerprints_of(X), fingerprints_of(y)
    order = np.argsort(inputs, kind="stable")
    place = np.minimum(np.searchsorted(inputs[order], outputs), n - 1)
    follower = order[place]
    linked = np.flatnonzero(inputs[follower] == outputs)
    graph = coo_array((np.ones(len(linked)), (linked, follower[linked])), shape=(n, n))
    return connected_components(graph, directed=False)[1]
