"""Tasks over blocks of functions, and where they run: on threads, or by Dask.

A task starts from an `empty` result, adds blocks to it, and merges results of different blocks. Tasks are
frozen and can travel to other processes: random weights go as their seed.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import dataclass, field
from importlib import import_module
from time import perf_counter
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from elmonet.data.lazy import Blocks, checked_rows, read_rows
from elmonet.errors import InputError
from elmonet.features.base import features
from elmonet.fitting.recipe import describe_map, restore_map
from elmonet.forms.inputs import InputForm
from elmonet.forms.outputs import OutputForm
from elmonet.forms.transforms import Moments
from elmonet.linalg import beside_others, product, solve_lower
from elmonet.metrics import function_norms
from elmonet.progress import Progress
from elmonet.solve.problem import Span
from elmonet.solve.streamed import StreamedLeaveOneOut, Sums


@dataclass(frozen=True)
class BlockFeatures:
    """Features of inputs and coordinates of outputs; `span` is None if the trunk learns from outputs.

    Outputs are multiplied by `g`, a power of two. Functions come in the user's shapes, or, if `as_rows`, as
    rows already.
    """

    inputs: InputForm
    outputs: OutputForm
    branch: Any
    width: int  # p1, of the branch's features
    span: Span | None
    g: float = 1.0
    as_rows: bool = False

    def features(self, X: np.ndarray) -> np.ndarray:
        """Return B (p1, n) of input rows X (n, ...)."""
        return features(self.branch, self.inputs.seen(X)).T

    def coordinates(self, y: np.ndarray, span: Span | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return G (q, n) of rows y (n, c M), the norms outside the basis, and those that errors refer to."""
        z, sizes = self.outputs.target(y).astype(float, copy=False), self.outputs.reference(y)
        if self.g != 1:
            z, sizes = z * self.g, None if sizes is None else sizes * self.g
        norms = function_norms(z)
        sizes = norms if sizes is None else sizes
        if span is None:
            return z.T, np.zeros(len(z)), sizes
        return *span.project(z.T, norms), sizes

    def add(self, sums: Sums, X: np.ndarray, y: np.ndarray) -> None:
        """Add rows X and y to sums."""
        G, outside, _ = self.coordinates(y, self.span)
        sums.add(self.features(X), G, outside)

    def rows(self, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return functions in the user's shapes as rows."""
        if self.as_rows:
            return X, y
        return self.inputs.arranged(X), self.outputs.rows(y)

    def __getstate__(self) -> tuple[Any, ...]:
        arrays: dict[str, np.ndarray] = {}
        record = describe_map(self.branch, "branch", arrays, weights=False)
        return self.inputs, self.outputs, record, arrays, self.width, self.span, self.g, self.as_rows

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        inputs, outputs, record, arrays, *rest = state
        branch = restore_map(record, "branch", arrays)
        for name, value in zip(self.__dataclass_fields__, (inputs, outputs, branch, *rest), strict=True):
            object.__setattr__(self, name, value)


@dataclass(frozen=True)
class InputMoments:
    """First pass: mean and deviation of the inputs, for their scaling."""

    inputs: InputForm
    needs_outputs = False

    def empty(self) -> Moments:
        """Return moments of no functions."""
        return Moments()

    def add(self, moments: Moments, start: int, X: np.ndarray, y: Any) -> None:
        """Add inputs X."""
        moments.add(self.inputs.seen(self.inputs.arranged(X)))


@dataclass(frozen=True)
class SumTask:
    """Second pass: the sums that the fit needs; functions `without`, by their indices, are not added."""

    block_features: BlockFeatures
    kind: type[Sums]
    without: np.ndarray | None = None
    needs_outputs = True

    def empty(self) -> Sums:
        """Return sums over no functions."""
        r = self.block_features
        q = len(r.outputs.places()) if r.span is None else r.span.rank
        return self.kind(r.width, q)

    def add(self, sums: Sums, start: int, X: np.ndarray, y: np.ndarray) -> None:
        """Add inputs X and outputs y."""
        if self.without is not None:
            added = ~np.isin(np.arange(start, start + len(X)), self.without)
            X, y = X[added], y[added]
        if len(X):
            self.block_features.add(sums, *self.block_features.rows(X, y))


@dataclass
class Totals:
    """Sums over functions of leave-one-out errors."""

    values: Any = 0.0

    def merge(self, other: Totals) -> None:
        """Add the totals of other functions."""
        self.values = self.values + other.values


@dataclass(frozen=True)
class LeaveOutTask:
    """Third pass: leave-one-out errors at a few alphas; `groups` are those of the functions as they come."""

    block_features: BlockFeatures
    left_out: StreamedLeaveOneOut
    span: Span
    groups: np.ndarray | None = None
    needs_outputs = True

    def empty(self) -> Totals:
        """Return totals of no functions."""
        return Totals()

    def add(self, totals: Totals, start: int, X: np.ndarray, y: np.ndarray) -> None:
        """Add inputs X and outputs y."""
        X, y = self.block_features.rows(X, y)
        G, outside, norms = self.block_features.coordinates(y, self.span)
        groups = None if self.groups is None else self.groups[start : start + len(y)]
        B = self.block_features.features(X)
        totals.values = totals.values + self.left_out.totals(B, G, outside, norms, groups)


@dataclass
class LeftOutErrors:
    """Relative errors of functions left out, by the first function of their block; sums of squares.

    squared, total : of the residuals of the fit to all functions, and of the outputs.
    """

    errors: dict[int, np.ndarray] = field(default_factory=dict)
    squared: float = 0.0
    total: float = 0.0

    def merge(self, other: LeftOutErrors) -> None:
        """Add other functions."""
        self.errors |= other.errors
        self.squared, self.total = self.squared + other.squared, self.total + other.total

    def of_each(self) -> np.ndarray:
        """Return the errors in the order of the functions."""
        return np.concatenate([self.errors[start] for start in sorted(self.errors)])


@dataclass(frozen=True)
class LeftOutErrorsTask:
    """Second pass of a fit with given alpha: the leave-one-out error of each function.

    With ``B B' + alpha = L L'``, function i has the leverage ``h = |L^-1 b_i|^2`` and, if it is left out, the
    residual ``(g_i - C b_i) / (1 - h)``.

    Attributes
    ----------
    L : (p1, p1), the factor.
    C : (q, p1), the coefficients.
    """

    block_features: BlockFeatures
    L: np.ndarray
    C: np.ndarray
    needs_outputs = True

    def empty(self) -> LeftOutErrors:
        """Return the errors of no functions."""
        return LeftOutErrors()

    def add(self, found: LeftOutErrors, start: int, X: np.ndarray, y: np.ndarray) -> None:
        """Add inputs X and outputs y."""
        r = self.block_features
        X, y = r.rows(X, y)
        left_out, z, E = self.left_out(X, y)
        found.errors[start] = r.outputs.errors(left_out, y)
        found.squared += float(np.sum(E**2))
        found.total += float(np.sum(z**2))

    def left_out(self, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return predictions of rows left out (n, c M), what they should be, and residuals of the fit."""
        r = self.block_features
        assert r.span is not None
        B, (G, _, _), z = r.features(X), r.coordinates(y, r.span), r.outputs.target(y)
        E = G / r.g - product(self.C, B)
        half = solve_lower(self.L, B.copy(order="F"))
        h = np.minimum(np.einsum("ki,ki->i", half, half), 1 - _LEAST_REST)
        return product((G / r.g - E / (1 - h)).T, r.span.Q.T), z, E


def whole_groups(groups: np.ndarray, rows: int) -> tuple[np.ndarray, list[int]]:
    """Return an order of functions in which groups (N,) follow each other, and where to cut it into blocks.

    Blocks hold whole groups: about `rows` functions, more where a group has more. Groups are in the order of
    their first functions, so that those which are stored one after the other are read so.
    """
    _, first, number = np.unique(groups, return_index=True, return_inverse=True)
    order = np.lexsort((np.arange(len(groups)), first[number]))
    starts, taken = [0], 0
    for size in np.bincount(np.unique(first[number], return_inverse=True)[1]).tolist():
        if taken > starts[-1] and taken + size > starts[-1] + rows:
            starts.append(taken)
        taken += size
    return order, starts


@dataclass(frozen=True)
class ReorderedBlocks(Blocks):
    """Blocks of functions in another order, cut at `cuts`; only runs of neighbours are read together."""

    order: np.ndarray
    cuts: list[int]

    def starts(self, begin: int = 0) -> Any:
        """Return the place of the first function of each block."""
        return self.cuts

    def read(self, start: int) -> tuple[np.ndarray, np.ndarray]:
        """Return inputs and outputs of the block that begins at place `start`."""
        after = self.cuts.index(start) + 1
        own = self.order[start : self.cuts[after] if after < len(self.cuts) else None]
        runs = np.split(own, np.flatnonzero(np.diff(own) != 1) + 1)
        X, y = (
            np.concatenate([read_rows(A, int(run[0]), int(run[-1]) + 1, name) for run in runs])
            for A, name in ((self.u, "X"), (self.s, "y"))
        )
        return X, y


_LEAST_REST = 1e-6  # the least 1 - h that a function left out can have
_BLOCKS_PER_ROUND = 16  # blocks that each worker takes before its results are merged
_FAN_IN = 8  # results that are merged by one Dask task


class OnThreads:
    """Run tasks over arrays on disk, read in blocks by a few threads, each with a BLAS of one thread."""

    def __init__(self, blocks: Blocks, workers: int, hook: Progress | None):
        self.blocks, self.workers, self.hook = blocks, workers, hook
        self.functions = blocks.functions

    def rows(self, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        """Return functions from `start` to `stop`."""
        return Blocks(self.blocks.u, self.blocks.s, stop - start).read(start)

    def take(self, functions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return some functions, by their indices, in ascending order: runs of neighbours at a time."""
        runs = np.split(functions, np.flatnonzero(np.diff(functions) != 1) + 1)
        parts = [self.rows(int(run[0]), int(run[-1]) + 1) for run in runs]
        X, y = (np.concatenate(part) for part in zip(*parts, strict=True))
        return X, y

    def by_groups(self, groups: np.ndarray) -> tuple[OnThreads, np.ndarray]:
        """Return the same functions in blocks of whole groups (N,), and their order."""
        order, cuts = whole_groups(groups, self.blocks.rows)
        blocks = ReorderedBlocks(self.blocks.u, self.blocks.s, self.blocks.rows, order, cuts)
        return OnThreads(blocks, self.workers, self.hook), order

    def all_threads(self) -> Any:
        """Return a context in which BLAS may use as many threads as there are workers."""
        return threadpool_limits(self.workers)

    def reduce(
        self,
        what: str,
        task: Any,
        *,
        into: Any = None,
        begin: int = 0,
        look: Callable[..., None] | None = None,
        after: Callable[[], None] | None = None,
        until: float = np.inf,
    ) -> Any:
        """Run a task over all blocks from function `begin` on, and merge the results into `into`.

        ``look(start, X, y)`` is called with each block, by the threads; `after` after each round of blocks.
        If the time `until` (of `perf_counter`) comes first, the result is that of some blocks: they are taken
        in random order.
        """
        total = task.empty() if into is None else into
        starts, started = list(self.blocks.starts(begin)), perf_counter()
        per_round = _BLOCKS_PER_ROUND * self.workers
        if until < np.inf:
            starts, per_round = np.random.default_rng(0).permutation(starts).tolist(), self.workers
        for i in range(0, len(starts), per_round):
            if i and perf_counter() > until:
                break
            if self.hook is not None:
                done = begin + i * self.blocks.rows
                rate = (done - begin) / max(perf_counter() - started, 1e-9)
                speed = f", {rate:,.0f} per second" if i else ""
                self.hook(f"{what}: {done:,} of {self.functions:,} functions{speed}", done, self.functions)
            for part in self._on_workers(task, starts[i : i + per_round], look):
                total.merge(part)
            if after is not None:
                after()
        return total

    def _on_workers(self, task: Any, starts: list[int], look: Any) -> list[Any]:
        """Run worker w on blocks w, w + workers, ...; return the results in the order of the workers."""
        shares = [share for w in range(self.workers) if (share := starts[w :: self.workers])]
        if len(shares) == 1:
            return [self._run(task, shares[0], look)]

        def beside(share: list[int]) -> Any:
            with beside_others():
                return self._run(task, share, look)

        with ThreadPoolExecutor(len(shares)) as pool:
            return list(pool.map(beside, shares))

    def _run(self, task: Any, starts: list[int], look: Any) -> Any:
        part = task.empty()
        for start in starts:
            X, y = self.blocks.read(start) if task.needs_outputs else (self.blocks.inputs(start), None)
            if look is not None:
                look(start, X, y)
            task.add(part, start, X, y)
        return part


class OnDask:
    """Run tasks over Dask arrays: where the blocks are; only results travel, merged by a tree.

    On the active distributed client if there is one, else on local threads. Every Dask task is a pure
    function of its block, so that Dask may run it again when a worker dies.
    """

    def __init__(self, u: Any, s: Any):
        da: Any = import_module("dask.array")
        u, s = (A if hasattr(A, "dask") else da.asarray(A) for A in (u, s))
        if any(np.isnan(size) for A in (u, s) for size in A.shape):
            raise InputError(
                "the Dask arrays have no known length: call compute_chunk_sizes() on them first."
            )
        self.functions = Blocks(u, s, rows=1).functions  # checks shapes and types
        self.u = u.rechunk(dict.fromkeys(range(1, u.ndim), -1))
        self.s = s.rechunk({0: self.u.chunks[0], **dict.fromkeys(range(1, s.ndim), -1)})
        self.starts = [int(start) for start in np.cumsum([0, *self.u.chunks[0][:-1]])]

    def rows(self, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        """Return functions from `start` to `stop`."""
        X, y = (np.asarray(part[start:stop].compute()) for part in (self.u, self.s))
        return checked_rows(X, start, "X"), checked_rows(y, start, "y")

    def take(self, functions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return some functions, by their indices, in ascending order."""
        X, y = (np.asarray(part[functions].compute()) for part in (self.u, self.s))
        return checked_rows(X, 0, "X"), checked_rows(y, 0, "y")

    def by_groups(self, groups: np.ndarray) -> tuple[OnDask, np.ndarray]:
        """Return the same functions in blocks of whole groups (N,), and their order."""
        order, cuts = whole_groups(groups, max(self.u.chunks[0]))
        sizes = tuple(np.diff([*cuts, len(order)]).tolist())
        return OnDask(self.u[order].rechunk({0: sizes}), self.s[order]), order

    def all_threads(self) -> Any:
        """Return a context in which BLAS may use all threads."""
        return nullcontext()

    def reduce(self, what: str, task: Any, *, into: Any = None, begin: int = 0, until: float = np.inf) -> Any:
        """Run a task over all blocks, and merge the results into `into`; `until` has no effect."""
        shared = import_module("dask").delayed(task, traverse=False)  # travels to each worker once
        X, y = (list(A.to_delayed().ravel()) for A in (self.u, self.s))
        outputs = y if task.needs_outputs else [None] * len(X)
        parts = [_delayed(_run)(shared, *block) for block in zip(self.starts, X, outputs, strict=True)]
        while len(parts) > 1:
            parts = [_delayed(_merge)(parts[i : i + _FAN_IN]) for i in range(0, len(parts), _FAN_IN)]
        made = parts[0].compute()
        if into is None:
            return made
        into.merge(made)
        return into


def _delayed(function: Callable[..., Any]) -> Any:
    return import_module("dask").delayed(function, pure=True)


def _run(task: Any, start: int, X: np.ndarray, y: np.ndarray | None) -> Any:
    part = task.empty()
    X = checked_rows(np.asarray(X), start, "X")
    with threadpool_limits(1):
        task.add(part, start, X, None if y is None else checked_rows(np.asarray(y), start, "y"))
    return part


def _merge(parts: list[Any]) -> Any:
    total = deepcopy(parts[0])  # which Dask may need again
    for part in parts[1:]:
        total.merge(part)
    return total
