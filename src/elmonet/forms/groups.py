"""Groups of functions that are left out together: given labels, windows, trajectories, near repeats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

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
_COMPARED = 3  # values of a window by which another one is found in it
_INSPECTED = 64  # windows whose predecessors are looked for first
_MARKS = 1 << 21  # places of a table of keys
_MAX_SHIFTS = 64  # shifts by which windows overlap, the smallest ones
_MAX_COMPARED = 1_000_000  # values at which windows may begin, in all functions
_BY_CHANCE = 0.01  # of the overlaps, that may also be found in columns in random order
_FEW_STRETCHES, _MANY_STRETCHES = 6, 20  # that a series is cut into, longer than a window if there are more


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
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise InputError(
            f"groups must hold a label for each function, and function {np.flatnonzero(np.isnan(labels))[0]} "
            "has none (NaN). Give it a label of its own, or that of its run."
        )
    numbers = np.unique(labels, return_inverse=True)[1].ravel()
    return _together(numbers, f"{len(set(numbers.tolist()))} groups, as given: each is left out as a whole")


def find_groups(X: np.ndarray, y: np.ndarray, sizes: Any = None, compared: Any = None) -> Groups | None:
    """Find windows of one series, steps of trajectories, where an output is the next input, and near repeats.

    A function whose neighbours in time, or a near copy of it, are in the training data is not new: leaving
    it out alone underestimates the error on new functions. `sizes` are those of several inputs side by side,
    `compared` those of what shares a unit, by default the same.
    """
    n = len(X)
    if n < 2 or y.dtype == object:
        return None
    rows, y = X.reshape(n, -1), y.reshape(n, -1)
    order, near = _windows(X, y, sizes) or _steps(rows, y), near_repeats(rows, compared or sizes)
    pairs, reasons = near, []
    if order is not None:
        numbers, reason = order.groups()
        inside = np.argsort(numbers, kind="stable")
        pairs = np.concatenate([near, np.stack([inside[:-1], inside[1:]], 1)[np.diff(numbers[inside]) == 0]])
        reasons.append(reason)
    if len(near):
        reasons.append(f"{len(np.unique(near))} inputs are nearly repeats of others and left out with them")
    return _together(connected(pairs, n), "; ".join(reasons)) if reasons else None


def _together(numbers: np.ndarray, reason: str) -> Groups | None:
    return None if len(np.unique(numbers)) == len(numbers) else Groups(numbers, reason)


class _InTime(NamedTuple):
    """Functions that follow each other in time.

    previous : (N,), the function that each one follows, itself if there is none.
    shift : (N,), by how much; 0 if there is none.
    length : time that one function covers.
    windows : whether they overlap; otherwise they are steps, an output being the next input.
    """

    previous: np.ndarray
    shift: np.ndarray
    length: int
    windows: bool

    def groups(self) -> tuple[np.ndarray, str]:
        """Return group numbers (N,): series as a whole, or stretches of them if they are too few, and why."""
        n = len(self.previous)
        time, root = self.shift.astype(float), self.previous
        for _ in range(int(np.ceil(np.log2(n)))):  # pointer jumping, to the first function of each series
            time, root = time + time[root], root[root]
        series = connected(np.stack([np.arange(n), self.previous], axis=1), n)
        counts = np.bincount(series)
        several = int(np.count_nonzero(counts > 1))
        what = (
            "inputs are overlapping windows of"
            if self.windows
            else "outputs are the inputs of other functions"
        )
        if several >= (_FEW_STRETCHES if self.windows else 2):
            if self.windows:
                return series, f"{what} {several} series: each is left out as a whole"
            return series, f"{what}: each trajectory is left out as a whole"
        numbers = np.zeros(n, int)
        for one in range(len(counts)):
            own = np.flatnonzero(series == one)
            since, span = time[own] - time[own].min(), np.ptp(time[own]) + 1
            most, fewest = _MANY_STRETCHES // several, -(-_FEW_STRETCHES // several)
            parts = 1 if len(own) == 1 else int(np.clip(span // self.length, fewest, most))
            numbers[own] = numbers.max() + 1 + (since * parts // span).astype(int)
        stretches = len(np.unique(numbers[counts[series] > 1]))
        of = (
            f"{what} {'one' if several == 1 else several} series"
            if self.windows
            else f"{what}, in one trajectory"
        )
        return numbers, f"{of}: left out in {stretches} stretches of it; give groups if you know better ones"


def _windows(X: np.ndarray, y: np.ndarray, sizes: Any) -> _InTime | None:
    """Return the order of inputs or outputs that are windows sliding over a series, in any order of rows."""
    n, rows = len(X), X.reshape(len(X), -1)
    m = rows.shape[1]
    views = [(rows, m), (y, y.shape[1])]
    if m > 1:
        views.append((np.hstack([rows, y]), m - 1))  # the outputs may be the values that follow the inputs
    if sizes is not None:
        views += [(part, part.shape[1]) for part in np.split(rows, np.cumsum(sizes)[:-1], axis=1)]
    if X.ndim > 2:
        views.append((X.reshape(n, -1, X.shape[-1])[:, 0], X.shape[-1]))  # the first of several channels
    found: list[tuple[Any, ...]] = []
    for A, most in views:
        previous, shift = _overlaps(A, most)
        if shift.any() and not _by_chance(A, shift):
            found.append((np.count_nonzero(shift), A.shape[1], len(found), previous, shift))
    if not found:
        return None
    _, length, _, previous, shift = max(found, key=lambda one: one[:3])
    return _InTime(previous, shift, length, windows=True)


def _overlaps(A: np.ndarray, most: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return which row of A (N, m) each one follows most closely, and by how much, as in `_InTime`.

    Row j follows row i by s if ``A[i, s:] == A[j, :m - s]``, bit for bit, in at least three different
    values (two if there are two). `most` is the largest s.
    """
    n, m = A.shape
    previous, shift = np.arange(n), np.zeros(n, int)
    width = min(_COMPARED, m - 1)
    if width < 2:
        return previous, shift
    along = np.random.default_rng(0).standard_normal(width)

    def key(s: int) -> np.ndarray:
        """One number per row for the values from s on, equal for equal values: a sum without BLAS."""
        return np.asarray(sum(A[:, s + j] * along[j] for j in range(width)), np.float64)

    starts = key(0)
    order = np.argsort(starts, kind="stable")
    some = np.sort(starts[np.linspace(0, n - 1, min(n, _INSPECTED)).astype(int)])
    marked = np.zeros(_MARKS, bool)  # where a key is not marked, it is none of these
    marked[_marks(some)] = True
    compared = 0
    for s in range(1, min(m - width, most or m, max(_INSPECTED, _MAX_COMPARED // n)) + 1):
        keys = key(s)
        if not marked[_marks(keys)].any():
            continue
        if not (some[np.minimum(np.searchsorted(some, keys), len(some) - 1)] == keys).any():
            continue
        after = order[np.minimum(np.searchsorted(starts[order], keys), n - 1)]
        before = np.flatnonzero((starts[after] == keys) & (shift[after] == 0) & (after != np.arange(n)))
        common = A[before, s:]
        levels = 1 + np.count_nonzero(np.diff(np.sort(common, axis=1)), axis=1)
        same = (common == A[after[before], : m - s]).all(axis=1) & (levels >= min(_COMPARED, m - s))
        before = before[same]
        previous[after[before]], shift[after[before]] = before, s
        compared += 1
        if compared == _MAX_SHIFTS or shift.all():
            break
    return previous, shift


def _marks(keys: np.ndarray) -> np.ndarray:
    """Return a place below `_MARKS` for each key (n,), the same for equal keys (multiplicative hashing)."""
    bits = (keys + 0.0).view(np.uint64)  # -0.0 equals 0.0
    return np.asarray((bits * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(65 - _MARKS.bit_length()))


def _by_chance(A: np.ndarray, shift: np.ndarray) -> bool:
    """Return whether rows overlap with the columns in another order too: their values have few levels."""
    n, m = A.shape
    if m == 3 and len(np.unique(A)) < n:
        return True
    order = np.array([1, 0, 2]) if m == 3 else np.random.default_rng(0).permutation(m)
    return bool(np.count_nonzero(_overlaps(A[:, order])[1]) > _BY_CHANCE * np.count_nonzero(shift))


def _steps(X: np.ndarray, y: np.ndarray) -> _InTime | None:
    """Return the order of functions of which an output is the input of the next one, bit for bit."""
    if X.shape[1] != y.shape[1]:
        return None
    along = np.random.default_rng(0).standard_normal((1, X.shape[1]))
    inputs, outputs = (np.sum(rows * along, axis=1) for rows in (X, y))  # without BLAS: equal for equal rows
    order = np.argsort(inputs, kind="stable")
    place = np.minimum(np.searchsorted(inputs[order], outputs), len(X) - 1)
    follower = order[place]
    found = np.flatnonzero(inputs[follower] == outputs)
    found = found[[np.array_equal(y[i], X[follower[i]]) and follower[i] != i for i in found]]
    if not len(found):
        return None
    previous, shift = np.arange(len(X)), np.zeros(len(X), int)
    previous[follower[found]], shift[follower[found]] = found, 1
    return _InTime(previous, shift, 1, windows=False)


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
