"""Fits and predictions from arrays on disk, a block of functions at a time, on all cores."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from time import perf_counter
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from elmonet._blas import beside_others
from elmonet._check import InputError, positive_integer
from elmonet.data.blocks import Blocks, read_rows
from elmonet.layout import LaidOut
from elmonet.memory import available, block_rows, bytes_of
from elmonet.progress import Progress, progress_bar
from elmonet.scaling import Moments, log_inputs
from elmonet.solve import Ridge
from elmonet.solve.summed import LeftOut, Sums
from elmonet.stream.checkpoint import Checkpoint

__all__ = ["fit_blocks", "predict_blocks"]

_ROUND = 16  # blocks that each worker takes before sums are merged
_PART = 0.5  # of the available memory, if no limit is given
_Model = TypeVar("_Model")


def fit_blocks(
    model: _Model,
    u: Any,
    s: Any,
    points: Any = None,
    *,
    memory: Any = None,
    checkpoint: str | os.PathLike[str] | None = None,
    keep_checkpoint: bool = False,
    workers: int | None = None,
    progress: Any = False,
) -> _Model:
    """Fit a model to functions that are read in blocks; what ``model.fit`` does with arrays on disk.

    Parameters
    ----------
    model : an `ELMDeepONet` whose branch needs no training functions.
    u, s : (N, ...) and (N, M): memory maps, zarr or HDF5 arrays, or anything that gives rows by slicing.
    points : (M, d), as in `ELMDeepONet.fit`.
    memory : what the process may take, in bytes or as "2GB"; None: half of what is there.
    checkpoint : a file that is written every so often; if it is there already, the fit goes on from it.
    keep_checkpoint : leave that file when the fit is done, until the model is saved.
    workers : threads; None: one a core.
    progress : True shows a bar; or a function that is called as ``progress(what, done, total)``.
    """
    workers = _cores() if workers is None else positive_integer(workers, "workers")
    limit = int(_PART * available()) if memory is None else bytes_of(memory)
    bar = progress_bar() if progress is True else nullcontext(progress or None)
    with bar as hook, threadpool_limits(1):  # the workers are the threads
        written = _Fit(model, u, s, points, limit, workers, hook).run(checkpoint)
    if written is not None and not keep_checkpoint:
        written.remove()
    return model


class _Fit:
    """One fit: first the scaling, then the sums, then, for leave-one-out, the errors."""

    def __init__(
        self, model: Any, u: Any, s: Any, points: Any, limit: int, workers: int, hook: Progress | None
    ):
        self.model, self.points, self.workers, self.hook = model, points, workers, hook
        few = Blocks(u, s, rows=16)
        first = few.read(0)
        model.input_shape_ = tuple(u.shape[1:])
        model.n_features_in_ = int(u.shape[1])
        model._inputs = None
        model.begin(*first, points)  # to learn the sizes; once more with the scaling of all functions
        m, M = int(np.prod(u.shape[1:])), int(np.prod(s.shape[1:]))
        q = M if model._summing.basis is None else model._summing.basis.shape[1]
        rows = block_rows(limit, workers, m=m, M=M, p1=model.branch_.width_, q=q)
        laid_out = LaidOut(s, model._layout) if len(s.shape) > 2 else s
        self.blocks, self.first = Blocks(u, laid_out, min(rows, few.functions)), first

    def run(self, path: Any) -> Checkpoint | None:
        checkpoint = None if path is None else Checkpoint(path, self.model, self.blocks)
        if checkpoint is not None and checkpoint.exists():
            checkpoint.resume(self.first, self.points)
        else:
            self.model.begin(*self.first, self.points, self._scaling())
        model, N = self.model, self.blocks.functions
        while model._sums.functions < N and not model._settled:
            model.take(*self.blocks.read(model._sums.functions))
        for some in self._rounds("summing up", model._sums.functions):
            for sums, total in self._on_workers(self._summed, some):
                model._sums.merge(sums)
                model._total += total
            model._changed()
            if checkpoint is not None:
                checkpoint.write_now_and_then()
        if checkpoint is not None and checkpoint.exists():
            checkpoint.write()  # all functions are in: what is left is quick
        self._solve()
        return checkpoint

    def _scaling(self) -> Any:
        if not self.model.scale_inputs:
            return None
        moments = Moments()
        for some in self._rounds("looking at the inputs"):
            for part in self._on_workers(self._moments, some):
                moments.merge(part)
        return moments.standardise()

    def _moments(self, starts: list[int]) -> Moments:
        moments = Moments()
        for start in starts:
            X = self.blocks.inputs(start)
            moments.add(log_inputs(X) if self.model.log_inputs else X)
        return moments

    def _summed(self, starts: list[int]) -> tuple[Sums, float]:
        summing = self.model._summing
        sums, total = summing.sums(type(self.model._sums), self.blocks.s.shape[1]), 0.0
        for start in starts:
            total += summing.add(sums, *self.blocks.read(start))
        return sums, total

    def _solve(self) -> None:
        """Find W; if leave-one-out is to choose alpha, read the functions once more."""
        with threadpool_limits(self.workers):
            reduced, alphas, basis = self.model._solve_sums()
        solver = self.model._solver()
        if not (isinstance(solver, Ridge) and solver.alpha == "loo"):
            return
        left_out = LeftOut(reduced, alphas, len(self.model.points_))
        totals = np.zeros(len(alphas) + 1)
        for some in self._rounds("leaving functions out"):
            totals += sum(self._on_workers(lambda own: self._left_out(own, left_out, basis), some))
        alpha, error = left_out.best(totals)
        self.model._solve_sums(alpha)
        self.model.solution_ = replace(self.model.solution_, loo_error=error)

    def _left_out(self, starts: list[int], left_out: LeftOut, basis: np.ndarray) -> np.ndarray:
        summing = self.model._summing
        return sum(summing.left_out(left_out, *self.blocks.read(start), basis) for start in starts)

    def _rounds(self, what: str, begin: int = 0) -> Iterator[list[int]]:
        """The starts of the blocks, from a function on, as many as all workers take at a time."""
        starts, started = list(self.blocks.starts(begin)), perf_counter()
        for i in range(0, len(starts), _ROUND * self.workers):
            if self.hook is not None:
                done, N = starts[i], self.blocks.functions
                rate = (done - begin) / max(perf_counter() - started, 1e-9)
                told = f", {rate:,.0f} a second" if i else ""
                self.hook(f"{what}: {done:,} of {N:,} functions{told}", done, N)
            yield starts[i : i + _ROUND * self.workers]

    def _on_workers(self, work: Callable[[list[int]], Any], starts: list[int]) -> Iterator[Any]:
        """Each worker takes every so-manieth block; the results, in the order of the workers."""
        shares = [starts[w :: self.workers] for w in range(self.workers)]
        shares = [share for share in shares if share]
        if len(shares) == 1:
            yield work(shares[0])
            return

        def beside(share: list[int]) -> Any:
            with beside_others():
                return work(share)

        with ThreadPoolExecutor(len(shares)) as pool:
            yield from pool.map(beside, shares)


def predict_blocks(model: Any, u: Any, out: Any, points: Any = None, *, rows: int = 2048) -> None:
    """Predict for functions that are read in blocks, and write each block to `out` (N, M) at once.

    `out` is anything that takes ``out[start:stop] = values``: a memory map, a zarr or HDF5 array.
    """
    if tuple(out.shape)[:1] != tuple(u.shape)[:1]:
        raise InputError(
            f"out must have a row for each of the {u.shape[0]} functions, got {tuple(out.shape)}."
        )
    for start in range(0, u.shape[0], positive_integer(rows, "rows")):
        out[start : start + rows] = model.predict(read_rows(u, start, start + rows, "X"), points)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
