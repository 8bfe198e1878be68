"""Tasks over blocks of functions, and where they run: on threads, or by Dask.

A task starts from an `empty` result, adds blocks to it, and merges results of different blocks. Tasks are
frozen and can travel to other processes: random weights go as their seed.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import dataclass
from importlib import import_module
from time import perf_counter
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from elmonet.data.lazy import Blocks, checked_rows
from elmonet.errors import InputError
from elmonet.features.base import features
from elmonet.fitting.recipe import describe_map, restore_map
from elmonet.forms.inputs import InputForm
from elmonet.forms.outputs import OutputForm
from elmonet.forms.transforms import Moments
from elmonet.linalg import beside_others
from elmonet.metrics import function_norms
from elmonet.progress import Progress
from elmonet.solve.problem import Span
from elmonet.solve.streamed import StreamedLeaveOneOut, Sums


@dataclass(frozen=True)
class BlockFeatures:
    """Features of inputs and coordinates of outputs; `span` is None if the trunk learns from outputs."""

    inputs: InputForm
    outputs: OutputForm
    branch: Any
    width: int  # p1, of the branch's features
    span: Span | None

    def features(self, X: np.ndarray) -> np.ndarray:
        """Return B (p1, n) of input rows X (n, ...)."""
        return features(self.branch, self.inputs.seen(X)).T

    def coordinates(self, y: np.ndarray, span: Span | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return G (q, n) of rows y (n, c M), the norms outside the basis, and those that errors refer to."""
        z, sizes = self.outputs.target(y).astype(float, copy=False), self.outputs.reference(y)
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
        return self.inputs.arranged(X), self.outputs.rows(y)

    def __getstate__(self) -> tuple[Any, ...]:
        arrays: dict[str, np.ndarray] = {}
        record = describe_map(self.branch, "branch", arrays, weights=False)
        return self.inputs, self.outputs, record, arrays, self.width, self.span

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        inputs, outputs, record, arrays, width, span = state
        branch = restore_map(record, "branch", arrays)
        for name, value in zip(
            self.__dataclass_fields__, (inputs, outputs, branch, width, span), strict=True
        ):
            object.__setattr__(self, name, value)


@dataclass(frozen=True)
class InputMoments:
    """First pass: mean and deviation of the inputs, for their scaling."""

    inputs: InputForm
    needs_outputs = False

    def empty(self) -> Moments:
        """Return moments of no functions."""
        return Moments()

    def add(self, moments: Moments, X: np.ndarray, y: Any) -> None:
        """Add inputs X."""
        moments.add(self.inputs.seen(self.inputs.arranged(X)))


@dataclass(frozen=True)
class SumTask:
    """Second pass: the sums that the fit needs."""

    block_features: BlockFeatures
    kind: type[Sums]
    needs_outputs = True

    def empty(self) -> Sums:
        """Return sums over no functions."""
        r = self.block_features
        q = len(r.outputs.places()) if r.span is None else r.span.rank
        return self.kind(r.width, q)

    def add(self, sums: Sums, X: np.ndarray, y: np.ndarray) -> None:
        """Add inputs X and outputs y."""
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
    """Third pass: leave-one-out errors at a few alphas."""

    block_features: BlockFeatures
    left_out: StreamedLeaveOneOut
    span: Span
    needs_outputs = True

    def empty(self) -> Totals:
        """Return totals of no functions."""
        return Totals()

    def add(self, totals: Totals, X: np.ndarray, y: np.ndarray) -> None:
        """Add inputs X and outputs y."""
        X, y = self.block_features.rows(X, y)
        G, outside, norms = self.block_features.coordinates(y, self.span)
        totals.values = totals.values + self.left_out.totals(
            self.block_features.features(X), G, outside, norms
        )


_BLOCKS_PER_ROUND = 16  # blocks that each worker takes before its results are merged
_FAN_IN = 8  # results that are merged by one Dask task


class OnThreads:
    """Run tasks over arrays on disk, read in blocks by a few threads, each with a BLAS of one thread."""

    def __init__(self, blocks: Blocks, workers: int, hook: Progress | None):
        self.blocks, self.workers, self.hook = blocks, workers, hook
        self.functions = blocks.functions

    def head(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the first n functions."""
        return Blocks(self.blocks.u, self.blocks.s, n).read(0)

    def all_threads(self) -> Any:
        """Return a context in which BLAS may use as many threads as there are workers."""
        return threadpool_limits(self.workers)

    def reduce(self, what: str, task: Any, *, into: Any = None, begin: int = 0, after: Any = None) -> Any:
        """Run a task over all blocks from function `begin` on, and merge the results into `into`.

        `after` is called after each round of blocks.
        """
        total = task.empty() if into is None else into
        starts, started = list(self.blocks.starts(begin)), perf_counter()
        for i in range(0, len(starts), _BLOCKS_PER_ROUND * self.workers):
            if self.hook is not None:
                done = starts[i]
                rate = (done - begin) / max(perf_counter() - started, 1e-9)
                speed = f", {rate:,.0f} per second" if i else ""
                self.hook(f"{what}: {done:,} of {self.functions:,} functions{speed}", done, self.functions)
            for part in self._on_workers(task, starts[i : i + _BLOCKS_PER_ROUND * self.workers]):
                total.merge(part)
            if after is not None:
                after()
        return total

    def _on_workers(self, task: Any, starts: list[int]) -> list[Any]:
        """Run worker w on blocks w, w + workers, ...; return the results in the order of the workers."""
        shares = [share for w in range(self.workers) if (share := starts[w :: self.workers])]
        if len(shares) == 1:
            return [self._run(task, shares[0])]

        def beside(share: list[int]) -> Any:
            with beside_others():
                return self._run(task, share)

        with ThreadPoolExecutor(len(shares)) as pool:
            return list(pool.map(beside, shares))

    def _run(self, task: Any, starts: list[int]) -> Any:
        part = task.empty()
        for start in starts:
            X, y = self.blocks.read(start) if task.needs_outputs else (self.blocks.inputs(start), None)
            task.add(part, X, y)
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

    def head(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the first n functions."""
        X, y = (np.asarray(part[:n].compute()) for part in (self.u, self.s))
        return checked_rows(X, 0, "X"), checked_rows(y, 0, "y")

    def all_threads(self) -> Any:
        """Return a context in which BLAS may use all threads."""
        return nullcontext()

    def reduce(self, what: str, task: Any, *, into: Any = None, begin: int = 0, after: Any = None) -> Any:
        """Run a task over all blocks, and merge the results into `into`."""
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
        task.add(part, X, None if y is None else checked_rows(np.asarray(y), start, "y"))
    return part


def _merge(parts: list[Any]) -> Any:
    total = deepcopy(parts[0])  # which Dask may need again
    for part in parts[1:]:
        total.merge(part)
    return total
