"""Training records, and the pieces of them that are left out, with what came before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from elmonet.marching.step import Series, Settings, Step
from elmonet.marching.sums import Sums

MIN_PIECES = 10  # records, or stretches of records, that are left out
_MIN_STRETCH = 40  # steps of a stretch
_STRETCH = 4000  # steps of a stretch of long records in a sample
_REST_STEPS = 5.0  # error of steps from rest, relative to that of others, if records begin at rest
_LEAST_SIZE = 0.3  # size of a record, relative to all, below which its errors count no more


@dataclass(frozen=True, eq=False)
class Records:
    """Training records as the step sees them.

    Attributes
    ----------
    u, s : arrays (T_i, p) and (T_i, c); outputs in units of their size.
    parameters : (N, q).
    groups : (N,), numbers of records that are left out together.
    dt, t0 : time step, and the time of the first value.
    rest : how values before a record are taken: "zero", or "hold" for the first inputs and for the mean of
        the first outputs.
    level : (c,), the outputs at rest.
    from_rest : whether the training records begin at rest, so that their first steps are learned from too.
    """

    u: list[np.ndarray]
    s: list[np.ndarray]
    parameters: np.ndarray
    groups: np.ndarray
    dt: float
    t0: float
    rest: str = "zero"
    level: np.ndarray | None = None
    from_rest: bool = True

    @property
    def steps(self) -> int:
        """Number of steps of all records."""
        return sum(map(len, self.u))

    @property
    def limits(self) -> np.ndarray:
        """(2, c), range of the outputs, twice as wide on either side."""
        low = np.min([np.min(one, axis=0) for one in self.s], axis=0)
        high = np.max([np.max(one, axis=0) for one in self.s], axis=0)
        return np.stack([low - 2 * (high - low), high + 2 * (high - low)])

    @cached_property
    def weights(self) -> np.ndarray:
        """(N,), factors on the errors of each record's steps: errors of runs are relative to its size."""
        if not all(isinstance(one, np.ndarray) for one in self.s):
            return np.ones(len(self.s))
        sizes = np.sqrt([np.mean(one**2) for one in self.s])
        usual = np.sqrt(np.mean(sizes**2))
        return (
            np.asarray(usual / np.maximum(sizes, _LEAST_SIZE * usual)) if usual > 0 else np.ones(len(sizes))
        )

    def at_rest(self, rest: str) -> Records:
        """Return the same records with another idea of what came before them."""
        level = np.mean([one[:1][0] for one in self.s], axis=0)
        return replace(self, rest=rest, level=np.zeros_like(level) if rest == "zero" else level)


class Piece(NamedTuple):
    """Steps `begin` to `end` of a record."""

    record: int
    begin: int
    end: int


def cut(records: Records) -> list[Piece]:
    """Return the records, or stretches of them where they are fewer than ten."""
    lengths, n = [len(one) for one in records.u], len(np.unique(records.groups))
    if n >= MIN_PIECES:
        return [Piece(i, 0, length) for i, length in enumerate(lengths)]
    longest = max(_MIN_STRETCH, -(-sum(lengths) // MIN_PIECES))
    pieces = []
    for i, length in enumerate(lengths):
        parts = max(1, round(length / longest))
        parts = max(parts, -(-MIN_PIECES // len(lengths))) if length >= 2 * _MIN_STRETCH else parts
        parts = max(1, min(parts, length // _MIN_STRETCH))
        ends = np.linspace(0, length, parts + 1).astype(int)
        pieces += [Piece(i, int(a), int(b)) for a, b in pairwise(ends)]
    return pieces


def fold_numbers(records: Records, pieces: Sequence[Piece], folds: int) -> np.ndarray:
    """Return the fold of each piece: groups of records stay together, stretches are dealt out in turn."""
    if len(np.unique(records.groups)) >= MIN_PIECES or len(pieces) == len(records.u):
        numbers = np.unique(records.groups[[piece.record for piece in pieces]], return_inverse=True)[1]
    else:
        numbers = np.arange(len(pieces))
    shuffled = np.random.default_rng(0).permutation(int(numbers.max()) + 1)
    return np.asarray(shuffled[numbers] % min(folds, len(shuffled)))


def before(u: np.ndarray, begin: int, count: int, rest: str) -> np.ndarray:
    """Return `count` inputs before step `begin` of a record: its own, then those at rest."""
    own = u[max(0, begin - count) : begin]
    fill = np.zeros_like(u[:1]) if rest == "zero" else u[:1]
    return np.concatenate([np.repeat(fill, count - len(own), axis=0), own])


def series_of(
    records: Records, piece: Piece, settings: Settings, *, known: bool = True, training: bool = False
) -> Series | None:
    """Return a piece with its past, as a step sees it.

    known : whether the outputs before the piece are known; otherwise it begins from rest. Where a record
        does not begin at rest, a known beginning is that of its first outputs.
    training : leave out the first steps of records that do not begin at rest, whose past is not known.
    """
    u, s = records.u[piece.record], records.s[piece.record]
    begin = piece.begin
    if not records.from_rest and (known or training):
        begin = max(begin, settings.memory if settings.feedback else min(settings.memory, len(u) // 4))
    if piece.end - begin < 1:
        return None
    h = settings.past_outputs
    assert records.level is not None
    own = s[max(0, begin - h) : begin] if known or training else s[:0]
    past = np.concatenate([np.repeat(records.level[None], h - len(own), axis=0), own])
    inputs = np.concatenate([before(u, begin, settings.past_inputs, records.rest), u[begin : piece.end]])
    outputs = np.concatenate([past, s[begin : piece.end]])
    weight = float(records.weights[piece.record])
    return Series(inputs, outputs, records.parameters[piece.record], weight)


def find_rest(records: Records, most: int) -> Records:
    """Find whether records begin at rest: whether a step learned elsewhere predicts their first values.

    Of records with more than `most` steps in all, the beginnings are looked at.
    """
    few = _beginnings(records, most)
    shortest = min(map(len, few.u))
    settings = Settings(2, 3) if shortest > 8 else Settings(1, 2)
    inside = replace(few.at_rest("zero"), from_rest=False)
    whole = [Piece(i, 0, len(u)) for i, u in enumerate(few.u)]
    series = [one for piece in whole if (one := series_of(inside, piece, settings, training=True))]
    if not series:
        return replace(records, rest="zero", level=few.at_rest("zero").level)
    step = Step.of(settings, series, 0)
    C = Sums.of(step, series).solve(1e-8)
    assert C is not None
    typical = _one_step(step, C, series)
    found = {}
    for rest in ("zero", "hold"):
        own = few.at_rest(rest)
        first = [Piece(i, 0, min(len(u), settings.memory + 1)) for i, u in enumerate(own.u)]
        begun = [series_of(own, piece, settings, known=False) for piece in first]
        found[rest] = _one_step(step, C, [one for one in begun if one is not None])
    rest = "zero" if found["zero"] <= 1.01 * found["hold"] else "hold"
    small = 1e-3 * np.sqrt(np.mean([np.mean(s**2) for s in few.s]))
    from_rest = bool(found[rest] <= max(_REST_STEPS * typical, small))
    return replace(records, rest=rest, level=few.at_rest(rest).level, from_rest=from_rest)


def _beginnings(records: Records, most: int) -> Records:
    """Return the first steps of some of the records, evenly spaced: at most so many in all."""
    if records.steps <= most:
        return records
    n = len(records.u)
    count = max(1, most // min(_STRETCH, max(map(len, records.u))))
    rows = np.unique(np.linspace(0, n - 1, min(n, count)).astype(int))
    length = most // len(rows)
    u, s = ([np.asarray(A[i][:length], np.float64) for i in rows] for A in (records.u, records.s))
    return replace(records, u=u, s=s, parameters=records.parameters[rows], groups=records.groups[rows])


def _one_step(step: Step, C: np.ndarray, series: Sequence[Series]) -> float:
    squares = [np.mean((C.T @ B - y) ** 2) for B, y in step.rows(series)]
    return float(np.sqrt(np.mean(squares)))


def sample(records: Records, most: int) -> Records:
    """Return records with at most so many steps: some of them, or stretches of long ones, evenly spaced."""
    if records.steps <= most:
        return records
    lengths = np.array([len(u) for u in records.u])
    whole = bool(lengths.max() <= _STRETCH)
    stretch = int(lengths.max()) if whole else _STRETCH
    parts = [
        (i, slice(k, min(k + stretch, length)))
        for i, length in enumerate(lengths)
        for k in range(0, length, stretch)
        if length - k > stretch // 4 or k == 0
    ]
    mean = np.mean([own.stop - own.start for _, own in parts])
    parts = [
        parts[j] for j in np.unique(np.linspace(0, len(parts) - 1, max(2, int(most / mean))).astype(int))
    ]
    u, s = ([np.asarray(A[i][own], np.float64) for i, own in parts] for A in (records.u, records.s))
    rows = [i for i, _ in parts]
    groups = records.groups[rows] if whole else np.arange(len(rows))
    from_rest = records.from_rest and whole
    return replace(records, u=u, s=s, parameters=records.parameters[rows], groups=groups, from_rest=from_rest)
