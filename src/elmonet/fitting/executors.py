"""Where tasks over blocks of functions run: on threads, or by Dask; and blocks of whole groups."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import dataclass
from importlib import import_module
from threading import Event
from time import perf_counter
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from elmonet.data.lazy import Blocks, checked_rows, read_rows
from elmonet.errors import InputError
from elmonet.linalg import beside_others
from elmonet.progress import Progress


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


_BLOCKS_PER_ROUND = 16  # blocks that each worker takes before its results are merged
_FAN_IN = 8  # results that are merged by one Dask task
_LEAST_BLOCKS = 16  # blocks from which a part of the functions is taken, at least


def spread_blocks(count: int, functions: int, most: int | None) -> np.ndarray:
    """Return which of `count` blocks to take for about `most` functions of all, spread evenly; None: all."""
    if most is None or most >= functions:
        return np.arange(count)
    taken = min(count, max(_LEAST_BLOCKS, -(-count * most // functions)))
    return np.linspace(0, count - 1, taken).round().astype(int)


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
        most: int | None = None,
    ) -> Any:
        """Run a task over all blocks from function `begin` on, and merge the results into `into`.

        ``look(start, X, y)`` is called with each block, by the threads; `after` after each round of blocks.
        If the time `until` (of `perf_counter`) comes first, the result is that of some blocks: they are taken
        in random order. With `most`, the blocks are some that hold about so many functions.
        """
        total = task.empty() if into is None else into
        starts, started = list(self.blocks.starts(begin)), perf_counter()
        starts = [starts[i] for i in spread_blocks(len(starts), self.functions, most)]
        of = min(self.functions, begin + len(starts) * self.blocks.rows)
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
                self.hook(f"{what}: {done:,} of {of:,} functions{speed}", done, of)
            for part in self._on_workers(task, starts[i : i + per_round], look):
                total.merge(part)
            if after is not None:
                after()
        return total

    def _on_workers(self, task: Any, starts: list[int], look: Any) -> list[Any]:
        """Run worker w on blocks w, w + workers, ...; return the results in the order of the workers."""
        shares = [share for w in range(self.workers) if (share := starts[w :: self.workers])]
        if len(shares) == 1:
            return [self._run(task, shares[0], look, Event())]
        interrupted = Event()

        def beside(share: list[int]) -> Any:
            with beside_others():
                return self._run(task, share, look, interrupted)

        with ThreadPoolExecutor(len(shares)) as pool:
            try:
                return list(pool.map(beside, shares))
            except BaseException:  # Ctrl-C is seen here only: the threads end with their block
                interrupted.set()
                raise

    def _run(self, task: Any, starts: list[int], look: Any, interrupted: Event) -> Any:
        part = task.empty()
        for start in starts:
            if interrupted.is_set():
                break
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

    def reduce(
        self,
        what: str,
        task: Any,
        *,
        into: Any = None,
        begin: int = 0,
        until: float = np.inf,
        most: int | None = None,
    ) -> Any:
        """Run a task over all blocks, or some with about `most` functions; `until` has no effect.

        The results are merged into `into`.
        """
        shared = import_module("dask").delayed(task, traverse=False)  # travels to each worker once
        X, y = (list(A.to_delayed().ravel()) for A in (self.u, self.s))
        outputs = y if task.needs_outputs else [None] * len(X)
        blocks = list(zip(self.starts, X, outputs, strict=True))
        taken = spread_blocks(len(blocks), self.functions, most)
        parts = [_delayed(_run)(shared, *blocks[i]) for i in taken]
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
